// ShuffleWrite and ShuffleInput: rows a second and bytes for numbers of partitions, codecs and shapes of
// rows.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "memory/pool.h"
#include "operators/operator.h"
#include "shuffle/block.h"

enum { N_ROWS = 8192, N_BATCHES = 256, MAX_COLUMNS = 16 };

typedef struct feed {
  hly_host host;
  const uint8_t **frames;
  size_t *sizes;
  uint32_t n, at, left;
} feed;

static bool cancelled(void *arg) {
  return false;
}
static int64_t acquire(void *arg, int64_t n) {
  return n;
}
static void release(void *arg, int64_t n) {}

static hly_status input_next(void *arg, int32_t handle, hly_input_block *block, bool *more,
                             hly_error *error) {
  feed *f = arg;
  *more = f->left > 0;
  if (!*more) return HLY_OK;
  f->left--;
  *block = (hly_input_block){.data = (uintptr_t)f->frames[f->at], .n_bytes = f->sizes[f->at]};
  f->at = (f->at + 1) % f->n;
  return HLY_OK;
}

static void fail(hly_ctx *ctx, const char *what) {
  char text[512];
  hly_error_print(&ctx->error, text, sizeof text);
  fprintf(stderr, "%s: %s\n", what, text);
  exit(1);
}

static uint64_t state = 1;
static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

typedef struct shape {
  const char *name;
  uint32_t n_columns;
  hly_kind kinds[MAX_COLUMNS];
} shape;

static const shape SHAPES[] = {
    {"4 longs", 4, {HLY_LONG, HLY_LONG, HLY_LONG, HLY_LONG}},
    {"lineitem-like",
     10,
     {HLY_LONG, HLY_LONG, HLY_INT, HLY_DECIMAL, HLY_DECIMAL, HLY_DECIMAL, HLY_STRING, HLY_DATE, HLY_DATE,
      HLY_STRING}},
    {"2 longs, 2 strings", 4, {HLY_LONG, HLY_LONG, HLY_STRING, HLY_STRING}},
};

static void fill(hly_ctx *ctx, hly_vector *v, uint32_t column) {
  if (hly_vector_reset(ctx, v, N_ROWS) != HLY_OK) fail(ctx, "fill");
  for (uint32_t i = 0; i < N_ROWS; i++) {
    uint64_t x = next_random();
    switch (v->type->kind) {
    case HLY_LONG: ((int64_t *)v->values)[i] = (int64_t)(x % 6000000); break;
    case HLY_DECIMAL: ((int64_t *)v->values)[i] = (int64_t)(x % 10000000); break;
    case HLY_INT:
    case HLY_DATE: ((int32_t *)v->values)[i] = (int32_t)(x % 2500); break;
    default: {
      static const char WORDS[] =
          "carefully final deposits detect slyly ironic packages among the quickly express";
      uint32_t n = column == 6 ? 1 : 10 + (uint32_t)(x % 34);
      ((hly_str *)v->values)[i] = hly_str_make(WORDS + x % (sizeof WORDS - 45), n);
    }
    }
  }
}

