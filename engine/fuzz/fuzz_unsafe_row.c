// Decoding UnsafeRows of any type from any bytes. What is accepted must be a sound batch, and encoding it
// must give rows that decode to the same rows again.
//
// Input: number of fields, their types (kind; decimal: precision, scale; struct: number of fields; nested:
// the types inside), number of rows, size of each row in words, rows.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rows/unsafe_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
  const uint8_t *p, *end;
  hly_arena *arena;
  int n_types;
} input;

static uint8_t byte(input *in) {
  return in->p < in->end ? *in->p++ : 0;
}

static void check(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s\n", what);
  __builtin_trap();
}

static hly_field *read_fields(input *in, uint32_t n, int depth);

static const hly_type *read_type(input *in, int depth) {
  hly_kind kind = (hly_kind)(byte(in) % HLY_OTHER);
  if (kind == HLY_DECIMAL) {
    int precision = byte(in) % 38 + 1, scale = byte(in) % (precision + 1);
    return hly_type_decimal(precision, scale);
  }
  uint32_t n = 0;
  if (kind == HLY_ARRAY) n = 1;
  if (kind == HLY_MAP) n = 2;
  if (kind == HLY_STRUCT) n = byte(in) % 8;
  if ((n && depth == 0) || ++in->n_types > 100) return hly_type_of(HLY_INT);
  hly_type *type = HLY_ARENA_NEW(in->arena, hly_type);
  check(type, "no memory");
  *type = (hly_type){.kind = kind, .phys = hly_type_phys(kind, 0), .n_fields = n};
  type->fields = read_fields(in, n, depth - 1);
  return type;
}

static hly_field *read_fields(input *in, uint32_t n, int depth) {
  hly_field *fields = HLY_ARENA_NEW_N(in->arena, hly_field, n);
  check(fields, "no memory");
  for (uint32_t i = 0; i < n; i++)
    fields[i] = (hly_field){.name = "f", .type = read_type(in, depth), .nullable = true};
  return fields;
}

static void check_batch(const hly_batch *batch) {
  char message[200];
  for (uint32_t i = 0; i < batch->n_columns; i++)
    check(hly_vector_check(batch->columns[i], message, sizeof message), message);
}

static void encode(hly_ctx *ctx, const hly_batch *batch, hly_row_block *block) {
  uint32_t n_done;
  check(hly_unsafe_row_encode(ctx, batch, NULL, 0, 0, UINT64_MAX, block, &n_done) == HLY_OK, "encode");
  check(n_done == batch->n_rows, "not all rows");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hly_ctx ctx;
  hly_error_clear(&ctx.error);
  int64_t before = hly_mem_in_use();
  input in = {data, data + size, hly_arena_create(), 0};
  hly_schema schema = {.n_fields = byte(&in) % 80};
  schema.fields = read_fields(&in, schema.n_fields, 5);
  uint32_t n_rows = byte(&in) % 32;
  uint64_t offsets[33] = {0};
  for (uint32_t r = 0; r < n_rows; r++) offsets[r + 1] = offsets[r] + 8 * (uint64_t)byte(&in);
  // Exactly the rows' bytes, so that reading past them is seen.
  size_t n_bytes = (size_t)(in.end - in.p);
  while (n_rows && offsets[n_rows] > n_bytes) n_rows--;
  uint8_t *rows = hly_malloc(offsets[n_rows]);
  memcpy(rows, in.p, offsets[n_rows]);

  hly_batch *batch, *again;
  hly_row_block first = {0}, second = {0};
  check(hly_batch_create(&ctx, in.arena, &schema, &batch) == HLY_OK, "no memory");
  if (hly_unsafe_row_decode(&ctx, rows, offsets, n_rows, &schema, batch) == HLY_OK) {
    check_batch(batch);
    encode(&ctx, batch, &first);
    check(hly_batch_create(&ctx, in.arena, &schema, &again) == HLY_OK, "no memory");
    check(hly_unsafe_row_decode(&ctx, first.data->data, first.offsets, first.n_rows, &schema, again) ==
              HLY_OK,
          "our own rows are refused");
    check_batch(again);
    encode(&ctx, again, &second);
    uint64_t n = first.offsets[first.n_rows];
    check(second.offsets[second.n_rows] == n && memcmp(first.data->data, second.data->data, n) == 0,
          "our own rows change");
  } else {
    check(ctx.error.id == HLY_E_PLAN_INVALID, "another error");
  }
  hly_row_block_deinit(&first);
  hly_row_block_deinit(&second);
  hly_free(rows);
  hly_arena_destroy(in.arena);
  check(hly_mem_in_use() == before, "leak");
  return 0;
}
