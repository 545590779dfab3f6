// Sort and TopK: their input's rows in an order, all of them or the first few.
#include "expr/expr.h"
#include "operators/sorter.h"

typedef struct sort_op {
  hly_op op;
  hly_exprs *keys; // those that are not plain columns; NULL: none
  hly_row_layout layout;
  hly_row_order *orders;
  uint32_t n_orders;
  uint32_t n_keys;      // of `keys`
  int64_t limit;        // -1: all rows
  hly_vector **columns; // input columns, then keys
  hly_sorter sorter;
  bool sorted;
  hly_arena *arena;
  hly_batch *batch;
} sort_op;

static hly_status open_sort(hly_op *op, const Halley__TaskInput *task) {
  sort_op *s = (sort_op *)op;
  s->sorted = false;
  HLY_TRY(hly_op_open(op->inputs[0], task));
  HLY_TRY(hly_sorter_init(&s->sorter, op, op->cls->name, &s->layout, s->orders, s->n_orders,
                          op->output.n_fields, s->limit));
  s->arena = hly_arena_create();
  HLY_CHECK_MEM(op->ctx, s->arena, 0);
  HLY_TRY(hly_batch_create(op->ctx, s->arena, &op->output, &s->batch));
  return s->keys ? hly_exprs_open(s->keys, op->ctx, task->partition, op->metrics) : HLY_OK;
}

static hly_status consume(sort_op *s) {
  hly_ctx *ctx = s->op.ctx;
  uint32_t n_columns = s->op.output.n_fields;
  for (;;) {
    hly_batch *in;
    HLY_TRY(hly_op_next(s->op.inputs[0], &in));
    if (!in) break;
    if (in->n_sel == 0) continue;
    for (uint32_t i = 0; i < n_columns; i++) s->columns[i] = in->columns[i];
    if (s->keys) {
      uint32_t n_good = 0;
      HLY_TRY(hly_exprs_eval(s->keys, ctx, in, s->columns + n_columns, &n_good));
      if (n_good < in->n_sel) {
        HLY_TRY(hly_exprs_raise(s->keys, ctx));
        return HLY_ERR;
      }
    }
    HLY_TRY(hly_sorter_add(&s->sorter, s->columns, in));
  }
  s->sorted = true;
  return hly_sorter_finish(&s->sorter);
}

static hly_status next_sorted(hly_op *op, hly_batch **out) {
  sort_op *s = (sort_op *)op;
  *out = NULL;
  if (s->limit == 0) return HLY_OK;
  if (!s->sorted) HLY_TRY(consume(s));
  HLY_TRY(hly_sorter_next(&s->sorter, s->batch));
  *out = s->batch->n_rows ? s->batch : NULL;
  return HLY_OK;
}

static void close_sort(hly_op *op) {
  sort_op *s = (sort_op *)op;
  if (s->keys) hly_exprs_close(s->keys);
  hly_sorter_deinit(&s->sorter);
  hly_arena_destroy(s->arena);
  s->arena = NULL;
  s->batch = NULL;
}

static const hly_op_class SORT = {
    .name = "Sort", .open = open_sort, .next = next_sorted, .close = close_sort};
static const hly_op_class TOP_K = {
    .name = "TopK", .open = open_sort, .next = next_sorted, .close = close_sort};

// Keys that are columns are compared where they are; the others become fields behind them.
static hly_status bind_orders(hly_binder *b, sort_op *s, Halley__SortOrder *const *msg, uint32_t n) {
  const hly_schema *input = &s->op.inputs[0]->output;
  char text[128];
  const Halley__Expr **exprs = HLY_ARENA_NEW_N(b->arena, const Halley__Expr *, n + 1);
  const hly_type **types = HLY_ARENA_NEW_N(b->arena, const hly_type *, input->n_fields + n + 1);
  s->orders = HLY_ARENA_NEW_N(b->arena, hly_row_order, n + 1);
  s->columns = HLY_ARENA_NEW_N(b->arena, hly_vector *, input->n_fields + n + 1);
  if (!exprs || !types || !s->orders || !s->columns) return hly_ctx_nomem(b->ctx, (int64_t)n * 32);
  s->n_orders = n;
  for (uint32_t i = 0; i < input->n_fields; i++) types[i] = input->fields[i].type;
  for (uint32_t i = 0; i < n; i++) {
    if (!msg[i]->child)
      return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "a sort order has no expression");
    s->orders[i].descending = !msg[i]->ascending;
    s->orders[i].nulls_first = msg[i]->nulls_first;
    exprs[i] = msg[i]->child;
  }
  if (n == 0) return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "%s has no orders", s->op.cls->name);
  hly_exprs *all;
  HLY_TRY(hly_exprs_bind(b, s->op.plan_id, exprs, n, input, &all));
  hly_op_note(&s->op, all);
  uint32_t n_keys = 0;
  for (uint32_t i = 0; i < n; i++) {
    const hly_type *type = hly_exprs_type(all, i);
    if (!hly_row_orderable(type))
      return hly_bind_refuse(b, "sorting by %s has no native form", hly_type_print(type, text, sizeof text));
    int32_t column = hly_exprs_as_column(all, i);
    if (column >= 0) {
      s->orders[i].field = (uint32_t)column;
    } else {
      s->orders[i].field = input->n_fields + n_keys;
      types[input->n_fields + n_keys] = type;
      exprs[n_keys++] = msg[i]->child;
    }
  }
  s->n_keys = n_keys;
  if (n_keys == n)
    s->keys = all;
  else if (n_keys > 0)
    HLY_TRY(hly_exprs_bind(b, s->op.plan_id, exprs, n_keys, input, &s->keys));
  return hly_row_layout_init(b->ctx, b->arena, types, input->n_fields + n_keys, 0, &s->layout);
}

static hly_status bind(hly_binder *b, const Halley__Plan *plan, const hly_op_class *cls,
                       Halley__SortOrder *const *orders, size_t n, int64_t limit, hly_op **out) {
  hly_op *op;
  HLY_TRY(hly_op_create(b, plan, cls, sizeof(sort_op), 1, &op));
  sort_op *s = (sort_op *)op;
  s->limit = limit;
  const hly_schema *input = &op->inputs[0]->output;
  bool same = input->n_fields == op->output.n_fields;
  for (uint32_t i = 0; same && i < input->n_fields; i++)
    same = hly_type_equal(input->fields[i].type, op->output.fields[i].type);
  if (!same)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "the input of %s has other columns", cls->name);
  HLY_TRY(bind_orders(b, s, orders, (uint32_t)n));
  *out = op;
  return HLY_OK;
}

hly_status hly_sort_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  return bind(b, plan, &SORT, plan->sort->orders, plan->sort->n_orders, -1, out);
}

hly_status hly_top_k_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  if (plan->top_k->limit < 0)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "limit %lld", (long long)plan->top_k->limit);
  return bind(b, plan, &TOP_K, plan->top_k->orders, plan->top_k->n_orders, plan->top_k->limit, out);
}
