// Join table: finds the chain of rows with a key. Over the rows of a store it keeps one of
//
//   direct   one integer key of a small range: an array of chains
//   hashed   open-addressed 64-bit slots, a chain's address with the upper 16 bits of its hash above it
//   single   no keys: all rows are one chain
//
// Chains go through the links of the rows (join_rows.h).
#ifndef HLY_OPERATORS_JOIN_TABLE_H
#define HLY_OPERATORS_JOIN_TABLE_H

#include "operators/join_rows.h"

typedef struct hly_join_table {
  hly_ctx *ctx;
  const hly_join_rows *rows;
  hly_reservation *reservation;
  uint64_t *slots; // hashed: mask + 1; direct: range
  uint64_t n_slots, mask;
  bool direct;
  bool reads_rows; // whoever finds chains reads their rows soon: worth fetching ahead
  int64_t least;   // direct: the key of the first slot
  uint8_t *single;
  uint8_t *probe; // keys of HLY_JOIN_CHUNK rows, laid out
} hly_join_table;

HLY_MUST_CHECK hly_status hly_join_table_init(hly_join_table *t, hly_ctx *ctx, const hly_join_rows *rows,
                                              hly_reservation *reservation);
void hly_join_table_deinit(hly_join_table *t);
void hly_join_table_clear(hly_join_table *t);
// Makes t, which is empty, a view of a complete table over rows of the same layout; hly_join_table_forget
// ends that.
void hly_join_table_view(hly_join_table *t, const hly_join_table *of);
void hly_join_table_forget(hly_join_table *t);
// Links all rows of the store whose keys are not null; their marks stay. `force`: never HLY_DENIED (then
// nothing was built).
HLY_MUST_CHECK hly_status hly_join_table_build(hly_join_table *t, const hly_row_store *store, bool force);
// Writes the chain of each of the first n selected rows of the batch to heads; NULL: none.
HLY_MUST_CHECK hly_status hly_join_table_find(hly_join_table *t, hly_join_scratch *scratch,
                                              hly_vector *const *keys, const hly_batch *batch, uint32_t n,
                                              uint8_t **heads);

#endif
