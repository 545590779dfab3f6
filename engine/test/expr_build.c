#include "expr_build.h"

#include <stdarg.h>
#include <string.h>

Halley__DataType *x_type(expr_builder *b, const hly_type *t) {
  Halley__DataType *m = HLY_ARENA_NEW(b->arena, Halley__DataType);
  halley__data_type__init(m);
  m->kind = (Halley__Kind)t->kind;
  m->precision = t->precision;
  m->scale = t->scale;
  if (t->collation) m->collation = (char *)t->collation;
  if (t->name) m->name = (char *)t->name;
  m->n_fields = t->n_fields;
  m->fields = HLY_ARENA_NEW_N(b->arena, Halley__Field *, t->n_fields + 1u);
  for (uint32_t i = 0; i < t->n_fields; i++) {
    Halley__Field *f = HLY_ARENA_NEW(b->arena, Halley__Field);
    halley__field__init(f);
    f->name = (char *)t->fields[i].name;
    f->type = x_type(b, t->fields[i].type);
    f->nullable = t->fields[i].nullable;
    m->fields[i] = f;
  }
  return m;
}

static Halley__Expr *make(expr_builder *b, const char *cls, const hly_type *t, bool nullable) {
  Halley__Expr *e = HLY_ARENA_NEW(b->arena, Halley__Expr);
  halley__expr__init(e);
  e->cls = hly_arena_copy(b->arena, cls, strlen(cls));
  e->type = x_type(b, t);
  e->nullable = nullable;
  e->deterministic = true;
  if (b->no_dispatch) return e;
  if (b->n_table == b->cap_table) {
    uint32_t cap = b->cap_table ? b->cap_table * 2 : 64;
    Halley__Expr **table = HLY_ARENA_NEW_N(b->arena, Halley__Expr *, cap);
    if (b->n_table) memcpy(table, b->table, b->n_table * sizeof *table);
    b->table = table;
    b->cap_table = cap;
  }
  b->table[b->n_table++] = e;
  e->dispatch = (int32_t)b->n_table;
  return e;
}

Halley__Expr *x_col(expr_builder *b, int32_t ordinal, const hly_type *t, bool nullable) {
  Halley__Expr *e = make(b, "BoundReference", t, nullable);
  e->ordinal = ordinal;
  return e;
}

static Halley__Expr *literal(expr_builder *b, const hly_type *t, Halley__Literal__ValueCase value) {
  Halley__Expr *e = make(b, "Literal", t, value == HALLEY__LITERAL__VALUE_NULL_VALUE);
  e->literal = HLY_ARENA_NEW(b->arena, Halley__Literal);
  halley__literal__init(e->literal);
  e->literal->type = x_type(b, t);
  e->literal->value_case = value;
  return e;
}

Halley__Expr *x_null(expr_builder *b, const hly_type *t) {
  Halley__Expr *e = literal(b, t, HALLEY__LITERAL__VALUE_NULL_VALUE);
  e->literal->null_value = true;
  return e;
}

Halley__Expr *x_bool(expr_builder *b, bool v) {
  Halley__Expr *e = literal(b, hly_type_of(HLY_BOOLEAN), HALLEY__LITERAL__VALUE_BOOL_VALUE);
  e->literal->bool_value = v;
  return e;
}

Halley__Expr *x_int(expr_builder *b, const hly_type *t, int64_t v) {
  Halley__Expr *e = literal(b, t, HALLEY__LITERAL__VALUE_INT_VALUE);
  e->literal->int_value = v;
  return e;
}

Halley__Expr *x_float(expr_builder *b, const hly_type *t, double v) {
  Halley__Expr *e = literal(b, t, HALLEY__LITERAL__VALUE_DOUBLE_VALUE);
  e->literal->double_value = v;
  return e;
}

Halley__Expr *x_bytes(expr_builder *b, const hly_type *t, const void *bytes, size_t n) {
  Halley__Expr *e = literal(b, t, HALLEY__LITERAL__VALUE_BYTES_VALUE);
  e->literal->bytes_value.data = (uint8_t *)hly_arena_copy(b->arena, bytes, n);
  e->literal->bytes_value.len = n;
  return e;
}

Halley__Expr *x_str(expr_builder *b, const char *s) {
  return x_bytes(b, hly_type_of(HLY_STRING), s, strlen(s));
}

Halley__Expr *x_call_n(expr_builder *b, const char *cls, const hly_type *t, uint32_t n,
                       Halley__Expr **children) {
  Halley__Expr *e = make(b, cls, t, false);
  e->children = HLY_ARENA_NEW_N(b->arena, Halley__Expr *, n + 1u);
  e->n_children = n;
  for (uint32_t i = 0; i < n; i++) {
    e->children[i] = children[i];
    e->nullable |= children[i]->nullable;
    e->deterministic &= children[i]->deterministic;
  }
  return e;
}

Halley__Expr *x_call(expr_builder *b, const char *cls, const hly_type *t, uint32_t n, ...) {
  Halley__Expr *children[16];
  va_list args;
  va_start(args, n);
  for (uint32_t i = 0; i < n && i < 16; i++) children[i] = va_arg(args, Halley__Expr *);
  va_end(args);
  return x_call_n(b, cls, t, n, children);
}

Halley__Param *x_param(expr_builder *b, Halley__Expr *e, const char *name) {
  Halley__Param **params = HLY_ARENA_NEW_N(b->arena, Halley__Param *, e->n_params + 1u);
  if (e->n_params) memcpy(params, e->params, e->n_params * sizeof *params);
  e->params = params;
  Halley__Param *p = HLY_ARENA_NEW(b->arena, Halley__Param);
  halley__param__init(p);
  p->name = hly_arena_copy(b->arena, name, strlen(name));
  params[e->n_params++] = p;
  return p;
}

void x_param_string(expr_builder *b, Halley__Expr *e, const char *name, const char *value) {
  Halley__Param *p = x_param(b, e, name);
  p->value_case = HALLEY__PARAM__VALUE_STRING_VALUE;
  p->string_value = hly_arena_copy(b->arena, value, strlen(value));
}
