// Spark's UnsafeRow: null bitmap, 8 bytes a field, variable part; see
// o.a.s.sql.catalyst.expressions.UnsafeRow, UnsafeArrayData, UnsafeMapData. Encoded and decoded for every
// Spark type including nested.
#ifndef HLY_ROWS_UNSAFE_ROW_H
#define HLY_ROWS_UNSAFE_ROW_H

#include <stdint.h>

#include "vector/batch.h"

// A growing block of rows.
typedef struct hly_row_block {
  hly_buf *data;
  uint64_t *offsets; // n_rows + 1
  uint32_t n_rows, cap_rows;
} hly_row_block;

void hly_row_block_deinit(hly_row_block *block);
// Encodes selected rows [from, ...) of the batch, columns `cols[0..n_cols)` (NULL: all), until the rows end
// or max_bytes is passed (at least one row). Replaces the block's contents. *n_done: rows encoded. Decimals
// over 18 digits, strings and nested values as Spark writes them, zeroed padding included (rows that are
// equal have equal bytes).
HLY_MUST_CHECK hly_status hly_unsafe_row_encode(hly_ctx *ctx, const hly_batch *batch, const uint32_t *cols,
                                                uint32_t n_cols, uint32_t from, uint64_t max_bytes,
                                                hly_row_block *block, uint32_t *n_done);
// Decodes n rows at base + offsets[i] into the batch's flat columns (all of schema), copying everything.
// Lengths and offsets are checked: a row that reaches outside its bytes is HLY_E_PLAN_INVALID.
HLY_MUST_CHECK hly_status hly_unsafe_row_decode(hly_ctx *ctx, const uint8_t *base, const uint64_t *offsets,
                                                uint32_t n, const hly_schema *schema, hly_batch *out);
// Decodes the single field of a literal's row into a vector of one row.
HLY_MUST_CHECK hly_status hly_unsafe_row_literal(hly_ctx *ctx, const hly_literal *lit, hly_vector *out);

#endif
