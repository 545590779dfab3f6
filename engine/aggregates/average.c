// Average: buffer (sum, count). Doubles divide; decimals divide as Spark's Decimal does, to the result's
// precision.
#include "aggregates/aggregate.h"

#include <string.h>

#include "aggregates/decimal_sum.h"

// ---- Numbers other than decimals: the sum is a double that begins at 0.0.

typedef struct average_state {
  double sum;
  int64_t count;
} average_state;

#define ADD(name, T)                                                                                         \
  static hly_status name(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,                       \
                         const hly_agg_rows *rows) {                                                         \
    HLY_AGG_LOOP(T, average_state, a, in, rows, s->sum += (double)v; s->count++;);                           \
    return HLY_OK;                                                                                           \
  }
ADD(add_i8, int8_t)
ADD(add_i16, int16_t)
ADD(add_i32, int32_t)
ADD(add_i64, int64_t)
ADD(add_f32, float)
ADD(add_f64, double)

static hly_status merge_doubles(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                                const hly_agg_rows *rows) {
  for (uint32_t i = 0; i < rows->n; i++) {
    average_state *s = (average_state *)(void *)hly_agg_state(a, rows, i);
    s->sum += HLY_AGG_AT(double, &in[0], i);
    s->count += HLY_AGG_AT(int64_t, &in[1], i);
  }
  return HLY_OK;
}

static hly_status combine_doubles(const hly_agg *a, hly_agg_env *env, uint8_t *const *to,
                                  uint8_t *const *from, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    average_state *s = (average_state *)(void *)(to[i] + a->offset);
    const average_state *f = (const average_state *)(const void *)(from[i] + a->offset);
    s->sum += f->sum;
    s->count += f->count;
  }
  return HLY_OK;
}

static hly_status emit_doubles(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n,
                               hly_vector *const *out, uint32_t *n_good) {
  HLY_TRY(hly_agg_begin(ctx, out[0], n));
  double *values = out[0]->values;
  int64_t *counts = NULL;
  if (!a->is_final) {
    HLY_TRY(hly_agg_begin(ctx, out[1], n));
    counts = out[1]->values;
  }
  for (uint32_t i = 0; i < n; i++) {
    const average_state *s = (const average_state *)(const void *)(rows[i] + a->offset);
    if (counts) {
      values[i] = s->sum;
      counts[i] = s->count;
    } else {
      values[i] = s->count ? s->sum / (double)s->count : 0;
      if (!s->count) HLY_TRY(hly_agg_set_null(ctx, out[0], i));
    }
  }
  return HLY_OK;
}

static hly_status bind_doubles(hly_binder *b, hly_agg *a) {
  if (a->type->kind != HLY_DOUBLE) return hly_agg_refuse_type(b, a, a->type);
  a->rounds = true;
  a->state_bytes = sizeof(average_state);
  a->combine = combine_doubles;
  a->emit = emit_doubles;
  if (a->merges) {
    a->update = merge_doubles;
    return HLY_OK;
  }
  switch (a->input_types[0]->kind) {
  case HLY_BYTE: a->update = add_i8; break;
  case HLY_SHORT: a->update = add_i16; break;
  case HLY_INT: a->update = add_i32; break;
  case HLY_LONG: a->update = add_i64; break;
  case HLY_FLOAT: a->update = add_f32; break;
  case HLY_DOUBLE: a->update = add_f64; break;
  default: return hly_agg_refuse_type(b, a, a->input_types[0]);
  }
  return HLY_OK;
}

// ---- Decimals. The buffer's sum is null after an overflow.

static hly_status merge_decimals(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                                 const hly_agg_rows *rows) {
  bool is_short = a->buffer_types[0]->phys == HLY_PHYS_I64;
  for (uint32_t i = 0; i < rows->n; i++) {
    hly_decimal_sum *s = (hly_decimal_sum *)(void *)hly_agg_state(a, rows, i);
    s->count += HLY_AGG_AT(int64_t, &in[1], i);
    if (hly_agg_is_null(&in[0], rows, i))
      s->overflow = 1;
    else
      hly_decimal_sum_add(a, s, is_short ? HLY_AGG_AT(int64_t, &in[0], i) : HLY_AGG_AT(hly_i128, &in[0], i));
  }
  return HLY_OK;
}

