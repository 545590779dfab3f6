// Concat, and the trims of spaces.
#include <string.h>

#include "functions/functions.h"
#include "vector/str.h"

// ---- Concat

static hly_status concat(hly_call *call) {
  hly_str *out = call->out;
  uint64_t n_bytes = 0;
  // The result's lengths first: one heap for all of them.
  HLY_FOR_ROWS(call->rows, i, {
    uint64_t n = 0;
    if (hly_call_wants(call, i))
      for (uint32_t k = 0; k < call->n_args; k++) n += HLY_ARG(hly_str, &call->args[k], i).len;
    if (n > INT32_MAX)
      return hly_error_setf(&call->ctx->error, HLY_E_INTERNAL, "a string of %llu bytes",
                            (unsigned long long)n);
    out[i] = (hly_str){.len = (uint32_t)n};
    if (n > HLY_STR_INLINE) n_bytes += n;
  });
  uint8_t *heap = NULL;
  if (n_bytes) HLY_TRY(hly_call_heap(call, n_bytes, &heap));
  HLY_FOR_ROWS(call->rows, i, {
    uint32_t n = out[i].len;
    if (n > 0) {
      uint8_t small[HLY_STR_INLINE];
      uint8_t *start = n > HLY_STR_INLINE ? heap : small;
      uint8_t *at = start;
      for (uint32_t k = 0; k < call->n_args; k++) {
        const hly_str *v = &HLY_ARG(hly_str, &call->args[k], i);
        memcpy(at, hly_str_data(v), v->len);
        at += v->len;
      }
      out[i] = hly_str_make(start, n);
      if (n > HLY_STR_INLINE) heap = at;
    }
  });
  return HLY_OK;
}

hly_status hly_bind_concat(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = concat;
  return HLY_OK;
}

// ---- trims: of the space character alone, as Spark's are without a second argument

static hly_status trim(hly_call *call, bool left, bool right) {
  const hly_str *s = call->args[0].data;
  const size_t stride = call->args[0].stride;
  hly_str *out = call->out;
  HLY_FOR_ROWS(call->rows, i, {
    out[i] = (hly_str){0};
    if (hly_call_wants(call, i)) {
      const uint8_t *from = hly_str_data(&s[i * stride]);
      const uint8_t *until = from + s[i * stride].len;
      if (left)
        while (from < until && *from == ' ') from++;
      if (right)
        while (from < until && until[-1] == ' ') until--;
      out[i] = hly_str_make(from, (uint32_t)(until - from));
    }
  });
  return hly_vector_share_heaps(call->ctx, call->vec, call->args[0].vec); // longer results point into it
}

#define TRIM(name, left, right)                                                                              \
  static hly_status name(hly_call *call) {                                                                   \
    return trim(call, left, right);                                                                          \
  }                                                                                                          \
  hly_status hly_bind_##name(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {                      \
    out->fn = name;                                                                                          \
    return HLY_OK;                                                                                           \
  }
TRIM(trim_both, true, true)
TRIM(trim_left, true, false)
TRIM(trim_right, false, true)
