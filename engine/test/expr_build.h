// Expression messages for tests, built in an arena.
#ifndef HLY_TEST_EXPR_BUILD_H
#define HLY_TEST_EXPR_BUILD_H

#include "base/arena.h"
#include "plan.pb-c.h"
#include "vector/type.h"

typedef struct expr_builder {
  hly_arena *arena;
  // What a message's `dispatch` refers to: the host's table. Every built call is in it unless `no_dispatch`.
  Halley__Expr **table;
  uint32_t n_table, cap_table;
  bool no_dispatch;
} expr_builder;

Halley__DataType *x_type(expr_builder *b, const hly_type *t);
Halley__Expr *x_col(expr_builder *b, int32_t ordinal, const hly_type *t, bool nullable);
Halley__Expr *x_null(expr_builder *b, const hly_type *t);
Halley__Expr *x_bool(expr_builder *b, bool v);
Halley__Expr *x_int(expr_builder *b, const hly_type *t, int64_t v); // everything that is an int_value
Halley__Expr *x_float(expr_builder *b, const hly_type *t, double v);
Halley__Expr *x_bytes(expr_builder *b, const hly_type *t, const void *bytes, size_t n);
Halley__Expr *x_str(expr_builder *b, const char *s);
// A call of a Catalyst class; `nullable` when a child is.
Halley__Expr *x_call(expr_builder *b, const char *cls, const hly_type *t, uint32_t n, ...);
Halley__Expr *x_call_n(expr_builder *b, const char *cls, const hly_type *t, uint32_t n,
                       Halley__Expr **children);
Halley__Param *x_param(expr_builder *b, Halley__Expr *e, const char *name); // adds one; set its value
void x_param_string(expr_builder *b, Halley__Expr *e, const char *name, const char *value);

#endif
