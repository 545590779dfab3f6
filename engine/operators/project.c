// Project: evaluates expressions over its input's batches. The selection stays, plain columns are references.
#include <string.h>

#include "expr/expr.h"
#include "operators/operator.h"
#include "operators/selection.h"

typedef struct project {
  hly_op op;
  hly_exprs *exprs;
  hly_vector **columns;
  hly_batch view;
  hly_selection identity;
  bool failed; // an expression raised after the rows already returned
} project;

static hly_status open_project(hly_op *op, const Halley__TaskInput *task) {
  project *p = (project *)op;
  p->failed = false;
  HLY_TRY(hly_op_open(op->inputs[0], task));
  return hly_exprs_open(p->exprs, op->ctx, task->partition, op->metrics);
}

static hly_status next_project(hly_op *op, hly_batch **out) {
  project *p = (project *)op;
  hly_ctx *ctx = op->ctx;
  while (!p->failed) {
    hly_batch *in;
    HLY_TRY(hly_op_next(op->inputs[0], &in));
    if (!in) return HLY_OK;
    if (in->n_sel == 0) continue;
    uint32_t n_good = 0;
    HLY_TRY(hly_exprs_eval(p->exprs, ctx, in, p->columns, &n_good));
    p->failed = n_good < in->n_sel;
    if (n_good == 0) continue;
    p->view = *in;
    p->view.columns = p->columns;
    p->view.n_columns = op->output.n_fields;
    HLY_TRY(hly_selection_cut(ctx, &p->identity, &p->view, 0, n_good));
    *out = &p->view;
    return HLY_OK;
  }
  HLY_TRY(hly_exprs_raise(p->exprs, ctx));
  return HLY_ERR; // raised before: the context still has it
}

static void close_project(hly_op *op) {
  project *p = (project *)op;
  hly_exprs_close(p->exprs);
  hly_selection_deinit(&p->identity);
}

static const hly_op_class PROJECT = {
    .name = "Project", .open = open_project, .next = next_project, .close = close_project};

hly_status hly_project_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  hly_op *op;
  HLY_TRY(hly_op_create(b, plan, &PROJECT, sizeof(project), 1, &op));
  project *p = (project *)op;
  const Halley__Project *msg = plan->project;
  if (msg->n_exprs != op->output.n_fields)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "Project has %zu expressions for %u columns",
                          msg->n_exprs, op->output.n_fields);
  HLY_TRY(hly_exprs_bind(b, op->plan_id, (const Halley__Expr *const *)msg->exprs, (uint32_t)msg->n_exprs,
                         &op->inputs[0]->output, &p->exprs));
  hly_op_note(op, p->exprs);
  p->columns = HLY_ARENA_NEW_N(b->arena, hly_vector *, msg->n_exprs + 1);
  HLY_CHECK_MEM(b->ctx, p->columns, msg->n_exprs * sizeof(hly_vector *));
  *out = op;
  return HLY_OK;
}
