// Group table: finds or makes the row of each key. Rows are those of a row layout whose header is the key's
// hash and whose tail is the aggregates' state; the table itself is an open-addressed array of 64-bit slots,
// a row's address with the upper 16 bits of its hash above it.
#ifndef HLY_OPERATORS_GROUP_TABLE_H
#define HLY_OPERATORS_GROUP_TABLE_H

#include "rows/row_store.h"

enum { HLY_GROUP_HEADER = 8 };

typedef struct hly_group_table {
  hly_ctx *ctx;
  const hly_row_layout *layout;
  hly_reservation *reservation; // borrowed
  hly_row_store store;
  uint64_t *slots;
  uint64_t mask;  // number of slots less one
  uint8_t *probe; // keys of a few rows, laid out
  uint32_t *scratch;
  uint8_t **code_groups; // groups of the combinations of a batch's dictionary codes
  uint32_t *codes;
  hly_row_nested nested;
} hly_group_table;

// Sets up; reserves a first small table that is never refused.
HLY_MUST_CHECK hly_status hly_group_table_init(hly_group_table *t, hly_ctx *ctx, const hly_row_layout *layout,
                                               hly_reservation *reservation);
void hly_group_table_deinit(hly_group_table *t);
// Drops all groups and gives their memory back, except for a small table.
void hly_group_table_clear(hly_group_table *t);

// Called once a batch before hly_group_table_find: lays out what must be prepared for the whole batch.
HLY_MUST_CHECK hly_status hly_group_table_begin(hly_group_table *t, hly_vector *const *keys,
                                                const hly_batch *batch);
// Writes to groups[0..n) the rows of the keys at sel[from..] (from.. when sel is NULL). *n_done < n: the pool
// refused room for a new group; those before are done. `new_only`: makes a new row for every key without
// looking it up.
HLY_MUST_CHECK hly_status hly_group_table_find(hly_group_table *t, hly_vector *const *keys,
                                               const uint32_t *sel, uint32_t from, uint32_t n, bool new_only,
                                               uint8_t **groups, uint32_t *n_done);
// The group of a row laid out elsewhere, hash in its header; *made: it is new, a copy of `row` with its own
// long keys. HLY_DENIED: no room.
HLY_MUST_CHECK hly_status hly_group_table_insert(hly_group_table *t, const uint8_t *row, uint8_t **group,
                                                 bool *made);

#endif
