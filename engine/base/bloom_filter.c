#include "base/bloom_filter.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

static uint32_t load_int(const uint8_t *at) {
  uint32_t x;
  memcpy(&x, at, sizeof x);
  return __builtin_bswap32(x);
}

static uint8_t *store_int(uint8_t *at, uint32_t x) {
  x = __builtin_bswap32(x);
  memcpy(at, &x, sizeof x);
  return at + sizeof x;
}

// Version, hashes, seed (from version 2 on) and words, an int each.
static size_t header_bytes(uint32_t version) {
  return version == 1 ? 12 : 16;
}

bool hly_bloom_filter_read(void *bytes, size_t n_bytes, hly_bloom_filter *out) {
  const uint8_t *at = bytes;
  if (n_bytes < 12) return false;
  uint32_t version = load_int(at), n_hashes = load_int(at + 4);
  size_t header = header_bytes(version);
  if (version < 1 || version > 2 || n_hashes < 1 || n_hashes > INT32_MAX || n_bytes < header) return false;
  uint64_t n_words = load_int(at + header - 4);
  if (n_words == 0 || n_words > INT32_MAX || n_bytes != header + n_words * 8) return false;
  *out = (hly_bloom_filter){.words = (uint8_t *)bytes + header,
                            .n_bits = n_words * 64,
                            .n_hashes = n_hashes,
                            .seed = version == 1 ? 0 : load_int(at + 8),
                            .version = version};
  return true;
}

size_t hly_bloom_filter_bytes(int64_t n_bits) {
  uint64_t n_words = ((uint64_t)n_bits + 63) / 64;
  return n_bits <= 0 || n_words > (INT32_MAX - 16) / 8 ? 0 : header_bytes(2) + n_words * 8;
}

void hly_bloom_filter_create(void *bytes, int64_t n_items, int64_t n_bits) {
  double n_hashes = round((double)n_bits / (double)n_items * log(2));
  uint32_t n_words = (uint32_t)(((uint64_t)n_bits + 63) / 64);
  uint8_t *at = store_int(bytes, 2);
  at = store_int(at, n_hashes < 1 ? 1 : n_hashes > INT32_MAX ? INT32_MAX : (uint32_t)n_hashes);
  at = store_int(at, 0);
  at = store_int(at, n_words);
  memset(at, 0, (size_t)n_words * 8);
}

// A value's bits come from two hashes, as in Kirsch and Mitzenmacher, "Less Hashing, Same Performance".
typedef struct hash_pair {
  uint32_t first, second;
} hash_pair;

static inline hash_pair hash_long(const hly_bloom_filter *f, int64_t value) {
  uint32_t first = hly_murmur3_long((uint64_t)value, f->seed);
  return (hash_pair){first, hly_murmur3_long((uint64_t)value, first)};
}

// Runs the statement(s) for each byte `at` and bit `mask` of a value. Java's arithmetic wraps around.
#define FOR_BITS(f, pair, ...)                                                                               \
  do {                                                                                                       \
    const uint64_t n_ = (f)->n_bits;                                                                         \
    const bool power_ = (n_ & (n_ - 1)) == 0;                                                                \
    uint64_t long_ = (uint64_t)(int64_t)(int32_t)(pair).first * INT32_MAX;                                   \
    uint32_t int_ = (pair).first;                                                                            \
    for (uint32_t i_ = 0; i_ < (f)->n_hashes; i_++) {                                                        \
      uint64_t bit_;                                                                                         \
      if ((f)->version == 1) {                                                                               \
        int_ += (pair).second;                                                                               \
        bit_ = (int32_t)int_ < 0 ? ~int_ : int_;                                                             \
      } else {                                                                                               \
        long_ += (uint64_t)(int64_t)(int32_t)(pair).second;                                                  \
        bit_ = (int64_t)long_ < 0 ? ~long_ : long_;                                                          \
      }                                                                                                      \
      bit_ = power_ ? bit_ & (n_ - 1) : bit_ % n_;                                                           \
      uint8_t *const at = (f)->words + (bit_ / 64 * 8 + (7 - bit_ % 64 / 8));                                \
      const uint8_t mask = (uint8_t)(1u << (bit_ & 7));                                                      \
      __VA_ARGS__                                                                                            \
    }                                                                                                        \
  } while (0)

static void put(const hly_bloom_filter *f, hash_pair pair) {
  FOR_BITS(f, pair, *at |= mask;);
}

void hly_bloom_filter_put_long(const hly_bloom_filter *f, int64_t value) {
  put(f, hash_long(f, value));
}

void hly_bloom_filter_put_bytes(const hly_bloom_filter *f, const void *data, size_t n) {
  uint32_t first = hly_murmur3_bytes(data, n, f->seed);
  put(f, (hash_pair){first, hly_murmur3_bytes(data, n, first)});
}

bool hly_bloom_filter_has_long(const hly_bloom_filter *f, int64_t value) {
  hash_pair pair = hash_long(f, value);
  FOR_BITS(f, pair, if (!(*at & mask)) return false;);
  return true;
}

bool hly_bloom_filter_merge(const hly_bloom_filter *to, const hly_bloom_filter *from) {
  if (to->n_bits != from->n_bits || to->n_hashes != from->n_hashes || to->seed != from->seed ||
      to->version != from->version)
    return false;
  for (size_t i = 0; i < to->n_bits / 8; i++) to->words[i] |= from->words[i];
  return true;
}

bool hly_bloom_filter_is_empty(const hly_bloom_filter *f) {
  uint8_t any = 0;
  for (size_t i = 0; i < f->n_bits / 8; i++) any |= f->words[i];
  return !any;
}
