// TPC-H q6's predicate over batches of 8192 rows, one conjunct after another and all of them; and what a
// string predicate costs, flat and on a dictionary. Nanoseconds a row.
#include "bench/expr_bench.h"

static Halley__Expr *arithmetic(const char *cls, int precision, int scale, Halley__Expr *a, Halley__Expr *b) {
  static char name[] = "evalContext.evalMode", mode[] = "ANSI";
  Halley__Expr *e = call(cls, a, b);
  e->type = type_message(hly_type_decimal(precision, scale));
  e->nullable = true;
  e->dispatch = 1;
  e->params = HLY_ARENA_NEW_N(arena, Halley__Param *, 1);
  e->n_params = 1;
  e->params[0] = HLY_ARENA_NEW(arena, Halley__Param);
  halley__param__init(e->params[0]);
  e->params[0]->name = name;
  e->params[0]->value_case = HALLEY__PARAM__VALUE_STRING_VALUE;
  e->params[0]->string_value = mode;
  return e;
}

static Halley__Expr *decimal(int precision, int scale, int64_t v) {
  Halley__Expr *e = constant(1, v);
  e->type = e->literal->type = type_message(hly_type_decimal(precision, scale));
  return e;
}

static void run(const char *name, Halley__Expr **e, uint32_t n) {
  hly_binder b = {.ctx = &ctx, .arena = arena};
  hly_exprs *p;
  hly_status st = hly_exprs_bind(&b, 0, (const Halley__Expr *const *)e, n, &schema, &p);
  for (uint32_t i = 0; i < b.n_reasons; i++) printf("%s\n", b.reasons[i]);
  for (uint32_t i = 0; i < b.n_dispatched; i++) printf("dispatched: %s\n", b.dispatched[i]);
  check(st, name);
  check(hly_exprs_open(p, &ctx, 0, NULL), name);
  hly_vector *out[4];
  uint32_t n_good = 0;
  int64_t best = INT64_MAX;
  for (int k = 0; k < 5; k++) {
    int64_t start = cpu_ns();
    for (int i = 0; i < ROUNDS / 5; i++) check(hly_exprs_eval(p, &ctx, batch, out, &n_good), name);
    int64_t took = cpu_ns() - start;
    if (took < best) best = took;
  }
  printf("%-44s %6.3f ns a row, %u good\n", name, (double)best / (ROUNDS / 5) / N, n_good);
  hly_exprs_close(p);
}

int main(void) {
  arena = hly_arena_create();
  ctx.batch_rows = N;
  const hly_type *money = hly_type_decimal(15, 2);
  const hly_type *types[6] = {hly_type_of(HLY_STRING), money, money, money, hly_type_of(HLY_DATE),
                              hly_type_of(HLY_LONG)};
  for (int i = 0; i < 6; i++) fields[i] = (hly_field){.name = "c", .type = types[i], .nullable = true};
  check(hly_batch_create(&ctx, arena, &schema, &batch), "batch");
  for (int i = 0; i < 6; i++) check(hly_vector_reset(&ctx, batch->columns[i], N), "vector");
  static const char *const kinds[] = {"PROMO BURNISHED COPPER", "STANDARD POLISHED TIN",
                                      "SMALL PLATED STEEL"};
  uint32_t r = 12345;
  for (int i = 0; i < N; i++) {
    r = r * 1664525 + 1013904223;
    const char *k = kinds[(r >> 20) % 3];
    ((hly_str *)batch->columns[0]->values)[i] = hly_str_make(k, (uint32_t)strlen(k));
    ((int64_t *)batch->columns[1]->values)[i] = 90000 + (r >> 8) % 10000000; // price
    ((int64_t *)batch->columns[2]->values)[i] = (r >> 12) % 11;              // discount
    ((int64_t *)batch->columns[3]->values)[i] = (r >> 16) % 9;               // tax
    ((int32_t *)batch->columns[4]->values)[i] = 8036 + (int32_t)((r >> 8) % 2526);
    ((int64_t *)batch->columns[5]->values)[i] = r;
  }
  hly_batch_set_rows(batch, N);
  Halley__Expr *left = arithmetic("Subtract", 16, 2, decimal(1, 0, 1), column(2));
  Halley__Expr *more = arithmetic("Add", 16, 2, decimal(1, 0, 1), column(3));
  Halley__Expr *price = arithmetic("Multiply", 32, 4, column(1), left);
  Halley__Expr *charge = arithmetic("Multiply", 38, 6, price, more);
  run("1 - discount", &left, 1);
  run("price * (1 - discount)", &price, 1);
  Halley__Expr *q1[] = {price, charge};
  run("q1", q1, 2);
  Halley__Expr *promo = expr("CaseWhen", hly_type_decimal(32, 4));
  promo->children = HLY_ARENA_NEW_N(arena, Halley__Expr *, 3);
  promo->n_children = 3;
  promo->children[0] = call("StartsWith", column(0), text("PROMO"));
  promo->children[1] = price;
  promo->children[2] = expr("Literal", hly_type_decimal(32, 4));
  promo->children[2]->literal = HLY_ARENA_NEW(arena, Halley__Literal);
  halley__literal__init(promo->children[2]->literal);
  promo->children[2]->literal->type = type_message(hly_type_decimal(32, 4));
  promo->children[2]->literal->value_case = HALLEY__LITERAL__VALUE_INT_VALUE;
  Halley__Expr *q14[] = {promo, price};
  run("q14", q14, 2);
  hly_arena_destroy(arena);
  return 0;
}
