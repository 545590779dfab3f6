// A batch: columns, a row count and an optional selection. Valid until its producer's next `next()`; whoever
// keeps a column longer takes a reference to its vector, and a producer reuses only vectors with one
// reference.
#ifndef HLY_VECTOR_BATCH_H
#define HLY_VECTOR_BATCH_H

#include "vector/vector.h"

typedef struct hly_batch {
  uint32_t n_columns;
  uint32_t n_rows; // of every column
  hly_vector **columns;
  const uint32_t *sel; // ascending row numbers; NULL: all rows
  uint32_t n_sel;      // rows that count; equals n_rows when sel is NULL
} hly_batch;

// A batch of fresh flat vectors, in `arena` (vectors are released when the arena is reset).
HLY_MUST_CHECK hly_status hly_batch_create(hly_ctx *ctx, hly_arena *arena, const hly_schema *schema,
                                           hly_batch **out);
// Replaces column i when somebody else holds it, so that the producer may write to it (refs == 1 afterwards).
HLY_MUST_CHECK hly_status hly_batch_writable(hly_ctx *ctx, hly_batch *batch, uint32_t column);
// Writes the selected rows of `in` to `out` densely (no sel), gathering or slicing each column.
HLY_MUST_CHECK hly_status hly_batch_compact(hly_ctx *ctx, hly_batch *out, const hly_batch *in, bool flatten);
static inline void hly_batch_set_rows(hly_batch *b, uint32_t n) {
  b->n_rows = b->n_sel = n;
  b->sel = NULL;
}
uint64_t hly_batch_bytes(const hly_batch *batch); // of the selected rows, estimated

#endif
