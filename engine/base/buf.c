#include "base/buf.h"

#include <string.h>

#include "base/mem.h"

enum { ALIGNMENT = 64, TAIL = 64 };

hly_buf *hly_buf_create(size_t capacity) {
  if (capacity > PTRDIFF_MAX - 2 * ALIGNMENT) return NULL;
  capacity = (capacity + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  hly_buf *buf = hly_malloc(sizeof *buf);
  if (!buf) return NULL;
  *buf = (hly_buf){.capacity = capacity, .refs = 1};
  buf->data = hly_malloc_aligned(capacity + TAIL, ALIGNMENT);
  if (!buf->data) {
    hly_free(buf);
    return NULL;
  }
  return buf;
}

hly_buf *hly_buf_wrap(void *data, size_t n_bytes, void (*release)(hly_buf *), void *arg) {
  hly_buf *buf = hly_malloc(sizeof *buf);
  if (buf)
    *buf = (hly_buf){.data = data, .capacity = n_bytes, .refs = 1, .release = release, .release_arg = arg};
  return buf;
}

void hly_buf_unref(hly_buf *buf) {
  if (!buf || --buf->refs > 0) return;
  if (buf->release)
    buf->release(buf);
  else
    hly_free(buf->data);
  hly_free(buf);
}

int hly_buf_reuse(hly_buf **buf, size_t capacity) {
  hly_buf *old = *buf;
  if (old && old->refs == 1 && !old->release && old->capacity >= capacity) return 0;
  hly_buf *fresh = hly_buf_create(capacity);
  if (!fresh) return -1;
  hly_buf_unref(old);
  *buf = fresh;
  return 0;
}

int hly_buf_grow(hly_buf **buf, size_t used, size_t capacity) {
  hly_buf *old = *buf;
  if (old && old->capacity >= capacity && !old->release) return 0;
  size_t twice = old && old->capacity <= PTRDIFF_MAX / 4 ? old->capacity * 2 : 0;
  hly_buf *fresh = hly_buf_create(capacity > twice ? capacity : twice);
  if (!fresh) return -1;
  if (used) memcpy(fresh->data, old->data, used);
  hly_buf_unref(old);
  *buf = fresh;
  return 0;
}
