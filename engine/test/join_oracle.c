#include "join_oracle.h"

#include <stdlib.h>
#include <string.h>

#include "type_text.h"

// ---- The condition, evaluated by the host.

// -1: null; 2: raises.
static int judge(const join_setup *u, const int64_t *a, const int64_t *b) {
  if (!a || !b) return -1;
  if (u->bad >= 0 && *a * 100 + *b == u->bad) return 2;
  return (*a + *b) % 3 == 0;
}

static hly_status evaluate(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call,
                           hly_error *error) {
  static uint64_t rows[2 * 8192], offsets[8193];
  const join_test *t = arg;
  const uint64_t *in = (const uint64_t *)(uintptr_t)call->offsets;
  uint64_t n = 0;
  call->error = 0;
  for (; n < call->n_rows && n < 8192; n++) {
    const uint8_t *row = (const uint8_t *)(uintptr_t)(call->rows + in[n]);
    int64_t a, b;
    memcpy(&a, row + 8, sizeof a);
    memcpy(&b, row + 16, sizeof b);
    int v = judge(&t->setup, row[0] & 1 ? NULL : &a, row[0] & 2 ? NULL : &b);
    if (v == 2) {
      call->error = 77;
      break;
    }
    rows[2 * n] = v < 0;
    rows[2 * n + 1] = v > 0;
    offsets[n] = n * 16;
  }
  offsets[n] = n * 16;
  call->n_done = n;
  call->out_rows = (uint64_t)(uintptr_t)rows;
  call->out_offsets = (uint64_t)(uintptr_t)offsets;
  return HLY_OK;
}

// ---- Inputs.

static void unref_vector(void *v) {
  hly_vector_unref(v);
}

static hly_vector *owned(join_test *t, hly_vector *v) {
  assert_non_null(v);
  assert_int_equal(0, hly_arena_on_reset(t->arena, unref_vector, v));
  return v;
}

static void add_nulls(join_test *t, test_random *r, hly_vector *v, uint32_t percent) {
  if (!percent) return;
  assert_ok(&t->ctx, hly_vector_need_validity(&t->ctx, v));
  for (uint32_t i = 0; i < v->n_rows; i++)
    if (test_below(r, 100) < percent) hly_bits_clear(v->validity, i);
}

// A column of values from the pool.
static hly_vector *pick(join_test *t, test_random *r, hly_vector *pool, uint32_t n) {
  const join_setup *u = &t->setup;
  hly_vector *v = owned(t, hly_vector_create(pool->type));
  assert_ok(&t->ctx, hly_vector_set_dict(&t->ctx, v, pool, n));
  for (uint32_t i = 0; i < n; i++)
    v->indices[i] = u->skewed && test_below(r, 2) ? 0 : test_below(r, pool->n_rows);
  add_nulls(t, r, v, u->null_percent);
  if (u->encoding == HLY_DICT) return v;
  hly_vector *flat = owned(t, hly_vector_create(pool->type));
  assert_ok(&t->ctx, hly_vector_gather(&t->ctx, flat, v, NULL, n));
  return flat;
}

static hly_vector *small_longs(join_test *t, test_random *r, uint32_t n) {
  hly_vector *v = owned(t, hly_vector_create(hly_type_of(HLY_LONG)));
  assert_ok(&t->ctx, hly_vector_reset(&t->ctx, v, n));
  for (uint32_t i = 0; i < n; i++) ((int64_t *)v->values)[i] = test_below(r, 10);
  add_nulls(t, r, v, t->setup.null_percent / 2);
  return v;
}

static hly_vector *make_pool(join_test *t, test_random *r, const hly_type *type, uint32_t n) {
  test_shape shape = {.n_rows = n, .max_string = 20};
  return owned(t, test_shaped_vector(&t->ctx, r, type, &shape, NULL));
}

static uint32_t rows_of(const join_setup *u, int side) {
  return side == 0 && u->left_rows ? u->left_rows : u->rows;
}

