// A source for operator tests: gives batches that the test made, may then raise, and calls the test before
// each.
#ifndef HLY_TEST_BATCH_SOURCE_H
#define HLY_TEST_BATCH_SOURCE_H

#include "fixture.h"
#include "operators/operator.h"

typedef struct batch_source {
  hly_op op;
  hly_batch **batches;
  uint32_t n_batches;
  bool fails; // after the last batch, instead of ending
  void (*before)(struct batch_source *s, uint32_t batch);
  void *arg;
  uint32_t next;    // batch; how many were pulled
  uint32_t n_opens; // and the partition of the last
  int32_t partition;
} batch_source;

// Makes `s` the input `i` of `op`, instead of the one that was bound.
void batch_source_attach(batch_source *s, hly_op *op, uint32_t i, hly_batch **batches, uint32_t n_batches);

#endif
