// Filter, Project, Limit, Union, Coalesce and JvmInput: selections, errors in the middle of a batch, limits
// that stop pulling, partitions of branches.
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch_source.h"
#include "plan_build.h"
#include "random_batch.h"
#include "rows/unsafe_row.h"
#include "type_text.h"

typedef struct bench {
  test_host host;
  hly_ctx ctx;
  hly_arena *arena;
  expr_builder b;
  hly_schema schema; // struct<a:bigint,s:string>
} bench;

static void start(bench *t, uint32_t batch_rows) {
  memset(t, 0, sizeof *t);
  test_host_init(&t->host, -1);
  test_ctx_init(&t->ctx, &t->host);
  t->ctx.batch_rows = batch_rows;
  t->arena = hly_arena_create();
  t->b.arena = t->arena;
  t->b.no_dispatch = true;
  t->schema = test_schema(t->arena, "struct<a:bigint,s:string>");
}

static void finish(bench *t) {
  hly_arena_destroy(t->arena);
  test_ctx_deinit(&t->ctx);
}

// Rows a = first, first + 1, ...; s their digits. `sel`: every second row is selected.
static hly_batch *count_up(bench *t, int64_t first, uint32_t n, bool sel) {
  hly_batch *b;
  assert_ok(&t->ctx, hly_batch_create(&t->ctx, t->arena, &t->schema, &b));
  for (int c = 0; c < 2; c++) assert_ok(&t->ctx, hly_vector_reset(&t->ctx, b->columns[c], n));
  for (uint32_t i = 0; i < n; i++) {
    char text[16];
    int len = snprintf(text, sizeof text, "%d", (int)first + (int)i);
    ((int64_t *)b->columns[0]->values)[i] = first + i;
    ((hly_str *)b->columns[1]->values)[i] = hly_str_make(text, (uint32_t)(len < 12 ? len : 12));
  }
  hly_batch_set_rows(b, n);
  if (!sel) return b;
  uint32_t *rows = HLY_ARENA_NEW_N(t->arena, uint32_t, n + 1);
  b->n_sel = 0;
  for (uint32_t i = 0; i < n; i += 2) rows[b->n_sel++] = i;
  b->sel = rows;
  return b;
}

static Halley__Expr *a_compared(bench *t, const char *cls, int64_t with) {
  return x_call(&t->b, cls, hly_type_of(HLY_BOOLEAN), 2, p_field(&t->b, &t->schema, 0),
                x_int(&t->b, hly_type_of(HLY_LONG), with));
}

static void drain(bench *t, plan_run *r, const Halley__Plan *plan, hly_batch **batches, uint32_t n) {
  plan_bind(r, &t->ctx, t->arena, plan);
  batch_source source;
  batch_source_attach(&source, r->op, 0, batches, n);
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_ok(&t->ctx, plan_drain(r, &task));
}

static void assert_numbers(const plan_run *r, const int64_t *expected, uint32_t n) {
  assert_int_equal(r->n_lines, n);
  for (uint32_t i = 0; i < n; i++) assert_int_equal(strtoll(r->lines[i], NULL, 10), expected[i]);
}

static void test_filter(void **state) {
  bench t;
  start(&t, 8192);
  hly_batch *batches[] = {count_up(&t, 0, 10, false), count_up(&t, 10, 10, true), count_up(&t, 20, 0, false),
                          count_up(&t, 30, 100, false)};
  plan_run r;
  drain(&t, &r, p_filter(&t.b, p_input(&t.b, &t.schema), &t.schema, a_compared(&t, "GreaterThan", 15)),
        batches, 4);
  assert_int_equal(r.n_lines, 102);
  assert_string_equal(r.lines[0], "16|x3136|"); // selected rows of the second batch: 10, 12, ..., 18
  assert_string_equal(r.lines[1], "18|x3138|");
  assert_string_equal(r.lines[2], "30|x3330|");
  // Few survivors: the batch is compacted, with the same rows.
  drain(&t, &r, p_filter(&t.b, p_input(&t.b, &t.schema), &t.schema, a_compared(&t, "GreaterThan", 127)),
        batches, 4);
  const int64_t expected[] = {128, 129};
  assert_numbers(&r, expected, 2);
  drain(&t, &r, p_filter(&t.b, p_input(&t.b, &t.schema), &t.schema, a_compared(&t, "GreaterThan", 1000)),
        batches, 4);
  assert_int_equal(r.n_lines, 0);
  finish(&t);
}

