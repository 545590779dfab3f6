// hly_buf: the only owner of memory in a vector. Reference counts are not atomic: a buffer stays on its
// task's thread.
#ifndef HLY_BASE_BUF_H
#define HLY_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

typedef struct hly_buf {
  uint8_t *data; // 64-byte aligned; at least 64 readable bytes follow `capacity` (kernels may over-read)
  size_t capacity;
  int32_t refs;
  void (*release)(struct hly_buf *); // foreign memory; NULL: from hly_malloc_aligned
  void *release_arg;
} hly_buf;

hly_buf *hly_buf_create(size_t capacity); // refs = 1; contents undefined; NULL: no memory
hly_buf *hly_buf_wrap(void *data, size_t n_bytes, void (*release)(hly_buf *), void *arg); // takes `data`
static inline hly_buf *hly_buf_ref(hly_buf *buf) {
  buf->refs++;
  return buf;
}
void hly_buf_unref(hly_buf *buf); // NULL is fine
// Makes *buf a buffer of at least `capacity` with refs == 1: keeps it when it is alone and large enough, else
// replaces it (old contents are not kept). -1: no memory, *buf unchanged.
int hly_buf_reuse(hly_buf **buf, size_t capacity);
// Grows *buf (refs == 1) keeping the first `used` bytes; at least doubles. -1: no memory, *buf unchanged.
int hly_buf_grow(hly_buf **buf, size_t used, size_t capacity);

#endif
