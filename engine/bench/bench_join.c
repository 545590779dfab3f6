// HashJoin over batches in memory: ns a build row and a probe row, for dense and sparse integers, strings,
// small and large build sides of either input, few and many matches, keys of many rows; and the bytes that
// the join had at most.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "bench.h"
#include "memory/pool.h"
#include "operators/operator.h"

enum { BATCH = 8192 };

static void check(hly_ctx *ctx, hly_status st) {
  if (st == HLY_OK) return;
  fprintf(stderr, "status %d: %s\n", (int)st, ctx->error.text);
  exit(1);
}

// A leaf that gives `n_rows` rows of a key and two longs: the key of row i is (offset + i) * factor, or
// random below `modulus` times factor.
typedef struct source {
  hly_op op;
  uint64_t n_rows, done, modulus, factor;
  bool strings;
  hly_vector *columns[3];
  hly_batch batch;
} source;

static hly_status open_source(hly_op *op, const Halley__TaskInput *task) {
  ((source *)op)->done = 0;
  return HLY_OK;
}

static hly_status next_source(hly_op *op, hly_batch **out) {
  source *s = (source *)op;
  hly_ctx *ctx = op->ctx;
  if (s->done == s->n_rows) return HLY_OK;
  uint32_t n = s->n_rows - s->done < BATCH ? (uint32_t)(s->n_rows - s->done) : BATCH;
  for (int c = 0; c < 3; c++) HLY_TRY(hly_vector_reset(ctx, s->columns[c], n));
  hly_buf *heap = s->strings ? hly_buf_create((size_t)BATCH * 24) : NULL;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t k = (s->modulus ? next() % s->modulus : s->done + i) * s->factor;
    if (s->strings) {
      char *at = (char *)heap->data + i * 24;
      snprintf(at, 24, "Customer#%011llu", (unsigned long long)k % 100000000000ull);
      ((hly_str *)s->columns[0]->values)[i] = hly_str_make(at, 20);
    } else {
      ((int64_t *)s->columns[0]->values)[i] = (int64_t)k;
    }
    for (int c = 1; c < 3; c++) ((int64_t *)s->columns[c]->values)[i] = (int64_t)(s->done + i);
  }
  if (heap) {
    HLY_TRY(hly_vector_add_heap(ctx, s->columns[0], heap));
    hly_buf_unref(heap);
  }
  s->done += n;
  s->batch = (hly_batch){.n_columns = 3, .columns = s->columns};
  hly_batch_set_rows(&s->batch, n);
  *out = &s->batch;
  return HLY_OK;
}

static void close_source(hly_op *op) {}

static const hly_op_class SOURCE = {
    .name = "Source", .open = open_source, .next = next_source, .close = close_source};

static void attach(source *s, hly_op *op, uint32_t i) {
  s->op.cls = &SOURCE;
  s->op.ctx = op->ctx;
  s->op.output = op->inputs[i]->output;
  op->inputs[i] = &s->op;
  for (uint32_t c = 0; c < 3; c++) s->columns[c] = hly_vector_create(s->op.output.fields[c].type);
}

static Halley__Field *field(hly_arena *arena, Halley__Kind kind) {
  Halley__Field *f = HLY_ARENA_NEW(arena, Halley__Field);
  halley__field__init(f);
  f->name = (char *)"c";
  f->type = HLY_ARENA_NEW(arena, Halley__DataType);
  halley__data_type__init(f->type);
  f->type->kind = kind;
  return f;
}

static Halley__Plan *node(hly_arena *arena, Halley__Plan__OpCase op, Halley__Kind key, uint32_t n_fields) {
  static int32_t id;
  Halley__Plan *p = HLY_ARENA_NEW(arena, Halley__Plan);
  halley__plan__init(p);
  p->id = ++id;
  p->op_case = op;
  p->n_output = n_fields;
  p->output = HLY_ARENA_NEW_N(arena, Halley__Field *, n_fields);
  for (uint32_t i = 0; i < n_fields; i++) p->output[i] = field(arena, i % 3 ? HALLEY__KIND__LONG : key);
  p->inputs = HLY_ARENA_NEW_N(arena, Halley__Plan *, 2);
  return p;
}

static Halley__Expr **key_of(hly_arena *arena, const Halley__Plan *input) {
  Halley__Expr **list = HLY_ARENA_NEW_N(arena, Halley__Expr *, 1),
               *e = list[0] = HLY_ARENA_NEW(arena, Halley__Expr);
  halley__expr__init(e);
  e->cls = (char *)"BoundReference";
  e->type = input->output[0]->type;
  return list;
}

