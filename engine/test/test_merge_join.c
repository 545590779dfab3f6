// MergeJoin against a comparison of every row with every other: groups within and across batches, conditions,
// errors in their order, failing allocations.
#include "fixture.h"

#include "join_oracle.h"

static const join_setup BASE = {.kind = JOIN_MERGE,
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
enum { N_TYPES = HALLEY__JOIN_TYPE__EXISTENCE + 1 };

// Runs over sorted inputs; lines in order when `ordered`, else as sets.
static bool check(const join_setup *setup, bool ordered) {
  join_test t;
  plan_run expected;
  bool failed;
  join_start(&t, setup);
  join_sort_side(&t, 0);
  join_sort_side(&t, 1);
  t.setup.build_left = setup->type == HALLEY__JOIN_TYPE__RIGHT_OUTER; // the side that does not stream
  join_expected(&t, false, &expected, &failed);
  hly_status st = join_run(&t, false);
  if (failed)
    assert_int_equal(st, HLY_ERR);
  else
    assert_ok(&t.ctx, st);
  if (!ordered) {
    plan_sort_lines(&expected);
    plan_sort_lines(&t.run);
  }
  plan_assert_same(&expected, &t.run);
  join_finish(&t);
  return failed;
}

static void test_types(void **state) {
  static const uint32_t sizes[] = {1, 7, 8192};
  for (int type = 0; type < N_TYPES; type++) {
    for (int s = 0; s < 3; s++) {
      for (int bits = 0; bits < 8; bits++) {
        join_setup u = BASE;
        u.type = (Halley__JoinType)type;
        u.batch_rows = sizes[s];
        u.condition = bits & 1;
        u.skewed = bits & 2; // a group over several batches
        u.rows = bits & 4 ? 1 : 20;
        if (bits & 4) u.left_batches = u.right_batches = 12;
        check(&u, type != HALLEY__JOIN_TYPE__FULL_OUTER);
      }
    }
  }
}

static void test_keys(void **state) {
  static const char *const types[] = {"int", "string", "binary", "date", "timestamp"};
  for (uint32_t i = 0; i < sizeof types / sizeof *types; i++) {
    join_setup u = BASE;
    u.key = types[i];
    u.type = i % 2 ? HALLEY__JOIN_TYPE__FULL_OUTER : HALLEY__JOIN_TYPE__LEFT_OUTER;
    check(&u, false);
  }
}

static void test_empty_sides(void **state) {
  for (int type = 0; type < N_TYPES; type++) {
    for (int which = 0; which < 3; which++) {
      join_setup u = BASE;
      u.type = (Halley__JoinType)type;
      if (which != 1) u.left_batches = 0;
      if (which != 0) u.right_batches = 0;
      check(&u, false);
    }
  }
}

static void test_errors(void **state) {
  uint32_t n_failed = 0;
  for (int type = 0; type < N_TYPES; type++) {
    if (type == HALLEY__JOIN_TYPE__FULL_OUTER) continue; // its order is not the oracle's
    for (int64_t bad = 0; bad < 1000; bad += 101) {
      join_setup u = BASE;
      u.type = (Halley__JoinType)type;
      u.condition = true;
      u.bad = bad;
      u.skewed = true;
      u.batch_rows = bad % 2 ? 7 : 8192;
      n_failed += check(&u, true);
    }
  }
  assert_true(n_failed > 30);
}

// A group that is refused memory goes to disk and is read for each of its streamed rows.
static void test_group_on_disk(void **state) {
  uint32_t n_failed = 0;
  for (int type = 0; type < N_TYPES; type++) {
    for (int bits = 0; bits < 3; bits++) {
      bool pairs = type < HALLEY__JOIN_TYPE__LEFT_SEMI, full = type == HALLEY__JOIN_TYPE__FULL_OUTER;
      if ((!pairs && bits == 0) || (full && bits == 2)) continue;
      join_setup u = BASE;
      u.type = (Halley__JoinType)type;
      u.limit = 0;
      u.condition = bits;
      u.skewed = true;
      u.n_values = 2;
      bool kept_left = type == HALLEY__JOIN_TYPE__RIGHT_OUTER;
      u.left_batches = kept_left ? 8 : 2;
      u.right_batches = kept_left ? 2 : 8;
      u.left_rows = kept_left ? 500 : 3;
      u.rows = kept_left ? 3 : pairs ? 500 : 1500;
      u.batch_rows = bits ? 100 : 8192;
      if (bits == 2) u.bad = 404;
      join_test t;
      plan_run expected;
      bool failed;
      join_start(&t, &u);
      join_sort_side(&t, 0);
      join_sort_side(&t, 1);
      t.setup.build_left = kept_left;
      join_expected(&t, false, &expected, &failed);
      n_failed += failed;
      assert_int_equal(join_run(&t, false), failed ? HLY_ERR : HLY_OK);
      assert_true(t.run.op->metrics[HALLEY__METRIC__SPILL_COUNT] > 0);
      if (full) {
        plan_sort_lines(&expected);
        plan_sort_lines(&t.run);
      }
      plan_assert_same(&expected, &t.run);
      join_finish(&t);
    }
  }
  assert_true(n_failed > 0);
}

static void ask_for_memory(batch_source *s, uint32_t batch) {
  hly_pool_spill(s->op.ctx->pool, INT64_MAX);
}

// Spark asks for memory in the middle of each pull: a group that is still growing goes.
static void test_group_spills_when_asked(void **state) {
  uint32_t n_spills = 0;
  for (int type = 0; type < N_TYPES; type++) {
    for (int bits = 0; bits < 2; bits++) {
      join_setup u = BASE;
      u.type = (Halley__JoinType)type;
      u.condition = bits;
      u.skewed = true;
      u.n_values = 3;
      u.left_batches = u.right_batches = 12; // groups over several of them
      join_test t;
      plan_run expected;
      bool failed;
      join_start(&t, &u);
      join_sort_side(&t, 0);
      join_sort_side(&t, 1);
      t.setup.build_left = type == HALLEY__JOIN_TYPE__RIGHT_OUTER;
      join_expected(&t, false, &expected, &failed);
      plan_bind(&t.run, &t.ctx, t.arena, t.plan);
      for (uint32_t i = 0; i < 2; i++) {
        batch_source_attach(&t.sources[i], t.run.op, i, t.batches[i], t.n_batches[i]);
        t.sources[i].before = ask_for_memory;
      }
      Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
      assert_ok(&t.ctx, plan_drain(&t.run, &task));
      const int64_t *metrics = t.run.op->metrics;
      n_spills += metrics[HALLEY__METRIC__SPILL_COUNT] > 0;
      assert_int_equal(metrics[HALLEY__METRIC__SPILL_COUNT] > 0,
                       metrics[HALLEY__METRIC__SPILL_MEMORY_BYTES] > 0);
      if (type == HALLEY__JOIN_TYPE__FULL_OUTER) {
        plan_sort_lines(&expected);
        plan_sort_lines(&t.run);
      }
      plan_assert_same(&expected, &t.run);
      join_finish(&t);
    }
  }
  assert_true(n_spills > N_TYPES);
}

// Rows that come before an error of the kept input come out first.
static void test_kept_input_fails(void **state) {
  join_setup u = BASE;
  u.type = HALLEY__JOIN_TYPE__LEFT_OUTER;
  u.right_batches = 1;
  u.skewed = true;
  join_test t;
  join_start(&t, &u);
  join_sort_side(&t, 0);
  join_sort_side(&t, 1);
  plan_bind(&t.run, &t.ctx, t.arena, t.plan);
  for (uint32_t i = 0; i < 2; i++)
    batch_source_attach(&t.sources[i], t.run.op, i, t.batches[i], t.n_batches[i]);
  t.sources[1].fails = true;
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_int_equal(plan_drain(&t.run, &task), HLY_ERR);
  assert_true(t.run.n_lines > 0);
  join_finish(&t);
}

static void test_allocations(void **state) {
  for (int i = 0; i < 2; i++) {
    join_setup u = BASE;
    u.type = i ? HALLEY__JOIN_TYPE__FULL_OUTER : HALLEY__JOIN_TYPE__LEFT_SEMI;
    u.condition = true;
    u.skewed = true;
    u.n_values = 1; // sorted as they are
    u.null_percent = 0;
    join_failing_allocations(&u, 150);
    u.limit = 0; // a group on disk
    u.left_rows = 2;
    u.left_batches = 1;
    u.right_batches = 4;
    u.rows = 2500;
    join_failing_allocations(&u, 40);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types),         cmocka_unit_test(test_keys),
      cmocka_unit_test(test_empty_sides),   cmocka_unit_test(test_errors),
      cmocka_unit_test(test_group_on_disk), cmocka_unit_test(test_kept_input_fails),
      cmocka_unit_test(test_allocations),   cmocka_unit_test(test_group_spills_when_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
