#include "vector/batch.h"

static void release_columns(void *arg) {
  hly_batch *batch = arg;
  for (uint32_t i = 0; i < batch->n_columns; i++) hly_vector_unref(batch->columns[i]);
}

hly_status hly_batch_create(hly_ctx *ctx, hly_arena *arena, const hly_schema *schema, hly_batch **out) {
  hly_batch *batch = HLY_ARENA_NEW(arena, hly_batch);
  HLY_CHECK_MEM(ctx, batch, sizeof *batch);
  batch->columns = HLY_ARENA_NEW_N(arena, hly_vector *, schema->n_fields);
  HLY_CHECK_MEM(ctx, batch->columns, schema->n_fields * sizeof *batch->columns);
  batch->n_columns = schema->n_fields;
  if (hly_arena_on_reset(arena, release_columns, batch)) return hly_ctx_nomem(ctx, sizeof *batch);
  for (uint32_t i = 0; i < schema->n_fields; i++) {
    batch->columns[i] = hly_vector_create(schema->fields[i].type);
    HLY_CHECK_MEM(ctx, batch->columns[i], sizeof *batch->columns[i]);
  }
  *out = batch;
  return HLY_OK;
}

hly_status hly_batch_writable(hly_ctx *ctx, hly_batch *batch, uint32_t column) {
  hly_vector *v = batch->columns[column];
  if (v->refs == 1) return HLY_OK;
  hly_vector *fresh = hly_vector_create(v->type);
  HLY_CHECK_MEM(ctx, fresh, sizeof *fresh);
  hly_vector_unref(v);
  batch->columns[column] = fresh;
  return HLY_OK;
}

hly_status hly_batch_compact(hly_ctx *ctx, hly_batch *out, const hly_batch *in, bool flatten) {
  for (uint32_t i = 0; i < in->n_columns; i++) {
    HLY_TRY(hly_batch_writable(ctx, out, i));
    if (flatten)
      HLY_TRY(hly_vector_gather(ctx, out->columns[i], in->columns[i], in->sel, in->n_sel));
    else
      HLY_TRY(hly_vector_slice(ctx, out->columns[i], in->columns[i], in->sel, in->n_sel));
  }
  hly_batch_set_rows(out, in->n_sel);
  return HLY_OK;
}

// Bytes of the values of `n` rows. Elements of arrays and maps count with the average size of an element of
// the child, so that an estimate stays one pass over the rows.
static uint64_t column_bytes(const hly_vector *v, const uint32_t *sel, uint32_t n) {
  if (n == 0) return 0;
  const hly_vector *base = v->encoding == HLY_DICT ? v->dict : v;
  uint64_t sum = (uint64_t)n * hly_phys_size[v->type->phys];
  if (v->validity) sum += n / 8;
  switch (v->type->phys) {
  case HLY_PHYS_STR:
  case HLY_PHYS_VARIANT: {
    uint32_t per_row = v->type->phys == HLY_PHYS_STR ? 1 : 2;
    for (uint32_t k = 0; k < n; k++) {
      uint32_t row = sel ? sel[k] : k;
      if (hly_vector_is_null(v, row)) continue;
      const hly_str *s = (const hly_str *)base->values + (size_t)hly_vector_index(v, row) * per_row;
      for (uint32_t j = 0; j < per_row; j++) sum += s[j].len > HLY_STR_INLINE ? s[j].len : 0;
    }
    return sum;
  }
  case HLY_PHYS_SPAN: {
    uint64_t elements = 0;
    for (uint32_t k = 0; k < n; k++) {
      uint32_t row = sel ? sel[k] : k;
      if (hly_vector_is_null(v, row)) continue;
      elements += (uint32_t)((const hly_span *)base->values)[hly_vector_index(v, row)].length;
    }
    for (uint32_t i = 0; i < v->type->n_fields; i++) {
      const hly_vector *child = base->children[i];
      if (child->n_rows == 0) continue;
      sum += (uint64_t)((double)column_bytes(child, NULL, child->n_rows) / child->n_rows * (double)elements);
    }
    return sum;
  }
  default:
    if (v->type->kind != HLY_STRUCT) return sum;
    for (uint32_t i = 0; i < v->type->n_fields; i++) {
      const hly_vector *child = base->children[i];
      if (v->encoding == HLY_FLAT)
        sum += column_bytes(child, sel, n);
      else if (child->n_rows)
        sum += (uint64_t)((double)column_bytes(child, NULL, child->n_rows) / child->n_rows * n);
    }
    return sum;
  }
}

uint64_t hly_batch_bytes(const hly_batch *batch) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < batch->n_columns; i++)
    sum += column_bytes(batch->columns[i], batch->sel, batch->n_sel);
  return sum;
}
