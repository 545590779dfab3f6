// Substring and Length.
#include <string.h>

#include "functions/functions.h"
#include "functions/utf8.h"
#include "vector/str.h"

// ---- Length

static hly_status length_chars(hly_call *call) {
  const hly_str *s = call->args[0].data;
  const size_t stride = call->args[0].stride;
  int32_t *out = call->out;
  HLY_FOR_ROWS(call->rows, i, {
    const hly_str *v = &s[i * stride];
    out[i] = 0;
    if (hly_call_wants(call, i)) {
      const uint8_t *data = hly_str_data(v);
      out[i] = (int32_t)(hly_utf8_is_ascii(data, v->len) ? v->len : hly_utf8_count(data, v->len));
    }
  });
  return HLY_OK;
}

static hly_status length_bytes(hly_call *call) {
  const hly_str *s = call->args[0].data;
  const size_t stride = call->args[0].stride;
  int32_t *out = call->out;
  HLY_FOR_ROWS(call->rows, i, out[i] = (int32_t)s[i * stride].len;);
  return HLY_OK;
}

hly_status hly_bind_length(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = call->arg_types[0]->kind == HLY_STRING ? length_chars : length_bytes;
  return HLY_OK;
}

hly_status hly_bind_octet_length(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = length_bytes;
  return HLY_OK;
}

// ---- Substring

// The character range [from, until) that position and length mean; positions count from 1, from the end when
// negative. `until` saturates, `from` may be negative.
static void range(int32_t position, int32_t length, int64_t n_chars, int64_t *from, int64_t *until) {
  int64_t start = position > 0 ? (int64_t)position - 1 : position < 0 ? n_chars + position : 0;
  int64_t end = start + length;
  if (end > INT32_MAX) end = INT32_MAX;
  if (end < INT32_MIN) end = INT32_MIN;
  *from = start;
  *until = end;
}

// The bytes of the range. A character that the string's end cuts short ends with it: there Spark reads
// whatever bytes follow the string in memory, which is nothing to be equal to.
static void slice_chars(const uint8_t *s, uint32_t n, int32_t position, int32_t length, uint32_t *at,
                        uint32_t *size) {
  int64_t from, until;
  bool ascii = hly_utf8_is_ascii(s, n);
  *at = *size = 0;
  range(position, length, ascii || position >= 0 ? n : hly_utf8_count(s, n), &from, &until);
  if (until <= from || from >= n) return;
  if (ascii) {
    if (from < 0) from = 0;
    if (until > n) until = n;
    if (until <= from) return;
    *at = (uint32_t)from;
    *size = (uint32_t)(until - from);
    return;
  }
  uint32_t i = 0;
  int64_t c = 0;
  for (; i < n && c < from; c++) i += hly_utf8_length(s[i]);
  if (i > n) i = n;
  *at = i;
  for (; i < n && c < until; c++) i += hly_utf8_length(s[i]);
  if (i > n) i = n;
  *size = i - *at;
}

static hly_status substring(hly_call *call) {
  const hly_str *s = call->args[0].data;
  const size_t stride = call->args[0].stride;
  hly_str *out = call->out;
  HLY_FOR_ROWS(call->rows, i, {
    const hly_str *v = &s[i * stride];
    out[i] = (hly_str){0};
    if (hly_call_wants(call, i)) {
      uint32_t at;
      uint32_t size;
      int32_t position = HLY_ARG(int32_t, &call->args[1], i);
      int32_t length = HLY_ARG(int32_t, &call->args[2], i);
      const uint8_t *data = hly_str_data(v);
      slice_chars(data, v->len, position, length, &at, &size);
      out[i] = hly_str_make(data + at, size);
    }
  });
  return hly_vector_share_heaps(call->ctx, call->vec, call->args[0].vec); // longer results point into it
}

hly_status hly_bind_substring(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  out->fn = substring;
  return HLY_OK;
}
