// HashAggregate: every function in every mode against sums made by hand or against one big aggregate; memory
// that runs out; keys of every type.
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "batch_source.h"
#include "operators/hash_aggregate.h"
#include "plan_build.h"
#include "random_batch.h"
#include "type_text.h"
#include "vector/decimal.h"

#define PARTIAL HALLEY__AGG_MODE__PARTIAL
#define MERGE HALLEY__AGG_MODE__PARTIAL_MERGE
#define FINAL HALLEY__AGG_MODE__FINAL
#define COMPLETE HALLEY__AGG_MODE__COMPLETE

typedef struct call_spec {
  const char *cls, *type, *buffer;
  int column;                 // argument; -1: none
  const char *param, *string; // string NULL: true
} call_spec;

static const char INPUT[] = "struct<k1:bigint,k2:string,i:int,l:bigint,d:double,f:float,s:string,m:decimal("
                            "10,2),w:decimal(30,4),b:boolean>";
static const call_spec CALLS[] = {
    {"Count", "bigint", "struct<c:bigint>", -1, NULL, NULL},
    {"Count", "bigint", "struct<c:bigint>", 6, NULL, NULL},
    {"Sum", "bigint", "struct<s:bigint>", 2, "evalContext.evalMode", "LEGACY"},
    {"Sum", "bigint", "struct<s:bigint>", 3, "evalContext.evalMode", "LEGACY"},
    {"Sum", "bigint", "struct<s:bigint,e:boolean>", 2, "evalContext.evalMode", "TRY"},
    {"Sum", "decimal(20,2)", "struct<s:decimal(20,2),e:boolean>", 7, "evalContext.evalMode", "LEGACY"},
    {"Sum", "decimal(38,4)", "struct<s:decimal(38,4),e:boolean>", 8, "evalContext.evalMode", "LEGACY"},
    {"Average", "double", "struct<s:double,c:bigint>", 2, "evalMode", "LEGACY"},
    {"Average", "decimal(14,6)", "struct<s:decimal(20,2),c:bigint>", 7, "evalMode", "LEGACY"},
    {"Average", "decimal(34,8)", "struct<s:decimal(38,4),c:bigint>", 8, "evalMode", "LEGACY"},
    {"Min", "double", "struct<m:double>", 4, NULL, NULL},
    {"Max", "float", "struct<m:float>", 5, NULL, NULL},
    {"Min", "string", "struct<m:string>", 6, NULL, NULL},
    {"Max", "string", "struct<m:string>", 6, NULL, NULL},
    {"Max", "decimal(30,4)", "struct<m:decimal(30,4)>", 8, NULL, NULL},
    {"Min", "boolean", "struct<m:boolean>", 9, NULL, NULL},
};
enum { N_CALLS = sizeof CALLS / sizeof *CALLS };

typedef struct bench {
  test_host host;
  hly_ctx ctx;
  hly_arena *arena;
  expr_builder b;
  hly_schema input;
} bench;

static void start(bench *t, int64_t limit, uint32_t batch_rows) {
  memset(t, 0, sizeof *t);
  test_host_init(&t->host, limit);
  test_ctx_init(&t->ctx, &t->host);
  t->ctx.batch_rows = batch_rows;
  t->arena = hly_arena_create();
  t->b.arena = t->arena;
  t->b.no_dispatch = true;
  t->input = test_schema(t->arena, INPUT);
}

static void finish(bench *t) {
  hly_arena_destroy(t->arena);
  test_ctx_deinit(&t->ctx);
}

// Keys and calls over columns of the input (PARTIAL, COMPLETE) or over the buffers of the input (MERGE,
// FINAL).
static Halley__Plan *aggregate(bench *t, Halley__Plan *in, const hly_schema *schema, uint32_t n_keys,
                               const call_spec *specs, uint32_t n_calls, Halley__AggMode mode,
                               hly_schema *output) {
  bool merges = mode == MERGE || mode == FINAL;
  Halley__Expr **keys = HLY_ARENA_NEW_N(t->arena, Halley__Expr *, n_keys + 1);
  for (uint32_t k = 0; k < n_keys; k++) keys[k] = p_field(&t->b, schema, k);
  Halley__AggCall **calls = HLY_ARENA_NEW_N(t->arena, Halley__AggCall *, n_calls + 1);
  int32_t at = (int32_t)n_keys;
  for (uint32_t c = 0; c < n_calls; c++) {
    const call_spec *s = &specs[c];
    Halley__Expr *arg = merges || s->column < 0 ? NULL : p_field(&t->b, schema, (uint32_t)s->column);
    calls[c] = p_call(&t->b, s->cls, mode, s->type, s->buffer, arg, at);
    if (s->param) p_call_param(&t->b, calls[c], s->param, s->string, true);
    at += (int32_t)calls[c]->n_buffer;
  }
  return p_aggregate(&t->b, in, n_keys, keys, n_calls, calls, output);
}

// The operator at the bottom of the chain.
static hly_op *bottom(hly_op *op) {
  while (op->n_inputs && op->inputs[0]->n_inputs) op = op->inputs[0];
  return op;
}

// Batches of the test's input, the same for a seed whatever the batch size: rows in groups of a few keys.
static hly_batch **make_batches(bench *t, uint64_t seed, uint32_t n_batches, uint32_t rows, uint32_t keys,
                                hly_encoding encoding, uint32_t max_string) {
  test_random r = {seed};
  hly_batch **batches = HLY_ARENA_NEW_N(t->arena, hly_batch *, n_batches + 1);
  for (uint32_t i = 0; i < n_batches; i++) {
    test_shape shape = {
        .n_rows = rows, .null_percent = 10, .distinct = keys, .max_string = max_string, .encoding = encoding};
    batches[i] = test_shaped_batch(&t->ctx, t->arena, &r, &t->input, &shape, NULL);
  }
  return batches;
}

