// Plans opened from messages: life cycle, export as columns and rows, limits of decoding, locking.
#include "test/fixture.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "halley/halley.h"
#include "plan/message.h"
#include "vector/str.h"

enum { ROWS_PER_BLOCK = 100, N_BLOCKS = 3, LONG_TEXT = 40 };

// ---- A host whose input is rows (id LONG, text STRING): id is null in every fifth row, text is long in
// every third.
typedef struct plan_host {
  test_host test;
  int blocks_left;
  int64_t next_id;
  uint64_t rows[ROWS_PER_BLOCK * (3 + LONG_TEXT / 8)];
  uint64_t offsets[ROWS_PER_BLOCK + 1];
  // What to do inside input_next.
  void (*in_upcall)(void *arg);
  void *upcall_arg;
} plan_host;

static hly_status input_next(void *arg, int32_t handle, hly_input_block *block, bool *more,
                             hly_error *error) {
  plan_host *h = arg;
  assert_int_equal(handle, 7);
  if (h->in_upcall) h->in_upcall(h->upcall_arg);
  *more = h->blocks_left > 0;
  if (!*more) return HLY_OK;
  h->blocks_left--;
  memset(h->rows, 0, sizeof h->rows);
  uint64_t at = 0;
  for (int i = 0; i < ROWS_PER_BLOCK; i++) {
    int64_t id = h->next_id++;
    uint64_t *row = h->rows + at / 8;
    uint32_t n = id % 3 == 0 ? LONG_TEXT : 5;
    row[0] = id % 5 == 0 ? 1 : 0;
    row[1] = id % 5 == 0 ? 0 : (uint64_t)id;
    row[2] = (uint64_t)24 << 32 | n;
    memset(row + 3, 'a' + (int)(id % 26), n);
    h->offsets[i] = at;
    at += 24 + (n + 7) / 8 * 8;
  }
  h->offsets[ROWS_PER_BLOCK] = at;
  *block = (hly_input_block){.data = (uint64_t)(uintptr_t)h->rows,
                             .n_bytes = at,
                             .offsets = (uint64_t)(uintptr_t)h->offsets,
                             .n_rows = ROWS_PER_BLOCK};
  return HLY_OK;
}

// The fixture's functions expect the fixture's host as argument.
static bool cancelled(void *arg) {
  return ((plan_host *)arg)->test.cancel;
}
static hly_status temp_file(void *arg, char *path, uint32_t size, hly_error *error) {
  plan_host *h = arg;
  return h->test.host.temp_file(&h->test, path, size, error);
}

static void plan_host_init(plan_host *h, hly_host *host) {
  memset(h, 0, sizeof *h);
  test_host_init(&h->test, -1);
  h->blocks_left = N_BLOCKS;
  *host = h->test.host;
  host->arg = h;
  host->cancelled = cancelled;
  host->input_next = input_next;
  host->temp_file = temp_file;
}

// ---- Messages

typedef struct message {
  uint8_t bytes[4096];
  size_t n;
} message;

static void build_stage(message *out, const char *version, int32_t batch_size, int64_t limit) {
  Halley__DataType long_type = HALLEY__DATA_TYPE__INIT, string_type = HALLEY__DATA_TYPE__INIT;
  long_type.kind = HALLEY__KIND__LONG;
  string_type.kind = HALLEY__KIND__STRING;
  Halley__Field id = HALLEY__FIELD__INIT, text = HALLEY__FIELD__INIT;
  id.name = "id";
  id.type = &long_type;
  id.nullable = true;
  text.name = "text";
  text.type = &string_type;
  Halley__Field *fields[] = {&id, &text};
  Halley__JvmInput leaf = HALLEY__JVM_INPUT__INIT;
  Halley__Plan input = HALLEY__PLAN__INIT, top = HALLEY__PLAN__INIT;
  input.id = 2;
  input.n_output = 2;
  input.output = fields;
  input.op_case = HALLEY__PLAN__OP_JVM_INPUT;
  input.jvm_input = &leaf;
  Halley__Limit limit_op = HALLEY__LIMIT__INIT;
  limit_op.limit = limit;
  top.id = 1;
  top.n_output = 2;
  top.output = fields;
  Halley__Plan *inputs[] = {&input};
  top.n_inputs = 1;
  top.inputs = inputs;
  top.op_case = HALLEY__PLAN__OP_LIMIT;
  top.limit = &limit_op;
  Halley__Stage stage = HALLEY__STAGE__INIT;
  stage.version = (char *)version;
  stage.root = &top;
  stage.batch_size = batch_size;
  out->n = halley__stage__get_packed_size(&stage);
  assert_true(out->n <= sizeof out->bytes);
  halley__stage__pack(&stage, out->bytes);
}

