// Output of HashAggregate: groups as batches of keys and results (or buffers), then the result expressions.
#include "operators/hash_aggregate.h"

void hly_agg_emit_begin(hly_hash_aggregate *h) {
  h->n_emit = h->next_emit = 0;
  h->scan_block = h->scan_offset = 0;
}

// How many of the rows waiting make up one batch: bounded in bytes, at least one.
static uint32_t rows_of_batch(const hly_hash_aggregate *h) {
  uint32_t n = h->n_emit - h->next_emit;
  uint64_t limit = h->op.ctx->batch_bytes;
  if (limit == 0 || h->layout.n_views == 0) return n;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < n; i++) {
    bytes += h->layout.row_bytes + hly_row_long_bytes(&h->layout, h->emit_rows[h->next_emit + i]);
    if (bytes > limit) return i > 0 ? i : 1;
  }
  return n;
}

static hly_status fill(hly_hash_aggregate *h, uint8_t *const *rows, uint32_t n, uint32_t *n_good) {
  hly_ctx *ctx = h->op.ctx;
  hly_batch *out = h->inner_batch;
  for (uint32_t i = 0; i < out->n_columns; i++) HLY_TRY(hly_batch_writable(ctx, out, i));
  *n_good = n;
  uint32_t column = h->n_keys;
  for (uint32_t c = 0; c < h->n_calls; c++) {
    const hly_agg *a = h->calls[c].agg;
    HLY_TRY(a->emit(a, ctx, rows, n, out->columns + column, n_good));
    column += hly_agg_n_outputs(a);
  }
  for (uint32_t k = 0; k < h->n_keys; k++)
    HLY_TRY(hly_row_gather(ctx, &h->layout, k, rows, n, out->columns[k]));
  hly_batch_set_rows(out, n);
  return HLY_OK;
}

hly_status hly_agg_emit_next(hly_hash_aggregate *h, hly_batch **out) {
  hly_ctx *ctx = h->op.ctx;
  if (h->failed) {
    HLY_TRY(hly_exprs_raise(h->results, ctx));
    return HLY_ERR; // raised before: the context still has it
  }
  *out = NULL;
  for (;;) {
    if (h->next_emit == h->n_emit) {
      h->next_emit = 0;
      h->n_emit =
          hly_row_store_scan(&h->table.store, &h->scan_block, &h->scan_offset, h->emit_rows, ctx->batch_rows);
      if (h->n_emit == 0) return HLY_OK;
    }
    uint32_t n = rows_of_batch(h), n_good;
    HLY_TRY(fill(h, h->emit_rows + h->next_emit, n, &n_good));
    h->next_emit += n_good;
    h->view = *h->inner_batch;
    HLY_TRY(hly_selection_cut(ctx, &h->identity, &h->view, 0, n_good));
    if (h->results) {
      HLY_TRY(hly_exprs_eval(h->results, ctx, &h->view, h->result_columns, &n_good));
      h->failed = n_good < h->view.n_sel;
      if (n_good == 0) {
        HLY_TRY(hly_exprs_raise(h->results, ctx));
        return HLY_ERR;
      }
      h->view.columns = h->result_columns;
      h->view.n_columns = h->op.output.n_fields;
      HLY_TRY(hly_selection_cut(ctx, &h->identity, &h->view, 0, n_good));
    }
    *out = &h->view;
    return HLY_OK;
  }
}
