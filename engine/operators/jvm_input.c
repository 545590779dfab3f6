// JvmInput: UnsafeRows that the JVM pushes block by block, decoded into flat batches.
#include "operators/operator.h"

#include "rows/unsafe_row.h"

typedef struct jvm_input {
  hly_op op;
  int32_t handle;
  bool done;
  hly_arena *arena; // of the batch's vectors
  hly_batch *batch;
  hly_input_block block;
  uint64_t row; // next row of the block
} jvm_input;

static hly_status open_input(hly_op *op, const Halley__TaskInput *task) {
  jvm_input *in = (jvm_input *)op;
  const Halley__JvmInputBinding *binding = hly_task_jvm_input(task, op->plan_id);
  if (!binding)
    return hly_error_setf(&op->ctx->error, HLY_E_PLAN_INVALID, "input %d has no iterator in this task",
                          op->plan_id);
  in->handle = binding->handle;
  in->done = false;
  in->row = 0;
  in->block = (hly_input_block){0};
  in->arena = hly_arena_create();
  HLY_CHECK_MEM(op->ctx, in->arena, 0);
  return hly_batch_create(op->ctx, in->arena, &op->output, &in->batch);
}

// Rows of the block, from in->row, that make up one batch: bounded in rows and bytes, at least one.
static uint32_t batch_rows(const jvm_input *in, const uint64_t *offsets) {
  uint64_t left = in->block.n_rows - in->row;
  uint64_t n = left < in->op.ctx->batch_rows ? left : in->op.ctx->batch_rows;
  uint64_t limit = offsets[in->row] + in->op.ctx->batch_bytes;
  if (in->op.ctx->batch_bytes == 0 || offsets[in->row + n] <= limit) return (uint32_t)n;
  uint64_t low = 1, high = n; // the most rows that end before the limit
  while (low < high) {
    uint64_t middle = low + (high - low + 1) / 2;
    if (offsets[in->row + middle] <= limit)
      low = middle;
    else
      high = middle - 1;
  }
  return (uint32_t)low;
}

static hly_status next_rows(hly_op *op, hly_batch **out) {
  jvm_input *in = (jvm_input *)op;
  hly_ctx *ctx = op->ctx;
  while (!in->done && in->row == in->block.n_rows) {
    bool more = false;
    in->block = (hly_input_block){0};
    in->row = 0;
    HLY_TRY(ctx->host->input_next(ctx->host->arg, in->handle, &in->block, &more, &ctx->error));
    if (!more) {
      in->done = true;
      in->block = (hly_input_block){0};
    }
  }
  if (in->done) return HLY_OK;
  const uint64_t *offsets = (const uint64_t *)(uintptr_t)in->block.offsets;
  uint32_t n = batch_rows(in, offsets);
  for (uint32_t i = 0; i < in->batch->n_columns; i++) HLY_TRY(hly_batch_writable(ctx, in->batch, i));
  HLY_TRY(hly_unsafe_row_decode(ctx, (const uint8_t *)(uintptr_t)in->block.data, offsets + in->row, n,
                                &op->output, in->batch));
  hly_batch_set_rows(in->batch, n);
  in->row += n;
  *out = in->batch;
  return HLY_OK;
}

static void close_input(hly_op *op) {
  jvm_input *in = (jvm_input *)op;
  hly_arena_destroy(in->arena);
  in->arena = NULL;
  in->batch = NULL;
}

static const hly_op_class JVM_INPUT = {
    .name = "JvmInput", .open = open_input, .next = next_rows, .close = close_input};

hly_status hly_jvm_input_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  return hly_op_create(b, plan, &JVM_INPUT, sizeof(jvm_input), 0, out);
}