typedef struct setup {
  int64_t limit;
  uint32_t batch_rows, keys, n_batches, rows;
  hly_encoding encoding;
  uint32_t stages; // 1 COMPLETE; 2 PARTIAL, FINAL; 3 PARTIAL, PARTIAL_MERGE, FINAL
  uint32_t n_keys;
  uint32_t max_string;
} setup;

static void run(bench *t, plan_run *r, const setup *u) {
  start(t, u->limit, u->batch_rows);
  hly_schema schema = t->input;
  Halley__Plan *plan = p_input(&t->b, &schema);
  const Halley__AggMode chain[3][3] = {{COMPLETE}, {PARTIAL, FINAL}, {PARTIAL, MERGE, FINAL}};
  for (uint32_t i = 0; i < u->stages; i++) {
    hly_schema output;
    plan = aggregate(t, plan, &schema, u->n_keys, CALLS, N_CALLS, chain[u->stages - 1][i], &output);
    schema = output;
  }
  plan_bind(r, &t->ctx, t->arena, plan);
  hly_batch **batches = make_batches(t, 7, u->n_batches, u->rows, u->keys, u->encoding, u->max_string);
  batch_source source;
  batch_source_attach(&source, bottom(r->op), 0, batches, u->n_batches);
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_ok(&t->ctx, plan_drain(r, &task));
  plan_sort_lines(r);
}

// The same rows through one stage or three, batches of any size, memory or none, plain or encoded: one
// answer. (Sums of doubles are left out: they depend on the order.)
static void test_same_answer_every_way(void **state) {
  const setup base = {-1, 8192, 50, 20, 500, HLY_FLAT, 1, 2, 30};
  bench t0;
  plan_run expected;
  run(&t0, &expected, &base);
  assert_true(expected.n_lines > 100);
  for (uint32_t stages = 1; stages <= 3; stages++) {
    static const uint32_t sizes[] = {1, 2, 7, 8192};
    for (int i = 0; i < 4; i++) {
      for (int small = 0; small < 2; small++) {
        setup u = base;
        u.stages = stages;
        u.batch_rows = sizes[i];
        u.limit = small ? 64 << 10 : -1;
        bench t;
        plan_run r;
        run(&t, &r, &u);
        plan_assert_same(&expected, &r);
        assert_true(r.most_rows <= sizes[i]);
        finish(&t);
      }
    }
  }
  finish(&t0);
}

// Keys whose hashes collide, all of them or in the slot or in the salt only: the answer does not change.
static void test_colliding_hashes(void **state) {
  const setup base = {-1, 8192, 20, 10, 300, HLY_FLAT, 1, 2, 30};
  static const uint64_t masks[] = {0, 0xffff000000000000, 0x0000ffffffff0000, 0x0000f0f0f0000007};
  bench t0;
  plan_run expected;
  run(&t0, &expected, &base);
  for (int i = 0; i < 4; i++) {
    for (int small = 0; small < 2; small++) {
      if (small && i < 2) continue; // no bits to cut a spilled table by
      setup u = base;
      u.stages = 2;
      u.limit = small ? 0 : -1;
      bench t;
      plan_run r;
      hly_row_hash_mask = masks[i];
      run(&t, &r, &u);
      hly_row_hash_mask = UINT64_MAX;
      plan_assert_same(&expected, &r);
      finish(&t);
    }
  }
  finish(&t0);
}

static void test_dictionaries(void **state) {
  setup u = {-1, 8192, 5, 10, 400, HLY_DICT, 1, 2, 30};
  bench t0, t1;
  plan_run a, b;
  run(&t0, &a, &u);
  u.stages = 3;
  u.limit = 64 << 10;
  run(&t1, &b, &u);
  plan_assert_same(&a, &b);
  finish(&t0);
  finish(&t1);
}

static void test_no_keys(void **state) {
  setup u = {-1, 8192, 0, 5, 300, HLY_FLAT, 1, 0, 30};
  bench t0, t1;
  plan_run a, b;
  run(&t0, &a, &u);
  assert_int_equal(a.n_lines, 1);
  u.stages = 3;
  u.limit = 0;
  run(&t1, &b, &u);
  plan_assert_same(&a, &b);
  finish(&t0);
  finish(&t1);
}

// One row without keys even without input; none with keys.
static void test_empty_input(void **state) {
  for (uint32_t stages = 1; stages <= 3; stages++) {
    for (uint32_t n_keys = 0; n_keys <= 2; n_keys++) {
      setup u = {-1, 8192, 5, 0, 0, HLY_FLAT, stages, n_keys, 30};
      bench t;
      plan_run r;
      run(&t, &r, &u);
      if (n_keys == 0) {
        assert_int_equal(r.n_lines, 1);
        assert_string_equal(r.lines[0],
                            "0|0|null|null|null|null|null|null|null|null|null|null|null|null|null|null|");
      } else {
        assert_int_equal(r.n_lines, 0);
      }
      finish(&t);
    }
  }
}

// ---- Values by hand.

static hly_vector *column(bench *t, const char *type) {
  hly_vector *v = hly_vector_create(test_type(t->arena, type));
  assert_non_null(v);
  return v;
}

