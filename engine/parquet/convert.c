#include "parquet/convert.h"

#include <string.h>

#include "vector/str.h"

uint8_t hly_pq_stored_size(hly_pq_type type) {
  switch (type) {
  case HLY_PQ_BOOLEAN: return 1;
  case HLY_PQ_INT32:
  case HLY_PQ_FLOAT: return 4;
  case HLY_PQ_INT64:
  case HLY_PQ_DOUBLE: return 8;
  default: return 16;
  }
}

// Whether a decimal column, or an integer one that is wide enough for all its values, may be read as `type`.
static bool decimal_allowed(const hly_pq_element *e, const hly_type *type, int *scale) {
  const hly_pq_annotation *a = &e->annotation;
  *scale = 0;
  if (a->kind == HLY_PQ_DECIMAL) {
    int more_scale = type->scale - a->scale, more_precision = type->precision - a->precision;
    *scale = a->scale;
    return more_scale >= 0 && more_precision >= more_scale;
  }
  if (a->kind == HLY_PQ_NO_ANNOTATION || (a->kind == HLY_PQ_INTEGER && a->is_signed)) {
    int whole = type->precision - type->scale;
    return (e->type == HLY_PQ_INT32 && whole >= 10) || (e->type == HLY_PQ_INT64 && whole >= 20);
  }
  return false;
}

static bool find_decimal(const hly_pq_element *e, const hly_type *type, hly_pq_convert *c) {
  bool wide = type->phys == HLY_PHYS_I128;
  int scale;
  c->precision = type->precision;
  if (!decimal_allowed(e, type, &scale)) {
    c->kind = HLY_PQ_U64_TO_I128;
    return e->type == HLY_PQ_INT64 && type->precision == 20 && type->scale == 0 &&
           e->annotation.kind == HLY_PQ_INTEGER && !e->annotation.is_signed && e->annotation.bit_width == 64;
  }
  // An integer column of scale 0 is asked for the decimal's scale: the same rule.
  c->scale_up = (uint8_t)(type->scale - scale);
  c->cut_to_int = type->precision <= 9;
  switch (e->type) {
  case HLY_PQ_INT32: c->kind = wide ? HLY_PQ_I32_TO_I128 : HLY_PQ_I32_TO_I64; return true;
  case HLY_PQ_INT64:
    if (wide)
      c->kind = HLY_PQ_I64_TO_I128;
    else
      c->kind = c->scale_up || c->cut_to_int ? HLY_PQ_I64_TO_I64 : HLY_PQ_AS_IS;
    return true;
  case HLY_PQ_BYTE_ARRAY:
  case HLY_PQ_FIXED_LEN_BYTE_ARRAY: c->kind = wide ? HLY_PQ_BYTES_TO_I128 : HLY_PQ_BYTES_TO_I64; return true;
  default: return false;
  }
}

static void rebase_micros(hly_pq_convert *c, hly_pq_rebase mode, const hly_pq_rebase_spec *spec) {
  c->rebase = mode;
  c->zone = spec->zone;
  c->unknown_zone = spec->unknown_zone;
}

bool hly_pq_convert_find(const hly_pq_element *e, const hly_type *type, const hly_pq_rebase_spec *rebase,
                         hly_pq_convert *out) {
  hly_pq_convert c = {.kind = HLY_PQ_AS_IS,
                      .stored_size = hly_pq_stored_size(e->type),
                      .value_size = hly_phys_size[type->phys]};
  const hly_pq_annotation *a = &e->annotation;
  bool good = false;
  if (type->kind == HLY_NULL) {
    c.kind = HLY_PQ_ALWAYS_NULL;
    *out = c;
    return a->kind == HLY_PQ_UNKNOWN;
  }
  if (type->kind == HLY_DECIMAL) {
    good = find_decimal(e, type, &c);
    *out = c;
    return good;
  }
  switch (e->type) {
  case HLY_PQ_BOOLEAN: good = type->kind == HLY_BOOLEAN; break;
  case HLY_PQ_INT32:
    good = true;
    switch (type->kind) {
    case HLY_INT:
    case HLY_YEAR_MONTH_INTERVAL: break;
    case HLY_LONG:
      c.kind = a->kind == HLY_PQ_INTEGER && !a->is_signed && a->bit_width == 32 ? HLY_PQ_U32_TO_I64
                                                                                : HLY_PQ_I32_TO_I64;
      break;
    case HLY_BYTE: c.kind = HLY_PQ_I32_TO_I8; break;
    case HLY_SHORT: c.kind = HLY_PQ_I32_TO_I16; break;
    case HLY_DOUBLE: c.kind = HLY_PQ_I32_TO_F64; break;
    case HLY_DATE:
      c.rebase = rebase->datetime;
      c.rebase_days = true;
      break;
    case HLY_TIMESTAMP_NTZ:
      good = a->kind == HLY_PQ_DATE;
      c.kind = HLY_PQ_DAYS_TO_MICROS;
      c.rebase = rebase->datetime;
      c.rebase_days = true;
      break;
    default: good = false;
    }
    break;
  case HLY_PQ_INT64:
    switch (type->kind) {
    case HLY_LONG:
    case HLY_DAY_TIME_INTERVAL: good = true; break;
    case HLY_TIMESTAMP:
    case HLY_TIMESTAMP_NTZ:
      good = a->kind == HLY_PQ_TIMESTAMP && a->unit != HLY_PQ_NANOS;
      if (a->unit == HLY_PQ_MILLIS) c.kind = HLY_PQ_MILLIS_TO_MICROS;
      if (type->kind == HLY_TIMESTAMP) rebase_micros(&c, rebase->datetime, rebase);
      break;
    case HLY_TIME:
      good = true;
      c.kind = HLY_PQ_MICROS_TO_NANOS;
      break;
    default: break;
    }
    break;
  case HLY_PQ_INT96:
    good = type->kind == HLY_TIMESTAMP || type->kind == HLY_TIMESTAMP_NTZ;
    c.kind = HLY_PQ_INT96_TO_MICROS;
    c.int96 = true;
    if (type->kind == HLY_TIMESTAMP) rebase_micros(&c, rebase->int96, rebase);
    break;
  case HLY_PQ_FLOAT:
    good = type->kind == HLY_FLOAT || type->kind == HLY_DOUBLE;
    if (type->kind == HLY_DOUBLE) c.kind = HLY_PQ_F32_TO_F64;
    break;
  case HLY_PQ_DOUBLE: good = type->kind == HLY_DOUBLE; break;
  case HLY_PQ_BYTE_ARRAY: good = hly_type_is_string(type); break;
  case HLY_PQ_FIXED_LEN_BYTE_ARRAY: good = type->kind == HLY_BINARY; break;
  default: break;
  }
  *out = c;
  return good;
}

