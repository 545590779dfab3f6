#include "batch_source.h"

static hly_status open_source(hly_op *op, const Halley__TaskInput *task) {
  batch_source *s = (batch_source *)op;
  s->next = 0;
  s->n_opens++;
  s->partition = task->partition;
  return HLY_OK;
}

static hly_status next_batch(hly_op *op, hly_batch **out) {
  batch_source *s = (batch_source *)op;
  if (s->before) s->before(s, s->next);
  if (s->next == s->n_batches) {
    if (s->fails) return hly_error_setf(&op->ctx->error, HLY_E_INTERNAL, "the source fails");
    return HLY_OK;
  }
  *out = s->batches[s->next++];
  return HLY_OK;
}

static void close_source(hly_op *op) {}

static const hly_op_class SOURCE = {
    .name = "BatchSource", .open = open_source, .next = next_batch, .close = close_source};

void batch_source_attach(batch_source *s, hly_op *op, uint32_t i, hly_batch **batches, uint32_t n_batches) {
  *s = (batch_source){.batches = batches, .n_batches = n_batches};
  s->op.cls = &SOURCE;
  s->op.ctx = op->ctx;
  s->op.plan_id = op->inputs[i]->plan_id;
  s->op.output = op->inputs[i]->output;
  op->inputs[i] = &s->op;
}
