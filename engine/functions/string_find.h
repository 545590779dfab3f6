// Search for a byte string in another, by CPU level.
#ifndef HLY_FUNCTIONS_STRING_FIND_H
#define HLY_FUNCTIONS_STRING_FIND_H

#include <stddef.h>
#include <stdint.h>

// First place of needle[0..m) in s[0..n), or NULL. Reads nothing outside either.
typedef const uint8_t *(*hly_find_fn)(const uint8_t *s, size_t n, const uint8_t *needle, size_t m);

hly_find_fn hly_find(void); // of the CPU level in use
const uint8_t *hly_find_baseline(const uint8_t *s, size_t n, const uint8_t *needle, size_t m);
const uint8_t *hly_find_v3(const uint8_t *s, size_t n, const uint8_t *needle, size_t m);
const uint8_t *hly_find_v4(const uint8_t *s, size_t n, const uint8_t *needle, size_t m);

#endif
