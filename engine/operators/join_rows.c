#include "operators/join_rows.h"

#include <string.h>

#include "base/mem.h"

// Types whose equality in Spark is equality of bytes as they are laid out. Floating point numbers come with
// one zero and one NaN, those within nested values too.
static bool has_equality(const hly_type *type) {
  if (type->collation) return false;
  if (type->kind == HLY_STRUCT || type->kind == HLY_ARRAY) {
    for (uint32_t f = 0; f < type->n_fields; f++)
      if (!has_equality(type->fields[f].type)) return false;
    return true;
  }
  switch (type->phys) {
  case HLY_PHYS_NONE:
  case HLY_PHYS_SPAN:
  case HLY_PHYS_INTERVAL:
  case HLY_PHYS_VARIANT: return false;
  default: return type->kind != HLY_OTHER;
  }
}

// What stores and files see: where the views of keys and other columns are.
static hly_status join_layouts(hly_binder *b, hly_join_rows *j) {
  j->row = j->payload;
  uint32_t n = j->keys.n_views + j->payload.n_views;
  j->row.views = HLY_ARENA_NEW_N(b->arena, uint32_t, n + 1);
  HLY_CHECK_MEM(b->ctx, j->row.views, n * 4);
  for (uint32_t i = 0; i < j->keys.n_views; i++) j->row.views[i] = j->keys.views[i];
  for (uint32_t i = 0; i < j->payload.n_views; i++) j->row.views[j->keys.n_views + i] = j->payload.views[i];
  j->row.n_views = j->row.n_field_views = n;
  return HLY_OK;
}

hly_status hly_join_rows_bind(hly_binder *b, hly_join_rows *j, const hly_exprs *keys, uint32_t n_keys,
                              const hly_schema *input, const uint8_t *wanted) {
  char text[128];
  *j = (hly_join_rows){.n_keys = n_keys, .n_columns = input->n_fields};
  j->key_types = HLY_ARENA_NEW_N(b->arena, const hly_type *, n_keys + 1);
  const hly_type **types = HLY_ARENA_NEW_N(b->arena, const hly_type *, input->n_fields + 1);
  j->columns = HLY_ARENA_NEW_N(b->arena, hly_join_column, input->n_fields + 1);
  j->payload_columns = HLY_ARENA_NEW_N(b->arena, uint32_t, input->n_fields + 1);
  if (!j->key_types || !types || !j->columns || !j->payload_columns)
    return hly_ctx_nomem(b->ctx, input->n_fields * 40);
  for (uint32_t k = 0; k < n_keys; k++) {
    const hly_type *type = j->key_types[k] = hly_exprs_type(keys, k);
    if (!has_equality(type))
      return hly_bind_refuse(b, "joining by %s has no native form", hly_type_print(type, text, sizeof text));
    j->keys_nested |= hly_type_is_nested(type);
    int32_t column = hly_exprs_as_column(keys, k);
    if (column >= 0 && !j->columns[column].layout) j->columns[column] = (hly_join_column){&j->keys, k};
  }
  HLY_TRY(hly_row_layout_init(b->ctx, b->arena, j->key_types, n_keys, HLY_JOIN_HEADER, &j->keys));
  for (uint32_t c = 0; c < input->n_fields; c++) {
    if (j->columns[c].layout || (wanted && !wanted[c])) continue;
    j->columns[c] = (hly_join_column){&j->payload, j->n_payload};
    j->payload_columns[j->n_payload] = c;
    types[j->n_payload++] = input->fields[c].type;
    j->payload_nested |=
        hly_type_is_nested(input->fields[c].type) || input->fields[c].type->phys == HLY_PHYS_VARIANT;
  }
  HLY_TRY(hly_row_layout_init(b->ctx, b->arena, types, j->n_payload, j->keys.prefix_bytes, &j->payload));
  return join_layouts(b, j);
}

hly_status hly_join_scratch_init(hly_ctx *ctx, hly_join_scratch *s) {
  *s = (hly_join_scratch){0};
  s->positions = hly_malloc(HLY_JOIN_CHUNK * sizeof *s->positions);
  HLY_CHECK_MEM(ctx, s->positions, HLY_JOIN_CHUNK * sizeof *s->positions);
  return HLY_OK;
}

void hly_join_scratch_deinit(hly_join_scratch *s) {
  hly_row_nested_deinit(&s->keys);
  hly_row_nested_deinit(&s->payload);
  hly_free(s->positions);
  *s = (hly_join_scratch){0};
}

