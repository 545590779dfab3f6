// ShuffleInput: batches out of the frames (shuffle/block.h) that the host hands over one at a time.
#ifndef HLY_OPERATORS_SHUFFLE_INPUT_H
#define HLY_OPERATORS_SHUFFLE_INPUT_H

#include "operators/operator.h"

HLY_MUST_CHECK hly_status hly_shuffle_input_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out);

#endif
