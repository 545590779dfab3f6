#include "aggregates/decimal_sum.h"

#include <stdio.h>
#include <string.h>

void hly_decimal_sum_add_large(const hly_agg *a, hly_decimal_sum *s, bool negative, bool over) {
  if (over) s->carry += negative ? -1 : 1;
  if (a->grouped) s->overflow |= s->carry != 0 || !hly_decimal_fits(s->sum, a->buffer_types[0]->precision);
}

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
  a->shareable = true;
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

// A magnitude of up to 192 bits, least significant limb first.
typedef struct wide {
  uint64_t limbs[3];
  bool negative;
} wide;

static wide wide_of(const hly_decimal_sum *s) {
  hly_u128 low = (hly_u128)s->sum;
  // The signed 128-bit sum extends into the high limb.
  int64_t high = (int64_t)s->carry + (s->sum < 0 ? -1 : 0);
  wide w = {.negative = high < 0};
  if (w.negative) {
    low = ~low + 1;
    high = ~high + (low == 0);
  }
  w.limbs[0] = (uint64_t)low;
  w.limbs[1] = (uint64_t)(low >> 64);
  w.limbs[2] = (uint64_t)high;
  return w;
}

// Divides in place, returns the remainder.
static uint64_t wide_divide(wide *w, uint64_t by) {
  hly_u128 remainder = 0;
  for (int i = 2; i >= 0; i--) {
    hly_u128 d = remainder << 64 | w->limbs[i];
    w->limbs[i] = (uint64_t)(d / by);
    remainder = d % by;
  }
  return (uint64_t)remainder;
}

static bool wide_is_zero(const wide *w) {
  return (w->limbs[0] | w->limbs[1] | w->limbs[2]) == 0;
}

// Writes the digits of w, then `n_more` of `more`, with a point before the last `scale` of them all.
static void print_digits(wide w, const char *more, int n_more, int scale, char *out) {
  char digits[128]; // last digit first
  int n = 0;
  for (; n < n_more; n++) digits[n] = more[n_more - 1 - n];
  bool negative = w.negative;
  do digits[n++] = (char)('0' + wide_divide(&w, 10));
  while (!wide_is_zero(&w) || n <= scale);
  if (negative) *out++ = '-';
  while (n > 0) {
    *out++ = digits[--n];
    if (n == scale && scale > 0) *out++ = '.';
  }
  *out = 0;
}

// The next digit of a quotient.
static int next_digit(uint64_t *remainder, uint64_t by) {
  hly_u128 r = (hly_u128)*remainder * 10;
  *remainder = (uint64_t)(r % by);
  return (int)(r / by);
}

bool hly_decimal_sum_divide(const hly_decimal_sum *s, const hly_type *sum_type, const hly_type *type,
                            hly_i128 *out) {
  if (s->carry == 0)
    return hly_decimal_div(s->sum, sum_type->scale, s->count, 0, type->precision, type->scale, out);
  if (type->scale < sum_type->scale) return false; // not a type of an average
  wide w = wide_of(s);
  uint64_t by = (uint64_t)s->count, remainder = wide_divide(&w, by);
  hly_u128 q = (hly_u128)w.limbs[1] << 64 | w.limbs[0];
  hly_u128 limit = (hly_u128)hly_pow10_i128[type->precision];
  if (w.limbs[2] || q >= limit) return false;
  for (int i = sum_type->scale; i < type->scale; i++) {
    if (q >= limit / 10) return false;
    q = q * 10 + (unsigned)next_digit(&remainder, by);
  }
  q += next_digit(&remainder, by) >= 5;
  *out = w.negative ? -(hly_i128)q : (hly_i128)q;
  return q < limit;
}

static hly_status raise(hly_ctx *ctx, int64_t site, const char *value, const hly_type *type) {
  char precision[8], scale[8], place[24];
  snprintf(precision, sizeof precision, "%d", type->precision);
  snprintf(scale, sizeof scale, "%d", type->scale);
  snprintf(place, sizeof place, "%lld", (long long)site);
  return hly_error_set(&ctx->error, HLY_E_NUMERIC_VALUE_OUT_OF_RANGE, 5, "value", value, "precision",
                       precision, "scale", scale, "config", "\"spark.sql.ansi.enabled\"", "site", place);
}

hly_status hly_decimal_sum_raise(hly_ctx *ctx, int64_t site, const hly_decimal_sum *s,
                                 const hly_type *sum_type) {
  char value[160];
  print_digits(wide_of(s), "", 0, sum_type->scale, value);
  return raise(ctx, site, value, sum_type);
}

hly_status hly_decimal_sum_raise_quotient(hly_ctx *ctx, int64_t site, const hly_decimal_sum *s,
                                          const hly_type *sum_type, const hly_type *type) {
  enum { SCALE = 39 }; // of Spark's quotients, cut off
  char value[160], more[SCALE];
  wide w = wide_of(s);
  uint64_t by = (uint64_t)s->count, remainder = wide_divide(&w, by);
  int n = SCALE - sum_type->scale;
  for (int i = 0; i < n; i++) more[i] = (char)('0' + next_digit(&remainder, by));
  print_digits(w, more, n, SCALE, value);
  return raise(ctx, site, value, type);
}
