// The evaluator against a row-at-a-time oracle, with a dispatcher that runs the oracle.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/expr.h"
#include "expr_oracle.h"
#include "vector/str.h"

static const hly_type *B, *L, *D, *S;

static int setup(void **state) {
  B = hly_type_of(HLY_BOOLEAN);
  L = hly_type_of(HLY_LONG);
  D = hly_type_of(HLY_DOUBLE);
  S = hly_type_of(HLY_STRING);
  return 0;
}

// ---- a small generator with a printed seed

static uint64_t rng = 1;
static uint32_t rnd(uint32_t n) {
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return (uint32_t)((rng >> 20) % n);
}

static const char *const texts[] = {
    "", "a", "abc", "abcdefghijkl", "abcdefghijklm", "zebra crossing by night", "\xff\xfe", "b"};
static const int64_t longs[] = {0, 1, -1, 2, 7, INT64_MAX, INT64_MIN, 100};
static const double doubles[] = {0.0, -0.0, 1.5, -1.5, NAN, INFINITY, -INFINITY, 2.0};

enum { N_COLUMNS = 8 }; // two of each type

typedef struct fixture {
  hly_arena *arena;
  expr_builder b;
  hly_field fields[N_COLUMNS];
  hly_schema schema;
  oracle_host host;
  hly_ctx ctx;
} fixture;

static void begin(fixture *f) {
  memset(f, 0, sizeof *f);
  f->arena = hly_arena_create();
  assert_non_null(f->arena);
  f->b.arena = f->arena;
  const hly_type *types[] = {B, L, D, S};
  for (int i = 0; i < N_COLUMNS; i++)
    f->fields[i] = (hly_field){.name = "c", .type = types[i / 2], .nullable = true};
  f->schema = (hly_schema){N_COLUMNS, f->fields};
  oracle_host_init(&f->host, &f->b, &f->schema);
  test_ctx_init(&f->ctx, &f->host.base);
}

static void end(fixture *f) {
  test_ctx_deinit(&f->ctx);
  oracle_host_deinit(&f->host);
  hly_arena_destroy(f->arena);
}

static void fill_value(const hly_type *t, void *values, uint32_t i) {
  switch (t->phys) {
  case HLY_PHYS_BOOL: ((uint8_t *)values)[i] = (uint8_t)rnd(2); break;
  case HLY_PHYS_I64: ((int64_t *)values)[i] = longs[rnd(8)]; break;
  case HLY_PHYS_F64: ((double *)values)[i] = doubles[rnd(8)]; break;
  default: {
    const char *s = texts[rnd(8)];
    ((hly_str *)values)[i] = hly_str_make(s, (uint32_t)strlen(s));
  }
  }
}

static void fill_nulls(fixture *f, hly_vector *v, uint32_t n) {
  if (rnd(3) == 0) return;
  assert_ok(&f->ctx, hly_vector_need_validity(&f->ctx, v));
  for (uint32_t i = 0; i < n; i++)
    if (rnd(4) == 0) hly_bits_clear(v->validity, i);
}

static void wild(hly_vector *v, uint32_t n) { // nobody may look at a null row's string
  if (v->type->phys != HLY_PHYS_STR || v->encoding == HLY_DICT || !v->validity) return;
  for (uint32_t i = 0; i < n; i++)
    if (!hly_bits_get(v->validity, i)) ((hly_str *)v->values)[i] = (hly_str){.len = 99};
}

