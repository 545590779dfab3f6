#include "operators/shuffle_write.h"

#include <string.h>

#include "base/mem.h"
#include "shuffle/block.h"
#include "shuffle/data_size.h"
#include "shuffle/map_output.h"
#include "shuffle/partitioner.h"

// Rows are buffered as *chunks*: tight copies of input batches with their rows sorted by partition (a
// counting sort of row numbers, then one gather a column, all within the cache), so that a partition's rows
// lie in one contiguous range of each chunk. When the chunks have grown to a round they are written out
// partition by partition: a frame's columns are plain copies out of those ranges. This was chosen over
// buffers per partition and column because their number, and the memory that half-filled ones hold, grows
// with partitions times columns, while chunks cost one array of offsets each; with few partitions the two do
// the same work.

enum {
  FRAME_BYTES = 1 << 20,  // a frame aims at so many bytes uncompressed,
  FRAME_MOST = 8 << 20,   // and is split when it passes these
  ROUND_LEAST = 16 << 20, // bytes of chunks that make a round: with many partitions more,
  ROUND_MOST = 128 << 20, // so that frames do not get small
  ROUND_PER_PARTITION = 128 << 10,
  FORCED_LEAST = 1 << 20, // below this a denied reservation is taken all the same: runs should not get tiny
};

typedef struct chunk {
  hly_arena *arena;
  hly_batch *batch;  // no selection
  uint32_t *offsets; // n_partitions + 1: rows of partition p are [offsets[p], offsets[p + 1])
  int64_t n_bytes;   // reserved
} chunk;

typedef struct shuffle_write {
  hly_op op;
  hly_partitioner *partitioner;
  uint32_t n_partitions;
  Halley__Codec codec;
  int level;
  Halley__Checksum checksum;
  int64_t max_buffer_bytes, write_buffer_bytes;
  // while open
  bool open, busy;
  hly_status failed; // of a spill callback
  hly_reservation *reservation;
  hly_block_writer *writer;
  int64_t writer_bytes; // recorded with the pool
  hly_map_output *output;
  chunk *chunks;
  uint32_t n_chunks, cap_chunks;
  uint64_t round_bytes, round_rows, round_limit;
  hly_segment *segments, *part; // n_chunks each
  uint32_t cap_segments;
  // small batches are collected here until they make a chunk
  hly_arena *pending_arena;
  hly_batch *pending;
  uint32_t *pending_ids;
  uint32_t n_pending, pending_target;
  int64_t pending_bytes;
  uint32_t *ids, *order, *counts;
  uint32_t cap_rows;
} shuffle_write;

// ---- buffers of row numbers

static hly_status need_rows(shuffle_write *w, uint32_t n) {
  if (n <= w->cap_rows) return HLY_OK;
  hly_ctx *ctx = w->op.ctx;
  uint32_t *ids = hly_realloc(w->ids, n * sizeof *ids);
  HLY_CHECK_MEM(ctx, ids, n * sizeof *ids);
  w->ids = ids;
  uint32_t *order = hly_realloc(w->order, n * sizeof *order);
  HLY_CHECK_MEM(ctx, order, n * sizeof *order);
  w->order = order;
  w->cap_rows = n;
  return HLY_OK;
}

// ---- writing a round

// Writes the frames of `n` rows of one partition, in halves where a frame would get too large.
static hly_status write_frames(shuffle_write *w, uint32_t partition, const hly_segment *segments,
                               uint32_t n_segments, uint32_t from, uint32_t n) {
  hly_segment *part = w->part;
  uint32_t n_part = 0, skip = from, left = n;
  for (uint32_t k = 0; k < n_segments && left; k++) {
    if (skip >= segments[k].count) {
      skip -= segments[k].count;
      continue;
    }
    uint32_t m = segments[k].count - skip;
    if (m > left) m = left;
    part[n_part++] = (hly_segment){segments[k].batch, segments[k].start + skip, m};
    skip = 0;
    left -= m;
  }
  const uint8_t *frame;
  size_t n_bytes, n_raw;
  HLY_TRY(hly_block_write(w->writer, part, n_part, FRAME_MOST, &frame, &n_bytes, &n_raw));
  if (frame) return hly_map_output_append(w->output, partition, frame, n_bytes);
  HLY_TRY(write_frames(w, partition, segments, n_segments, from, n / 2));
  return write_frames(w, partition, segments, n_segments, from + n / 2, n - n / 2);
}

