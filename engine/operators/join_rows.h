// Rows of one side of a join, in the shared layout:
//
//   header: hash, link | keys and their null bits | other columns and their null bits
//
// Columns that are keys as they are lie among the keys only.
#ifndef HLY_OPERATORS_JOIN_ROWS_H
#define HLY_OPERATORS_JOIN_ROWS_H

#include <string.h>

#include "expr/expr.h"
#include "rows/row_store.h"

enum {
  HLY_JOIN_HEADER = 16,
  HLY_JOIN_CHUNK = 1024, // rows laid out at a time
};

// The link of a row: the address of the next row of the same key in 48 bits, and marks, which stay with the
// row when it goes to disk.
#define HLY_JOIN_MATCHED (1ull << 63) // a match was found
#define HLY_JOIN_FAILED (1ull << 62)  // before there was a match the condition raised
#define HLY_JOIN_GIVEN (1ull << 61)   // it was among the rows at the end
#define HLY_JOIN_MARKS (HLY_JOIN_MATCHED | HLY_JOIN_FAILED | HLY_JOIN_GIVEN)
#define HLY_JOIN_ADDRESS(word) ((uint8_t *)(uintptr_t)((word)&0xffffffffffffull))

typedef struct hly_join_column {
  const hly_row_layout *layout; // `keys` or `payload`; NULL: not kept
  uint32_t field;
} hly_join_column;

typedef struct hly_join_rows {
  uint32_t n_keys, n_columns, n_payload;
  const hly_type **key_types;
  hly_row_layout keys;
  hly_row_layout payload; // behind the keys
  hly_row_layout row;     // both, for stores and files: knows where all views are, but no fields
  hly_join_column *columns;
  uint32_t *payload_columns; // the input column of each field of `payload`
  bool keys_nested, payload_nested;
} hly_join_rows;

// Scratch for laying rows out.
typedef struct hly_join_scratch {
  hly_row_nested keys, payload;
  uint32_t *positions; // HLY_JOIN_CHUNK
} hly_join_scratch;

static inline uint64_t hly_join_hash(const uint8_t *row) {
  uint64_t word;
  memcpy(&word, row, sizeof word);
  return word;
}
static inline uint64_t hly_join_link(const uint8_t *row) {
  uint64_t word;
  memcpy(&word, row + 8, sizeof word);
  return word;
}
static inline void hly_join_set_link(uint8_t *row, uint64_t word) {
  memcpy(row + 8, &word, sizeof word);
}
static inline uint8_t *hly_join_next(const uint8_t *row) {
  return HLY_JOIN_ADDRESS(hly_join_link(row));
}
static inline void hly_join_mark(uint8_t *row, uint64_t mark) {
  hly_join_set_link(row, hly_join_link(row) | mark);
}
// Makes `next` (NULL: none) the row behind; marks stay.
static inline void hly_join_set_next(uint8_t *row, const uint8_t *next) {
  hly_join_set_link(row, (hly_join_link(row) & HLY_JOIN_MARKS) | (uint64_t)(uintptr_t)next);
}
static inline bool hly_join_is_integer(const hly_type *t) {
  return t->phys >= HLY_PHYS_I8 && t->phys <= HLY_PHYS_I64;
}
// An integer key of a row.
static inline int64_t hly_join_load_integer(const uint8_t *row, const hly_row_field *field) {
  const void *at = row + field->offset;
  switch (field->size) {
  case 1: return *(const int8_t *)at;
  case 2: return *(const int16_t *)at;
  case 4: return *(const int32_t *)at;
  default: return *(const int64_t *)at;
  }
}
// Whether a key is null: then the row matches nothing.
static inline bool hly_join_null_key(const hly_join_rows *j, const uint8_t *row) {
  for (uint32_t at = j->keys.null_offset; at < j->keys.null_offset + (j->n_keys + 7) / 8; at++)
    if (row[at]) return true;
  return false;
}

// Lays out a side with the keys of `keys` (NULL: none) and the columns of `input` that are wanted (a byte
// each; NULL: all). Refuses keys that have no native equality.
HLY_MUST_CHECK hly_status hly_join_rows_bind(hly_binder *b, hly_join_rows *j, const hly_exprs *keys,
                                             uint32_t n_keys, const hly_schema *input, const uint8_t *wanted);

HLY_MUST_CHECK hly_status hly_join_scratch_init(hly_ctx *ctx, hly_join_scratch *s);
void hly_join_scratch_deinit(hly_join_scratch *s);

// Once a batch, before rows of it are appended.
HLY_MUST_CHECK hly_status hly_join_rows_begin(const hly_join_rows *j, hly_ctx *ctx, hly_join_scratch *s,
                                              hly_vector *const *keys, const hly_batch *batch);
// Once a batch, before only keys of its first n selected rows are laid out.
HLY_MUST_CHECK hly_status hly_join_keys_begin(const hly_join_rows *j, hly_ctx *ctx, hly_join_scratch *s,
                                              hly_vector *const *keys, const hly_batch *batch, uint32_t n);
// Appends the batch's selected rows from *from on to the store, hashed and without links, and counts *from
// up. HLY_DENIED: no room for the next.
HLY_MUST_CHECK hly_status hly_join_rows_append(const hly_join_rows *j, hly_ctx *ctx, hly_join_scratch *s,
                                               hly_row_store *store, hly_vector *const *keys,
                                               const hly_batch *batch, uint32_t *from);
// Appends a copy of a row; HLY_DENIED: nothing was appended.
HLY_MUST_CHECK hly_status hly_join_rows_copy(hly_row_store *store, const uint8_t *row, uint8_t **copy);
// Lays out only the keys of n <= HLY_JOIN_CHUNK selected rows at `out`, hashed, `keys.prefix_bytes` apart.
void hly_join_rows_keys(const hly_join_rows *j, hly_join_scratch *s, hly_vector *const *keys,
                        const uint32_t *sel, uint32_t from, uint32_t n, uint8_t *out);
static inline bool hly_join_same_key(const hly_join_rows *j, const uint8_t *a, const uint8_t *b) {
  if (j->keys.n_field_views) return hly_row_equal(&j->keys, a, b);
  for (uint32_t at = HLY_JOIN_HEADER; at < j->keys.prefix_bytes; at += 8)
    if (memcmp(a + at, b + at, 8)) return false;
  return true;
}
// Reads input column `column` of the rows into `out` (flat; refs == 1).
HLY_MUST_CHECK static inline hly_status hly_join_rows_gather(const hly_join_rows *j, hly_ctx *ctx,
                                                             uint32_t column, uint8_t *const *rows,
                                                             uint32_t n, hly_vector *out) {
  return hly_row_gather(ctx, j->columns[column].layout, j->columns[column].field, rows, n, out);
}
// A row whose columns are all null, or all zero; in `arena`.
uint8_t *hly_join_rows_blank(const hly_join_rows *j, hly_arena *arena, bool null);

#endif