static hly_batch *random_batch(fixture *f, hly_arena *arena, uint32_t n) {
  hly_batch *batch;
  assert_ok(&f->ctx, hly_batch_create(&f->ctx, arena, &f->schema, &batch));
  for (uint32_t c = 0; c < N_COLUMNS; c++) {
    hly_vector *v = batch->columns[c];
    uint32_t kind = rnd(4);
    assert_ok(&f->ctx, hly_vector_reset(&f->ctx, v, kind == 0 ? 1 : n));
    if (kind == 0) {
      fill_value(v->type, v->values, 0);
      fill_nulls(f, v, 1);
      wild(v, 1);
      v->encoding = HLY_CONST;
      v->n_rows = n;
    } else if (kind == 1) {
      hly_vector *dict = hly_vector_create(v->type);
      uint32_t n_dict = 1 + rnd(12);
      assert_ok(&f->ctx, hly_vector_reset(&f->ctx, dict, n_dict));
      for (uint32_t i = 0; i < n_dict; i++) fill_value(v->type, dict->values, i);
      assert_ok(&f->ctx, hly_vector_set_dict(&f->ctx, v, dict, n));
      hly_vector_unref(dict);
      for (uint32_t i = 0; i < n; i++) v->indices[i] = rnd(n_dict);
      fill_nulls(f, v, n);
      if (v->validity)
        for (uint32_t i = 0; i < n; i++)
          if (!hly_bits_get(v->validity, i)) v->indices[i] = 0;
    } else {
      for (uint32_t i = 0; i < n; i++) fill_value(v->type, v->values, i);
      fill_nulls(f, v, n);
      wild(v, n);
    }
  }
  hly_batch_set_rows(batch, n);
  if (rnd(2)) {
    uint32_t *sel = HLY_ARENA_NEW_N(arena, uint32_t, n + 1u), k = 0, keep = 1 + rnd(6);
    for (uint32_t i = 0; i < n; i++)
      if (rnd(keep) == 0) sel[k++] = i;
    batch->sel = sel;
    batch->n_sel = k;
  }
  return batch;
}

static Halley__Expr *gen(expr_builder *b, const hly_type *t, int depth, bool may_raise) {
  const hly_type *types[] = {B, L, D, S};
  int k = t == B ? 0 : t == L ? 1 : t == D ? 2 : 3;
  if (depth == 0 || rnd(6) == 0) {
    if (rnd(4)) return x_col(b, k * 2 + (int)rnd(2), t, true);
    if (rnd(6) == 0) return x_null(b, t);
    if (t == B) return x_bool(b, rnd(2));
    if (t == L) return x_int(b, t, longs[rnd(8)]);
    if (t == D) return x_float(b, t, doubles[rnd(8)]);
    return x_str(b, texts[rnd(8)]);
  }
#define G(type) gen(b, type, depth - 1, may_raise)
  if (t == L && may_raise && rnd(3) == 0) {
    Halley__Expr *e = x_call(b, "Add", L, 2, G(L), G(L));
    x_param_string(b, e, "evalContext.evalMode", "ANSI");
    e->nullable = true;
    return e;
  }
  if (t == B) {
    static const char *const cmp[] = {"EqualTo",     "LessThan",           "LessThanOrEqual",
                                      "GreaterThan", "GreaterThanOrEqual", "EqualNullSafe"};
    const hly_type *of = types[rnd(4)];
    switch (rnd(may_raise ? 10 : 9)) {
    case 0:
    case 1: return x_call(b, "And", B, 2, G(B), G(B));
    case 2:
    case 3: return x_call(b, "Or", B, 2, G(B), G(B));
    case 4: return x_call(b, "Not", B, 1, G(B));
    case 5: return x_call(b, rnd(2) ? "IsNull" : "IsNotNull", B, 1, G(of));
    case 6: {
      Halley__Expr *c[14];
      uint32_t n = 2 + rnd(12);
      c[0] = G(of);
      for (uint32_t i = 1; i < n; i++) c[i] = gen(b, of, rnd(5) == 0, may_raise);
      return x_call_n(b, "In", B, n, c);
    }
    case 9: return x_call(b, "RaiseIf", B, 1, G(B));
    default: return x_call(b, cmp[rnd(6)], B, 2, G(of), G(of));
    }
  }
  switch (rnd(5)) {
  case 0: return x_call(b, "If", t, 3, G(B), G(t), G(t));
  case 1: return x_call(b, "CaseWhen", t, 4, G(B), G(t), G(B), G(t));
  case 2: return x_call(b, "CaseWhen", t, 5, G(B), G(t), G(B), G(t), G(t));
  case 3: return x_call(b, "Opaque", t, 1, G(t));
  default:
    return t == D && rnd(2) ? x_call(b, "NaNvl", t, 2, G(t), G(t))
                            : x_call(b, "Coalesce", t, 3, G(t), G(t), G(t));
  }
}

