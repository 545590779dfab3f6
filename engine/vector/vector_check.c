#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vector/decimal.h"
#include "vector/vector.h"

typedef struct report {
  char *message;
  uint32_t size;
} report;

static bool fail(report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(report *r, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (r->size) vsnprintf(r->message, r->size, format, args);
  va_end(args);
  return false;
}

static bool in_heap(const hly_vector *v, const uint8_t *p, size_t n) {
  for (uint32_t i = 0; i < v->n_heaps; i++) {
    const hly_buf *heap = v->heaps[i];
    if (p >= heap->data && n <= heap->capacity && p <= heap->data + (heap->capacity - n)) return true;
  }
  return false;
}

static bool check_view(const hly_vector *v, const hly_str *s, uint32_t row, report *r) {
  if (s->len > HLY_STR_INLINE) {
    if (v->n_heaps && !in_heap(v, s->u.out.ptr, s->len))
      return fail(r, "row %u: bytes outside the heaps", row);
    if (memcmp(s->u.out.prefix, s->u.out.ptr, 4) != 0) return fail(r, "row %u: prefix differs", row);
    return true;
  }
  for (uint32_t i = s->len; i < HLY_STR_INLINE; i++)
    if (s->u.inl[i]) return fail(r, "row %u: inline bytes past the length", row);
  return true;
}

static bool check_span(const hly_vector *v, const hly_span *s, uint32_t row, report *r) {
  if (s->offset < 0 || s->length < 0) return fail(r, "row %u: negative span", row);
  for (uint32_t i = 0; i < v->type->n_fields; i++)
    if ((uint64_t)s->offset + (uint64_t)s->length > v->children[i]->n_rows)
      return fail(r, "row %u: span %d+%d past %u child rows", row, s->offset, s->length,
                  v->children[i]->n_rows);
  return true;
}

static bool check_decimal(const hly_vector *v, uint32_t row, report *r) {
  hly_i128 x;
  if (v->type->phys == HLY_PHYS_I64)
    x = ((const int64_t *)v->values)[row];
  else
    memcpy(&x, (const uint8_t *)v->values + (size_t)row * 16, 16);
  return hly_decimal_fits(x, v->type->precision) || fail(r, "row %u: decimal past its precision", row);
}

static bool check_values(const hly_vector *v, uint32_t n, report *r) {
  size_t size = hly_phys_size[v->type->phys];
  if (!size || !n) return true;
  if (!v->values) return fail(r, "no values");
  if (v->type->phys == HLY_PHYS_I128 && (uintptr_t)v->values % 16) return fail(r, "values not aligned");
  const hly_buf *buf = v->values_buf;
  const uint8_t *at = v->values;
  if (buf && at >= buf->data && at < buf->data + buf->capacity &&
      (size_t)(at - buf->data) + n * size > buf->capacity)
    return fail(r, "%u values past their buffer", n);
  for (uint32_t i = 0; i < n; i++) {
    bool valid = !v->validity || hly_bits_get(v->validity, i);
    switch (v->type->phys) {
    case HLY_PHYS_BOOL:
      if (valid && at[i] > 1) return fail(r, "row %u: boolean of %d", i, at[i]);
      break;
    case HLY_PHYS_STR:
      if (!check_view(v, (const hly_str *)at + i, i, r)) return false;
      break;
    case HLY_PHYS_VARIANT:
      if (!check_view(v, (const hly_str *)at + 2 * (size_t)i, i, r)) return false;
      if (!check_view(v, (const hly_str *)at + 2 * (size_t)i + 1, i, r)) return false;
      break;
    case HLY_PHYS_SPAN:
      if (!check_span(v, (const hly_span *)at + i, i, r)) return false;
      break;
    default:
      if (v->type->kind == HLY_DECIMAL && valid && !check_decimal(v, i, r)) return false;
    }
  }
  return true;
}

static bool check(const hly_vector *v, report *r) {
  if (v->refs < 1) return fail(r, "%d references", v->refs);
  if (v->encoding > HLY_DICT) return fail(r, "encoding %d", v->encoding);
  if (v->type->kind == HLY_NULL && v->n_rows) {
    if (!v->validity || hly_bits_count(v->validity, v->encoding == HLY_CONST ? 1 : v->n_rows))
      return fail(r, "a vector of the null type with values");
  }
  if (v->encoding == HLY_DICT) {
    if (!v->dict) return fail(r, "no dictionary");
    if (v->dict->encoding != HLY_FLAT || v->dict->validity)
      return fail(r, "a dictionary is flat and without nulls");
    if (!hly_type_equal(v->dict->type, v->type)) return fail(r, "a dictionary of another type");
    for (uint32_t i = 0; i < v->n_rows; i++) {
      if (v->indices[i] < v->dict->n_rows) continue;
      bool null = v->validity && !hly_bits_get(v->validity, i);
      if (!null || v->indices[i] != 0)
        return fail(r, "row %u: index %u of %u", i, v->indices[i], v->dict->n_rows);
    }
    return check(v->dict, r);
  }
  uint32_t n = v->encoding == HLY_CONST ? 1 : v->n_rows;
  if (hly_type_is_nested(v->type)) {
    for (uint32_t i = 0; i < v->type->n_fields; i++) {
      if (!v->children || !v->children[i]) return fail(r, "no child %u", i);
      if (!hly_type_equal(v->children[i]->type, v->type->fields[i].type))
        return fail(r, "type of child %u", i);
      if (v->type->kind == HLY_STRUCT && v->children[i]->n_rows < n)
        return fail(r, "child %u has %u of %u rows", i, v->children[i]->n_rows, n);
      if (!check(v->children[i], r)) return false;
    }
  }
  return check_values(v, n, r);
}

bool hly_vector_check(const hly_vector *v, char *message, uint32_t size) {
  report r = {message, size};
  if (size) message[0] = 0;
  return check(v, &r);
}
