// Sum, as Spark's Sum and Average add: 64-bit integers (wrapping, raising or giving up on overflow), doubles
// in row order, decimals in 128 bits.
#include "aggregates/aggregate.h"

#include <string.h>

#include "aggregates/decimal_sum.h"

// ---- Integers. Buffer (sum), null before the first value; TRY: (sum, isEmpty), sum null after an overflow.

typedef struct long_state {
  int64_t sum;
  uint8_t seen, overflow;
} long_state;

#define ADD_LONGS(name, T)                                                                                   \
  static hly_status name##_wrap(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,                \
                                const hly_agg_rows *rows) {                                                  \
    HLY_AGG_LOOP(T, long_state, a, in, rows, s->sum += v; s->seen = 1;);                                     \
    return HLY_OK;                                                                                           \
  }                                                                                                          \
  static hly_status name##_ansi(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,                \
                                const hly_agg_rows *rows) {                                                  \
    HLY_AGG_LOOP(                                                                                            \
        T, long_state, a, in, rows, s->seen = 1;                                                             \
        if (__builtin_expect(__builtin_add_overflow(s->sum, (int64_t)v, &s->sum),                            \
                             0)) return hly_agg_overflow(env->ctx, a->site, "long overflow", "try_add"););   \
    return HLY_OK;                                                                                           \
  }                                                                                                          \
  static hly_status name##_try(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,                 \
                               const hly_agg_rows *rows) {                                                   \
    HLY_AGG_LOOP(T, long_state, a, in, rows, s->seen = 1;                                                    \
                 s->overflow |= __builtin_add_overflow(s->sum, (int64_t)v, &s->sum););                       \
    return HLY_OK;                                                                                           \
  }
ADD_LONGS(add_i8, int8_t)
ADD_LONGS(add_i16, int16_t)
ADD_LONGS(add_i32, int32_t)
ADD_LONGS(add_i64, int64_t)

// TRY's buffers: sum null means overflow unless the buffer is empty.
static hly_status merge_try_longs(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                                  const hly_agg_rows *rows) {
  for (uint32_t i = 0; i < rows->n; i++) {
    long_state *s = (long_state *)(void *)hly_agg_state(a, rows, i);
    bool is_empty = HLY_AGG_AT(uint8_t, &in[1], i), is_null = hly_agg_is_null(&in[0], rows, i);
    s->seen |= !is_empty;
    if (is_null)
      s->overflow |= !is_empty;
    else
      s->overflow |= __builtin_add_overflow(s->sum, HLY_AGG_AT(int64_t, &in[0], i), &s->sum);
  }
  return HLY_OK;
}

static hly_status combine_longs(const hly_agg *a, hly_agg_env *env, uint8_t *const *to, uint8_t *const *from,
                                uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    long_state *s = (long_state *)(void *)(to[i] + a->offset);
    const long_state *f = (const long_state *)(const void *)(from[i] + a->offset);
    bool overflow = __builtin_add_overflow(s->sum, f->sum, &s->sum);
    s->seen |= f->seen;
    s->overflow |= f->overflow;
    if (!overflow) continue;
    if (a->eval_mode == HLY_AGG_ANSI) return hly_agg_overflow(env->ctx, a->site, "long overflow", "try_add");
    s->overflow |= a->eval_mode == HLY_AGG_TRY;
  }
  return HLY_OK;
}

static hly_status emit_longs(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n,
                             hly_vector *const *out, uint32_t *n_good) {
  bool is_try = a->eval_mode == HLY_AGG_TRY;
  HLY_TRY(hly_agg_begin(ctx, out[0], n));
  int64_t *sums = out[0]->values;
  uint8_t *empty = NULL;
  if (is_try && !a->is_final) {
    HLY_TRY(hly_agg_begin(ctx, out[1], n));
    empty = out[1]->values;
  }
  for (uint32_t i = 0; i < n; i++) {
    const long_state *s = (const long_state *)(const void *)(rows[i] + a->offset);
    // An empty TRY buffer holds 0, every other empty sum is null.
    bool is_null = (empty ? false : !s->seen) || s->overflow;
    sums[i] = is_null ? 0 : s->sum;
    if (is_null) HLY_TRY(hly_agg_set_null(ctx, out[0], i));
    if (empty) empty[i] = !s->seen;
  }
  return HLY_OK;
}

static hly_status bind_longs(hly_binder *b, hly_agg *a) {
  static hly_status (*const update[4][3])(const hly_agg *, hly_agg_env *, const hly_agg_column *,
                                          const hly_agg_rows *) = {
      {add_i8_wrap, add_i8_ansi, add_i8_try},
      {add_i16_wrap, add_i16_ansi, add_i16_try},
      {add_i32_wrap, add_i32_ansi, add_i32_try},
      {add_i64_wrap, add_i64_ansi, add_i64_try},
  };
  bool is_try = a->eval_mode == HLY_AGG_TRY;
  if (a->n_buffers != (is_try ? 2u : 1u) || a->type->kind != HLY_LONG ||
      (is_try && a->buffer_types[1]->kind != HLY_BOOLEAN))
    return hly_bind_refuse(b, "Sum has another buffer than expected");
  a->state_bytes = sizeof(long_state);
  a->combine = combine_longs;
  a->emit = emit_longs;
  if (a->merges && is_try) {
    a->keep_nulls = true;
    a->update = merge_try_longs;
    return HLY_OK;
  }
  hly_kind kind = a->input_types[0]->kind;
  if (kind < HLY_BYTE || kind > HLY_LONG) return hly_agg_refuse_type(b, a, a->input_types[0]);
  a->update = update[kind - HLY_BYTE][a->eval_mode];
  return HLY_OK;
}

// ---- Doubles. Buffer (sum), null before the first value.

