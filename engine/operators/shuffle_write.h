// ShuffleWrite: the root of a map side. It is run to its end (`write` of its class), not pulled.
//
// The data file (created or replaced, removed again on failure) holds the partitions in order, each a
// sequence of frames (shuffle/block.h) or empty. The results of `write` are the length in bytes of each
// partition and, when the message asks for checksums, then the checksum of each partition: *n counts both.
#ifndef HLY_OPERATORS_SHUFFLE_WRITE_H
#define HLY_OPERATORS_SHUFFLE_WRITE_H

#include "operators/operator.h"

HLY_MUST_CHECK hly_status hly_shuffle_write_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out);

#endif
