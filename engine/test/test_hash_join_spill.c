// HashJoin that is asked for memory while it joins: its build side goes to disk with what it knows of its
// rows, and the rest of the probe side follows. Whenever that is, the answer is the same.
#include "fixture.h"

#include "join_oracle.h"

enum { N_SIZES = 3 };
static const uint32_t SIZES[N_SIZES] = {1, 7, 8192};

static join_setup base(int type, bool build_left) {
  return (join_setup){.kind = JOIN_HASH,
                      .key = "bigint",
                      .n_keys = 1,
                      .type = (Halley__JoinType)type,
                      .build_left = build_left,
                      .limit = -1,
                      .batch_rows = 8192,
                      .left_batches = 3,
                      .right_batches = 3,
                      .rows = 20,
                      .n_values = 15,
                      .null_percent = 10,
                      .bad = -1};
}

#define EACH_TYPE(type, build_left)                                                                          \
  for (int type = 0; type <= HALLEY__JOIN_TYPE__EXISTENCE; type++)                                           \
    for (int build_left = 0; build_left < 2; build_left++)

static void ask(batch_source *s, uint32_t batch) {
  const uint32_t *at = s->arg;
  if (batch == *at) hly_pool_spill(s->op.ctx->pool, INT64_MAX);
}

// Runs, asking before probe batch `at` (UINT32_MAX: never) and, if `always`, after every batch that is given.
static hly_status run(join_test *t, uint32_t at, bool always) {
  uint32_t probe = t->setup.build_left ? 1 : 0;
  plan_bind(&t->run, &t->ctx, t->arena, t->plan);
  for (uint32_t i = 0; i < 2; i++)
    batch_source_attach(&t->sources[i], t->run.op, i, t->batches[i], t->n_batches[i]);
  t->sources[probe].before = ask;
  t->sources[probe].arg = &at;
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  return always ? plan_drain_asking(&t->run, &task) : plan_drain(&t->run, &task);
}

static void check(const join_setup *u, uint32_t at, bool always) {
  join_test t;
  plan_run expected;
  bool failed;
  join_start(&t, u);
  join_expected(&t, true, &expected, &failed);
  hly_status st = run(&t, at, always);
  assert_int_equal(st, failed ? HLY_ERR : HLY_OK);
  if (!failed) { // else it may have ended before it was asked
    if (at != UINT32_MAX) assert_true(t.run.op->metrics[HALLEY__METRIC__SPILL_COUNT] > 0);
    plan_sort_lines(&expected);
    plan_sort_lines(&t.run);
    plan_assert_same(&expected, &t.run);
  }
  join_finish(&t);
}

// Before the first probe batch, between two, and when the last is gone.
static void test_asked_by_input(void **state) {
  EACH_TYPE(type, build_left) {
    for (uint32_t at = 0; at <= 3; at++) {
      for (int bits = 0; bits < 4; bits++) {
        join_setup u = base(type, build_left);
        u.condition = bits & 1;
        u.batch_rows = bits & 2 ? 7 : 8192;
        check(&u, at, false);
      }
    }
  }
}

// Also in the middle of a probe batch and of the rows at the end, and of partitions of partitions.
static void test_asked_by_consumer(void **state) {
  EACH_TYPE(type, build_left) {
    for (int s = 0; s < N_SIZES; s++) {
      for (int bits = s; bits < 8; bits += N_SIZES) {
        join_setup u = base(type, build_left);
        u.condition = bits & 1;
        u.n_keys = bits & 2 ? 2 : 1;
        if (bits == 3) u.key = "struct<a:int,b:array<string>>";
        u.limit = bits & 4 ? 0 : -1;
        u.batch_rows = SIZES[s];
        check(&u, UINT32_MAX, true);
      }
    }
  }
}

// Keys of many rows, most of them one: what cannot be cut stays.
static void test_skew(void **state) {
  EACH_TYPE(type, build_left) {
    join_setup u = base(type, build_left);
    u.condition = true;
    u.skewed = true;
    u.batch_rows = 16;
    check(&u, 1, true);
  }
}

// Large enough for partitions that are refused room when they are read, and asked for it again.
static void test_large(void **state) {
  EACH_TYPE(type, build_left) {
    join_setup u = base(type, build_left);
    u.condition = build_left;
    u.left_batches = u.right_batches = 2;
    u.rows = 1200;
    u.n_values = 1500;
    u.batch_rows = 500;
    u.limit = type % 2 ? 0 : -1;
    check(&u, 1, true);
  }
}

// Whoever reads the join's batches takes all memory there is, that of the build side too.
static void test_consumer_grows(void **state) {
  enum { LIMIT = 1 << 20 };
  EACH_TYPE(type, build_left) {
    join_setup u = base(type, build_left);
    u.limit = LIMIT;
    u.rows = 2500;
    u.left_batches = u.right_batches = 1;
    u.n_values = 1500;
    join_test t;
    plan_run expected;
    bool failed;
    join_start(&t, &u);
    join_expected(&t, true, &expected, &failed);
    join_prepare(&t);
    hly_reservation *consumer = hly_reservation_create(t.ctx.pool, "Consumer", NULL, NULL);
    Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
    assert_ok(&t.ctx, hly_op_open(t.run.op, &task));
    uint32_t n = 0;
    hly_batch *out;
    do {
      assert_ok(&t.ctx, hly_op_next(t.run.op, &out));
      if (out && n == 0) {
        while (hly_reservation_grow(consumer, 4096) == HLY_OK) {
        }
        assert_true(hly_reservation_bytes(consumer) > LIMIT - (64 << 10));
      }
      n += out ? out->n_sel : 0;
    } while (out);
    assert_int_equal(n, expected.n_lines);
    assert_true(t.run.op->metrics[HALLEY__METRIC__SPILL_COUNT] > 0);
    hly_op_close(t.run.op);
    hly_reservation_destroy(consumer);
    join_finish(&t);
  }
}

// An error is raised wherever its row went; one behind the first match of a semi join nowhere.
static void test_errors(void **state) {
  EACH_TYPE(type, build_left) {
    for (int64_t bad = 0; bad < 1000; bad += 202) {
      for (uint32_t at = 0; at < 3; at++) {
        join_setup u = base(type, build_left);
        u.condition = true;
        u.bad = bad;
        u.batch_rows = SIZES[at];
        check(&u, at, true);
      }
    }
  }
}

static void test_allocations(void **state) {
  EACH_TYPE(type, build_left) {
    join_setup u = base(type, build_left);
    u.condition = true;
    u.asking = true;
    u.rows = 12;
    u.left_batches = u.right_batches = 2;
    u.batch_rows = 7;
    join_failing_allocations(&u, 40);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_asked_by_input), cmocka_unit_test(test_asked_by_consumer),
      cmocka_unit_test(test_skew),           cmocka_unit_test(test_large),
      cmocka_unit_test(test_consumer_grows), cmocka_unit_test(test_errors),
      cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