static void unref_vector(void *v) {
  hly_vector_unref(v);
}

// A batch of one column of n values of `size` bytes; `nulls`: a byte a row or NULL.
static hly_batch *one_column(bench *t, const char *type, const void *values, const uint8_t *nulls,
                             uint32_t n) {
  hly_vector *v = column(t, type);
  assert_ok(&t->ctx, hly_vector_reset(&t->ctx, v, n));
  memcpy(v->values, values, (size_t)n * hly_phys_size[v->type->phys]);
  for (uint32_t i = 0; nulls && i < n; i++) {
    if (!v->validity) assert_ok(&t->ctx, hly_vector_need_validity(&t->ctx, v));
    if (nulls[i]) hly_bits_clear(v->validity, i);
  }
  hly_arena_on_reset(t->arena, unref_vector, v);
  hly_batch *b = HLY_ARENA_NEW(t->arena, hly_batch);
  b->columns = HLY_ARENA_NEW_N(t->arena, hly_vector *, 1);
  b->columns[0] = v;
  b->n_columns = 1;
  hly_batch_set_rows(b, n);
  return b;
}

// Runs one call without keys (or with the constant key) over one column; the result's text, or the error's.
static const char *one_call(bench *t, const call_spec *spec, const char *type, hly_batch *batch, bool grouped,
                            Halley__AggMode mode, hly_status *st) {
  char text[64];
  snprintf(text, sizeof text, "struct<x:%s>", type);
  hly_schema schema = test_schema(t->arena, text), output;
  Halley__Expr *key = x_int(&t->b, hly_type_of(HLY_INT), 1);
  Halley__AggCall *call =
      p_call(&t->b, spec->cls, mode, spec->type, spec->buffer, p_field(&t->b, &schema, 0), 0);
  if (spec->param) p_call_param(&t->b, call, spec->param, spec->string, true);
  Halley__Plan *plan = p_aggregate(&t->b, p_input(&t->b, &schema), grouped ? 1 : 0, &key, 1, &call, &output);
  plan_run r;
  plan_bind(&r, &t->ctx, t->arena, plan);
  batch_source source;
  batch_source_attach(&source, r.op, 0, &batch, 1);
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  *st = plan_drain(&r, &task);
  if (*st != HLY_OK) {
    char *message = hly_arena_alloc(t->arena, 512);
    hly_error_print(&t->ctx.error, message, 512);
    hly_error_clear(&t->ctx.error);
    return message;
  }
  assert_int_equal(r.n_lines, 1);
  return grouped ? r.lines[0] + 2 : r.lines[0];
}

static void test_long_overflow(void **state) {
  bench t;
  start(&t, -1, 8192);
  static const int64_t values[] = {INT64_MAX, 1, 1};
  hly_batch *batch = one_column(&t, "bigint", values, NULL, 3);
  call_spec s = {"Sum", "bigint", "struct<s:bigint>", 0, "evalContext.evalMode", "LEGACY"};
  hly_status st;
  for (int grouped = 0; grouped < 2; grouped++) {
    s.buffer = "struct<s:bigint>";
    s.string = "LEGACY";
    assert_string_equal(one_call(&t, &s, "bigint", batch, grouped, COMPLETE, &st), "-9223372036854775807|");
    s.string = "ANSI";
    const char *text = one_call(&t, &s, "bigint", batch, grouped, COMPLETE, &st);
    assert_int_equal(st, HLY_ERR);
    assert_non_null(strstr(text, "ARITHMETIC_OVERFLOW"));
    assert_non_null(strstr(text, "long overflow"));
    s.string = "TRY";
    s.buffer = "struct<s:bigint,e:boolean>";
    assert_string_equal(one_call(&t, &s, "bigint", batch, grouped, COMPLETE, &st), "null|");
    assert_string_equal(one_call(&t, &s, "bigint", batch, grouped, PARTIAL, &st), "null|false|");
  }
  finish(&t);
}

static void test_decimal_overflow(void **state) {
  bench t;
  start(&t, -1, 8192);
  hly_i128 big = hly_pow10_i128[38] - 1;
  hly_i128 values[3] = {big, big, -big}; // beyond 38 digits in the middle, back at the end
  hly_batch *back = one_column(&t, "decimal(38,0)", values, NULL, 3),
            *over = one_column(&t, "decimal(38,0)", values, NULL, 2);
  call_spec s = {"Sum", "decimal(38,0)",        "struct<s:decimal(38,0),e:boolean>",
                 0,     "evalContext.evalMode", "LEGACY"};
  hly_status st;
  // Without keys only the end counts; with keys Spark's buffer became null in the middle.
  assert_string_equal(one_call(&t, &s, "decimal(38,0)", back, false, COMPLETE, &st),
                      "99999999999999999999999999999999999999|");
  assert_string_equal(one_call(&t, &s, "decimal(38,0)", back, true, COMPLETE, &st), "null|");
  assert_string_equal(one_call(&t, &s, "decimal(38,0)", back, true, PARTIAL, &st), "null|false|");
  assert_string_equal(one_call(&t, &s, "decimal(38,0)", over, false, COMPLETE, &st), "null|");
  s.string = "ANSI";
  const char *text = one_call(&t, &s, "decimal(38,0)", over, false, COMPLETE, &st);
  assert_non_null(strstr(text, "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"));
  assert_non_null(strstr(text, "199999999999999999999999999999999999998"));
  text = one_call(&t, &s, "decimal(38,0)", over, true, COMPLETE, &st);
  assert_non_null(strstr(text, "Overflow in sum of decimals"));
  assert_non_null(strstr(text, "try_sum"));
  finish(&t);
}