static void test_project(void **state) {
  bench t;
  start(&t, 8192);
  hly_batch *batches[] = {count_up(&t, 0, 4, true), count_up(&t, 10, 2, false)};
  hly_schema output = test_schema(t.arena, "struct<s:string,b:boolean,a:bigint>");
  Halley__Expr *exprs[] = {p_field(&t.b, &t.schema, 1), a_compared(&t, "LessThan", 2),
                           p_field(&t.b, &t.schema, 0)};
  plan_run r;
  drain(&t, &r, p_project(&t.b, p_input(&t.b, &t.schema), &output, exprs), batches, 2);
  assert_int_equal(r.n_lines, 4);
  assert_string_equal(r.lines[1], "x32|false|2|");
  assert_string_equal(r.lines[3], "x3131|false|11|");
  finish(&t);
}

static void test_limit(void **state) {
  static const struct {
    int64_t limit, offset;
    uint32_t n, pulled;
    int64_t first;
  } cases[] = {
      {3, 0, 3, 1, 0},     {0, 0, 0, 0, 0}, {10, 0, 10, 1, 0},   {11, 0, 11, 2, 0}, {-1, 0, 25, 3, 0},
      {-1, 12, 13, 3, 12}, {5, 8, 5, 2, 8}, {100, 24, 1, 3, 24}, {5, 100, 0, 3, 0},
  };
  bench t;
  start(&t, 8192);
  hly_batch *batches[] = {count_up(&t, 0, 10, false), count_up(&t, 10, 10, false),
                          count_up(&t, 20, 5, false)};
  for (uint32_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    plan_run r;
    plan_bind(&r, &t.ctx, t.arena,
              p_limit(&t.b, p_input(&t.b, &t.schema), &t.schema, cases[c].limit, cases[c].offset));
    batch_source source;
    batch_source_attach(&source, r.op, 0, batches, 3);
    Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
    for (int again = 0; again < 2; again++) { // reopening counts anew
      r.n_lines = 0;
      assert_ok(&t.ctx, plan_drain(&r, &task));
      assert_int_equal(r.n_lines, cases[c].n);
      for (uint32_t i = 0; i < r.n_lines; i++)
        assert_int_equal(strtoll(r.lines[i], NULL, 10), cases[c].first + i);
      assert_int_equal(source.next, cases[c].pulled); // and not one batch more
    }
  }
  // Over a selection.
  hly_batch *selected[] = {count_up(&t, 0, 10, true)};
  plan_run r;
  drain(&t, &r, p_limit(&t.b, p_input(&t.b, &t.schema), &t.schema, 2, 1), selected, 1);
  const int64_t expected[] = {2, 4};
  assert_numbers(&r, expected, 2);
  finish(&t);
}

// ---- Rows before one that raises come out first; the error only when more is asked for.

// Pulls until the error or the end; counts rows.
static hly_status pull_all(bench *t, hly_op *op, uint32_t *n_rows) {
  *n_rows = 0;
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  hly_status st = hly_op_open(op, &task);
  while (st == HLY_OK) {
    hly_batch *out;
    st = hly_op_next(op, &out);
    if (st != HLY_OK || !out) break;
    *n_rows += out->n_sel;
  }
  return st;
}

// A host that evaluates `1 / (a - 15)`-like expressions: raises where a is 15, else a <> 0.
static hly_status raise_at_15(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call,
                              hly_error *error) {
  static uint64_t rows[3 * 8192], offsets[8193];
  const uint64_t *in = (const uint64_t *)(uintptr_t)call->offsets;
  uint64_t n = 0;
  call->error = 0;
  for (; n < call->n_rows; n++) {
    const uint8_t *row = (const uint8_t *)(uintptr_t)(call->rows + in[n]);
    int64_t a;
    memcpy(&a, row + 8, sizeof a);
    if (a == 15) {
      call->error = 77;
      break;
    }
    rows[2 * n] = 0;
    rows[2 * n + 1] = 1;
    offsets[n] = n * 16;
  }
  offsets[n] = n * 16;
  call->n_done = n;
  call->out_rows = (uint64_t)(uintptr_t)rows;
  call->out_offsets = (uint64_t)(uintptr_t)offsets;
  return HLY_OK;
}

