// The size that Spark would give rows: what its exchange counts as "data size", and adaptive execution
// decides by.
#ifndef HLY_SHUFFLE_DATA_SIZE_H
#define HLY_SHUFFLE_DATA_SIZE_H

#include "vector/batch.h"

// Bytes of the selected rows as UnsafeRows (o.a.s.sql.catalyst.expressions.UnsafeRow.getSizeInBytes).
uint64_t hly_unsafe_rows_size(const hly_batch *batch);

#endif