static void make_inputs(join_test *t) {
  const join_setup *u = &t->setup;
  test_random r = {u->rows * 31 + u->n_values};
  hly_vector *pool = make_pool(t, &r, t->left.fields[0].type, u->n_values);
  hly_vector *strings = make_pool(t, &r, hly_type_of(HLY_STRING), 2);
  for (int side = 0; side < 2; side++) {
    const hly_schema *schema = side ? &t->right : &t->left;
    uint32_t rows = rows_of(u, side);
    uint32_t n = t->n_batches[side] = side ? u->right_batches : u->left_batches;
    t->batches[side] = HLY_ARENA_NEW_N(t->arena, hly_batch *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
      hly_batch *batch = t->batches[side][i] = HLY_ARENA_NEW(t->arena, hly_batch);
      batch->n_columns = schema->n_fields;
      batch->columns = HLY_ARENA_NEW_N(t->arena, hly_vector *, schema->n_fields);
      batch->columns[0] = pick(t, &r, pool, rows);
      batch->columns[1] = pick(t, &r, strings, rows);
      batch->columns[2] = small_longs(t, &r, rows);
      test_shape shape = {
          .n_rows = rows, .null_percent = u->null_percent, .max_string = 40, .encoding = u->encoding};
      for (uint32_t c = 3; c < schema->n_fields; c++)
        batch->columns[c] = owned(t, test_shaped_vector(&t->ctx, &r, schema->fields[c].type, &shape, NULL));
      hly_batch_set_rows(batch, rows);
      if (i % 2 == 0 || u->kind == JOIN_MERGE) continue;
      uint32_t *sel = HLY_ARENA_NEW_N(t->arena, uint32_t, rows + 1), n_sel = 0;
      for (uint32_t k = 0; k < rows; k++)
        if (k % 3) sel[n_sel++] = k;
      batch->sel = sel;
      batch->n_sel = n_sel;
    }
  }
}

// ---- The plan.

static void make_plan(join_test *t) {
  const join_setup *u = &t->setup;
  expr_builder *b = &t->b;
  uint32_t n_left = t->left.n_fields;
  hly_field *fields = HLY_ARENA_NEW_N(t->arena, hly_field, n_left + t->right.n_fields + 1);
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_left; i++) fields[n++] = t->left.fields[i];
  if (u->type == HALLEY__JOIN_TYPE__EXISTENCE)
    fields[n++] = (hly_field){.name = "exists", .type = hly_type_of(HLY_BOOLEAN)};
  if (u->type < HALLEY__JOIN_TYPE__LEFT_SEMI)
    for (uint32_t i = 0; i < t->right.n_fields; i++) fields[n++] = t->right.fields[i];
  t->output = (hly_schema){n, fields};
  static const Halley__Plan__OpCase cases[] = {HALLEY__PLAN__OP_HASH_JOIN, HALLEY__PLAN__OP_MERGE_JOIN,
                                               HALLEY__PLAN__OP_NESTED_LOOP_JOIN};
  Halley__Plan *inputs[2] = {p_input(b, &t->left), p_input(b, &t->right)};
  Halley__Plan *build = inputs[u->build_left ? 0 : 1];
  if (u->value) build->op_case = HALLEY__PLAN__OP_SHUFFLE_INPUT;
  halley__task_input__init(&t->task);
  halley__jvm_input_binding__init(&t->binding);
  t->binding.plan_id = build->id;
  t->binding.handle = 5;
  t->bindings = &t->binding;
  t->task.jvm_inputs = &t->bindings;
  t->task.n_jvm_inputs = 1;
  if (u->filtered) {
    uint32_t probe = u->build_left ? 1 : 0;
    inputs[probe] = p_sort(b, inputs[probe], probe ? &t->right : &t->left, "2 asc first", -1);
  }
  Halley__Plan *p = p_node(b, cases[u->kind], &t->output, 2, inputs[0], inputs[1]);
  Halley__Expr **left = HLY_ARENA_NEW_N(t->arena, Halley__Expr *, 2);
  Halley__Expr **right = HLY_ARENA_NEW_N(t->arena, Halley__Expr *, 2);
  for (uint32_t k = 0; k < 2; k++) {
    left[k] = p_field(b, &t->left, k);
    right[k] = p_field(b, &t->right, k);
  }
  Halley__Expr *condition = NULL;
  if (u->condition)
    condition = x_call(b, "SomethingOfSpark", hly_type_of(HLY_BOOLEAN), 2, p_field(b, &t->left, 2),
                       x_col(b, (int32_t)n_left + 2, hly_type_of(HLY_LONG), true));
  switch (u->kind) {
  case JOIN_HASH:
    p->hash_join = HLY_ARENA_NEW(t->arena, Halley__HashJoin);
    halley__hash_join__init(p->hash_join);
    p->hash_join->type = u->type;
    p->hash_join->broadcast = u->broadcast;
    p->hash_join->runtime_filter = u->filtered;
    p->hash_join->build_left = u->build_left;
    p->hash_join->n_left_keys = p->hash_join->n_right_keys = u->n_keys;
    p->hash_join->left_keys = left;
    p->hash_join->right_keys = right;
    p->hash_join->condition = condition;
    p->hash_join->null_aware_anti = u->null_aware;
    break;
  case JOIN_MERGE:
    p->merge_join = HLY_ARENA_NEW(t->arena, Halley__MergeJoin);
    halley__merge_join__init(p->merge_join);
    p->merge_join->type = u->type;
    p->merge_join->n_left_keys = p->merge_join->n_right_keys = u->n_keys;
    p->merge_join->left_keys = left;
    p->merge_join->right_keys = right;
    p->merge_join->condition = condition;
    break;
  default:
    p->nested_loop_join = HLY_ARENA_NEW(t->arena, Halley__NestedLoopJoin);
    halley__nested_loop_join__init(p->nested_loop_join);
    p->nested_loop_join->type = u->type;
    p->nested_loop_join->build_left = u->build_left;
    p->nested_loop_join->condition = condition;
    break;
  }
  t->plan = p;
}

