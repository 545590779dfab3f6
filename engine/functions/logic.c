// NOT, IS NAN and the normalisation of floats.
#include "functions/logic.h"

#include "functions/functions.h"

static const hly_logic_table *const tables[HLY_N_CPU] = {&hly_logic_baseline, &hly_logic_v3, &hly_logic_v4};

const hly_logic_table *hly_logic(void) {
  return tables[hly_cpu_level()];
}

hly_status hly_bind_not(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = tables[call->cpu]->not_;
  return HLY_OK;
}

hly_status hly_bind_is_nan(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = tables[call->cpu]->is_nan[call->arg_types[0]->kind == HLY_DOUBLE];
  return HLY_OK;
}

hly_status hly_bind_normalize_float(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = tables[call->cpu]->normalize[call->arg_types[0]->kind == HLY_DOUBLE];
  return HLY_OK;
}
