// HashJoin's insides, shared by its files: hash_join.c binds, builds and probes, hash_join_spill.c joins
// partitions that went to disk. NestedLoopJoin is the same operator without keys.
#ifndef HLY_OPERATORS_HASH_JOIN_H
#define HLY_OPERATORS_HASH_JOIN_H

#include "operators/broadcast_table.h"
#include "operators/join_table.h"
#include "operators/joiner.h"
#include "operators/key_filter.h"
#include "rows/row_partitions.h"

enum { HLY_JOIN_LEAST_BYTES = 256 << 10 }; // of rows in memory that are never refused

// Partitions of one level, of both sides.
typedef struct hly_join_spill {
  hly_row_partitions build, probe;
  uint32_t next_part;
  struct hly_join_spill *parent;
} hly_join_spill;

typedef enum hly_hash_join_phase {
  HLY_JOIN_BUILD,     // taking the build side in
  HLY_JOIN_PARTITION, // it is on disk: the probe side, or what is left of it, goes there too
  HLY_JOIN_PROBE,
  HLY_JOIN_TAIL, // build rows that are given at the end
  HLY_JOIN_DONE,
} hly_hash_join_phase;

typedef struct hly_hash_join {
  hly_op op;
  hly_joiner joiner; // its kept rows are the build side's
  // bound
  hly_op **build_input, **probe_input;
  uint32_t n_keys;
  hly_exprs *build_keys, *probe_keys; // NULL: none
  hly_join_rows probe_rows;           // for the disk
  bool force;                         // the build side stays in memory whatever the pool says
  bool null_aware;
  // Where the build side may be a broadcast value whose table the tasks of a process share: what tells its
  // table from others of the value. NULL: each task builds its own.
  const uint8_t *shared_key;
  size_t n_shared_key;
  hly_vector **keys;           // of the batch at hand
  hly_key_filter *key_filters; // run-time filters below need them; NULL: none
  // a run
  hly_reservation *reservation;
  hly_row_store store, probe_store;
  hly_join_scratch scratch;
  hly_join_table table;
  hly_hash_join_phase phase;
  bool spillable;
  hly_status spill_status; // of a spill that the pool asked for
  bool failed;             // a probe key raised behind the rows already taken
  bool probe_ended;
  bool tail_fails;             // behind the build rows at hand is one that failed
  bool has_null, has_rows;     // null_aware: of the build side
  int32_t value_handle;        // of the build input
  hly_broadcast_table *shared; // NULL: not held; else `store` and `table` are views of it
  hly_batch *first;            // the probe batch that showed that a table is needed, its keys not evaluated
  uint8_t **heads;
  uint32_t cap_heads;
  hly_selection chosen; // rows without null keys
  hly_selection rest;   // of a batch that was being joined when the build side went to disk
  hly_batch view;
  uint8_t **tail;
  uint32_t n_tail, next_tail, scan_block, scan_offset;
  // on disk
  hly_join_spill *spill; // the deepest level; NULL: nothing was spilled
  bool from_disk;        // the probe batches are those of a partition
  bool uncut;            // the partition at hand would be no smaller in pieces
  bool unloaded;         // the build side went to disk under a probe batch that is being joined
  hly_row_reader reader;
  hly_arena *arena;
  hly_batch *disk_batch, *disk_keys;
} hly_hash_join;

// Both bind: HashJoin with keys, NestedLoopJoin without.
HLY_MUST_CHECK hly_status hly_hash_join_create(hly_binder *b, const Halley__Plan *plan,
                                               const hly_op_class *cls, hly_hash_join **out);
extern const hly_op_class hly_hash_join_class;
hly_status hly_hash_join_open(hly_op *op, const Halley__TaskInput *task);
hly_status hly_hash_join_next(hly_op *op, hly_batch **out);
void hly_hash_join_close(hly_op *op);
// Before the build side's table may be shared: finds `shared_key`, from the messages of the build keys (NULL:
// none). Once the rest is bound.
HLY_MUST_CHECK hly_status hly_hash_join_bind_shared(hly_binder *b, hly_hash_join *h, const Halley__Plan *plan,
                                                    Halley__Expr *const *build_keys);
// Takes the table of the broadcast value, which this task builds by `build` when it is the first. *none: the
// build side is no such value.
HLY_MUST_CHECK hly_status hly_hash_join_take_shared(hly_hash_join *h, hly_status (*build)(hly_hash_join *h),
                                                    bool *none);
void hly_hash_join_leave_shared(hly_hash_join *h);
// Lets the filter use the set of keys that the tasks share, which this task builds when it is the first.
HLY_MUST_CHECK hly_status hly_hash_join_share_keys(hly_hash_join *h, hly_key_filter *f);

// Whether build rows are given when the probe side has ended.
static inline bool hly_hash_join_has_tail(const hly_hash_join *h) {
  return h->joiner.kept_outer || h->joiner.gives_kept;
}
// Whether probe rows without a match, those with null keys among them, can be in the output.
bool hly_hash_join_keeps_unmatched(const hly_hash_join *h);
// Writes the rows of the build store, or of the probe store, to level 0, which is made when there is none.
HLY_MUST_CHECK hly_status hly_hash_join_flush(hly_hash_join *h, bool build);
// Moves the build side from memory to disk while the probe side is joined with it, or while its last rows are
// given: one level below what is on disk already. *done false: there is none, nothing was moved.
HLY_MUST_CHECK hly_status hly_hash_join_unload(hly_hash_join *h, bool *done);
// Moves what is left of the partition's probe side to the level below.
HLY_MUST_CHECK hly_status hly_hash_join_unload_probe(hly_hash_join *h);
// The next partition's build side into the table, its probe side open for reading. *more false: none is left.
HLY_MUST_CHECK hly_status hly_hash_join_next_part(hly_hash_join *h, bool *more);
// The next batch of the partition's probe side and its keys; NULL: none.
HLY_MUST_CHECK hly_status hly_hash_join_read_probe(hly_hash_join *h, hly_batch **out);
void hly_hash_join_spill_close(hly_hash_join *h);

#endif
