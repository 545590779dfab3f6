// Inner loops of decoding, compiled once per CPU level (kernels.cpu.c).
//
// `in` may be read up to 64 bytes past the bytes named: what hly_buf guarantees.
#ifndef HLY_PARQUET_KERNELS_H
#define HLY_PARQUET_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef struct hly_pq_kernels {
  // n values of `width` (1..32) bits each, least significant bit first, from the first bit of `in`. Writes up
  // to n rounded up to a multiple of 8.
  void (*unpack32)(const uint8_t *in, uint32_t width, size_t n, uint32_t *out);
  // Same for width 1..64.
  void (*unpack64)(const uint8_t *in, uint32_t width, size_t n, uint64_t *out);
  // Largest of n indices (0 for none).
  uint32_t (*max32)(const uint32_t *in, size_t n);
  // out[i] = values[indices[i]]
  void (*gather32)(const uint32_t *values, const uint32_t *indices, size_t n, uint32_t *out);
  void (*gather64)(const uint64_t *values, const uint32_t *indices, size_t n, uint64_t *out);
  // Byte b of value i is in[b * stride + i], for values of 4 and of 8 bytes.
  void (*unsplit4)(const uint8_t *in, size_t stride, size_t n, uint8_t *out);
  void (*unsplit8)(const uint8_t *in, size_t stride, size_t n, uint8_t *out);
} hly_pq_kernels;

const hly_pq_kernels *hly_pq_kernels_get(void); // for the CPU level in use

#endif
