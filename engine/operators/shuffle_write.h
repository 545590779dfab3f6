// ShuffleWrite: the root of a map side. It is run to its end, not pulled.
#ifndef HLY_OPERATORS_SHUFFLE_WRITE_H
#define HLY_OPERATORS_SHUFFLE_WRITE_H

#include "operators/operator.h"

HLY_MUST_CHECK hly_status hly_shuffle_write_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out);
bool hly_op_is_shuffle_write(const hly_op *op);
// After hly_op_open: pulls the input to its end and writes the map output to `data_file` (created or
// replaced, removed again on failure), partitions in order, each a sequence of frames (shuffle/block.h) or
// empty. *results: the length in bytes of each partition; when the message asks for checksums, then the
// checksum of each partition as well. *n counts both. Borrowed until the operator is closed.
HLY_MUST_CHECK hly_status hly_shuffle_write_run(hly_op *op, const char *data_file, const int64_t **results,
                                                uint32_t *n);

#endif
