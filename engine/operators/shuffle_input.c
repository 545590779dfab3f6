#include "operators/shuffle_input.h"

#include "shuffle/block.h"

// A frame of at least half a batch goes on as it is. Smaller ones, which many mappers times many partitions
// give, are collected first: the operators above work by the batch.

typedef struct shuffle_input {
  hly_op op;
  int32_t handle;
  bool open, done;
  hly_block_reader *reader;
  hly_arena *arena;
  hly_batch *collected; // NULL until a small frame comes
  uint64_t collected_bytes;
  int64_t recorded; // working bytes that the pool knows of
  hly_batch *held;  // a large frame that came after small ones
} shuffle_input;

static hly_status shuffle_input_open(hly_op *op, const Halley__TaskInput *task) {
  shuffle_input *s = (shuffle_input *)op;
  s->open = true;
  s->done = false;
  s->held = NULL;
  const Halley__JvmInputBinding *binding = hly_task_jvm_input(task, op->plan_id);
  if (!binding) {
    return hly_error_setf(&op->ctx->error, HLY_E_PLAN_INVALID, "the task has no blocks for input %d",
                          op->plan_id);
  }
  s->handle = binding->handle;
  return hly_block_reader_create(op->ctx, &op->output, &s->reader);
}

static void record(shuffle_input *s) {
  int64_t n = (s->reader ? (int64_t)hly_block_reader_bytes(s->reader) : 0) + (int64_t)s->collected_bytes;
  hly_pool_record(s->op.ctx->pool, n - s->recorded);
  s->recorded = n;
}

static hly_status next_frame(shuffle_input *s, hly_batch **out) {
  hly_ctx *ctx = s->op.ctx;
  *out = NULL;
  while (!s->done) {
    hly_input_block block = {0};
    bool more = false;
    HLY_TRY(ctx->host->input_next(ctx->host->arg, s->handle, &block, &more, &ctx->error));
    if (!more) {
      s->done = true;
      break;
    }
    int64_t start = hly_now_ns();
    HLY_TRY(hly_block_read(s->reader, (const uint8_t *)(uintptr_t)block.data, block.n_bytes, out));
    s->op.metrics[HALLEY__METRIC__DECODE_NS] += hly_now_ns() - start;
    record(s);
    if ((*out)->n_rows) return HLY_OK;
    *out = NULL;
  }
  return HLY_OK;
}

static hly_status collect(shuffle_input *s, const hly_batch *in) {
  hly_ctx *ctx = s->op.ctx;
  uint32_t n = s->collected->n_rows;
  for (uint32_t c = 0; c < in->n_columns; c++) {
    HLY_TRY(hly_vector_append(ctx, s->collected->columns[c], in->columns[c], NULL, in->n_rows));
  }
  hly_batch_set_rows(s->collected, n + in->n_rows);
  s->collected_bytes += hly_batch_bytes(in);
  return HLY_OK;
}

static hly_status shuffle_input_next(hly_op *op, hly_batch **out) {
  shuffle_input *s = (shuffle_input *)op;
  hly_ctx *ctx = op->ctx;
  uint32_t enough = ctx->batch_rows / 2;
  uint64_t enough_bytes = ctx->batch_bytes ? ctx->batch_bytes / 2 : 1 << 20;
  *out = s->held;
  s->held = NULL;
  if (*out) return HLY_OK;
  if (s->collected) {
    // A fresh arena: whoever kept a column of the last batch has its vector.
    hly_arena_reset(s->arena);
    s->collected = NULL;
    s->collected_bytes = 0;
  }
  for (;;) {
    hly_batch *in;
    HLY_TRY(next_frame(s, &in));
    if (!in) break;
    if (in->n_rows >= enough || hly_batch_bytes(in) >= enough_bytes) {
      if (!s->collected) {
        *out = in;
        return HLY_OK;
      }
      s->held = in; // valid until the next frame is read, which is after it was returned
      break;
    }
    if (!s->collected) {
      if (!s->arena && !(s->arena = hly_arena_create())) return hly_ctx_nomem(ctx, 4096);
      HLY_TRY(hly_batch_create(ctx, s->arena, &op->output, &s->collected));
      hly_batch_set_rows(s->collected, 0);
    }
    HLY_TRY(collect(s, in));
    if (s->collected->n_rows >= enough || s->collected_bytes >= enough_bytes) break;
  }
  *out = s->collected;
  return HLY_OK;
}

static void shuffle_input_close(hly_op *op) {
  shuffle_input *s = (shuffle_input *)op;
  if (!s->open) return;
  s->open = false;
  hly_block_reader_destroy(s->reader);
  s->reader = NULL;
  hly_arena_destroy(s->arena);
  s->arena = NULL;
  s->collected = s->held = NULL;
  s->collected_bytes = 0;
  record(s);
}

static const hly_op_class CLASS = {
    .name = "ShuffleInput",
    .open = shuffle_input_open,
    .next = shuffle_input_next,
    .close = shuffle_input_close,
};

hly_status hly_shuffle_input_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  HLY_TRY(hly_op_create(b, plan, &CLASS, sizeof(shuffle_input), 0, out));
  return hly_block_bind(b, &(*out)->output);
}
