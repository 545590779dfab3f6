#include "functions/logic.h"

#include <string.h>

static void mask_and(uint32_t n, uint8_t *restrict to, const uint8_t *restrict from) {
  for (uint32_t i = 0; i < n; i++) to[i] &= from[i];
}

static void mask_and2(uint32_t n, uint8_t *restrict to, const uint8_t *restrict a,
                      const uint8_t *restrict b) {
  for (uint32_t i = 0; i < n; i++) to[i] &= a[i] & b[i];
}

static void invert(uint32_t n, uint8_t *restrict to, const uint8_t *restrict from) {
  for (uint32_t i = 0; i < n; i++) to[i] = from[i] ^ 1;
}

// `t` true and not null, `f` false and not null: AND is true where both are t, false where one is f, else
// null.
static void and3(uint32_t n, const uint8_t *a, const uint8_t *va, const uint8_t *b, const uint8_t *vb,
                 uint8_t *out, uint8_t *out_valid) {
  if (!va && !vb) {
    for (uint32_t i = 0; i < n; i++) out[i] = a[i] & b[i];
  } else if (va && vb) {
    for (uint32_t i = 0; i < n; i++) {
      uint8_t ta = a[i] & va[i], tb = b[i] & vb[i], fa = va[i] & (a[i] ^ 1), fb = vb[i] & (b[i] ^ 1);
      out[i] = ta & tb;
      out_valid[i] = (ta & tb) | fa | fb;
    }
  } else {
    if (vb) {
      const uint8_t *t = a;
      a = b;
      b = t;
      va = vb;
    }
    for (uint32_t i = 0; i < n; i++) {
      uint8_t x = a[i], v = va[i], y = b[i];
      out[i] = x & v & y;
      out_valid[i] = v | (y ^ 1);
    }
  }
}

static void or3(uint32_t n, const uint8_t *a, const uint8_t *va, const uint8_t *b, const uint8_t *vb,
                uint8_t *out, uint8_t *out_valid) {
  if (!va && !vb) {
    for (uint32_t i = 0; i < n; i++) out[i] = a[i] | b[i];
  } else if (va && vb) {
    for (uint32_t i = 0; i < n; i++) {
      uint8_t ta = a[i] & va[i], tb = b[i] & vb[i];
      uint8_t both = va[i] & vb[i];
      out[i] = ta | tb;
      out_valid[i] = ta | tb | both;
    }
  } else {
    if (vb) {
      const uint8_t *t = a;
      a = b;
      b = t;
      va = vb;
    }
    for (uint32_t i = 0; i < n; i++) {
      uint8_t x = a[i], v = va[i], y = b[i];
      out[i] = (x & v) | y;
      out_valid[i] = v | y;
    }
  }
}

static uint32_t count(uint32_t n, const uint8_t *bytes) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += bytes[i];
  return sum;
}

static hly_status not_(hly_call *call) {
  HLY_UNARY_LOOPS(call, uint8_t, uint8_t, a ^ 1);
  return HLY_OK;
}

#define IS_NAN(name, T)                                                                                      \
  static hly_status name(hly_call *call) {                                                                   \
    HLY_UNARY_LOOPS(call, T, uint8_t, a != a);                                                               \
    const hly_arg *arg = &call->args[0];                                                                     \
    uint8_t *out = call->out;                                                                                \
    if (arg->valid) HLY_FOR_ROWS(call->rows, i, out[i] &= arg->valid[(size_t)i * arg->stride];);             \
    call->valid = NULL;                                                                                      \
    return HLY_OK;                                                                                           \
  }
IS_NAN(is_nan_f32, float)
IS_NAN(is_nan_f64, double)

// One NaN, and no negative zero: what grouping and joining compare by.
static hly_status normalize_f32(hly_call *call) {
  HLY_UNARY_LOOPS(call, float, float, a != a ? __builtin_nanf("") : (a == 0.0f ? 0.0f : a));
  return HLY_OK;
}
static hly_status normalize_f64(hly_call *call) {
  HLY_UNARY_LOOPS(call, double, double, a != a ? __builtin_nan("") : (a == 0.0 ? 0.0 : a));
  return HLY_OK;
}

const hly_logic_table HLY_CPU_NAME(hly_logic) = {
    .mask_and = mask_and,
    .mask_and2 = mask_and2,
    .invert = invert,
    .and3 = and3,
    .or3 = or3,
    .count = count,
    .not_ = not_,
    .is_nan = {is_nan_f32, is_nan_f64},
    .normalize = {normalize_f32, normalize_f64},
};
