// The bitmap routines of one CPU level; see bits.h for what each does.
#ifndef HLY_BASE_BITS_TABLE_H
#define HLY_BASE_BITS_TABLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct hly_bits_table {
  size_t (*count)(const uint64_t *bits, size_t n_words);
  void (*unpack)(const uint64_t *bits, size_t n, uint8_t *bytes);
  size_t (*pack)(const uint8_t *bytes, size_t n, uint64_t *bits);
  void (*gather)(const uint64_t *bits, const uint32_t *sel, size_t n, uint64_t *out);
  size_t (*select)(const uint8_t *bytes, size_t n, uint32_t *sel);
} hly_bits_table;

extern const hly_bits_table hly_bits_table_baseline, hly_bits_table_v3, hly_bits_table_v4;

#endif
