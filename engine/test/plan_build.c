#include "plan_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch_source.h"
#include "fixture.h"
#include "type_text.h"

static int32_t next_id;

Halley__Plan *p_node(expr_builder *b, Halley__Plan__OpCase op, const hly_schema *output, uint32_t n_inputs,
                     ...) {
  Halley__Plan *p = HLY_ARENA_NEW(b->arena, Halley__Plan);
  halley__plan__init(p);
  p->id = ++next_id;
  p->op_case = op;
  p->n_inputs = n_inputs;
  p->inputs = HLY_ARENA_NEW_N(b->arena, Halley__Plan *, n_inputs + 1);
  va_list args;
  va_start(args, n_inputs);
  for (uint32_t i = 0; i < n_inputs; i++) p->inputs[i] = va_arg(args, Halley__Plan *);
  va_end(args);
  p->n_output = output->n_fields;
  p->output = HLY_ARENA_NEW_N(b->arena, Halley__Field *, output->n_fields + 1);
  for (uint32_t i = 0; i < output->n_fields; i++) {
    Halley__Field *f = p->output[i] = HLY_ARENA_NEW(b->arena, Halley__Field);
    halley__field__init(f);
    f->name = (char *)output->fields[i].name;
    f->type = x_type(b, output->fields[i].type);
    f->nullable = true;
  }
  return p;
}

Halley__Plan *p_input(expr_builder *b, const hly_schema *output) {
  Halley__Plan *p = p_node(b, HALLEY__PLAN__OP_JVM_INPUT, output, 0);
  p->jvm_input = HLY_ARENA_NEW(b->arena, Halley__JvmInput);
  halley__jvm_input__init(p->jvm_input);
  return p;
}

Halley__Expr *p_field(expr_builder *b, const hly_schema *schema, uint32_t i) {
  return x_col(b, (int32_t)i, schema->fields[i].type, true);
}

Halley__Plan *p_filter(expr_builder *b, Halley__Plan *in, const hly_schema *schema, Halley__Expr *condition) {
  Halley__Plan *p = p_node(b, HALLEY__PLAN__OP_FILTER, schema, 1, in);
  p->filter = HLY_ARENA_NEW(b->arena, Halley__Filter);
  halley__filter__init(p->filter);
  p->filter->condition = condition;
  return p;
}

Halley__Plan *p_project(expr_builder *b, Halley__Plan *in, const hly_schema *output, Halley__Expr **exprs) {
  Halley__Plan *p = p_node(b, HALLEY__PLAN__OP_PROJECT, output, 1, in);
  p->project = HLY_ARENA_NEW(b->arena, Halley__Project);
  halley__project__init(p->project);
  p->project->n_exprs = output->n_fields;
  p->project->exprs = exprs;
  return p;
}

Halley__Plan *p_limit(expr_builder *b, Halley__Plan *in, const hly_schema *schema, int64_t limit,
                      int64_t offset) {
  Halley__Plan *p = p_node(b, HALLEY__PLAN__OP_LIMIT, schema, 1, in);
  p->limit = HLY_ARENA_NEW(b->arena, Halley__Limit);
  halley__limit__init(p->limit);
  p->limit->limit = limit;
  p->limit->offset = offset;
  return p;
}

Halley__Plan *p_sort(expr_builder *b, Halley__Plan *in, const hly_schema *schema, const char *orders,
                     int64_t limit) {
  Halley__SortOrder **list = HLY_ARENA_NEW_N(b->arena, Halley__SortOrder *, 32);
  size_t n = 0;
  for (const char *p = orders; p && *p; n++) {
    int column;
    char direction[8], nulls[8];
    assert_int_equal(3, sscanf(p, " %d %7[a-z] %7[a-z]", &column, direction, nulls));
    list[n] = HLY_ARENA_NEW(b->arena, Halley__SortOrder);
    halley__sort_order__init(list[n]);
    list[n]->child = p_field(b, schema, (uint32_t)column);
    list[n]->ascending = !strcmp(direction, "asc");
    list[n]->nulls_first = !strcmp(nulls, "first");
    p = strchr(p, ',');
    if (p) p++;
  }
  Halley__Plan *p = p_node(b, limit < 0 ? HALLEY__PLAN__OP_SORT : HALLEY__PLAN__OP_TOP_K, schema, 1, in);
  if (limit < 0) {
    p->sort = HLY_ARENA_NEW(b->arena, Halley__Sort);
    halley__sort__init(p->sort);
    p->sort->n_orders = n;
    p->sort->orders = list;
  } else {
    p->top_k = HLY_ARENA_NEW(b->arena, Halley__TopK);
    halley__top_k__init(p->top_k);
    p->top_k->n_orders = n;
    p->top_k->orders = list;
    p->top_k->limit = limit;
  }
  return p;
}

