#include "parquet/thrift.h"

#include <string.h>

enum { MAX_DEPTH = 32 };

void hly_thrift_init(hly_thrift *t, const void *data, size_t n_bytes) {
  t->p = data;
  t->end = t->p + n_bytes;
  t->failed = NULL;
  t->depth = 0;
}

void hly_thrift_fail(hly_thrift *t, const char *what) {
  if (!t->failed) t->failed = what;
  t->p = t->end;
}

static uint8_t read_byte(hly_thrift *t) {
  if (t->p >= t->end) {
    hly_thrift_fail(t, "metadata ends too early");
    return 0;
  }
  return *t->p++;
}

static uint64_t read_varint(hly_thrift *t) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t b = read_byte(t);
    value |= (uint64_t)(b & 0x7f) << shift;
    if (!(b & 0x80)) return value;
  }
  hly_thrift_fail(t, "an integer is too long");
  return 0;
}

static int64_t read_zigzag(hly_thrift *t) {
  uint64_t v = read_varint(t);
  return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

void hly_thrift_enter(hly_thrift *t) {
  if (++t->depth > MAX_DEPTH) hly_thrift_fail(t, "metadata is nested too deeply");
}

hly_thrift_field hly_thrift_next(hly_thrift *t, int32_t *last) {
  hly_thrift_field f = {0, HLY_THRIFT_STOP};
  uint8_t head = t->failed ? 0 : read_byte(t);
  f.type = head & 15;
  if (f.type == HLY_THRIFT_STOP) {
    t->depth--;
    return f;
  }
  if (f.type > HLY_THRIFT_STRUCT) {
    hly_thrift_fail(t, "unknown field type");
    f.type = HLY_THRIFT_STOP;
    return f;
  }
  int64_t id = head >> 4 ? *last + (head >> 4) : read_zigzag(t);
  if (id < INT16_MIN || id > INT16_MAX) hly_thrift_fail(t, "bad field id");
  *last = f.id = (int32_t)id;
  if (t->failed) f.type = HLY_THRIFT_STOP;
  return f;
}

static uint32_t read_list_head(hly_thrift *t, hly_thrift_type *element) {
  uint8_t head = read_byte(t);
  *element = head & 15;
  uint64_t n = head >> 4;
  if (n == 15) n = read_varint(t);
  // Booleans in lists take a byte each, so any element takes at least one.
  if (n > (uint64_t)(t->end - t->p)) {
    hly_thrift_fail(t, "a list is longer than the metadata");
    return 0;
  }
  return (uint32_t)n;
}

void hly_thrift_skip(hly_thrift *t, hly_thrift_type type) {
  if (t->failed) return;
  switch (type) {
  case HLY_THRIFT_TRUE:
  case HLY_THRIFT_FALSE: return;
  case HLY_THRIFT_BYTE: read_byte(t); return;
  case HLY_THRIFT_I16:
  case HLY_THRIFT_I32:
  case HLY_THRIFT_I64: read_varint(t); return;
  case HLY_THRIFT_DOUBLE:
    if (t->end - t->p < 8)
      hly_thrift_fail(t, "metadata ends too early");
    else
      t->p += 8;
    return;
  case HLY_THRIFT_BINARY: hly_thrift_bytes(t, type); return;
  case HLY_THRIFT_LIST:
  case HLY_THRIFT_SET: {
    hly_thrift_type element;
    uint32_t n = read_list_head(t, &element);
    hly_thrift_enter(t);
    for (uint32_t i = 0; i < n && !t->failed; i++) {
      if (element == HLY_THRIFT_TRUE || element == HLY_THRIFT_FALSE)
        read_byte(t);
      else if (element == HLY_THRIFT_STOP)
        hly_thrift_fail(t, "unknown element type");
      else
        hly_thrift_skip(t, element);
    }
    t->depth--;
    return;
  }
  case HLY_THRIFT_MAP: {
    uint64_t n = read_varint(t);
    if (n == 0) return;
    uint8_t types = read_byte(t);
    hly_thrift_enter(t);
    for (uint64_t i = 0; i < n && !t->failed; i++) {
      for (int k = 0; k < 2; k++) {
        hly_thrift_type e = k ? types & 15 : types >> 4;
        if (e == HLY_THRIFT_TRUE || e == HLY_THRIFT_FALSE)
          read_byte(t);
        else if (e == HLY_THRIFT_STOP)
          hly_thrift_fail(t, "unknown element type");
        else
          hly_thrift_skip(t, e);
      }
    }
    t->depth--;
    return;
  }
  case HLY_THRIFT_STRUCT: {
    int32_t last = 0;
    hly_thrift_enter(t);
    for (hly_thrift_field f; (f = hly_thrift_next(t, &last)).type != HLY_THRIFT_STOP;)
      hly_thrift_skip(t, f.type);
    return;
  }
  default: hly_thrift_fail(t, "unknown field type");
  }
}

bool hly_thrift_bool(hly_thrift *t, hly_thrift_type type) {
  if (type != HLY_THRIFT_TRUE && type != HLY_THRIFT_FALSE)
    hly_thrift_fail(t, "a boolean field has another type");
  return type == HLY_THRIFT_TRUE;
}

int64_t hly_thrift_int(hly_thrift *t, hly_thrift_type type) {
  if (type == HLY_THRIFT_BYTE) return (int8_t)read_byte(t);
  if (type < HLY_THRIFT_I16 || type > HLY_THRIFT_I64) {
    hly_thrift_fail(t, "an integer field has another type");
    return 0;
  }
  int64_t v = read_zigzag(t);
  return t->failed ? 0 : v;
}

int32_t hly_thrift_i32(hly_thrift *t, hly_thrift_type type) {
  int64_t v = hly_thrift_int(t, type);
  if (v < INT32_MIN || v > INT32_MAX) {
    hly_thrift_fail(t, "an integer is out of range");
    return 0;
  }
  return (int32_t)v;
}

hly_bytes hly_thrift_bytes(hly_thrift *t, hly_thrift_type type) {
  hly_bytes out = {NULL, 0};
  if (type != HLY_THRIFT_BINARY) {
    hly_thrift_fail(t, "a string field has another type");
    return out;
  }
  uint64_t n = read_varint(t);
  if (n > (uint64_t)(t->end - t->p) || n > INT32_MAX) {
    hly_thrift_fail(t, "a string is longer than the metadata");
    return out;
  }
  out.data = t->p;
  out.n = (uint32_t)n;
  t->p += n;
  return out;
}

uint32_t hly_thrift_list(hly_thrift *t, hly_thrift_type type, hly_thrift_type element, uint32_t min_bytes) {
  if (type != HLY_THRIFT_LIST) {
    hly_thrift_fail(t, "a list field has another type");
    return 0;
  }
  hly_thrift_type found;
  uint32_t n = read_list_head(t, &found);
  if (n == 0) return 0;
  if (found != element) {
    hly_thrift_fail(t, "a list has elements of another type");
    return 0;
  }
  if ((uint64_t)n * min_bytes > (uint64_t)(t->end - t->p)) {
    hly_thrift_fail(t, "a list is longer than the metadata");
    return 0;
  }
  return n;
}
