#include "aggregates/kept_value.h"

#include "base/mem.h"

hly_status hly_kept_set_str(hly_agg_env *env, hly_kept_str *s, const hly_str *value) {
  s->kept.set = s->kept.not_null = 1;
  if (value->len <= HLY_STR_INLINE) {
    s->kept.value.str = *value;
    return HLY_OK;
  }
  if (value->len > s->n_room) {
    // Room grows by doubling, so that what is abandoned stays below what is kept.
    uint64_t n = (uint64_t)s->n_room * 2 > value->len ? (uint64_t)s->n_room * 2 : value->len;
    n = n > INT32_MAX ? value->len : (n + 7) / 8 * 8;
    uint8_t *room;
    hly_status st = hly_row_store_heap(env->store, n, false, &room);
    if (st == HLY_DENIED) {
      env->over = true;
      st = hly_row_store_heap(env->store, n, true, &room);
    }
    HLY_TRY(st);
    s->room = room;
    s->n_room = (uint32_t)n;
  }
  memmove(s->room, value->u.out.ptr, value->len);
  s->kept.value.str = hly_str_make(s->room, value->len);
  return HLY_OK;
}

static hly_status adopt_str(const hly_agg *a, hly_agg_env *env, uint8_t *row) {
  hly_kept_str *s = (hly_kept_str *)(void *)(row + a->offset);
  s->room = NULL;
  s->n_room = 0;
  if (s->kept.value.str.len <= HLY_STR_INLINE) return HLY_OK;
  hly_str value = s->kept.value.str;
  return hly_kept_set_str(env, s, &value);
}

hly_status hly_kept_bind(hly_binder *b, hly_agg *a, const hly_type *type) {
  if (type->collation || type->phys == HLY_PHYS_NONE || type->phys == HLY_PHYS_SPAN ||
      type->phys == HLY_PHYS_VARIANT)
    return hly_agg_refuse_type(b, a, type);
  a->has_view = type->phys == HLY_PHYS_STR;
  a->state_bytes = a->has_view ? sizeof(hly_kept_str) : sizeof(hly_kept);
  if (a->has_view) a->adopt = adopt_str;
  return HLY_OK;
}

hly_status hly_kept_move(const hly_agg *a, hly_agg_env *env, hly_kept *to, const hly_kept *from) {
  if (a->has_view && from->not_null)
    return hly_kept_set_str(env, (hly_kept_str *)(void *)to, &from->value.str);
  to->value = from->value;
  to->set = from->set;
  to->not_null = from->not_null;
  return HLY_OK;
}

#define EMIT(size)                                                                                           \
  for (uint32_t i = 0; i < n; i++)                                                                           \
  memcpy((uint8_t *)out->values + (size_t)i * size, rows[i] + a->offset, size)

hly_status hly_kept_emit(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n, hly_vector *out) {
  if (a->has_view) {
    uint8_t *nulls = hly_malloc(n);
    HLY_CHECK_MEM(ctx, nulls, n);
    for (uint32_t i = 0; i < n; i++)
      nulls[i] = !((const hly_kept *)(const void *)(rows[i] + a->offset))->not_null;
    hly_status st = hly_row_gather_views(ctx, rows, a->offset, n, nulls, out);
    hly_free(nulls);
    return st;
  }
  HLY_TRY(hly_agg_begin(ctx, out, n));
  switch (hly_phys_size[out->type->phys]) {
  case 1: EMIT(1); break;
  case 2: EMIT(2); break;
  case 4: EMIT(4); break;
  case 8: EMIT(8); break;
  default: EMIT(16); break;
  }
  for (uint32_t i = 0; i < n; i++)
    if (!((const hly_kept *)(const void *)(rows[i] + a->offset))->not_null)
      HLY_TRY(hly_agg_set_null(ctx, out, i));
  return HLY_OK;
}