// Writes what the chunks have of a partition.
static hly_status write_partition(shuffle_write *w, uint32_t partition, uint32_t rows_per_frame) {
  uint32_t n_segments = 0;
  uint64_t n_rows = 0;
  for (uint32_t k = 0; k < w->n_chunks; k++) {
    const uint32_t *offsets = w->chunks[k].offsets + partition;
    if (offsets[0] == offsets[1]) continue;
    w->segments[n_segments++] = (hly_segment){w->chunks[k].batch, offsets[0], offsets[1] - offsets[0]};
    n_rows += offsets[1] - offsets[0];
  }
  const hly_segment *segments = w->segments;
  uint32_t from = 0;
  while (n_rows) {
    // Two even halves rather than a full frame and a crumb.
    uint32_t n = n_rows <= rows_per_frame         ? (uint32_t)n_rows
                 : n_rows < 2ull * rows_per_frame ? (uint32_t)((n_rows + 1) / 2)
                                                  : rows_per_frame;
    HLY_TRY(write_frames(w, partition, segments, n_segments, from, n));
    from += n;
    n_rows -= n;
    while (n_segments && from >= segments[0].count) { // what is written is not walked again
      from -= segments[0].count;
      segments++;
      n_segments--;
    }
  }
  return HLY_OK;
}

static uint32_t rows_per_frame(const shuffle_write *w) {
  uint64_t per_row = w->round_rows ? w->round_bytes / w->round_rows + 1 : 1;
  uint64_t n = FRAME_BYTES / per_row;
  return n < 1 ? 1 : n > w->op.ctx->batch_rows ? w->op.ctx->batch_rows : (uint32_t)n;
}

static void drop_chunks(shuffle_write *w) {
  for (uint32_t k = 0; k < w->n_chunks; k++) {
    hly_arena_destroy(w->chunks[k].arena);
    hly_reservation_shrink(w->reservation, w->chunks[k].n_bytes);
  }
  w->n_chunks = 0;
  w->round_bytes = w->round_rows = 0;
}

static hly_status write_round(shuffle_write *w, bool to_disk) {
  if (w->n_chunks == 0) return HLY_OK;
  HLY_TRY(hly_map_output_begin_run(w->output, to_disk));
  uint32_t n = rows_per_frame(w);
  for (uint32_t p = 0; p < w->n_partitions; p++) HLY_TRY(write_partition(w, p, n));
  HLY_TRY(hly_map_output_end_run(w->output));
  drop_chunks(w);
  return HLY_OK;
}

static hly_status flush_round(shuffle_write *w, bool to_disk) {
  w->busy = true;
  int64_t before = hly_reservation_bytes(w->reservation);
  hly_status st = write_round(w, to_disk);
  if (st == HLY_OK && to_disk) {
    st = hly_map_output_spill(w->output);
    w->op.metrics[HALLEY__METRIC__SPILL_MEMORY_BYTES] += before - hly_reservation_bytes(w->reservation);
  }
  w->busy = false;
  return st;
}

// The writer's own buffers are working memory. Not within a spill callback, which may not ask for any.
static void record_writer(shuffle_write *w) {
  int64_t n = w->writer ? (int64_t)hly_block_writer_bytes(w->writer) : 0;
  hly_pool_record(w->op.ctx->pool, n - w->writer_bytes);
  w->writer_bytes = n;
}

