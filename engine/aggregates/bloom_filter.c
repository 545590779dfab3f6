// BloomFilterAggregate: a Bloom filter of all values, which Spark's planner puts in to filter the other side
// of a join. Buffer and result are the filter's bytes; so is the state, a view of bytes in the table's store.
#include <string.h>

#include "aggregates/aggregate.h"

#include "base/bloom_filter.h"

typedef struct state {
  hly_str bytes; // empty: no row was taken
} state;

// The call's second and third argument; none when it merges.
typedef struct size {
  int64_t n_items, n_bits;
} size;

static hly_bloom_filter filter_of(const state *s) {
  hly_bloom_filter f;
  hly_bloom_filter_read((uint8_t *)(uintptr_t)s->bytes.u.out.ptr, s->bytes.len, &f);
  return f;
}

static hly_status room(hly_agg_env *env, size_t n, uint8_t **out) {
  hly_status st = hly_row_store_heap(env->store, n, false, out);
  if (st != HLY_DENIED) return st;
  env->over = true;
  return hly_row_store_heap(env->store, n, true, out);
}

static hly_status create(const hly_agg *a, hly_agg_env *env, state *s) {
  const size *z = a->settings;
  size_t n = hly_bloom_filter_bytes(z->n_bits);
  uint8_t *bytes;
  HLY_TRY(room(env, n, &bytes));
  hly_bloom_filter_create(bytes, z->n_items, z->n_bits);
  s->bytes = hly_str_make(bytes, (uint32_t)n);
  return HLY_OK;
}

static hly_status keep(hly_agg_env *env, const hly_str *from, state *s) {
  uint8_t *bytes;
  HLY_TRY(room(env, from->len, &bytes));
  memcpy(bytes, hly_str_data(from), from->len);
  s->bytes = hly_str_make(bytes, from->len);
  return HLY_OK;
}

// Adds the filter of `from`, which came from elsewhere.
static hly_status merge(hly_agg_env *env, const hly_str *from, state *s) {
  hly_bloom_filter f;
  if (!hly_bloom_filter_read((uint8_t *)(uintptr_t)hly_str_data(from), from->len, &f))
    return hly_error_setf(&env->ctx->error, HLY_E_PLAN_INVALID,
                          "BloomFilterAggregate: %u bytes are no Bloom filter", from->len);
  if (s->bytes.len == 0) return keep(env, from, s);
  hly_bloom_filter own = filter_of(s);
  if (hly_bloom_filter_merge(&own, &f)) return HLY_OK;
  return hly_error_setf(&env->ctx->error, HLY_E_PLAN_INVALID,
                        "BloomFilterAggregate: filters of different size");
}

#define PUT_EACH(T, ...)                                                                                     \
  for (uint32_t i = 0; i < rows->n; i++) {                                                                   \
    const T *x = &HLY_AGG_AT(T, &in[0], i);                                                                  \
    __VA_ARGS__                                                                                              \
  }

static hly_status update(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                         const hly_agg_rows *rows) {
  state *s = (state *)(void *)(rows->one + a->offset);
  if (rows->n == 0) return HLY_OK;
  if (s->bytes.len == 0) HLY_TRY(create(a, env, s));
  hly_bloom_filter f = filter_of(s);
  switch (a->input_types[0]->phys) {
  case HLY_PHYS_I8: PUT_EACH(int8_t, hly_bloom_filter_put_long(&f, *x);) break;
  case HLY_PHYS_I16: PUT_EACH(int16_t, hly_bloom_filter_put_long(&f, *x);) break;
  case HLY_PHYS_I32: PUT_EACH(int32_t, hly_bloom_filter_put_long(&f, *x);) break;
  case HLY_PHYS_I64: PUT_EACH(int64_t, hly_bloom_filter_put_long(&f, *x);) break;
  default: PUT_EACH(hly_str, hly_bloom_filter_put_bytes(&f, hly_str_data(x), x->len);) break;
  }
  return HLY_OK;
}

static hly_status update_buffers(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                                 const hly_agg_rows *rows) {
  state *s = (state *)(void *)(rows->one + a->offset);
  PUT_EACH(hly_str, HLY_TRY(merge(env, x, s));)
  return HLY_OK;
}

