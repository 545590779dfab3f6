// ShuffleWrite over ShuffleInput and back: what every partition gets and in which order, spilling, many
// partitions, large rows, no columns, failing allocations.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libdeflate.h>

#include "operators/operator.h"
#include "operators/shuffle_write.h"
#include "random_batch.h"
#include "rows/unsafe_row.h"
#include "shuffle/block.h"
#include "shuffle/partitioner.h"

// ---- a host that feeds frames

typedef struct feed {
  test_host base;
  uint8_t **frames;
  size_t *sizes;
  uint32_t n, at;
  bool fail; // an error after the last frame
} feed;

static hly_status next_frame(void *arg, int32_t handle, hly_input_block *block, bool *more,
                             hly_error *error) {
  feed *f = arg;
  *more = f->at < f->n;
  if (!*more) return f->fail ? hly_error_setf(error, HLY_E_HOST, "the input broke") : HLY_OK;
  *block = (hly_input_block){.data = (uintptr_t)f->frames[f->at], .n_bytes = f->sizes[f->at]};
  f->at++;
  return HLY_OK;
}

static void feed_init(feed *f, int64_t limit) {
  memset(f, 0, sizeof *f);
  test_host_init(&f->base, limit);
  f->base.host.arg = &f->base; // first member: also the feed
  f->base.host.input_next = next_frame;
}

static void feed_add(feed *f, const uint8_t *frame, size_t n) {
  f->frames = realloc(f->frames, (f->n + 1) * sizeof *f->frames);
  f->sizes = realloc(f->sizes, (f->n + 1) * sizeof *f->sizes);
  f->frames[f->n] = malloc(n);
  memcpy(f->frames[f->n], frame, n);
  f->sizes[f->n++] = n;
}

static void feed_deinit(feed *f) {
  for (uint32_t i = 0; i < f->n; i++) free(f->frames[i]);
  free(f->frames);
  free(f->sizes);
}

// ---- messages

static Halley__DataType *message_type(hly_arena *arena, const hly_type *type);

static Halley__Field **message_fields(hly_arena *arena, const hly_field *fields, uint32_t n) {
  Halley__Field **out = HLY_ARENA_NEW_N(arena, Halley__Field *, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    out[i] = HLY_ARENA_NEW(arena, Halley__Field);
    halley__field__init(out[i]);
    out[i]->name = (char *)fields[i].name;
    out[i]->nullable = fields[i].nullable;
    out[i]->type = message_type(arena, fields[i].type);
  }
  return out;
}

static Halley__DataType *message_type(hly_arena *arena, const hly_type *type) {
  Halley__DataType *t = HLY_ARENA_NEW(arena, Halley__DataType);
  halley__data_type__init(t);
  t->kind = (Halley__Kind)type->kind;
  t->precision = type->precision;
  t->scale = type->scale;
  t->n_fields = type->n_fields;
  t->fields = message_fields(arena, type->fields, type->n_fields);
  return t;
}

static Halley__Expr *reference(hly_arena *arena, const hly_schema *schema, int32_t ordinal) {
  Halley__Expr *e = HLY_ARENA_NEW(arena, Halley__Expr);
  halley__expr__init(e);
  e->cls = "BoundReference";
  e->ordinal = ordinal;
  e->type = message_type(arena, schema->fields[ordinal].type);
  e->nullable = true;
  e->deterministic = true;
  return e;
}

static Halley__Plan *input_plan(hly_arena *arena, const hly_schema *schema) {
  Halley__Plan *p = HLY_ARENA_NEW(arena, Halley__Plan);
  halley__plan__init(p);
  p->id = 2;
  p->n_output = schema->n_fields;
  p->output = message_fields(arena, schema->fields, schema->n_fields);
  p->op_case = HALLEY__PLAN__OP_SHUFFLE_INPUT;
  p->shuffle_input = HLY_ARENA_NEW(arena, Halley__ShuffleInput);
  halley__shuffle_input__init(p->shuffle_input);
  return p;
}

