// Joins over one broadcast value: its table is built once, by whichever task comes first, however the others
// go.
#include "fixture.h"

#include <pthread.h>
#include <semaphore.h>

#include "join_oracle.h"
#include "operators/hash_join.h"

#define INNER HALLEY__JOIN_TYPE__INNER
#define LEFT HALLEY__JOIN_TYPE__LEFT_OUTER
#define SEMI HALLEY__JOIN_TYPE__LEFT_SEMI
#define ANTI HALLEY__JOIN_TYPE__LEFT_ANTI

enum { N_TASKS = 6 };

static const join_setup BASE = {.kind = JOIN_HASH,
                                .key = "bigint",
                                .n_keys = 1,
                                .limit = 0, // the table is not the task's
                                .batch_rows = 64,
                                .left_batches = 4,
                                .right_batches = 5,
                                .rows = 60,
                                .n_values = 100,
                                .null_percent = 10,
                                .bad = -1,
                                .broadcast = true};

typedef struct task {
  join_test t;
  hly_status st;
  pthread_t thread;
} task;

static void *drain(void *arg) {
  task *k = arg;
  k->st = join_drain(&k->t);
  return NULL;
}

static void start(task *k) {
  assert_int_equal(pthread_create(&k->thread, NULL, drain, k), 0);
}

static void check(task *k) {
  plan_run expected;
  bool failed;
  assert_ok(&k->t.ctx, k->st);
  join_expected(&k->t, false, &expected, &failed);
  plan_sort_lines(&expected);
  plan_sort_lines(&k->t.run);
  plan_assert_same(&expected, &k->t.run);
}

static void check_together(const join_setup *u, uint32_t n_built) {
  static task tasks[N_TASKS];
  int64_t built = hly_broadcast_count().built;
  for (uint32_t i = 0; i < N_TASKS; i++) {
    join_start(&tasks[i].t, u);
    join_prepare(&tasks[i].t);
  }
  for (uint32_t i = 0; i < N_TASKS; i++) start(&tasks[i]);
  for (uint32_t i = 0; i < N_TASKS; i++) pthread_join(tasks[i].thread, NULL);
  assert_int_equal(hly_broadcast_count().built - built, n_built);
  for (uint32_t i = 0; i < N_TASKS; i++) {
    check(&tasks[i]);
    join_finish(&tasks[i].t);
  }
}

// Closes the value, of which nobody holds a table any more.
static void close_value(hly_broadcast *value) {
  hly_broadcast_close(value);
  assert_int_equal(hly_broadcast_count().tables, 0);
  assert_int_equal(hly_broadcast_count().bytes, 0);
}

static void test_one_table(void **state) {
  static const char *const keys[] = {"bigint", "int", "string", "decimal(38,10)"};
  for (int type = INNER; type <= HALLEY__JOIN_TYPE__EXISTENCE; type++) {
    for (int build_left = 0; build_left < 2; build_left++) {
      if (type == HALLEY__JOIN_TYPE__FULL_OUTER || (type == LEFT && build_left) ||
          (type == HALLEY__JOIN_TYPE__RIGHT_OUTER && !build_left) || (type >= SEMI && build_left))
        continue;
      for (int k = 0; k < 4; k++) {
        join_setup u = BASE;
        u.type = (Halley__JoinType)type;
        u.build_left = build_left;
        u.key = keys[k];
        u.n_keys = 1 + (uint32_t)k % 2;
        u.condition = k == 1;
        if (u.condition) u.batch_rows = 8192; // the test's host answers in a static buffer
        u.value = hly_broadcast_open();
        if (u.condition) {
          join_check(&u);
          join_check(&u);
        } else {
          check_together(&u, 1);
        }
        close_value(u.value);
      }
    }
  }
}

static void test_nested_loop(void **state) {
  join_setup u = BASE;
  u.kind = JOIN_NESTED;
  u.n_keys = 0;
  u.rows = 12;
  u.value = hly_broadcast_open();
  check_together(&u, 1);
  close_value(u.value);
}

