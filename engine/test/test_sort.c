// Sort and TopK: order of every type both ways, stability, runs on disk, huge rows; against an insertion of
// texts.
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "batch_source.h"
#include "operators/sorter.h"
#include "plan_build.h"
#include "random_batch.h"
#include "type_text.h"

typedef struct bench {
  test_host host;
  hly_ctx ctx;
  hly_arena *arena;
  expr_builder b;
} bench;

static void start(bench *t, int64_t limit, uint32_t batch_rows) {
  memset(t, 0, sizeof *t);
  test_host_init(&t->host, limit);
  test_ctx_init(&t->ctx, &t->host);
  t->ctx.batch_rows = batch_rows;
  t->arena = hly_arena_create();
  t->b.arena = t->arena;
  t->b.no_dispatch = true;
}

static void finish(bench *t) {
  hly_arena_destroy(t->arena);
  test_ctx_deinit(&t->ctx);
}

static hly_batch **make_batches(bench *t, const hly_schema *schema, uint64_t seed, uint32_t n, uint32_t rows,
                                uint32_t distinct, hly_encoding encoding) {
  test_random r = {seed};
  hly_batch **batches = HLY_ARENA_NEW_N(t->arena, hly_batch *, n + 1);
  test_shape shape = {
      .n_rows = rows, .null_percent = 15, .distinct = distinct, .max_string = 30, .encoding = encoding};
  for (uint32_t i = 0; i < n; i++)
    batches[i] = test_shaped_batch(&t->ctx, t->arena, &r, schema, &shape, NULL);
  return batches;
}

static void run_plan(bench *t, plan_run *r, const Halley__Plan *plan, hly_batch **batches, uint32_t n) {
  plan_bind(r, &t->ctx, t->arena, plan);
  batch_source source;
  batch_source_attach(&source, r->op, 0, batches, n);
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_ok(&t->ctx, plan_drain(r, &task));
}

// ---- An oracle that shares nothing with the operator: values compared one by one as Spark does.

static int compare_values(const hly_vector *a, uint32_t i, const hly_vector *b, uint32_t j) {
  i = hly_vector_index(a, i);
  j = hly_vector_index(b, j);
  const void *x = hly_vector_base(a), *y = hly_vector_base(b);
#define CASE(phys, T)                                                                                        \
  case phys: {                                                                                               \
    T p = ((const T *)x)[i], q = ((const T *)y)[j];                                                          \
    return (p > q) - (p < q);                                                                                \
  }
#define FLOATING(phys, T)                                                                                    \
  case phys: {                                                                                               \
    T p = ((const T *)x)[i], q = ((const T *)y)[j];                                                          \
    if (isnan(p) || isnan(q)) return isnan(p) - isnan(q);                                                    \
    return (p > q) - (p < q);                                                                                \
  }
  switch (a->type->phys) {
    CASE(HLY_PHYS_BOOL, uint8_t)
    CASE(HLY_PHYS_I8, int8_t)
    CASE(HLY_PHYS_I16, int16_t)
    CASE(HLY_PHYS_I32, int32_t)
    CASE(HLY_PHYS_I64, int64_t)
    CASE(HLY_PHYS_I128, __int128)
    FLOATING(HLY_PHYS_F32, float)
    FLOATING(HLY_PHYS_F64, double)
  case HLY_PHYS_STR: return hly_str_compare((const hly_str *)x + i, (const hly_str *)y + j);
  default: return 0;
  }
}

typedef struct ref {
  const hly_batch *batch;
  uint32_t row;
} ref;

typedef struct key {
  uint32_t column;
  bool descending, nulls_first;
} key;

static int compare_refs(const ref *a, const ref *b, const key *keys, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    const hly_vector *x = a->batch->columns[keys[k].column], *y = b->batch->columns[keys[k].column];
    bool x_null = hly_vector_is_null(x, a->row), y_null = hly_vector_is_null(y, b->row);
    if (x_null && y_null) continue;
    if (x_null || y_null) return x_null == keys[k].nulls_first ? -1 : 1;
    int c = compare_values(x, a->row, y, b->row);
    if (c) return keys[k].descending ? -c : c;
  }
  return 0;
}