Halley__AggCall *p_call(expr_builder *b, const char *cls, Halley__AggMode mode, const char *type,
                        const char *buffer, Halley__Expr *arg, int32_t buffer_at) {
  Halley__AggCall *c = HLY_ARENA_NEW(b->arena, Halley__AggCall);
  halley__agg_call__init(c);
  c->cls = (char *)cls;
  c->mode = mode;
  c->type = x_type(b, test_type(b->arena, type));
  c->buffer_offset = buffer_at;
  hly_schema fields = test_schema(b->arena, buffer);
  c->n_buffer = fields.n_fields;
  c->buffer = HLY_ARENA_NEW_N(b->arena, Halley__Field *, fields.n_fields);
  for (uint32_t i = 0; i < fields.n_fields; i++) {
    c->buffer[i] = HLY_ARENA_NEW(b->arena, Halley__Field);
    halley__field__init(c->buffer[i]);
    c->buffer[i]->name = "b";
    c->buffer[i]->type = x_type(b, fields.fields[i].type);
  }
  c->args = HLY_ARENA_NEW_N(b->arena, Halley__Expr *, 8);
  if (arg) c->args[c->n_args++] = arg;
  c->params = HLY_ARENA_NEW_N(b->arena, Halley__Param *, 8);
  return c;
}

void p_call_param(expr_builder *b, Halley__AggCall *call, const char *name, const char *string, bool value) {
  Halley__Param *p = HLY_ARENA_NEW(b->arena, Halley__Param);
  halley__param__init(p);
  p->name = (char *)name;
  if (string) {
    p->value_case = HALLEY__PARAM__VALUE_STRING_VALUE;
    p->string_value = (char *)string;
  } else {
    p->value_case = HALLEY__PARAM__VALUE_BOOL_VALUE;
    p->bool_value = value;
  }
  call->params[call->n_params++] = p;
}

static const hly_type *type_of(expr_builder *b, const Halley__DataType *t) {
  hly_ctx ctx = {0};
  hly_binder binder = {.ctx = &ctx, .arena = b->arena};
  const hly_type *type;
  assert_int_equal(HLY_OK, hly_bind_type(&binder, t, &type));
  return type;
}

Halley__Plan *p_aggregate(expr_builder *b, Halley__Plan *in, uint32_t n_keys, Halley__Expr **keys,
                          uint32_t n_calls, Halley__AggCall **calls, hly_schema *output) {
  hly_field *fields = HLY_ARENA_NEW_N(b->arena, hly_field, n_keys + 2 * n_calls + 1);
  uint32_t n = 0;
  for (uint32_t k = 0; k < n_keys; k++)
    fields[n++] = (hly_field){.name = "k", .type = type_of(b, keys[k]->type), .nullable = true};
  for (uint32_t c = 0; c < n_calls; c++) {
    if (calls[c]->mode == HALLEY__AGG_MODE__FINAL || calls[c]->mode == HALLEY__AGG_MODE__COMPLETE)
      fields[n++] = (hly_field){.name = "r", .type = type_of(b, calls[c]->type), .nullable = true};
    else
      for (size_t i = 0; i < calls[c]->n_buffer; i++)
        fields[n++] =
            (hly_field){.name = "b", .type = type_of(b, calls[c]->buffer[i]->type), .nullable = true};
  }
  *output = (hly_schema){n, fields};
  Halley__Plan *p = p_node(b, HALLEY__PLAN__OP_HASH_AGGREGATE, output, 1, in);
  Halley__HashAggregate *h = p->hash_aggregate = HLY_ARENA_NEW(b->arena, Halley__HashAggregate);
  halley__hash_aggregate__init(h);
  h->n_groupings = n_keys;
  h->groupings = keys;
  h->n_calls = n_calls;
  h->calls = calls;
  h->n_results = n;
  h->results = HLY_ARENA_NEW_N(b->arena, Halley__Expr *, n + 1);
  for (uint32_t i = 0; i < n; i++) h->results[i] = p_field(b, output, i);
  return p;
}