static void test_null_aware(void **state) {
  for (int bits = 0; bits < 4; bits++) {
    join_setup u = BASE;
    u.type = ANTI;
    u.null_aware = true;
    u.null_percent = bits & 1 ? 10 : 0;
    u.right_batches = bits & 2 ? 0 : 1;
    u.value = hly_broadcast_open();
    check_together(&u, 1);
    close_value(u.value);
  }
}

// Joins that keep other columns, or have other keys, have other tables.
static void test_layouts(void **state) {
  static const struct {
    Halley__JoinType type;
    uint32_t n_keys;
    int64_t built;
  } joins[] = {{INNER, 1, 1}, {LEFT, 1, 0}, {SEMI, 1, 1}, {ANTI, 1, 0}, {INNER, 2, 1}, {INNER, 1, 0}};
  join_setup u = BASE;
  u.value = hly_broadcast_open();
  for (uint32_t i = 0; i < sizeof joins / sizeof *joins; i++) {
    u.type = joins[i].type;
    u.n_keys = joins[i].n_keys;
    int64_t built = hly_broadcast_count().built;
    join_check(&u);
    assert_int_equal(hly_broadcast_count().built - built, joins[i].built);
  }
  assert_int_equal(hly_broadcast_count().tables, 3);
  close_value(u.value);
}

static void test_nothing_to_look_up(void **state) {
  join_setup u = BASE;
  u.left_batches = 0;
  u.value = hly_broadcast_open();
  check_together(&u, 0);
  close_value(u.value);
}

// ---- Tasks that wait.

static sem_t inside, go_on;

static void hold(batch_source *s, uint32_t batch) {
  if (batch != 1) return;
  sem_post(&inside);
  sem_wait(&go_on);
}

// A task that stands in the middle of building the table.
static void start_builder(task *k, const join_setup *u, bool fails) {
  sem_init(&inside, 0, 0);
  sem_init(&go_on, 0, 0);
  join_start(&k->t, u);
  join_prepare(&k->t);
  k->t.sources[1].before = hold;
  k->t.sources[1].fails = fails;
  start(k);
  sem_wait(&inside);
}

static void test_builder_fails(void **state) {
  static task first, others[N_TASKS];
  join_setup u = BASE;
  u.value = hly_broadcast_open();
  int64_t built = hly_broadcast_count().built;
  start_builder(&first, &u, true);
  for (uint32_t i = 0; i < N_TASKS; i++) {
    join_start(&others[i].t, &u);
    join_prepare(&others[i].t);
    start(&others[i]);
  }
  sem_post(&go_on);
  pthread_join(first.thread, NULL);
  assert_int_equal(first.st, HLY_ERR);
  assert_int_equal(first.t.ctx.error.id, HLY_E_INTERNAL);
  join_finish(&first.t);
  for (uint32_t i = 0; i < N_TASKS; i++) {
    pthread_join(others[i].thread, NULL);
    check(&others[i]);
    join_finish(&others[i].t);
  }
  assert_int_equal(hly_broadcast_count().built - built, 1);
  close_value(u.value);
}

static bool is_cancelled(void *arg) {
  return __atomic_load_n(&((join_test *)arg)->host.cancel, __ATOMIC_SEQ_CST);
}

static void test_cancelled_while_waiting(void **state) {
  static task first, other;
  join_setup u = BASE;
  u.value = hly_broadcast_open();
  start_builder(&first, &u, false);
  join_start(&other.t, &u);
  other.t.host.host.cancelled = is_cancelled;
  join_prepare(&other.t);
  start(&other);
  __atomic_store_n(&other.t.host.cancel, true, __ATOMIC_SEQ_CST);
  pthread_join(other.thread, NULL); // while the first still builds
  assert_int_equal(other.st, HLY_CANCELLED);
  join_finish(&other.t);
  sem_post(&go_on);
  pthread_join(first.thread, NULL);
  check(&first);
  join_finish(&first.t);
  close_value(u.value);
}

// ---- What run-time filters know of the keys.

static int64_t key_sets(void) {
  return hly_broadcast_count().key_sets;
}

