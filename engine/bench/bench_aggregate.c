// Grouping and aggregate functions without the operator around them: ns a row, for few groups behind
// dictionaries (TPC-H q1), short strings, integers of falling repetition, long strings, and no keys (q6).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregates/aggregate.h"
#include "base/mem.h"
#include "bench.h"
#include "operators/group_table.h"

enum { BATCH = 8192, BATCHES = 256 };

static void check(hly_status st) {
  if (st == HLY_OK) return;
  fprintf(stderr, "status %d\n", (int)st);
  exit(1);
}

static Halley__DataType *type_message(Halley__DataType *m, const hly_type *t) {
  halley__data_type__init(m);
  m->kind = (Halley__Kind)t->kind;
  m->precision = t->precision;
  m->scale = t->scale;
  return m;
}

// A PARTIAL call over one argument.
static hly_agg *call(hly_binder *b, const char *cls, const hly_type *arg, const hly_type *buffer,
                     const hly_type *second, const hly_type *result, bool grouped) {
  static Halley__DataType types[4];
  static Halley__Field fields[2], *field_list[2] = {&fields[0], &fields[1]};
  static Halley__Expr expr, *expr_list[1] = {&expr};
  static Halley__Param param, *param_list[1] = {&param};
  Halley__AggCall m = HALLEY__AGG_CALL__INIT;
  m.cls = (char *)cls;
  m.mode = HALLEY__AGG_MODE__PARTIAL;
  halley__expr__init(&expr);
  expr.type = type_message(&types[0], arg);
  m.n_args = 1;
  m.args = expr_list;
  halley__field__init(&fields[0]);
  halley__field__init(&fields[1]);
  fields[0].type = type_message(&types[1], buffer);
  m.n_buffer = second ? 2 : 1;
  if (second) fields[1].type = type_message(&types[2], second);
  m.buffer = field_list;
  m.type = type_message(&types[3], result);
  if (strcmp(cls, "Count")) {
    halley__param__init(&param);
    param.name = (char *)"evalMode";
    param.value_case = HALLEY__PARAM__VALUE_STRING_VALUE;
    param.string_value = (char *)"ANSI";
    m.n_params = 1;
    m.params = param_list;
  }
  hly_agg *a;
  check(hly_agg_bind(b, &m, grouped, &a));
  return a;
}

static hly_vector *longs(hly_ctx *ctx, const hly_type *type, uint64_t modulus) {
  hly_vector *v = hly_vector_create(type);
  check(hly_vector_reset(ctx, v, BATCH));
  for (int i = 0; i < BATCH; i++) ((int64_t *)v->values)[i] = (int64_t)(next() % modulus);
  return v;
}

static hly_vector *strings(hly_ctx *ctx, uint64_t modulus, uint32_t width) {
  hly_vector *v = hly_vector_create(hly_type_of(HLY_STRING));
  check(hly_vector_reset(ctx, v, BATCH));
  hly_buf *heap = hly_buf_create((size_t)BATCH * 64);
  for (int i = 0; i < BATCH; i++) {
    char *at = (char *)heap->data + i * 64;
    int n = snprintf(at, 64, "%0*llu", (int)width, (unsigned long long)(next() % modulus));
    ((hly_str *)v->values)[i] = hly_str_make(at, (uint32_t)n);
  }
  check(hly_vector_add_heap(ctx, v, heap));
  hly_buf_unref(heap);
  return v;
}

static hly_vector *codes(hly_ctx *ctx, uint32_t n) {
  hly_vector *dict = hly_vector_create(hly_type_of(HLY_STRING)),
             *v = hly_vector_create(hly_type_of(HLY_STRING));
  check(hly_vector_reset(ctx, dict, n));
  for (uint32_t i = 0; i < n; i++) ((hly_str *)dict->values)[i] = hly_str_make(&"ABCDEFGH"[i], 1);
  check(hly_vector_set_dict(ctx, v, dict, BATCH));
  hly_vector_unref(dict);
  for (int i = 0; i < BATCH; i++) v->indices[i] = (uint32_t)(next() % n);
  return v;
}

typedef struct input {
  const char *name;
  uint32_t n_keys;
  hly_vector *keys[2][BATCHES];
} input;