// A final aggregate directly above its partial one: Spark's generated code hands the sum over in a variable.
static void test_decimal_sum_between_stages(void **state) {
  for (int grouped = 0; grouped < 2; grouped++) {
    bench t;
    start(&t, -1, 8192);
    hly_i128 big = hly_pow10_i128[38] - 1, values[2] = {big, big};
    hly_batch *batch = one_column(&t, "decimal(38,0)", values, NULL, 2);
    hly_schema schema = test_schema(t.arena, "struct<x:decimal(38,0)>"), partial, output;
    Halley__Expr *key = x_int(&t.b, hly_type_of(HLY_INT), 1), *column = p_field(&t.b, &schema, 0);
    static const char buffer[] = "struct<s:decimal(38,0),e:boolean>";
    Halley__AggCall *below = p_call(&t.b, "Sum", PARTIAL, "decimal(38,0)", buffer, column, 0);
    Halley__AggCall *above = p_call(&t.b, "Sum", FINAL, "decimal(38,0)", buffer, NULL, grouped);
    p_call_param(&t.b, below, "evalContext.evalMode", "ANSI", false);
    p_call_param(&t.b, above, "evalContext.evalMode", "ANSI", false);
    Halley__Plan *plan =
        p_aggregate(&t.b, p_input(&t.b, &schema), (uint32_t)grouped, &key, 1, &below, &partial);
    Halley__Expr *partial_key = grouped ? p_field(&t.b, &partial, 0) : NULL;
    plan = p_aggregate(&t.b, plan, (uint32_t)grouped, &partial_key, 1, &above, &output);
    plan_run r;
    plan_bind(&r, &t.ctx, t.arena, plan);
    batch_source source;
    batch_source_attach(&source, r.op->inputs[0], 0, &batch, 1);
    Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
    assert_int_equal(plan_drain(&r, &task), HLY_ERR);
    char text[512];
    hly_error_print(&t.ctx.error, text, sizeof text);
    assert_non_null(
        strstr(text, grouped ? "Overflow in sum of decimals" : "199999999999999999999999999999999999998"));
    hly_error_clear(&t.ctx.error);
    finish(&t);
  }
}

static void test_averages(void **state) {
  bench t;
  start(&t, -1, 8192);
  hly_status st;
  static const int64_t cents[] = {100, 200, 200};
  hly_batch *batch = one_column(&t, "decimal(10,2)", cents, NULL, 3);
  call_spec s = {"Average", "decimal(14,6)", "struct<s:decimal(20,2),c:bigint>", 0, "evalMode", "LEGACY"};
  assert_string_equal(one_call(&t, &s, "decimal(10,2)", batch, true, COMPLETE, &st), "1.666667|");
  static const uint8_t nulls[] = {1, 1, 1};
  batch = one_column(&t, "decimal(10,2)", cents, nulls, 3);
  assert_string_equal(one_call(&t, &s, "decimal(10,2)", batch, true, COMPLETE, &st), "null|");
  assert_string_equal(one_call(&t, &s, "decimal(10,2)", batch, true, PARTIAL, &st), "0.00|0|");
  // Beyond 128 bits: without keys Spark's sum has any size, and the quotient is right again.
  hly_i128 nines[400];
  for (int i = 0; i < 400; i++) nines[i] = hly_pow10_i128[37] - 1;
  hly_batch *wide = one_column(&t, "decimal(38,0)", nines, NULL, 400);
  call_spec w = {"Average", "decimal(38,4)", "struct<s:decimal(38,0),c:bigint>", 0, "evalMode", "LEGACY"};
  assert_string_equal(one_call(&t, &w, "decimal(38,0)", wide, false, COMPLETE, &st),
                      "null|"); // over 34 digits
  w.string = "ANSI";
  const char *text = one_call(&t, &w, "decimal(38,0)", wide, false, COMPLETE, &st);
  assert_non_null(strstr(text, "NUMERIC_VALUE_OUT_OF_RANGE"));
  assert_non_null(
      strstr(text, "=9999999999999999999999999999999999999.000000000000000000000000000000000000000,"));
  assert_non_null(strstr(one_call(&t, &w, "decimal(38,0)", wide, true, COMPLETE, &st), "try_avg"));
  w.string = "LEGACY";
  w.type = "decimal(38,0)"; // a type wide enough, to see the digits
  for (int i = 0; i < 400; i++) nines[i] = -(hly_pow10_i128[37] - 1 - (i & 1));
  wide = one_column(&t, "decimal(38,0)", nines, NULL, 400);
  assert_string_equal(one_call(&t, &w, "decimal(38,0)", wide, false, COMPLETE, &st),
                      "-9999999999999999999999999999999999999|"); // ...998.5, half up
  assert_string_equal(one_call(&t, &w, "decimal(38,0)", wide, true, COMPLETE, &st), "null|");
  finish(&t);
}