static void test_one_key_set(void **state) {
  static const char *const keys[] = {"bigint", "string", "double", "decimal(38,10)"};
  for (int bits = 0; bits < 16; bits++) {
    join_setup u = BASE;
    u.filtered = true;
    u.type = bits & 1 ? SEMI : INNER;
    u.n_keys = bits & 2 ? 2 : 1;
    u.key = keys[bits >> 2];
    u.value = hly_broadcast_open();
    int64_t before = key_sets();
    check_together(&u, 1);
    assert_int_equal(key_sets() - before, 1);
    check_together(&u, 0);
    assert_int_equal(key_sets() - before, 1);
    close_value(u.value);
  }
}

// A set's bytes are the table's; a join that keeps rows without a match makes none of the table that it
// shares with one that does not.
static void test_key_set_bytes(void **state) {
  join_setup u = BASE;
  u.type = LEFT;
  u.value = hly_broadcast_open();
  u.filtered = true;
  int64_t before = key_sets();
  check_together(&u, 1);
  assert_int_equal(key_sets(), before);
  int64_t bytes = hly_broadcast_count().bytes;
  u.type = INNER;
  check_together(&u, 0);
  assert_int_equal(key_sets() - before, 1);
  assert_int_equal(hly_broadcast_count().tables, 1);
  assert_true(hly_broadcast_count().bytes > bytes);
  close_value(u.value);
}

// A task that stands before its join's first batch, its table complete.
static hly_hash_join *stand(join_test *t, const join_setup *u) {
  bool none;
  join_start(t, u);
  join_prepare(t);
  hly_hash_join *h = (hly_hash_join *)t->run.op;
  assert_ok(&t->ctx, hly_op_open(&h->op, &t->task));
  assert_ok(&t->ctx, hly_hash_join_take_shared(h, NULL, &none));
  assert_false(none);
  assert_non_null(h->key_filters);
  return h;
}

// One holds the others up and gives up in the end; of those, one does not wait for that.
static void test_key_set_abandoned(void **state) {
  static task others[N_TASKS];
  static join_test first;
  join_setup u = BASE;
  u.value = hly_broadcast_open();
  check_together(&u, 1);
  u.filtered = true;
  int64_t before = key_sets();
  hly_hash_join *h = stand(&first, &u);
  hly_key_filter *f = h->key_filters;
  hly_broadcast_keys *keys;
  bool build;
  assert_ok(&first.ctx, hly_broadcast_find_keys(h->shared, &first.ctx, f->keys, f->n_keys, &keys, &build));
  assert_true(build);
  for (uint32_t i = 0; i < N_TASKS; i++) {
    join_start(&others[i].t, &u);
    if (i == 0) others[i].t.host.host.cancelled = is_cancelled;
    join_prepare(&others[i].t);
    start(&others[i]);
  }
  __atomic_store_n(&others[0].t.host.cancel, true, __ATOMIC_SEQ_CST);
  pthread_join(others[0].thread, NULL);
  assert_int_equal(others[0].st, HLY_CANCELLED);
  join_finish(&others[0].t);
  hly_broadcast_abandon_keys(keys);
  for (uint32_t i = 1; i < N_TASKS; i++) {
    pthread_join(others[i].thread, NULL);
    check(&others[i]);
    join_finish(&others[i].t);
  }
  assert_int_equal(key_sets() - before, 1);
  hly_op_close(&h->op);
  join_finish(&first);
  close_value(u.value);
}