// The rows' lines in order, by insertion: stable.
static void oracle(bench *t, plan_run *out, hly_batch **batches, uint32_t n_batches, const key *keys,
                   uint32_t n_keys) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_batches; i++) n += batches[i]->n_sel;
  ref *refs = HLY_ARENA_NEW_N(t->arena, ref, n + 1);
  uint32_t m = 0;
  for (uint32_t i = 0; i < n_batches; i++)
    for (uint32_t r = 0; r < batches[i]->n_sel; r++) {
      ref x = {batches[i], batches[i]->sel ? batches[i]->sel[r] : r};
      uint32_t j = m++;
      for (; j > 0 && compare_refs(&x, &refs[j - 1], keys, n_keys) < 0; j--) refs[j] = refs[j - 1];
      refs[j] = x;
    }
  *out = (plan_run){.ctx = &t->ctx, .arena = t->arena, .n_lines = n};
  out->lines = HLY_ARENA_NEW_N(t->arena, char *, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    const char *line = "";
    for (uint32_t c = 0; c < refs[i].batch->n_columns; c++)
      line = hly_arena_printf(t->arena, "%s%s|", line,
                              test_value_text(t->arena, refs[i].batch->columns[c], refs[i].row));
    out->lines[i] = (char *)line;
  }
}

// Every type that has an order, in both directions, nulls at both ends, in memory and through runs; the
// second column tells equal rows apart, so that stability shows.
static void test_every_type(void **state) {
  for (uint32_t f = 0; f < test_flat_types.n_fields; f++) {
    const hly_type *type = test_flat_types.fields[f].type;
    if (!hly_row_orderable(type)) continue;
    for (int variant = 0; variant < 8; variant++) {
      bool descending = variant & 1, first = variant & 2, small = variant & 4;
      bench t;
      start(&t, small ? 0 : -1, small ? 100 : 8192);
      hly_field fields[] = {test_flat_types.fields[f],
                            {.name = "n", .type = hly_type_of(HLY_LONG), .nullable = true}};
      hly_schema schema = {2, fields};
      hly_batch **batches = make_batches(&t, &schema, f * 8 + (uint64_t)variant, 4, 150, 30, HLY_FLAT);
      char text[64];
      snprintf(text, sizeof text, "0 %s %s", descending ? "desc" : "asc", first ? "first" : "last");
      plan_run r, expected;
      run_plan(&t, &r, p_sort(&t.b, p_input(&t.b, &schema), &schema, text, -1), batches, 4);
      key k = {0, descending, first};
      oracle(&t, &expected, batches, 4, &k, 1);
      plan_assert_same(&expected, &r);
      finish(&t);
    }
  }
}

static void test_several_keys(void **state) {
  static const struct {
    const char *orders;
    key keys[4];
    uint32_t n;
  } cases[] = {
      {"0 asc first, 1 desc last, 2 asc first", {{0, false, true}, {1, true, false}, {2, false, true}}, 3},
      {"3 desc first, 0 asc last", {{3, true, true}, {0, false, false}}, 2},
      {"4 asc first, 3 asc first, 2 desc last", {{4, false, true}, {3, false, true}, {2, true, false}}, 3},
      {"5 desc last, 1 asc first", {{5, true, false}, {1, false, true}}, 2},
  };
  for (uint32_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int small = 0; small < 2; small++) {
      for (int encoding = HLY_FLAT; encoding <= HLY_DICT; encoding++) {
        bench t;
        start(&t, small ? 0 : -1, 7);
        hly_schema schema = test_schema(
            t.arena, "struct<a:int,b:string,c:double,d:decimal(30,3),e:boolean,f:binary,g:array<string>>");
        hly_batch **batches = make_batches(&t, &schema, c, 3, 200, 6, (hly_encoding)encoding);
        plan_run r, expected;
        run_plan(&t, &r, p_sort(&t.b, p_input(&t.b, &schema), &schema, cases[c].orders, -1), batches, 3);
        oracle(&t, &expected, batches, 3, cases[c].keys, cases[c].n);
        plan_assert_same(&expected, &r);
        assert_true(r.most_rows <= 7);
        finish(&t);
      }
    }
  }
}

static hly_batch *numbers(bench *t, uint64_t first, uint32_t n, uint64_t factor, uint64_t modulus) {
  hly_schema schema = test_schema(t->arena, "struct<a:bigint,b:bigint>");
  hly_schema *kept = HLY_ARENA_NEW(t->arena, hly_schema);
  *kept = schema;
  hly_batch *b;
  assert_ok(&t->ctx, hly_batch_create(&t->ctx, t->arena, kept, &b));
  for (int c = 0; c < 2; c++) assert_ok(&t->ctx, hly_vector_reset(&t->ctx, b->columns[c], n));
  for (uint32_t i = 0; i < n; i++) {
    ((int64_t *)b->columns[0]->values)[i] = (int64_t)((first + i) * factor % modulus);
    ((int64_t *)b->columns[1]->values)[i] = (int64_t)(first + i);
  }
  hly_batch_set_rows(b, n);
  return b;
}

