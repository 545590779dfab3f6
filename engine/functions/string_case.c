// Upper and Lower. ASCII is mapped here; beyond it the mapping is the JVM's own table, so Spark's code
// decides.
#include <string.h>

#include "functions/functions.h"
#include "functions/utf8.h"
#include "vector/str.h"

// Eight letters at a time: `low` is the first letter of the case to change, which bit 5 tells from the other.
static void map_case(const uint8_t *in, uint32_t n, uint8_t low, uint8_t *out) {
  for (uint32_t i = 0; i < n; i++) {
    uint8_t c = in[i];
    out[i] = (uint8_t)(c ^ ((uint8_t)(c - low) < 26 ? 0x20 : 0));
  }
}

static hly_status change_case(hly_call *call, uint8_t low) {
  const hly_str *s = call->args[0].data;
  const size_t stride = call->args[0].stride;
  hly_str *out = call->out;
  size_t n_bytes = 0;
  HLY_FOR_ROWS(call->rows, i, {
    if (hly_call_wants(call, i) && s[i * stride].len > HLY_STR_INLINE) n_bytes += s[i * stride].len;
  });
  uint8_t *heap = NULL;
  if (n_bytes) HLY_TRY(hly_call_heap(call, n_bytes, &heap));
  HLY_FOR_ROWS(call->rows, i, {
    const hly_str *v = &s[i * stride];
    out[i] = (hly_str){0};
    if (hly_call_wants(call, i)) {
      const uint8_t *data = hly_str_data(v);
      if (!hly_utf8_is_ascii(data, v->len)) {
        hly_decline(call, i);
      } else if (v->len <= HLY_STR_INLINE) {
        uint8_t small[HLY_STR_INLINE];
        map_case(data, v->len, low, small);
        out[i] = hly_str_make(small, v->len);
      } else {
        map_case(data, v->len, low, heap);
        out[i] = hly_str_make(heap, v->len);
        heap += v->len;
      }
    }
  });
  return HLY_OK;
}

static hly_status upper(hly_call *call) {
  return change_case(call, 'a');
}

static hly_status lower(hly_call *call) {
  return change_case(call, 'A');
}

hly_status hly_bind_upper(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = upper;
  return HLY_OK;
}

hly_status hly_bind_lower(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = lower;
  return HLY_OK;
}