// The quotient of a group, or why there is none.
typedef enum quotient { QUOTIENT, NO_ROWS, SUM_OVERFLOW, QUOTIENT_OVERFLOW } quotient;

static quotient divide(const hly_agg *a, const hly_decimal_sum *s, hly_i128 *out) {
  if (s->count == 0) return NO_ROWS;
  const hly_type *sum = a->buffer_types[0];
  if (s->overflow || (a->grouped && !hly_decimal_fits(s->sum, sum->precision))) return SUM_OVERFLOW;
  return hly_decimal_sum_divide(s, sum, a->type, out) ? QUOTIENT : QUOTIENT_OVERFLOW;
}

static hly_status raise_quotient(const hly_agg *a, hly_ctx *ctx, const hly_decimal_sum *s, quotient q) {
  if (q == SUM_OVERFLOW) return hly_agg_overflow(ctx, a->site, "Overflow in sum of decimals", "try_avg");
  return hly_decimal_sum_raise_quotient(ctx, a->site, s, a->buffer_types[0], a->type);
}

static hly_status emit_decimals(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n,
                                hly_vector *const *out, uint32_t *n_good) {
  HLY_TRY(hly_agg_begin(ctx, out[0], n));
  for (uint32_t i = 0; i < n; i++) {
    const hly_decimal_sum *s = (const hly_decimal_sum *)(const void *)(rows[i] + a->offset);
    hly_i128 value = 0;
    quotient q = divide(a, s, &value);
    if (q != QUOTIENT) {
      if (q != NO_ROWS && a->eval_mode == HLY_AGG_ANSI) {
        *n_good = i < *n_good ? i : *n_good;
        return i > 0 ? HLY_OK : raise_quotient(a, ctx, s, q);
      }
      value = 0;
      HLY_TRY(hly_agg_set_null(ctx, out[0], i));
    }
    hly_decimal_store(out[0], i, value);
  }
  return HLY_OK;
}

static hly_status emit_decimal_buffers(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n,
                                       hly_vector *const *out, uint32_t *n_good) {
  HLY_TRY(hly_agg_begin(ctx, out[0], n));
  HLY_TRY(hly_agg_begin(ctx, out[1], n));
  int64_t *counts = out[1]->values;
  for (uint32_t i = 0; i < n; i++) {
    const hly_decimal_sum *s = (const hly_decimal_sum *)(const void *)(rows[i] + a->offset);
    bool fits = hly_decimal_sum_fits(s, a->buffer_types[0]->precision);
    hly_decimal_store(out[0], i, fits ? s->sum : 0);
    if (!fits) HLY_TRY(hly_agg_set_null(ctx, out[0], i));
    counts[i] = s->count;
  }
  return HLY_OK;
}

static hly_status bind_decimals(hly_binder *b, hly_agg *a) {
  if (a->type->kind != HLY_DECIMAL) return hly_agg_refuse_type(b, a, a->type);
  a->state_bytes = sizeof(hly_decimal_sum);
  a->combine = hly_decimal_sum_combine;
  a->emit = a->is_final ? emit_decimals : emit_decimal_buffers;
  if (a->merges) {
    a->keep_nulls = true;
    a->update = merge_decimals;
    return HLY_OK;
  }
  return hly_decimal_sum_bind_update(b, a);
}

hly_status hly_agg_bind_average(hly_binder *b, const Halley__AggCall *call, hly_agg *a) {
  if (!a->merges && a->n_inputs != 1) return hly_bind_refuse(b, "Average has %u arguments", a->n_inputs);
  if (a->n_buffers != 2 || a->buffer_types[1]->kind != HLY_LONG)
    return hly_bind_refuse(b, "Average has another buffer than expected");
  HLY_TRY(hly_agg_bind_eval_mode(b, call, a));
  switch (a->buffer_types[0]->kind) {
  case HLY_DOUBLE: return bind_doubles(b, a);
  case HLY_DECIMAL: return bind_decimals(b, a);
  default: return hly_agg_refuse_type(b, a, a->buffer_types[0]);
  }
}
