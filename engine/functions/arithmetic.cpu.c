// Arithmetic on integers and floats. Compiled once per CPU level.
//
// Checked forms compute all rows first, branch-free, and collect a flag; only when it is set does a second
// pass look for the rows to blame. Values at null rows are garbage and may set the flag for nothing.
#include "functions/arithmetic.h"

#include <math.h>

#define ERRORS(call) (((const hly_arith_state *)(call)->state)->errors)

#define PLAIN(name, T, EXPR)                                                                                 \
  static hly_status name(hly_call *call) {                                                                   \
    HLY_BINARY_LOOPS(call, T, T, T, EXPR);                                                                   \
    return HLY_OK;                                                                                           \
  }

// RESULT gives the wrapped result of a and b, BAD whether `r` is wrong (0 or not 0), in type F.
#define CHECKED(name, T, F, RESULT, BAD)                                                                     \
  static hly_status name(hly_call *call) {                                                                   \
    F bad = 0;                                                                                               \
    HLY_BINARY_LOOPS(call, T, T, T, ({                                                                       \
                       const T r = (T)(RESULT);                                                              \
                       bad |= (F)(BAD);                                                                      \
                       r;                                                                                    \
                     }));                                                                                    \
    if (!bad) return HLY_OK;                                                                                 \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      if (!hly_call_wants(call, i)) continue;                                                                \
      const T a = HLY_ARG(T, &call->args[0], i), b = HLY_ARG(T, &call->args[1], i);                          \
      const T r = (T)(RESULT);                                                                               \
      (void)r;                                                                                               \
      if (BAD) hly_arith_error(call, ERRORS(call), i);                                                       \
    });                                                                                                      \
    return HLY_OK;                                                                                           \
  }

// By zero, or where EXTRA, the row is an error. SAFE computes with `d`, a divisor that is neither zero nor,
// for integers, -1 (`m` tells that b was -1).
#define DIVISION(name, T, SAFE, EXTRA)                                                                       \
  static hly_status name(hly_call *call) {                                                                   \
    uint8_t bad = 0;                                                                                         \
    HLY_BINARY_LOOPS(call, T, T, T, ({                                                                       \
                       bad |= b == 0 || (EXTRA);                                                             \
                       const bool m = b == (T)-1;                                                            \
                       const T d = b == 0 || m ? (T)1 : b;                                                   \
                       (void)m;                                                                              \
                       (void)d;                                                                              \
                       (T)(SAFE);                                                                            \
                     }));                                                                                    \
    if (!bad) return HLY_OK;                                                                                 \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      if (!hly_call_wants(call, i)) continue;                                                                \
      const T a = HLY_ARG(T, &call->args[0], i), b = HLY_ARG(T, &call->args[1], i);                          \
      (void)a;                                                                                               \
      if (b == 0 || (EXTRA)) hly_arith_error(call, ERRORS(call), i);                                         \
    });                                                                                                      \
    return HLY_OK;                                                                                           \
  }

#define UNARY(name, T, EXPR)                                                                                 \
  static hly_status name(hly_call *call) {                                                                   \
    HLY_UNARY_LOOPS(call, T, T, EXPR);                                                                       \
    return HLY_OK;                                                                                           \
  }

#define UNARY_CHECKED(name, T, MIN, EXPR)                                                                    \
  static hly_status name(hly_call *call) {                                                                   \
    uint8_t bad = 0;                                                                                         \
    HLY_UNARY_LOOPS(call, T, T, ({                                                                           \
                      bad |= a == (MIN);                                                                     \
                      (T)(EXPR);                                                                             \
                    }));                                                                                     \
    if (!bad) return HLY_OK;                                                                                 \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      if (hly_call_wants(call, i) && HLY_ARG(T, &call->args[0], i) == (MIN))                                 \
        hly_arith_error(call, ERRORS(call), i);                                                              \
    });                                                                                                      \
    return HLY_OK;                                                                                           \
  }