static Halley__ShuffleWrite *write_message(hly_arena *arena, const hly_schema *schema, int32_t n_partitions,
                                           const int32_t *keys, uint32_t n_keys) {
  Halley__ShuffleWrite *m = HLY_ARENA_NEW(arena, Halley__ShuffleWrite);
  halley__shuffle_write__init(m);
  m->kind = n_partitions == 1 ? HALLEY__PARTITIONING_KIND__SINGLE : HALLEY__PARTITIONING_KIND__HASH;
  m->n_partitions = n_partitions;
  m->codec = HALLEY__CODEC__LZ4;
  m->n_hash_exprs = n_keys;
  m->hash_exprs = HLY_ARENA_NEW_N(arena, Halley__Expr *, n_keys + 1);
  for (uint32_t i = 0; i < n_keys; i++) m->hash_exprs[i] = reference(arena, schema, keys[i]);
  return m;
}

// ---- one map task

typedef struct task {
  const hly_schema *schema;
  hly_batch **batches;
  uint32_t n_batches;
  Halley__ShuffleWrite *message;
  int64_t limit;
  Halley__Plan *input; // of the plan; NULL: made when it is run
  // out
  int64_t *results;
  uint32_t n_results;
  int64_t metrics[HALLEY__METRIC__N_METRICS];
  char path[256];
} task;

static void frames_of(hly_ctx *ctx, const task *t, feed *f) {
  hly_block_writer *w;
  assert_ok(ctx, hly_block_writer_create(ctx, t->schema, HALLEY__CODEC__NONE, 0, &w));
  for (uint32_t i = 0; i < t->n_batches; i++) {
    hly_segment s = {t->batches[i], 0, t->batches[i]->n_rows};
    const uint8_t *frame;
    size_t n, n_raw;
    assert_ok(ctx, hly_block_write(w, &s, 1, SIZE_MAX, &frame, &n, &n_raw));
    feed_add(f, frame, n);
  }
  hly_block_writer_destroy(w);
}

static hly_status run_with(hly_ctx *ctx, task *t) {
  hly_arena *arena = hly_arena_create();
  HLY_CHECK_MEM(ctx, arena, 64);
  hly_binder binder = {.ctx = ctx, .arena = arena};
  Halley__Plan plan = HALLEY__PLAN__INIT;
  hly_arena *messages = hly_arena_create();
  hly_status st = messages ? HLY_OK : hly_ctx_nomem(ctx, 64);
  hly_op *op = NULL;
  bool opened = false;
  if (st != HLY_OK) goto out;
  Halley__Plan *input = t->input ? t->input : input_plan(messages, t->schema);
  plan.id = 1;
  plan.inputs = &input;
  plan.n_inputs = 1;
  plan.output = input->output;
  plan.n_output = input->n_output;
  plan.op_case = HALLEY__PLAN__OP_SHUFFLE_WRITE;
  plan.shuffle_write = t->message;
  Halley__TaskInput task_input = HALLEY__TASK_INPUT__INIT;
  Halley__JvmInputBinding binding = HALLEY__JVM_INPUT_BINDING__INIT, *bindings = &binding;
  binding.plan_id = 2;
  task_input.jvm_inputs = &bindings;
  task_input.n_jvm_inputs = 1;
  HLY_TRY_GOTO(st, hly_op_bind(&binder, &plan, &op), out);
  opened = true;
  HLY_TRY_GOTO(st, hly_op_open(op, &task_input), out);
  const int64_t *results;
  uint32_t n;
  HLY_TRY_GOTO(st, op->cls->write(op, t->path, &results, &n), out);
  t->n_results = n;
  t->results = malloc(n * sizeof *results);
  memcpy(t->results, results, n * sizeof *results);
  memcpy(t->metrics, op->metrics, sizeof t->metrics);
out:
  if (opened) hly_op_close(op);
  hly_arena_destroy(arena);
  hly_arena_destroy(messages);
  return st;
}

static void temp_path(task *t) {
  const char *dir = getenv("TMPDIR");
  snprintf(t->path, sizeof t->path, "%s/halley-test-shuffle-%d", dir ? dir : "/tmp", (int)getpid());
}

static void run_task(task *t) {
  feed f;
  hly_ctx ctx;
  feed_init(&f, t->limit);
  test_ctx_init(&ctx, &f.base);
  frames_of(&ctx, t, &f);
  temp_path(t);
  assert_ok(&ctx, run_with(&ctx, t));
  feed_deinit(&f);
  test_ctx_deinit(&ctx);
}

