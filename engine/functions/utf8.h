// UTF-8 as Spark's UTF8String counts it: a character is as long as its first byte says, and a byte that
// cannot begin one is a character of its own. Nothing is validated.
#ifndef HLY_FUNCTIONS_UTF8_H
#define HLY_FUNCTIONS_UTF8_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t hly_utf8_length(uint8_t first) {
  if (first < 0xc2) return 1;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 1;
}

static inline bool hly_utf8_is_ascii(const uint8_t *s, uint32_t n) {
  uint64_t high = 0, word;
  uint32_t i = 0;
  for (; i + 8 <= n; i += 8) {
    memcpy(&word, s + i, 8);
    high |= word;
  }
  for (; i < n; i++) high |= s[i];
  return !(high & 0x8080808080808080ull);
}

static inline uint32_t hly_utf8_count(const uint8_t *s, uint32_t n) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i += hly_utf8_length(s[i])) count++;
  return count;
}

// Whether the bytes are UTF-8 that a Java String round-trips: no overlong forms, no surrogates.
static inline bool hly_utf8_is_valid(const uint8_t *s, uint32_t n) {
  for (uint32_t i = 0; i < n;) {
    uint8_t b = s[i];
    if (b < 0x80) {
      i++;
      continue;
    }
    uint32_t len = hly_utf8_length(b);
    if (len == 1 || n - i < len) return false;
    for (uint32_t k = 1; k < len; k++)
      if ((s[i + k] & 0xc0) != 0x80) return false;
    if (b == 0xe0 && s[i + 1] < 0xa0) return false;
    if (b == 0xed && s[i + 1] > 0x9f) return false;
    if (b == 0xf0 && s[i + 1] < 0x90) return false;
    if (b == 0xf4 && s[i + 1] > 0x8f) return false;
    i += len;
  }
  return true;
}

#endif
