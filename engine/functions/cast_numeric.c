// Casts among booleans, integers, floats and decimals, as Spark's Cast does them in LEGACY and ANSI mode.
//
// ANSI: a value that does not fit declines the row, and Spark raises. LEGACY: integers wrap, floats saturate
// through int or long as Java's narrowing does, decimals become null. TRY declines like ANSI (Spark answers
// null). A string of digits, or a double to a decimal, depends on Java's own text forms and is not here.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "functions/arithmetic.h"
#include "functions/functions.h"
#include "vector/decimal.h"

typedef __int128 i128;

typedef struct cast_state {
  hly_arith_errors errors;
  int from_scale, scale, precision;
  i128 divisor; // 10^from_scale, from decimals
} cast_state;

// ---- Numbers to numbers

#define PLAIN(name, TF, TT, EXPR)                                                                            \
  static hly_status name(hly_call *call) {                                                                   \
    HLY_UNARY_LOOPS(call, TF, TT, EXPR);                                                                     \
    return HLY_OK;                                                                                           \
  }
// Declines rows where the result is not the same number.
#define NARROW(name, TF, TT)                                                                                 \
  static hly_status name(hly_call *call) {                                                                   \
    uint8_t bad = 0;                                                                                         \
    HLY_UNARY_LOOPS(call, TF, TT, ({                                                                         \
                      bad |= (TF)(TT)a != a;                                                                 \
                      (TT) a;                                                                                \
                    }));                                                                                     \
    if (!bad) return HLY_OK;                                                                                 \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      const TF a = HLY_ARG(TF, &call->args[0], i);                                                           \
      if (hly_call_wants(call, i) && (TF)(TT)a != a) hly_decline(call, i);                                   \
    });                                                                                                      \
    return HLY_OK;                                                                                           \
  }

// Java's narrowing of a floating value: NaN is 0, out of range saturates.
static inline int32_t java_int(double x) {
  if (x != x) return 0;
  if (x >= 2147483647.0) return INT32_MAX;
  if (x <= -2147483648.0) return INT32_MIN;
  return (int32_t)x;
}
static inline int64_t java_long(double x) {
  if (x != x) return 0;
  if (x >= 9223372036854775808.0) return INT64_MAX;
  if (x <= -9223372036854775808.0) return INT64_MIN;
  return (int64_t)x;
}

// ANSI: in range after rounding towards zero, as Spark tests it (the bounds are compared as doubles).
#define FLOAT_RANGE(name, TF, TT, MIN, MAX, CONVERT)                                                         \
  static hly_status name(hly_call *call) {                                                                   \
    TT *out = call->out;                                                                                     \
    HLY_FOR_ROWS(call->rows, i, {                                                                            \
      if (!hly_call_wants(call, i)) continue;                                                                \
      const double a = HLY_ARG(TF, &call->args[0], i);                                                       \
      if (floor(a) <= (double)(MAX) && ceil(a) >= (double)(MIN))                                             \
        out[i] = (TT)CONVERT(a);                                                                             \
      else                                                                                                   \
        hly_decline(call, i);                                                                                \
    });                                                                                                      \
    return HLY_OK;                                                                                           \
  }