static uint8_t *read_file(const char *path, size_t *n) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *n = (size_t)ftell(file);
  rewind(file);
  uint8_t *data = malloc(*n + 1);
  assert_int_equal(fread(data, 1, *n, file), *n);
  fclose(file);
  return data;
}

// Every partition has exactly the rows that `partition_of` gives it, in the order of the input.
static void expect_output(task *t,
                          uint32_t (*partition_of)(const task *t, const hly_batch *b, uint32_t row)) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  size_t n_file, at = 0;
  uint8_t *file = read_file(t->path, &n_file);
  hly_block_reader *reader;
  assert_ok(&ctx, hly_block_reader_create(&ctx, t->schema, &reader));
  uint32_t n_partitions = (uint32_t)t->message->n_partitions;
  // Input rows by partition.
  uint32_t *head = malloc((n_partitions + 1) * sizeof *head), total = 0;
  memset(head, 0, (n_partitions + 1) * sizeof *head);
  for (uint32_t i = 0; i < t->n_batches; i++) total += t->batches[i]->n_rows;
  struct place {
    uint32_t batch, row;
  } *sorted = malloc((total + 1) * sizeof *sorted);
  uint32_t *ids = malloc((total + 1) * sizeof *ids), k = 0;
  for (uint32_t i = 0; i < t->n_batches; i++) {
    for (uint32_t row = 0; row < t->batches[i]->n_rows; row++, k++) {
      ids[k] = partition_of(t, t->batches[i], row);
      assert_true(ids[k] < n_partitions);
      head[ids[k] + 1]++;
    }
  }
  for (uint32_t p = 0; p < n_partitions; p++) head[p + 1] += head[p];
  uint32_t *fill = malloc((n_partitions + 1) * sizeof *fill);
  memcpy(fill, head, (n_partitions + 1) * sizeof *fill);
  k = 0;
  for (uint32_t i = 0; i < t->n_batches; i++) {
    for (uint32_t row = 0; row < t->batches[i]->n_rows; row++, k++)
      sorted[fill[ids[k]]++] = (struct place){i, row};
  }
  for (uint32_t p = 0; p < n_partitions; p++) {
    size_t end = at + (size_t)t->results[p];
    assert_true(end <= n_file);
    if (head[p] == head[p + 1]) assert_int_equal(t->results[p], 0);
    uint32_t row = head[p];
    while (at < end) {
      uint32_t n_body;
      memcpy(&n_body, file + at + 4, 4);
      hly_batch *out;
      assert_ok(&ctx, hly_block_read(reader, file + at, HLY_FRAME_HEADER + n_body, &out));
      at += HLY_FRAME_HEADER + n_body;
      assert_true(out->n_rows > 0 && out->n_rows <= 8192);
      for (uint32_t i = 0; i < out->n_rows; i++, row++) {
        assert_true(row < head[p + 1]);
        const hly_batch *b = t->batches[sorted[row].batch];
        for (uint32_t c = 0; c < out->n_columns; c++) {
          if (!test_value_equal(b->columns[c], sorted[row].row, out->columns[c], i)) {
            fail_msg("partition %u row %u column %u", p, row - head[p], c);
          }
        }
      }
    }
    assert_int_equal(at, end);
    assert_int_equal(row, head[p + 1]);
    if (t->message->checksum == HALLEY__CHECKSUM__ADLER32) {
      assert_int_equal(t->results[n_partitions + p],
                       libdeflate_adler32(1, file + end - t->results[p], (size_t)t->results[p]));
    }
  }
  assert_int_equal(at, n_file);
  assert_int_equal(t->metrics[HALLEY__METRIC__SHUFFLE_BYTES], n_file);
  assert_int_equal(t->metrics[HALLEY__METRIC__SHUFFLE_RECORDS], total);
  free(head);
  free(fill);
  free(sorted);
  free(ids);
  free(file);
  free(t->results);
  unlink(t->path);
  hly_block_reader_destroy(reader);
  test_ctx_deinit(&ctx);
}

// ---- partitions, the slow way

