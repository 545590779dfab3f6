// Spark's Murmur3Hash (o.a.s.sql.catalyst.expressions.HashExpression with Murmur3_x86_32) over vectors.
#include <string.h>

#include "base/hash.h"
#include "shuffle/partitioner.h"
#include "vector/decimal.h"

static inline uint32_t hash_i128(hly_i128 x, uint32_t seed) {
  uint8_t bytes[16];
  int n = hly_decimal_to_bytes(x, bytes);
  return hly_murmur3_bytes(bytes, (size_t)n, seed);
}
static inline uint32_t hash_str(const hly_str *s, uint32_t seed) {
  return hly_murmur3_bytes(hly_str_data(s), s->len, seed);
}

bool hly_murmur3_supports(const hly_type *type) {
  switch (type->kind) {
  case HLY_STRING: return !type->collation; // Spark hashes the collation key
  case HLY_CALENDAR_INTERVAL:               // Spark's two evaluations of it differ
  case HLY_VARIANT:
  case HLY_OTHER: return false;
  case HLY_ARRAY:
  case HLY_MAP:
  case HLY_STRUCT:
    for (uint32_t i = 0; i < type->n_fields; i++) {
      if (!hly_murmur3_supports(type->fields[i].type)) return false;
    }
    return true;
  default: return true;
  }
}

// One value; null leaves the seed. The way into nested types.
static uint32_t hash_value(const hly_vector *v, uint32_t row, uint32_t seed) {
  if (hly_vector_is_null(v, row)) return seed;
  const hly_vector *base = v->encoding == HLY_DICT ? v->dict : v;
  uint32_t i = hly_vector_index(v, row);
  switch (v->type->phys) {
  case HLY_PHYS_BOOL: return hly_murmur3_int(((const uint8_t *)base->values)[i] != 0, seed);
  case HLY_PHYS_I8: return hly_murmur3_int((uint32_t)((const int8_t *)base->values)[i], seed);
  case HLY_PHYS_I16: return hly_murmur3_int((uint32_t)((const int16_t *)base->values)[i], seed);
  case HLY_PHYS_I32: return hly_murmur3_int(((const uint32_t *)base->values)[i], seed);
  case HLY_PHYS_I64: return hly_murmur3_long(((const uint64_t *)base->values)[i], seed);
  case HLY_PHYS_I128: return hash_i128(((const hly_i128 *)base->values)[i], seed);
  case HLY_PHYS_F32: return hly_murmur3_int(hly_hashed_float(((const float *)base->values)[i]), seed);
  case HLY_PHYS_F64: return hly_murmur3_long(hly_hashed_double(((const double *)base->values)[i]), seed);
  case HLY_PHYS_STR: return hash_str((const hly_str *)base->values + i, seed);
  case HLY_PHYS_SPAN: {
    hly_span s = ((const hly_span *)base->values)[i];
    for (int32_t k = 0; k < s.length; k++) {
      for (uint32_t c = 0; c < v->type->n_fields; c++) { // a map: key, then value
        seed = hash_value(base->children[c], (uint32_t)(s.offset + k), seed);
      }
    }
    return seed;
  }
  case HLY_PHYS_NONE:
    if (v->type->kind == HLY_STRUCT) {
      for (uint32_t c = 0; c < v->type->n_fields; c++) seed = hash_value(base->children[c], i, seed);
    }
    return seed;
  default: return seed;
  }
}

// A loop over the rows of a flat or dictionary vector; HASH(x) of a value x of type T, with seed hashes[k].
#define LOOP(T, HASH)                                                                                        \
  do {                                                                                                       \
    const T *in = hly_vector_base(v);                                                                        \
    if (v->encoding == HLY_FLAT && !sel && !v->validity) {                                                   \
      for (uint32_t k = 0; k < n; k++) {                                                                     \
        const T x = in[k];                                                                                   \
        hashes[k] = HASH;                                                                                    \
      }                                                                                                      \
    } else if (v->encoding == HLY_FLAT && !v->validity) {                                                    \
      for (uint32_t k = 0; k < n; k++) {                                                                     \
        const T x = in[sel[k]];                                                                              \
        hashes[k] = HASH;                                                                                    \
      }                                                                                                      \
    } else {                                                                                                 \
      for (uint32_t k = 0; k < n; k++) {                                                                     \
        uint32_t row = sel ? sel[k] : k;                                                                     \
        if (hly_vector_is_null(v, row)) continue;                                                            \
        const T x = in[hly_vector_index(v, row)];                                                            \
        hashes[k] = HASH;                                                                                    \
      }                                                                                                      \
    }                                                                                                        \
  } while (0)

void hly_murmur3_column(const hly_vector *v, const uint32_t *sel, uint32_t n, bool constant_seed,
                        uint32_t *hashes) {
  if (n == 0) return;
  if (v->encoding == HLY_CONST && hly_vector_is_null(v, 0)) return;
  if (v->encoding == HLY_CONST && constant_seed) {
    uint32_t h = hash_value(v, 0, hashes[0]);
    for (uint32_t k = 0; k < n; k++) hashes[k] = h;
    return;
  }
  enum { MEMO = 1024 };
  if (v->encoding == HLY_DICT && constant_seed && v->dict->n_rows <= MEMO && v->dict->n_rows < n) {
    uint32_t memo[MEMO], seed = hashes[0];
    for (uint32_t e = 0; e < v->dict->n_rows; e++) memo[e] = hash_value(v->dict, e, seed);
    for (uint32_t k = 0; k < n; k++) {
      uint32_t row = sel ? sel[k] : k;
      if (!hly_vector_is_null(v, row)) hashes[k] = memo[v->indices[row]];
    }
    return;
  }
  switch (v->type->phys) {
  case HLY_PHYS_BOOL: LOOP(uint8_t, hly_murmur3_int(x != 0, hashes[k])); break;
  case HLY_PHYS_I8: LOOP(int8_t, hly_murmur3_int((uint32_t)x, hashes[k])); break;
  case HLY_PHYS_I16: LOOP(int16_t, hly_murmur3_int((uint32_t)x, hashes[k])); break;
  case HLY_PHYS_I32: LOOP(uint32_t, hly_murmur3_int(x, hashes[k])); break;
  case HLY_PHYS_I64: LOOP(uint64_t, hly_murmur3_long(x, hashes[k])); break;
  case HLY_PHYS_I128: LOOP(hly_i128, hash_i128(x, hashes[k])); break;
  case HLY_PHYS_F32: LOOP(float, hly_murmur3_int(hly_hashed_float(x), hashes[k])); break;
  case HLY_PHYS_F64: LOOP(double, hly_murmur3_long(hly_hashed_double(x), hashes[k])); break;
  case HLY_PHYS_STR: LOOP(hly_str, hash_str(&x, hashes[k])); break;
  default:
    for (uint32_t k = 0; k < n; k++) hashes[k] = hash_value(v, sel ? sel[k] : k, hashes[k]);
    break;
  }
}