static void build_task(message *out) {
  Halley__JvmInputBinding binding = HALLEY__JVM_INPUT_BINDING__INIT;
  binding.plan_id = 2;
  binding.handle = 7;
  Halley__JvmInputBinding *bindings[] = {&binding};
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  task.n_jvm_inputs = 1;
  task.jvm_inputs = bindings;
  out->n = halley__task_input__get_packed_size(&task);
  halley__task_input__pack(&task, out->bytes);
}

typedef struct opened {
  plan_host host;
  hly_host table;
  hly_pool *pool;
  hly_error error;
  hly_plan *plan;
  int64_t in_use; // before
} opened;

static hly_status open_plan(opened *o, const char *version, int32_t batch_size, int64_t limit) {
  message stage, task;
  build_stage(&stage, version, batch_size, limit);
  build_task(&task);
  memset(&o->error, 0, sizeof o->error);
  o->in_use = hly_mem_in_use();
  plan_host_init(&o->host, &o->table);
  o->plan = NULL;
  o->pool = hly_pool_create(&o->table);
  if (!o->pool) return HLY_NOMEM;
  return hly_plan_open(stage.bytes, stage.n, task.bytes, task.n, &o->table, o->pool, &o->error, &o->plan);
}

static void close_plan(opened *o) {
  hly_plan_close(o->plan);
  assert_int_equal(hly_pool_destroy(o->pool), 0);
  assert_int_equal(hly_mem_in_use(), o->in_use);
  assert_int_equal(o->host.test.granted, 0);
}

// ---- Tests

static void test_columns(void **state) {
  static opened o;
  assert_int_equal(open_plan(&o, HALLEY_VERSION, 64, 250), HLY_OK);
  int64_t id = 0;
  for (;;) {
    const hly_export_batch *batch;
    assert_int_equal(hly_plan_next(o.plan, &batch), HLY_OK);
    if (!batch) break;
    assert_int_equal(batch->n_columns, 2);
    assert_true(batch->n_rows <= 64);
    const hly_export_column *columns = (const hly_export_column *)(uintptr_t)batch->columns;
    assert_int_equal(columns[0].kind, HLY_LONG);
    assert_int_equal(columns[1].kind, HLY_STRING);
    const uint64_t *valid = (const uint64_t *)(uintptr_t)columns[0].validity;
    for (uint64_t i = 0; i < batch->n_rows; i++, id++) {
      assert_int_equal(!valid || hly_bits_get(valid, i), id % 5 != 0);
      if (id % 5) assert_int_equal(((const int64_t *)(uintptr_t)columns[0].values)[i], id);
      const hly_str *s = &((const hly_str *)(uintptr_t)columns[1].values)[i];
      assert_int_equal(s->len, id % 3 == 0 ? LONG_TEXT : 5);
      assert_int_equal(hly_str_data(s)[s->len - 1], 'a' + (int)(id % 26));
    }
  }
  assert_int_equal(id, 250);
  const hly_export_batch *again;
  assert_int_equal(hly_plan_next(o.plan, &again), HLY_OK);
  assert_null(again);
  int64_t slots[HALLEY__METRIC__N_METRICS];
  assert_true(hly_plan_metrics(o.plan, 1, slots, HALLEY__METRIC__N_METRICS));
  assert_int_equal(slots[HALLEY__METRIC__OUTPUT_ROWS], 250);
  assert_true(hly_plan_metrics(o.plan, 2, slots, HALLEY__METRIC__N_METRICS));
  assert_true(slots[HALLEY__METRIC__OUTPUT_ROWS] >= 250);
  assert_false(hly_plan_metrics(o.plan, 3, slots, HALLEY__METRIC__N_METRICS));
  close_plan(&o);
}

