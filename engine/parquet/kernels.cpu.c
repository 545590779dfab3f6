#include "parquet/kernels.h"

#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "base/cpu.h"

static inline uint64_t load64(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return v;
}

// A value of up to 57 bits lies in the eight bytes from the one it starts in.
static void unpack32_scalar(const uint8_t *in, uint32_t width, size_t n, uint32_t *out) {
  const uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  size_t bit = 0;
  for (size_t i = 0; i < n; i++, bit += width)
    out[i] = (uint32_t)(load64(in + (bit >> 3)) >> (bit & 7) & mask);
}

#ifdef __AVX2__
// Eight values a step. Four values of up to 25 bits start within 16 bytes: a byte shuffle brings each one's
// four bytes to its own lane, a shift by lane aligns it, a mask cuts it. The next eight start `width` bytes
// later, so shuffle and shifts stay the same.
static void unpack32_avx2(const uint8_t *in, uint32_t width, size_t n, uint32_t *out) {
  uint8_t shuffle[32];
  uint32_t shifts[8];
  size_t half = 4 * width >> 3, rest = 4 * width & 7; // where the upper four start
  for (uint32_t i = 0; i < 8; i++) {
    uint32_t bit = i < 4 ? i * width : (uint32_t)rest + (i - 4) * width;
    shifts[i] = bit & 7;
    for (uint32_t b = 0; b < 4; b++) shuffle[i * 4 + b] = (uint8_t)((bit >> 3) + b);
  }
  const __m256i order = _mm256_loadu_si256((const __m256i *)shuffle);
  const __m256i shift = _mm256_loadu_si256((const __m256i *)shifts);
  const __m256i mask = _mm256_set1_epi32((int)((1ull << width) - 1));
  for (size_t i = 0; i < n; i += 8) {
    __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)in)),
                                        _mm_loadu_si128((const __m128i *)(in + half)), 1);
    v = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(v, order), shift), mask);
    _mm256_storeu_si256((__m256i *)(out + i), v);
    in += width;
  }
}
#endif

static void unpack32(const uint8_t *in, uint32_t width, size_t n, uint32_t *out) {
  if (width == 8) {
    for (size_t i = 0; i < n; i++) out[i] = in[i];
    return;
  }
  if (width == 16) {
    for (size_t i = 0; i < n; i++) {
      uint16_t v;
      memcpy(&v, in + 2 * i, 2);
      out[i] = v;
    }
    return;
  }
  if (width == 32) {
    memcpy(out, in, n * 4);
    return;
  }
#ifdef __AVX2__
  if (width <= 25) {
    unpack32_avx2(in, width, n, out);
    return;
  }
#endif
  unpack32_scalar(in, width, n, out);
}

static void unpack64(const uint8_t *in, uint32_t width, size_t n, uint64_t *out) {
  if (width == 64) {
    memcpy(out, in, n * 8);
    return;
  }
  const uint64_t mask = (1ull << width) - 1;
  size_t bit = 0;
  if (width <= 57) {
    for (size_t i = 0; i < n; i++, bit += width) out[i] = load64(in + (bit >> 3)) >> (bit & 7) & mask;
    return;
  }
  for (size_t i = 0; i < n; i++, bit += width) {
    uint64_t low = load64(in + (bit >> 3)) >> (bit & 7);
    uint64_t high = bit & 7 ? (uint64_t)in[(bit >> 3) + 8] << (64 - (bit & 7)) : 0;
    out[i] = (low | high) & mask;
  }
}

static uint32_t max32(const uint32_t *in, size_t n) {
  uint32_t m = 0;
  for (size_t i = 0; i < n; i++) m = in[i] > m ? in[i] : m;
  return m;
}

static void gather32(const uint32_t *restrict values, const uint32_t *restrict indices, size_t n,
                     uint32_t *restrict out) {
  for (size_t i = 0; i < n; i++) out[i] = values[indices[i]];
}

static void gather64(const uint64_t *restrict values, const uint32_t *restrict indices, size_t n,
                     uint64_t *restrict out) {
  for (size_t i = 0; i < n; i++) out[i] = values[indices[i]];
}

static void unsplit4(const uint8_t *restrict in, size_t stride, size_t n, uint8_t *restrict out) {
  for (size_t i = 0; i < n; i++) {
    uint32_t v = in[i] | (uint32_t)in[stride + i] << 8 | (uint32_t)in[2 * stride + i] << 16 |
                 (uint32_t)in[3 * stride + i] << 24;
    memcpy(out + 4 * i, &v, 4);
  }
}

static void unsplit8(const uint8_t *restrict in, size_t stride, size_t n, uint8_t *restrict out) {
  for (size_t i = 0; i < n; i++) {
    uint64_t v = 0;
    for (size_t b = 0; b < 8; b++) v |= (uint64_t)in[b * stride + i] << (8 * b);
    memcpy(out + 8 * i, &v, 8);
  }
}

extern const hly_pq_kernels HLY_CPU_NAME(hly_pq_kernels);
const hly_pq_kernels HLY_CPU_NAME(hly_pq_kernels) = {unpack32, unpack64, max32,   gather32,
                                                     gather64, unsplit4, unsplit8};