// A task that is killed while it builds a set leaves it to the next.
static void test_key_builder_killed(void **state) {
  static join_test first, second;
  static task other;
  join_setup u = BASE;
  u.filtered = true;
  u.right_batches = 20;
  u.rows = 8000; // a look at whether to go on is taken every 65536 rows
  u.left_rows = 10;
  u.batch_rows = 8192;
  u.limit = -1;
  u.n_values = 20000;
  u.value = hly_broadcast_open();
  join_start(&first, &u);
  join_prepare(&first);
  hly_hash_join *h = (hly_hash_join *)first.run.op;
  h->key_filters = NULL;
  assert_ok(&first.ctx, hly_op_open(&h->op, &first.task));
  hly_batch *batch;
  assert_ok(&first.ctx, hly_op_next(&h->op, &batch)); // builds the table, no set
  hly_op_close(&h->op);
  join_finish(&first);
  int64_t before = key_sets(), bytes = hly_broadcast_count().bytes;
  h = stand(&first, &u);
  first.host.host.cancelled = is_cancelled;
  first.host.cancel = true;
  first.ctx.last_cancel_check_ns = 0;
  assert_true(h->store.n_rows > 70000);
  assert_int_equal(hly_hash_join_share_keys(h, h->key_filters), HLY_CANCELLED);
  assert_null(h->key_filters->set);
  assert_int_equal(key_sets(), before);
  assert_int_equal(hly_reservation_bytes(h->shared->reservation), bytes);
  join_start(&other.t, &u);
  join_prepare(&other.t);
  start(&other);
  pthread_join(other.thread, NULL);
  assert_ok(&other.t.ctx, other.st);
  assert_int_equal(key_sets() - before, 1);
  join_finish(&other.t);
  hly_op_close(&h->op);
  join_finish(&first);
  h = stand(&second, &u);
  assert_ok(&second.ctx, hly_hash_join_share_keys(h, h->key_filters));
  assert_non_null(h->key_filters->set);
  assert_int_equal(key_sets() - before, 1);
  assert_int_equal(hly_broadcast_count().bytes, bytes + h->key_filters->set->n_bytes);
  hly_op_close(&h->op);
  join_finish(&second);
  close_value(u.value);
}

static void allocate_again(batch_source *s, uint32_t batch) {
  hly_mem_fail_never();
}

// Where there is no memory for a set the join does without; the next task tries again.
static void test_no_memory_for_key_set(void **state) {
  static const char *const types[] = {"bigint", "string"};
  for (int k = 0; k < 2; k++) {
    join_setup u = BASE;
    u.key = types[k];
    u.value = hly_broadcast_open();
    check_together(&u, 1);
    u.filtered = true;
    int64_t before = key_sets(), bytes = hly_broadcast_count().bytes;
    // The set's entry, which stays; what of it is allocated next, and then each part.
    for (int i = 0; key_sets() == before; i++) {
      static task one;
      join_start(&one.t, &u);
      join_prepare(&one.t);
      one.t.sources[0].before = allocate_again;
      hly_op *op = one.t.run.op;
      assert_ok(&one.t.ctx, hly_op_open(op, &one.t.task));
      hly_mem_fail_at(i < 2 ? i : i - 2);
      hly_batch *batch;
      uint32_t n_rows = 0;
      do {
        assert_ok(&one.t.ctx, hly_op_next(op, &batch));
        n_rows += batch ? batch->n_sel : 0;
      } while (batch);
      hly_op_close(op);
      plan_run expected;
      bool failed;
      join_expected(&one.t, false, &expected, &failed);
      assert_int_equal(n_rows, expected.n_lines);
      if (i < 4) assert_int_equal(key_sets(), before);
      if (key_sets() == before) assert_int_equal(hly_broadcast_count().bytes, bytes);
      join_finish(&one.t);
    }
    close_value(u.value);
  }
}

// ---- How long a table lives.

static void test_closed_while_in_use(void **state) {
  join_setup u = BASE;
  u.value = hly_broadcast_open();
  join_test t;
  join_start(&t, &u);
  join_prepare(&t);
  hly_batch *batch;
  uint64_t n = 0;
  assert_ok(&t.ctx, hly_op_open(t.run.op, &t.task));
  assert_ok(&t.ctx, hly_op_next(t.run.op, &batch));
  hly_broadcast_close(u.value);
  for (; batch; n += batch->n_sel, assert_ok(&t.ctx, hly_op_next(t.run.op, &batch)))
    ;
  assert_int_equal(hly_broadcast_count().tables, 1);
  hly_op_close(t.run.op);
  assert_int_equal(hly_broadcast_count().tables, 0);
  plan_run expected;
  bool failed;
  join_expected(&t, false, &expected, &failed);
  assert_int_equal(n, expected.n_lines);
  join_finish(&t);
}

// A table of a size, without rows.
static void make_table(hly_broadcast *value, hly_ctx *ctx, int64_t n_bytes) {
  hly_broadcast_table *t;
  bool build;
  assert_ok(ctx, hly_broadcast_pin(value, ctx, "k", 1, &t, &build));
  if (build) {
    hly_row_store store = {.reservation = t->reservation, .reserved = n_bytes};
    hly_join_table table = {.reservation = t->reservation};
    hly_reservation_force(t->reservation, n_bytes);
    hly_broadcast_publish(t, &store, &table, false, false);
  }
  hly_broadcast_unpin(t);
}

