// First and Last, of all rows or of those that are not null. Buffer (value, valueSet).
#include "aggregates/kept_value.h"

static hly_status keep(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in, const hly_agg_rows *rows,
                       uint32_t i, hly_kept *s) {
  if (hly_agg_is_null(&in[0], rows, i)) {
    hly_kept_set_null(s);
    return HLY_OK;
  }
  if (a->has_view) return hly_kept_set_str(env, (hly_kept_str *)(void *)s, &HLY_AGG_AT(hly_str, &in[0], i));
  uint32_t size = hly_phys_size[a->type->phys], at = in[0].pos ? in[0].pos[i] : i;
  memcpy(&s->value, (const uint8_t *)in[0].values + (size_t)at * size, size);
  s->set = s->not_null = 1;
  return HLY_OK;
}

static hly_status update(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                         const hly_agg_rows *rows) {
  for (uint32_t i = 0; i < rows->n; i++) {
    hly_kept *s = (hly_kept *)(void *)hly_agg_state(a, rows, i);
    if (a->merges && (hly_agg_is_null(&in[1], rows, i) || !HLY_AGG_AT(uint8_t, &in[1], i)))
      continue; // nothing set
    if (s->set && a->sign < 0) continue;
    HLY_TRY(keep(a, env, in, rows, i, s));
  }
  return HLY_OK;
}

static hly_status combine(const hly_agg *a, hly_agg_env *env, uint8_t *const *to, uint8_t *const *from,
                          uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    hly_kept *t = (hly_kept *)(void *)(to[i] + a->offset);
    const hly_kept *f = (const hly_kept *)(const void *)(from[i] + a->offset);
    if (f->set && (a->sign > 0 || !t->set)) HLY_TRY(hly_kept_move(a, env, t, f));
  }
  return HLY_OK;
}

static hly_status emit(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n,
                       hly_vector *const *out, uint32_t *n_good) {
  HLY_TRY(hly_kept_emit(a, ctx, rows, n, out[0]));
  if (a->is_final) return HLY_OK;
  HLY_TRY(hly_agg_begin(ctx, out[1], n));
  uint8_t *set = out[1]->values;
  for (uint32_t i = 0; i < n; i++) set[i] = ((const hly_kept *)(const void *)(rows[i] + a->offset))->set;
  return HLY_OK;
}

static hly_status bind(hly_binder *b, const Halley__AggCall *call, hly_agg *a, int8_t sign) {
  if (a->n_buffers != 2 || a->buffer_types[1]->kind != HLY_BOOLEAN || a->n_inputs != (a->merges ? 2u : 1u) ||
      !hly_type_equal(a->buffer_types[0], a->type) || !hly_type_equal(a->input_types[0], a->type))
    return hly_bind_refuse(b, "%s has another buffer or argument than expected", a->cls);
  HLY_TRY(hly_kept_bind(b, a, a->type));
  a->sign = sign;
  // Without ignoreNulls, and for buffers, a null value counts.
  a->keep_nulls = a->merges || !hly_agg_param_bool(call, "ignoreNulls", false);
  a->update = update;
  a->combine = combine;
  a->emit = emit;
  return HLY_OK;
}

hly_status hly_agg_bind_first(hly_binder *b, const Halley__AggCall *call, hly_agg *a) {
  return bind(b, call, a, -1);
}

hly_status hly_agg_bind_last(hly_binder *b, const Halley__AggCall *call, hly_agg *a) {
  return bind(b, call, a, 1);
}
