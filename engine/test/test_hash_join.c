// HashJoin against a comparison of every row with every other: join types, build sides, keys of every type,
// conditions, memory that is refused, errors, failing allocations.
#include "fixture.h"

#include "join_oracle.h"

#define INNER HALLEY__JOIN_TYPE__INNER
#define ANTI HALLEY__JOIN_TYPE__LEFT_ANTI
#define FULL HALLEY__JOIN_TYPE__FULL_OUTER

static const join_setup BASE = {.kind = JOIN_HASH,
                                .key = "bigint",
                                .n_keys = 1,
                                .limit = -1,
                                .batch_rows = 8192,
                                .left_batches = 4,
                                .right_batches = 3,
                                .rows = 20,
                                .n_values = 15,
                                .null_percent = 10,
                                .bad = -1};

// Each type with each build side.
static uint32_t variants(join_setup *out) {
  uint32_t n = 0;
  for (int type = INNER; type <= HALLEY__JOIN_TYPE__EXISTENCE; type++) {
    for (int build_left = 0; build_left < 2; build_left++) {
      out[n] = BASE;
      out[n].type = (Halley__JoinType)type;
      out[n++].build_left = build_left;
    }
  }
  return n;
}

static void test_types_and_sides(void **state) {
  static const uint32_t sizes[] = {1, 7, 8192};
  join_setup all[16];
  uint32_t n = variants(all);
  for (uint32_t i = 0; i < n; i++) {
    for (int s = 0; s < 3; s++) {
      for (int bits = 0; bits < 8; bits++) {
        join_setup u = all[i];
        u.batch_rows = sizes[s];
        u.condition = bits & 1;
        u.limit = bits & 2 ? 0 : -1;
        u.n_keys = bits & 4 ? 2 : 1;
        u.encoding = bits & 4 ? HLY_DICT : HLY_FLAT;
        join_check(&u);
      }
    }
  }
}

static void test_key_types(void **state) {
  static const char *const types[] = {"boolean",
                                      "tinyint",
                                      "smallint",
                                      "int",
                                      "bigint",
                                      "float",
                                      "double",
                                      "decimal(12,2)",
                                      "decimal(38,10)",
                                      "date",
                                      "timestamp",
                                      "string",
                                      "binary",
                                      "timestamp_ntz",
                                      "struct<a:int,b:string>",
                                      "struct<d:double,n:decimal(30,2),t:struct<x:boolean,y:date>>",
                                      "array<bigint>",
                                      "array<struct<s:string,v:array<smallint>>>"};
  for (uint32_t i = 0; i < sizeof types / sizeof *types; i++) {
    for (int bits = 0; bits < 8; bits++) {
      join_setup u = BASE;
      u.key = types[i];
      u.type = bits & 1 ? FULL : INNER;
      u.encoding = bits & 2 ? HLY_DICT : HLY_FLAT;
      u.limit = bits & 4 ? 0 : -1;
      u.left_batches = u.right_batches = 2;
      join_check(&u);
    }
  }
}

static void test_skew(void **state) {
  join_setup all[16];
  uint32_t n = variants(all);
  for (uint32_t i = 0; i < n; i++) {
    for (int bits = 0; bits < 4; bits++) {
      join_setup u = all[i];
      u.skewed = true;
      u.condition = bits & 1;
      u.limit = bits & 2 ? 0 : -1;
      u.batch_rows = 64;
      u.left_batches = u.right_batches = 2;
      join_check(&u);
    }
  }
}

// More rows than are kept without being paid for: partitions, and partitions of partitions.
static void test_partitions(void **state) {
  join_setup all[16];
  uint32_t n = variants(all);
  for (uint32_t i = 0; i < n; i++) {
    join_setup u = all[i];
    u.limit = 0;
    u.rows = 2500;
    u.left_batches = u.right_batches = 1;
    u.n_values = 1500;
    u.condition = i % 2;
    join_test t;
    plan_run expected;
    bool failed;
    join_start(&t, &u);
    join_expected(&t, false, &expected, &failed);
    assert_ok(&t.ctx, join_run(&t, false));
    if (u.type < HALLEY__JOIN_TYPE__LEFT_SEMI || u.build_left) // the others keep only keys
      assert_true(t.run.op->metrics[HALLEY__METRIC__SPILL_COUNT] > 0);
    plan_sort_lines(&expected);
    plan_sort_lines(&t.run);
    plan_assert_same(&expected, &t.run);
    join_finish(&t);
  }
}