static void test_zeros_and_nans(void **state) {
  bench t;
  start(&t, -1, 8192);
  hly_status st;
  const double zeros[] = {-0.0, 0.0};
  call_spec min = {"Min", "double", "struct<m:double>", 0, NULL, NULL};
  call_spec max = {"Max", "double", "struct<m:double>", 0, NULL, NULL};
  call_spec sum = {"Sum", "double", "struct<s:double>", 0, "evalContext.evalMode", "LEGACY"};
  hly_batch *batch = one_column(&t, "double", zeros, NULL, 2);
  for (int grouped = 0; grouped < 2; grouped++) {
    // Of equal values the first is kept.
    assert_string_equal(one_call(&t, &min, "double", batch, grouped, COMPLETE, &st), "8000000000000000|");
    assert_string_equal(one_call(&t, &max, "double", batch, grouped, COMPLETE, &st), "8000000000000000|");
    // A sum begins at 0.0.
    assert_string_equal(
        one_call(&t, &sum, "double", one_column(&t, "double", zeros, NULL, 1), grouped, COMPLETE, &st),
        "0000000000000000|");
    const double nans[] = {1, NAN, INFINITY};
    hly_batch *with_nan = one_column(&t, "double", nans, NULL, 3);
    assert_string_equal(one_call(&t, &min, "double", with_nan, grouped, COMPLETE, &st), "3ff0000000000000|");
    assert_string_equal(one_call(&t, &max, "double", with_nan, grouped, COMPLETE, &st), "7ff8000000000000|");
  }
  finish(&t);
}

static void test_first_last(void **state) {
  bench t;
  start(&t, -1, 8192);
  hly_status st;
  static const int32_t values[] = {5, 6, 7, 8};
  static const uint8_t nulls[] = {1, 0, 0, 1};
  hly_batch *batch = one_column(&t, "int", values, nulls, 4);
  call_spec first = {"First", "int", "struct<v:int,s:boolean>", 0, NULL, NULL};
  call_spec last = {"Last", "int", "struct<v:int,s:boolean>", 0, NULL, NULL};
  for (int grouped = 0; grouped < 2; grouped++) {
    first.param = last.param = NULL;
    assert_string_equal(one_call(&t, &first, "int", batch, grouped, COMPLETE, &st), "null|");
    assert_string_equal(one_call(&t, &last, "int", batch, grouped, PARTIAL, &st), "null|true|");
    first.param = last.param = "ignoreNulls";
    assert_string_equal(one_call(&t, &first, "int", batch, grouped, COMPLETE, &st), "6|");
    assert_string_equal(one_call(&t, &last, "int", batch, grouped, COMPLETE, &st), "7|");
  }
  finish(&t);
}

// Keys of every type, nested ones too: count(*) by key against counting equal texts.
static void test_keys_of_every_type(void **state) {
  for (uint32_t f = 0; f < test_flat_types.n_fields; f++) {
    if (test_flat_types.fields[f].type->phys == HLY_PHYS_VARIANT) continue;
    bench t;
    start(&t, 64 << 10, 100);
    test_random r = {f + 1};
    hly_schema schema = {1, &test_flat_types.fields[f]}, output;
    test_shape shape = {.n_rows = 300, .null_percent = 20, .distinct = 20, .max_string = 20};
    hly_batch *batch = test_shaped_batch(&t.ctx, t.arena, &r, &schema, &shape, NULL);
    Halley__AggCall *call = p_call(&t.b, "Count", COMPLETE, "bigint", "struct<c:bigint>", NULL, 0);
    Halley__Expr *key = p_field(&t.b, &schema, 0);
    Halley__Plan *plan = p_aggregate(&t.b, p_input(&t.b, &schema), 1, &key, 1, &call, &output);
    plan_run run, rows;
    plan_bind(&run, &t.ctx, t.arena, plan);
    batch_source source;
    batch_source_attach(&source, run.op, 0, &batch, 1);
    Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
    assert_ok(&t.ctx, plan_drain(&run, &task));
    plan_sort_lines(&run);
    // By hand.
    rows = (plan_run){.ctx = &t.ctx, .arena = t.arena};
    char *texts[300];
    for (int i = 0; i < 300; i++) texts[i] = test_value_text(t.arena, batch->columns[0], (uint32_t)i);
    rows.lines = HLY_ARENA_NEW_N(t.arena, char *, 300);
    for (int i = 0; i < 300; i++) {
      int n = 0, first = i;
      for (int j = 0; j < 300; j++)
        if (!strcmp(texts[i], texts[j])) {
          n++;
          if (j < first) first = j;
        }
      if (first == i) rows.lines[rows.n_lines++] = hly_arena_printf(t.arena, "%s|%d|", texts[i], n);
    }
    plan_sort_lines(&rows);
    plan_assert_same(&rows, &run);
    finish(&t);
  }
}

// ---- Memory.

static hly_batch *numbers(bench *t, int64_t first, uint32_t n, int64_t modulus) {
  int64_t *values = hly_malloc(n * sizeof *values);
  for (uint32_t i = 0; i < n; i++) values[i] = (first + i) * 7919 % modulus;
  hly_batch *b = one_column(t, "bigint", values, NULL, n);
  hly_free(values);
  return b;
}