static void print_expr(const Halley__Expr *e) {
  print_error("%s", e->cls);
  if (!strcmp(e->cls, "BoundReference")) print_error("#%d", e->ordinal);
  if (!strcmp(e->cls, "Literal") && e->literal->value_case == HALLEY__LITERAL__VALUE_INT_VALUE)
    print_error(" %lld", (long long)e->literal->int_value);
  if (!e->n_children) return;
  for (size_t i = 0; i < e->n_children; i++) {
    print_error(i ? ", " : "(");
    print_expr(e->children[i]);
  }
  print_error(")");
}

static uint32_t row_at(const hly_batch *b, uint32_t k) {
  return b->sel ? b->sel[k] : k;
}

static void check_eval(fixture *f, hly_exprs *p, Halley__Expr **e, uint32_t n, const hly_batch *batch) {
  hly_vector *out[8];
  uint32_t n_good;
  assert_ok(&f->ctx, hly_exprs_eval(p, &f->ctx, batch, out, &n_good));
  uint32_t want_good = batch->n_sel;
  for (uint32_t k = 0; k < batch->n_sel; k++) {
    bool raised = false;
    for (uint32_t i = 0; i < n && !raised; i++) {
      oracle_value want = oracle_eval(e[i], batch, row_at(batch, k), &f->host.counter);
      raised = want.raised;
      if (raised || k >= n_good) continue;
      oracle_value got = oracle_load(out[i], row_at(batch, k));
      if (!oracle_same(hly_exprs_type(p, i), want, got)) {
        print_error("expression %u (%s) row %u: want null=%d %lld %g, got null=%d %lld %g\n", i, e[i]->cls,
                    row_at(batch, k), want.null, (long long)want.i, want.d, got.null, (long long)got.i,
                    got.d);
        print_expr(e[i]);
        fail();
      }
    }
    if (raised) {
      want_good = k;
      break;
    }
  }
  if (n_good != want_good) {
    print_error("%u rows of %u are good, want %u:\n", n_good, batch->n_sel, want_good);
    for (uint32_t i = 0; i < n; i++) {
      print_expr(e[i]);
      print_error("\n");
    }
    fail();
  }
  char message[256];
  if (n_good == batch->n_sel && !batch->sel)
    for (uint32_t i = 0; i < n; i++)
      if (out[i]->type->phys != HLY_PHYS_STR && !hly_vector_check(out[i], message, sizeof message))
        fail_msg("%s", message);
  hly_status st = hly_exprs_raise(p, &f->ctx);
  assert_int_equal(st, want_good < batch->n_sel ? HLY_ERR : HLY_OK);
  if (st == HLY_ERR) assert_true(f->ctx.error.jvm_ref >= 1000);
  hly_error_clear(&f->ctx.error);
}

static bool conjuncts_true(const Halley__Expr *e, const hly_batch *batch, uint32_t row, int64_t *counter,
                           bool *raised) {
  if (!strcmp(e->cls, "And"))
    return conjuncts_true(e->children[0], batch, row, counter, raised) && !*raised &&
           conjuncts_true(e->children[1], batch, row, counter, raised);
  oracle_value v = oracle_eval(e, batch, row, counter);
  *raised = v.raised;
  return !v.raised && !v.null && v.i;
}

static void check_filter(fixture *f, hly_exprs *p, const Halley__Expr *e, const hly_batch *batch) {
  uint32_t *sel = malloc((batch->n_sel + 1u) * sizeof *sel), n_out, k_out = 0;
  bool raised, want_raised = false;
  assert_ok(&f->ctx, hly_exprs_filter(p, &f->ctx, batch, sel, &n_out, &raised));
  for (uint32_t k = 0; k < batch->n_sel && !want_raised; k++) {
    uint32_t row = row_at(batch, k);
    if (!conjuncts_true(e, batch, row, &f->host.counter, &want_raised)) continue;
    assert_true(k_out < n_out);
    assert_int_equal(sel[k_out++], row);
  }
  assert_int_equal(n_out, k_out);
  assert_int_equal(raised, want_raised);
  assert_int_equal(hly_exprs_raise(p, &f->ctx), raised ? HLY_ERR : HLY_OK);
  hly_error_clear(&f->ctx.error);
  free(sel);
}