// Sign bit of (a ^ r) & (b ^ r): both operands differ from the sum in sign.
#define INTEGER(S, T, F, W, MIN)                                                                             \
  PLAIN(add_##S, T, a + b)                                                                                   \
  PLAIN(sub_##S, T, a - b)                                                                                   \
  PLAIN(mul_##S, T, (W)a *(W)b)                                                                              \
  CHECKED(add_check_##S, T, F, a + b, ((T)((a ^ r) & (b ^ r))) < 0)                                          \
  CHECKED(sub_check_##S, T, F, a - b, ((T)((a ^ b) & (a ^ r))) < 0)                                          \
  DIVISION(rem_##S, T, m ? 0 : a % d, false)                                                                 \
  DIVISION(pmod_##S, T, m ? 0 : pmod_one_##S(a, d), false)                                                   \
  UNARY(neg_##S, T, -a)                                                                                      \
  UNARY(abs_##S, T, a < 0 ? -a : a)                                                                          \
  UNARY_CHECKED(neg_check_##S, T, MIN, -a)                                                                   \
  UNARY_CHECKED(abs_check_##S, T, MIN, a < 0 ? -a : a)

#define PMOD(S, T)                                                                                           \
  static inline T pmod_one_##S(T a, T d) {                                                                   \
    const T r = (T)(a % d);                                                                                  \
    return r < 0 ? (T)((T)(r + d) % d) : r;                                                                  \
  }
// Byte and short: Java adds in int before the second remainder.
static inline int8_t pmod_one_i8(int8_t a, int8_t d) {
  const int r = (int8_t)(a % d);
  return (int8_t)(r < 0 ? (r + d) % d : r);
}
static inline int16_t pmod_one_i16(int16_t a, int16_t d) {
  const int r = (int16_t)(a % d);
  return (int16_t)(r < 0 ? (r + d) % d : r);
}
PMOD(i32, int32_t)
PMOD(i64, int64_t)

INTEGER(i8, int8_t, uint8_t, int, INT8_MIN)
INTEGER(i16, int16_t, uint8_t, int, INT16_MIN)
INTEGER(i32, int32_t, uint32_t, int32_t, INT32_MIN)
INTEGER(i64, int64_t, uint64_t, int64_t, INT64_MIN)

CHECKED(mul_check_i8, int8_t, uint8_t, (int)a *(int)b, (int)a *(int)b != r)
CHECKED(mul_check_i16, int16_t, uint8_t, (int)a *(int)b, (int)a *(int)b != r)
CHECKED(mul_check_i32, int32_t, uint8_t, (int64_t)a *(int64_t)b, (int64_t)a *(int64_t)b != r)
CHECKED(mul_check_i64, int64_t, uint8_t, a *b, ({
          int64_t wide;
          __builtin_mul_overflow(a, b, &wide);
        }))

// Spark's `div` on long. The minimum by -1 wraps to itself, or is an error in ANSI mode.
DIVISION(idiv_i64, int64_t, m ? -a : a / d, false)
DIVISION(idiv_ansi_i64, int64_t, m ? -a : a / d, a == INT64_MIN && b == -1)

// Floats: a zero divisor of either sign is Spark's division by zero; NaN is not.
#define FLOATING(S, T, FMOD)                                                                                 \
  PLAIN(add_##S, T, a + b)                                                                                   \
  PLAIN(sub_##S, T, a - b)                                                                                   \
  PLAIN(mul_##S, T, a *b)                                                                                    \
  DIVISION(div_##S, T, a / b, false)                                                                         \
  DIVISION(rem_##S, T, FMOD(a, b), false)                                                                    \
  DIVISION(pmod_##S, T, ({                                                                                   \
             const T q = FMOD(a, b);                                                                         \
             q < 0 ? FMOD(q + b, b) : q;                                                                     \
           }),                                                                                               \
           false)                                                                                            \
  UNARY(neg_##S, T, -a)

FLOATING(f32, float, fmodf)
FLOATING(f64, double, fmod)
UNARY(abs_f32, float, __builtin_fabsf(a))
UNARY(abs_f64, double, __builtin_fabs(a))

// Decimals over 18 digits. Spark negates them through a MathContext of 34 digits, which rounds longer ones:
// those rows are Spark's own.
#define WIDE_SIGN(name, NEGATES)                                                                             \
  static hly_status name(hly_call *call) {                                                                   \
    const __int128 limit = (__int128)100000000000000000 * 100000000000000000;                                \
    __int128 *out = call->out;                                                                               \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      if (!hly_call_wants(call, i)) continue;                                                                \
      const __int128 a = HLY_ARG(__int128, &call->args[0], i);                                               \
      if ((NEGATES) && (a >= limit || a <= -limit))                                                          \
        hly_decline(call, i);                                                                                \
      else                                                                                                   \
        out[i] = (NEGATES) ? -a : a;                                                                         \
    });                                                                                                      \
    return HLY_OK;                                                                                           \
  }
WIDE_SIGN(neg_i128, true)
WIDE_SIGN(abs_i128, a < 0)

static hly_status idiv(hly_call *call) {
  return ERRORS(call) == HLY_ARITH_DECLINE ? idiv_ansi_i64(call) : idiv_i64(call);
}

#define INTEGERS(op)                                                                                         \
  { [HLY_PHYS_I8] = op##_i8, [HLY_PHYS_I16] = op##_i16, [HLY_PHYS_I32] = op##_i32, [HLY_PHYS_I64] = op##_i64 }
#define NUMBERS(op)                                                                                          \
  {                                                                                                          \
    [HLY_PHYS_I8] = op##_i8, [HLY_PHYS_I16] = op##_i16, [HLY_PHYS_I32] = op##_i32,                           \
    [HLY_PHYS_I64] = op##_i64, [HLY_PHYS_F32] = op##_f32, [HLY_PHYS_F64] = op##_f64                          \
  }
#define SIGNED(op)                                                                                           \
  {                                                                                                          \
    [HLY_PHYS_I8] = op##_i8, [HLY_PHYS_I16] = op##_i16, [HLY_PHYS_I32] = op##_i32,                           \
    [HLY_PHYS_I64] = op##_i64, [HLY_PHYS_F32] = op##_f32, [HLY_PHYS_F64] = op##_f64,                         \
    [HLY_PHYS_I128] = op##_i128                                                                              \
  }

const hly_arith_table HLY_CPU_NAME(hly_arith) = {{
    [HLY_ARITH_ADD] = NUMBERS(add),
    [HLY_ARITH_ADD_CHECK] = INTEGERS(add_check),
    [HLY_ARITH_SUB] = NUMBERS(sub),
    [HLY_ARITH_SUB_CHECK] = INTEGERS(sub_check),
    [HLY_ARITH_MUL] = NUMBERS(mul),
    [HLY_ARITH_MUL_CHECK] = INTEGERS(mul_check),
    [HLY_ARITH_DIV] = {[HLY_PHYS_F32] = div_f32, [HLY_PHYS_F64] = div_f64},
    [HLY_ARITH_IDIV] = {[HLY_PHYS_I64] = idiv},
    [HLY_ARITH_REM] = NUMBERS(rem),
    [HLY_ARITH_PMOD] = NUMBERS(pmod),
    [HLY_ARITH_NEG] = SIGNED(neg),
    [HLY_ARITH_NEG_CHECK] = INTEGERS(neg_check),
    [HLY_ARITH_ABS] = SIGNED(abs),
    [HLY_ARITH_ABS_CHECK] = INTEGERS(abs_check),
}};
