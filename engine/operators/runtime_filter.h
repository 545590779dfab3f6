// Run-time filters: a hash join that drops the unmatched rows of its probe side tells, once its build side is
// complete, which keys it has (key_filter.h), and operators below drop rows of other keys before work is done
// for them.
//
// runtime_filter_place.c finds at binding where the keys come from, runtime_filter.c tests rows there: in a
// Parquet scan, which rules out row groups and decodes the keys first, or in an operator of its own below
// another join or a sort. The join that supplies the filter still looks at every row it gets.
#ifndef HLY_OPERATORS_RUNTIME_FILTER_H
#define HLY_OPERATORS_RUNTIME_FILTER_H

#include "operators/key_filter.h"
#include "operators/operator.h"

// One use of a key filter.
typedef struct hly_runtime_filter {
  struct hly_runtime_filter *next, *next_groups; // of the same scan: that test rows, that rule out row groups
  const hly_key_filter *filter;                  // the join's
  hly_op *owner;                                 // the join: its metrics count the rows
  hly_exprs *exprs;                              // the keys over the rows at hand
  int32_t *columns; // a key: the column that it is, or whose order is its own; -1: none
  bool plain;       // all keys are columns as they are
  Halley__Metric count_in, count_pruned;
  // a run
  hly_vector **keys;
  hly_key_scratch *scratch; // NULL: not open
  uint32_t n_dull;          // batches one after the other of which (nearly) nothing was dropped
  bool bypassed;            // it did not pay: no more rows are tested in this run
  uint64_t n_in, n_out;     // rows, lately
} hly_runtime_filter;

// Binds the keys over `schema`. *out NULL: it cannot be done here.
HLY_MUST_CHECK hly_status hly_runtime_filter_bind(hly_binder *b, hly_op *owner, const hly_key_filter *filter,
                                                  Halley__Expr *const *keys, const hly_schema *schema,
                                                  hly_runtime_filter **out);
HLY_MUST_CHECK hly_status hly_runtime_filter_open(hly_runtime_filter *f, hly_ctx *ctx, int32_t partition);
void hly_runtime_filter_close(hly_runtime_filter *f);
static inline bool hly_runtime_filter_active(const hly_runtime_filter *f) {
  return !f->bypassed && hly_key_filter_tests_rows(f->filter);
}
// Writes the selected rows of `in` that may match to `out`, which may be in->sel itself.
HLY_MUST_CHECK hly_status hly_runtime_filter_apply(hly_runtime_filter *f, hly_ctx *ctx, const hly_batch *in,
                                                   uint32_t *out, uint32_t *n_out);

// An operator that applies the filter to the batches of *slot, put in its place.
HLY_MUST_CHECK hly_status hly_runtime_filter_insert(hly_binder *b, hly_runtime_filter *f, hly_op **slot);
bool hly_op_is_runtime_filter(const hly_op *op);

struct hly_hash_join;
// Finds the places for filters of a join that is bound; `past_errors`: also below what may raise an error on
// the rows that are dropped.
HLY_MUST_CHECK hly_status hly_runtime_filters_place(hly_binder *b, const Halley__Plan *plan,
                                                    struct hly_hash_join *join, bool past_errors);

#endif
