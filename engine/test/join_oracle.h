// Joins for tests: two inputs of random rows whose keys come from one pool of values, the plan over them, and
// what must come out, by comparing every row with every other.
#ifndef HLY_TEST_JOIN_ORACLE_H
#define HLY_TEST_JOIN_ORACLE_H

#include "batch_source.h"
#include "plan_build.h"
#include "random_batch.h"

typedef enum join_kind { JOIN_HASH, JOIN_MERGE, JOIN_NESTED } join_kind;

typedef struct join_setup {
  join_kind kind;
  const char *key; // type of the keys
  uint32_t n_keys; // 0, 1, or 2: the first column, and a string
  Halley__JoinType type;
  bool build_left, condition, null_aware;
  int64_t limit; // of memory; -1: none
  uint32_t batch_rows;
  uint64_t batch_bytes;
  uint32_t left_batches, right_batches, rows; // rows a batch
  uint32_t left_rows;                         // a batch of the left side; 0: `rows`
  uint32_t n_values;                          // of the pool of keys
  uint32_t null_percent;
  bool skewed;   // half of the rows have one key
  bool filtered; // a run-time filter drops rows of the probe side, below a sort by column 2
  bool broadcast;
  struct hly_broadcast *value; // not NULL: the build side is this value
  bool asking;                 // failing allocations: the pool asks for all memory after each batch
  hly_encoding encoding;
  int64_t bad; // the condition raises when left.a * 100 + right.b is this; -1: never
} join_setup;

typedef struct join_test {
  test_host host;
  hly_ctx ctx;
  hly_arena *arena;
  expr_builder b;
  join_setup setup;
  hly_schema left, right, output;
  hly_batch **batches[2];
  uint32_t n_batches[2];
  const Halley__Plan *plan;
  batch_source sources[2];
  plan_run run;
  Halley__TaskInput task;
  Halley__JvmInputBinding binding, *bindings;
} join_test;

// Makes context, inputs and plan.
void join_start(join_test *t, const join_setup *setup);
void join_finish(join_test *t);
// Binds and runs; lines are in t->run. `ask`: the pool asks for all memory after each batch.
hly_status join_run(join_test *t, bool ask);
// The same in two steps, of which the second may be another thread's.
void join_prepare(join_test *t);
hly_status join_drain(join_test *t);
// Puts the inputs below a bound plan.
void join_attach(join_test *t, hly_op *op);
// The lines that must come out, in the order of the rows of the side that streams; its partners in their
// order, or in reverse. Semi, anti and existence joins: in the order of the left side, whichever streams. An
// error of the condition ends them: *failed.
void join_expected(join_test *t, bool reverse, plan_run *out, bool *failed);
// Runs and compares as sets.
void join_check(const join_setup *setup);
// Every allocation fails in turn.
void join_failing_allocations(const join_setup *setup, int max);
// Merge joins: sorts the batches of a side by its keys, nulls first (one key only).
void join_sort_side(join_test *t, int side);

#endif
