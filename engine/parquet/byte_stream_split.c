// BYTE_STREAM_SPLIT: the first bytes of all values, then the second bytes, ... The page is put together once
// and then read as PLAIN.
#include "base/ctx.h"
#include "parquet/values.h"

static hly_status init(hly_pq_values *v) {
  uint32_t width = v->type == HLY_PQ_FIXED_LEN_BYTE_ARRAY               ? v->length
                   : v->type == HLY_PQ_INT32 || v->type == HLY_PQ_FLOAT ? 4
                                                                        : 8;
  size_t n_bytes = (size_t)(v->end - v->p), n = n_bytes / width;
  if (n_bytes % width) return hly_pq_values_fail(v, "its streams differ in length");
  if (hly_buf_reuse(&v->own_heap, n_bytes + 64) != 0) return hly_ctx_nomem(v->file->ctx, (int64_t)n_bytes);
  uint8_t *out = v->own_heap->data;
  if (width == 4) {
    hly_pq_kernels_get()->unsplit4(v->p, n, n, out);
  } else if (width == 8) {
    hly_pq_kernels_get()->unsplit8(v->p, n, n, out);
  } else {
    for (uint32_t b = 0; b < width; b++)
      for (size_t i = 0; i < n; i++) out[i * width + b] = v->p[b * n + i];
  }
  v->heap = v->own_heap;
  v->p = out;
  v->end = out + n_bytes;
  v->cls = v->type == HLY_PQ_FIXED_LEN_BYTE_ARRAY ? &hly_pq_plain_fixed_strings
           : width == 4                           ? &hly_pq_plain_fixed4
                                                  : &hly_pq_plain_fixed8;
  return v->cls->init(v);
}

const hly_pq_values_class hly_pq_split = {init, NULL, NULL, NULL};
