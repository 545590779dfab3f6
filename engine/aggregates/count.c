// Count: of rows in which every argument is not null.
#include "aggregates/aggregate.h"

#include <string.h>

static hly_status count_rows(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                             const hly_agg_rows *rows) {
  if (!rows->groups) {
    *(int64_t *)(void *)(rows->one + a->offset) += rows->n;
    return HLY_OK;
  }
  for (uint32_t i = 0; i < rows->n; i++) ++*(int64_t *)(void *)(rows->groups[i] + a->offset);
  return HLY_OK;
}

static hly_status merge_counts(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                               const hly_agg_rows *rows) {
  HLY_AGG_LOOP(int64_t, int64_t, a, in, rows, *s += v;);
  return HLY_OK;
}

static hly_status combine_counts(const hly_agg *a, hly_agg_env *env, uint8_t *const *to, uint8_t *const *from,
                                 uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    *(int64_t *)(void *)(to[i] + a->offset) += *(const int64_t *)(const void *)(from[i] + a->offset);
  return HLY_OK;
}

static hly_status emit_counts(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n,
                              hly_vector *const *out, uint32_t *n_good) {
  HLY_TRY(hly_agg_begin(ctx, out[0], n));
  int64_t *values = out[0]->values;
  for (uint32_t i = 0; i < n; i++) values[i] = *(const int64_t *)(const void *)(rows[i] + a->offset);
  return HLY_OK;
}

hly_status hly_agg_bind_count(hly_binder *b, const Halley__AggCall *call, hly_agg *a) {
  if (a->n_buffers != 1 || a->buffer_types[0]->kind != HLY_LONG || a->type->kind != HLY_LONG)
    return hly_bind_refuse(b, "Count has another buffer than expected");
  a->state_bytes = sizeof(int64_t);
  a->update = a->merges ? merge_counts : count_rows;
  a->combine = combine_counts;
  a->emit = emit_counts;
  return HLY_OK;
}