static hly_status give_value(void *arg, int32_t handle, struct hly_broadcast **value, hly_error *error) {
  join_test *t = arg;
  *value = handle == 5 ? t->setup.value : NULL;
  return HLY_OK;
}

void join_start(join_test *t, const join_setup *setup) {
  memset(t, 0, sizeof *t);
  t->setup = *setup;
  test_host_init(&t->host, setup->limit);
  t->host.host.dispatch = evaluate;
  t->host.host.broadcast = give_value;
  t->host.host.arg = t; // the host is its first member
  test_ctx_init(&t->ctx, &t->host);
  t->ctx.batch_rows = setup->batch_rows;
  t->ctx.batch_bytes = setup->batch_bytes;
  t->arena = hly_arena_create();
  t->b.arena = t->arena;
  t->left = test_schema(
      t->arena,
      hly_arena_printf(t->arena, "struct<k:%s,k2:string,a:bigint,s:string,n:array<int>>", setup->key));
  t->right = test_schema(
      t->arena,
      hly_arena_printf(
          t->arena, "struct<k:%s,k2:string,b:bigint,d:decimal(30,4),t:binary,i:int,m:struct<x:int,y:string>>",
          setup->key));
  make_inputs(t);
  make_plan(t);
}

void join_finish(join_test *t) {
  hly_error_clear(&t->ctx.error);
  hly_arena_destroy(t->arena);
  test_ctx_deinit(&t->ctx);
}

void join_attach(join_test *t, hly_op *op) {
  for (uint32_t i = 0; i < 2; i++) {
    hly_op *above = op;
    uint32_t at = i;
    while (above->inputs[at]->n_inputs) { // the sort, and a filter below it
      above = above->inputs[at];
      at = 0;
    }
    batch_source_attach(&t->sources[i], above, at, t->batches[i], t->n_batches[i]);
  }
}

void join_prepare(join_test *t) {
  plan_bind(&t->run, &t->ctx, t->arena, t->plan);
  join_attach(t, t->run.op);
}

hly_status join_drain(join_test *t) {
  return plan_drain(&t->run, &t->task);
}

hly_status join_run(join_test *t, bool ask) {
  join_prepare(t);
  return ask ? plan_drain_asking(&t->run, &t->task) : join_drain(t);
}

// ---- What must come out.

typedef struct ref {
  const hly_batch *batch;
  uint32_t row;
  const char *text;
  bool matched;
} ref;

