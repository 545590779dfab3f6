#include "base/bits_table.h"

#include <string.h>

#include "base/cpu.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

static size_t count(const uint64_t *bits, size_t n_words) {
  size_t sum = 0;
  for (size_t i = 0; i < n_words; i++) sum += (size_t)__builtin_popcountll(bits[i]);
  return sum;
}

// Eight bits to eight bytes of 0 or 1: copy the byte eight times, keep bit i in byte i, carry it into bit 7.
static inline uint64_t spread8(uint64_t b) {
  uint64_t y = b * 0x0101010101010101ull & 0x8040201008040201ull;
  return (y + 0x7f7f7f7f7f7f7f7full) >> 7 & 0x0101010101010101ull;
}

static void unpack(const uint64_t *bits, size_t n, uint8_t *bytes) {
  size_t i = 0;
#if defined(__AVX512BW__)
  const __m512i one = _mm512_set1_epi8(1);
  for (; i + 64 <= n; i += 64) _mm512_storeu_si512(bytes + i, _mm512_maskz_mov_epi8(bits[i / 64], one));
  if (i < n)
    _mm512_mask_storeu_epi8(bytes + i, (1ull << (n - i)) - 1, _mm512_maskz_mov_epi8(bits[i / 64], one));
  return;
#elif defined(__AVX2__)
  const __m256i one = _mm256_set1_epi8(1);
  const __m256i pick = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201ull);
  for (; i + 32 <= n; i += 32) {
    uint32_t w = (uint32_t)(bits[i / 64] >> (i & 32));
    __m256i x = _mm256_shuffle_epi8(_mm256_set1_epi32((int)w), pick);
    x = _mm256_cmpeq_epi8(_mm256_and_si256(x, bit), bit);
    _mm256_storeu_si256((__m256i *)(bytes + i), _mm256_and_si256(x, one));
  }
#endif
  for (; i + 8 <= n; i += 8) {
    uint64_t x = spread8(bits[i / 64] >> (i & 63) & 0xff);
    memcpy(bytes + i, &x, 8);
  }
  for (; i < n; i++) bytes[i] = bits[i / 64] >> (i & 63) & 1;
}

// 64 bytes to a word, bit i set where byte i is not zero.
static inline uint64_t pack64(const uint8_t *p) {
#if defined(__AVX512BW__)
  __m512i x = _mm512_loadu_si512(p);
  return _mm512_test_epi8_mask(x, x);
#elif defined(__AVX2__)
  const __m256i zero = _mm256_setzero_si256();
  uint32_t a =
      (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)p), zero));
  uint32_t b =
      (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(p + 32)), zero));
  return ~((uint64_t)b << 32 | a);
#elif defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128();
  uint64_t word = 0;
  for (int k = 0; k < 4; k++) {
    __m128i x = _mm_loadu_si128((const __m128i *)(p + 16 * k));
    word |= (uint64_t)(uint16_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, zero)) << (16 * k);
  }
  return ~word;
#else
  uint64_t word = 0;
  for (int k = 0; k < 8; k++) {
    uint64_t x;
    memcpy(&x, p + 8 * k, 8);
    // Bit 7 of each byte that is not zero; then the multiplication gathers the eight bits in the top byte.
    x = ((x & 0x7f7f7f7f7f7f7f7full) + 0x7f7f7f7f7f7f7f7full) | x;
    word |= ((x >> 7 & 0x0101010101010101ull) * 0x0102040810204080ull >> 56) << (8 * k);
  }
  return word;
#endif
}

static size_t pack(const uint8_t *bytes, size_t n, uint64_t *bits) {
  size_t sum = 0, i = 0;
  for (; i + 64 <= n; i += 64) {
    uint64_t w = pack64(bytes + i);
    bits[i / 64] = w;
    sum += (size_t)__builtin_popcountll(w);
  }
  if (i < n) {
    uint8_t last[64] = {0};
    memcpy(last, bytes + i, n - i);
    uint64_t w = pack64(last);
    bits[i / 64] = w;
    sum += (size_t)__builtin_popcountll(w);
  }
  return sum;
}