// A million groups in four megabytes: every key once, its count right.
static void test_a_million_groups(void **state) {
  bench t;
  start(&t, 4 << 20, 8192);
  enum { N = 1000000, BATCH = 8000 };
  hly_schema schema = test_schema(t.arena, "struct<k:bigint>"), output;
  hly_batch **batches = HLY_ARENA_NEW_N(t.arena, hly_batch *, 2 * N / BATCH);
  for (uint32_t i = 0; i < 2 * N / BATCH; i++) batches[i] = numbers(&t, (int64_t)i * BATCH, BATCH, N);
  Halley__AggCall *call = p_call(&t.b, "Count", COMPLETE, "bigint", "struct<c:bigint>", NULL, 0);
  Halley__Expr *key = p_field(&t.b, &schema, 0);
  Halley__Plan *plan = p_aggregate(&t.b, p_input(&t.b, &schema), 1, &key, 1, &call, &output);
  plan_run r;
  plan_bind(&r, &t.ctx, t.arena, plan);
  batch_source source;
  batch_source_attach(&source, r.op, 0, batches, 2 * N / BATCH);
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_ok(&t.ctx, hly_op_open(r.op, &task));
  uint8_t *seen = hly_calloc(N, 1);
  uint64_t n = 0;
  for (hly_batch *out;;) {
    assert_ok(&t.ctx, hly_op_next(r.op, &out));
    if (!out) break;
    for (uint32_t i = 0; i < out->n_sel; i++, n++) {
      int64_t k = ((const int64_t *)out->columns[0]->values)[i],
              c = ((const int64_t *)out->columns[1]->values)[i];
      assert_true(k >= 0 && k < N && !seen[k]);
      seen[k] = 1;
      assert_int_equal(c, 2);
    }
  }
  assert_int_equal(n, N);
  assert_true(r.op->metrics[HALLEY__METRIC__SPILL_COUNT] > 1);
  assert_true(r.op->metrics[HALLEY__METRIC__SPILL_BYTES] > N * 8);
  hly_free(seen);
  hly_op_close(r.op);
  assert_true(r.op->metrics[HALLEY__METRIC__PEAK_MEMORY] <= 5 << 20);
  finish(&t);
}

// Keys that hardly repeat: the partial aggregate stops looking for them, and the final one gives the same
// groups.
static void test_partial_gives_up(void **state) {
  bench t;
  start(&t, -1, 8192);
  enum { N = 300000, BATCH = 6000 };
  hly_schema schema = test_schema(t.arena, "struct<k:bigint>"), partial, output;
  hly_batch **batches = HLY_ARENA_NEW_N(t.arena, hly_batch *, N / BATCH);
  for (uint32_t i = 0; i < N / BATCH; i++) batches[i] = numbers(&t, (int64_t)i * BATCH, BATCH, N / 3 * 2);
  Halley__Expr *key = p_field(&t.b, &schema, 0);
  Halley__AggCall *count = p_call(&t.b, "Count", PARTIAL, "bigint", "struct<c:bigint>", key, 0);
  Halley__Plan *plan = p_aggregate(&t.b, p_input(&t.b, &schema), 1, &key, 1, &count, &partial);
  Halley__AggCall *merged = p_call(&t.b, "Count", FINAL, "bigint", "struct<c:bigint>", NULL, 1);
  plan = p_aggregate(&t.b, plan, 1, &key, 1, &merged, &output);
  plan_run r;
  plan_bind(&r, &t.ctx, t.arena, plan);
  batch_source source;
  batch_source_attach(&source, r.op->inputs[0], 0, batches, N / BATCH);
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_ok(&t.ctx, hly_op_open(r.op, &task));
  uint32_t n = 0, rows = 0;
  for (hly_batch *out;;) {
    assert_ok(&t.ctx, hly_op_next(r.op, &out));
    if (!out) break;
    n += out->n_sel;
    for (uint32_t i = 0; i < out->n_sel; i++) rows += (uint32_t)((const int64_t *)out->columns[1]->values)[i];
  }
  assert_int_equal(n, N / 3 * 2);
  assert_int_equal(rows, N);
  assert_true(r.op->inputs[0]->metrics[HALLEY__METRIC__SKIPPED_PARTIAL_ROWS] > N / 2);
  hly_op_close(r.op);
  finish(&t);
}