static ref *list_rows(join_test *t, int side, uint32_t *n) {
  uint32_t total = 0, k = 0;
  for (uint32_t i = 0; i < t->n_batches[side]; i++) total += t->batches[side][i]->n_sel;
  ref *refs = HLY_ARENA_NEW_N(t->arena, ref, total + 1);
  for (uint32_t i = 0; i < t->n_batches[side]; i++) {
    const hly_batch *batch = t->batches[side][i];
    for (uint32_t j = 0; j < batch->n_sel; j++, k++) {
      refs[k].batch = batch;
      refs[k].row = batch->sel ? batch->sel[j] : j;
      const char *text = "";
      for (uint32_t c = 0; c < batch->n_columns; c++)
        text = hly_arena_printf(t->arena, "%s%s|", text,
                                test_value_text(t->arena, batch->columns[c], refs[k].row));
      refs[k].text = text;
    }
  }
  *n = total;
  return refs;
}

static bool same_keys(const join_test *t, const ref *l, const ref *r) {
  for (uint32_t k = 0; k < t->setup.n_keys; k++) {
    const hly_vector *a = l->batch->columns[k], *b = r->batch->columns[k];
    if (hly_vector_is_null(a, l->row) || hly_vector_is_null(b, r->row)) return false;
    if (!test_value_equal(a, l->row, b, r->row)) return false;
  }
  return true;
}

static const int64_t *long_at(const ref *r) {
  const hly_vector *v = r->batch->columns[2];
  return hly_vector_is_null(v, r->row) ? NULL : (const int64_t *)v->values + r->row;
}

static void add_line(plan_run *out, const char *a, const char *b) {
  if (out->n_lines == out->cap_lines) {
    uint32_t grown = out->cap_lines ? out->cap_lines * 2 : 256;
    char **lines = HLY_ARENA_NEW_N(out->arena, char *, grown);
    if (out->n_lines) memcpy(lines, out->lines, out->n_lines * sizeof *lines);
    out->lines = lines;
    out->cap_lines = grown;
  }
  out->lines[out->n_lines++] = hly_arena_printf(out->arena, "%s%s", a, b);
}

static const char *nulls(join_test *t, uint32_t n) {
  const char *text = "";
  for (uint32_t i = 0; i < n; i++) text = hly_arena_printf(t->arena, "%snull|", text);
  return text;
}

void join_expected(join_test *t, bool reverse, plan_run *out, bool *failed) {
  const join_setup *u = &t->setup;
  bool pairs = u->type < HALLEY__JOIN_TYPE__LEFT_SEMI, build_null = false;
  bool build_left = u->build_left && pairs; // else the rows of the left side are given, in their order
  reverse &= build_left == u->build_left;
  int probe_side = build_left ? 1 : 0;
  uint32_t n_probe, n_build;
  ref *probe = list_rows(t, probe_side, &n_probe), *build = list_rows(t, 1 - probe_side, &n_build);
  bool left_outer = u->type == HALLEY__JOIN_TYPE__LEFT_OUTER || u->type == HALLEY__JOIN_TYPE__FULL_OUTER;
  bool right_outer = u->type == HALLEY__JOIN_TYPE__RIGHT_OUTER || u->type == HALLEY__JOIN_TYPE__FULL_OUTER;
  const char *no_left = nulls(t, t->left.n_fields), *no_right = nulls(t, t->right.n_fields);
  *out = (plan_run){.ctx = &t->ctx, .arena = t->arena};
  *failed = false;
  for (uint32_t j = 0; j < n_build; j++)
    build_null |= hly_vector_is_null(build[j].batch->columns[0], build[j].row);
  for (uint32_t i = 0; i < n_probe && !*failed; i++) {
    bool matched = false;
    for (uint32_t k = 0; k < n_build; k++) {
      uint32_t j = reverse ? n_build - 1 - k : k;
      ref *l = build_left ? &build[j] : &probe[i], *r = build_left ? &probe[i] : &build[j];
      if (!same_keys(t, l, r)) continue;
      int v = u->condition ? judge(u, long_at(l), long_at(r)) : 1;
      if (v == 2) {
        *failed = true;
        break;
      }
      if (v != 1) continue;
      matched = build[j].matched = true;
      if (!pairs) break;
      add_line(out, l->text, r->text);
    }
    if (*failed) break;
    if (u->null_aware && n_build)
      matched |= build_null || hly_vector_is_null(probe[i].batch->columns[0], probe[i].row);
    const char *text = probe[i].text;
    if (u->type == HALLEY__JOIN_TYPE__EXISTENCE)
      add_line(out, text, matched ? "true|" : "false|");
    else if (!pairs && matched == (u->type == HALLEY__JOIN_TYPE__LEFT_SEMI))
      add_line(out, text, "");
    else if (pairs && !matched && (build_left ? right_outer : left_outer))
      add_line(out, build_left ? no_left : text, build_left ? text : no_right);
  }
  if (*failed || !pairs || !(build_left ? left_outer : right_outer)) return;
  for (uint32_t j = 0; j < n_build; j++)
    if (!build[j].matched)
      add_line(out, build_left ? build[j].text : no_left, build_left ? no_right : build[j].text);
}

