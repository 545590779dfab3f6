#include "base/bits.h"

#include <string.h>

#include "base/bits_table.h"
#include "base/cpu.h"

static const hly_bits_table *const tables[HLY_N_CPU] = {&hly_bits_table_baseline, &hly_bits_table_v3,
                                                        &hly_bits_table_v4};

static inline const hly_bits_table *table(void) {
  return tables[hly_cpu_level()];
}

static inline uint64_t low_mask(size_t n) { // n < 64
  return (1ull << n) - 1;
}

void hly_bits_fill(uint64_t *bits, size_t n, bool value) {
  size_t words = n / 64, rest = n % 64;
  memset(bits, value ? 0xff : 0, words * 8);
  if (rest) bits[words] = value ? low_mask(rest) : 0;
}

size_t hly_bits_count(const uint64_t *bits, size_t n) {
  size_t words = n / 64, rest = n % 64;
  size_t count = words ? table()->count(bits, words) : 0;
  if (rest) count += (size_t)__builtin_popcountll(bits[words] & low_mask(rest));
  return count;
}

void hly_bits_unpack(const uint64_t *bits, size_t n, uint8_t *bytes) {
  table()->unpack(bits, n, bytes);
}

size_t hly_bits_pack(const uint8_t *bytes, size_t n, uint64_t *bits) {
  return table()->pack(bytes, n, bits);
}

void hly_bits_gather(const uint64_t *bits, const uint32_t *sel, size_t n, uint64_t *out) {
  table()->gather(bits, sel, n, out);
}

size_t hly_bits_select(const uint8_t *bytes, size_t n, uint32_t *sel) {
  return table()->select(bytes, n, sel);
}

// 64 bits of `in` from bit `at` on, without touching a word that holds none of the first `n` of them.
static inline uint64_t load(const uint64_t *in, size_t at, size_t n) {
  size_t w = at >> 6, shift = at & 63;
  uint64_t x = in[w] >> shift;
  if (shift && shift + n > 64) x |= in[w + 1] << (64 - shift);
  return x;
}

void hly_bits_copy(uint64_t *out, size_t out_start, const uint64_t *in, size_t in_start, size_t n) {
  if (n == 0) return;
  size_t w = out_start >> 6, shift = out_start & 63;
  if (shift) { // up to the next whole word of `out`
    size_t m = 64 - shift < n ? 64 - shift : n;
    uint64_t mask = low_mask(m) << shift;
    out[w] = (out[w] & ~mask) | (load(in, in_start, m) << shift & mask);
    w++;
    in_start += m;
    n -= m;
  }
  if ((in_start & 63) == 0) {
    memcpy(out + w, in + (in_start >> 6), n / 64 * 8);
    w += n / 64;
    in_start += n / 64 * 64;
    n %= 64;
  }
  for (; n >= 64; n -= 64, in_start += 64) out[w++] = load(in, in_start, 64);
  if (n) {
    uint64_t mask = low_mask(n);
    out[w] = (out[w] & ~mask) | (load(in, in_start, n) & mask);
  }
}
