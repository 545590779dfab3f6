#include "vector/vector.h"

#include <string.h>

#include "base/mem.h"

static uint32_t n_children(const hly_type *type) {
  return hly_type_is_nested(type) ? type->n_fields : 0;
}

hly_vector *hly_vector_create(const hly_type *type) {
  hly_vector *v = hly_calloc(1, sizeof *v);
  if (!v) return NULL;
  v->type = type;
  v->refs = 1;
  uint32_t n = n_children(type);
  if (n) {
    v->children = hly_calloc(n, sizeof *v->children);
    if (!v->children) goto fail;
    for (uint32_t i = 0; i < n; i++)
      if (!(v->children[i] = hly_vector_create(type->fields[i].type))) goto fail;
  }
  return v;
fail:
  hly_vector_unref(v);
  return NULL;
}

static void drop_heaps(hly_vector *v) {
  for (uint32_t i = 0; i < v->n_heaps; i++) hly_buf_unref(v->heaps[i]);
  v->n_heaps = 0;
  v->append_heap = NULL;
  v->append_used = 0;
}

void hly_vector_unref(hly_vector *v) {
  if (!v || --v->refs > 0) return;
  drop_heaps(v);
  hly_free(v->heaps);
  hly_vector_unref(v->dict);
  if (v->children)
    for (uint32_t i = 0; i < n_children(v->type); i++) hly_vector_unref(v->children[i]);
  hly_free(v->children);
  hly_buf_unref(v->validity_buf);
  hly_buf_unref(v->values_buf);
  hly_buf_unref(v->indices_buf);
  hly_free(v);
}

hly_status hly_vector_reset(hly_ctx *ctx, hly_vector *v, uint32_t n_rows) {
  drop_heaps(v);
  hly_vector_unref(v->dict);
  v->dict = NULL;
  v->indices = NULL;
  v->encoding = HLY_FLAT;
  v->validity = NULL;
  v->values = NULL;
  v->n_rows = 0;
  size_t size = hly_phys_size[v->type->phys];
  if (size) {
    if (hly_buf_reuse(&v->values_buf, size * n_rows)) return hly_ctx_nomem(ctx, (int64_t)(size * n_rows));
    v->values = v->values_buf->data;
  }
  for (uint32_t i = 0; i < n_children(v->type); i++) {
    if (v->children[i]->refs > 1) { // somebody keeps the column of the last batch
      hly_vector *fresh = hly_vector_create(v->type->fields[i].type);
      HLY_CHECK_MEM(ctx, fresh, sizeof *fresh);
      hly_vector_unref(v->children[i]);
      v->children[i] = fresh;
    }
    HLY_TRY(hly_vector_reset(ctx, v->children[i], v->type->kind == HLY_STRUCT ? n_rows : 0));
  }
  v->n_rows = n_rows;
  if (v->type->kind == HLY_NULL) return hly_vector_need_validity(ctx, v);
  return HLY_OK;
}

hly_status hly_vector_need_validity(hly_ctx *ctx, hly_vector *v) {
  uint32_t n = v->encoding == HLY_CONST ? 1 : v->n_rows;
  size_t n_bytes = hly_bits_bytes(n);
  if (hly_buf_reuse(&v->validity_buf, n_bytes)) return hly_ctx_nomem(ctx, (int64_t)n_bytes);
  v->validity = (uint64_t *)v->validity_buf->data;
  hly_bits_fill(v->validity, n, v->type->kind != HLY_NULL);
  return HLY_OK;
}

hly_status hly_vector_add_heap(hly_ctx *ctx, hly_vector *v, hly_buf *heap) {
  if (v->n_heaps && v->heaps[v->n_heaps - 1] == heap) return HLY_OK;
  if (v->n_heaps == v->cap_heaps) {
    uint32_t cap = v->cap_heaps ? v->cap_heaps * 2 : 4;
    hly_buf **heaps = hly_realloc(v->heaps, cap * sizeof *heaps);
    HLY_CHECK_MEM(ctx, heaps, cap * sizeof *heaps);
    v->heaps = heaps;
    v->cap_heaps = cap;
  }
  v->heaps[v->n_heaps++] = hly_buf_ref(heap);
  return HLY_OK;
}

hly_status hly_vector_share_heaps(hly_ctx *ctx, hly_vector *to, const hly_vector *from) {
  if (from->encoding == HLY_DICT) from = from->dict;
  for (uint32_t i = 0; i < from->n_heaps; i++) HLY_TRY(hly_vector_add_heap(ctx, to, from->heaps[i]));
  return HLY_OK;
}

hly_status hly_vector_set_dict(hly_ctx *ctx, hly_vector *v, hly_vector *dict, uint32_t n_rows) {
  size_t n_bytes = (size_t)n_rows * sizeof *v->indices;
  if (hly_buf_reuse(&v->indices_buf, n_bytes)) return hly_ctx_nomem(ctx, (int64_t)n_bytes);
  drop_heaps(v);
  hly_vector_ref(dict);
  hly_vector_unref(v->dict);
  v->dict = dict;
  v->indices = (uint32_t *)v->indices_buf->data;
  v->encoding = HLY_DICT;
  v->validity = NULL;
  v->values = NULL;
  v->n_rows = n_rows;
  return HLY_OK;
}

uint64_t hly_vector_pinned_bytes(const hly_vector *v) {
  uint64_t sum = 0;
  if (v->validity_buf) sum += v->validity_buf->capacity;
  if (v->values_buf) sum += v->values_buf->capacity;
  if (v->indices_buf) sum += v->indices_buf->capacity;
  for (uint32_t i = 0; i < v->n_heaps; i++) sum += v->heaps[i]->capacity;
  if (v->dict) sum += hly_vector_pinned_bytes(v->dict);
  for (uint32_t i = 0; i < n_children(v->type); i++) sum += hly_vector_pinned_bytes(v->children[i]);
  return sum;
}