static int64_t spill(void *arg, int64_t want) {
  shuffle_write *w = arg;
  if (w->busy || !w->output || w->failed != HLY_OK) return 0;
  int64_t before = hly_reservation_bytes(w->reservation);
  w->failed = flush_round(w, true);
  return before - hly_reservation_bytes(w->reservation);
}

// ---- chunks

static hly_status reserve(shuffle_write *w, int64_t n) {
  hly_status st = hly_reservation_grow(w->reservation, n);
  if (st == HLY_DENIED && w->round_bytes >= FORCED_LEAST) {
    HLY_TRY(flush_round(w, true));
    st = hly_reservation_grow(w->reservation, n);
  }
  if (st == HLY_DENIED) {
    hly_reservation_force(w->reservation, n);
    st = HLY_OK;
  }
  return st;
}

// Counting sort: `order` becomes the row numbers by partition, *offsets where each partition starts.
static void sort_rows(shuffle_write *w, const uint32_t *sel, const uint32_t *ids, uint32_t n,
                      uint32_t *offsets) {
  uint32_t *at = w->counts;
  memset(offsets, 0, (w->n_partitions + 1) * sizeof *offsets);
  for (uint32_t k = 0; k < n; k++) offsets[ids[k] + 1]++;
  for (uint32_t p = 0; p < w->n_partitions; p++) {
    at[p] = offsets[p];
    offsets[p + 1] += offsets[p];
  }
  if (sel) {
    for (uint32_t k = 0; k < n; k++) w->order[at[ids[k]]++] = sel[k];
  } else {
    for (uint32_t k = 0; k < n; k++) w->order[at[ids[k]]++] = k;
  }
}

// Copies a column's rows tightly. Constants and dictionaries of strings stay encoded; the rest becomes flat
// and shares nothing with the input, so that no batch of the producer is held.
static hly_status copy_column(hly_ctx *ctx, hly_vector *out, const hly_vector *in, const uint32_t *rows,
                              uint32_t n) {
  if (!hly_type_is_nested(in->type) &&
      (in->encoding == HLY_CONST || (in->encoding == HLY_DICT && hly_type_is_string(in->type)))) {
    return hly_vector_slice(ctx, out, in, rows, n);
  }
  return hly_vector_append(ctx, out, in, rows, n);
}

static int64_t column_bytes(const shuffle_write *w, const chunk *c, uint32_t column) {
  const hly_vector *v = c->batch->columns[column];
  if (v->encoding == HLY_DICT && w->n_chunks) { // a dictionary is held once by chunks that follow each other
    const hly_vector *before = w->chunks[w->n_chunks - 1].batch->columns[column];
    if (before->encoding == HLY_DICT && before->dict == v->dict) {
      return (int64_t)(hly_vector_pinned_bytes(v) - hly_vector_pinned_bytes(v->dict));
    }
  }
  return (int64_t)hly_vector_pinned_bytes(v);
}

static hly_status need_segments(shuffle_write *w) {
  uint32_t n = w->n_chunks + 1;
  if (n <= w->cap_segments) return HLY_OK;
  uint32_t cap = n * 2;
  hly_segment *a = hly_realloc(w->segments, cap * sizeof *a);
  HLY_CHECK_MEM(w->op.ctx, a, cap * sizeof *a);
  w->segments = a;
  hly_segment *b = hly_realloc(w->part, cap * sizeof *b);
  HLY_CHECK_MEM(w->op.ctx, b, cap * sizeof *b);
  w->part = b;
  chunk *c = hly_realloc(w->chunks, cap * sizeof *c);
  HLY_CHECK_MEM(w->op.ctx, c, cap * sizeof *c);
  w->chunks = c;
  w->cap_segments = w->cap_chunks = cap;
  return HLY_OK;
}

