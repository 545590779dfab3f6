#include "functions/membership.h"

#include <string.h>

#include "base/hash.h"
#include "functions/membership_table.h"
#include "vector/decimal.h"

static const hly_member_table *const tables[HLY_N_CPU] = {&hly_member_baseline, &hly_member_v3,
                                                          &hly_member_v4};

// Equal values have equal keys: floats with one NaN and one zero, strings by their bytes.
static uint64_t hash_value(hly_phys phys, const void *at) {
  uint64_t x = 0, y = 0;
  switch (phys) {
  case HLY_PHYS_F32: {
    float f;
    memcpy(&f, at, sizeof f);
    f = f != f ? __builtin_nanf("") : f + 0.0f;
    memcpy(&x, &f, sizeof f);
    return hly_hash64_int(x);
  }
  case HLY_PHYS_F64: {
    double f;
    memcpy(&f, at, sizeof f);
    f = f != f ? __builtin_nan("") : f + 0.0;
    memcpy(&x, &f, sizeof f);
    return hly_hash64_int(x);
  }
  case HLY_PHYS_STR: {
    const hly_str *s = at;
    return hly_hash64_bytes(hly_str_data(s), s->len, 0);
  }
  case HLY_PHYS_I128:
    memcpy(&x, at, 8);
    memcpy(&y, (const char *)at + 8, 8);
    return hly_hash64_combine(hly_hash64_int(x), y);
  default: memcpy(&x, at, hly_phys_size[phys]); return hly_hash64_int(x);
  }
}

static bool equal_value(hly_phys phys, const void *a, const void *b) {
  switch (phys) {
  case HLY_PHYS_F32: {
    float x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x == y || (x != x && y != y);
  }
  case HLY_PHYS_F64: {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x == y || (x != x && y != y);
  }
  case HLY_PHYS_STR: return hly_str_equal(a, b);
  default: return memcmp(a, b, hly_phys_size[phys]) == 0;
  }
}

static bool find(const hly_member_state *s, const void *at, uint32_t size) {
  for (uint32_t h = (uint32_t)hash_value(s->phys, at) & s->mask;; h = (h + 1) & s->mask) {
    uint32_t slot = s->slots[h];
    if (!slot) return false;
    if (equal_value(s->phys, (const char *)s->list + (size_t)(slot - 1) * size, at)) return true;
  }
}

static hly_status member(hly_call *call) {
  const hly_member_state *s = call->state;
  const hly_arg *a = &call->args[0];
  uint8_t *out = call->out;
  uint32_t size = hly_phys_size[s->phys];
  HLY_FOR_ROWS(call->rows, i, out[i] = call->valid[i] && find(s, hly_arg_at(a, i, size), size););
  if (s->has_null) HLY_FOR_ROWS(call->rows, i, call->valid[i] &= out[i];);
  return HLY_OK;
}

static hly_status member_small(hly_call *call) {
  const hly_member_state *s = call->state;
  uint8_t *out = call->out;
  HLY_TRY(tables[hly_cpu_level()]->small[s->phys](call));
  if (s->has_null) HLY_FOR_ROWS(call->rows, i, call->valid[i] &= out[i];);
  return HLY_OK;
}

// A decimal constant at the value's scale. False when no value of that type can equal it.
static bool align_decimal(const hly_literal *lit, const hly_type *to, hly_i128 *out) {
  hly_i128 x = lit->type->phys == HLY_PHYS_I64 ? lit->value.i64 : lit->value.i128;
  int up = to->scale - lit->type->scale;
  if (up > 0 && __builtin_mul_overflow(x, hly_pow10_i128[up], &x)) return false;
  if (up < 0) {
    if (x % hly_pow10_i128[-up] != 0) return false;
    x /= hly_pow10_i128[-up];
  }
  if (to->phys == HLY_PHYS_I64 && (x > INT64_MAX || x < INT64_MIN)) return false;
  *out = x;
  return true;
}

hly_status hly_bind_member(hly_binder *b, const hly_fn_call *call, hly_kernel *out) {
  const hly_type *type = call->arg_types[0];
  uint32_t size = hly_phys_size[type->phys], n_list = call->n_args - 1;
  hly_member_state *s = HLY_ARENA_NEW(b->arena, hly_member_state);
  uint8_t *list = hly_arena_array(b->arena, n_list + 1u, size);
  if (!s || !list) return hly_ctx_nomem(b->ctx, (int64_t)size * n_list);
  s->phys = type->phys;
  s->list = list;
  bool all_inline = true;
  for (uint32_t i = 1; i < call->n_args; i++) {
    const hly_literal *lit = call->literals[i];
    if (lit->is_null) {
      s->has_null = true;
      continue;
    }
    uint8_t *at = list + (size_t)s->n * size;
    if (type->kind == HLY_DECIMAL) {
      hly_i128 x;
      if (!align_decimal(lit, type, &x)) continue;
      memcpy(at, &x, size); // little-endian: the low bytes are the int64
    } else {
      memcpy(at, lit->value.bytes, size);
    }
    if (type->phys == HLY_PHYS_STR) all_inline &= ((const hly_str *)at)->len <= HLY_STR_INLINE;
    s->n++;
  }
  out->state = s;
  out->nulls = s->has_null ? HLY_NULLS_MAY_ADD : HLY_NULLS_STRICT;
  if (s->n <= HLY_MEMBER_SMALL && (type->phys != HLY_PHYS_STR || all_inline)) {
    out->fn = s->has_null ? member_small : tables[call->cpu]->small[type->phys];
    return HLY_OK;
  }
  out->nulls = HLY_NULLS_MAY_ADD; // looking up a string at a null row would follow a wild pointer
  out->fn = member;
  uint32_t cap = 16;
  while (cap < s->n * 2 + 2) cap *= 2;
  uint32_t *slots = HLY_ARENA_NEW_N(b->arena, uint32_t, cap);
  HLY_CHECK_MEM(b->ctx, slots, cap * sizeof *slots);
  s->slots = slots;
  s->mask = cap - 1;
  for (uint32_t k = 0; k < s->n; k++) {
    const void *at = list + (size_t)k * size;
    if (find(s, at, size)) continue;
    uint32_t h = (uint32_t)hash_value(s->phys, at) & s->mask;
    while (slots[h]) h = (h + 1) & s->mask;
    slots[h] = k + 1;
  }
  return HLY_OK;
}
