// RLE as an encoding of values: booleans, as a hybrid of width 1 after a length of four bytes.
#include "parquet/values.h"

static hly_status init(hly_pq_values *v) {
  uint32_t n;
  if (v->p == v->end) { // nothing but nulls
    hly_pq_rle_init(&v->rle, v->p, 0, 1);
    return HLY_OK;
  }
  if (v->end - v->p < 4) return hly_pq_values_fail(v, "no length before its booleans");
  memcpy(&n, v->p, 4);
  v->p += 4;
  if (n > (size_t)(v->end - v->p)) return hly_pq_values_fail(v, "its booleans are longer than the page");
  hly_pq_rle_init(&v->rle, v->p, n, 1);
  return HLY_OK;
}

static hly_status read(hly_pq_values *v, uint32_t n, void *out) {
  uint8_t *to = out;
  uint32_t piece[256];
  while (n > 0) {
    uint32_t k = n < 256 ? n : 256;
    if (!hly_pq_rle_read(&v->rle, piece, k))
      return hly_pq_values_fail(v, "fewer values than its header says");
    for (uint32_t i = 0; i < k; i++) to[i] = (uint8_t)piece[i];
    to += k;
    n -= k;
  }
  return HLY_OK;
}

static hly_status skip(hly_pq_values *v, uint32_t n) {
  return hly_pq_rle_skip(&v->rle, n) ? HLY_OK : hly_pq_values_fail(v, "fewer values than its header says");
}

const hly_pq_values_class hly_pq_rle_booleans = {init, read, skip, NULL};
