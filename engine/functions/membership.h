// IN over a list of constants.
#ifndef HLY_FUNCTIONS_MEMBERSHIP_H
#define HLY_FUNCTIONS_MEMBERSHIP_H

#include "functions/kernel.h"

// Binds `argument 0 IN (arguments 1...)` where every argument but the first is a known constant. The kernel
// is called with the first argument only.
HLY_MUST_CHECK hly_status hly_bind_member(hly_binder *b, const hly_fn_call *call, hly_kernel *out);

#endif