// ---- values

#define LOOP(IN, OUT, EXPR)                                                                                  \
  do {                                                                                                       \
    const IN *restrict from = in;                                                                            \
    OUT *restrict to = out;                                                                                  \
    for (uint32_t i = 0; i < n; i++) {                                                                       \
      IN x = from[i];                                                                                        \
      to[i] = (OUT)(EXPR);                                                                                   \
    }                                                                                                        \
  } while (0)

static hly_pq_convert_error scale_i64(const int64_t *in, uint32_t n, int64_t factor, int64_t *out) {
  bool overflow = false;
  for (uint32_t i = 0; i < n; i++) overflow |= __builtin_mul_overflow(in[i], factor, &out[i]);
  return overflow ? HLY_PQ_CONVERT_OVERFLOW : HLY_PQ_CONVERT_OK;
}

static hly_pq_convert_error int96_to_micros(const hly_str *in, uint32_t n, int64_t *out) {
  for (uint32_t i = 0; i < n; i++) {
    if (in[i].len != 12) return HLY_PQ_CONVERT_BAD_BYTES;
    int64_t nanos;
    int32_t day;
    memcpy(&nanos, in[i].u.inl, 8);
    memcpy(&day, in[i].u.inl + 8, 4);
    out[i] = (int64_t)(int32_t)(day - 2440588) * 86400000000ll + nanos / 1000;
  }
  return HLY_PQ_CONVERT_OK;
}

// Big-endian two's complement of any length; the low 128 bits, and whether the rest is only sign.
static bool bytes_to_i128(const hly_str *s, hly_i128 *out) {
  const uint8_t *p = hly_str_data(s);
  uint32_t n = s->len;
  if (n == 0) return false;
  uint8_t sign = p[0] & 0x80 ? 0xff : 0;
  while (n > 16) {
    if (*p != sign) return false;
    p++;
    n--;
  }
  hly_u128 v = sign ? ~(hly_u128)0 : 0;
  for (uint32_t i = 0; i < n; i++) v = v << 8 | p[i];
  *out = (hly_i128)v;
  return s->len <= 16 || (*p & 0x80) == (sign & 0x80);
}

static hly_pq_convert_error bytes_to_decimal(const hly_pq_convert *c, const hly_str *in, uint32_t n,
                                             void *out) {
  hly_i128 factor = hly_pow10_i128[c->scale_up];
  for (uint32_t i = 0; i < n; i++) {
    hly_i128 v;
    if (!bytes_to_i128(&in[i], &v)) return HLY_PQ_CONVERT_BAD_BYTES;
    if (c->scale_up && __builtin_mul_overflow(v, factor, &v)) return HLY_PQ_CONVERT_OVERFLOW;
    if (c->kind == HLY_PQ_BYTES_TO_I128) {
      if (!hly_decimal_fits(v, c->precision)) return HLY_PQ_CONVERT_OVERFLOW;
      ((hly_i128 *)out)[i] = v;
    } else {
      ((int64_t *)out)[i] = c->cut_to_int ? (int32_t)v : (int64_t)v;
    }
  }
  return HLY_PQ_CONVERT_OK;
}

