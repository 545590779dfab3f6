// The part of Thrift's compact protocol that Parquet's metadata uses: a bounded cursor over bytes.
//
// A failed read sets `failed` and every later read gives zeros, so that parsers check once, at the end of a
// struct.
#ifndef HLY_PARQUET_THRIFT_H
#define HLY_PARQUET_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hly_thrift_type {
  HLY_THRIFT_STOP = 0,
  HLY_THRIFT_TRUE = 1,
  HLY_THRIFT_FALSE = 2,
  HLY_THRIFT_BYTE = 3,
  HLY_THRIFT_I16 = 4,
  HLY_THRIFT_I32 = 5,
  HLY_THRIFT_I64 = 6,
  HLY_THRIFT_DOUBLE = 7,
  HLY_THRIFT_BINARY = 8,
  HLY_THRIFT_LIST = 9,
  HLY_THRIFT_SET = 10,
  HLY_THRIFT_MAP = 11,
  HLY_THRIFT_STRUCT = 12,
} hly_thrift_type;

typedef struct hly_thrift {
  const uint8_t *p, *end;
  const char *failed; // NULL, or what is wrong (static text)
  int depth;
} hly_thrift;

typedef struct hly_thrift_field {
  int32_t id;
  hly_thrift_type type; // STOP: the struct is over
} hly_thrift_field;

typedef struct hly_bytes {
  const uint8_t *data; // into what the cursor reads
  uint32_t n;
} hly_bytes;

void hly_thrift_init(hly_thrift *t, const void *data, size_t n_bytes);
// Structs: enter, then fields until STOP (which leaves the struct). `last` starts at 0 and is kept by the
// caller.
void hly_thrift_enter(hly_thrift *t);
hly_thrift_field hly_thrift_next(hly_thrift *t, int32_t *last);
void hly_thrift_skip(hly_thrift *t, hly_thrift_type type);
// Values. Reading with a type that is not what the field has fails (integers: any integer type).
bool hly_thrift_bool(hly_thrift *t, hly_thrift_type type);
int64_t hly_thrift_int(hly_thrift *t, hly_thrift_type type);
int32_t hly_thrift_i32(hly_thrift *t, hly_thrift_type type); // fails outside 32 bits
hly_bytes hly_thrift_bytes(hly_thrift *t, hly_thrift_type type);
// Length of a list of `element`s, 0 after a failure. Each element takes at least `min_bytes` of what is
// left, so that the length bounds what a caller allocates.
uint32_t hly_thrift_list(hly_thrift *t, hly_thrift_type type, hly_thrift_type element, uint32_t min_bytes);
void hly_thrift_fail(hly_thrift *t, const char *what);

#endif