static bool top_level_not_null(const Halley__Expr *e) {
  if (!strcmp(e->cls, "And")) return top_level_not_null(e->children[0]) || top_level_not_null(e->children[1]);
  return !strcmp(e->cls, "IsNotNull") && !strcmp(e->children[0]->cls, "BoundReference");
}

static void test_random(void **state) {
  const char *asked = getenv("HALLEY_TEST_SEED");
  uint64_t seed = asked ? strtoull(asked, NULL, 10) : 20260729;
  print_message("seed %llu\n", (unsigned long long)seed);
  for (int round = 0; round < 1500; round++) {
    rng = (seed + (uint64_t)round) * 0x9e3779b97f4a7c15ull | 1;
    fixture f;
    begin(&f);
    hly_arena *arena = hly_arena_create();
    bool may_raise = rnd(2);
    uint32_t n = 1 + rnd(4);
    const hly_type *types[] = {B, L, D, S};
    Halley__Expr *e[4], *predicate;
    for (uint32_t i = 0; i < n; i++) e[i] = gen(&f.b, types[rnd(4)], 1 + (int)rnd(4), may_raise);
    do predicate = gen(&f.b, B, 1 + (int)rnd(4), may_raise);
    while (top_level_not_null(predicate));
    f.host.max_rows = rnd(2) ? 1 + rnd(20) : 0;
    hly_binder b = {.ctx = &f.ctx, .arena = arena};
    hly_exprs *p, *q;
    assert_ok(&f.ctx, hly_exprs_bind(&b, 1, (const Halley__Expr *const *)e, n, &f.schema, &p));
    assert_ok(&f.ctx, hly_exprs_bind(&b, 1, (const Halley__Expr *const *)&predicate, 1, &f.schema, &q));
    assert_ok(&f.ctx, hly_exprs_open(p, &f.ctx, 0, NULL));
    assert_ok(&f.ctx, hly_exprs_open(q, &f.ctx, 0, NULL));
    for (int k = 0; k < 3; k++) {
      hly_arena *rows = hly_arena_create();
      hly_batch *batch = random_batch(&f, rows, rnd(3) ? rnd(40) : rnd(300));
      check_eval(&f, p, e, n, batch);
      check_filter(&f, q, predicate, batch);
      check_eval(&f, q, &predicate, 1, batch);
      hly_arena_destroy(rows);
    }
    hly_exprs_close(p);
    hly_exprs_close(q);
    hly_arena_destroy(arena);
    end(&f);
  }
}

// ---- single cases

static hly_exprs *bind_one(fixture *f, Halley__Expr *e, hly_status want) {
  hly_binder b = {.ctx = &f->ctx, .arena = f->arena};
  hly_exprs *p = NULL;
  hly_status st = hly_exprs_bind(&b, 1, (const Halley__Expr *const *)&e, 1, &f->schema, &p);
  if (want == HLY_OK) {
    for (uint32_t i = 0; i < b.n_reasons; i++) print_message("reason: %s\n", b.reasons[i]);
    assert_ok(&f->ctx, st);
    assert_ok(&f->ctx, hly_exprs_open(p, &f->ctx, 0, NULL));
  } else {
    assert_int_equal(st, want);
    if (want == HLY_REFUSED) assert_true(b.n_reasons > 0);
  }
  return p;
}

static hly_batch *long_batch(fixture *f, uint32_t n) { // column 2: 0, 1, 2, ...
  hly_batch *batch;
  assert_ok(&f->ctx, hly_batch_create(&f->ctx, f->arena, &f->schema, &batch));
  for (uint32_t c = 0; c < N_COLUMNS; c++) {
    assert_ok(&f->ctx, hly_vector_reset(&f->ctx, batch->columns[c], n));
    memset(batch->columns[c]->values, 0, n * hly_phys_size[batch->columns[c]->type->phys]);
  }
  for (uint32_t i = 0; i < n; i++) ((int64_t *)batch->columns[2]->values)[i] = i;
  hly_batch_set_rows(batch, n);
  return batch;
}