// Makes a chunk of a batch's selected rows, whose partitions are `ids`.
static hly_status add_chunk(shuffle_write *w, const hly_batch *in, const uint32_t *ids) {
  hly_ctx *ctx = w->op.ctx;
  int64_t estimate = (int64_t)hly_batch_bytes(in) + (int64_t)(w->n_partitions + 1) * 4;
  HLY_TRY(reserve(w, estimate));
  chunk c = {.n_bytes = estimate};
  hly_status st = need_segments(w);
  if (st != HLY_OK) goto fail;
  c.arena = hly_arena_create();
  if (c.arena) c.offsets = HLY_ARENA_NEW_N(c.arena, uint32_t, w->n_partitions + 1);
  if (!c.offsets) {
    st = hly_ctx_nomem(ctx, w->n_partitions * 4);
    goto fail;
  }
  HLY_TRY_GOTO(st, hly_batch_create(ctx, c.arena, &w->op.inputs[0]->output, &c.batch), fail);
  sort_rows(w, in->sel, ids, in->n_sel, c.offsets);
  for (uint32_t i = 0; i < in->n_columns; i++) {
    HLY_TRY_GOTO(st, copy_column(ctx, c.batch->columns[i], in->columns[i], w->order, in->n_sel), fail);
  }
  hly_batch_set_rows(c.batch, in->n_sel);
  int64_t actual = (int64_t)hly_arena_bytes(c.arena);
  for (uint32_t i = 0; i < in->n_columns; i++) actual += column_bytes(w, &c, i);
  if (actual > estimate) {
    hly_reservation_force(w->reservation, actual - estimate);
  } else {
    hly_reservation_shrink(w->reservation, estimate - actual);
  }
  c.n_bytes = actual;
  w->chunks[w->n_chunks++] = c;
  w->round_bytes += (uint64_t)actual;
  w->round_rows += in->n_sel;
  return HLY_OK;
fail:
  hly_arena_destroy(c.arena);
  hly_reservation_shrink(w->reservation, c.n_bytes);
  return st;
}

static void drop_pending(shuffle_write *w) {
  hly_arena_destroy(w->pending_arena);
  w->pending_arena = NULL;
  w->pending = NULL;
  w->pending_ids = NULL;
  w->n_pending = 0;
  if (w->reservation) hly_reservation_shrink(w->reservation, w->pending_bytes);
  w->pending_bytes = 0;
}

static hly_status end_round_if_full(shuffle_write *w) {
  int64_t held = hly_reservation_bytes(w->reservation);
  if (w->max_buffer_bytes > 0 && held > w->max_buffer_bytes && w->round_bytes >= FORCED_LEAST) {
    return flush_round(w, true);
  }
  return w->round_bytes >= w->round_limit ? flush_round(w, false) : HLY_OK;
}

static hly_status flush_pending(shuffle_write *w) {
  if (!w->n_pending) return HLY_OK;
  hly_batch_set_rows(w->pending, w->n_pending);
  HLY_TRY(need_rows(w, w->n_pending));
  HLY_TRY(add_chunk(w, w->pending, w->pending_ids));
  drop_pending(w);
  return end_round_if_full(w);
}

static hly_status add_pending(shuffle_write *w, const hly_batch *in) {
  hly_ctx *ctx = w->op.ctx;
  if (!w->pending_arena) {
    w->pending_arena = hly_arena_create();
    HLY_CHECK_MEM(ctx, w->pending_arena, 4096);
    HLY_TRY(hly_batch_create(ctx, w->pending_arena, &w->op.inputs[0]->output, &w->pending));
    w->pending_ids = HLY_ARENA_NEW_N(w->pending_arena, uint32_t, w->pending_target * 2);
    HLY_CHECK_MEM(ctx, w->pending_ids, w->pending_target * 8);
  }
  int64_t n_bytes = (int64_t)hly_batch_bytes(in);
  HLY_TRY(reserve(w, n_bytes));
  w->pending_bytes += n_bytes;
  for (uint32_t i = 0; i < in->n_columns; i++) {
    HLY_TRY(hly_vector_append(ctx, w->pending->columns[i], in->columns[i], in->sel, in->n_sel));
  }
  memcpy(w->pending_ids + w->n_pending, w->ids, in->n_sel * sizeof *w->ids);
  w->n_pending += in->n_sel;
  if (w->n_pending >= w->pending_target || w->pending_bytes >= FRAME_BYTES) return flush_pending(w);
  return HLY_OK;
}

