// Scratch row numbers that an operator owns: for selections that are narrower than their batch.
#ifndef HLY_OPERATORS_SELECTION_H
#define HLY_OPERATORS_SELECTION_H

#include "base/ctx.h"
#include "base/mem.h"
#include "vector/batch.h"

typedef struct hly_selection {
  uint32_t *rows;
  uint32_t capacity;
  uint32_t n_identity; // rows[i] == i for i below
} hly_selection;

static inline void hly_selection_deinit(hly_selection *s) {
  hly_free(s->rows);
  *s = (hly_selection){0};
}
// Room for n row numbers; contents are lost when it grows.
HLY_MUST_CHECK static inline hly_status hly_selection_need(hly_ctx *ctx, hly_selection *s, uint32_t n) {
  if (n <= s->capacity && s->rows) return HLY_OK;
  uint32_t capacity = n < 1024 ? 1024 : n;
  uint32_t *rows = hly_malloc((size_t)capacity * sizeof *rows);
  HLY_CHECK_MEM(ctx, rows, (size_t)capacity * sizeof *rows);
  hly_free(s->rows);
  *s = (hly_selection){rows, capacity, 0};
  return HLY_OK;
}
// rows[i] = i for i < n, for a selection that is used for nothing else.
HLY_MUST_CHECK static inline hly_status hly_selection_identity(hly_ctx *ctx, hly_selection *s, uint32_t n) {
  HLY_TRY(hly_selection_need(ctx, s, n));
  for (; s->n_identity < n; s->n_identity++) s->rows[s->n_identity] = s->n_identity;
  return HLY_OK;
}
// Cuts the batch's selection to rows [from, from + n) of those selected.
HLY_MUST_CHECK static inline hly_status hly_selection_cut(hly_ctx *ctx, hly_selection *identity,
                                                          hly_batch *batch, uint32_t from, uint32_t n) {
  if (from == 0 && n == batch->n_sel) return HLY_OK;
  if (!batch->sel) {
    HLY_TRY(hly_selection_identity(ctx, identity, batch->n_rows));
    batch->sel = identity->rows;
  }
  batch->sel += from;
  batch->n_sel = n;
  return HLY_OK;
}
// Of a batch with fewer than one row in so many left operators would touch mostly dead rows.
enum { HLY_SELECTION_SPARSE = 8 };

// What an operator hands on of `in` where only the n rows of `sel` are left: `in` itself, *view of it, or,
// where they are sparse, their copy in `dense`.
HLY_MUST_CHECK static inline hly_status hly_selection_narrow(hly_ctx *ctx, hly_batch *in, const uint32_t *sel,
                                                             uint32_t n, hly_batch *view, hly_batch *dense,
                                                             hly_batch **out) {
  *out = in;
  if (n == in->n_sel) return HLY_OK;
  *view = *in;
  view->sel = sel;
  view->n_sel = n;
  *out = view;
  if ((uint64_t)n * HLY_SELECTION_SPARSE >= in->n_rows) return HLY_OK;
  *out = dense;
  return hly_batch_compact(ctx, dense, view, false);
}

#endif