// Half a million rows through many runs (more than are merged at once), in two megabytes; equal keys in input
// order.
static void check_big(uint64_t factor, uint64_t modulus, int64_t limit, int64_t top, bool more_than_fan_in) {
  enum { N = 500000, BATCH = 5000 };
  bench t;
  start(&t, limit, 8192);
  hly_schema schema = test_schema(t.arena, "struct<a:bigint,b:bigint>");
  hly_batch **batches = HLY_ARENA_NEW_N(t.arena, hly_batch *, N / BATCH);
  for (uint32_t i = 0; i < N / BATCH; i++)
    batches[i] = numbers(&t, (uint64_t)i * BATCH, BATCH, factor, modulus);
  plan_run r;
  plan_bind(&r, &t.ctx, t.arena, p_sort(&t.b, p_input(&t.b, &schema), &schema, "0 asc first", top));
  batch_source source;
  batch_source_attach(&source, r.op, 0, batches, N / BATCH);
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_ok(&t.ctx, hly_op_open(r.op, &task));
  int64_t last_a = -1, last_b = -1;
  uint64_t n = 0;
  for (hly_batch *out;;) {
    assert_ok(&t.ctx, hly_op_next(r.op, &out));
    if (!out) break;
    for (uint32_t i = 0; i < out->n_sel; i++, n++) {
      int64_t a = ((const int64_t *)out->columns[0]->values)[i],
              b = ((const int64_t *)out->columns[1]->values)[i];
      assert_true(a > last_a || (a == last_a && b > last_b));
      assert_int_equal(a, (int64_t)((uint64_t)b * factor % modulus));
      last_a = a;
      last_b = b;
    }
  }
  assert_int_equal(n, top >= 0 && top < N ? top : N);
  if (more_than_fan_in) assert_true(r.op->metrics[HALLEY__METRIC__SPILL_COUNT] > 32);
  hly_op_close(r.op);
  finish(&t);
}

static void test_big(void **state) {
  check_big(7919, 1000003, -1, -1, false);
  check_big(7919, 1000003, 2 << 20, -1, false);
  check_big(7919, 1000, 0, -1, true);      // many equal keys
  check_big(1, UINT64_MAX, -1, -1, false); // sorted already
}

static void test_top_k(void **state) {
  for (int64_t k = 0; k < 3; k++) {
    check_big(7919, 1000003, -1, k, false);
    check_big(7919, 1000, 0, k, false);
  }
  check_big(7919, 1000003, -1, 1000, false);
  check_big(7919, 1000, -1, 20000, false);
  check_big(7919, 1000, 0, 20000, false);
  check_big(7919, 1000003, 1 << 20, 1000000, false);
  check_big(UINT64_MAX, 1000000007, -1, 10, false);
}

static void test_empty(void **state) {
  bench t;
  start(&t, -1, 8192);
  hly_schema schema = test_schema(t.arena, "struct<a:int>");
  plan_run r;
  run_plan(&t, &r, p_sort(&t.b, p_input(&t.b, &schema), &schema, "0 asc first", -1), NULL, 0);
  assert_int_equal(r.n_lines, 0);
  run_plan(&t, &r, p_sort(&t.b, p_input(&t.b, &schema), &schema, "0 asc first", 5), NULL, 0);
  assert_int_equal(r.n_lines, 0);
  finish(&t);
}

static void ask_for_memory(batch_source *s, uint32_t batch) {
  hly_pool_spill(s->op.ctx->pool, INT64_MAX);
}

