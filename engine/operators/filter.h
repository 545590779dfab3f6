// Filter: what others need to know of it.
#ifndef HLY_OPERATORS_FILTER_H
#define HLY_OPERATORS_FILTER_H

#include "operators/operator.h"

// Whether the scan below evaluates its condition.
bool hly_filter_is_handed_down(const hly_op *filter);

#endif