// What the session asks for decides when, and whether groups without calls may leave more than once.
static void test_skipping_as_asked(void **state) {
  static const char rows_key[] =
      "spark.comet.datafusion.execution.skip_partial_aggregation_probe_rows_threshold";
  static const char ratio_key[] =
      "spark.comet.datafusion.execution.skip_partial_aggregation_probe_ratio_threshold";
  static const char key[] = "spark.comet.exec.aggregate.skipPartial.enabled";
  enum { N = 150000, BATCH = 5000, KEYS = N / 20 * 17 }; // after 100000 rows nothing has repeated
  static const struct {
    const char *asked, *rows, *ratio;
    bool calls, distinct_above;
    uint32_t n_keys;
    int64_t skipped;
  } cases[] = {
      {"true", NULL, NULL, false, true, KEYS, N - 100000},
      {"true", NULL, NULL, false, false, KEYS, 0}, // the last to make them distinct
      {"false", NULL, NULL, false, true, KEYS, 0},
      {NULL, NULL, NULL, false, true, KEYS, 0},
      {NULL, NULL, NULL, true, false, KEYS, N - 100000},
      {"false", "10", "0.1", true, false, KEYS, N - 100000}, // thresholds alone do nothing
      {"true", "20000", "0.8", true, false, KEYS, N - 20000},
      {"true", "20000", "0.8", false, true, KEYS, N - 20000},
      {"true", "0", "0", false, true, 10, N - BATCH},
      {"true", "0", "1", false, true, KEYS, 0},
      {"true", "100000000", "0", true, false, KEYS, 0},
      {"true", NULL, NULL, true, false, 10, 0},
      {"true", NULL, NULL, false, true, 10, 0},
  };
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bench t;
    start(&t, -1, 8192);
    hly_config conf[3];
    t.ctx.conf = conf;
    if (cases[i].asked) conf[t.ctx.n_conf++] = (hly_config){key, cases[i].asked};
    if (cases[i].rows) conf[t.ctx.n_conf++] = (hly_config){rows_key, cases[i].rows};
    if (cases[i].ratio) conf[t.ctx.n_conf++] = (hly_config){ratio_key, cases[i].ratio};
    hly_schema schema = test_schema(t.arena, "struct<k:bigint>"), partial, output;
    hly_batch *batches[N / BATCH];
    for (uint32_t k = 0; k < N / BATCH; k++)
      batches[k] = numbers(&t, (int64_t)k * BATCH, BATCH, cases[i].n_keys);
    Halley__Expr *k = p_field(&t.b, &schema, 0);
    Halley__AggCall *calls[] = {p_call(&t.b, "Count", PARTIAL, "bigint", "struct<c:bigint>", k, 0),
                                p_call(&t.b, "Count", FINAL, "bigint", "struct<c:bigint>", NULL, 1)};
    uint32_t n_calls = cases[i].calls;
    Halley__Plan *plan = p_aggregate(&t.b, p_input(&t.b, &schema), 1, &k, n_calls, calls, &partial);
    plan->hash_aggregate->distinct_above = cases[i].distinct_above;
    plan = p_aggregate(&t.b, plan, 1, &k, n_calls, calls + 1, &output);
    plan_run r;
    plan_bind(&r, &t.ctx, t.arena, plan);
    batch_source source;
    batch_source_attach(&source, r.op->inputs[0], 0, batches, N / BATCH);
    Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
    assert_ok(&t.ctx, hly_op_open(r.op, &task));
    uint32_t n = 0;
    for (hly_batch *out;;) {
      assert_ok(&t.ctx, hly_op_next(r.op, &out));
      if (!out) break;
      n += out->n_sel;
    }
    assert_int_equal(n, cases[i].n_keys);
    assert_int_equal(r.op->inputs[0]->metrics[HALLEY__METRIC__SKIPPED_PARTIAL_ROWS], cases[i].skipped);
    assert_int_equal(r.op->metrics[HALLEY__METRIC__SKIPPED_PARTIAL_ROWS], 0);
    hly_op_close(r.op);
    finish(&t);
  }
}

static void ask_for_memory(batch_source *s, uint32_t batch) {
  hly_pool_spill(s->op.ctx->pool, INT64_MAX);
}

// The pool asks for everything before each batch, in the middle of the operator's pull.
static void test_spill_while_pulling(void **state) {
  const setup u = {-1, 8192, 50, 20, 500, HLY_FLAT, 1, 2, 30};
  bench t0, t1;
  plan_run expected, r;
  run(&t0, &expected, &u);
  start(&t1, -1, 8192);
  hly_schema output;
  Halley__Plan *plan =
      aggregate(&t1, p_input(&t1.b, &t1.input), &t1.input, 2, CALLS, N_CALLS, COMPLETE, &output);
  plan_bind(&r, &t1.ctx, t1.arena, plan);
  hly_batch **batches = make_batches(&t1, 7, u.n_batches, u.rows, u.keys, u.encoding, u.max_string);
  batch_source source;
  batch_source_attach(&source, r.op, 0, batches, u.n_batches);
  source.before = ask_for_memory;
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_ok(&t1.ctx, plan_drain(&r, &task));
  assert_true(r.op->metrics[HALLEY__METRIC__SPILL_COUNT] >= u.n_batches - 1);
  plan_sort_lines(&r);
  plan_assert_same(&expected, &r);
  finish(&t0);
  finish(&t1);
}

// And between the batches given, early ones of a partial aggregate too; both stages are asked.
static void test_spill_while_giving(void **state) {
  for (uint32_t stages = 1; stages <= 3; stages++) {
    setup u = {-1, 20, 50, 20, 500, HLY_FLAT, 1, 2, 30};
    bench t0, t1;
    plan_run expected, r;
    run(&t0, &expected, &u);
    start(&t1, stages == 3 ? 100 << 10 : -1, 20);
    hly_schema schema = t1.input, output;
    Halley__Plan *plan = p_input(&t1.b, &schema);
    const Halley__AggMode chain[3][3] = {{COMPLETE}, {PARTIAL, FINAL}, {PARTIAL, MERGE, FINAL}};
    for (uint32_t i = 0; i < stages; i++, schema = output)
      plan = aggregate(&t1, plan, &schema, 2, CALLS, N_CALLS, chain[stages - 1][i], &output);
    plan_bind(&r, &t1.ctx, t1.arena, plan);
    batch_source source;
    batch_source_attach(&source, bottom(r.op), 0, make_batches(&t1, 7, 20, 500, 50, HLY_FLAT, 30), 20);
    source.before = ask_for_memory;
    Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
    assert_ok(&t1.ctx, plan_drain_asking(&r, &task));
    assert_true(r.op->metrics[HALLEY__METRIC__SPILL_COUNT] > 20);
    plan_sort_lines(&r);
    plan_assert_same(&expected, &r);
    finish(&t0);
    finish(&t1);
  }
}