static int32_t KEYS[4];
static uint32_t N_KEYS;

static uint32_t by_hash(const task *t, const hly_batch *b, uint32_t row) {
  uint32_t hash = 42;
  for (uint32_t i = 0; i < N_KEYS; i++) hly_murmur3_column(b->columns[KEYS[i]], &row, 1, false, &hash);
  int32_t n = t->message->n_partitions, r = (int32_t)hash % n;
  return (uint32_t)(r < 0 ? (r + n) % n : r);
}
static uint32_t single(const task *t, const hly_batch *b, uint32_t row) {
  return 0;
}

// ---- tests

static void every_type_and_count(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  hly_arena *arena = hly_arena_create();
  test_random r = {17};
  hly_batch *batches[6];
  static const uint32_t ROWS[] = {1000, 1, 3000, 40, 5000, 0};
  for (int i = 0; i < 6; i++) {
    test_shape shape = {ROWS[i], 10, i == 4 ? 30 : 0, 40, i == 4 ? HLY_DICT : i == 3 ? HLY_CONST : HLY_FLAT};
    batches[i] = test_shaped_batch(&ctx, arena, &r, &test_all_types, &shape, NULL);
  }
  static const int32_t COUNTS[] = {1, 7, 64, 5000};
  static const int64_t LIMITS[] = {-1, 1 << 20};
  for (int c = 0; c < 4; c++) {
    for (int l = 0; l < 2; l++) {
      N_KEYS = 3;
      KEYS[0] = 13; // string
      KEYS[1] = 4;  // long
      KEYS[2] = 8;  // decimal(38)
      task t = {.schema = &test_all_types, .batches = batches, .n_batches = 6, .limit = LIMITS[l]};
      t.message = write_message(arena, t.schema, COUNTS[c], KEYS, COUNTS[c] == 1 ? 0 : N_KEYS);
      t.message->checksum = c == 1 ? HALLEY__CHECKSUM__ADLER32 : HALLEY__CHECKSUM__NO_CHECKSUM;
      run_task(&t);
      assert_int_equal(t.n_results, c == 1 ? 14 : COUNTS[c]);
      expect_output(&t, COUNTS[c] == 1 ? single : by_hash);
    }
  }
  hly_arena_destroy(arena);
  test_ctx_deinit(&ctx);
}

// Far more rows than a round or the memory holds: many runs, merged on the way.
static void spills(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  hly_arena *arena = hly_arena_create();
  test_random r = {23};
  hly_batch *two[2], *batches[300];
  for (int i = 0; i < 2; i++) {
    test_shape shape = {8192, 5, 0, 60, HLY_FLAT};
    two[i] = test_shaped_batch(&ctx, arena, &r, &test_flat_types, &shape, NULL);
  }
  for (int i = 0; i < 300; i++) batches[i] = two[i & 1];
  N_KEYS = 1;
  KEYS[0] = 3;
  static const struct {
    int64_t limit, max_buffer;
    uint32_t n_batches;
    bool spilled;
  } CASES[] = {
      {1 << 20, 0, 90, true},
      {12 << 20, 0, 60, true},
      {-1, 4 << 20, 30, true},
      {-1, 0, 60, false},
  };
  for (int i = 0; i < 4; i++) {
    task t = {.schema = &test_flat_types,
              .batches = batches,
              .n_batches = CASES[i].n_batches,
              .limit = CASES[i].limit};
    t.message = write_message(arena, t.schema, 37, KEYS, N_KEYS);
    t.message->max_buffer_bytes = CASES[i].max_buffer;
    run_task(&t);
    assert_int_equal(t.metrics[HALLEY__METRIC__SPILL_COUNT] > 0, CASES[i].spilled);
    assert_int_equal(t.metrics[HALLEY__METRIC__SPILL_BYTES] > 0, CASES[i].spilled);
    expect_output(&t, by_hash);
  }
  hly_arena_destroy(arena);
  test_ctx_deinit(&ctx);
}