void plan_bind(plan_run *r, hly_ctx *ctx, hly_arena *arena, const Halley__Plan *plan) {
  *r = (plan_run){.ctx = ctx, .arena = arena};
  hly_binder binder = {.ctx = ctx, .arena = arena};
  hly_status st = hly_op_bind(&binder, plan, &r->op);
  if (st == HLY_REFUSED) fail_msg("refused: %s", binder.n_reasons ? binder.reasons[0] : "without a reason");
  assert_ok(ctx, st);
}

static void add_lines(plan_run *r, const hly_batch *batch) {
  if (batch->n_sel > r->most_rows) r->most_rows = batch->n_sel;
  for (uint32_t c = 0; c < batch->n_columns; c++) {
    char message[256];
    // Values of rows that are not selected mean nothing.
    if (!batch->sel && !hly_vector_check(batch->columns[c], message, sizeof message))
      fail_msg("column %u: %s", c, message);
    assert_true(batch->columns[c]->n_rows >= batch->n_rows);
  }
  for (uint32_t i = 0; i < batch->n_sel; i++) {
    uint32_t row = batch->sel ? batch->sel[i] : i;
    const char *line = "";
    for (uint32_t c = 0; c < batch->n_columns; c++)
      line = hly_arena_printf(r->arena, "%s%s|", line, test_value_text(r->arena, batch->columns[c], row));
    if (r->n_lines == r->cap_lines) {
      uint32_t grown = r->cap_lines ? r->cap_lines * 2 : 256;
      char **lines = HLY_ARENA_NEW_N(r->arena, char *, grown);
      if (r->n_lines) memcpy(lines, r->lines, r->n_lines * sizeof *lines);
      r->lines = lines;
      r->cap_lines = grown;
    }
    r->lines[r->n_lines++] = (char *)line;
  }
}

static hly_status drain(plan_run *r, const Halley__TaskInput *task, bool ask) {
  hly_status st = hly_op_open(r->op, task);
  while (st == HLY_OK) {
    hly_batch *batch;
    st = hly_op_next(r->op, &batch);
    if (st != HLY_OK || !batch) break;
    assert_true(batch->n_sel > 0);
    assert_true(batch->n_sel <= r->ctx->batch_rows);
    // The batch stays valid, however often memory is asked for.
    for (uint32_t i = 0; ask && i < 2; i++) hly_pool_spill(r->ctx->pool, INT64_MAX);
    add_lines(r, batch);
  }
  hly_op_close(r->op);
  return st;
}

hly_status plan_drain(plan_run *r, const Halley__TaskInput *task) {
  return drain(r, task, false);
}

hly_status plan_drain_asking(plan_run *r, const Halley__TaskInput *task) {
  return drain(r, task, true);
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

void plan_sort_lines(plan_run *r) {
  if (r->n_lines) qsort(r->lines, r->n_lines, sizeof *r->lines, by_text);
}

void plan_assert_same(const plan_run *a, const plan_run *b) {
  for (uint32_t i = 0; i < a->n_lines && i < b->n_lines; i++) assert_string_equal(a->lines[i], b->lines[i]);
  assert_int_equal(a->n_lines, b->n_lines);
}

typedef struct failing {
  hly_ctx *ctx;
  const Halley__Plan *plan;
  hly_batch **batches;
  uint32_t n_batches;
} failing;

static hly_status run_once(void *arg) {
  failing *f = arg;
  hly_arena *arena = hly_arena_create();
  if (!arena) return HLY_NOMEM;
  hly_binder binder = {.ctx = f->ctx, .arena = arena};
  hly_op *op = NULL;
  batch_source source;
  hly_status st = hly_op_bind(&binder, f->plan, &op);
  if (st == HLY_OK) {
    hly_op *last = op;
    while (last->inputs[0]->n_inputs) last = last->inputs[0];
    batch_source_attach(&source, last, 0, f->batches, f->n_batches);
    Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
    st = hly_op_open(op, &task);
    hly_batch *batch = NULL;
    do {
      if (st == HLY_OK) st = hly_op_next(op, &batch);
    } while (st == HLY_OK && batch);
    hly_op_close(op);
  }
  hly_arena_destroy(arena);
  hly_error_clear(&f->ctx->error);
  return st;
}

void plan_failing_allocations(hly_ctx *ctx, const Halley__Plan *plan, hly_batch **batches, uint32_t n_batches,
                              int max) {
  failing f = {ctx, plan, batches, n_batches};
  test_failing_allocations(run_once, &f, max);
}