static void payload_vectors(const hly_join_rows *j, const hly_batch *batch, hly_vector **out) {
  for (uint32_t i = 0; i < j->n_payload; i++) out[i] = batch->columns[j->payload_columns[i]];
}

hly_status hly_join_keys_begin(const hly_join_rows *j, hly_ctx *ctx, hly_join_scratch *s,
                               hly_vector *const *keys, const hly_batch *batch, uint32_t n) {
  if (!j->keys_nested) return HLY_OK;
  hly_batch some = *batch;
  some.n_sel = n;
  if (!some.sel) some.n_rows = n;
  return hly_row_nested_encode(ctx, &j->keys, keys, &some, &s->keys);
}

hly_status hly_join_rows_begin(const hly_join_rows *j, hly_ctx *ctx, hly_join_scratch *s,
                               hly_vector *const *keys, const hly_batch *batch) {
  HLY_TRY(hly_join_keys_begin(j, ctx, s, keys, batch, batch->n_sel));
  if (!j->payload_nested) return HLY_OK;
  hly_vector **columns = hly_malloc(j->n_payload * sizeof *columns);
  HLY_CHECK_MEM(ctx, columns, j->n_payload * sizeof *columns);
  payload_vectors(j, batch, columns);
  hly_status st = hly_row_nested_encode(ctx, &j->payload, columns, batch, &s->payload);
  hly_free(columns);
  return st;
}

static void hash_rows(const hly_join_rows *j, uint8_t *rows, uint32_t n, size_t stride) {
  for (uint32_t i = 0; i < n; i++) {
    uint64_t hash = j->n_keys ? hly_row_hash(&j->keys, rows + i * stride) : 0;
    memcpy(rows + i * stride, &hash, sizeof hash);
  }
}

void hly_join_rows_keys(const hly_join_rows *j, hly_join_scratch *s, hly_vector *const *keys,
                        const uint32_t *sel, uint32_t from, uint32_t n, uint8_t *out) {
  size_t stride = j->keys.prefix_bytes;
  memset(out, 0, n * stride);
  for (uint32_t k = 0; k < j->n_keys; k++)
    hly_row_scatter(&j->keys, k, keys[k], sel, from, n, &s->keys, out, stride, s->positions);
  hash_rows(j, out, n, stride);
}

hly_status hly_join_rows_append(const hly_join_rows *j, hly_ctx *ctx, hly_join_scratch *s,
                                hly_row_store *store, hly_vector *const *keys, const hly_batch *batch,
                                uint32_t *from) {
  size_t stride = j->row.row_bytes;
  while (*from < batch->n_sel) {
    uint32_t n = batch->n_sel - *from, done = 0;
    if (n > HLY_JOIN_CHUNK) n = HLY_JOIN_CHUNK;
    uint8_t *rows;
    HLY_TRY(hly_row_store_append_many(store, n, &rows, &n));
    memset(rows, 0, n * stride);
    for (uint32_t k = 0; k < j->n_keys; k++)
      hly_row_scatter(&j->keys, k, keys[k], batch->sel, *from, n, &s->keys, rows, stride, s->positions);
    for (uint32_t f = 0; f < j->n_payload; f++)
      hly_row_scatter(&j->payload, f, batch->columns[j->payload_columns[f]], batch->sel, *from, n,
                      &s->payload, rows, stride, s->positions);
    hash_rows(j, rows, n, stride);
    hly_status st = HLY_OK;
    if (j->row.n_views)
      while (done < n && (st = hly_row_store_own_views(store, rows + done * stride)) == HLY_OK) done++;
    else
      done = n;
    if (done < n) hly_row_store_drop_last(store, n - done);
    *from += done;
    HLY_TRY(st);
  }
  return HLY_OK;
}

hly_status hly_join_rows_copy(hly_row_store *store, const uint8_t *row, uint8_t **copy) {
  HLY_TRY(hly_row_store_append(store, copy));
  memcpy(*copy, row, store->layout->row_bytes);
  hly_status st = hly_row_store_own_views(store, *copy);
  if (st != HLY_OK) hly_row_store_drop_last(store, 1);
  return st;
}

uint8_t *hly_join_rows_blank(const hly_join_rows *j, hly_arena *arena, bool null) {
  uint8_t *row = hly_arena_alloc(arena, j->row.row_bytes);
  if (row && null) {
    memset(row + j->keys.null_offset, 0xff, j->keys.prefix_bytes - j->keys.null_offset);
    memset(row + j->payload.null_offset, 0xff, j->payload.prefix_bytes - j->payload.null_offset);
  }
  return row;
}
