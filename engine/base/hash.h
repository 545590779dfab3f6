// Hashes. hly_murmur3_* are Spark's (Murmur3_x86_32 of o.a.s.unsafe.hash, whose tail bytes are hashed one by
// one); hly_hash64_* are ours, for tables, and mean nothing outside the process.
#ifndef HLY_BASE_HASH_H
#define HLY_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint32_t hly_murmur3_int(uint32_t value, uint32_t seed);
uint32_t hly_murmur3_long(uint64_t value, uint32_t seed);
uint32_t hly_murmur3_bytes(const void *data, size_t n, uint32_t seed); // Spark's hashUnsafeBytes

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