#define FROM_INTEGER(S, TF)                                                                                  \
  PLAIN(S##_to_bool, TF, uint8_t, a != 0)                                                                    \
  PLAIN(S##_to_i8, TF, int8_t, a)                                                                            \
  PLAIN(S##_to_i16, TF, int16_t, a)                                                                          \
  PLAIN(S##_to_i32, TF, int32_t, a)                                                                          \
  PLAIN(S##_to_i64, TF, int64_t, a)                                                                          \
  PLAIN(S##_to_f32, TF, float, a)                                                                            \
  PLAIN(S##_to_f64, TF, double, a)
#define FROM_FLOAT(S, TF)                                                                                    \
  PLAIN(S##_to_bool, TF, uint8_t, a != 0)                                                                    \
  PLAIN(S##_to_i8, TF, int8_t, java_int(a))                                                                  \
  PLAIN(S##_to_i16, TF, int16_t, java_int(a))                                                                \
  PLAIN(S##_to_i32, TF, int32_t, java_int(a))                                                                \
  PLAIN(S##_to_i64, TF, int64_t, java_long(a))                                                               \
  PLAIN(S##_to_f32, TF, float, a)                                                                            \
  PLAIN(S##_to_f64, TF, double, a)                                                                           \
  FLOAT_RANGE(S##_ansi_i8, TF, int8_t, INT8_MIN, INT8_MAX, java_int)                                         \
  FLOAT_RANGE(S##_ansi_i16, TF, int16_t, INT16_MIN, INT16_MAX, java_int)                                     \
  FLOAT_RANGE(S##_ansi_i32, TF, int32_t, INT32_MIN, INT32_MAX, java_int)                                     \
  FLOAT_RANGE(S##_ansi_i64, TF, int64_t, INT64_MIN, INT64_MAX, java_long)

FROM_INTEGER(bool, uint8_t)
FROM_INTEGER(i8, int8_t)
FROM_INTEGER(i16, int16_t)
FROM_INTEGER(i32, int32_t)
FROM_INTEGER(i64, int64_t)
FROM_FLOAT(f32, float)
FROM_FLOAT(f64, double)
NARROW(i16_ansi_i8, int16_t, int8_t)
NARROW(i32_ansi_i8, int32_t, int8_t)
NARROW(i32_ansi_i16, int32_t, int16_t)
NARROW(i64_ansi_i8, int64_t, int8_t)
NARROW(i64_ansi_i16, int64_t, int16_t)
NARROW(i64_ansi_i32, int64_t, int32_t)

// [from][to] for BOOL, I8, I16, I32, I64, F32, F64 (positions of `numbers`).
enum { N_NUMBERS = 7 };
static int number_index(hly_phys p) {
  switch (p) {
  case HLY_PHYS_BOOL: return 0;
  case HLY_PHYS_I8: return 1;
  case HLY_PHYS_I16: return 2;
  case HLY_PHYS_I32: return 3;
  case HLY_PHYS_I64: return 4;
  case HLY_PHYS_F32: return 5;
  case HLY_PHYS_F64: return 6;
  default: return -1;
  }
}
#define ROW(S)                                                                                               \
  { S##_to_bool, S##_to_i8, S##_to_i16, S##_to_i32, S##_to_i64, S##_to_f32, S##_to_f64 }
static const hly_kernel_fn legacy[N_NUMBERS][N_NUMBERS] = {ROW(bool), ROW(i8),  ROW(i16), ROW(i32),
                                                           ROW(i64),  ROW(f32), ROW(f64)};
// Pairs that can fail in ANSI mode; NULL: as LEGACY.
static const hly_kernel_fn ansi[N_NUMBERS][N_NUMBERS] = {
    [2] = {[1] = i16_ansi_i8},
    [3] = {[1] = i32_ansi_i8, [2] = i32_ansi_i16},
    [4] = {[1] = i64_ansi_i8, [2] = i64_ansi_i16, [3] = i64_ansi_i32},
    [5] = {[1] = f32_ansi_i8, [2] = f32_ansi_i16, [3] = f32_ansi_i32, [4] = f32_ansi_i64},
    [6] = {[1] = f64_ansi_i8, [2] = f64_ansi_i16, [3] = f64_ansi_i32, [4] = f64_ansi_i64},
};

// ---- Decimals

static i128 load(const hly_arg *arg, uint32_t row) {
  return arg->type->phys == HLY_PHYS_I128 ? HLY_ARG(i128, arg, row) : HLY_ARG(int64_t, arg, row);
}
static void store(const hly_call *call, uint32_t row, i128 v) {
  if (call->type->phys == HLY_PHYS_I128)
    ((i128 *)call->out)[row] = v;
  else
    ((int64_t *)call->out)[row] = (int64_t)v;
}
static int64_t load_integer(const hly_arg *arg, uint32_t row) {
  switch (arg->type->phys) {
  case HLY_PHYS_BOOL: return HLY_ARG(uint8_t, arg, row);
  case HLY_PHYS_I8: return HLY_ARG(int8_t, arg, row);
  case HLY_PHYS_I16: return HLY_ARG(int16_t, arg, row);
  case HLY_PHYS_I32: return HLY_ARG(int32_t, arg, row);
  default: return HLY_ARG(int64_t, arg, row);
  }
}
static void store_integer(const hly_call *call, uint32_t row, int64_t v) {
  switch (call->type->phys) {
  case HLY_PHYS_I8: ((int8_t *)call->out)[row] = (int8_t)v; break;
  case HLY_PHYS_I16: ((int16_t *)call->out)[row] = (int16_t)v; break;
  case HLY_PHYS_I32: ((int32_t *)call->out)[row] = (int32_t)v; break;
  default: ((int64_t *)call->out)[row] = v; break;
  }
}

static hly_status integer_to_decimal(hly_call *call) {
  const cast_state *st = call->state;
  const i128 scale_up = hly_pow10_i128[st->scale];
  HLY_FOR_ROWS(call->rows, i, {
    if (!hly_call_wants(call, i)) continue;
    i128 v;
    if (!__builtin_mul_overflow((i128)load_integer(&call->args[0], i), scale_up, &v) &&
        hly_decimal_fits(v, st->precision))
      store(call, i, v);
    else
      hly_arith_error(call, st->errors, i);
  });
  return HLY_OK;
}

static hly_status decimal_to_decimal(hly_call *call) {
  const cast_state *st = call->state;
  HLY_FOR_ROWS(call->rows, i, {
    if (!hly_call_wants(call, i)) continue;
    i128 v;
    if (hly_decimal_rescale(load(&call->args[0], i), st->from_scale, st->precision, st->scale, &v))
      store(call, i, v);
    else
      hly_arith_error(call, st->errors, i);
  });
  return HLY_OK;
}

// More digits before the point and no fewer behind it: a multiplication that always fits.
static hly_status decimal_widen(hly_call *call) {
  const cast_state *st = call->state;
  const i128 m = hly_pow10_i128[st->scale - st->from_scale];
  if (call->type->phys == HLY_PHYS_I64) {
    const int64_t m64 = (int64_t)m;
    HLY_UNARY_LOOPS(call, int64_t, int64_t, a * m64);
  } else if (call->args[0].type->phys == HLY_PHYS_I64) {
    HLY_UNARY_LOOPS(call, int64_t, i128, (i128)a * m);
  } else {
    HLY_UNARY_LOOPS(call, i128, i128, a * m);
  }
  return HLY_OK;
}

static hly_status decimal_to_bool(hly_call *call) {
  HLY_FOR_ROWS(call->rows, i, { ((uint8_t *)call->out)[i] = load(&call->args[0], i) != 0; });
  return HLY_OK;
}

// LEGACY: the integral part's low bits, through long.
static hly_status decimal_to_integer(hly_call *call) {
  const cast_state *st = call->state;
  HLY_FOR_ROWS(call->rows, i, {
    if (hly_call_wants(call, i)) store_integer(call, i, (int64_t)(load(&call->args[0], i) / st->divisor));
  });
  return HLY_OK;
}

static hly_status decimal_to_integer_ansi(hly_call *call) {
  const cast_state *st = call->state;
  int64_t min;
  int64_t max;
  switch (call->type->phys) {
  case HLY_PHYS_I8: min = INT8_MIN, max = INT8_MAX; break;
  case HLY_PHYS_I16: min = INT16_MIN, max = INT16_MAX; break;
  case HLY_PHYS_I32: min = INT32_MIN, max = INT32_MAX; break;
  default: min = INT64_MIN, max = INT64_MAX; break;
  }
  HLY_FOR_ROWS(call->rows, i, {
    if (!hly_call_wants(call, i)) continue;
    const i128 v = load(&call->args[0], i) / st->divisor;
    if (v >= min && v <= max)
      store_integer(call, i, (int64_t)v);
    else
      hly_decline(call, i);
  });
  return HLY_OK;
}

// Powers of ten that a double and a float hold exactly.
static const double exact_f64[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
static const float exact_f32[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};

// The digits with an exponent, for strtod and strtof, which round correctly as Java's parser does.
static void decimal_text(i128 v, int scale, char text[64]) {
  char digits[48];
  int n = 0;
  unsigned __int128 u = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
  do {
    digits[n++] = (char)('0' + (int)(u % 10));
    u /= 10;
  } while (u);
  int k = 0;
  if (v < 0) text[k++] = '-';
  while (n) text[k++] = digits[--n];
  snprintf(text + k, (size_t)(64 - k), "e-%d", scale);
}

static hly_status decimal_to_f64(hly_call *call) {
  const cast_state *st = call->state;
  double *out = call->out;
  HLY_FOR_ROWS(call->rows, i, {
    if (!hly_call_wants(call, i)) continue;
    const i128 v = load(&call->args[0], i);
    if (v > -(1ll << 52) && v < 1ll << 52 && st->from_scale <= 22) {
      out[i] = (double)(int64_t)v / exact_f64[st->from_scale];
    } else {
      char text[64];
      decimal_text(v, st->from_scale, text);
      out[i] = strtod(text, NULL);
    }
  });
  return HLY_OK;
}

static hly_status decimal_to_f32(hly_call *call) {
  const cast_state *st = call->state;
  float *out = call->out;
  HLY_FOR_ROWS(call->rows, i, {
    if (!hly_call_wants(call, i)) continue;
    const i128 v = load(&call->args[0], i);
    if (v > -(1ll << 22) && v < 1ll << 22 && st->from_scale <= 10) {
      out[i] = (float)(int32_t)v / exact_f32[st->from_scale];
    } else {
      char text[64];
      decimal_text(v, st->from_scale, text);
      out[i] = strtof(text, NULL);
    }
  });
  return HLY_OK;
}

static hly_status bind_decimal_state(hly_binder *b, const hly_type *from, const hly_type *to,
                                     hly_arith_errors errors, hly_kernel *out) {
  cast_state *st = HLY_ARENA_NEW(b->arena, cast_state);
  HLY_CHECK_MEM(b->ctx, st, sizeof *st);
  st->errors = errors;
  st->from_scale = from->kind == HLY_DECIMAL ? from->scale : 0;
  st->divisor = hly_pow10_i128[st->from_scale];
  st->scale = to->kind == HLY_DECIMAL ? to->scale : 0;
  st->precision = to->kind == HLY_DECIMAL ? to->precision : 0;
  out->state = st;
  return HLY_OK;
}

// To a decimal that may be too small: null, or declined.
static hly_status bind_may_overflow(hly_binder *b, const hly_type *from, const hly_type *to, hly_kernel_fn fn,
                                    bool null_on_overflow, hly_kernel *out) {
  HLY_TRY(bind_decimal_state(b, from, to, null_on_overflow ? HLY_ARITH_NULL : HLY_ARITH_DECLINE, out));
  out->fn = fn;
  if (null_on_overflow)
    out->nulls = HLY_NULLS_MAY_ADD;
  else
    out->flags |= HLY_KERNEL_MAY_DECLINE;
  return HLY_OK;
}

static bool is_integer(hly_kind k) {
  return k >= HLY_BYTE && k <= HLY_LONG;
}

static hly_status bind_decimal_rescale(hly_binder *b, const hly_type *from, const hly_type *to,
                                       bool null_on_overflow, hly_kernel *out) {
  if (to->scale >= from->scale && to->precision - to->scale >= from->precision - from->scale) {
    HLY_TRY(bind_decimal_state(b, from, to, HLY_ARITH_NULL, out));
    out->fn = decimal_widen;
    return HLY_OK;
  }
  return bind_may_overflow(b, from, to, decimal_to_decimal, null_on_overflow, out);
}

hly_status hly_bind_cast(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  hly_arith_mode mode;
  HLY_TRY(hly_arith_bind_mode(b, call, "evalMode", &mode));
  const bool strict = mode.ansi || mode.try_;
  const hly_type *from = call->arg_types[0], *to = call->type;
  const bool from_number = from->kind == HLY_BOOLEAN || (from->kind >= HLY_BYTE && from->kind <= HLY_DOUBLE);
  const bool to_number = to->kind == HLY_BOOLEAN || (to->kind >= HLY_BYTE && to->kind <= HLY_DOUBLE);
  if (from_number && to_number) {
    const int f = number_index(from->phys), t = number_index(to->phys);
    out->fn = strict ? ansi[f][t] : NULL;
    if (out->fn)
      out->flags |= HLY_KERNEL_MAY_DECLINE;
    else
      out->fn = legacy[f][t];
    return HLY_OK;
  }
  if (to->kind == HLY_DECIMAL && (is_integer(from->kind) || from->kind == HLY_BOOLEAN))
    return bind_may_overflow(b, from, to, integer_to_decimal, !strict, out);
  if (from->kind == HLY_DECIMAL && to->kind == HLY_DECIMAL)
    return bind_decimal_rescale(b, from, to, !strict, out);
  if (from->kind == HLY_DECIMAL && to_number) {
    HLY_TRY(bind_decimal_state(b, from, to, HLY_ARITH_DECLINE, out));
    if (to->kind == HLY_BOOLEAN) {
      out->fn = decimal_to_bool;
    } else if (to->kind == HLY_DOUBLE) {
      out->fn = decimal_to_f64;
    } else if (to->kind == HLY_FLOAT) {
      out->fn = decimal_to_f32;
    } else if (!strict) {
      out->fn = decimal_to_integer;
    } else if (from->phys == HLY_PHYS_I128 && to->kind != HLY_LONG) {
      // Spark goes through a double there, which may round across the bound.
      return hly_bind_refuse(b,
                             "Cast: decimals over 18 digits to integers under 64 bits have no native form");
    } else {
      out->fn = decimal_to_integer_ansi;
      out->flags |= HLY_KERNEL_MAY_DECLINE;
    }
    return HLY_OK;
  }
  char f[64], t[64];
  return hly_bind_refuse(b, "Cast: %s to %s has no native form", hly_type_print(from, f, sizeof f),
                         hly_type_print(to, t, sizeof t));
}

// CheckOverflow: a decimal to its declared precision and scale.
hly_status hly_bind_check_overflow(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  if (call->type->kind != HLY_DECIMAL) return hly_bind_refuse(b, "CheckOverflow: not a decimal");
  return bind_decimal_rescale(b, call->arg_types[0], call->type,
                              hly_fn_param_bool(call, "nullOnOverflow", false), out);
}

// ---- UnscaledValue and MakeDecimal

static hly_status copy_i64(hly_call *call) {
  HLY_UNARY_LOOPS(call, int64_t, int64_t, a);
  return HLY_OK;
}

static hly_status make_decimal(hly_call *call) {
  const cast_state *st = call->state;
  HLY_FOR_ROWS(call->rows, i, {
    if (!hly_call_wants(call, i)) continue;
    const int64_t v = HLY_ARG(int64_t, &call->args[0], i);
    if (hly_decimal_fits(v, st->precision))
      store(call, i, v);
    else
      hly_arith_error(call, st->errors, i);
  });
  return HLY_OK;
}

hly_status hly_bind_unscaled_value(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  if (call->arg_types[0]->phys != HLY_PHYS_I64 || call->type->kind != HLY_LONG)
    return hly_bind_refuse(b, "UnscaledValue: decimals over 18 digits have no native form");
  out->fn = copy_i64;
  return HLY_OK;
}

hly_status hly_bind_make_decimal(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  if (call->type->kind != HLY_DECIMAL) return hly_bind_refuse(b, "MakeDecimal: not a decimal");
  return bind_may_overflow(b, call->arg_types[0], call->type, make_decimal,
                           hly_fn_param_bool(call, "nullOnOverflow", false), out);
}
