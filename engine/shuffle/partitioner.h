// Partitioners: which output partition each row of a batch goes to, as Spark decides it.
#ifndef HLY_SHUFFLE_PARTITIONER_H
#define HLY_SHUFFLE_PARTITIONER_H

#include "expr/expr.h"
#include "plan/binder.h"
#include "vector/batch.h"

typedef struct hly_partitioner hly_partitioner;

// Binds the partitioning of a ShuffleWrite over its input. Lives in the binder's arena; open and close it in
// turns.
HLY_MUST_CHECK hly_status hly_partitioner_bind(hly_binder *b, int32_t plan_id,
                                               const Halley__ShuffleWrite *message, const hly_schema *input,
                                               hly_partitioner **out);
HLY_MUST_CHECK hly_status hly_partitioner_open(hly_partitioner *p, hly_ctx *ctx, int32_t partition,
                                               int64_t *metrics);
void hly_partitioner_close(hly_partitioner *p);
uint32_t hly_partitioner_count(const hly_partitioner *p);
// ids[k] = partition of the k-th selected row. An expression that raises on any row is an error: a shuffle
// reads all.
HLY_MUST_CHECK hly_status hly_partitioner_ids(hly_partitioner *p, hly_ctx *ctx, const hly_batch *batch,
                                              uint32_t *ids);

// Spark's Murmur3Hash, one column at a time: hashes[k] is the seed of row k and becomes its hash. `sel` NULL:
// the first n rows. `constant_seed`: all hashes are equal before (lets a dictionary be hashed once an entry).
void hly_murmur3_column(const hly_vector *v, const uint32_t *sel, uint32_t n, bool constant_seed,
                        uint32_t *hashes);
// Whether Spark's Murmur3Hash of the type is defined and done here.
bool hly_murmur3_supports(const hly_type *type);

// Spark's ordering of two values that are not null: < 0, 0, > 0. Rows are of the vectors themselves.
int hly_range_compare(const hly_vector *a, uint32_t row_a, const hly_vector *b, uint32_t row_b);
bool hly_range_supports(const hly_type *type);

#endif
