// HashAggregate's insides, shared by its files: hash_aggregate.c binds and consumes, aggregate_emit.c gives
// results, aggregate_spill.c writes groups to disk and merges them again.
#ifndef HLY_OPERATORS_HASH_AGGREGATE_H
#define HLY_OPERATORS_HASH_AGGREGATE_H

#include "aggregates/aggregate.h"
#include "expr/expr.h"
#include "operators/group_table.h"
#include "operators/operator.h"
#include "operators/selection.h"

// One aggregate call as the operator runs it.
typedef struct hly_agg_call {
  hly_agg *agg;
  // Another call keeps the same state of the same column (sum and average of decimals): this one only reads
  // it.
  bool shares;
  hly_vector **columns; // inputs of this batch
  uint32_t first_expr;  // of its arguments among the operator's expressions
  uint32_t buffer_at;   // merging: ordinal of its first buffer column in the input
  // FILTER (WHERE ...): the arguments are evaluated on the rows that pass only.
  hly_exprs *filter, *args;
  hly_selection rows;     // those of this batch
  hly_selection position; // of each among the batch's selected rows
  uint32_t n_rows, next_row;
} hly_agg_call;

enum { HLY_AGG_PARTS = 16 }; // partitions a spilled table is cut into, by 4 bits of the hash

typedef struct hly_agg_section {
  uint64_t offset, n_rows;
} hly_agg_section;

// Spilled tables of one level: each flush leaves a section a partition.
typedef struct hly_agg_spill {
  hly_spill_file *file;
  hly_agg_section *sections; // n_flushes * HLY_AGG_PARTS
  uint32_t n_flushes, cap_flushes;
  uint32_t level;
  uint32_t next_part; // merging: the partition to read next
  uint64_t end;       // of the file: where the next section begins
  uint64_t counted;   // bytes already in the metrics
  struct hly_agg_spill *parent;
} hly_agg_spill;

typedef struct hly_hash_aggregate {
  hly_op op;
  // bound
  uint32_t n_keys, n_calls, n_exprs;
  hly_exprs *exprs; // keys, then arguments of calls without filter; NULL: none
  hly_agg_call *calls;
  hly_row_layout layout;
  hly_schema inner;   // keys, then the calls' outputs
  hly_exprs *results; // over inner; NULL: inner is the output
  bool partial;       // all calls are PARTIAL: groups may leave before the input ends, more than once
  bool may_skip;      // and nothing depends on how rows are grouped
  // Rows after which it is judged whether grouping pays, and the share of rows with keys of their own from
  // which it does not.
  uint64_t skip_after;
  double skip_ratio;
  // Without keys, directly above the partial aggregate of the same calls: Spark's generated code hands the
  // sums over in variables, not in a row, so that a decimal of any size arrives. So do we, state by state.
  struct hly_hash_aggregate *partial_below;
  // a run
  hly_reservation *reservation;
  hly_group_table table;
  hly_agg_env env;
  hly_agg_scratch scratch;
  uint8_t *one; // the only group, without keys
  enum { HLY_AGG_CONSUME, HLY_AGG_EMIT, HLY_AGG_DONE } phase;
  bool input_done;
  bool skipping;  // keys hardly repeat: rows are turned into buffers without looking for their group
  bool spillable; // the table is consistent and nobody works on it
  bool failed;    // a result raised after the rows already returned
  hly_batch *in;  // batch being taken in; NULL: none
  uint32_t in_next;
  hly_vector **columns; // of exprs
  uint8_t **groups;
  uint32_t cap_groups;
  uint64_t n_taken;        // rows since the table was empty
  hly_status spill_status; // of a spill that the pool asked for
  // output
  hly_arena *arena;
  hly_batch *inner_batch;
  hly_batch view;
  hly_vector **result_columns;
  hly_selection identity;
  uint8_t **emit_rows;
  uint32_t n_emit, next_emit;
  uint32_t scan_block, scan_offset;
  // spilled
  hly_agg_spill *spill; // the deepest level; NULL: nothing was spilled
} hly_hash_aggregate;

// Begins giving the table's groups.
void hly_agg_emit_begin(hly_hash_aggregate *h);
// Next batch of them; NULL: all are out.
HLY_MUST_CHECK hly_status hly_agg_emit_next(hly_hash_aggregate *h, hly_batch **out);

// Writes all groups that were not given yet to the current level (made when there is none at `level`) and
// empties the table.
HLY_MUST_CHECK hly_status hly_agg_flush(hly_hash_aggregate *h, uint32_t level);
// After the input's end, with spilled groups: reads the next partition into the table. *more: there was one.
HLY_MUST_CHECK hly_status hly_agg_merge_next(hly_hash_aggregate *h, bool *more);
// The level for groups that leave the table now; UINT32_MAX: they cannot.
uint32_t hly_agg_next_level(const hly_hash_aggregate *h);
void hly_agg_spill_close(hly_hash_aggregate *h);

#endif
