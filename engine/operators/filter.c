// Filter: narrows the selection of its input's batches; columns are passed on as they are. Above a Parquet
// scan that takes it, the condition is evaluated there.
#include "operators/filter.h"

#include "expr/expr.h"
#include "operators/parquet_scan.h"
#include "operators/selection.h"

typedef struct filter {
  hly_op op;
  hly_exprs *condition;
  hly_selection sel;
  hly_batch view; // the input's columns under our selection
  hly_arena *arena;
  hly_batch *dense;
  bool failed;      // the condition raised after the rows already returned
  bool handed_down; // the scan below evaluates the condition
} filter;

static hly_status open_filter(hly_op *op, const Halley__TaskInput *task) {
  filter *f = (filter *)op;
  f->failed = false;
  HLY_TRY(hly_op_open(op->inputs[0], task));
  if (f->handed_down) return HLY_OK;
  f->arena = hly_arena_create();
  HLY_CHECK_MEM(op->ctx, f->arena, 0);
  HLY_TRY(hly_batch_create(op->ctx, f->arena, &op->inputs[0]->output, &f->dense));
  return hly_exprs_open(f->condition, op->ctx, task->partition, op->metrics);
}

static hly_status raise(filter *f) {
  HLY_TRY(hly_exprs_raise(f->condition, f->op.ctx));
  return HLY_ERR; // raised before: the context still has it
}

static hly_status next_filter(hly_op *op, hly_batch **out) {
  filter *f = (filter *)op;
  hly_ctx *ctx = op->ctx;
  if (f->handed_down) return hly_op_next(op->inputs[0], out);
  while (!f->failed) {
    hly_batch *in;
    HLY_TRY(hly_op_next(op->inputs[0], &in));
    if (!in) return HLY_OK;
    if (in->n_sel == 0) continue;
    HLY_TRY(hly_selection_need(ctx, &f->sel, in->n_sel));
    uint32_t n = 0;
    HLY_TRY(hly_exprs_filter(f->condition, ctx, in, f->sel.rows, &n, &f->failed));
    if (n == 0) continue;
    return hly_selection_narrow(ctx, in, f->sel.rows, n, &f->view, f->dense, out);
  }
  return raise(f);
}

static void close_filter(hly_op *op) {
  filter *f = (filter *)op;
  if (!f->handed_down) hly_exprs_close(f->condition);
  hly_selection_deinit(&f->sel);
  hly_arena_destroy(f->arena);
  f->arena = NULL;
  f->dense = NULL;
}

static const hly_op_class FILTER = {
    .name = "Filter", .open = open_filter, .next = next_filter, .close = close_filter};

hly_status hly_filter_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  hly_op *op;
  HLY_TRY(hly_op_create(b, plan, &FILTER, sizeof(filter), 1, &op));
  filter *f = (filter *)op;
  const Halley__Expr *condition = plan->filter->condition;
  if (!condition) return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "Filter has no condition");
  HLY_TRY(hly_exprs_bind(b, op->plan_id, &condition, 1, &op->inputs[0]->output, &f->condition));
  if (hly_exprs_type(f->condition, 0)->kind != HLY_BOOLEAN)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "the condition of Filter is not boolean");
  hly_op_note(op, f->condition);
  if (hly_parquet_scan_takes_filter(op->inputs[0])) {
    hly_parquet_scan_set_filter(op->inputs[0], f->condition);
    f->handed_down = true;
  }
  *out = op;
  return HLY_OK;
}

bool hly_filter_is_handed_down(const hly_op *op) {
  return ((const filter *)op)->handed_down;
}