static int64_t drain_rows(opened *o) {
  int64_t id = 0;
  for (;;) {
    const hly_export_rows *rows;
    assert_int_equal(hly_plan_next_rows(o->plan, &rows), HLY_OK);
    if (!rows) return id;
    const uint64_t *offsets = (const uint64_t *)(uintptr_t)rows->offsets;
    for (uint64_t i = 0; i < rows->n_rows; i++, id++) {
      const uint64_t *row = (const uint64_t *)(uintptr_t)(rows->data + offsets[i]);
      uint32_t n = id % 3 == 0 ? LONG_TEXT : 5;
      assert_int_equal(offsets[i + 1] - offsets[i], 24 + (n + 7) / 8 * 8);
      assert_int_equal(row[0], id % 5 == 0);
      assert_int_equal(row[1], id % 5 == 0 ? 0 : id);
      assert_int_equal(row[2], (uint64_t)24 << 32 | n);
      assert_int_equal(((const uint8_t *)(row + 3))[n - 1], 'a' + id % 26);
    }
  }
}

static void test_rows(void **state) {
  static opened o;
  assert_int_equal(open_plan(&o, HALLEY_VERSION, 0, -1), HLY_OK);
  assert_int_equal(drain_rows(&o), N_BLOCKS * ROWS_PER_BLOCK);
  close_plan(&o);
  assert_int_equal(open_plan(&o, HALLEY_VERSION, 1, 11), HLY_OK);
  assert_int_equal(drain_rows(&o), 11);
  close_plan(&o);
}

static void test_refuses(void **state) {
  static opened o;
  assert_int_equal(open_plan(&o, "0.0.0-other", 0, -1), HLY_ERR);
  assert_null(o.plan);
  assert_int_equal(o.error.id, HLY_E_PLAN_INVALID);
  close_plan(&o);
  assert_int_equal(open_plan(&o, HALLEY_VERSION, 1 << 30, -1), HLY_ERR);
  close_plan(&o);

  // Cut off at every length: an error, or a plan of fewer fields, never anything else.
  message stage, task;
  build_stage(&stage, HALLEY_VERSION, 0, -1);
  build_task(&task);
  hly_host table;
  plan_host_init(&o.host, &table);
  hly_pool *pool = hly_pool_create(&table);
  for (size_t n = 0; n < stage.n; n++) {
    hly_plan *plan = NULL;
    hly_error error = {0};
    hly_status st = hly_plan_open(stage.bytes, n, task.bytes, task.n, &table, pool, &error, &plan);
    assert_true(st == HLY_OK || (st == HLY_ERR && error.id == HLY_E_PLAN_INVALID && !plan));
    hly_plan_close(plan);
  }
  // The plan writes nothing.
  hly_plan *plan = NULL;
  hly_error error = {0};
  assert_int_equal(hly_plan_open(stage.bytes, stage.n, task.bytes, task.n, &table, pool, &error, &plan),
                   HLY_OK);
  const int64_t *lengths;
  uint32_t n;
  assert_int_equal(hly_plan_write(plan, "/nowhere/x", &lengths, &n), HLY_ERR);
  hly_plan_close(plan);
  assert_int_equal(hly_pool_destroy(pool), 0);
}