typedef struct workload {
  const char *name;
  Halley__JoinType type;
  bool strings;
  uint64_t n_build, n_probe, probe_range, factor; // build keys are 0..n_build, all times factor
  bool build_left;
  uint64_t build_range; // not 0: build keys are random below, too
  uint64_t most_out;    // rows after which it ends; 0: none
} workload;

// *peak: bytes.
static int64_t run_once(hly_ctx *ctx, const workload *w, uint64_t n_probe, uint64_t *n_out, int64_t *peak) {
  hly_arena *arena = hly_arena_create();
  Halley__Kind key = w->strings ? HALLEY__KIND__STRING : HALLEY__KIND__LONG;
  bool pairs = w->type < HALLEY__JOIN_TYPE__LEFT_SEMI;
  Halley__Plan *p =
      node(arena, HALLEY__PLAN__OP_HASH_JOIN, key, pairs ? 6 : 3 + (w->type == HALLEY__JOIN_TYPE__EXISTENCE));
  if (w->type == HALLEY__JOIN_TYPE__EXISTENCE) p->output[3] = field(arena, HALLEY__KIND__BOOLEAN);
  p->n_inputs = 2;
  for (int i = 0; i < 2; i++) {
    p->inputs[i] = node(arena, HALLEY__PLAN__OP_JVM_INPUT, key, 3);
    p->inputs[i]->jvm_input = HLY_ARENA_NEW(arena, Halley__JvmInput);
    halley__jvm_input__init(p->inputs[i]->jvm_input);
  }
  Halley__HashJoin *join = p->hash_join = HLY_ARENA_NEW(arena, Halley__HashJoin);
  halley__hash_join__init(join);
  join->type = w->type;
  join->build_left = w->build_left;
  join->n_left_keys = join->n_right_keys = 1;
  join->left_keys = key_of(arena, p->inputs[0]);
  join->right_keys = key_of(arena, p->inputs[1]);
  hly_binder b = {.ctx = ctx, .arena = arena};
  hly_op *op;
  check(ctx, hly_op_bind(&b, p, &op));
  source probe = {.n_rows = n_probe, .modulus = w->probe_range, .factor = w->factor, .strings = w->strings};
  source build = {
      .n_rows = w->n_build, .modulus = w->build_range, .factor = w->factor, .strings = w->strings};
  attach(&probe, op, w->build_left ? 1 : 0);
  attach(&build, op, w->build_left ? 0 : 1);
  Halley__TaskInput task = HALLEY__TASK_INPUT__INIT;
  int64_t start = cpu_ns();
  check(ctx, hly_op_open(op, &task));
  hly_batch *out;
  *n_out = 0;
  for (;;) {
    check(ctx, hly_op_next(op, &out));
    if (!out) break;
    *n_out += out->n_sel;
    if (w->most_out && *n_out >= w->most_out) break;
  }
  int64_t ns = cpu_ns() - start;
  hly_op_close(op);
  *peak = op->metrics[HALLEY__METRIC__PEAK_MEMORY];
  for (int c = 0; c < 3; c++) {
    hly_vector_unref(probe.columns[c]);
    hly_vector_unref(build.columns[c]);
  }
  hly_arena_destroy(arena);
  return ns;
}

// What making the rows costs.
static double source_ns(hly_ctx *ctx, const workload *w, uint64_t n, uint64_t modulus) {
  source s = {.n_rows = n, .modulus = modulus, .factor = w->factor, .strings = w->strings};
  s.op.ctx = ctx;
  for (int c = 0; c < 3; c++)
    s.columns[c] = hly_vector_create(hly_type_of(c == 0 && w->strings ? HLY_STRING : HLY_LONG));
  int64_t start = cpu_ns();
  hly_batch *out = &s.batch;
  while (out) {
    out = NULL;
    check(ctx, next_source(&s.op, &out));
  }
  double ns = (double)(cpu_ns() - start);
  for (int c = 0; c < 3; c++) hly_vector_unref(s.columns[c]);
  return ns;
}

static hly_status temp_file(void *arg, char *path, uint32_t size, hly_error *error) {
  const char *dir = getenv("TMPDIR");
  snprintf(path, size, "%s/halley-bench-XXXXXX", dir ? dir : "/tmp");
  int fd = mkstemp(path);
  if (fd >= 0) close(fd);
  return fd >= 0 ? HLY_OK : HLY_ERR;
}

