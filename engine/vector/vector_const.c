#include "vector/vector.h"

#include <string.h>

#include "rows/unsafe_row.h"

// A null's value may be read (vector.h), so it is zeros all the way down.
static void clear_values(hly_vector *v) {
  if (v->values) memset(v->values, 0, (size_t)v->n_rows * hly_phys_size[v->type->phys]);
  if (v->type->kind == HLY_STRUCT)
    for (uint32_t i = 0; i < v->type->n_fields; i++) clear_values(v->children[i]);
}

static hly_status set_null(hly_ctx *ctx, hly_vector *v) {
  HLY_TRY(hly_vector_reset(ctx, v, 1));
  clear_values(v);
  HLY_TRY(hly_vector_need_validity(ctx, v));
  hly_bits_clear(v->validity, 0);
  return HLY_OK;
}

static hly_status own_bytes(hly_ctx *ctx, hly_vector *v, hly_str *view) {
  if (view->len <= HLY_STR_INLINE) return HLY_OK;
  hly_buf *heap = hly_buf_create(view->len);
  HLY_CHECK_MEM(ctx, heap, view->len);
  hly_status st = hly_vector_add_heap(ctx, v, heap);
  if (st == HLY_OK) {
    memcpy(heap->data, view->u.out.ptr, view->len);
    view->u.out.ptr = heap->data;
  }
  hly_buf_unref(heap);
  return st;
}

hly_status hly_vector_set_const(hly_ctx *ctx, hly_vector *v, const hly_literal *lit, uint32_t n_rows) {
  if (lit->is_null) {
    HLY_TRY(set_null(ctx, v));
  } else if (lit->row) {
    HLY_TRY(hly_unsafe_row_literal(ctx, lit, v));
  } else {
    HLY_TRY(hly_vector_reset(ctx, v, 1));
    size_t size = hly_phys_size[v->type->phys];
    if (size > sizeof lit->value || size == 0)
      return hly_error_setf(&ctx->error, HLY_E_PLAN_INVALID, "a literal of this type comes as a row");
    memcpy(v->values, lit->value.bytes, size);
    if (v->type->phys == HLY_PHYS_STR) HLY_TRY(own_bytes(ctx, v, v->values));
  }
  v->encoding = HLY_CONST;
  v->n_rows = n_rows;
  return HLY_OK;
}