static void test_huge_strings(void **state) {
  bench t;
  start(&t, 1 << 20, 8192);
  t.ctx.batch_bytes = 1 << 20;
  enum { N = 6, BYTES = 10 << 20 };
  hly_schema schema = test_schema(t.arena, "struct<k:string>"), output;
  hly_batch **batches = HLY_ARENA_NEW_N(t.arena, hly_batch *, 2 * N);
  hly_str views[N];
  hly_buf *heaps[N];
  for (int i = 0; i < N; i++) {
    heaps[i] = hly_buf_create(BYTES);
    memset(heaps[i]->data, 'a' + i, BYTES);
    views[i] = hly_str_make(heaps[i]->data, BYTES);
  }
  for (int i = 0; i < 2 * N; i++) {
    batches[i] = one_column(&t, "string", &views[i % N], NULL, 1);
    assert_ok(&t.ctx, hly_vector_add_heap(&t.ctx, batches[i]->columns[0], heaps[i % N]));
  }
  Halley__Expr *key = p_field(&t.b, &schema, 0);
  Halley__AggCall *calls[] = {
      p_call(&t.b, "Count", COMPLETE, "bigint", "struct<c:bigint>", NULL, 0),
      p_call(&t.b, "Max", COMPLETE, "string", "struct<m:string>", p_field(&t.b, &schema, 0), 0),
  };
  Halley__Plan *plan = p_aggregate(&t.b, p_input(&t.b, &schema), 1, &key, 2, calls, &output);
  plan_run r;
  plan_bind(&r, &t.ctx, t.arena, plan);
  batch_source source;
  batch_source_attach(&source, r.op, 0, batches, 2 * N);
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_ok(&t.ctx, hly_op_open(r.op, &task));
  uint32_t n = 0;
  for (hly_batch *out;;) {
    assert_ok(&t.ctx, hly_op_next(r.op, &out));
    if (!out) break;
    assert_int_equal(out->n_sel, 1);
    const hly_str *k = out->columns[0]->values, *m = out->columns[2]->values;
    assert_true(hly_str_equal(k, m));
    assert_int_equal(k->len, BYTES);
    assert_int_equal(((const int64_t *)out->columns[1]->values)[0], 2);
    n++;
  }
  assert_int_equal(n, N);
  hly_op_close(r.op);
  for (int i = 0; i < N; i++) hly_buf_unref(heaps[i]);
  finish(&t);
}

// ---- Errors and refusals.

static void test_input_error_is_returned(void **state) {
  bench t;
  start(&t, -1, 8192);
  hly_schema output;
  plan_run r;
  plan_bind(&r, &t.ctx, t.arena,
            aggregate(&t, p_input(&t.b, &t.input), &t.input, 2, CALLS, N_CALLS, COMPLETE, &output));
  batch_source source;
  batch_source_attach(&source, r.op, 0, make_batches(&t, 1, 2, 10, 5, HLY_FLAT, 5), 2);
  source.fails = true;
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_int_equal(plan_drain(&r, &task), HLY_ERR);
  assert_int_equal(r.n_lines, 0);
  finish(&t);
}

static void test_unknown_parameters_are_refused(void **state) {
  bench t;
  start(&t, -1, 8192);
  hly_binder binder = {.ctx = &t.ctx, .arena = t.arena};
  hly_agg *agg;
  Halley__AggCall *call = p_call(&t.b, "Count", COMPLETE, "bigint", "struct<c:bigint>", NULL, 0);
  p_call_param(&t.b, call, "surprise", NULL, true);
  assert_int_equal(hly_agg_bind(&binder, call, true, &agg), HLY_REFUSED);
  call = p_call(&t.b, "Median", COMPLETE, "double", "struct<c:bigint>", NULL, 0);
  assert_int_equal(hly_agg_bind(&binder, call, true, &agg), HLY_REFUSED);
  call = p_call(&t.b, "Sum", COMPLETE, "bigint", "struct<c:bigint>", p_field(&t.b, &t.input, 2), 0);
  assert_int_equal(hly_agg_bind(&binder, call, true, &agg), HLY_REFUSED); // no evaluation mode
  assert_int_equal(binder.n_reasons, 3);
  finish(&t);
}

static void test_failing_allocations_leak_nothing(void **state) {
  for (int small = 0; small < 2; small++) {
    bench t;
    start(&t, small ? 0 : -1, 64);
    hly_schema partial, output;
    Halley__Plan *plan =
        aggregate(&t, p_input(&t.b, &t.input), &t.input, 2, CALLS, N_CALLS, PARTIAL, &partial);
    plan = aggregate(&t, plan, &partial, 2, CALLS, N_CALLS, FINAL, &output);
    plan_failing_allocations(&t.ctx, plan, make_batches(&t, 3, 2, 300, 30, HLY_FLAT, 30), 2, 300);
    finish(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_answer_every_way),
      cmocka_unit_test(test_colliding_hashes),
      cmocka_unit_test(test_dictionaries),
      cmocka_unit_test(test_no_keys),
      cmocka_unit_test(test_empty_input),
      cmocka_unit_test(test_long_overflow),
      cmocka_unit_test(test_decimal_overflow),
      cmocka_unit_test(test_decimal_sum_between_stages),
      cmocka_unit_test(test_averages),
      cmocka_unit_test(test_zeros_and_nans),
      cmocka_unit_test(test_first_last),
      cmocka_unit_test(test_keys_of_every_type),
      cmocka_unit_test(test_a_million_groups),
      cmocka_unit_test(test_partial_gives_up),
      cmocka_unit_test(test_skipping_as_asked),
      cmocka_unit_test(test_spill_while_pulling),
      cmocka_unit_test(test_spill_while_giving),
      cmocka_unit_test(test_huge_strings),
      cmocka_unit_test(test_input_error_is_returned),
      cmocka_unit_test(test_unknown_parameters_are_refused),
      cmocka_unit_test(test_failing_allocations_leak_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
