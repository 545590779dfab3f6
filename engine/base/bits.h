// Bitmaps: bit i of word i/64, set = valid. "Bits at rest, bytes in flight": vectors keep bits, kernels see
// bytes, and these routines (one implementation per CPU level, see cpu.h) convert.
#ifndef HLY_BASE_BITS_H
#define HLY_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t hly_bits_words(size_t n) {
  return (n + 63) / 64;
}
static inline size_t hly_bits_bytes(size_t n) {
  return hly_bits_words(n) * 8;
}
static inline bool hly_bits_get(const uint64_t *bits, size_t i) {
  return bits[i >> 6] >> (i & 63) & 1;
}
static inline void hly_bits_set(uint64_t *bits, size_t i) {
  bits[i >> 6] |= 1ull << (i & 63);
}
static inline void hly_bits_clear(uint64_t *bits, size_t i) {
  bits[i >> 6] &= ~(1ull << (i & 63));
}
void hly_bits_fill(uint64_t *bits, size_t n, bool value); // bits past n in the last word are cleared
size_t hly_bits_count(const uint64_t *bits, size_t n);
// bytes[i] = bit i ? 1 : 0
void hly_bits_unpack(const uint64_t *bits, size_t n, uint8_t *bytes);
// bit i = bytes[i] != 0; bits past n in the last word are cleared. Returns the number set.
size_t hly_bits_pack(const uint8_t *bytes, size_t n, uint64_t *bits);
// out[k] = bit sel[k] of bits
void hly_bits_gather(const uint64_t *bits, const uint32_t *sel, size_t n, uint64_t *out);
void hly_bits_copy(uint64_t *out, size_t out_start, const uint64_t *in, size_t in_start, size_t n);
// Row numbers i with bytes[i] != 0, ascending (sel may hold n). Returns how many. Branch-free.
size_t hly_bits_select(const uint8_t *bytes, size_t n, uint32_t *sel);

#endif