// A nondeterministic conjunct is evaluated once for each row that reaches it, in order.
static void test_nondeterministic(void **state) {
  fixture f;
  begin(&f);
  Halley__Expr *counter = x_call(&f.b, "Counter", L, 0);
  counter->deterministic = false;
  Halley__Expr *e =
      x_call(&f.b, "And", B, 2,
             x_call(&f.b, "GreaterThanOrEqual", B, 2, x_col(&f.b, 2, L, false), x_int(&f.b, L, 50)),
             x_call(&f.b, "LessThan", B, 2, counter, x_int(&f.b, L, 7)));
  hly_exprs *p = bind_one(&f, e, HLY_OK);
  hly_batch *batch = long_batch(&f, 100);
  uint32_t sel[100], n;
  bool raised;
  assert_ok(&f.ctx, hly_exprs_filter(p, &f.ctx, batch, sel, &n, &raised));
  assert_int_equal(n, 7);
  assert_int_equal(sel[0], 50);
  assert_int_equal(sel[6], 56);
  assert_int_equal(f.host.n_rows, 50);
  hly_exprs_close(p);
  // Two of them are two, though they look the same.
  Halley__Expr *two = x_call(&f.b, "Counter", L, 0);
  two->deterministic = false;
  Halley__Expr *same = x_call(&f.b, "EqualTo", B, 2, counter, two);
  p = bind_one(&f, same, HLY_OK);
  hly_vector *out;
  f.host.n_rows = 0;
  assert_ok(&f.ctx, hly_exprs_eval(p, &f.ctx, batch, &out, &n));
  assert_int_equal(f.host.n_rows, 200);
  hly_exprs_close(p);
  end(&f);
}

// Unconditional dispatched expressions share one call; a common one is evaluated once.
static void test_merged(void **state) {
  fixture f;
  begin(&f);
  Halley__Expr *e[3];
  e[0] = x_call(&f.b, "Opaque", L, 1, x_col(&f.b, 2, L, false));
  e[1] = x_call(&f.b, "Opaque", L, 1, x_col(&f.b, 2, L, false));
  e[2] = x_call(&f.b, "Not", B, 1, x_call(&f.b, "Opaque", B, 1, x_col(&f.b, 0, B, false)));
  hly_binder b = {.ctx = &f.ctx, .arena = f.arena};
  hly_exprs *p;
  assert_ok(&f.ctx, hly_exprs_bind(&b, 1, (const Halley__Expr *const *)e, 3, &f.schema, &p));
  assert_int_equal(b.n_dispatched, 1);
  assert_string_equal(b.dispatched[0], "Opaque");
  int64_t metrics[HALLEY__METRIC__N_METRICS] = {0};
  assert_ok(&f.ctx, hly_exprs_open(p, &f.ctx, 0, metrics));
  hly_vector *out[3];
  uint32_t n;
  assert_ok(&f.ctx, hly_exprs_eval(p, &f.ctx, long_batch(&f, 10), out, &n));
  assert_int_equal(f.host.n_calls, 1);
  assert_int_equal(metrics[HALLEY__METRIC__DISPATCHED_ROWS], 10);
  assert_ptr_equal(out[0], out[1]);
  const uint32_t *refs;
  assert_int_equal(hly_exprs_refs(p, UINT32_MAX, &refs), 2);
  assert_int_equal(refs[0], 0);
  assert_int_equal(refs[1], 2);
  assert_true(hly_exprs_can_raise(p));
  hly_exprs_close(p);
  end(&f);
}