void join_check(const join_setup *setup) {
  join_test t;
  plan_run expected;
  bool failed;
  join_start(&t, setup);
  join_expected(&t, false, &expected, &failed);
  assert_false(failed);
  plan_sort_lines(&expected);
  assert_ok(&t.ctx, join_run(&t, false));
  plan_sort_lines(&t.run);
  plan_assert_same(&expected, &t.run);
  join_finish(&t);
}

// ---- Failing allocations.

static hly_status run_once(void *arg) {
  join_test *t = arg;
  hly_arena *arena = hly_arena_create();
  if (!arena) return HLY_NOMEM;
  hly_binder binder = {.ctx = &t->ctx, .arena = arena};
  hly_op *op = NULL;
  hly_status st = hly_op_bind(&binder, t->plan, &op);
  if (st == HLY_OK) {
    join_attach(t, op);
    st = hly_op_open(op, &t->task);
    hly_batch *batch = NULL;
    do {
      if (st == HLY_OK) st = hly_op_next(op, &batch);
      if (st == HLY_OK && t->setup.asking) hly_pool_spill(t->ctx.pool, INT64_MAX);
    } while (st == HLY_OK && batch);
    hly_op_close(op);
  }
  hly_arena_destroy(arena);
  hly_error_clear(&t->ctx.error);
  return st;
}

void join_failing_allocations(const join_setup *setup, int max) {
  join_test t;
  join_start(&t, setup);
  test_failing_allocations(run_once, &t, max);
  join_finish(&t);
}

// ---- Sorted inputs.

static int compare_keys(const void *x, const void *y) {
  const ref *a = x, *b = y;
  const hly_vector *v = a->batch->columns[0], *w = b->batch->columns[0];
  bool a_null = hly_vector_is_null(v, a->row), b_null = hly_vector_is_null(w, b->row);
  if (a_null || b_null) return b_null - a_null;
  uint32_t i = hly_vector_index(v, a->row), j = hly_vector_index(w, b->row);
  const void *p = hly_vector_base(v), *q = hly_vector_base(w);
  switch (v->type->phys) {
  case HLY_PHYS_STR: return hly_str_compare((const hly_str *)p + i, (const hly_str *)q + j);
  case HLY_PHYS_I32: {
    int32_t m = ((const int32_t *)p)[i], n = ((const int32_t *)q)[j];
    return (m > n) - (m < n);
  }
  default: {
    int64_t m = ((const int64_t *)p)[i], n = ((const int64_t *)q)[j];
    return (m > n) - (m < n);
  }
  }
}

void join_sort_side(join_test *t, int side) {
  uint32_t n;
  ref *refs = list_rows(t, side, &n);
  qsort(refs, n, sizeof *refs, compare_keys);
  const hly_schema *schema = side ? &t->right : &t->left;
  uint32_t rows = rows_of(&t->setup, side);
  for (uint32_t i = 0; i < t->n_batches[side]; i++) {
    hly_batch *batch = HLY_ARENA_NEW(t->arena, hly_batch);
    batch->n_columns = schema->n_fields;
    batch->columns = HLY_ARENA_NEW_N(t->arena, hly_vector *, schema->n_fields);
    for (uint32_t c = 0; c < schema->n_fields; c++) {
      hly_vector *v = batch->columns[c] = owned(t, hly_vector_create(schema->fields[c].type));
      for (uint32_t k = 0; k < rows; k++)
        assert_ok(&t->ctx, hly_vector_append(&t->ctx, v, refs[i * rows + k].batch->columns[c],
                                             &refs[i * rows + k].row, 1));
    }
    hly_batch_set_rows(batch, rows);
    t->batches[side][i] = batch;
  }
}
