#include "aggregates/decimal_sum.h"

#include <stdio.h>
#include <string.h>

// Sums of values under 10^28 in a buffer of ten more digits cannot overflow before 10^10 rows: no check a
// row.
#define ADD_UNCHECKED(name, T)                                                                               \
  static hly_status name(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,                       \
                         const hly_agg_rows *rows) {                                                         \
    HLY_AGG_LOOP(T, hly_decimal_sum, a, in, rows, s->sum += v; s->count++; s->seen = 1;);                    \
    return HLY_OK;                                                                                           \
  }
ADD_UNCHECKED(add_i64, int64_t)
ADD_UNCHECKED(add_i128, hly_i128)

static hly_status add_checked(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                              const hly_agg_rows *rows) {
  HLY_AGG_LOOP(hly_i128, hly_decimal_sum, a, in, rows, hly_decimal_sum_add(a, s, v); s->count++;
               s->seen = 1;);
  return HLY_OK;
}

hly_status hly_decimal_sum_bind_update(hly_binder *b, hly_agg *a) {
  const hly_type *in = a->input_types[0], *sum = a->buffer_types[0];
  if (in->kind != HLY_DECIMAL || in->scale != sum->scale) return hly_agg_refuse_type(b, a, in);
  if (in->phys == HLY_PHYS_I64)
    a->update = add_i64;
  else
    a->update = sum->precision >= in->precision + 10 ? add_i128 : add_checked;
  return HLY_OK;
}

hly_status hly_decimal_sum_combine(const hly_agg *a, hly_agg_env *env, uint8_t *const *to,
                                   uint8_t *const *from, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    hly_decimal_sum *s = (hly_decimal_sum *)(void *)(to[i] + a->offset);
    const hly_decimal_sum *f = (const hly_decimal_sum *)(const void *)(from[i] + a->offset);
    hly_decimal_sum_add(a, s, f->sum);
    s->carry += f->carry;
    s->count += f->count;
    s->seen |= f->seen;
    s->overflow |= f->overflow;
  }
  return HLY_OK;
}

// Digits of carry * 2^128 + sum with a point before the last `scale` of them.
static void print_sum(const hly_decimal_sum *s, int scale, char *out) {
  uint32_t words[6]; // magnitude, little-endian
  hly_u128 low = (hly_u128)s->sum;
  // The signed 128-bit sum extends into the high words.
  int64_t high = (int64_t)s->carry + (s->sum < 0 ? -1 : 0);
  bool negative = high < 0;
  if (negative) {
    low = ~low + 1;
    high = ~high + (low == 0);
  }
  for (int i = 0; i < 4; i++) words[i] = (uint32_t)(low >> (32 * i));
  words[4] = (uint32_t)high;
  words[5] = (uint32_t)((uint64_t)high >> 32);
  char digits[64];
  int n = 0;
  for (bool any = true; any || n <= scale;) {
    uint64_t remainder = 0;
    any = false;
    for (int i = 5; i >= 0; i--) {
      uint64_t d = remainder << 32 | words[i];
      words[i] = (uint32_t)(d / 10);
      remainder = d % 10;
      any |= words[i] != 0;
    }
    digits[n++] = (char)('0' + remainder);
  }
  if (negative) *out++ = '-';
  while (n > 0) {
    *out++ = digits[--n];
    if (n == scale && scale > 0) *out++ = '.';
  }
  *out = 0;
}

hly_status hly_decimal_sum_raise(hly_ctx *ctx, const hly_decimal_sum *s, const hly_type *sum_type,
                                 const hly_type *type) {
  char value[96], precision[8], scale[8];
  print_sum(s, sum_type->scale, value);
  snprintf(precision, sizeof precision, "%d", type->precision);
  snprintf(scale, sizeof scale, "%d", type->scale);
  return hly_error_set(&ctx->error, HLY_E_NUMERIC_VALUE_OUT_OF_RANGE, 4, "value", value, "precision",
                       precision, "scale", scale, "config", "\"spark.sql.ansi.enabled\"");
}