// What must not bind, and why.
static void test_refused(void **state) {
  fixture f;
  begin(&f);
  f.b.no_dispatch = true;
  bind_one(&f, x_call(&f.b, "Opaque", L, 1, x_col(&f.b, 2, L, false)), HLY_REFUSED);
  Halley__Expr *add = x_call(&f.b, "Add", L, 2, x_col(&f.b, 2, L, false), x_col(&f.b, 3, L, false));
  x_param_string(&f.b, add, "evalContext.evalMode", "ANSI");
  bind_one(&f, add, HLY_REFUSED); // may raise and has nobody to raise it
  Halley__Expr *not_ = x_call(&f.b, "Not", B, 1, x_col(&f.b, 0, B, false));
  hly_exprs_close(bind_one(&f, not_, HLY_OK));
  x_param_string(&f.b, not_, "surprise", "x");
  bind_one(&f, not_, HLY_REFUSED); // a parameter the row does not declare
  hly_type collated = *S;
  collated.collation = "UNICODE_CI";
  f.fields[6].type = &collated;
  bind_one(&f,
           x_call(&f.b, "EqualTo", B, 2, x_col(&f.b, 6, &collated, true), x_col(&f.b, 6, &collated, true)),
           HLY_REFUSED);
  f.fields[6].type = S;
  bind_one(&f, x_col(&f.b, 99, L, true), HLY_ERR);
  hly_error_clear(&f.ctx.error);
  bind_one(&f, x_col(&f.b, 0, L, true), HLY_ERR); // another type than the column's
  hly_error_clear(&f.ctx.error);
  f.b.no_dispatch = false;
  // A switch forbids the dispatcher too, at any depth.
  Halley__Expr *inner = x_call(&f.b, "Not", B, 1, x_col(&f.b, 0, B, false));
  inner->refused = (char *)"switched off";
  bind_one(&f, x_call(&f.b, "Opaque", B, 1, inner), HLY_REFUSED);
  end(&f);
}

// Rows go to the dispatcher in blocks of a few megabytes, a row larger than that in one of its own.
static void test_large_rows(void **state) {
  fixture f;
  begin(&f);
  hly_batch *batch = long_batch(&f, 7);
  const uint32_t sizes[7] = {3 << 20, 10, 3 << 20, 9 << 20, 0, 5 << 20, 1};
  const uint32_t n_big = (9u << 20) + 7; // row i starts at byte i
  char *big = malloc(n_big);
  for (uint32_t i = 0; i < n_big; i++) big[i] = (char)('a' + i % 23);
  for (uint32_t i = 0; i < 7; i++)
    ((hly_str *)batch->columns[6]->values)[i] = hly_str_make(big + i, sizes[i]);
  batch->columns[6]->n_rows = 7;
  Halley__Expr *e = x_call(&f.b, "Opaque", S, 1, x_col(&f.b, 6, S, true));
  hly_exprs *p = bind_one(&f, e, HLY_OK);
  hly_vector *out;
  uint32_t n;
  assert_ok(&f.ctx, hly_exprs_eval(p, &f.ctx, batch, &out, &n));
  assert_int_equal(n, 7);
  assert_true(f.host.n_calls >= 3);
  assert_int_equal(f.host.n_rows, 7);
  for (uint32_t i = 0; i < 7; i++) {
    oracle_value got = oracle_load(out, i);
    assert_int_equal(got.n, sizes[i]);
    assert_memory_equal(got.s, big + i, sizes[i]);
  }
  hly_exprs_close(p);
  free(big);
  end(&f);
}

// Binding keeps its memory in the arena, also for programs that nobody opens.
static void test_bind_leaves_nothing(void **state) {
  fixture f;
  begin(&f);
  Halley__Expr *add =
      x_call(&f.b, "Add", L, 2, x_int(&f.b, L, INT64_MAX), x_int(&f.b, L, 1)); // cannot be folded
  x_param_string(&f.b, add, "evalContext.evalMode", "ANSI");
  Halley__Expr *sum = x_call(&f.b, "Add", L, 2, x_int(&f.b, L, 1), x_int(&f.b, L, 2));
  x_param_string(&f.b, sum, "evalContext.evalMode", "ANSI");
  Halley__Expr *e[] = {add, sum, x_call(&f.b, "EqualTo", B, 2, x_str(&f.b, texts[5]), x_str(&f.b, texts[4]))};
  int64_t before = hly_mem_in_use();
  hly_arena *arena = hly_arena_create();
  hly_binder b = {.ctx = &f.ctx, .arena = arena};
  hly_exprs *p;
  assert_ok(&f.ctx, hly_exprs_bind(&b, 1, (const Halley__Expr *const *)e, 3, &f.schema, &p));
  assert_true(hly_exprs_can_raise(p));
  hly_arena_destroy(arena);
  assert_int_equal(hly_mem_in_use(), before);
  end(&f);
}

