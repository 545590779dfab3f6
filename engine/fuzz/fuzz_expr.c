// Bytes of a Project: its expressions are bound over a fixed schema and evaluated on a few rows of edge
// values, as values and, the boolean ones, as predicates. The host has no dispatcher: what needs one ends
// there.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "expr/expr.h"
#include "plan/message.h"
#include "vector/decimal.h"
#include "vector/str.h"

enum { N_ROWS = 9 };

static const struct {
  hly_kind kind;
  int precision, scale;
} columns[] = {{HLY_BOOLEAN, 0, 0},   {HLY_BYTE, 0, 0},   {HLY_SHORT, 0, 0},     {HLY_INT, 0, 0},
               {HLY_LONG, 0, 0},      {HLY_FLOAT, 0, 0},  {HLY_DOUBLE, 0, 0},    {HLY_DECIMAL, 9, 2},
               {HLY_DECIMAL, 38, 10}, {HLY_DATE, 0, 0},   {HLY_TIMESTAMP, 0, 0}, {HLY_STRING, 0, 0},
               {HLY_BINARY, 0, 0},    {HLY_STRING, 0, 0}, {HLY_NULL, 0, 0}};
enum { N_COLUMNS = sizeof columns / sizeof *columns, DICTIONARY = 13 };

static void fill(hly_vector *v, uint32_t n) {
  static const char *const texts[] = {
      "", "a", "abcdefghijkl", "more than twelve bytes", "\xff\xc3(", "\xc3\xa4%_", "  x ", "-12.5", "A"};
  static const double floats[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1.5, -1e300, 1e-300, 9.3e18};
  static const int64_t ints[] = {0, 1, -1, INT64_MAX, INT64_MIN, 7, -100, 12345678, 3};
  for (uint32_t i = 0; i < n; i++) {
    int64_t x = ints[i % 9];
    switch (v->type->phys) {
    case HLY_PHYS_BOOL: ((uint8_t *)v->values)[i] = i % 2; break;
    case HLY_PHYS_I8: ((int8_t *)v->values)[i] = (int8_t)(x == INT64_MIN ? INT8_MIN : x); break;
    case HLY_PHYS_I16: ((int16_t *)v->values)[i] = (int16_t)(x == INT64_MIN ? INT16_MIN : x); break;
    case HLY_PHYS_I32: ((int32_t *)v->values)[i] = (int32_t)(x == INT64_MIN ? INT32_MIN : x); break;
    case HLY_PHYS_I64: ((int64_t *)v->values)[i] = v->type->kind == HLY_DECIMAL ? x % 1000000000 : x; break;
    case HLY_PHYS_I128:
      ((hly_i128 *)v->values)[i] = i % 3 ? x : (hly_pow10_i128[38] - 1) * (i % 2 ? 1 : -1);
      break;
    case HLY_PHYS_F32: ((float *)v->values)[i] = (float)floats[i % 9]; break;
    case HLY_PHYS_F64: ((double *)v->values)[i] = floats[i % 9]; break;
    case HLY_PHYS_STR:
      ((hly_str *)v->values)[i] = hly_str_make(texts[i % 9], (uint32_t)strlen(texts[i % 9]));
      break;
    default: break;
    }
  }
}

static hly_status fill_batch(hly_ctx *ctx, hly_batch *batch) {
  for (uint32_t c = 0; c < N_COLUMNS; c++) {
    hly_vector *v = batch->columns[c];
    HLY_TRY(hly_vector_reset(ctx, v, N_ROWS));
    if (v->type->kind == HLY_NULL) continue;
    if (c == DICTIONARY) {
      hly_vector *dict = hly_vector_create(v->type);
      HLY_CHECK_MEM(ctx, dict, sizeof *dict);
      hly_status st = hly_vector_reset(ctx, dict, 5);
      if (st == HLY_OK) fill(dict, 5);
      if (st == HLY_OK) st = hly_vector_set_dict(ctx, v, dict, N_ROWS);
      hly_vector_unref(dict);
      HLY_TRY(st);
      for (uint32_t i = 0; i < N_ROWS; i++) v->indices[i] = i % 5;
    } else {
      fill(v, N_ROWS);
    }
    if (c % 2) continue;
    HLY_TRY(hly_vector_need_validity(ctx, v));
    for (uint32_t i = 0; i < N_ROWS; i += 4) {
      hly_bits_clear(v->validity, i);
      if (v->type->phys == HLY_PHYS_STR)
        ((hly_str *)v->values)[i] = (hly_str){.len = 1u << 30}; // nobody may look
    }
  }
  hly_batch_set_rows(batch, N_ROWS);
  return HLY_OK;
}

static void evaluate(hly_ctx *ctx, hly_exprs *p, hly_batch *batch, hly_vector **out) {
  static const uint32_t some[] = {0, 3, 4, 8};
  if (hly_exprs_open(p, ctx, 0, NULL) == HLY_OK) {
    for (int round = 0; round < 2; round++) {
      hly_batch_set_rows(batch, N_ROWS);
      if (round) {
        batch->sel = some;
        batch->n_sel = 4;
      }
      uint32_t n, sel[N_ROWS];
      bool raised;
      hly_status st = hly_exprs_eval(p, ctx, batch, out, &n);
      if (st == HLY_OK && hly_exprs_count(p) == 1 && hly_exprs_type(p, 0)->kind == HLY_BOOLEAN)
        st = hly_exprs_filter(p, ctx, batch, sel, &n, &raised);
      hly_error_clear(&ctx->error);
    }
  }
  hly_exprs_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hly_ctx ctx = {.batch_rows = 8192};
  hly_arena *arena = hly_arena_create();
  Halley__Project *project = NULL;
  if (!arena) return 0;
  hly_field fields[N_COLUMNS];
  for (uint32_t c = 0; c < N_COLUMNS; c++)
    fields[c] = (hly_field){.name = "c",
                            .type = columns[c].kind == HLY_DECIMAL
                                        ? hly_type_decimal(columns[c].precision, columns[c].scale)
                                        : hly_type_of(columns[c].kind),
                            .nullable = true};
  const hly_schema schema = {N_COLUMNS, fields};
  hly_batch *batch;
  if (hly_message_unpack(&ctx.error, arena, &halley__project__descriptor, data, size, &project) == HLY_OK &&
      hly_batch_create(&ctx, arena, &schema, &batch) == HLY_OK && fill_batch(&ctx, batch) == HLY_OK) {
    hly_binder b = {.ctx = &ctx, .arena = arena};
    hly_exprs *p;
    hly_vector **out = HLY_ARENA_NEW_N(arena, hly_vector *, project->n_exprs + 1);
    if (out && hly_exprs_bind(&b, 1, (const Halley__Expr *const *)project->exprs, (uint32_t)project->n_exprs,
                              &schema, &p) == HLY_OK)
      evaluate(&ctx, p, batch, out);
    // Each alone: as a predicate, and whatever the others are.
    for (size_t i = 0; out && i < project->n_exprs && i < 8; i++)
      if (hly_exprs_bind(&b, 1, (const Halley__Expr *const *)&project->exprs[i], 1, &schema, &p) == HLY_OK)
        evaluate(&ctx, p, batch, out);
  }
  hly_arena_destroy(arena);
  return 0;
}