// Tables stay while they are small together; a large one until another was used.
static void test_idle_tables(void **state) {
  enum { BYTES = HLY_BROADCAST_IDLE_BYTES };
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, 0);
  test_ctx_init(&ctx, &host);
  hly_broadcast *values[3];
  for (int i = 0; i < 3; i++) values[i] = hly_broadcast_open();
  make_table(values[0], &ctx, BYTES / 2);
  make_table(values[1], &ctx, BYTES / 2);
  assert_int_equal(hly_broadcast_count().tables, 2);
  int64_t built = hly_broadcast_count().built;
  make_table(values[0], &ctx, BYTES / 2);
  assert_int_equal(hly_broadcast_count().built, built); // there, and now the newest
  make_table(values[2], &ctx, BYTES / 4);
  assert_int_equal(hly_broadcast_count().tables, 2);
  make_table(values[0], &ctx, BYTES / 2);
  assert_int_equal(hly_broadcast_count().built, built + 1);
  make_table(values[1], &ctx, 4ll * BYTES);
  assert_int_equal(hly_broadcast_count().tables, 1);
  assert_int_equal(hly_broadcast_count().bytes, 4ll * BYTES);
  make_table(values[1], &ctx, 4ll * BYTES);
  assert_int_equal(hly_broadcast_count().built, built + 2);
  make_table(values[0], &ctx, 1);
  assert_int_equal(hly_broadcast_count().bytes, 1);
  for (int i = 0; i < 3; i++) hly_broadcast_close(values[i]);
  assert_int_equal(hly_broadcast_count().tables, 0);
  test_ctx_deinit(&ctx);
}

// ---- Failing allocations: the table is built anew in each run, and then joined with by a second task.

static hly_status run_twice(void *arg) {
  join_test *t = arg;
  hly_status st = HLY_OK;
  t->setup.value = hly_broadcast_open();
  if (!t->setup.value) return HLY_NOMEM;
  for (int i = 0; i < 2 && st == HLY_OK; i++) {
    hly_arena *arena = hly_arena_create();
    hly_binder binder = {.ctx = &t->ctx, .arena = arena};
    hly_op *op = NULL;
    st = arena ? hly_op_bind(&binder, t->plan, &op) : HLY_NOMEM;
    if (st == HLY_OK) {
      join_attach(t, op);
      hly_batch *batch = NULL;
      st = hly_op_open(op, &t->task);
      do {
        if (st == HLY_OK) st = hly_op_next(op, &batch);
      } while (st == HLY_OK && batch);
      hly_op_close(op);
    }
    hly_arena_destroy(arena);
    hly_error_clear(&t->ctx.error);
  }
  hly_broadcast_close(t->setup.value);
  return st;
}

static void test_allocations(void **state) {
  hly_broadcast *any = hly_broadcast_open();
  for (int k = 0; k < 3; k++) {
    join_setup u = BASE;
    u.kind = k == 1 ? JOIN_NESTED : JOIN_HASH;
    u.n_keys = k == 1 ? 0 : 1;
    u.filtered = k == 2;
    u.rows = 20;
    u.value = any; // for binding; each run has its own
    join_test t;
    join_start(&t, &u);
    test_failing_allocations(run_twice, &t, 200);
    join_finish(&t);
  }
  hly_broadcast_close(any);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_table),
      cmocka_unit_test(test_nested_loop),
      cmocka_unit_test(test_null_aware),
      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_nothing_to_look_up),
      cmocka_unit_test(test_builder_fails),
      cmocka_unit_test(test_cancelled_while_waiting),
      cmocka_unit_test(test_one_key_set),
      cmocka_unit_test(test_key_set_bytes),
      cmocka_unit_test(test_key_set_abandoned),
      cmocka_unit_test(test_key_builder_killed),
      cmocka_unit_test(test_no_memory_for_key_set),
      cmocka_unit_test(test_closed_while_in_use),
      cmocka_unit_test(test_idle_tables),
      cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