static void ask_for_memory(batch_source *s, uint32_t batch) {
  hly_pool_spill(s->op.ctx->pool, INT64_MAX);
}

// The pool asks while either side is taken in.
static void test_asked_to_spill(void **state) {
  join_setup all[16];
  uint32_t n = variants(all);
  for (uint32_t i = 0; i < n; i++) {
    join_test t;
    plan_run expected;
    bool failed;
    join_start(&t, &all[i]);
    join_expected(&t, false, &expected, &failed);
    plan_bind(&t.run, &t.ctx, t.arena, t.plan);
    for (uint32_t k = 0; k < 2; k++) {
      batch_source_attach(&t.sources[k], t.run.op, k, t.batches[k], t.n_batches[k]);
      t.sources[k].before = ask_for_memory;
    }
    Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
    assert_ok(&t.ctx, plan_drain_asking(&t.run, &task));
    assert_true(t.run.op->metrics[HALLEY__METRIC__SPILL_COUNT] > 0);
    plan_sort_lines(&expected);
    plan_sort_lines(&t.run);
    plan_assert_same(&expected, &t.run);
    join_finish(&t);
  }
}

static void test_empty_sides(void **state) {
  join_setup all[16];
  uint32_t n = variants(all);
  for (uint32_t i = 0; i < n; i++) {
    for (int which = 0; which < 3; which++) {
      join_setup u = all[i];
      if (which != 1) u.left_batches = 0;
      if (which != 0) u.right_batches = 0;
      join_check(&u);
    }
  }
}

// The three cases of NOT IN: no rows, a null among them, neither.
static void test_null_aware(void **state) {
  for (int bits = 0; bits < 8; bits++) {
    join_setup u = BASE;
    u.type = ANTI;
    u.null_aware = true;
    u.null_percent = bits & 1 ? 10 : 0;
    u.right_batches = bits & 2 ? 0 : 1;
    u.rows = 20;
    u.limit = bits & 4 ? 0 : -1;
    u.n_values = 60;
    join_check(&u);
  }
  // Nulls on the left only.
  join_test t;
  plan_run expected;
  bool failed;
  join_setup u = BASE;
  u.type = ANTI;
  u.null_aware = true;
  u.null_percent = 20;
  u.right_batches = 1;
  u.n_values = 200;
  join_start(&t, &u);
  t.batches[1][0]->columns[0]->validity = NULL;
  join_expected(&t, false, &expected, &failed);
  assert_true(expected.n_lines > 20 && expected.n_lines < 80);
  assert_ok(&t.ctx, join_run(&t, false));
  plan_assert_same(&expected, &t.run);
  join_finish(&t);
}

// Rows before the failing pair come out, in order; pairs behind the first match of a semi join do not fail.
static void test_errors(void **state) {
  static const uint32_t sizes[] = {1, 7, 8192};
  join_setup all[16];
  uint32_t n = variants(all), n_failed = 0;
  for (uint32_t i = 0; i < n; i++) {
    for (int64_t bad = 0; bad < 1000; bad += 101) {
      for (int s = 0; s < 3; s++) {
        join_setup u = all[i];
        u.condition = true;
        u.bad = bad;
        u.rows = 60;
        u.batch_rows = sizes[s];
        u.left_batches = u.right_batches = 1;
        join_test t;
        plan_run expected;
        bool failed;
        join_start(&t, &u);
        join_expected(&t, true, &expected, &failed);
        hly_status st = join_run(&t, false);
        assert_int_equal(st, failed ? HLY_ERR : HLY_OK);
        if (failed) {
          n_failed++;
          assert_int_equal(t.ctx.error.jvm_ref, 77);
        } else {
          plan_sort_lines(&expected);
          plan_sort_lines(&t.run);
        }
        plan_assert_same(&expected, &t.run);
        join_finish(&t);
      }
    }
  }
  assert_true(n_failed > 50);
}