// Plans nested far past any limit, smallest message first: the decoder must not recurse into them.
static void test_depth(void **state) {
  enum { LEVELS = 20000 };
  uint8_t *bytes = hly_malloc(LEVELS * 8);
  size_t at = LEVELS * 8, n = 0;
  for (int i = 0; i < LEVELS; i++) { // Plan.inputs is field 2
    uint8_t head[8];
    size_t h = 0;
    head[h++] = 2 << 3 | 2;
    for (size_t v = n;; v >>= 7) {
      head[h++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
      if (v <= 0x7f) break;
    }
    at -= h;
    memcpy(bytes + at, head, h);
    n += h;
  }
  hly_arena *arena = hly_arena_create();
  hly_error error = {0};
  Halley__Plan *plan;
  assert_int_equal(hly_message_unpack(&error, arena, &halley__plan__descriptor, bytes + at, n, &plan),
                   HLY_ERR);
  assert_int_equal(error.id, HLY_E_PLAN_INVALID);
  assert_null(plan);
  hly_arena_destroy(arena);
  hly_free(bytes);
}

static void test_bind(void **state) {
  message stage_message;
  build_stage(&stage_message, HALLEY_VERSION, 0, 3);
  Halley__Stage *stage = halley__stage__unpack(NULL, stage_message.n, stage_message.bytes);
  Halley__Plan nothing = HALLEY__PLAN__INIT;
  Halley__BindRequest request = HALLEY__BIND_REQUEST__INIT;
  Halley__Plan *nodes[] = {stage->root, &nothing};
  request.version = HALLEY_VERSION;
  request.n_nodes = 2;
  request.nodes = nodes;
  uint8_t bytes[4096];
  size_t n = halley__bind_request__pack(&request, bytes);
  int64_t in_use = hly_mem_in_use();
  hly_error error = {0};
  uint8_t *packed = NULL;
  size_t n_packed = 0;
  assert_int_equal(hly_plan_bind(bytes, n, &error, &packed, &n_packed), HLY_OK);
  Halley__BindResponse *response = halley__bind_response__unpack(NULL, n_packed, packed);
  assert_non_null(response);
  assert_int_equal(response->n_verdicts, 2);
  assert_true(response->verdicts[0]->bound);
  assert_int_equal(response->verdicts[0]->n_reasons, 0);
  assert_false(response->verdicts[1]->bound);
  assert_int_not_equal(response->verdicts[1]->n_reasons, 0);
  halley__bind_response__free_unpacked(response, NULL);
  hly_response_free(packed);
  halley__stage__free_unpacked(stage, NULL);
  assert_int_equal(hly_mem_in_use(), in_use);
}

// ---- Locking

typedef struct spill_case {
  opened *o;
  hly_reservation *state;
  int spilled;       // times the state was asked
  int64_t here, far; // what a spill gave back: on the plan's thread, on another
} spill_case;

static int64_t spill_state(void *arg, int64_t want) {
  spill_case *c = arg;
  c->spilled++;
  int64_t n = hly_reservation_bytes(c->state);
  hly_reservation_shrink(c->state, n);
  return n;
}

static void *spill_from_thread(void *arg) {
  spill_case *c = arg;
  c->far = hly_pool_spill(c->o->pool, 1 << 20);
  return NULL;
}

static void spill_in_upcall(void *arg) {
  spill_case *c = arg;
  c->here = hly_pool_spill(c->o->pool, 1 << 20);
  assert_int_equal(hly_reservation_grow(c->state, 4 << 20), HLY_OK);
  pthread_t thread;
  pthread_create(&thread, NULL, spill_from_thread, c);
  pthread_join(thread, NULL);
}

static void test_spill_in_upcall(void **state) {
  static opened o;
  assert_int_equal(open_plan(&o, HALLEY_VERSION, 0, -1), HLY_OK);
  spill_case c = {.o = &o};
  c.state = hly_reservation_create(o.pool, "test", spill_state, &c);
  assert_int_equal(hly_reservation_grow(c.state, 4 << 20), HLY_OK);
  o.host.in_upcall = spill_in_upcall;
  o.host.upcall_arg = &c;
  const hly_export_batch *batch;
  assert_int_equal(hly_plan_next(o.plan, &batch), HLY_OK);
  assert_int_equal(c.spilled, 2);
  assert_true(c.here >= 4 << 20);
  assert_true(c.far >= 4 << 20);
  // Not while the plan itself holds the pool.
  assert_int_equal(hly_reservation_grow(c.state, 4 << 20), HLY_OK);
  hly_pool_enter(o.pool);
  pthread_t thread;
  pthread_create(&thread, NULL, spill_from_thread, &c);
  pthread_join(thread, NULL);
  hly_pool_leave(o.pool);
  assert_int_equal(c.far, 0);
  assert_int_equal(c.spilled, 2);
  hly_reservation_destroy(c.state);
  close_plan(&o);
}

typedef struct close_case {
  opened *o;
  sem_t inside, go;
  int closed; // read and written with the semaphores between
} close_case;

static void wait_in_upcall(void *arg) {
  close_case *c = arg;
  sem_post(&c->inside);
  sem_wait(&c->go);
}

static void *pull(void *arg) {
  close_case *c = arg;
  const hly_export_batch *batch;
  assert_int_equal(hly_plan_next(c->o->plan, &batch), HLY_OK);
  assert_non_null(batch); // but gone by now, maybe
  return NULL;
}

static void *close_from_thread(void *arg) {
  close_case *c = arg;
  hly_plan_close(c->o->plan);
  __atomic_store_n(&c->closed, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static void test_close_excludes_next(void **state) {
  static opened o;
  assert_int_equal(open_plan(&o, HALLEY_VERSION, 0, -1), HLY_OK);
  close_case c = {.o = &o};
  sem_init(&c.inside, 0, 0);
  sem_init(&c.go, 0, 0);
  o.host.in_upcall = wait_in_upcall;
  o.host.upcall_arg = &c;
  pthread_t puller, closer;
  pthread_create(&puller, NULL, pull, &c);
  sem_wait(&c.inside);
  pthread_create(&closer, NULL, close_from_thread, &c);
  struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
  nanosleep(&pause, NULL);
  assert_int_equal(__atomic_load_n(&c.closed, __ATOMIC_SEQ_CST), 0);
  sem_post(&c.go);
  pthread_join(puller, NULL);
  pthread_join(closer, NULL);
  assert_int_equal(c.closed, 1);
  o.plan = NULL;
  close_plan(&o);
}

static void test_cancelled(void **state) {
  static opened o;
  assert_int_equal(open_plan(&o, HALLEY_VERSION, 0, -1), HLY_OK);
  o.host.test.cancel = true;
  const hly_export_batch *batch;
  assert_int_equal(hly_plan_next(o.plan, &batch), HLY_CANCELLED);
  assert_null(batch);
  close_plan(&o);
}

static hly_status run_all(void *arg) {
  static opened o;
  hly_status st = open_plan(&o, HALLEY_VERSION, 64, 200);
  if (st == HLY_OK) {
    const hly_export_batch *batch = NULL;
    do st = hly_plan_next(o.plan, &batch);
    while (st == HLY_OK && batch);
  }
  hly_plan_close(o.plan);
  hly_pool_destroy(o.pool);
  if (st != HLY_OK) return st;
  st = open_plan(&o, HALLEY_VERSION, 64, 200);
  if (st == HLY_OK) {
    const hly_export_rows *rows = NULL;
    do st = hly_plan_next_rows(o.plan, &rows);
    while (st == HLY_OK && rows);
  }
  hly_plan_close(o.plan);
  hly_pool_destroy(o.pool);
  return st;
}

static void test_out_of_memory(void **state) {
  test_failing_allocations(run_all, NULL, 300);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_refuses),
      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_bind),
      cmocka_unit_test(test_spill_in_upcall),
      cmocka_unit_test(test_close_excludes_next),
      cmocka_unit_test(test_cancelled),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
