#include "functions/comparison.h"

#include <string.h>

#include "vector/decimal.h"
#include "vector/str.h"

// Each comparison of each type is the same four loops; EXPR is over `a` and `b`.
// The result of a dense loop is a byte a row, which the compiler vectorises; the select loop is branch-free.
#define KERNEL(name, T, EXPR)                                                                                \
  static hly_status name(hly_call *call) {                                                                   \
    const hly_compare_state *s = call->state;                                                                \
    const hly_arg args[2] = {call->args[s->swap], call->args[!s->swap]};                                     \
    const struct {                                                                                           \
      const hly_arg *args;                                                                                   \
      hly_rows rows;                                                                                         \
      void *out;                                                                                             \
    } c = {args, call->rows, call->out};                                                                     \
    HLY_BINARY_LOOPS(&c, T, T, uint8_t, EXPR);                                                               \
    return HLY_OK;                                                                                           \
  }                                                                                                          \
  static uint32_t name##_select(const hly_call *call, uint32_t *out) {                                       \
    const hly_compare_state *st = call->state;                                                               \
    const hly_arg *x = &call->args[st->swap], *y = &call->args[!st->swap];                                   \
    const T *pa = x->data, *pb = y->data;                                                                    \
    const size_t sa = x->stride, sb = y->stride;                                                             \
    uint32_t n = 0;                                                                                          \
    if (!sb && !x->valid && !y->valid) {                                                                     \
      const T b = pb[0];                                                                                     \
      HLY_FOR_ROWS(call->rows, i, {                                                                          \
        const T a = pa[i * sa];                                                                              \
        out[n] = i;                                                                                          \
        n += (EXPR);                                                                                         \
      });                                                                                                    \
    } else {                                                                                                 \
      HLY_FOR_ROWS(call->rows, i, {                                                                          \
        const T a = pa[i * sa];                                                                              \
        const T b = pb[i * sb];                                                                              \
        out[n] = i;                                                                                          \
        n += (EXPR)&hly_arg_valid(x, i) & hly_arg_valid(y, i);                                               \
      });                                                                                                    \
    }                                                                                                        \
    return n;                                                                                                \
  }

