#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hash.h"

#include <string.h>

static inline uint32_t rotl(uint32_t x, int r) {
  return x << r | x >> (32 - r);
}

static inline uint32_t mix_k1(uint32_t k1) {
  return rotl(k1 * 0xcc9e2d51u, 15) * 0x1b873593u;
}

static inline uint32_t mix_h1(uint32_t h1, uint32_t k1) {
  return rotl(h1 ^ k1, 13) * 5 + 0xe6546b64u;
}

static inline uint32_t fmix(uint32_t h1, uint32_t length) {
  h1 ^= length;
  h1 ^= h1 >> 16;
  h1 *= 0x85ebca6bu;
  h1 ^= h1 >> 13;
  h1 *= 0xc2b2ae35u;
  h1 ^= h1 >> 16;
  return h1;
}

uint32_t hly_murmur3_int(uint32_t value, uint32_t seed) {
  return fmix(mix_h1(seed, mix_k1(value)), 4);
}

uint32_t hly_murmur3_long(uint64_t value, uint32_t seed) {
  uint32_t h1 = mix_h1(seed, mix_k1((uint32_t)value));
  return fmix(mix_h1(h1, mix_k1((uint32_t)(value >> 32))), 8);
}

uint32_t hly_murmur3_bytes(const void *data, size_t n, uint32_t seed) {
  const uint8_t *p = data;
  size_t aligned = n & ~(size_t)3;
  uint32_t h1 = seed;
  for (size_t i = 0; i < aligned; i += 4) {
    uint32_t word;
    memcpy(&word, p + i, 4);
    h1 = mix_h1(h1, mix_k1(word));
  }
  // Not the published tail: each byte is a block of its own, sign-extended as Java's bytes are.
  for (size_t i = aligned; i < n; i++) h1 = mix_h1(h1, mix_k1((uint32_t)(int32_t)(int8_t)p[i]));
  return fmix(h1, (uint32_t)n);
}

uint64_t hly_hash64_bytes(const void *data, size_t n, uint64_t seed) {
  return XXH3_64bits_withSeed(data, n, seed);
}
