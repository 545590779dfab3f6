// Spark's Bloom filter (o.a.s.util.sketch.BloomFilterImpl and BloomFilterImplV2), to the bit, over its
// serialized form: what Spark builds is asked here, what is built here Spark reads.
#ifndef HLY_BASE_BLOOM_FILTER_H
#define HLY_BASE_BLOOM_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A view of serialized bytes, which outlive it. Words of 64 bits are big-endian, as DataOutputStream writes
// them.
typedef struct hly_bloom_filter {
  uint8_t *words;
  uint64_t n_bits; // a multiple of 64
  uint32_t n_hashes;
  uint32_t seed;
  uint32_t version; // 1 or 2: how the bits of a value follow from its two hashes
} hly_bloom_filter;

// False when the bytes are not a filter that Spark could have written.
bool hly_bloom_filter_read(void *bytes, size_t n_bytes, hly_bloom_filter *out);
// Bytes of a filter of at least n_bits; 0: more than Spark can hold.
size_t hly_bloom_filter_bytes(int64_t n_bits);
// Writes an empty filter, as BloomFilter.create(n_items, n_bits) makes it; both positive.
void hly_bloom_filter_create(void *bytes, int64_t n_items, int64_t n_bits);

void hly_bloom_filter_put_long(const hly_bloom_filter *f, int64_t value);
void hly_bloom_filter_put_bytes(const hly_bloom_filter *f, const void *data, size_t n);
bool hly_bloom_filter_has_long(const hly_bloom_filter *f, int64_t value);
// False when the two differ in size or kind; then nothing was done.
bool hly_bloom_filter_merge(const hly_bloom_filter *to, const hly_bloom_filter *from);
bool hly_bloom_filter_is_empty(const hly_bloom_filter *f);

#endif