static void gather(const uint64_t *bits, const uint32_t *sel, size_t n, uint64_t *out) {
  size_t i = 0;
#if defined(__AVX512F__)
  const __m512i low5 = _mm512_set1_epi32(31), one = _mm512_set1_epi32(1);
  for (; i + 64 <= n; i += 64) {
    uint64_t w = 0;
    for (int k = 0; k < 4; k++) {
      __m512i s = _mm512_loadu_si512(sel + i + 16 * k);
      __m512i x = _mm512_i32gather_epi32(_mm512_srli_epi32(s, 5), bits, 4);
      x = _mm512_srlv_epi32(x, _mm512_and_si512(s, low5));
      w |= (uint64_t)_mm512_test_epi32_mask(x, one) << (16 * k);
    }
    out[i / 64] = w;
  }
#elif defined(__AVX2__)
  const __m256i low5 = _mm256_set1_epi32(31);
  for (; i + 64 <= n; i += 64) {
    uint64_t w = 0;
    for (int k = 0; k < 8; k++) {
      __m256i s = _mm256_loadu_si256((const __m256i *)(sel + i + 8 * k));
      __m256i x = _mm256_i32gather_epi32((const int *)bits, _mm256_srli_epi32(s, 5), 4);
      x = _mm256_sllv_epi32(x, _mm256_sub_epi32(low5, _mm256_and_si256(s, low5))); // the bit to the sign
      w |= (uint64_t)(uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(x)) << (8 * k);
    }
    out[i / 64] = w;
  }
#endif
  for (; i < n; i += 64) {
    size_t m = n - i < 64 ? n - i : 64;
    uint64_t w = 0;
    for (size_t k = 0; k < m; k++) {
      uint32_t s = sel[i + k];
      w |= (bits[s >> 6] >> (s & 63) & 1) << k;
    }
    out[i / 64] = w;
  }
}

static size_t select_rows(const uint8_t *bytes, size_t n, uint32_t *sel) {
  size_t i = 0, k = 0;
#if defined(__AVX512F__) && defined(__AVX512BW__)
  // A full store after compressing in a register: `k <= i`, so it stays inside the n entries of sel. (The
  // compressing store is many times slower on some processors.)
  __m512i row = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i step = _mm512_set1_epi32(16);
  for (; i + 16 <= n; i += 16) {
    __m128i x = _mm_loadu_si128((const __m128i *)(bytes + i));
    __mmask16 m = _mm_test_epi8_mask(x, x);
    _mm512_storeu_si512(sel + k, _mm512_maskz_compress_epi32(m, row));
    k += (size_t)__builtin_popcount(m);
    row = _mm512_add_epi32(row, step);
  }
#elif defined(__AVX2__)
  // As above with eight lanes; pext moves the numbers of the rows that count together.
  for (; i + 8 <= n; i += 8) {
    uint64_t x;
    memcpy(&x, bytes + i, 8);
    x = (((x & 0x7f7f7f7f7f7f7f7full) + 0x7f7f7f7f7f7f7f7full) | x) >> 7 & 0x0101010101010101ull;
    uint64_t places = _pext_u64(0x0706050403020100ull, x * 0xff);
    __m256i rows = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)places));
    _mm256_storeu_si256((__m256i *)(sel + k), _mm256_add_epi32(rows, _mm256_set1_epi32((int)i)));
    k += (size_t)__builtin_popcountll(x);
  }
#endif
  for (; i < n; i++) {
    sel[k] = (uint32_t)i;
    k += bytes[i] != 0;
  }
  return k;
}

const hly_bits_table HLY_CPU_NAME(hly_bits_table) = {count, unpack, pack, gather, select_rows};
