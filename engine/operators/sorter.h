// Sorter: takes rows, gives them back in order, within memory. Used by Sort and TopK.
//
// Rows lie in a row store; what is sorted is an array of (16-byte key prefix, row address). When the pool
// refuses more, the rows are sorted and written as a run; runs are merged at the end, a bounded number at a
// time. Stable.
#ifndef HLY_OPERATORS_SORTER_H
#define HLY_OPERATORS_SORTER_H

#include "operators/operator.h"
#include "rows/row_compare.h"
#include "rows/row_store.h"

typedef struct hly_sort_entry {
  hly_row_prefix key;
  uint8_t *row;
} hly_sort_entry;

struct hly_merge;

typedef struct hly_sort_run {
  uint64_t offset, n_rows;
} hly_sort_run;

typedef struct hly_sorter {
  hly_ctx *ctx;
  int64_t *metrics; // of the operator
  const hly_row_layout *layout;
  hly_row_orders orders;
  uint32_t n_output; // the first fields are the output's columns, the others only keys
  int64_t limit;     // rows wanted; -1: all
  hly_reservation *reservation;
  hly_row_store store;
  hly_sort_entry *entries, *spare; // two arrays of cap_entries
  uint64_t n_entries, cap_entries;
  hly_row_nested nested;
  uint32_t *scratch;
  bool has_cutoff; // limit: rows not below `cutoff` are not wanted
  hly_sort_entry cutoff;
  uint8_t *probe; // keys of a few rows, to be held against the cutoff
  uint32_t *wanted;
  // runs
  hly_spill_file *file;
  hly_sort_run *runs;
  uint32_t n_runs, cap_runs;
  uint64_t end, counted; // of the file; bytes already in the metrics
  struct hly_merge *merge;
  // output
  bool finished;
  uint64_t next_entry, n_given;
  uint8_t **rows;
  hly_row_store merged; // rows of the batch being merged
  bool spillable;       // the rows are consistent and nobody works on them
  hly_status spill_status;
} hly_sorter;

// `name` is the operator's. Borrows layout and orders.
HLY_MUST_CHECK hly_status hly_sorter_init(hly_sorter *s, hly_op *op, const char *name,
                                          const hly_row_layout *layout, const hly_row_order *orders,
                                          uint32_t n_orders, uint32_t n_output, int64_t limit);
void hly_sorter_deinit(hly_sorter *s);
// Takes the selected rows of the batch; columns[f] holds field f of the layout.
HLY_MUST_CHECK hly_status hly_sorter_add(hly_sorter *s, hly_vector *const *columns, const hly_batch *batch);
// Ends the input.
HLY_MUST_CHECK hly_status hly_sorter_finish(hly_sorter *s);
// Writes the next rows to `out` (columns are made writable). No rows: the end.
HLY_MUST_CHECK hly_status hly_sorter_next(hly_sorter *s, hly_batch *out);

// Sorts n entries, stably; `spare` has room for n. The result is in `entries`.
void hly_sort_entries(const hly_row_layout *layout, const hly_row_orders *orders, hly_sort_entry *entries,
                      hly_sort_entry *spare, uint64_t n);

// ---- sort_merge.c
// Writes entries [from, to) as a run.
HLY_MUST_CHECK hly_status hly_sort_write_run(hly_sorter *s, uint64_t from, uint64_t to);
// Merges runs until they can be merged at once, and opens that merge.
HLY_MUST_CHECK hly_status hly_merge_open(hly_sorter *s);
// Row that comes next, or NULL at the end; valid until hly_merge_advance.
const uint8_t *hly_merge_peek(const hly_sorter *s);
HLY_MUST_CHECK hly_status hly_merge_advance(hly_sorter *s);
void hly_merge_close(hly_sorter *s);

#endif