static hly_pq_convert_error rebase_dates(const hly_pq_convert *c, uint32_t n, int32_t *days) {
  bool ancient = false;
  for (uint32_t i = 0; i < n; i++) ancient |= days[i] < HLY_PQ_LAST_SWITCH_DAY;
  if (!ancient) return HLY_PQ_CONVERT_OK;
  if (c->rebase == HLY_PQ_REBASE_EXCEPTION) return HLY_PQ_CONVERT_ANCIENT;
  for (uint32_t i = 0; i < n; i++) days[i] = hly_pq_rebase_days(days[i]);
  return HLY_PQ_CONVERT_OK;
}

static hly_pq_convert_error rebase_timestamps(const hly_pq_convert *c, uint32_t n, int64_t *micros) {
  bool ancient = false;
  for (uint32_t i = 0; i < n; i++) ancient |= micros[i] < HLY_PQ_LAST_SWITCH_MICROS;
  if (!ancient) return HLY_PQ_CONVERT_OK;
  if (c->rebase == HLY_PQ_REBASE_EXCEPTION) return HLY_PQ_CONVERT_ANCIENT;
  if (c->unknown_zone) return HLY_PQ_CONVERT_UNKNOWN_ZONE;
  for (uint32_t i = 0; i < n; i++) micros[i] = hly_pq_rebase_micros(c->zone, micros[i]);
  return HLY_PQ_CONVERT_OK;
}

hly_pq_convert_error hly_pq_convert_values(const hly_pq_convert *c, const void *in, uint32_t n, void *out) {
  hly_pq_convert_error e = HLY_PQ_CONVERT_OK;
  const hly_i128 factor = hly_pow10_i128[c->scale_up];
  switch (c->kind) {
  case HLY_PQ_ALWAYS_NULL: return HLY_PQ_CONVERT_OK;
  case HLY_PQ_AS_IS: memcpy(out, in, (size_t)n * c->value_size); break;
  case HLY_PQ_I32_TO_I8: LOOP(int32_t, int8_t, x); break;
  case HLY_PQ_I32_TO_I16: LOOP(int32_t, int16_t, x); break;
  case HLY_PQ_I32_TO_I64:
    if (c->scale_up == 0)
      LOOP(int32_t, int64_t, x);
    else if (c->cut_to_int)
      LOOP(int32_t, int64_t, (int32_t)(x * (int64_t)factor));
    else
      LOOP(int32_t, int64_t, x * (int64_t)factor);
    break;
  case HLY_PQ_U32_TO_I64: LOOP(uint32_t, int64_t, x); break;
  case HLY_PQ_I32_TO_F64: LOOP(int32_t, double, x); break;
  case HLY_PQ_I32_TO_I128: LOOP(int32_t, hly_i128, x * factor); break;
  case HLY_PQ_I64_TO_I64:
    if (c->cut_to_int)
      LOOP(int64_t, int64_t, (int32_t)(x * (int64_t)factor));
    else
      LOOP(int64_t, int64_t, x * (int64_t)factor);
    break;
  case HLY_PQ_I64_TO_I128: LOOP(int64_t, hly_i128, x * factor); break;
  case HLY_PQ_U64_TO_I128: LOOP(uint64_t, hly_i128, x); break;
  case HLY_PQ_F32_TO_F64: LOOP(float, double, x); break;
  case HLY_PQ_MILLIS_TO_MICROS:
  case HLY_PQ_MICROS_TO_NANOS: e = scale_i64(in, n, 1000, out); break;
  case HLY_PQ_DAYS_TO_MICROS: {
    int64_t *to = out;
    for (uint32_t i = 0; i < n && e == HLY_PQ_CONVERT_OK; i++) {
      int32_t day = ((const int32_t *)in)[i];
      if (c->rebase) e = rebase_dates(c, 1, &day);
      if (__builtin_mul_overflow((int64_t)day, 86400000000ll, &to[i])) e = HLY_PQ_CONVERT_OVERFLOW;
    }
    return e;
  }
  case HLY_PQ_INT96_TO_MICROS: e = int96_to_micros(in, n, out); break;
  case HLY_PQ_BYTES_TO_I64:
  case HLY_PQ_BYTES_TO_I128: return bytes_to_decimal(c, in, n, out);
  }
  if (e != HLY_PQ_CONVERT_OK || c->rebase == HLY_PQ_REBASE_CORRECTED) return e;
  return c->rebase_days ? rebase_dates(c, n, out) : rebase_timestamps(c, n, out);
}

bool hly_pq_convert_can_fail(const hly_pq_convert *c) {
  switch (c->kind) {
  case HLY_PQ_MILLIS_TO_MICROS:
  case HLY_PQ_MICROS_TO_NANOS:
  case HLY_PQ_DAYS_TO_MICROS: return true;
  default:
    return c->rebase == HLY_PQ_REBASE_EXCEPTION ||
           (c->rebase == HLY_PQ_REBASE_LEGACY && !c->rebase_days && c->unknown_zone);
  }
}
