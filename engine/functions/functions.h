// Prototypes of the bind functions, from the registry's own list.
#ifndef HLY_FUNCTIONS_FUNCTIONS_H
#define HLY_FUNCTIONS_FUNCTIONS_H

#include "functions/kernel.h"

#define FN(cls, args, result, nulls, flags, params, modes, bind)                                             \
  HLY_MUST_CHECK hly_status bind(hly_binder *b, const hly_fn_call *call, hly_kernel *out);
#define FORM(cls, args, result, params, form)
#include "functions/functions.def"
#undef FN
#undef FORM

#endif