static void test_errors_wait(void **state) {
  bench t;
  start(&t, 8192);
  t.host.host.dispatch = raise_at_15;
  t.b.no_dispatch = false;
  hly_batch *batches[] = {count_up(&t, 0, 10, false), count_up(&t, 10, 10, false),
                          count_up(&t, 20, 10, false)};
  for (int variant = 0; variant < 4; variant++) {
    Halley__Expr *unknown =
        x_call(&t.b, "SomethingOfSpark", hly_type_of(HLY_BOOLEAN), 1, p_field(&t.b, &t.schema, 0));
    Halley__Plan *in = p_input(&t.b, &t.schema), *plan;
    hly_schema output = test_schema(t.arena, "struct<b:boolean>");
    plan = variant & 1 ? p_filter(&t.b, in, &t.schema, unknown) : p_project(&t.b, in, &output, &unknown);
    const hly_schema *schema = variant & 1 ? &t.schema : &output;
    if (variant & 2) plan = p_limit(&t.b, plan, schema, 15, 0);
    plan_run r;
    plan_bind(&r, &t.ctx, t.arena, plan);
    batch_source source;
    batch_source_attach(&source, variant & 2 ? r.op->inputs[0] : r.op, 0, batches, 3);
    uint32_t n;
    hly_status st = pull_all(&t, r.op, &n);
    assert_int_equal(n, 15);
    if (variant & 2) {
      assert_int_equal(st, HLY_OK); // the limit was reached: nobody asked for row 15
      assert_int_equal(t.ctx.error.status, HLY_OK);
    } else {
      assert_int_equal(st, HLY_ERR);
      assert_int_equal(t.ctx.error.jvm_ref, 77);
      hly_batch *out;
      assert_int_equal(hly_op_next(r.op, &out), HLY_ERR); // and again
    }
    hly_op_close(r.op);
    hly_error_clear(&t.ctx.error);
  }
  finish(&t);
}

// ---- Branches.

static Halley__TaskInput *branch_task(bench *t, int32_t plan_id, uint32_t n, const int32_t *inputs,
                                      const int32_t *partitions) {
  Halley__TaskInput *task = HLY_ARENA_NEW(t->arena, Halley__TaskInput);
  halley__task_input__init(task);
  task->n_branches = 1;
  task->branches = HLY_ARENA_NEW_N(t->arena, Halley__Branches *, 1);
  Halley__Branches *list = task->branches[0] = HLY_ARENA_NEW(t->arena, Halley__Branches);
  halley__branches__init(list);
  list->plan_id = plan_id;
  list->n_branches = n;
  list->branches = HLY_ARENA_NEW_N(t->arena, Halley__Branch *, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    Halley__Branch *b = list->branches[i] = HLY_ARENA_NEW(t->arena, Halley__Branch);
    halley__branch__init(b);
    b->input = inputs[i];
    b->task = HLY_ARENA_NEW(t->arena, Halley__TaskInput);
    halley__task_input__init(b->task);
    b->task->partition = partitions[i];
  }
  return task;
}

static int32_t seen_partitions[16];
static uint32_t n_seen;

static void note_partition(batch_source *s, uint32_t batch) {
  if (batch == 0) seen_partitions[n_seen++] = s->partition;
}

