// The RLE / bit-packing hybrid: levels, dictionary indices, booleans.
#ifndef HLY_PARQUET_RLE_H
#define HLY_PARQUET_RLE_H

#include <stdbool.h>
#include <stdint.h>

#include "parquet/kernels.h"

typedef struct hly_pq_rle {
  const uint8_t *p, *end;
  const hly_pq_kernels *kernels;
  uint32_t width; // bits, 0..32
  uint32_t repeat_value;
  uint32_t repeats;  // left in a repeated run
  uint32_t literals; // left in a bit-packed run
  uint32_t bit;      // of *p where the next literal starts
} hly_pq_rle;

// `data` must be readable for 64 bytes past its end. False when the width is not 0..32.
bool hly_pq_rle_init(hly_pq_rle *r, const uint8_t *data, size_t n_bytes, uint32_t width);
// The next n values; `out` has room for n rounded up to a multiple of 8. False when there are fewer or the
// bytes are damaged.
bool hly_pq_rle_read(hly_pq_rle *r, uint32_t *out, uint32_t n);
bool hly_pq_rle_skip(hly_pq_rle *r, uint32_t n);
// For width 1: the next n values as bits `start`.. of a bitmap. *n_set: how many are 1.
bool hly_pq_rle_read_bits(hly_pq_rle *r, uint64_t *bits, uint32_t start, uint32_t n, uint32_t *n_set);
// How many of the next values are one repeated run, and of what, without consuming them; 0 in a bit-packed
// run and at the end.
uint32_t hly_pq_rle_run(hly_pq_rle *r, uint32_t *value);

#endif
