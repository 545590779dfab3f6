#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hash.h"

uint32_t hly_murmur3_bytes(const void *data, size_t n, uint32_t seed) {
  const uint8_t *p = data;
  size_t aligned = n & ~(size_t)3;
  uint32_t h1 = seed;
  for (size_t i = 0; i < aligned; i += 4) {
    uint32_t word;
    memcpy(&word, p + i, 4);
    h1 = hly_murmur3_mix(h1, word);
  }
  // Not the published tail: each byte is a block of its own, sign-extended as Java's bytes are.
  for (size_t i = aligned; i < n; i++) h1 = hly_murmur3_mix(h1, (uint32_t)(int32_t)(int8_t)p[i]);
  return hly_murmur3_end(h1, (uint32_t)n);
}

uint64_t hly_xxh64_int(uint32_t value, uint64_t seed) {
  return XXH64(&value, sizeof value, seed);
}

uint64_t hly_xxh64_long(uint64_t value, uint64_t seed) {
  return XXH64(&value, sizeof value, seed);
}

uint64_t hly_xxh64_bytes(const void *data, size_t n, uint64_t seed) {
  return XXH64(data, n, seed);
}

uint64_t hly_hash64_bytes(const void *data, size_t n, uint64_t seed) {
  return XXH3_64bits_withSeed(data, n, seed);
}
