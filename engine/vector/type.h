// Logical types (Spark's) and the physical types that kernels see.
#ifndef HLY_VECTOR_TYPE_H
#define HLY_VECTOR_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "halley/status.h"

// Values equal those of `Kind` in plan.proto.
typedef enum hly_kind {
  HLY_NULL = 0,
  HLY_BOOLEAN,
  HLY_BYTE,
  HLY_SHORT,
  HLY_INT,
  HLY_LONG,
  HLY_FLOAT,
  HLY_DOUBLE,
  HLY_DECIMAL,
  HLY_DATE,          // days since 1970-01-01, proleptic Gregorian
  HLY_TIMESTAMP,     // microseconds since the epoch, UTC
  HLY_TIMESTAMP_NTZ, // microseconds, no zone
  HLY_TIME,          // nanoseconds of the day
  HLY_YEAR_MONTH_INTERVAL,
  HLY_DAY_TIME_INTERVAL,
  HLY_CALENDAR_INTERVAL,
  HLY_STRING,
  HLY_BINARY,
  HLY_VARIANT,
  HLY_ARRAY,
  HLY_MAP,
  HLY_STRUCT,
  HLY_OTHER,
  HLY_N_KINDS
} hly_kind;

typedef enum hly_phys {
  HLY_PHYS_NONE = 0, // NULL type, struct: no values
  HLY_PHYS_BOOL,     // uint8_t 0 or 1
  HLY_PHYS_I8,
  HLY_PHYS_I16,
  HLY_PHYS_I32,  // int, date, year-month interval
  HLY_PHYS_I64,  // long, timestamps, time, day-time interval, decimal(p <= 18) unscaled
  HLY_PHYS_I128, // decimal(p > 18) unscaled, 16-byte aligned
  HLY_PHYS_F32,
  HLY_PHYS_F64,
  HLY_PHYS_STR,      // hly_str (string, binary)
  HLY_PHYS_SPAN,     // hly_span (array, map)
  HLY_PHYS_INTERVAL, // hly_interval
  HLY_PHYS_VARIANT,  // two hly_str: value, metadata (32 bytes)
  HLY_N_PHYS
} hly_phys;

typedef struct hly_span {
  int32_t offset, length; // into the child vectors
} hly_span;

typedef struct hly_interval {
  int32_t months, days;
  int64_t micros;
} hly_interval;

typedef struct hly_type hly_type;

typedef struct hly_field {
  const char *name;
  const hly_type *type;
  bool nullable;
  int32_t field_id;                        // Parquet field id plus one; 0: none
  const struct hly_literal *default_value; // existence default; NULL: null
} hly_field;

struct hly_type {
  hly_kind kind;
  uint8_t precision, scale; // decimal; time: precision
  hly_phys phys;
  const char *collation; // strings: NULL for UTF8_BINARY
  uint32_t n_fields;     // array 1, map 2, struct n
  const hly_field *fields;
  const char *name; // OTHER: Spark's name
};

// A row's type: what operators declare as input and output.
typedef struct hly_schema {
  uint32_t n_fields;
  const hly_field *fields;
} hly_schema;

// A typed constant, in the arena it was decoded to.
typedef struct hly_literal {
  const hly_type *type;
  bool is_null;
  // Exactly one value as a flat vector of length 1 would hold it (hly_str points into the arena); nested
  // types and calendar intervals: `row`, an UnsafeRow of one field.
  union {
    uint8_t b;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    __int128 i128;
    float f32;
    double f64;
    uint8_t bytes[16];
  } value;
  const uint8_t *row;
  uint32_t row_bytes;
} hly_literal;

extern const uint8_t hly_phys_size[HLY_N_PHYS]; // bytes a value; 0 for NONE
hly_phys hly_type_phys(hly_kind kind, int precision);
// Scalar types without parameters, static: hly_type_of(HLY_INT). NULL for kinds that need parameters.
const hly_type *hly_type_of(hly_kind kind);
// Static table: every precision 1..38 and scale 0..precision. NULL when out of range.
const hly_type *hly_type_decimal(int precision, int scale);
bool hly_type_equal(const hly_type *a,
                    const hly_type *b); // names of struct fields and nullability do not count
static inline bool hly_type_is_nested(const hly_type *t) {
  return t->kind >= HLY_ARRAY && t->kind <= HLY_STRUCT;
}
static inline bool hly_type_is_string(const hly_type *t) {
  return t->kind == HLY_STRING || t->kind == HLY_BINARY;
}
// Spark's simpleString ("decimal(15,2)", "array<int>"), cut to `size`. Returns `out`.
const char *hly_type_print(const hly_type *t, char *out, uint32_t size);

#endif