// A predicate on a dictionary is computed once a dictionary, not once a batch.
static void test_dictionary(void **state) {
  fixture f;
  begin(&f);
  hly_batch *batch = long_batch(&f, 64);
  hly_vector *dict = hly_vector_create(S), *v = batch->columns[6];
  assert_ok(&f.ctx, hly_vector_reset(&f.ctx, dict, 3));
  for (uint32_t i = 0; i < 3; i++)
    ((hly_str *)dict->values)[i] = hly_str_make(texts[i + 3], (uint32_t)strlen(texts[i + 3]));
  assert_ok(&f.ctx, hly_vector_set_dict(&f.ctx, v, dict, 64));
  hly_vector_unref(dict);
  for (uint32_t i = 0; i < 64; i++) v->indices[i] = i % 3;
  Halley__Expr *e =
      x_call(&f.b, "Or", B, 2, x_call(&f.b, "EqualTo", B, 2, x_col(&f.b, 6, S, true), x_str(&f.b, texts[4])),
             x_call(&f.b, "LessThan", B, 2, x_col(&f.b, 6, S, true), x_str(&f.b, texts[4])));
  hly_exprs *p = bind_one(&f, e, HLY_OK);
  uint32_t sel[64], n;
  bool raised;
  for (int k = 0; k < 2; k++) {
    assert_ok(&f.ctx, hly_exprs_filter(p, &f.ctx, batch, sel, &n, &raised));
    assert_int_equal(n, 43);                               // 22 of each of the first two, less one
    ((hly_str *)dict->values)[0] = hly_str_make("zzz", 3); // not looked at again
  }
  hly_exprs_close(p);
  end(&f);
}

typedef struct nomem_case {
  fixture f;
  Halley__Expr *e[3];
  hly_batch *batch;
} nomem_case;

static hly_status nomem_body(void *arg) {
  nomem_case *c = arg;
  hly_arena *arena = hly_arena_create();
  hly_error_clear(&c->f.ctx.error);
  if (!arena) return HLY_NOMEM;
  hly_binder b = {.ctx = &c->f.ctx, .arena = arena};
  hly_exprs *p = NULL;
  hly_vector *out[3];
  uint32_t n;
  hly_status st = hly_exprs_bind(&b, 1, (const Halley__Expr *const *)c->e, 3, &c->f.schema, &p);
  if (st == HLY_OK) st = hly_exprs_open(p, &c->f.ctx, 0, NULL);
  if (st == HLY_OK) st = hly_exprs_eval(p, &c->f.ctx, c->batch, out, &n);
  hly_exprs_close(p);
  p = NULL;
  if (st == HLY_OK) st = hly_exprs_bind(&b, 1, (const Halley__Expr *const *)&c->e[1], 1, &c->f.schema, &p);
  if (st == HLY_OK) st = hly_exprs_open(p, &c->f.ctx, 0, NULL);
  uint32_t sel[64];
  bool raised;
  if (st == HLY_OK) st = hly_exprs_filter(p, &c->f.ctx, c->batch, sel, &n, &raised);
  hly_exprs_close(p);
  hly_arena_destroy(arena);
  oracle_host_deinit(&c->f.host);
  return st;
}

static void test_nomem(void **state) {
  nomem_case c;
  for (uint64_t s = 0; s < 4; s++) {
    rng = 77 + s;
    begin(&c.f);
    c.e[0] = gen(&c.f.b, S, 4, s % 2);
    c.e[1] = gen(&c.f.b, B, 4, s % 2);
    c.e[2] = x_call(&c.f.b, "Opaque", L, 1, gen(&c.f.b, L, 2, false));
    c.batch = random_batch(&c.f, c.f.arena, 50);
    test_failing_allocations(nomem_body, &c, 400);
    end(&c.f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),     cmocka_unit_test(test_nondeterministic),
      cmocka_unit_test(test_merged),     cmocka_unit_test(test_refused),
      cmocka_unit_test(test_dictionary), cmocka_unit_test(test_nomem),
      cmocka_unit_test(test_large_rows), cmocka_unit_test(test_bind_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
