// TPC-H q6's predicate over batches of 8192 rows, one conjunct after another and all of them; and what a
// string predicate costs, flat and on a dictionary. Nanoseconds a row.
#include "bench/expr_bench.h"

static void run(const char *name, Halley__Expr *e) {
  hly_binder b = {.ctx = &ctx, .arena = arena};
  hly_exprs *p;
  check(hly_exprs_bind(&b, 0, (const Halley__Expr *const *)&e, 1, &schema, &p), name);
  check(hly_exprs_open(p, &ctx, 0, NULL), name);
  static uint32_t sel[N];
  uint32_t n = 0;
  bool raised;
  int64_t best = INT64_MAX;
  for (int k = 0; k < 5; k++) {
    int64_t start = cpu_ns();
    for (int i = 0; i < ROUNDS / 5; i++) check(hly_exprs_filter(p, &ctx, batch, sel, &n, &raised), name);
    int64_t took = cpu_ns() - start;
    if (took < best) best = took;
  }
  printf("%-44s %6.3f ns a row, %5u of %d rows\n", name, (double)best / (ROUNDS / 5) / N, n, N);
  hly_exprs_close(p);
}

int main(void) {
  arena = hly_arena_create();
  ctx.batch_rows = N;
  const hly_type *types[6] = {hly_type_of(HLY_DATE),   hly_type_decimal(15, 2), hly_type_decimal(15, 2),
                              hly_type_of(HLY_STRING), hly_type_of(HLY_STRING), hly_type_of(HLY_STRING)};
  for (int i = 0; i < 6; i++) fields[i] = (hly_field){.name = "c", .type = types[i], .nullable = true};
  check(hly_batch_create(&ctx, arena, &schema, &batch), "batch");
  for (int i = 0; i < 4; i++) check(hly_vector_reset(&ctx, batch->columns[i], N), "vector");
  static const char *const modes[] = {"AIR", "MAIL", "SHIP", "TRUCK", "RAIL", "FOB", "REG AIR"};
  hly_vector *dict = hly_vector_create(types[4]);
  check(dict ? hly_vector_reset(&ctx, dict, 7) : HLY_NOMEM, "dictionary");
  for (int i = 0; i < 7; i++)
    ((hly_str *)dict->values)[i] = hly_str_make(modes[i], (uint32_t)strlen(modes[i]));
  check(hly_vector_set_dict(&ctx, batch->columns[4], dict, N), "dictionary");
  uint32_t r = 12345;
  for (int i = 0; i < N; i++) {
    r = r * 1664525 + 1013904223;
    ((int32_t *)batch->columns[0]->values)[i] = 8036 + (int32_t)((r >> 8) % 2526);
    ((int64_t *)batch->columns[1]->values)[i] = (r >> 12) % 11;
    ((int64_t *)batch->columns[2]->values)[i] = ((r >> 16) % 50 + 1) * 100;
    uint32_t m = (r >> 20) % 7;
    ((hly_str *)batch->columns[3]->values)[i] = ((hly_str *)dict->values)[m];
    batch->columns[4]->indices[i] = m;
  }
  static const char *const comments[] = {"carefully final deposits sleep blithely above the even",
                                         "the special pinto beans haggle furiously with requests",
                                         "ironic accounts are quickly across the slyly bold ideas"};
  check(hly_vector_reset(&ctx, batch->columns[5], N), "vector");
  for (int i = 0; i < N; i++) {
    r = r * 1664525 + 1013904223;
    const char *c = comments[(r >> 20) % 3];
    ((hly_str *)batch->columns[5]->values)[i] = hly_str_make(c, (uint32_t)strlen(c));
  }
  hly_batch_set_rows(batch, N);
  Halley__Expr *from = call("GreaterThanOrEqual", column(0), constant(0, 8766));
  Halley__Expr *until = call("LessThan", column(0), constant(0, 9131));
  Halley__Expr *low = call("GreaterThanOrEqual", column(1), constant(1, 5));
  Halley__Expr *high = call("LessThanOrEqual", column(1), constant(1, 7));
  Halley__Expr *quantity = call("LessThan", column(2), constant(2, 2400));
  Halley__Expr *dates = call("And", from, until);
  Halley__Expr *q6 = call("And", call("And", call("And", dates, low), high), quantity);
  run("shipdate >= date", from);
  run("shipdate in a year", dates);
  run("discount between", call("And", low, high));
  run("q6", q6);
  run("shipmode = 'MAIL', flat", call("EqualTo", column(3), text("MAIL")));
  run("shipmode = 'MAIL', dictionary", call("EqualTo", column(4), text("MAIL")));
  run("shipmode like 'R%', flat", call("StartsWith", column(3), text("R")));
  run("shipmode like 'R%', dictionary", call("StartsWith", column(4), text("R")));
  run("comment contains 'special', flat", call("Contains", column(5), text("special")));
  run("comment like '%special%requests%', flat", call("Like", column(5), text("%special%requests%")));
  run("a year and shipmode = 'MAIL', flat", call("And", dates, call("EqualTo", column(3), text("MAIL"))));
  run("or of two dates", call("Or", call("LessThan", column(0), constant(0, 8100)),
                              call("GreaterThan", column(0), constant(0, 10500))));
  hly_vector_unref(dict);
  hly_arena_destroy(arena);
  return 0;
}
