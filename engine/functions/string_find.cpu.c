#include "functions/string_find.h"

#include <stdbool.h>
#include <string.h>

#include "base/cpu.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Places where the first and the last byte of the needle both stand are few; only there the rest is compared
// (W. Mula, "SIMD-friendly algorithms for substring searching"). The last block overlaps the one before it,
// so that nothing is read past the end.
#define BLOCKS(WIDTH, VECTOR, LOAD, SET, MATCH)                                                              \
  if (last + 1 >= WIDTH) {                                                                                   \
    const VECTOR first = SET((char)needle[0]), end = SET((char)needle[m - 1]);                               \
    const size_t stop = last + 1 - WIDTH;                                                                    \
    for (size_t i = 0;; i = i + WIDTH < stop ? i + WIDTH : stop) {                                           \
      const VECTOR a = LOAD((const void *)(s + i)), b = LOAD((const void *)(s + i + m - 1));                 \
      for (uint32_t mask = MATCH(a, first, b, end); mask; mask &= mask - 1) {                                \
        const uint8_t *at = s + i + __builtin_ctz(mask);                                                     \
        if (memcmp(at + 1, needle + 1, m - 2) == 0) return at;                                               \
      }                                                                                                      \
      if (i == stop) return NULL;                                                                            \
    }                                                                                                        \
  }

#if defined(__AVX2__)
#define MATCH_32(a, first, b, end)                                                                           \
  (uint32_t) _mm256_movemask_epi8(_mm256_and_si256(_mm256_cmpeq_epi8(a, first), _mm256_cmpeq_epi8(b, end)))
#endif
#if defined(__SSE2__)
#define MATCH_16(a, first, b, end)                                                                           \
  (uint32_t) _mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(a, first), _mm_cmpeq_epi8(b, end)))
#endif

const uint8_t *HLY_CPU_NAME(hly_find)(const uint8_t *s, size_t n, const uint8_t *needle, size_t m) {
  if (m == 0) return s;
  if (n < m) return NULL;
  if (m == 1) return memchr(s, needle[0], n);
  const size_t last = n - m;
#if defined(__AVX2__)
  BLOCKS(32, __m256i, _mm256_loadu_si256, _mm256_set1_epi8, MATCH_32)
#endif
#if defined(__SSE2__)
  BLOCKS(16, __m128i, _mm_loadu_si128, _mm_set1_epi8, MATCH_16)
#endif
  for (size_t i = 0; i <= last; i++)
    if (s[i] == needle[0] && memcmp(s + i + 1, needle + 1, m - 1) == 0) return s + i;
  return NULL;
}