static hly_status add_batch(shuffle_write *w, const hly_batch *in) {
  if (in->n_sel == 0) return HLY_OK;
  HLY_TRY(need_rows(w, in->n_sel));
  HLY_TRY(hly_partitioner_ids(w->partitioner, w->op.ctx, in, w->ids));
  w->op.metrics[HALLEY__METRIC__DATA_SIZE] += (int64_t)hly_unsafe_rows_size(in);
  w->op.metrics[HALLEY__METRIC__SHUFFLE_RECORDS] += in->n_sel;
  if (in->n_sel < w->pending_target) return add_pending(w, in);
  HLY_TRY(add_chunk(w, in, w->ids));
  return end_round_if_full(w);
}

// ---- the operator

static hly_status finish(shuffle_write *w, const char *data_file, const int64_t **results, uint32_t *n) {
  HLY_TRY(flush_pending(w));
  w->busy = true; // from here on memory only shrinks
  HLY_TRY(hly_map_output_begin_file(w->output, data_file, w->write_buffer_bytes, w->checksum));
  uint32_t rows = rows_per_frame(w);
  for (uint32_t p = 0; p < w->n_partitions; p++) {
    HLY_TRY(hly_ctx_poll(w->op.ctx));
    HLY_TRY(hly_map_output_copy_runs(w->output, p));
    HLY_TRY(write_partition(w, p, rows));
  }
  return hly_map_output_end_file(w->output, results, n);
}

static hly_status run(shuffle_write *w, const char *data_file, const int64_t **results, uint32_t *n) {
  int64_t input_ns = 0, start = hly_now_ns();
  for (;;) {
    hly_batch *in;
    int64_t before = hly_now_ns();
    HLY_TRY(hly_op_next(w->op.inputs[0], &in));
    input_ns += hly_now_ns() - before;
    HLY_TRY(w->failed);
    if (!in) break;
    HLY_TRY(add_batch(w, in));
    HLY_TRY(w->failed);
    record_writer(w);
  }
  HLY_TRY(finish(w, data_file, results, n));
  w->op.metrics[HALLEY__METRIC__SHUFFLE_WRITE_NS] += hly_now_ns() - start - input_ns;
  w->op.metrics[HALLEY__METRIC__ELAPSED_NS] += hly_now_ns() - start;
  w->op.metrics[HALLEY__METRIC__SHUFFLE_BYTES] += hly_map_output_file_bytes(w->output);
  return HLY_OK;
}

static hly_status shuffle_write_write(hly_op *op, const char *data_file, const int64_t **results,
                                      uint32_t *n) {
  shuffle_write *w = (shuffle_write *)op;
  hly_status st = run(w, data_file, results, n);
  op->metrics[HALLEY__METRIC__SPILL_BYTES] = hly_map_output_spilled_bytes(w->output);
  op->metrics[HALLEY__METRIC__SPILL_COUNT] = hly_map_output_spills(w->output);
  return st;
}