static void test_union_and_coalesce(void **state) {
  bench t;
  start(&t, 8192);
  hly_batch *first[] = {count_up(&t, 0, 3, false), count_up(&t, 3, 2, false)};
  hly_batch *second[] = {count_up(&t, 100, 2, true)};
  Halley__Plan *plan =
      p_node(&t.b, HALLEY__PLAN__OP_UNION, &t.schema, 2, p_input(&t.b, &t.schema), p_input(&t.b, &t.schema));
  plan->union_ = HLY_ARENA_NEW(t.arena, Halley__Union);
  halley__union__init(plan->union_);
  plan_run r;
  plan_bind(&r, &t.ctx, t.arena, plan);
  batch_source sources[2];
  batch_source_attach(&sources[0], r.op, 0, first, 2);
  batch_source_attach(&sources[1], r.op, 1, second, 1);
  sources[0].before = sources[1].before = note_partition;
  n_seen = 0;
  const int32_t inputs[] = {1, 0, 1}, partitions[] = {4, 7, 5};
  assert_ok(&t.ctx, plan_drain(&r, branch_task(&t, plan->id, 3, inputs, partitions)));
  const int64_t expected[] = {100, 0, 1, 2, 3, 4, 100};
  assert_numbers(&r, expected, 7);
  assert_int_equal(n_seen, 3);
  for (int i = 0; i < 3; i++) assert_int_equal(seen_partitions[i], partitions[i]);
  // No branches: no rows. An unknown input or a task without branches: an invalid plan.
  r.n_lines = 0;
  assert_ok(&t.ctx, plan_drain(&r, branch_task(&t, plan->id, 0, inputs, partitions)));
  assert_int_equal(r.n_lines, 0);
  const int32_t bad[] = {2};
  assert_int_equal(plan_drain(&r, branch_task(&t, plan->id, 1, bad, partitions)), HLY_ERR);
  hly_error_clear(&t.ctx.error);
  assert_int_equal(plan_drain(&r, branch_task(&t, 99999, 1, inputs, partitions)), HLY_ERR);
  hly_error_clear(&t.ctx.error);

  plan = p_node(&t.b, HALLEY__PLAN__OP_COALESCE, &t.schema, 1,
                p_limit(&t.b, p_input(&t.b, &t.schema), &t.schema, 2, 0));
  plan->coalesce = HLY_ARENA_NEW(t.arena, Halley__Coalesce);
  halley__coalesce__init(plan->coalesce);
  plan_bind(&r, &t.ctx, t.arena, plan);
  batch_source_attach(&sources[0], r.op->inputs[0], 0, first, 2);
  const int32_t zeros[] = {0, 0}, parts[] = {3, 9};
  assert_ok(&t.ctx, plan_drain(&r, branch_task(&t, plan->id, 2, zeros, parts)));
  const int64_t coalesced[] = {0, 1, 0, 1}; // the limit is counted anew for each partition
  assert_numbers(&r, coalesced, 4);
  finish(&t);
}

static void test_union_of_other_columns_is_invalid(void **state) {
  bench t;
  start(&t, 8192);
  hly_schema other = test_schema(t.arena, "struct<a:int,s:string>");
  Halley__Plan *plan =
      p_node(&t.b, HALLEY__PLAN__OP_UNION, &t.schema, 2, p_input(&t.b, &t.schema), p_input(&t.b, &other));
  plan->union_ = HLY_ARENA_NEW(t.arena, Halley__Union);
  halley__union__init(plan->union_);
  hly_binder binder = {.ctx = &t.ctx, .arena = t.arena};
  hly_op *op;
  assert_int_equal(hly_op_bind(&binder, plan, &op), HLY_ERR);
  finish(&t);
}

// ---- JVM input.

typedef struct row_host {
  hly_row_block block;
  uint32_t blocks_left;
} row_host;

static row_host pushed;

static hly_status push_rows(void *arg, int32_t handle, hly_input_block *block, bool *more, hly_error *error) {
  assert_int_equal(handle, 42);
  *more = pushed.blocks_left > 0;
  if (!*more) return HLY_OK;
  pushed.blocks_left--;
  *block = (hly_input_block){(uint64_t)(uintptr_t)pushed.block.data->data,
                             pushed.block.offsets[pushed.block.n_rows],
                             (uint64_t)(uintptr_t)pushed.block.offsets, pushed.block.n_rows};
  return HLY_OK;
}

static void test_jvm_input(void **state) {
  static const uint32_t sizes[] = {1, 7, 8192};
  for (int i = 0; i < 3; i++) {
    for (int bytes = 0; bytes < 2; bytes++) {
      bench t;
      start(&t, sizes[i]);
      t.host.host.input_next = push_rows;
      if (bytes) t.ctx.batch_bytes = 300;
      test_random random = {3};
      test_shape shape = {.n_rows = 100, .null_percent = 20, .max_string = 40};
      hly_batch *batch = test_shaped_batch(&t.ctx, t.arena, &random, &test_all_types, &shape, NULL);
      uint32_t done;
      pushed = (row_host){.blocks_left = 3};
      assert_ok(&t.ctx, hly_unsafe_row_encode(&t.ctx, batch, NULL, batch->n_columns, 0, UINT64_MAX,
                                              &pushed.block, &done));
      assert_int_equal(done, 100);
      Halley__Plan *plan = p_input(&t.b, &test_all_types);
      Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
      Halley__JvmInputBinding binding = HALLEY__JVM_INPUT_BINDING__INIT, *list = &binding;
      binding.plan_id = plan->id;
      binding.handle = 42;
      task.n_jvm_inputs = 1;
      task.jvm_inputs = &list;
      plan_run r;
      plan_bind(&r, &t.ctx, t.arena, plan);
      assert_ok(&t.ctx, hly_op_open(r.op, &task));
      uint32_t n = 0;
      for (hly_batch *out;;) {
        assert_ok(&t.ctx, hly_op_next(r.op, &out));
        if (!out) break;
        assert_true(out->n_sel <= sizes[i]);
        if (bytes) assert_true(out->n_sel <= 2); // every row is wider than 150 bytes
        for (uint32_t row = 0; row < out->n_sel; row++, n++)
          for (uint32_t c = 0; c < out->n_columns; c++)
            assert_true(test_value_equal(batch->columns[c], n % 100, out->columns[c], row));
      }
      assert_int_equal(n, 300);
      hly_op_close(r.op);
      hly_row_block_deinit(&pushed.block);
      finish(&t);
    }
  }
}