static void run(hly_ctx *ctx, input *in, hly_vector **numbers) {
  hly_arena *arena = hly_arena_create();
  hly_binder b = {.ctx = ctx, .arena = arena};
  const hly_type *types[2];
  for (uint32_t k = 0; k < in->n_keys; k++) types[k] = in->keys[k][0]->type;
  hly_row_layout layout;
  check(hly_row_layout_init(ctx, arena, types, in->n_keys, HLY_GROUP_HEADER, &layout));
  const hly_type *d15 = hly_type_decimal(15, 2), *d25 = hly_type_decimal(25, 2), *l = hly_type_of(HLY_LONG);
  hly_agg *aggs[] = {
      call(&b, "Count", d15, l, NULL, l, in->n_keys > 0),
      call(&b, "Sum", d15, d25, hly_type_of(HLY_BOOLEAN), d25, in->n_keys > 0),
      call(&b, "Average", d15, d25, l, hly_type_decimal(19, 6), in->n_keys > 0),
  };
  for (int a = 0; a < 3; a++) aggs[a]->offset = hly_row_layout_add_tail(&layout, aggs[a]->state_bytes);
  hly_reservation *r = hly_reservation_create(ctx->pool, "bench", NULL, NULL);
  hly_group_table t;
  check(hly_group_table_init(&t, ctx, &layout, r));
  hly_agg_env env = {.ctx = ctx, .store = &t.store};
  hly_agg_scratch scratch = {0};
  uint8_t *one = NULL, **groups = hly_malloc(BATCH * sizeof *groups);
  if (in->n_keys == 0) {
    check(hly_row_store_append(&t.store, &one));
    memset(one, 0, layout.row_bytes);
  }
  double find_ns = 0, update_ns[3] = {0};
  for (int i = 0; i < BATCHES; i++) {
    hly_vector *keys[2] = {in->keys[0][i], in->keys[1][i]};
    int64_t start = cpu_ns();
    uint32_t done = BATCH;
    if (in->n_keys) check(hly_group_table_find(&t, keys, NULL, 0, BATCH, false, groups, &done));
    int64_t end = cpu_ns();
    find_ns += (double)(end - start);
    for (int a = 0; a < 3; a++) {
      start = end;
      check(hly_agg_apply(aggs[a], &env, &scratch, &numbers[i], NULL, 0, BATCH, in->n_keys ? groups : NULL,
                          one));
      end = cpu_ns();
      update_ns[a] += (double)(end - start);
    }
  }
  double n = (double)BATCH * BATCHES;
  printf("%-28s %9llu groups  find %6.2f  count %5.2f  sum %5.2f  average %5.2f ns/row\n", in->name,
         (unsigned long long)t.store.n_rows, find_ns / n, update_ns[0] / n, update_ns[1] / n,
         update_ns[2] / n);
  hly_free(groups);
  hly_agg_scratch_deinit(&scratch);
  hly_group_table_deinit(&t);
  hly_reservation_destroy(r);
  hly_arena_destroy(arena);
}

int main(void) {
  hly_ctx ctx = {.batch_rows = BATCH};
  ctx.pool = hly_pool_create(NULL);
  static hly_vector *numbers[BATCHES];
  for (int i = 0; i < BATCHES; i++) numbers[i] = longs(&ctx, hly_type_decimal(15, 2), 10000000);
  static input inputs[9];
  int n = 0;
  inputs[n++].name = "no keys";
#define INPUT(text, first, second)                                                                           \
  do {                                                                                                       \
    input *in = &inputs[n++];                                                                                \
    in->name = text;                                                                                         \
    for (int i = 0; i < BATCHES; i++) {                                                                      \
      in->keys[0][i] = first;                                                                                \
      in->keys[1][i] = second;                                                                               \
    }                                                                                                        \
    in->n_keys = in->keys[1][0] ? 2 : 1;                                                                     \
  } while (0)
  INPUT("two dictionaries", codes(&ctx, 3), codes(&ctx, 2));
  INPUT("two short strings", strings(&ctx, 3, 1), strings(&ctx, 2, 1));
  INPUT("long, 100 groups", longs(&ctx, hly_type_of(HLY_LONG), 100), NULL);
  INPUT("long, 100k groups", longs(&ctx, hly_type_of(HLY_LONG), 100000), NULL);
  INPUT("long, unique", longs(&ctx, hly_type_of(HLY_LONG), 1ull << 40), NULL);
  INPUT("string of 20, 100k groups", strings(&ctx, 100000, 20), NULL);
  for (int i = 0; i < n; i++) run(&ctx, &inputs[i], numbers);
  for (int i = 0; i < BATCHES; i++) hly_vector_unref(numbers[i]);
  for (int k = 0; k < n; k++)
    for (int i = 0; i < BATCHES; i++)
      for (int c = 0; c < 2; c++) hly_vector_unref(inputs[k].keys[c][i]);
  hly_pool_destroy(ctx.pool);
  return 0;
}
