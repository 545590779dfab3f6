// Nanoseconds a row to encode and decode UnsafeRows of common shapes.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "bench.h"
#include "rows/unsafe_row.h"

enum { N = 8192, ROUNDS = 300 };

static hly_status run(hly_ctx *ctx, const char *what, const hly_kind *kinds, uint32_t n, bool nulls,
                      uint32_t length) {
  hly_arena *arena = hly_arena_create();
  HLY_CHECK_MEM(ctx, arena, 4096);
  hly_field *fields = HLY_ARENA_NEW_N(arena, hly_field, n);
  HLY_CHECK_MEM(ctx, fields, n * sizeof *fields);
  for (uint32_t i = 0; i < n; i++) fields[i] = (hly_field){.name = "f", .type = hly_type_of(kinds[i])};
  hly_schema schema = {n, fields};
  hly_batch *in, *out;
  HLY_TRY(hly_batch_create(ctx, arena, &schema, &in));
  HLY_TRY(hly_batch_create(ctx, arena, &schema, &out));
  uint8_t *text = HLY_ARENA_NEW_N(arena, uint8_t, length + N);
  HLY_CHECK_MEM(ctx, text, length);
  for (uint32_t i = 0; i < n; i++) {
    hly_vector *v = in->columns[i];
    HLY_TRY(hly_vector_reset(ctx, v, N));
    memset(v->values, 0, (size_t)N * hly_phys_size[v->type->phys]);
    if (v->type->phys == HLY_PHYS_STR)
      for (uint32_t r = 0; r < N; r++) ((hly_str *)v->values)[r] = hly_str_make(text + r, length);
    if (!nulls) continue;
    HLY_TRY(hly_vector_need_validity(ctx, v));
    for (uint32_t r = 0; r < N; r += 7) hly_bits_clear(v->validity, r);
  }
  hly_batch_set_rows(in, N);
  hly_row_block block = {0};
  uint32_t n_done;
  int64_t start = cpu_ns();
  for (int round = 0; round < ROUNDS; round++)
    HLY_TRY(hly_unsafe_row_encode(ctx, in, NULL, 0, 0, UINT64_MAX, &block, &n_done));
  double encode = (double)(cpu_ns() - start) / ((double)ROUNDS * N);
  start = cpu_ns();
  for (int round = 0; round < ROUNDS; round++)
    HLY_TRY(hly_unsafe_row_decode(ctx, block.data->data, block.offsets, N, &schema, out));
  double decode = (double)(cpu_ns() - start) / ((double)ROUNDS * N);
  printf("%-32s %4llu bytes a row, encode %6.2f ns, decode %6.2f ns\n", what,
         (unsigned long long)(block.offsets[N] / N), encode, decode);
  hly_row_block_deinit(&block);
  hly_arena_destroy(arena);
  return HLY_OK;
}

int main(void) {
  static hly_ctx ctx;
  static const hly_kind longs[16] = {HLY_LONG,   HLY_INT,  HLY_DOUBLE, HLY_LONG, HLY_LONG,   HLY_INT,
                                     HLY_DOUBLE, HLY_LONG, HLY_LONG,   HLY_INT,  HLY_DOUBLE, HLY_DATE,
                                     HLY_LONG,   HLY_INT,  HLY_DOUBLE, HLY_LONG};
  static const hly_kind strings[4] = {HLY_STRING, HLY_STRING, HLY_STRING, HLY_STRING};
  static const hly_kind mixed[8] = {HLY_LONG,   HLY_STRING, HLY_INT,     HLY_STRING,
                                    HLY_DOUBLE, HLY_DATE,   HLY_BOOLEAN, HLY_STRING};
  hly_status st = run(&ctx, "two numbers", longs, 2, false, 0);
  if (st == HLY_OK) st = run(&ctx, "sixteen numbers", longs, 16, false, 0);
  if (st == HLY_OK) st = run(&ctx, "sixteen numbers, nulls", longs, 16, true, 0);
  if (st == HLY_OK) st = run(&ctx, "four strings of 6", strings, 4, false, 6);
  if (st == HLY_OK) st = run(&ctx, "four strings of 25", strings, 4, false, 25);
  if (st == HLY_OK) st = run(&ctx, "mixed, strings of 10, nulls", mixed, 8, true, 10);
  return st == HLY_OK ? 0 : 1;
}
