#include "operators/operator.h"

#include <string.h>

#include "base/ctx.h"

// Operators are bound and pulled recursively; a chain deeper than this would come close to the stack's end.
enum { MAX_DEPTH = 256 };

static bool depth_within(const Halley__Plan *plan, int limit) {
  if (limit == 0) return false;
  for (size_t i = 0; i < plan->n_inputs; i++)
    if (!depth_within(plan->inputs[i], limit - 1)) return false;
  return true;
}

hly_status hly_op_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  *out = NULL;
  if (!depth_within(plan, MAX_DEPTH))
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "the plan is deeper than %d operators",
                          MAX_DEPTH);
  switch (plan->op_case) {
#define X(message_case, bind)                                                                                \
  case HALLEY__PLAN__OP_##message_case:                                                                      \
    return bind(b, plan, out);
#include "operators/operators.def"
#undef X
  default: return hly_bind_refuse(b, "operator %d is not native", (int)plan->op_case);
  }
}

static bool has_unknown(const hly_type *t) {
  if (t->kind == HLY_OTHER) return true;
  for (uint32_t i = 0; i < t->n_fields; i++)
    if (has_unknown(t->fields[i].type)) return true;
  return false;
}

// Not even handed on: nobody knows what a value of such a type looks like (users' types).
static hly_status check_columns(hly_binder *b, const hly_schema *schema) {
  char text[128];
  for (uint32_t i = 0; i < schema->n_fields; i++)
    if (has_unknown(schema->fields[i].type))
      return hly_bind_refuse(b, "column %s of type %s has no native form", schema->fields[i].name,
                             hly_type_print(schema->fields[i].type, text, sizeof text));
  return HLY_OK;
}

hly_status hly_op_create(hly_binder *b, const Halley__Plan *plan, const hly_op_class *cls, size_t size,
                         uint32_t n_inputs, hly_op **out) {
  *out = NULL;
  if (n_inputs != UINT32_MAX && plan->n_inputs != n_inputs)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "%s has %zu inputs instead of %u", cls->name,
                          plan->n_inputs, n_inputs);
  hly_op *op = hly_arena_alloc(b->arena, size);
  HLY_CHECK_MEM(b->ctx, op, size);
  op->cls = cls;
  op->ctx = b->ctx;
  op->plan_id = plan->id;
  HLY_TRY(hly_bind_schema(b, plan->output, plan->n_output, &op->output));
  HLY_TRY(check_columns(b, &op->output));
  op->n_inputs = (uint32_t)plan->n_inputs;
  op->inputs = HLY_ARENA_NEW_N(b->arena, hly_op *, plan->n_inputs + 1);
  HLY_CHECK_MEM(b->ctx, op->inputs, plan->n_inputs * sizeof(hly_op *));
  // All operators of a plan form one list that begins at its root.
  hly_op *tail = op;
  for (size_t i = 0; i < plan->n_inputs; i++) {
    HLY_TRY(hly_op_bind(b, plan->inputs[i], &op->inputs[i]));
    tail->next_in_plan = op->inputs[i];
    while (tail->next_in_plan) tail = tail->next_in_plan;
  }
  *out = op;
  return HLY_OK;
}

void hly_op_note(hly_op *op, const hly_exprs *exprs) {
  if (!exprs) return;
  op->can_raise |= hly_exprs_can_raise(exprs);
  op->nondeterministic |= !hly_exprs_deterministic(exprs);
}

hly_status hly_op_open(hly_op *op, const Halley__TaskInput *task) {
  HLY_TRY(hly_ctx_check(op->ctx));
  int64_t start = hly_now_ns();
  hly_status st = op->cls->open(op, task);
  op->metrics[HALLEY__METRIC__ELAPSED_NS] += hly_now_ns() - start;
  return st;
}

hly_status hly_op_next(hly_op *op, hly_batch **out) {
  *out = NULL;
  HLY_TRY(hly_ctx_check(op->ctx));
  int64_t start = hly_now_ns();
  hly_status st = op->cls->next(op, out);
  op->metrics[HALLEY__METRIC__ELAPSED_NS] += hly_now_ns() - start;
  if (st != HLY_OK) {
    *out = NULL;
    return st;
  }
  if (*out) {
    op->metrics[HALLEY__METRIC__OUTPUT_ROWS] += (*out)->n_sel;
    op->metrics[HALLEY__METRIC__OUTPUT_BATCHES]++;
  }
  return HLY_OK;
}

void hly_op_close(hly_op *op) {
  if (!op) return;
  op->cls->close(op);
  for (uint32_t i = 0; i < op->n_inputs; i++) hly_op_close(op->inputs[i]);
}

const Halley__ScanSplits *hly_task_splits(const Halley__TaskInput *task, int32_t plan_id) {
  for (size_t i = 0; i < task->n_scans; i++)
    if (task->scans[i]->plan_id == plan_id) return task->scans[i];
  return NULL;
}

const Halley__JvmInputBinding *hly_task_jvm_input(const Halley__TaskInput *task, int32_t plan_id) {
  for (size_t i = 0; i < task->n_jvm_inputs; i++)
    if (task->jvm_inputs[i]->plan_id == plan_id) return task->jvm_inputs[i];
  return NULL;
}

const Halley__Branches *hly_task_branches(const Halley__TaskInput *task, int32_t plan_id) {
  for (size_t i = 0; i < task->n_branches; i++)
    if (task->branches[i]->plan_id == plan_id) return task->branches[i];
  return NULL;
}