// ---- Cancelling, failing allocations, metrics.

static void test_cancel(void **state) {
  bench t;
  start(&t, 8192);
  hly_batch *batches[] = {count_up(&t, 0, 10, false)};
  plan_run r;
  plan_bind(&r, &t.ctx, t.arena, p_limit(&t.b, p_input(&t.b, &t.schema), &t.schema, 5, 0));
  batch_source source;
  batch_source_attach(&source, r.op, 0, batches, 1);
  t.host.cancel = true;
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_int_equal(plan_drain(&r, &task), HLY_CANCELLED);
  finish(&t);
}

static void test_failing_allocations_leak_nothing(void **state) {
  bench t;
  start(&t, 8192);
  hly_batch *batches[] = {count_up(&t, 0, 50, false), count_up(&t, 50, 50, true)};
  hly_schema output = test_schema(t.arena, "struct<b:boolean,s:string>");
  Halley__Plan *plan = p_filter(&t.b, p_input(&t.b, &t.schema), &t.schema, a_compared(&t, "LessThan", 4));
  Halley__Expr *exprs[] = {a_compared(&t, "GreaterThan", 1), p_field(&t.b, &t.schema, 1)};
  plan = p_project(&t.b, plan, &output, exprs);
  plan = p_limit(&t.b, plan, &output, 3, 1);
  plan_failing_allocations(&t.ctx, plan, batches, 2, 500);
  finish(&t);
}

static void test_metrics_and_list(void **state) {
  bench t;
  start(&t, 8192);
  hly_batch *batches[] = {count_up(&t, 0, 10, false), count_up(&t, 10, 10, true)};
  Halley__Plan *plan = p_filter(&t.b, p_input(&t.b, &t.schema), &t.schema, a_compared(&t, "LessThan", 14));
  plan = p_limit(&t.b, plan, &t.schema, 100, 0);
  plan_run r;
  plan_bind(&r, &t.ctx, t.arena, plan);
  uint32_t n = 0;
  for (hly_op *op = r.op; op; op = op->next_in_plan) n++;
  assert_int_equal(n, 3);
  batch_source source;
  batch_source_attach(&source, r.op->inputs[0], 0, batches, 2);
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  assert_ok(&t.ctx, plan_drain(&r, &task));
  assert_int_equal(r.op->metrics[HALLEY__METRIC__OUTPUT_ROWS], 12);
  assert_int_equal(r.op->metrics[HALLEY__METRIC__OUTPUT_BATCHES], 2);
  assert_int_equal(source.op.metrics[HALLEY__METRIC__OUTPUT_ROWS], 15);
  assert_true(r.op->metrics[HALLEY__METRIC__ELAPSED_NS] > 0);
  finish(&t);
}

static void test_too_deep(void **state) {
  bench t;
  start(&t, 8192);
  Halley__Plan *plan = p_input(&t.b, &t.schema);
  for (int i = 0; i < 10000; i++) plan = p_limit(&t.b, plan, &t.schema, 1, 0);
  hly_binder binder = {.ctx = &t.ctx, .arena = t.arena};
  hly_op *op;
  assert_int_equal(hly_op_bind(&binder, plan, &op), HLY_ERR);
  finish(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_filter),
      cmocka_unit_test(test_project),
      cmocka_unit_test(test_limit),
      cmocka_unit_test(test_errors_wait),
      cmocka_unit_test(test_union_and_coalesce),
      cmocka_unit_test(test_union_of_other_columns_is_invalid),
      cmocka_unit_test(test_jvm_input),
      cmocka_unit_test(test_cancel),
      cmocka_unit_test(test_failing_allocations_leak_nothing),
      cmocka_unit_test(test_metrics_and_list),
      cmocka_unit_test(test_too_deep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