static hly_status combine(const hly_agg *a, hly_agg_env *env, uint8_t *const *to, uint8_t *const *from,
                          uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    const state *f = (const state *)(const void *)(from[i] + a->offset);
    if (f->bytes.len) HLY_TRY(merge(env, &f->bytes, (state *)(void *)(to[i] + a->offset)));
  }
  return HLY_OK;
}

static hly_status adopt(const hly_agg *a, hly_agg_env *env, uint8_t *row) {
  state *s = (state *)(void *)(row + a->offset);
  hly_str from = s->bytes;
  return from.len ? keep(env, &from, s) : HLY_OK;
}

// One row: there are no groups. As a result an empty filter is null, as a buffer it is a filter.
static hly_status emit(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n,
                       hly_vector *const *out, uint32_t *n_good) {
  const state *s = (const state *)(const void *)(rows[0] + a->offset);
  (void)n_good;
  if (s->bytes.len) {
    hly_bloom_filter f = filter_of(s);
    uint8_t null = a->is_final && hly_bloom_filter_is_empty(&f);
    return hly_row_gather_views(ctx, rows, a->offset, n, &null, out[0]);
  }
  HLY_TRY(hly_agg_begin(ctx, out[0], n));
  if (a->is_final) return hly_agg_set_null(ctx, out[0], 0);
  const size *z = a->settings;
  size_t n_bytes = hly_bloom_filter_bytes(z->n_bits);
  hly_buf *heap = hly_buf_create(n_bytes);
  HLY_CHECK_MEM(ctx, heap, (int64_t)n_bytes);
  hly_bloom_filter_create(heap->data, z->n_items, z->n_bits);
  ((hly_str *)out[0]->values)[0] = hly_str_make(heap->data, (uint32_t)n_bytes);
  hly_status st = hly_vector_add_heap(ctx, out[0], heap);
  hly_buf_unref(heap);
  return st;
}

static bool positive(const Halley__Expr *e, int64_t *out) {
  if (!e->literal || e->literal->value_case != HALLEY__LITERAL__VALUE_INT_VALUE) return false;
  *out = e->literal->int_value;
  return *out > 0;
}

static hly_status bind_size(hly_binder *b, const Halley__AggCall *call, hly_agg *a) {
  char text[128];
  const hly_type *type = a->input_types[0];
  size *z = HLY_ARENA_NEW(b->arena, size);
  HLY_CHECK_MEM(b->ctx, z, sizeof *z);
  bool integral = type->phys >= HLY_PHYS_I8 && type->phys <= HLY_PHYS_I64 && type->kind <= HLY_LONG;
  if (!integral && (type->kind != HLY_STRING || type->collation))
    return hly_bind_refuse(b, "%s of %s has no native form", a->cls, hly_type_print(type, text, sizeof text));
  if (a->n_inputs != 3 || !positive(call->args[1], &z->n_items) || !positive(call->args[2], &z->n_bits) ||
      hly_bloom_filter_bytes(z->n_bits) == 0)
    return hly_bind_refuse(b, "%s: its size is no positive constant", a->cls);
  a->settings = z;
  a->n_inputs = 1;
  return HLY_OK;
}

hly_status hly_agg_bind_bloom_filter(hly_binder *b, const Halley__AggCall *call, hly_agg *a) {
  if (a->n_buffers != 1 || a->buffer_types[0]->kind != HLY_BINARY || a->type->kind != HLY_BINARY)
    return hly_bind_refuse(b, "%s has another buffer than expected", a->cls);
  if (a->grouped) return hly_bind_refuse(b, "%s by group has no native form", a->cls);
  if (a->mode == HALLEY__AGG_MODE__PARTIAL_MERGE)
    return hly_bind_refuse(b, "%s that merges without an end has no native form", a->cls);
  if (!a->merges) HLY_TRY(bind_size(b, call, a));
  a->state_bytes = sizeof(state);
  a->has_view = true;
  a->update = a->merges ? update_buffers : update;
  a->combine = combine;
  a->adopt = adopt;
  a->emit = emit;
  return HLY_OK;
}
