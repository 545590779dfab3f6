// Structural equality of expression messages: what makes a common subexpression. Indices into the host's
// table do not count, they differ between equal expressions.
#include <string.h>

#include "base/hash.h"
#include "expr/program.h"

static uint64_t mix(uint64_t h, uint64_t x) {
  return hly_hash64_combine(h, hly_hash64_int(x + 1));
}

static uint64_t mix_text(uint64_t h, const char *s) {
  return mix(h, hly_hash64_bytes(s, strlen(s), 0));
}

static uint64_t mix_literal(uint64_t h, const Halley__Literal *l) {
  if (!l) return h;
  h = mix(h, l->value_case);
  switch (l->value_case) {
  case HALLEY__LITERAL__VALUE_BOOL_VALUE: return mix(h, (uint64_t)l->bool_value);
  case HALLEY__LITERAL__VALUE_INT_VALUE: return mix(h, (uint64_t)l->int_value);
  case HALLEY__LITERAL__VALUE_DOUBLE_VALUE: return mix(h, hly_hash64_bytes(&l->double_value, 8, 0));
  case HALLEY__LITERAL__VALUE_BYTES_VALUE:
  case HALLEY__LITERAL__VALUE_ROW_VALUE:
    return mix(h, hly_hash64_bytes(l->bytes_value.data, l->bytes_value.len, 0));
  default: return h;
  }
}

uint64_t hly_expr_hash(const Halley__Expr *e) {
  uint64_t h = mix_text(0, e->cls);
  h = mix(h, (uint64_t)(e->type ? e->type->kind : 0));
  h = mix(h, (uint64_t)e->ordinal);
  h = mix_literal(h, e->literal);
  for (size_t i = 0; i < e->n_params; i++) h = mix_text(h, e->params[i]->name);
  for (size_t i = 0; i < e->n_children; i++) h = mix(h, hly_expr_hash(e->children[i]));
  return h;
}

static bool bytes_equal(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b) {
  return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static bool type_equal(const Halley__DataType *a, const Halley__DataType *b) {
  if (!a || !b) return a == b;
  if (a->kind != b->kind || a->precision != b->precision || a->scale != b->scale ||
      a->n_fields != b->n_fields || strcmp(a->collation, b->collation) || strcmp(a->name, b->name))
    return false;
  for (size_t i = 0; i < a->n_fields; i++) {
    const Halley__Field *x = a->fields[i], *y = b->fields[i];
    if (strcmp(x->name, y->name) || x->nullable != y->nullable || !type_equal(x->type, y->type)) return false;
  }
  return true;
}

static bool literal_equal(const Halley__Literal *a, const Halley__Literal *b) {
  if (!a || !b) return a == b;
  if (a->value_case != b->value_case || !type_equal(a->type, b->type)) return false;
  switch (a->value_case) {
  case HALLEY__LITERAL__VALUE_NULL_VALUE: return a->null_value == b->null_value;
  case HALLEY__LITERAL__VALUE_BOOL_VALUE: return a->bool_value == b->bool_value;
  case HALLEY__LITERAL__VALUE_INT_VALUE: return a->int_value == b->int_value;
  // Bit for bit: 0.0 and -0.0 are different constants.
  case HALLEY__LITERAL__VALUE_DOUBLE_VALUE: return memcmp(&a->double_value, &b->double_value, 8) == 0;
  case HALLEY__LITERAL__VALUE_BYTES_VALUE: return bytes_equal(&a->bytes_value, &b->bytes_value);
  case HALLEY__LITERAL__VALUE_ROW_VALUE: return bytes_equal(&a->row_value, &b->row_value);
  default: return false; // a placeholder equals nothing: two subqueries may differ
  }
}

static bool param_equal(const Halley__Param *a, const Halley__Param *b) {
  if (strcmp(a->name, b->name) || a->value_case != b->value_case) return false;
  switch (a->value_case) {
  case HALLEY__PARAM__VALUE_BOOL_VALUE: return a->bool_value == b->bool_value;
  case HALLEY__PARAM__VALUE_INT_VALUE: return a->int_value == b->int_value;
  case HALLEY__PARAM__VALUE_DOUBLE_VALUE: return memcmp(&a->double_value, &b->double_value, 8) == 0;
  case HALLEY__PARAM__VALUE_STRING_VALUE: return !strcmp(a->string_value, b->string_value);
  case HALLEY__PARAM__VALUE_TYPE_VALUE: return type_equal(a->type_value, b->type_value);
  case HALLEY__PARAM__VALUE_NONE: return a->none == b->none;
  default: return false;
  }
}

bool hly_expr_equal(const Halley__Expr *a, const Halley__Expr *b) {
  if (strcmp(a->cls, b->cls) || a->ordinal != b->ordinal || a->nullable != b->nullable ||
      a->deterministic != b->deterministic || a->n_children != b->n_children || a->n_params != b->n_params ||
      strcmp(a->refused, b->refused) || (a->dispatch > 0) != (b->dispatch > 0) ||
      !type_equal(a->type, b->type) || !literal_equal(a->literal, b->literal))
    return false;
  for (size_t i = 0; i < a->n_params; i++)
    if (!param_equal(a->params[i], b->params[i])) return false;
  for (size_t i = 0; i < a->n_children; i++)
    if (!hly_expr_equal(a->children[i], b->children[i])) return false;
  return true;
}
