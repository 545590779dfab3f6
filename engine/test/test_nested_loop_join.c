// NestedLoopJoin against a comparison of every row with every other.
#include "fixture.h"

#include "join_oracle.h"

static const join_setup BASE = {.kind = JOIN_NESTED,
                                .key = "bigint",
                                .limit = -1,
                                .batch_rows = 8192,
                                .left_batches = 2,
                                .right_batches = 2,
                                .rows = 12,
                                .n_values = 15,
                                .null_percent = 10,
                                .bad = -1};

static const struct {
  Halley__JoinType type;
  bool build_left;
} KINDS[] = {
    {HALLEY__JOIN_TYPE__INNER, false},      {HALLEY__JOIN_TYPE__INNER, true},
    {HALLEY__JOIN_TYPE__LEFT_OUTER, false}, {HALLEY__JOIN_TYPE__RIGHT_OUTER, true},
    {HALLEY__JOIN_TYPE__LEFT_SEMI, false},  {HALLEY__JOIN_TYPE__LEFT_ANTI, false},
    {HALLEY__JOIN_TYPE__EXISTENCE, false},
};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

static void test_types(void **state) {
  static const uint32_t sizes[] = {1, 7, 8192};
  for (uint32_t i = 0; i < N_KINDS; i++) {
    for (int s = 0; s < 3; s++) {
      for (int bits = 0; bits < 4; bits++) {
        join_setup u = BASE;
        u.type = KINDS[i].type;
        u.build_left = KINDS[i].build_left;
        u.batch_rows = sizes[s];
        u.condition = bits & 1;
        u.limit = bits & 2 ? 0 : -1; // what is kept is never refused
        join_check(&u);
      }
    }
  }
}

static void test_empty_sides(void **state) {
  for (uint32_t i = 0; i < N_KINDS; i++) {
    for (int which = 0; which < 3; which++) {
      join_setup u = BASE;
      u.type = KINDS[i].type;
      u.build_left = KINDS[i].build_left;
      if (which != 1) u.left_batches = 0;
      if (which != 0) u.right_batches = 0;
      join_check(&u);
    }
  }
}

static void branch(join_test *t, Halley__Branch *b, int32_t input, int32_t partition) {
  halley__branch__init(b);
  b->input = input;
  b->task = HLY_ARENA_NEW(t->arena, Halley__TaskInput);
  halley__task_input__init(b->task);
  b->task->partition = partition;
}

// A cartesian product opens each input over a partition of its own.
static void test_product(void **state) {
  join_setup u = BASE;
  u.condition = true;
  u.batch_rows = 7;
  join_test t;
  plan_run expected;
  bool failed;
  join_start(&t, &u);
  join_expected(&t, false, &expected, &failed);
  join_prepare(&t);
  Halley__Branch left, right, *both[2] = {&left, &right};
  branch(&t, &left, 0, 3);
  branch(&t, &right, 1, 1);
  Halley__Branches branches = HALLEY__BRANCHES__INIT, *list = &branches;
  branches.plan_id = t.run.op->plan_id;
  branches.n_branches = 2;
  branches.branches = both;
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  task.partition = 7;
  task.n_branches = 1;
  task.branches = &list;
  assert_ok(&t.ctx, plan_drain(&t.run, &task));
  plan_assert_same(&expected, &t.run);
  assert_int_equal(t.sources[0].partition, 3);
  assert_int_equal(t.sources[1].partition, 1);
  // An input without a branch, and no second branch.
  right.input = 0;
  assert_int_equal(HLY_ERR, plan_drain(&t.run, &task));
  hly_error_clear(&t.ctx.error);
  branches.n_branches = 1;
  assert_int_equal(HLY_ERR, plan_drain(&t.run, &task));
  join_finish(&t);
}

// Pairs are in order: streamed rows, and for each the kept rows as they came.
static void test_errors(void **state) {
  uint32_t n_failed = 0;
  for (uint32_t i = 0; i < N_KINDS; i++) {
    for (int64_t bad = 0; bad < 1000; bad += 101) {
      join_setup u = BASE;
      u.type = KINDS[i].type;
      u.build_left = KINDS[i].build_left;
      u.condition = true;
      u.bad = bad;
      u.batch_rows = bad % 2 ? 7 : 8192;
      join_test t;
      plan_run expected;
      bool failed;
      join_start(&t, &u);
      join_expected(&t, false, &expected, &failed);
      assert_int_equal(join_run(&t, false), failed ? HLY_ERR : HLY_OK);
      n_failed += failed;
      plan_assert_same(&expected, &t.run);
      join_finish(&t);
    }
  }
  assert_true(n_failed > 10);
}

// Whether a kept row matches nothing is known only when all tasks are done.
static void test_refusals(void **state) {
  static const struct {
    Halley__JoinType type;
    bool build_left;
  } refused[] = {{HALLEY__JOIN_TYPE__FULL_OUTER, false},
                 {HALLEY__JOIN_TYPE__LEFT_OUTER, true},
                 {HALLEY__JOIN_TYPE__RIGHT_OUTER, false},
                 {HALLEY__JOIN_TYPE__LEFT_ANTI, true}};
  for (uint32_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    join_setup u = BASE;
    u.type = refused[i].type;
    u.build_left = refused[i].build_left;
    join_test t;
    join_start(&t, &u);
    hly_binder binder = {.ctx = &t.ctx, .arena = t.arena};
    hly_op *op;
    assert_int_equal(hly_op_bind(&binder, t.plan, &op), HLY_REFUSED);
    join_finish(&t);
  }
}

static void test_allocations(void **state) {
  join_setup u = BASE;
  u.type = HALLEY__JOIN_TYPE__LEFT_OUTER;
  u.condition = true;
  u.left_batches = u.right_batches = 1;
  join_failing_allocations(&u, 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types),  cmocka_unit_test(test_empty_sides), cmocka_unit_test(test_product),
      cmocka_unit_test(test_errors), cmocka_unit_test(test_refusals),    cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