// The pool asks in the middle of pulls, and between the batches given.
static void test_spill_when_asked(void **state) {
  for (int64_t limit = -1; limit <= 700; limit += 701) {
    bench t;
    start(&t, -1, 50);
    hly_schema schema = test_schema(t.arena, "struct<a:int,b:string>");
    hly_batch **batches = make_batches(&t, &schema, 5, 6, 200, 20, HLY_FLAT);
    plan_run expected, r;
    run_plan(&t, &expected, p_sort(&t.b, p_input(&t.b, &schema), &schema, "1 asc first, 0 desc last", limit),
             batches, 6);
    plan_bind(&r, &t.ctx, t.arena,
              p_sort(&t.b, p_input(&t.b, &schema), &schema, "1 asc first, 0 desc last", limit));
    for (int mode = 0; mode < 2; mode++) {
      batch_source source;
      batch_source_attach(&source, r.op, 0, batches, 6);
      if (mode == 0) source.before = ask_for_memory;
      Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
      assert_ok(&t.ctx, hly_op_open(r.op, &task));
      uint32_t n = 0;
      for (hly_batch *out;;) {
        assert_ok(&t.ctx, hly_op_next(r.op, &out));
        if (!out) break;
        for (uint32_t i = 0; i < out->n_sel; i++, n++) {
          char *line = hly_arena_printf(t.arena, "%s|%s|", test_value_text(t.arena, out->columns[0], i),
                                        test_value_text(t.arena, out->columns[1], i));
          assert_string_equal(line, expected.lines[n]);
        }
        if (mode == 1) hly_pool_spill(t.ctx.pool, INT64_MAX);
      }
      assert_int_equal(n, expected.n_lines);
      assert_true(r.op->metrics[HALLEY__METRIC__SPILL_COUNT] > 0);
      hly_op_close(r.op);
    }
    finish(&t);
  }
}

static void test_huge_strings(void **state) {
  enum { N = 5, BYTES = 10 << 20 };
  for (int top = -1; top <= 3; top += 4) {
    bench t;
    start(&t, 1 << 20, 8192);
    t.ctx.batch_bytes = 1 << 20;
    hly_schema schema = test_schema(t.arena, "struct<a:string>");
    hly_batch *batches[N];
    for (int i = 0; i < N; i++) {
      hly_buf *heap = hly_buf_create(BYTES);
      memset(heap->data, 'a', BYTES);
      heap->data[BYTES - 1] = (uint8_t)('a' + i * 2 % N);
      assert_ok(&t.ctx, hly_batch_create(&t.ctx, t.arena, &schema, &batches[i]));
      assert_ok(&t.ctx, hly_vector_reset(&t.ctx, batches[i]->columns[0], 1));
      *(hly_str *)batches[i]->columns[0]->values = hly_str_make(heap->data, BYTES);
      assert_ok(&t.ctx, hly_vector_add_heap(&t.ctx, batches[i]->columns[0], heap));
      hly_buf_unref(heap);
      hly_batch_set_rows(batches[i], 1);
    }
    plan_run r;
    plan_bind(&r, &t.ctx, t.arena, p_sort(&t.b, p_input(&t.b, &schema), &schema, "0 asc first", top));
    batch_source source;
    batch_source_attach(&source, r.op, 0, batches, N);
    Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
    assert_ok(&t.ctx, hly_op_open(r.op, &task));
    int n = 0;
    for (hly_batch *out;;) {
      assert_ok(&t.ctx, hly_op_next(r.op, &out));
      if (!out) break;
      for (uint32_t i = 0; i < out->n_sel; i++) {
        const hly_str *s = (const hly_str *)out->columns[0]->values + i;
        assert_int_equal(s->len, BYTES);
        assert_int_equal(s->u.out.ptr[BYTES - 1], 'a' + n++);
      }
    }
    assert_int_equal(n, top < 0 ? N : top);
    hly_op_close(r.op);
    finish(&t);
  }
}

static void test_failing_allocations_leak_nothing(void **state) {
  for (int variant = 0; variant < 4; variant++) {
    bench t;
    start(&t, variant & 1 ? 0 : -1, 64);
    hly_schema schema = test_schema(t.arena, "struct<a:int,b:string,c:array<int>>");
    hly_batch **batches = make_batches(&t, &schema, 5, 3, 200, 20, HLY_FLAT);
    Halley__Plan *plan =
        p_sort(&t.b, p_input(&t.b, &schema), &schema, "1 asc first, 0 desc last", variant & 2 ? 10 : -1);
    plan_failing_allocations(&t.ctx, plan, batches, 3, 200);
    finish(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_type),   cmocka_unit_test(test_several_keys),
      cmocka_unit_test(test_big),          cmocka_unit_test(test_top_k),
      cmocka_unit_test(test_empty),        cmocka_unit_test(test_spill_when_asked),
      cmocka_unit_test(test_huge_strings), cmocka_unit_test(test_failing_allocations_leak_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
