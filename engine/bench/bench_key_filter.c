// Key filters (run-time filters of joins): ns a build row to fill one, ns a row to test one, and what passes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench.h"
#include "operators/key_filter.h"

enum { BATCH = 8192, ROUNDS = 400, MAX_KEYS = 2 };

static void check(hly_ctx *ctx, hly_status st) {
  if (st == HLY_OK) return;
  fprintf(stderr, "status %d: %s\n", (int)st, ctx->error.text);
  exit(1);
}

typedef struct workload {
  const char *name;
  uint32_t n_keys;
  bool strings;
  uint64_t n_build, probe_range, factor; // build keys are 0..n_build, all times factor
} workload;

// n keys: from `first` on, or random below `range`.
static void fill(hly_ctx *ctx, const workload *w, hly_vector **keys, uint32_t n, uint64_t first,
                 uint64_t range) {
  hly_buf *heap = w->strings ? hly_buf_create((size_t)BATCH * 24) : NULL;
  for (uint32_t k = 0; k < w->n_keys; k++) check(ctx, hly_vector_reset(ctx, keys[k], n));
  for (uint32_t i = 0; i < n; i++) {
    uint64_t key = (range ? next() % range : first + i) * w->factor;
    for (uint32_t k = 0; k < w->n_keys; k++) {
      if (!w->strings) {
        ((int64_t *)keys[k]->values)[i] = (int64_t)(key + k);
        continue;
      }
      char *at = (char *)heap->data + i * 24;
      snprintf(at, 24, "Customer#%011llu", (unsigned long long)key % 100000000000ull);
      ((hly_str *)keys[k]->values)[i] = hly_str_make(at, 20);
    }
  }
  if (!heap) return;
  check(ctx, hly_vector_add_heap(ctx, keys[0], heap));
  hly_buf_unref(heap);
}

static Halley__Expr *reference(hly_arena *arena, uint32_t i, Halley__Kind kind) {
  Halley__Expr *e = HLY_ARENA_NEW(arena, Halley__Expr);
  halley__expr__init(e);
  e->cls = (char *)"BoundReference";
  e->ordinal = (int32_t)i;
  e->type = HLY_ARENA_NEW(arena, Halley__DataType);
  halley__data_type__init(e->type);
  e->type->kind = kind;
  return e;
}

static void run(hly_ctx *ctx, const workload *w) {
  hly_arena *arena = hly_arena_create();
  hly_binder b = {.ctx = ctx, .arena = arena};
  hly_field fields[MAX_KEYS];
  hly_vector *keys[MAX_KEYS];
  const Halley__Expr *refs[MAX_KEYS];
  uint32_t which[MAX_KEYS];
  for (uint32_t k = 0; k < w->n_keys; k++) {
    fields[k] = (hly_field){.name = "k", .type = hly_type_of(w->strings ? HLY_STRING : HLY_LONG)};
    keys[k] = hly_vector_create(fields[k].type);
    refs[k] = reference(arena, k, w->strings ? HALLEY__KIND__STRING : HALLEY__KIND__LONG);
    which[k] = k;
  }
  hly_schema schema = {w->n_keys, fields};
  hly_exprs *exprs;
  hly_join_rows rows;
  hly_row_store store;
  hly_join_scratch scratch;
  hly_reservation *reservation = hly_reservation_create(ctx->pool, "bench", NULL, NULL);
  check(ctx, hly_exprs_bind(&b, 1, refs, w->n_keys, &schema, &exprs));
  check(ctx, hly_join_rows_bind(&b, &rows, exprs, w->n_keys, &schema, NULL));
  check(ctx, hly_join_scratch_init(ctx, &scratch));
  hly_row_store_init(&store, ctx, &rows.row, reservation);
  for (uint64_t done = 0; done < w->n_build;) {
    uint32_t n = w->n_build - done < BATCH ? (uint32_t)(w->n_build - done) : BATCH, from = 0;
    fill(ctx, w, keys, n, done, 0);
    hly_batch batch = {.n_columns = w->n_keys, .columns = keys};
    hly_batch_set_rows(&batch, n);
    check(ctx, hly_join_rows_begin(&rows, ctx, &scratch, keys, &batch));
    check(ctx, hly_join_rows_append(&rows, ctx, &scratch, &store, keys, &batch, &from));
    done += n;
  }
  hly_key_filter *f;
  check(ctx, hly_key_filter_bind(ctx, arena, &rows, which, w->n_keys, &f));
  int64_t start = cpu_ns();
  check(ctx, hly_key_filter_build(f, ctx, &rows, &store, reservation));
  double build = (double)(cpu_ns() - start) / (double)w->n_build;
  hly_key_scratch *s = hly_calloc(1, sizeof *s);
  static uint32_t out[BATCH];
  uint64_t passed = 0;
  int64_t test = 0;
  for (int i = 0; i < ROUNDS; i++) {
    uint32_t n;
    if (i % 20 == 0) fill(ctx, w, keys, BATCH, 0, w->probe_range);
    start = cpu_ns();
    check(ctx, hly_key_filter_test(f, ctx, s, keys, NULL, BATCH, out, &n));
    test += cpu_ns() - start;
    passed += n;
  }
  printf("%-28s %-7s %7llu kB  build %5.1f ns/row  test %5.2f ns/row  %6.2f%% of rows pass\n", w->name,
         !f->set->words  ? "none"
         : f->set->exact ? "exact"
                         : "blocked",
         (unsigned long long)(f->set->n_words * 8 >> 10), build, (double)test / BATCH / ROUNDS,
         100.0 * (double)passed / BATCH / ROUNDS);
  hly_key_scratch_deinit(s);
  hly_free(s);
  hly_key_filter_clear(f);
  hly_join_scratch_deinit(&scratch);
  hly_row_store_clear(&store);
  hly_reservation_destroy(reservation);
  for (uint32_t k = 0; k < w->n_keys; k++) hly_vector_unref(keys[k]);
  hly_arena_destroy(arena);
}

int main(void) {
  static const workload workloads[] = {
      {"dense 1k, 1 in 100 match", 1, false, 1000, 100000, 1},
      {"dense 1k, all match", 1, false, 1000, 1000, 1},
      {"dense 1M, 1 in 10 match", 1, false, 1000000, 10000000, 1},
      {"dense 1M, all match", 1, false, 1000000, 1000000, 1},
      {"sparse 1k, 1 in 100 match", 1, false, 1000, 100000, 1000003},
      {"sparse 1M, 1 in 10 match", 1, false, 1000000, 10000000, 1000003},
      {"sparse 5M, 1 in 10 match", 1, false, 5000000, 50000000, 1000003},
      {"two longs, 100k, 1 in 10", 2, false, 100000, 1000000, 1000003},
      {"string of 20, 100k, 1 in 10", 1, true, 100000, 1000000, 1},
  };
  hly_ctx ctx = {.batch_rows = BATCH};
  ctx.pool = hly_pool_create(NULL);
  for (uint32_t i = 0; i < sizeof workloads / sizeof *workloads; i++) run(&ctx, &workloads[i]);
  hly_pool_destroy(ctx.pool);
  return 0;
}