#define W(title, join, text, build, probe, range, times, ...)                                                \
  {                                                                                                          \
    .name = title, .type = HALLEY__JOIN_TYPE__##join, .strings = text, .n_build = build, .n_probe = probe,   \
    .probe_range = range, .factor = times, __VA_ARGS__                                                       \
  }

int main(void) {
  static const workload workloads[] = {
      W("inner, dense 1k", INNER, false, 1000, 4000000, 1000, 1),
      W("inner, dense 1M", INNER, false, 1000000, 4000000, 1000000, 1),
      W("inner, dense 1M, 1 in 10 match", INNER, false, 1000000, 4000000, 10000000, 1),
      W("inner, sparse 1k", INNER, false, 1000, 4000000, 1000, 1000003),
      W("inner, sparse 1M", INNER, false, 1000000, 4000000, 1000000, 1000003),
      W("inner, sparse 1M, 1 in 10 match", INNER, false, 1000000, 4000000, 10000000, 1000003),
      W("inner, sparse 5M", INNER, false, 5000000, 5000000, 5000000, 1000003),
      W("semi, dense 1M", LEFT_SEMI, false, 1000000, 4000000, 1000000, 1),
      W("anti, sparse 1M, 1 in 10 match", LEFT_ANTI, false, 1000000, 4000000, 10000000, 1000003),
      W("inner, string of 20, 100k", INNER, true, 100000, 1000000, 100000, 1),
      // The same table semi-joined by the rows of a larger one, and the larger one's keys in the table.
      W("semi, 100k by 4M, builds left", LEFT_SEMI, false, 100000, 4000000, 100000, 1000003,
        .build_left = true),
      W("semi, 100k by 4M, builds right", LEFT_SEMI, false, 4000000, 100000, 100000, 1000003,
        .build_range = 100000),
      W("anti, 1M by 4M, builds left", LEFT_ANTI, false, 1000000, 4000000, 10000000, 1000003,
        .build_left = true),
      W("existence, 1M by 4M, builds left", EXISTENCE, false, 1000000, 4000000, 1000000, 1,
        .build_left = true),
      W("inner, 100k keys, 10 x 10", INNER, false, 1000000, 1000000, 100000, 1000003, .build_range = 100000),
      W("inner, one key, 1M x 1M, begun", INNER, false, 1000000, 1000000, 1, 1, .build_range = 1,
        .most_out = 50000000),
      W("semi, one key, 1M x 1M, left", LEFT_SEMI, false, 1000000, 1000000, 1, 1, .build_left = true,
        .build_range = 1),
  };
  hly_ctx ctx = {.batch_rows = BATCH};
  ctx.pool = hly_pool_create(NULL);
  for (uint32_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
    const workload *w = &workloads[i];
    uint64_t n_out, none;
    int64_t peak;
    double build =
        (double)run_once(&ctx, w, 0, &none, &peak) - source_ns(&ctx, w, w->n_build, w->build_range);
    double all = (double)run_once(&ctx, w, w->n_probe, &n_out, &peak) -
                 source_ns(&ctx, w, w->n_build, w->build_range) -
                 source_ns(&ctx, w, w->n_probe, w->probe_range);
    printf("%-34s build %6.1f ns/row  probe %6.2f ns/row  %9llu rows out  %7.2f ns each  %4lld MB\n", w->name,
           build / (double)w->n_build, (all - build) / (double)w->n_probe, (unsigned long long)n_out,
           n_out ? (all - build) / (double)n_out : 0.0, (long long)(peak >> 20));
  }
  hly_pool_destroy(ctx.pool);
  // The build side has room for a quarter of its rows: partitions on disk.
  static hly_host host;
  host.temp_file = temp_file;
  ctx.host = &host;
  ctx.max_temp_bytes = INT64_MAX;
  ctx.pool = hly_pool_create_limited(16 << 20);
  uint64_t n_out;
  const workload *w = &workloads[4];
  int64_t peak;
  double ns = (double)run_once(&ctx, w, w->n_probe, &n_out, &peak) - source_ns(&ctx, w, w->n_build, 0) -
              source_ns(&ctx, w, w->n_probe, w->probe_range);
  printf("%-34s all %6.1f ns/row of both sides\n", "inner, sparse 1M, 16 MB",
         ns / (double)(w->n_build + w->n_probe));
  hly_pool_destroy(ctx.pool);
  return 0;
}