// Of this thread, so that a busy machine does not count.
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void) {
  feed f = {0};
  f.host = (hly_host){.arg = &f,
                      .cancelled = cancelled,
                      .mem_acquire = acquire,
                      .mem_release = release,
                      .input_next = input_next};
  hly_ctx ctx = {
      .host = &f.host, .pool = hly_pool_create(&f.host), .batch_rows = N_ROWS, .max_temp_bytes = 1ll << 40};
  char path[64];
  snprintf(path, sizeof path, "/tmp/bench-shuffle-%d", (int)getpid());
  printf("%-20s %-6s %6s %10s %12s %12s %10s\n", "rows", "codec", "parts", "write", "read back",
         "bytes a row", "frames");
  for (size_t s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++) {
    hly_arena *arena = hly_arena_create();
    const shape *rows_of = &SHAPES[s];
    hly_field fields[MAX_COLUMNS] = {0};
    Halley__Field messages[MAX_COLUMNS], *output[MAX_COLUMNS];
    Halley__DataType types[MAX_COLUMNS];
    for (uint32_t c = 0; c < rows_of->n_columns; c++) {
      hly_kind k = rows_of->kinds[c];
      fields[c] = (hly_field){.name = "c", .nullable = true};
      fields[c].type = k == HLY_DECIMAL ? hly_type_decimal(12, 2) : hly_type_of(k);
      halley__data_type__init(&types[c]);
      types[c].kind = (Halley__Kind)k;
      types[c].precision = k == HLY_DECIMAL ? 12 : 0;
      types[c].scale = k == HLY_DECIMAL ? 2 : 0;
      halley__field__init(&messages[c]);
      messages[c].name = "c";
      messages[c].type = &types[c];
      messages[c].nullable = true;
      output[c] = &messages[c];
    }
    hly_schema schema = {rows_of->n_columns, fields};
    // Sixteen different batches, as frames that are not compressed, over and over.
    enum { DIFFERENT = 16 };
    const uint8_t *frames[DIFFERENT];
    size_t sizes[DIFFERENT];
    hly_block_writer *w;
    if (hly_block_writer_create(&ctx, &schema, HALLEY__CODEC__NONE, 0, &w) != HLY_OK) fail(&ctx, "writer");
    for (int b = 0; b < DIFFERENT; b++) {
      hly_batch *batch;
      if (hly_batch_create(&ctx, arena, &schema, &batch) != HLY_OK) fail(&ctx, "batch");
      for (uint32_t c = 0; c < rows_of->n_columns; c++) fill(&ctx, batch->columns[c], c);
      hly_batch_set_rows(batch, N_ROWS);
      hly_segment segment = {batch, 0, N_ROWS};
      const uint8_t *frame;
      size_t n_raw;
      if (hly_block_write(w, &segment, 1, SIZE_MAX, &frame, &sizes[b], &n_raw) != HLY_OK) fail(&ctx, "frame");
      frames[b] = (const uint8_t *)hly_arena_copy(arena, frame, sizes[b]);
    }
    hly_block_writer_destroy(w);

    static const struct {
      Halley__Codec codec;
      const char *name;
    } CODECS[] = {{HALLEY__CODEC__NONE, "none"},
                  {HALLEY__CODEC__LZ4, "lz4"},
                  {HALLEY__CODEC__ZSTD, "zstd"},
                  {HALLEY__CODEC__SNAPPY, "snappy"}};
    static const int32_t PARTITIONS[] = {1, 16, 200, 5000};
    for (size_t codec = 0; codec < 4; codec++) {
      for (size_t p = 0; p < 4; p++) {
        if (codec != 1 && PARTITIONS[p] != 200) continue;
        Halley__Plan input = HALLEY__PLAN__INIT, plan = HALLEY__PLAN__INIT, *inputs[] = {&input};
        Halley__ShuffleInput shuffle_input = HALLEY__SHUFFLE_INPUT__INIT;
        Halley__ShuffleWrite write = HALLEY__SHUFFLE_WRITE__INIT;
        Halley__Expr key = HALLEY__EXPR__INIT, *keys[] = {&key};
        key.cls = "BoundReference";
        key.type = &types[0];
        key.nullable = true;
        key.deterministic = true;
        write.kind = PARTITIONS[p] == 1 ? HALLEY__PARTITIONING_KIND__SINGLE : HALLEY__PARTITIONING_KIND__HASH;
        write.n_partitions = PARTITIONS[p];
        write.n_hash_exprs = PARTITIONS[p] == 1 ? 0 : 1;
        write.hash_exprs = keys;
        write.codec = CODECS[codec].codec;
        write.level = 1;
        write.checksum = HALLEY__CHECKSUM__ADLER32;
        input.id = 2;
        input.op_case = HALLEY__PLAN__OP_SHUFFLE_INPUT;
        input.shuffle_input = &shuffle_input;
        input.n_output = plan.n_output = rows_of->n_columns;
        input.output = plan.output = output;
        plan.id = 1;
        plan.inputs = inputs;
        plan.n_inputs = 1;
        plan.op_case = HALLEY__PLAN__OP_SHUFFLE_WRITE;
        plan.shuffle_write = &write;
        Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
        Halley__JvmInputBinding binding = HALLEY__JVM_INPUT_BINDING__INIT, *bindings[] = {&binding};
        binding.plan_id = 2;
        task.jvm_inputs = bindings;
        task.n_jvm_inputs = 1;

        f.frames = frames;
        f.sizes = sizes;
        f.n = DIFFERENT;
        f.at = 0;
        f.left = N_BATCHES;
        hly_arena *own = hly_arena_create();
        hly_binder binder = {.ctx = &ctx, .arena = own};
        hly_op *op;
        if (hly_op_bind(&binder, &plan, &op) != HLY_OK || hly_op_open(op, &task) != HLY_OK)
          fail(&ctx, "open");
        const int64_t *results;
        uint32_t n_results;
        double start = seconds();
        if (op->cls->write(op, path, &results, &n_results) != HLY_OK) fail(&ctx, "write");
        double write_s = seconds() - start; // with the decoding of the input
        double bytes = (double)op->metrics[HALLEY__METRIC__SHUFFLE_BYTES];
        hly_op_close(op);
        hly_arena_destroy(own);

        // And back.
        FILE *file = fopen(path, "rb");
        uint8_t *data = hly_malloc((size_t)bytes + 1);
        if (fread(data, 1, (size_t)bytes, file) != (size_t)bytes) fail(&ctx, "read");
        fclose(file);
        uint32_t n = 0;
        for (size_t at = 0, body; at < (size_t)bytes; at += HLY_FRAME_HEADER + body, n++)
          body = *(uint32_t *)(data + at + 4);
        f.frames = hly_malloc((n + 1) * sizeof *f.frames);
        f.sizes = hly_malloc((n + 1) * sizeof *f.sizes);
        n = 0;
        for (size_t at = 0; at < (size_t)bytes; at += f.sizes[n - 1]) {
          f.frames[n] = data + at;
          f.sizes[n++] = HLY_FRAME_HEADER + *(uint32_t *)(data + at + 4);
        }
        f.n = f.left = n;
        f.at = 0;
        own = hly_arena_create();
        binder = (hly_binder){.ctx = &ctx, .arena = own};
        if (hly_op_bind(&binder, &input, &op) != HLY_OK || hly_op_open(op, &task) != HLY_OK)
          fail(&ctx, "open");
        start = seconds();
        uint64_t rows = 0;
        for (hly_batch *out;;) {
          if (hly_op_next(op, &out) != HLY_OK) fail(&ctx, "next");
          if (!out) break;
          rows += out->n_sel;
        }
        double read_s = seconds() - start;
        hly_op_close(op);
        hly_arena_destroy(own);
        if (rows != (uint64_t)N_ROWS * N_BATCHES) fail(&ctx, "rows were lost");
        printf("%-20s %-6s %6d %7.1f M/s %9.1f M/s %12.1f %10u\n", rows_of->name, CODECS[codec].name,
               PARTITIONS[p], (double)rows / write_s / 1e6, (double)rows / read_s / 1e6, bytes / (double)rows,
               n);
        hly_free(data);
        hly_free(f.frames);
        hly_free(f.sizes);
      }
    }
    hly_arena_destroy(arena);
  }
  unlink(path);
  hly_pool_destroy(ctx.pool);
  return 0;
}
