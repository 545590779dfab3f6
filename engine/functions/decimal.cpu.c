// Decimal addition, subtraction and multiplication. Compiled once per CPU level.
//
// Exact forms are chosen at bind where Spark's result type holds every result of the operand types. Checked
// forms round HALF_UP to the result's scale and test its precision; a row whose exact value does not fit
// 128 bits on the way is declined, whatever the mode, and computed by Spark.
#include "functions/arithmetic.h"

#include "vector/decimal.h"

typedef int64_t i64;
typedef __int128 i128;

#define STATE(call) ((const hly_decimal_state *)(call)->state)

// Multipliers of one are hoisted: operands of the same scale are the common case.
#define EXACT_SUM(name, TA, TB, TO, OP)                                                                      \
  static hly_status name(hly_call *call) {                                                                   \
    const TO m1 = (TO)STATE(call)->m1, m2 = (TO)STATE(call)->m2;                                             \
    if (m1 == 1 && m2 == 1)                                                                                  \
      HLY_BINARY_LOOPS(call, TA, TB, TO, (TO)a OP(TO) b);                                                    \
    else                                                                                                     \
      HLY_BINARY_LOOPS(call, TA, TB, TO, (TO)a *m1 OP(TO) b *m2);                                            \
    return HLY_OK;                                                                                           \
  }
#define EXACT_PRODUCT(name, TA, TB, TO)                                                                      \
  static hly_status name(hly_call *call) {                                                                   \
    HLY_BINARY_LOOPS(call, TA, TB, TO, (TO)a *(TO)b);                                                        \
    return HLY_OK;                                                                                           \
  }

// Rescales the exact value `v` and stores it, or deals with the row.
#define STORE(TO, v)                                                                                         \
  do {                                                                                                       \
    i128 r_;                                                                                                 \
    if (__builtin_expect(!hly_decimal_rescale((v), st->from_scale, st->precision, st->scale, &r_), 0))       \
      hly_arith_error(call, st->errors, i);                                                                  \
    else                                                                                                     \
      out[i] = (TO)r_;                                                                                       \
  } while (0)

#define CHECKED_SUM(name, TA, TB, TO, COMBINE)                                                               \
  static hly_status name(hly_call *call) {                                                                   \
    const hly_decimal_state *st = STATE(call);                                                               \
    TO *out = call->out;                                                                                     \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      if (!hly_call_wants(call, i)) continue;                                                                \
      i128 a, b, v;                                                                                          \
      if (__builtin_mul_overflow((i128)HLY_ARG(TA, &call->args[0], i), st->m1, &a) |                         \
          __builtin_mul_overflow((i128)HLY_ARG(TB, &call->args[1], i), st->m2, &b) | COMBINE(a, b, &v))      \
        hly_decline(call, i);                                                                                \
      else                                                                                                   \
        STORE(TO, v);                                                                                        \
    });                                                                                                      \
    return HLY_OK;                                                                                           \
  }

// Factors of 64 bits have a product of at most 126 bits, which is below 10^38: with the full precision and no
// rounding there is nothing to check.
#define CHECKED_PRODUCT(name, TA, TB, TO)                                                                    \
  static hly_status name(hly_call *call) {                                                                   \
    const hly_decimal_state *st = STATE(call);                                                               \
    const bool whole = st->precision == 38 && st->from_scale == st->scale;                                   \
    TO *out = call->out;                                                                                     \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      if (!hly_call_wants(call, i)) continue;                                                                \
      const TA a = HLY_ARG(TA, &call->args[0], i);                                                           \
      const TB b = HLY_ARG(TB, &call->args[1], i);                                                           \
      if (__builtin_expect((i64)a == a && (i64)b == b, 1)) {                                                 \
        const i128 v = (i128)(i64)a * (i64)b;                                                                \
        if (whole)                                                                                           \
          out[i] = (TO)v;                                                                                    \
        else                                                                                                 \
          STORE(TO, v);                                                                                      \
      } else {                                                                                               \
        i128 r;                                                                                              \
        if (hly_decimal_mul(a, b, st->from_scale, st->precision, st->scale, &r))                             \
          out[i] = (TO)r;                                                                                    \
        else                                                                                                 \
          hly_arith_error(call, st->errors, i);                                                              \
      }                                                                                                      \
    });                                                                                                      \
    return HLY_OK;                                                                                           \
  }

#define FORMS(S, TA, TB, TO)                                                                                 \
  EXACT_SUM(add_exact_##S, TA, TB, TO, +)                                                                    \
  EXACT_SUM(sub_exact_##S, TA, TB, TO, -)                                                                    \
  EXACT_PRODUCT(mul_exact_##S, TA, TB, TO)                                                                   \
  CHECKED_SUM(add_checked_##S, TA, TB, TO, __builtin_add_overflow)                                           \
  CHECKED_SUM(sub_checked_##S, TA, TB, TO, __builtin_sub_overflow)                                           \
  CHECKED_PRODUCT(mul_checked_##S, TA, TB, TO)

FORMS(nnn, i64, i64, i64)
FORMS(nnw, i64, i64, i128)
FORMS(nwn, i64, i128, i64)
FORMS(nww, i64, i128, i128)
FORMS(wnn, i128, i64, i64)
FORMS(wnw, i128, i64, i128)
FORMS(wwn, i128, i128, i64)
FORMS(www, i128, i128, i128)

#define ALL(f)                                                                                               \
  {                                                                                                          \
    {{f##_nnn, f##_nnw}, {f##_nwn, f##_nww}}, {                                                              \
      {f##_wnn, f##_wnw}, {                                                                                  \
        f##_wwn, f##_www                                                                                     \
      }                                                                                                      \
    }                                                                                                        \
  }

const hly_decimal_table HLY_CPU_NAME(hly_decimal) = {
    .exact = {ALL(add_exact), ALL(sub_exact), ALL(mul_exact)},
    .checked = {ALL(add_checked), ALL(sub_checked), ALL(mul_checked)},
};
