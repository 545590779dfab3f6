// hly_str: a 16-byte view of a byte string. Up to 12 bytes inline, else a 4-byte prefix and a pointer into a
// heap that the vector keeps alive. Inline bytes past the length are zero, so equality of inline views is
// equality of 16 bytes.
#ifndef HLY_VECTOR_STR_H
#define HLY_VECTOR_STR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { HLY_STR_INLINE = 12 };

typedef struct hly_str {
  uint32_t len;
  union {
    uint8_t inl[12];
    struct __attribute__((packed)) {
      uint8_t prefix[4];
      const uint8_t *ptr;
    } out;
  } u;
} hly_str;
_Static_assert(sizeof(hly_str) == 16, "a view is 16 bytes");

static inline const uint8_t *hly_str_data(const hly_str *s) {
  return s->len <= HLY_STR_INLINE ? s->u.inl : s->u.out.ptr;
}
// `data` must outlive the view when n > 12.
static inline hly_str hly_str_make(const void *data, uint32_t n) {
  hly_str s;
  memset(&s, 0, sizeof s);
  s.len = n;
  if (n <= HLY_STR_INLINE) {
    memcpy(s.u.inl, data, n);
  } else {
    memcpy(s.u.out.prefix, data, 4);
    s.u.out.ptr = (const uint8_t *)data;
  }
  return s;
}
static inline bool hly_str_equal(const hly_str *a, const hly_str *b) {
  uint64_t a0, b0, a1, b1;
  memcpy(&a0, a, 8); // length and first four bytes
  memcpy(&b0, b, 8);
  if (a0 != b0) return false;
  memcpy(&a1, (const char *)a + 8, 8);
  memcpy(&b1, (const char *)b + 8, 8);
  if (a1 == b1) return true; // same inline bytes, or the same pointer
  if (a->len <= HLY_STR_INLINE) return false;
  return memcmp(a->u.out.ptr, b->u.out.ptr, a->len) == 0;
}
// Unsigned byte order, shorter first on a tie: Spark's binary order.
static inline int hly_str_compare(const hly_str *a, const hly_str *b) {
  uint32_t n = a->len < b->len ? a->len : b->len;
  int c = memcmp(hly_str_data(a), hly_str_data(b), n);
  return c ? c : (a->len > b->len) - (a->len < b->len);
}

#endif