typedef struct double_state {
  double sum;
  uint8_t seen;
} double_state;

#define ADD_DOUBLES(name, T)                                                                                 \
  static hly_status name(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,                       \
                         const hly_agg_rows *rows) {                                                         \
    HLY_AGG_LOOP(T, double_state, a, in, rows, s->sum += (double)v; s->seen = 1;);                           \
    return HLY_OK;                                                                                           \
  }
ADD_DOUBLES(add_f32, float)
ADD_DOUBLES(add_f64, double)

static hly_status combine_doubles(const hly_agg *a, hly_agg_env *env, uint8_t *const *to,
                                  uint8_t *const *from, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    double_state *s = (double_state *)(void *)(to[i] + a->offset);
    const double_state *f = (const double_state *)(const void *)(from[i] + a->offset);
    if (!f->seen) continue;
    s->sum += f->sum;
    s->seen = 1;
  }
  return HLY_OK;
}

static hly_status emit_doubles(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n,
                               hly_vector *const *out, uint32_t *n_good) {
  HLY_TRY(hly_agg_begin(ctx, out[0], n));
  double *sums = out[0]->values;
  for (uint32_t i = 0; i < n; i++) {
    const double_state *s = (const double_state *)(const void *)(rows[i] + a->offset);
    sums[i] = s->sum;
    if (!s->seen) HLY_TRY(hly_agg_set_null(ctx, out[0], i));
  }
  return HLY_OK;
}

static hly_status bind_doubles(hly_binder *b, hly_agg *a) {
  if (a->n_buffers != 1 || a->type->kind != HLY_DOUBLE)
    return hly_bind_refuse(b, "Sum has another buffer than expected");
  hly_kind kind = a->input_types[0]->kind;
  if (kind != HLY_FLOAT && kind != HLY_DOUBLE) return hly_agg_refuse_type(b, a, a->input_types[0]);
  a->rounds = true;
  a->state_bytes = sizeof(double_state);
  a->update = kind == HLY_FLOAT ? add_f32 : add_f64;
  a->combine = combine_doubles;
  a->emit = emit_doubles;
  return HLY_OK;
}

// ---- Decimals. Buffer (sum, isEmpty): sum 0 while empty, null after an overflow.

static hly_status merge_decimals(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                                 const hly_agg_rows *rows) {
  bool is_short = a->buffer_types[0]->phys == HLY_PHYS_I64;
  for (uint32_t i = 0; i < rows->n; i++) {
    hly_decimal_sum *s = (hly_decimal_sum *)(void *)hly_agg_state(a, rows, i);
    bool is_empty = HLY_AGG_AT(uint8_t, &in[1], i), is_null = hly_agg_is_null(&in[0], rows, i);
    s->seen |= !is_empty;
    if (is_null)
      s->overflow |= !is_empty;
    else
      hly_decimal_sum_add(a, s, is_short ? HLY_AGG_AT(int64_t, &in[0], i) : HLY_AGG_AT(hly_i128, &in[0], i));
  }
  return HLY_OK;
}

static hly_status emit_decimals(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n,
                                hly_vector *const *out, uint32_t *n_good) {
  const hly_type *type = a->buffer_types[0];
  HLY_TRY(hly_agg_begin(ctx, out[0], n));
  uint8_t *empty = NULL;
  if (!a->is_final) {
    HLY_TRY(hly_agg_begin(ctx, out[1], n));
    empty = out[1]->values;
  }
  for (uint32_t i = 0; i < n; i++) {
    const hly_decimal_sum *s = (const hly_decimal_sum *)(const void *)(rows[i] + a->offset);
    bool over = !hly_decimal_sum_fits(s, type->precision);
    if (over && a->is_final && a->eval_mode == HLY_AGG_ANSI && s->seen) {
      *n_good = i < *n_good ? i : *n_good;
      if (i > 0) return HLY_OK;
      // With keys the sum became null when it left the buffer's precision; without, Spark sees its value
      // here.
      if (s->overflow || a->grouped)
        return hly_agg_overflow(ctx, a->site, "Overflow in sum of decimals", "try_sum");
      return hly_decimal_sum_raise(ctx, a->site, s, type);
    }
    bool is_null = over || (a->is_final && !s->seen);
    hly_decimal_store(out[0], i, is_null ? 0 : s->sum);
    if (is_null) HLY_TRY(hly_agg_set_null(ctx, out[0], i));
    if (empty) empty[i] = !s->seen;
  }
  return HLY_OK;
}

static hly_status bind_decimals(hly_binder *b, hly_agg *a) {
  if (a->n_buffers != 2 || a->buffer_types[1]->kind != HLY_BOOLEAN ||
      !hly_type_equal(a->type, a->buffer_types[0]))
    return hly_bind_refuse(b, "Sum has another buffer than expected");
  a->state_bytes = sizeof(hly_decimal_sum);
  a->combine = hly_decimal_sum_combine;
  a->emit = emit_decimals;
  if (a->merges) {
    a->keep_nulls = true;
    a->update = merge_decimals;
    return HLY_OK;
  }
  return hly_decimal_sum_bind_update(b, a);
}

hly_status hly_agg_bind_sum(hly_binder *b, const Halley__AggCall *call, hly_agg *a) {
  if (!a->merges && a->n_inputs != 1) return hly_bind_refuse(b, "Sum has %u arguments", a->n_inputs);
  HLY_TRY(hly_agg_bind_eval_mode(b, call, a));
  switch (a->buffer_types[0]->kind) {
  case HLY_LONG: return bind_longs(b, a);
  case HLY_DOUBLE: return bind_doubles(b, a);
  case HLY_DECIMAL: return bind_decimals(b, a);
  default: return hly_agg_refuse_type(b, a, a->buffer_types[0]);
  }
}
