// Spark's ordering of values (o.a.s.sql.catalyst.types.ops and SQLOrderingUtil), for range partitioning.
#include <string.h>

#include "shuffle/partitioner.h"
#include "vector/decimal.h"

bool hly_range_supports(const hly_type *type) {
  switch (type->kind) {
  case HLY_STRING: return !type->collation;
  case HLY_CALENDAR_INTERVAL:
  case HLY_VARIANT:
  case HLY_MAP:
  case HLY_OTHER: return false; // not ordered by Spark either
  case HLY_ARRAY:
  case HLY_STRUCT:
    for (uint32_t i = 0; i < type->n_fields; i++) {
      if (!hly_range_supports(type->fields[i].type)) return false;
    }
    return true;
  default: return true;
  }
}

// NaN is the greatest and equal to itself; the zeros are equal.
static int compare_double(double a, double b) {
  if (a != a || b != b) return (a != a) - (b != b);
  return (a > b) - (a < b);
}

// Nulls inside nested values come first.
static int compare_nullable(const hly_vector *a, uint32_t i, const hly_vector *b, uint32_t k) {
  bool a_null = hly_vector_is_null(a, i), b_null = hly_vector_is_null(b, k);
  if (a_null || b_null) return b_null - a_null;
  return hly_range_compare(a, i, b, k);
}

#define COMPARE(T)                                                                                           \
  do {                                                                                                       \
    T x = ((const T *)base_a->values)[i], y = ((const T *)base_b->values)[k];                                \
    return (x > y) - (x < y);                                                                                \
  } while (0)

int hly_range_compare(const hly_vector *a, uint32_t row_a, const hly_vector *b, uint32_t row_b) {
  const hly_vector *base_a = a->encoding == HLY_DICT ? a->dict : a;
  const hly_vector *base_b = b->encoding == HLY_DICT ? b->dict : b;
  uint32_t i = hly_vector_index(a, row_a), k = hly_vector_index(b, row_b);
  switch (a->type->phys) {
  case HLY_PHYS_BOOL: COMPARE(uint8_t);
  case HLY_PHYS_I8: COMPARE(int8_t);
  case HLY_PHYS_I16: COMPARE(int16_t);
  case HLY_PHYS_I32: COMPARE(int32_t);
  case HLY_PHYS_I64: COMPARE(int64_t);
  case HLY_PHYS_I128: COMPARE(hly_i128);
  case HLY_PHYS_F32:
    return compare_double(((const float *)base_a->values)[i], ((const float *)base_b->values)[k]);
  case HLY_PHYS_F64:
    return compare_double(((const double *)base_a->values)[i], ((const double *)base_b->values)[k]);
  case HLY_PHYS_STR:
    return hly_str_compare((const hly_str *)base_a->values + i, (const hly_str *)base_b->values + k);
  case HLY_PHYS_SPAN: {
    hly_span x = ((const hly_span *)base_a->values)[i], y = ((const hly_span *)base_b->values)[k];
    int32_t n = x.length < y.length ? x.length : y.length;
    for (int32_t e = 0; e < n; e++) {
      int c = compare_nullable(base_a->children[0], (uint32_t)(x.offset + e), base_b->children[0],
                               (uint32_t)(y.offset + e));
      if (c) return c;
    }
    return (x.length > y.length) - (x.length < y.length);
  }
  case HLY_PHYS_NONE:
    if (a->type->kind == HLY_STRUCT) {
      for (uint32_t c = 0; c < a->type->n_fields; c++) {
        int order = compare_nullable(base_a->children[c], i, base_b->children[c], k);
        if (order) return order;
      }
    }
    return 0;
  default: return 0;
  }
}