// A key of many duplicates on both sides streams: no batch is larger than allowed, in rows and in bytes.
static void test_product_streams(void **state) {
  join_setup u = BASE;
  u.n_values = 1;
  u.null_percent = 0;
  u.rows = 150;
  u.left_batches = u.right_batches = 1;
  u.batch_rows = 1000;
  u.batch_bytes = 4096;
  join_test t;
  join_start(&t, &u);
  assert_ok(&t.ctx, join_run(&t, false));
  assert_int_equal(t.run.n_lines, 150 * 150);
  assert_true(t.run.most_rows < 100);
  join_finish(&t);
}

// A broadcast value stays in memory.
static void test_broadcast(void **state) {
  join_setup u = BASE;
  u.limit = 0;
  u.rows = 2500;
  u.n_values = 1500;
  u.left_batches = u.right_batches = 1;
  u.broadcast = true;
  join_test t;
  plan_run expected;
  bool failed;
  join_start(&t, &u);
  join_expected(&t, false, &expected, &failed);
  assert_ok(&t.ctx, join_run(&t, true));
  assert_int_equal(t.run.op->metrics[HALLEY__METRIC__SPILL_COUNT], 0);
  plan_sort_lines(&expected);
  plan_sort_lines(&t.run);
  plan_assert_same(&expected, &t.run);
  join_finish(&t);
}

// Many rows on the left whose condition fails: those before the first come out, and the error is raised only
// by whoever goes on.
static void test_many_errors(void **state) {
  uint32_t n_failed = 0;
  for (int type = HALLEY__JOIN_TYPE__LEFT_SEMI; type <= HALLEY__JOIN_TYPE__EXISTENCE; type++) {
    for (int64_t bad = 0; bad < 1000; bad += 101) {
      join_setup u = BASE;
      u.type = (Halley__JoinType)type;
      u.build_left = u.condition = true;
      u.n_values = 1;
      u.null_percent = 30;
      u.bad = bad;
      u.rows = 400;
      u.left_batches = u.right_batches = 1;
      join_test t;
      plan_run expected;
      bool failed;
      join_start(&t, &u);
      join_expected(&t, false, &expected, &failed);
      assert_int_equal(failed ? HLY_ERR : HLY_OK, join_run(&t, false));
      n_failed += failed;
      plan_assert_same(&expected, &t.run);
      join_finish(&t);
    }
  }
  assert_true(n_failed > 3);
}

static void refused(const join_setup *u) {
  join_test t;
  join_start(&t, u);
  hly_binder binder = {.ctx = &t.ctx, .arena = t.arena};
  hly_op *op;
  assert_int_equal(hly_op_bind(&binder, t.plan, &op), HLY_REFUSED);
  assert_int_equal(binder.n_reasons, 1);
  join_finish(&t);
}

static void test_refusals(void **state) {
  join_setup u = BASE;
  u.key = "struct<m:map<int,int>>";
  u.n_values = 1;
  refused(&u);
  u = BASE;
  u.type = ANTI;
  u.build_left = u.broadcast = true;
  refused(&u);
  u = BASE;
  u.null_aware = true;
  refused(&u);
  u = BASE;
  u.type = FULL;
  u.broadcast = true;
  refused(&u);
}

static void test_allocations(void **state) {
  for (int bits = 0; bits < 8; bits++) {
    join_setup u = BASE;
    u.type = bits & 1 ? ANTI : FULL;
    u.build_left = bits & 4;
    u.condition = true;
    u.rows = bits & 2 ? 2500 : 20;
    u.n_values = bits & 2 ? 4000 : 10;
    u.left_batches = u.right_batches = 1;
    u.limit = bits & 2 ? 0 : -1;
    join_failing_allocations(&u, bits & 2 ? 60 : 200);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types_and_sides),
      cmocka_unit_test(test_key_types),
      cmocka_unit_test(test_skew),
      cmocka_unit_test(test_partitions),
      cmocka_unit_test(test_asked_to_spill),
      cmocka_unit_test(test_empty_sides),
      cmocka_unit_test(test_null_aware),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_many_errors),
      cmocka_unit_test(test_product_streams),
      cmocka_unit_test(test_broadcast),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
