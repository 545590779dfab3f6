// From what a column stores to what Spark asked for: which pairs are legal (the rules of Spark's vectorised
// reader, ParquetVectorUpdaterFactory) and the conversion of values.
//
// Stored form, as decoders give values: booleans as bytes, INT32, INT64, FLOAT and DOUBLE as they are,
// everything else (byte arrays, fixed-length ones, INT96) as hly_str.
#ifndef HLY_PARQUET_CONVERT_H
#define HLY_PARQUET_CONVERT_H

#include "parquet/format.h"
#include "parquet/rebase.h"
#include "vector/decimal.h"
#include "vector/type.h"

typedef struct hly_pq_rebase_spec {
  hly_pq_rebase datetime, int96;
  const hly_pq_rebase_zone *zone; // for LEGACY; borrowed
  // A zone for which LEGACY timestamps cannot be rebased (then ancient ones are an error); NULL: can.
  const char *unknown_zone;
} hly_pq_rebase_spec;

typedef enum hly_pq_convert_kind {
  HLY_PQ_AS_IS = 0, // stored form is the value
  HLY_PQ_ALWAYS_NULL,
  HLY_PQ_I32_TO_I8,
  HLY_PQ_I32_TO_I16,
  HLY_PQ_I32_TO_I64, // also times a power of ten
  HLY_PQ_U32_TO_I64,
  HLY_PQ_I32_TO_F64,
  HLY_PQ_I32_TO_I128,
  HLY_PQ_I64_TO_I64, // times a power of ten
  HLY_PQ_I64_TO_I128,
  HLY_PQ_U64_TO_I128,
  HLY_PQ_F32_TO_F64,
  HLY_PQ_MILLIS_TO_MICROS,
  HLY_PQ_MICROS_TO_NANOS,
  HLY_PQ_DAYS_TO_MICROS,
  HLY_PQ_INT96_TO_MICROS,
  HLY_PQ_BYTES_TO_I64,
  HLY_PQ_BYTES_TO_I128,
} hly_pq_convert_kind;

typedef struct hly_pq_convert {
  hly_pq_convert_kind kind;
  hly_pq_rebase rebase; // of days or micros, after the conversion
  bool rebase_days;
  bool int96;
  bool cut_to_int; // decimals of up to 9 digits keep 32 bits, as Spark's do
  uint8_t scale_up;
  uint8_t precision; // of a decimal result, 0: none
  uint8_t stored_size, value_size;
  const hly_pq_rebase_zone *zone; // for rebased micros
  const char *unknown_zone;
} hly_pq_convert;

// False when Spark's reader does not allow the pair (SchemaColumnConvertNotSupportedException).
bool hly_pq_convert_find(const hly_pq_element *e, const hly_type *type, const hly_pq_rebase_spec *rebase,
                         hly_pq_convert *out);
uint8_t hly_pq_stored_size(hly_pq_type type);

typedef enum hly_pq_convert_error {
  HLY_PQ_CONVERT_OK = 0,
  HLY_PQ_CONVERT_OVERFLOW,     // "long overflow"
  HLY_PQ_CONVERT_ANCIENT,      // EXCEPTION mode
  HLY_PQ_CONVERT_UNKNOWN_ZONE, // LEGACY mode, a zone that cannot be rebased
  HLY_PQ_CONVERT_BAD_BYTES,    // a decimal or INT96 of wrong length
} hly_pq_convert_error;

// Converts n values; `in` and `out` do not overlap.
hly_pq_convert_error hly_pq_convert_values(const hly_pq_convert *c, const void *in, uint32_t n, void *out);
// Whether some value of an undamaged file has no converted one: that is an error whoever wants the value.
bool hly_pq_convert_can_fail(const hly_pq_convert *c);

#endif
