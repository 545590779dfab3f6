#include "operators/branches.h"

hly_status hly_branches_open(hly_branches *b, hly_op *op, const Halley__TaskInput *task) {
  *b = (hly_branches){.list = hly_task_branches(task, op->plan_id)};
  if (!b->list)
    return hly_error_setf(&op->ctx->error, HLY_E_PLAN_INVALID, "%s %d has no branches in this task",
                          op->cls->name, op->plan_id);
  for (size_t i = 0; i < b->list->n_branches; i++) {
    const Halley__Branch *branch = b->list->branches[i];
    if (branch->input < 0 || (uint32_t)branch->input >= op->n_inputs || !branch->task)
      return hly_error_setf(&op->ctx->error, HLY_E_PLAN_INVALID, "branch %zu of %s %d names input %d", i,
                            op->cls->name, op->plan_id, branch->input);
  }
  return HLY_OK;
}

hly_status hly_branches_next(hly_branches *b, hly_op *op, hly_batch **out) {
  while (b->running || b->next < b->list->n_branches) {
    if (!b->running) {
      const Halley__Branch *branch = b->list->branches[b->next++];
      b->running = op->inputs[branch->input];
      HLY_TRY(hly_op_open(b->running, branch->task));
    }
    HLY_TRY(hly_op_next(b->running, out));
    if (*out) return HLY_OK;
    hly_op_close(b->running);
    b->running = NULL;
  }
  return HLY_OK;
}

hly_status hly_branches_check_types(hly_op *op) {
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    const hly_schema *in = &op->inputs[i]->output;
    bool same = in->n_fields == op->output.n_fields;
    for (uint32_t j = 0; same && j < in->n_fields; j++)
      same = hly_type_equal(in->fields[j].type, op->output.fields[j].type);
    if (!same)
      return hly_error_setf(&op->ctx->error, HLY_E_PLAN_INVALID, "input %u of %s %d has other columns", i,
                            op->cls->name, op->plan_id);
  }
  return HLY_OK;
}
