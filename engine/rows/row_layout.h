// The row layout that grouping, joining and sorting share. A row is
//
//   header (the owner's) | fields | null bits | the owner's tail
//
// of a fixed size that is a multiple of 8. Values are their C types, unaligned to more than 8 bytes; strings,
// binaries and nested values are 16-byte views (vector/str.h) whose long bytes lie elsewhere; a nested
// value's bytes are an UnsafeRow of one field. Wider fields come first, so that fields and null bits are
// packed without holes and rows with equal values have equal bytes, long views apart. A null field is zero
// and has its bit set.
#ifndef HLY_ROWS_ROW_LAYOUT_H
#define HLY_ROWS_ROW_LAYOUT_H

#include "memory/spill_file.h"
#include "rows/unsafe_row.h"
#include "vector/batch.h"

typedef struct hly_row_field {
  const hly_type *type;
  uint32_t offset; // from the start of the row
  uint8_t size;    // bytes; 0: the NULL type
  bool is_view;    // strings, binaries, nested values
  bool is_nested;
} hly_row_field;

typedef struct hly_row_layout {
  uint32_t n_fields;
  hly_row_field *fields;
  uint32_t header_bytes; // multiple of 8
  uint32_t null_offset;
  uint32_t prefix_bytes; // header, fields and null bits: where the tail begins; multiple of 8
  uint32_t row_bytes;    // with the tail
  uint32_t n_views;      // fields and tail
  uint32_t *views;       // their offsets; those of fields first and contiguous from header_bytes
  uint32_t n_field_views;
} hly_row_layout;

// Lays out `n` types behind a header. The layout's arrays live in `arena`.
HLY_MUST_CHECK hly_status hly_row_layout_init(hly_ctx *ctx, hly_arena *arena, const hly_type *const *types,
                                              uint32_t n, uint32_t header_bytes, hly_row_layout *out);
// Appends n_bytes to the tail (rounded up to 8) and returns their offset.
uint32_t hly_row_layout_add_tail(hly_row_layout *layout, uint32_t n_bytes);
// Declares that the tail holds a view at `offset`: its bytes are written and read with the row.
HLY_MUST_CHECK hly_status hly_row_layout_add_view(hly_ctx *ctx, hly_arena *arena, hly_row_layout *layout,
                                                  uint32_t offset);

static inline bool hly_row_is_null(const hly_row_layout *layout, const uint8_t *row, uint32_t field) {
  return row[layout->null_offset + field / 8] >> (field % 8) & 1;
}
static inline hly_str *hly_row_view(uint8_t *row, uint32_t offset) {
  return (hly_str *)(void *)(row + offset);
}

// Where the values of rows sel[0..n), or start.. when sel is NULL, lie in the vector's values: NULL when they
// are the n from `start` on (flat vector without selection), else `scratch` (room for n), filled.
const uint32_t *hly_vector_positions(const hly_vector *v, const uint32_t *sel, uint32_t start, uint32_t n,
                                     uint32_t *scratch);

// Nested columns of a batch as bytes, one block a nested field; NULL members for others.
typedef struct hly_row_nested {
  hly_row_block *blocks; // n_fields
  uint32_t n_fields;     // of the layout that had most
} hly_row_nested;
HLY_MUST_CHECK hly_status hly_row_nested_encode(hly_ctx *ctx, const hly_row_layout *layout,
                                                hly_vector *const *columns, const hly_batch *batch,
                                                hly_row_nested *nested);
void hly_row_nested_deinit(hly_row_nested *nested);

// Writes field f of n rows to `rows + i * stride`, whose fields are zero before. Source rows are
// sel[from + i], or from + i when sel is NULL; with nested fields `nested` holds all selected rows of the
// batch. Views are borrowed from the vector or from `nested`. `scratch`: room for n.
void hly_row_scatter(const hly_row_layout *layout, uint32_t f, const hly_vector *v, const uint32_t *sel,
                     uint32_t from, uint32_t n, const hly_row_nested *nested, uint8_t *rows, size_t stride,
                     uint32_t *scratch);
// Reads field f of the rows into `out` (flat afterwards; refs == 1). Long bytes are copied.
HLY_MUST_CHECK hly_status hly_row_gather(hly_ctx *ctx, const hly_row_layout *layout, uint32_t f,
                                         uint8_t *const *rows, uint32_t n, hly_vector *out);
// Writes n views to `out` (flat string vector afterwards), copying long bytes to a heap of its own; nulls[i]
// != 0: null (NULL: none). The views are at rows[i] + offset.
HLY_MUST_CHECK hly_status hly_row_gather_views(hly_ctx *ctx, uint8_t *const *rows, uint32_t offset,
                                               uint32_t n, const uint8_t *nulls, hly_vector *out);

// Bits of hly_row_hash that are kept: all; tests narrow them, so that keys collide.
extern uint64_t hly_row_hash_mask;
uint64_t hly_row_hash(const hly_row_layout *layout, const uint8_t *row); // of the fields; never of the header
// Whether fields and null bits are equal (headers are not looked at).
bool hly_row_equal(const hly_row_layout *layout, const uint8_t *a, const uint8_t *b);
uint64_t hly_row_long_bytes(const hly_row_layout *layout, const uint8_t *row); // bytes of its long views

// Spilling: the fixed part, then the bytes of the long views.
HLY_MUST_CHECK hly_status hly_row_write(const hly_row_layout *layout, const uint8_t *row, hly_spill_file *f);
// Reads the fixed part into `row`. The views' pointers are then meaningless until hly_row_read_views.
HLY_MUST_CHECK hly_status hly_row_read(const hly_row_layout *layout, hly_spill_reader *r, uint8_t *row);
// Reads the long bytes to `out` (hly_row_long_bytes of them) and points the row's views at them.
HLY_MUST_CHECK hly_status hly_row_read_views(const hly_row_layout *layout, hly_spill_reader *r, uint8_t *row,
                                             uint8_t *out);

#endif