static void large_rows_and_no_columns(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  hly_arena *arena = hly_arena_create();
  const hly_field field = {.name = "s", .type = hly_type_of(HLY_STRING), .nullable = true};
  hly_schema schema = {1, &field};
  hly_batch *big;
  assert_ok(&ctx, hly_batch_create(&ctx, arena, &schema, &big));
  assert_ok(&ctx, hly_vector_reset(&ctx, big->columns[0], 5));
  hly_buf *heap = hly_buf_create(12 << 20);
  memset(heap->data, 'x', 12 << 20);
  for (uint32_t i = 0; i < 5; i++) {
    ((hly_str *)big->columns[0]->values)[i] = hly_str_make(heap->data, i == 2 ? 3 : (12u << 20) - i);
  }
  assert_ok(&ctx, hly_vector_add_heap(&ctx, big->columns[0], heap));
  hly_buf_unref(heap);
  hly_batch_set_rows(big, 5);
  N_KEYS = 1;
  KEYS[0] = 0;
  for (int i = 0; i < 2; i++) {
    task t = {.schema = &schema, .batches = &big, .n_batches = 1, .limit = i ? 1 << 20 : -1};
    t.message = write_message(arena, t.schema, 3, KEYS, N_KEYS);
    run_task(&t);
    expect_output(&t, by_hash);
  }
  hly_schema none = {0, NULL};
  hly_batch empty = {0}, *batches[] = {&empty, &empty, &empty};
  hly_batch_set_rows(&empty, 8000);
  task t = {.schema = &none, .batches = batches, .n_batches = 3, .limit = -1};
  t.message = write_message(arena, t.schema, 1, NULL, 0);
  run_task(&t);
  expect_output(&t, single);
  hly_arena_destroy(arena);
  test_ctx_deinit(&ctx);
}

static int RANGE_BOUNDS[] = {-2000000000, -5, 0, 0x20000000, 0x70000000};

// Nulls first, ascending by int; then a second key that the bounds leave null.
static uint32_t by_range(const task *t, const hly_batch *b, uint32_t row) {
  const hly_vector *v = b->columns[3];
  if (hly_vector_is_null(v, row)) return t->message->orders[0]->nulls_first ? 0 : 5;
  int32_t x = ((const int32_t *)v->values)[row];
  uint32_t p = 0;
  if (t->message->orders[0]->ascending) {
    while (p < 5 && x > RANGE_BOUNDS[p]) p++;
  } else {
    while (p < 5 && x < RANGE_BOUNDS[4 - p]) p++;
  }
  return p;
}

static void ranges(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  hly_arena *arena = hly_arena_create();
  test_random r = {29};
  test_shape shape = {4000, 10, 0, 20, HLY_FLAT};
  hly_batch *in = test_shaped_batch(&ctx, arena, &r, &test_flat_types, &shape, NULL);
  for (uint32_t i = 0; i < 500; i++) ((int32_t *)in->columns[3]->values)[i] = RANGE_BOUNDS[i % 5];
  for (int descending = 0; descending < 2; descending++) {
    const hly_field field = {.name = "k", .type = hly_type_of(HLY_INT), .nullable = true};
    hly_schema key = {1, &field};
    hly_batch *bounds;
    assert_ok(&ctx, hly_batch_create(&ctx, arena, &key, &bounds));
    assert_ok(&ctx, hly_vector_reset(&ctx, bounds->columns[0], 5));
    for (int i = 0; i < 5; i++) {
      ((int32_t *)bounds->columns[0]->values)[i] = RANGE_BOUNDS[descending ? 4 - i : i];
    }
    hly_batch_set_rows(bounds, 5);
    hly_row_block rows = {0};
    uint32_t done;
    assert_ok(&ctx, hly_unsafe_row_encode(&ctx, bounds, NULL, 1, 0, 1 << 20, &rows, &done));
    assert_int_equal(done, 5);
    task t = {.schema = &test_flat_types, .batches = &in, .n_batches = 1, .limit = -1};
    t.message = write_message(arena, t.schema, 6, NULL, 0);
    t.message->kind = HALLEY__PARTITIONING_KIND__RANGE;
    Halley__SortOrder order = HALLEY__SORT_ORDER__INIT, *orders[] = {&order};
    order.child = reference(arena, t.schema, 3);
    order.ascending = !descending;
    order.nulls_first = !descending;
    t.message->orders = orders;
    t.message->n_orders = 1;
    ProtobufCBinaryData bytes[5];
    for (int i = 0; i < 5; i++) {
      bytes[i] =
          (ProtobufCBinaryData){rows.offsets[i + 1] - rows.offsets[i], rows.data->data + rows.offsets[i]};
    }
    t.message->bounds = bytes;
    t.message->n_bounds = 5;
    run_task(&t);
    expect_output(&t, by_range);
    hly_row_block_deinit(&rows);
  }
  hly_arena_destroy(arena);
  test_ctx_deinit(&ctx);
}

