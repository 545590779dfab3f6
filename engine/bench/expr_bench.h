// What the benches of expressions share: messages of expressions over one batch.
// Part of each bench's one file.
#ifndef HLY_BENCH_EXPR_BENCH_H
#define HLY_BENCH_EXPR_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench.h"
#include "expr/expr.h"
#include "vector/str.h"

enum { N = 8192, ROUNDS = 4000 };

static hly_arena *arena;
static hly_ctx ctx;
static hly_field fields[6];
static const hly_schema schema = {6, fields};
static hly_batch *batch;

static void check(hly_status st, const char *what) {
  if (st == HLY_OK) return;
  fprintf(stderr, "%s: status %d\n", what, (int)st);
  exit(1);
}

static Halley__DataType *type_message(const hly_type *t) {
  Halley__DataType *m = HLY_ARENA_NEW(arena, Halley__DataType);
  halley__data_type__init(m);
  m->kind = (Halley__Kind)t->kind;
  m->precision = t->precision;
  m->scale = t->scale;
  return m;
}

static Halley__Expr *expr(const char *cls, const hly_type *t) {
  Halley__Expr *e = HLY_ARENA_NEW(arena, Halley__Expr);
  halley__expr__init(e);
  e->cls = hly_arena_copy(arena, cls, strlen(cls));
  e->type = type_message(t);
  e->deterministic = true;
  return e;
}

static Halley__Expr *call(const char *cls, Halley__Expr *a, Halley__Expr *b) {
  Halley__Expr *e = expr(cls, hly_type_of(HLY_BOOLEAN));
  e->n_children = b ? 2 : 1;
  e->children = HLY_ARENA_NEW_N(arena, Halley__Expr *, 2);
  e->children[0] = a;
  e->children[1] = b;
  return e;
}

static Halley__Expr *column(int ordinal) {
  Halley__Expr *e = expr("BoundReference", fields[ordinal].type);
  e->ordinal = ordinal;
  return e;
}

static Halley__Expr *constant(int ordinal, int64_t v) {
  Halley__Expr *e = expr("Literal", fields[ordinal].type);
  e->literal = HLY_ARENA_NEW(arena, Halley__Literal);
  halley__literal__init(e->literal);
  e->literal->type = type_message(fields[ordinal].type);
  e->literal->value_case = HALLEY__LITERAL__VALUE_INT_VALUE;
  e->literal->int_value = v;
  return e;
}

static Halley__Expr *text(const char *s) {
  Halley__Expr *e = expr("Literal", hly_type_of(HLY_STRING));
  e->literal = HLY_ARENA_NEW(arena, Halley__Literal);
  halley__literal__init(e->literal);
  e->literal->type = type_message(hly_type_of(HLY_STRING));
  e->literal->value_case = HALLEY__LITERAL__VALUE_BYTES_VALUE;
  e->literal->bytes_value.data = (uint8_t *)hly_arena_copy(arena, s, strlen(s));
  e->literal->bytes_value.len = strlen(s);
  return e;
}

#endif
