// Sorting in memory: ns a row to take rows in, to sort them and to give them back, for several keys.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench.h"
#include "operators/sorter.h"

enum { BATCH = 8192, BATCHES = 128 };

static void check(hly_status st) {
  if (st == HLY_OK) return;
  fprintf(stderr, "status %d\n", (int)st);
  exit(1);
}

typedef int64_t (*value_fn)(uint64_t row);
static int64_t random_value(uint64_t row) {
  return (int64_t)next();
}
static int64_t few_values(uint64_t row) {
  return (int64_t)(next() % 1000);
}
static int64_t sorted_value(uint64_t row) {
  return (int64_t)row;
}

static void run(hly_ctx *ctx, const char *name, value_fn value, bool strings, int64_t limit) {
  hly_arena *arena = hly_arena_create();
  const hly_type *types[4] = {strings ? hly_type_of(HLY_STRING) : hly_type_of(HLY_LONG),
                              hly_type_of(HLY_LONG), hly_type_of(HLY_INT), hly_type_of(HLY_DOUBLE)};
  hly_field fields[4];
  for (int i = 0; i < 4; i++) fields[i] = (hly_field){.name = "f", .type = types[i], .nullable = true};
  hly_schema schema = {4, fields};
  hly_row_layout layout;
  check(hly_row_layout_init(ctx, arena, types, 4, 0, &layout));
  hly_batch *in, *out;
  check(hly_batch_create(ctx, arena, &schema, &in));
  check(hly_batch_create(ctx, arena, &schema, &out));
  static char text[BATCH][32];
  hly_op op = {.ctx = ctx};
  hly_row_order order = {0, false, true};
  hly_sorter s;
  check(hly_sorter_init(&s, &op, "bench", &layout, &order, 1, 4, limit));
  double add = 0;
  for (uint64_t b = 0; b < BATCHES; b++) {
    for (int c = 0; c < 4; c++) check(hly_vector_reset(ctx, in->columns[c], BATCH));
    for (uint64_t i = 0; i < BATCH; i++) {
      int64_t v = value(b * BATCH + i);
      if (strings) {
        int n = snprintf(text[i], sizeof text[i], "customer#%015lld", (long long)v);
        ((hly_str *)in->columns[0]->values)[i] = hly_str_make(text[i], (uint32_t)n);
      } else {
        ((int64_t *)in->columns[0]->values)[i] = v;
      }
      ((int64_t *)in->columns[1]->values)[i] = (int64_t)i;
      ((int32_t *)in->columns[2]->values)[i] = (int32_t)i;
      ((double *)in->columns[3]->values)[i] = (double)i;
    }
    hly_batch_set_rows(in, BATCH);
    int64_t start = cpu_ns();
    check(hly_sorter_add(&s, in->columns, in));
    add += (double)(cpu_ns() - start);
  }
  int64_t start = cpu_ns();
  check(hly_sorter_finish(&s));
  int64_t sorted = cpu_ns();
  do check(hly_sorter_next(&s, out));
  while (out->n_rows > 0);
  double n = (double)BATCH * BATCHES;
  printf("%-32s add %6.1f  sort %6.1f  give %6.1f ns/row\n", name, add / n, (double)(sorted - start) / n,
         (double)(cpu_ns() - sorted) / n);
  hly_sorter_deinit(&s);
  hly_arena_destroy(arena);
}

static bool never(void *arg) {
  return false;
}

int main(void) {
  hly_host host = {.cancelled = never};
  hly_ctx ctx = {.batch_rows = BATCH, .host = &host};
  ctx.pool = hly_pool_create(NULL);
  run(&ctx, "random longs", random_value, false, -1);
  run(&ctx, "1000 different longs", few_values, false, -1);
  run(&ctx, "sorted longs", sorted_value, false, -1);
  run(&ctx, "strings of 24, one prefix", random_value, true, -1);
  run(&ctx, "first 100 of random longs", random_value, false, 100);
  run(&ctx, "first 100 of strings", random_value, true, 100);
  hly_pool_destroy(ctx.pool);
  return 0;
}