// A failure of the input or of memory leaves neither the data file nor a temporary one.
static void failure_leaves_nothing(void **state) {
  feed f;
  hly_ctx ctx;
  feed_init(&f, 1 << 20);
  test_ctx_init(&ctx, &f.base);
  f.fail = true;
  hly_arena *arena = hly_arena_create();
  test_random r = {31};
  test_shape shape = {8192, 5, 0, 60, HLY_FLAT};
  hly_batch *b = test_shaped_batch(&ctx, arena, &r, &test_flat_types, &shape, NULL);
  hly_batch *batches[] = {b, b, b, b};
  N_KEYS = 1;
  KEYS[0] = 3;
  task t = {.schema = &test_flat_types, .batches = batches, .n_batches = 4};
  t.message = write_message(arena, t.schema, 9, KEYS, 1);
  frames_of(&ctx, &t, &f);
  temp_path(&t);
  assert_int_equal(run_with(&ctx, &t), HLY_ERR);
  assert_int_equal(access(t.path, F_OK), -1);
  hly_error_clear(&ctx.error);
  // A folder that does not exist.
  f.fail = false;
  f.at = 0;
  snprintf(t.path, sizeof t.path, "/nowhere/at/all");
  assert_int_equal(run_with(&ctx, &t), HLY_ERR);
  assert_int_equal(ctx.error.id, HLY_E_SPILL_IO);
  hly_error_clear(&ctx.error);
  feed_deinit(&f);
  hly_arena_destroy(arena);
  test_ctx_deinit(&ctx);
}

// Made before allocations fail, and outliving them: messages are the caller's.
static Halley__ShuffleWrite *small_message;
static Halley__Plan *small_input;

static hly_status small_task(void *arg) {
  feed *f = arg;
  hly_ctx ctx;
  f->at = 0;
  f->base.granted = 0;
  memset(&ctx, 0, sizeof ctx);
  ctx.host = &f->base.host;
  ctx.batch_rows = 8192;
  ctx.pool = hly_pool_create(&f->base.host);
  if (!ctx.pool) return HLY_NOMEM;
  task t = {.schema = &test_all_types, .message = small_message, .input = small_input};
  temp_path(&t);
  hly_status st = run_with(&ctx, &t);
  free(t.results);
  if (st != HLY_OK) assert_int_equal(access(t.path, F_OK), -1);
  unlink(t.path);
  assert_int_equal(hly_pool_destroy(ctx.pool), 0);
  return st;
}

static void without_memory(void **state) {
  feed f;
  hly_ctx ctx;
  feed_init(&f, -1);
  test_ctx_init(&ctx, &f.base);
  hly_arena *arena = hly_arena_create();
  test_random r = {37};
  test_shape shape = {50, 10, 0, 30, HLY_FLAT};
  hly_batch *batches[2];
  for (int i = 0; i < 2; i++) batches[i] = test_shaped_batch(&ctx, arena, &r, &test_all_types, &shape, NULL);
  task t = {.schema = &test_all_types, .batches = batches, .n_batches = 2};
  frames_of(&ctx, &t, &f);
  N_KEYS = 1;
  KEYS[0] = 13;
  small_input = input_plan(arena, &test_all_types);
  small_message = write_message(arena, &test_all_types, 7, KEYS, 1);
  test_failing_allocations(small_task, &f, 120);
  hly_arena_destroy(arena);
  test_ctx_deinit(&ctx);
  feed_deinit(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_and_count),      cmocka_unit_test(spills),
      cmocka_unit_test(large_rows_and_no_columns), cmocka_unit_test(ranges),
      cmocka_unit_test(failure_leaves_nothing),    cmocka_unit_test(without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
