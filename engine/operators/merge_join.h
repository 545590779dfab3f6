// MergeJoin's insides, shared by its files: merge_join.c binds and merges, merge_join_spill.c keeps a group
// that does not fit in memory.
#ifndef HLY_OPERATORS_MERGE_JOIN_H
#define HLY_OPERATORS_MERGE_JOIN_H

#include "operators/joiner.h"
#include "rows/row_compare.h"
#include "rows/row_partitions.h"

enum { HLY_MERGE_LEAST_BYTES = 256 << 10 }; // of a group that stay in memory whatever the pool says

typedef struct hly_merge_join {
  hly_op op;
  hly_joiner joiner;
  // bound
  hly_op **stream_input, **kept_input;
  uint32_t n_keys;
  hly_exprs *stream_keys, *kept_keys;
  hly_vector **keys;
  hly_row_order *orders;
  hly_row_orders by_key;
  // a run
  hly_reservation *reservation;
  hly_join_scratch scratch;
  bool done;
  bool spillable; // the store has the rows of an open group and no others
  hly_status spill_status;
  // the streamed side
  hly_batch *in; // NULL: pull
  uint32_t n_in, next_in;
  bool stream_done, stream_failed;
  uint8_t *in_keys; // of the batch, laid out
  uint8_t **heads;
  uint32_t cap_in;
  hly_batch range; // of `in`, being given
  hly_selection identity;
  // the kept side
  hly_row_store store, spare; // the batch, and the group before it
  bool kept_done, kept_failed;
  uint8_t **rows; // of the batch
  uint32_t n_rows, next_row, cap_rows;
  uint8_t *group, *group_last; // NULL: none; on disk: a copy of one of its rows
  uint64_t n_group;            // rows in the store
  bool group_ended;            // no more of its rows can come
  // A group that does not fit in memory, as partitions of which it fills one. Not always the group at hand:
  // it stays until its matches were given.
  hly_row_partitions disk;
  bool has_disk, group_on_disk;
  uint8_t *disk_key;     // stands for its chain
  hly_row_store disk_in; // rows on their way there
  hly_row_store piece;   // rows read from there
  hly_row_reader reader;
  uint64_t n_disk, piece_from, n_piece; // rows in all, and those of the piece
  uint64_t *matched;                    // a bit a row; only where kept rows can be left over
  // kept rows that match nothing
  bool giving, giving_disk;
  uint8_t **tail;
  uint32_t n_tail, next_tail, scan_block, scan_offset;
} hly_merge_join;

// Moves the group, which is all of the store and has no end yet, to disk.
HLY_MUST_CHECK hly_status hly_merge_group_to_disk(hly_merge_join *m);
// Adds a row of the kept batch to the group that is on disk. The row itself must not be given any more.
HLY_MUST_CHECK hly_status hly_merge_disk_add(hly_merge_join *m, uint8_t *row);
// All rows are there: they can be read.
HLY_MUST_CHECK hly_status hly_merge_disk_end(hly_merge_join *m);
// Reads the first piece or the next (hly_piece_fn).
HLY_MUST_CHECK hly_status hly_merge_disk_piece(void *arg, bool first, uint8_t **chain, bool *last);
void hly_merge_disk_close(hly_merge_join *m);

#endif
