// Hashes. hly_murmur3_* are Spark's (Murmur3_x86_32 of o.a.s.unsafe.hash, whose tail bytes are hashed one by
// one); hly_hash64_* are ours, for tables, and mean nothing outside the process.
#ifndef HLY_BASE_HASH_H
#define HLY_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t hly_murmur3_mix(uint32_t h, uint32_t word) {
  word *= 0xcc9e2d51u;
  word = (word << 15 | word >> 17) * 0x1b873593u;
  h ^= word;
  return (h << 13 | h >> 19) * 5 + 0xe6546b64u;
}
static inline uint32_t hly_murmur3_end(uint32_t h, uint32_t n_bytes) {
  h ^= n_bytes;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ h >> 16;
}
// Inline, so that loops over fixed-width columns vectorise.
static inline uint32_t hly_murmur3_int(uint32_t value, uint32_t seed) {
  return hly_murmur3_end(hly_murmur3_mix(seed, value), 4);
}
static inline uint32_t hly_murmur3_long(uint64_t value, uint32_t seed) {
  uint32_t h = hly_murmur3_mix(seed, (uint32_t)value);
  return hly_murmur3_end(hly_murmur3_mix(h, (uint32_t)(value >> 32)), 8);
}
uint32_t hly_murmur3_bytes(const void *data, size_t n, uint32_t seed); // Spark's hashUnsafeBytes

// Spark's XXH64 (o.a.s.sql.catalyst.expressions.XXH64) is XXH64 of the value's little-endian bytes.
uint64_t hly_xxh64_int(uint32_t value, uint64_t seed);
uint64_t hly_xxh64_long(uint64_t value, uint64_t seed);
uint64_t hly_xxh64_bytes(const void *data, size_t n, uint64_t seed);

// What Spark hashes floating-point values as: every NaN is one, both zeros are one.
static inline uint32_t hly_hashed_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return x != x ? 0x7fc00000u : x == 0 ? 0 : bits;
}
static inline uint64_t hly_hashed_double(double x) {
  uint64_t bits;
  memcpy(&bits, &x, 8);
  return x != x ? 0x7ff8000000000000ull : x == 0 ? 0 : bits;
}

static inline uint64_t hly_hash64_int(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  return x;
}
static inline uint64_t hly_hash64_combine(uint64_t a, uint64_t b) {
  return hly_hash64_int(a * 31 + b);
}
uint64_t hly_hash64_bytes(const void *data, size_t n, uint64_t seed); // XXH3

#endif
