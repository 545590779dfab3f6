// A row-at-a-time evaluator of expression messages with Spark's semantics, for the few classes tests use: the
// answer key of the vectorised evaluator, and the engine behind the tests' dispatcher.
#ifndef HLY_TEST_EXPR_ORACLE_H
#define HLY_TEST_EXPR_ORACLE_H

#include "fixture.h"

#include "expr_build.h"
#include "vector/batch.h"

typedef struct oracle_value {
  bool null, raised;
  int64_t i;        // booleans, integers, dates
  double d;         // float, double
  const uint8_t *s; // strings
  uint32_t n;
} oracle_value;

// Besides Catalyst's own: "Opaque" (its one child, never native), "RaiseIf" (boolean child: raises where it
// is true, otherwise false; never native), "Counter" (nondeterministic: how often it was evaluated before, as
// LONG).
oracle_value oracle_eval(const Halley__Expr *e, const hly_batch *batch, uint32_t row, int64_t *counter);

// A host whose dispatcher evaluates `table` with the oracle.
typedef struct oracle_host {
  test_host base;
  const expr_builder *builder;
  const hly_schema *input;
  uint64_t max_rows; // a call returns after so many; 0: no bound
  int64_t counter;
  uint64_t n_calls, n_rows;
  // results of the last call of each site
  void *results;
} oracle_host;

void oracle_host_init(oracle_host *h, const expr_builder *builder, const hly_schema *input);
void oracle_host_deinit(oracle_host *h); // frees what calls made; more calls are fine

// Row of a vector as the oracle sees it.
oracle_value oracle_load(const hly_vector *v, uint32_t row);
bool oracle_same(const hly_type *t, oracle_value a, oracle_value b);

#endif