static hly_status shuffle_write_open(hly_op *op, const Halley__TaskInput *task) {
  shuffle_write *w = (shuffle_write *)op;
  hly_ctx *ctx = op->ctx;
  w->open = true;
  w->failed = HLY_OK;
  w->busy = false;
  w->reservation = hly_reservation_create(ctx->pool, "ShuffleWrite", spill, w);
  HLY_CHECK_MEM(ctx, w->reservation, 256);
  hly_reservation_show_peak(w->reservation, &op->metrics[HALLEY__METRIC__PEAK_MEMORY]);
  HLY_TRY(hly_op_open(op->inputs[0], task));
  HLY_TRY(hly_partitioner_open(w->partitioner, ctx, task->partition, op->metrics));
  HLY_TRY(hly_block_writer_create(ctx, &op->inputs[0]->output, w->codec, w->level, &w->writer));
  HLY_TRY(hly_map_output_create(ctx, w->n_partitions, w->reservation, &w->output));
  w->counts = hly_malloc(w->n_partitions * sizeof *w->counts);
  HLY_CHECK_MEM(ctx, w->counts, w->n_partitions * sizeof *w->counts);
  uint64_t limit = (uint64_t)w->n_partitions * ROUND_PER_PARTITION;
  w->round_limit = limit < ROUND_LEAST ? ROUND_LEAST : limit > ROUND_MOST ? ROUND_MOST : limit;
  // A chunk of fewer rows than partitions would be mostly offsets.
  uint32_t target = ctx->batch_rows / 2;
  if (target < w->n_partitions) target = w->n_partitions;
  if (target > 65536) target = 65536;
  w->pending_target = target ? target : 1;
  return HLY_OK;
}

static hly_status shuffle_write_next(hly_op *op, hly_batch **out) {
  *out = NULL;
  return hly_error_setf(&op->ctx->error, HLY_E_PLAN_INVALID, "ShuffleWrite is run, not pulled");
}

static void shuffle_write_close(hly_op *op) {
  shuffle_write *w = (shuffle_write *)op;
  if (!w->open) return;
  w->open = false;
  w->busy = true;
  if (w->reservation) drop_chunks(w);
  drop_pending(w);
  hly_map_output_destroy(w->output);
  w->output = NULL;
  hly_block_writer_destroy(w->writer);
  w->writer = NULL;
  record_writer(w);
  hly_partitioner_close(w->partitioner);
  hly_free(w->chunks);
  hly_free(w->segments);
  hly_free(w->part);
  hly_free(w->ids);
  hly_free(w->order);
  hly_free(w->counts);
  w->chunks = NULL;
  w->segments = w->part = NULL;
  w->ids = w->order = w->counts = NULL;
  w->cap_chunks = w->cap_segments = w->cap_rows = 0;
  hly_reservation_destroy(w->reservation);
  w->reservation = NULL;
}

static const hly_op_class CLASS = {
    .name = "ShuffleWrite",
    .open = shuffle_write_open,
    .next = shuffle_write_next,
    .close = shuffle_write_close,
    .write = shuffle_write_write,
};

hly_status hly_shuffle_write_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  const Halley__ShuffleWrite *m = plan->shuffle_write;
  if (m->row_checksum) return hly_bind_refuse(b, "row-based checksums of a shuffle");
  if (m->codec < HALLEY__CODEC__NONE || m->codec > HALLEY__CODEC__SNAPPY ||
      m->checksum < HALLEY__CHECKSUM__NO_CHECKSUM || m->checksum > HALLEY__CHECKSUM__CRC32C) {
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "a shuffle's codec or checksum");
  }
  HLY_TRY(hly_op_create(b, plan, &CLASS, sizeof(shuffle_write), 1, out));
  shuffle_write *w = (shuffle_write *)*out;
  HLY_TRY(hly_block_bind(b, &w->op.inputs[0]->output));
  HLY_TRY(hly_partitioner_bind(b, plan->id, m, &w->op.inputs[0]->output, &w->partitioner));
  w->n_partitions = hly_partitioner_count(w->partitioner);
  w->codec = m->codec;
  w->level = m->level;
  w->checksum = m->checksum;
  w->max_buffer_bytes = m->max_buffer_bytes;
  w->write_buffer_bytes = m->write_buffer_bytes;
  return HLY_OK;
}
