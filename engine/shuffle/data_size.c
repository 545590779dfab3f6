#include "shuffle/data_size.h"

static uint64_t words(uint64_t n) {
  return (n + 7) & ~7ull;
}
static uint64_t bitmap(uint64_t n_fields) {
  return (n_fields + 63) / 64 * 8;
}

static uint64_t variable_size(const hly_vector *v, uint32_t row);

static bool is_variable(const hly_type *type) {
  switch (type->phys) {
  case HLY_PHYS_STR:
  case HLY_PHYS_SPAN:
  case HLY_PHYS_I128:
  case HLY_PHYS_INTERVAL:
  case HLY_PHYS_VARIANT: return true;
  default: return type->kind == HLY_STRUCT;
  }
}

// An UnsafeArrayData of n elements from `from`.
static uint64_t array_size(const hly_vector *elements, uint32_t from, uint32_t n) {
  const hly_type *type = elements->type;
  bool variable = is_variable(type);
  uint64_t each = variable ? 8 : type->kind == HLY_NULL ? 8 : hly_phys_size[type->phys];
  uint64_t size = 8 + bitmap(n) + words(each * n);
  for (uint32_t i = 0; variable && i < n; i++) size += variable_size(elements, from + i);
  return size;
}

// What a value adds behind the 8 bytes of its field. A null of fixed 16 bytes keeps its place.
static uint64_t variable_size(const hly_vector *v, uint32_t row) {
  hly_phys phys = v->type->phys;
  if (phys == HLY_PHYS_I128 || phys == HLY_PHYS_INTERVAL) return 16;
  if (hly_vector_is_null(v, row)) return 0;
  const hly_vector *base = v->encoding == HLY_DICT ? v->dict : v;
  uint32_t i = hly_vector_index(v, row);
  switch (phys) {
  case HLY_PHYS_STR: return words(((const hly_str *)base->values)[i].len);
  case HLY_PHYS_VARIANT: {
    const hly_str *s = (const hly_str *)base->values + (size_t)i * 2;
    return words(4ull + s[0].len + s[1].len);
  }
  case HLY_PHYS_SPAN: {
    hly_span s = ((const hly_span *)base->values)[i];
    uint32_t from = (uint32_t)s.offset, n = (uint32_t)s.length;
    if (v->type->kind == HLY_ARRAY) return array_size(base->children[0], from, n);
    return 8 + array_size(base->children[0], from, n) + array_size(base->children[1], from, n);
  }
  default: {
    uint64_t size = bitmap(v->type->n_fields) + 8ull * v->type->n_fields;
    for (uint32_t c = 0; c < v->type->n_fields; c++) {
      if (is_variable(v->type->fields[c].type)) size += variable_size(base->children[c], i);
    }
    return size;
  }
  }
}

uint64_t hly_unsafe_rows_size(const hly_batch *batch) {
  uint64_t size = (bitmap(batch->n_columns) + 8ull * batch->n_columns) * batch->n_sel;
  for (uint32_t c = 0; c < batch->n_columns; c++) {
    const hly_vector *v = batch->columns[c];
    if (!is_variable(v->type)) continue;
    if (v->encoding == HLY_FLAT && v->type->phys == HLY_PHYS_STR && !v->validity) {
      const hly_str *s = v->values;
      for (uint32_t k = 0; k < batch->n_sel; k++) size += words(s[batch->sel ? batch->sel[k] : k].len);
    } else {
      for (uint32_t k = 0; k < batch->n_sel; k++) size += variable_size(v, batch->sel ? batch->sel[k] : k);
    }
  }
  return size;
}
