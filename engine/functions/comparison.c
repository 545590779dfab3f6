// =, <=>, <, <=, >, >= on every type with an order.
#include "functions/comparison.h"

#include <string.h>

#include "functions/functions.h"
#include "vector/str.h"

static const hly_compare_table *const tables[HLY_N_CPU] = {&hly_compare_baseline, &hly_compare_v3,
                                                           &hly_compare_v4};

static hly_status bind(hly_binder *b, const hly_fn_call *call, hly_compare op, bool swap, hly_kernel *out) {
  const hly_type *x = call->arg_types[0], *y = call->arg_types[1];
  hly_compare_state *s = HLY_ARENA_NEW(b->arena, hly_compare_state);
  HLY_CHECK_MEM(b->ctx, s, sizeof *s);
  s->swap = swap;
  out->state = s;
  if (x->kind == HLY_DECIMAL && (x->phys != y->phys || x->scale != y->scale)) {
    s->scale[0] = y->scale > x->scale ? y->scale - x->scale : 0;
    s->scale[1] = x->scale > y->scale ? x->scale - y->scale : 0;
    out->fn = tables[call->cpu]->mixed[op];
    return HLY_OK;
  }
  out->fn = tables[call->cpu]->fn[op][x->phys];
  out->select = tables[call->cpu]->select[op][x->phys];
  if (out->fn) return HLY_OK;
  char text[96];
  return hly_bind_refuse(b, "%s: type %s has no native form", call->cls,
                         hly_type_print(x, text, sizeof text));
}

hly_status hly_bind_equal(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind(b, call, HLY_COMPARE_EQ, false, out);
}
hly_status hly_bind_less(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind(b, call, HLY_COMPARE_LT, false, out);
}
hly_status hly_bind_less_equal(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind(b, call, HLY_COMPARE_LE, false, out);
}
hly_status hly_bind_greater(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind(b, call, HLY_COMPARE_LT, true, out);
}
hly_status hly_bind_greater_equal(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  return bind(b, call, HLY_COMPARE_LE, true, out);
}

// ---- <=>: equal, or both null

typedef struct null_safe {
  hly_compare_state compare; // first: the comparison's kernels read it
  hly_kernel_fn equal;
} null_safe;

static hly_status equal_null_safe(hly_call *call) {
  const null_safe *s = call->state;
  HLY_TRY(s->equal(call));
  const hly_arg *x = &call->args[0], *y = &call->args[1];
  uint8_t *out = call->out;
  if (x->valid || y->valid) {
    HLY_FOR_ROWS(call->rows, i, {
      uint8_t vx = hly_arg_valid(x, i);
      uint8_t vy = hly_arg_valid(y, i);
      out[i] = (out[i] & vx & vy) | ((vx | vy) ^ 1);
    });
  }
  call->valid = NULL;
  return HLY_OK;
}

hly_status hly_bind_equal_null_safe(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  null_safe *s = HLY_ARENA_NEW(b->arena, null_safe);
  HLY_CHECK_MEM(b->ctx, s, sizeof *s);
  HLY_TRY(bind(b, call, HLY_COMPARE_EQ, false, out));
  s->compare = *(const hly_compare_state *)out->state;
  s->equal = out->fn;
  out->state = s;
  out->fn = equal_null_safe;
  out->select = NULL;
  return HLY_OK;
}