#define INTEGERS(suffix, T)                                                                                  \
  KERNEL(eq_##suffix, T, a == b)                                                                             \
  KERNEL(lt_##suffix, T, a < b)                                                                              \
  KERNEL(le_##suffix, T, a <= b)

// Spark's order of floats: NaN equals NaN and is above everything, the zeros are equal.
#define FLOATS(suffix, T)                                                                                    \
  KERNEL(eq_##suffix, T, (a == b) | ((a != a) & (b != b)))                                                   \
  KERNEL(lt_##suffix, T, (a < b) | ((a == a) & (b != b)))                                                    \
  KERNEL(le_##suffix, T, (a <= b) | (b != b))

INTEGERS(bool, uint8_t)
INTEGERS(i8, int8_t)
INTEGERS(i16, int16_t)
INTEGERS(i32, int32_t)
INTEGERS(i64, int64_t)
INTEGERS(i128, hly_i128)
FLOATS(f32, float)
FLOATS(f64, double)

// ---- byte strings. Views at null rows may point anywhere, so those rows are not looked at.

static inline bool wanted(const hly_call *call, uint32_t i) {
  return hly_arg_valid(&call->args[0], i) && hly_arg_valid(&call->args[1], i);
}

// An inline constant: equality of 16 bytes, no branch.
static void eq_inline(hly_call *call, const hly_arg *x, const hly_str *constant) {
  uint64_t c[2];
  memcpy(c, constant, sizeof c);
  const uint64_t *restrict p = x->data;
  uint8_t *restrict out = call->out;
  HLY_FOR_ROWS(call->rows, i, { out[i] = (p[2 * (size_t)i] == c[0]) & (p[2 * (size_t)i + 1] == c[1]); });
}

#define STRINGS(name, EXPR)                                                                                  \
  static hly_status name(hly_call *call) {                                                                   \
    const hly_compare_state *s = call->state;                                                                \
    const hly_arg *x = &call->args[s->swap], *y = &call->args[!s->swap];                                     \
    uint8_t *out = call->out;                                                                                \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      bool r = false;                                                                                        \
      if (wanted(call, i)) {                                                                                 \
        const hly_str *a = (const hly_str *)x->data + i * (size_t)x->stride;                                 \
        const hly_str *b = (const hly_str *)y->data + i * (size_t)y->stride;                                 \
        r = (EXPR);                                                                                          \
      }                                                                                                      \
      out[i] = r;                                                                                            \
    });                                                                                                      \
    return HLY_OK;                                                                                           \
  }
STRINGS(eq_any_str, hly_str_equal(a, b))
STRINGS(lt_str, hly_str_compare(a, b) < 0)
STRINGS(le_str, hly_str_compare(a, b) <= 0)

static hly_status eq_str(hly_call *call) {
  for (int c = 0; c < 2; c++) {
    const hly_arg *x = &call->args[!c], *y = &call->args[c];
    if (x->stride && !y->stride && hly_arg_valid(y, 0)) {
      const hly_str *constant = y->data;
      if (constant->len <= HLY_STR_INLINE) {
        eq_inline(call, x, constant);
        return HLY_OK;
      }
    }
  }
  return eq_any_str(call);
}

// ---- decimals that must be aligned first

static hly_i128 load(const hly_arg *a, uint32_t i) {
  return a->type->phys == HLY_PHYS_I64 ? HLY_ARG(int64_t, a, i) : HLY_ARG(hly_i128, a, i);
}

// Compares x * 10^sx with y * 10^sy, one of sx and sy being 0. A product that does not fit in 128 bits is
// larger in size than any decimal, so its sign decides.
static int compare_decimals(hly_i128 x, int sx, hly_i128 y, int sy) {
  hly_i128 a = x, b = y;
  if (sx && __builtin_mul_overflow(x, hly_pow10_i128[sx], &a)) return x > 0 ? 1 : -1;
  if (sy && __builtin_mul_overflow(y, hly_pow10_i128[sy], &b)) return y > 0 ? -1 : 1;
  return (a > b) - (a < b);
}

#define MIXED(name, EXPR)                                                                                    \
  static hly_status name(hly_call *call) {                                                                   \
    const hly_compare_state *s = call->state;                                                                \
    const hly_arg *x = &call->args[s->swap], *y = &call->args[!s->swap];                                     \
    const int sx = s->scale[s->swap], sy = s->scale[!s->swap];                                               \
    uint8_t *out = call->out;                                                                                \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      int c = compare_decimals(load(x, i), sx, load(y, i), sy);                                              \
      out[i] = (EXPR);                                                                                       \
    });                                                                                                      \
    return HLY_OK;                                                                                           \
  }
MIXED(eq_mixed, c == 0)
MIXED(lt_mixed, c < 0)
MIXED(le_mixed, c <= 0)

#define ROW(op)                                                                                              \
  {                                                                                                          \
    [HLY_PHYS_BOOL] = op##_bool, [HLY_PHYS_I8] = op##_i8, [HLY_PHYS_I16] = op##_i16,                         \
    [HLY_PHYS_I32] = op##_i32, [HLY_PHYS_I64] = op##_i64, [HLY_PHYS_I128] = op##_i128,                       \
    [HLY_PHYS_F32] = op##_f32, [HLY_PHYS_F64] = op##_f64, [HLY_PHYS_STR] = op##_str,                         \
  }
#define SELECT_ROW(op)                                                                                       \
  {                                                                                                          \
    [HLY_PHYS_BOOL] = op##_bool_select, [HLY_PHYS_I8] = op##_i8_select, [HLY_PHYS_I16] = op##_i16_select,    \
    [HLY_PHYS_I32] = op##_i32_select, [HLY_PHYS_I64] = op##_i64_select, [HLY_PHYS_I128] = op##_i128_select,  \
    [HLY_PHYS_F32] = op##_f32_select, [HLY_PHYS_F64] = op##_f64_select,                                      \
  }

const hly_compare_table HLY_CPU_NAME(hly_compare) = {
    .fn = {ROW(eq), ROW(lt), ROW(le)},
    .select = {SELECT_ROW(eq), SELECT_ROW(lt), SELECT_ROW(le)},
    .mixed = {eq_mixed, lt_mixed, le_mixed},
};
