#include "type_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "vector/decimal.h"

typedef struct parser {
  hly_arena *arena;
  const char *p;
} parser;

static bool accept(parser *in, const char *word) {
  size_t n = strlen(word);
  if (strncmp(in->p, word, n) != 0) return false;
  in->p += n;
  return true;
}

static const hly_type *parse(parser *in);

static const hly_type *parse_nested(parser *in, hly_kind kind) {
  hly_field fields[256];
  uint32_t n = 0;
  while (!accept(in, ">")) {
    if (n) assert_true(accept(in, ","));
    assert_true(n < 256);
    fields[n] = (hly_field){.name = "", .nullable = true};
    if (kind == HLY_STRUCT) {
      const char *colon = strchr(in->p, ':');
      assert_non_null(colon);
      fields[n].name = hly_arena_copy(in->arena, in->p, (size_t)(colon - in->p));
      in->p = colon + 1;
    }
    fields[n++].type = parse(in);
  }
  hly_type *type = HLY_ARENA_NEW(in->arena, hly_type);
  assert_non_null(type);
  *type = (hly_type){.kind = kind, .phys = hly_type_phys(kind, 0), .n_fields = n};
  type->fields = (const hly_field *)hly_arena_copy(in->arena, fields, n * sizeof *fields);
  return type;
}

static const hly_type *parse(parser *in) {
  if (accept(in, "array<")) return parse_nested(in, HLY_ARRAY);
  if (accept(in, "map<")) return parse_nested(in, HLY_MAP);
  if (accept(in, "struct<")) return parse_nested(in, HLY_STRUCT);
  if (accept(in, "decimal(")) {
    char *end;
    long precision = strtol(in->p, &end, 10);
    assert_int_equal(*end, ',');
    long scale = strtol(end + 1, &end, 10);
    in->p = end;
    assert_true(accept(in, ")"));
    return hly_type_decimal((int)precision, (int)scale);
  }
  if (accept(in, "time(")) {
    hly_type *type = HLY_ARENA_NEW(in->arena, hly_type);
    assert_non_null(type);
    *type = (hly_type){.kind = HLY_TIME, .phys = HLY_PHYS_I64, .precision = (uint8_t)(*in->p - '0')};
    in->p++;
    assert_true(accept(in, ")"));
    return type;
  }
  // The longest name that matches: "timestamp_ntz" before "timestamp".
  const hly_type *best = NULL;
  size_t best_length = 0;
  for (int kind = 0; kind < HLY_N_KINDS; kind++) {
    const hly_type *type = hly_type_of((hly_kind)kind);
    if (!type) continue;
    char name[64];
    size_t n = strlen(hly_type_print(type, name, sizeof name));
    if (n > best_length && strncmp(in->p, name, n) == 0) {
      best = type;
      best_length = n;
    }
  }
  if (!best) print_error("not a type: %s\n", in->p);
  assert_non_null(best);
  in->p += best_length;
  return best;
}

const hly_type *test_type(hly_arena *arena, const char *text) {
  parser in = {arena, text};
  const hly_type *type = parse(&in);
  assert_string_equal(in.p, "");
  return type;
}

hly_schema test_schema(hly_arena *arena, const char *text) {
  const hly_type *type = test_type(arena, text);
  assert_int_equal(type->kind, HLY_STRUCT);
  return (hly_schema){type->n_fields, type->fields};
}

static char *str_text(hly_arena *arena, const hly_str *s) {
  char *out = hly_arena_alloc(arena, 2 + 2 * (size_t)s->len);
  assert_non_null(out);
  out[0] = 'x';
  for (uint32_t i = 0; i < s->len; i++) {
    static const char digit[] = "0123456789abcdef";
    out[1 + 2 * i] = digit[hly_str_data(s)[i] >> 4];
    out[2 + 2 * i] = digit[hly_str_data(s)[i] & 15];
  }
  return out;
}

static char *list_text(hly_arena *arena, const hly_vector *v, uint32_t from, uint32_t n) {
  char *out = hly_arena_copy(arena, "[", 1);
  for (uint32_t i = 0; i < n; i++)
    out = hly_arena_printf(arena, "%s%s%s", out, i ? "," : "", test_value_text(arena, v, from + i));
  return hly_arena_printf(arena, "%s]", out);
}

char *test_value_text(hly_arena *arena, const hly_vector *v, uint32_t row) {
  if (hly_vector_is_null(v, row)) return hly_arena_copy(arena, "null", 4);
  uint32_t i = hly_vector_index(v, row);
  if (v->encoding == HLY_DICT) v = v->dict;
  const void *values = v->values;
  if (v->type->kind == HLY_DECIMAL) {
    char text[64];
    hly_i128 x = v->type->phys == HLY_PHYS_I64 ? ((const int64_t *)values)[i] : ((const hly_i128 *)values)[i];
    int n = hly_decimal_print_plain(x, v->type->scale, text);
    return hly_arena_copy(arena, text, (size_t)n);
  }
  switch (v->type->phys) {
  case HLY_PHYS_BOOL: return hly_arena_printf(arena, "%s", ((const uint8_t *)values)[i] ? "true" : "false");
  case HLY_PHYS_I8: return hly_arena_printf(arena, "%d", ((const int8_t *)values)[i]);
  case HLY_PHYS_I16: return hly_arena_printf(arena, "%d", ((const int16_t *)values)[i]);
  case HLY_PHYS_I32: return hly_arena_printf(arena, "%" PRId32, ((const int32_t *)values)[i]);
  case HLY_PHYS_I64: return hly_arena_printf(arena, "%" PRId64, ((const int64_t *)values)[i]);
  case HLY_PHYS_F32: return hly_arena_printf(arena, "%08" PRIx32, ((const uint32_t *)values)[i]);
  case HLY_PHYS_F64: return hly_arena_printf(arena, "%016" PRIx64, ((const uint64_t *)values)[i]);
  case HLY_PHYS_STR: return str_text(arena, (const hly_str *)values + i);
  case HLY_PHYS_VARIANT: {
    const hly_str *pair = (const hly_str *)values + 2 * (size_t)i;
    return hly_arena_printf(arena, "%s/%s", str_text(arena, pair), str_text(arena, pair + 1));
  }
  case HLY_PHYS_INTERVAL: {
    const hly_interval *x = (const hly_interval *)values + i;
    return hly_arena_printf(arena, "%" PRId32 "/%" PRId32 "/%" PRId64, x->months, x->days, x->micros);
  }
  case HLY_PHYS_SPAN: {
    const hly_span *s = (const hly_span *)values + i;
    char *out = list_text(arena, v->children[0], (uint32_t)s->offset, (uint32_t)s->length);
    if (v->type->kind == HLY_ARRAY) return out;
    return hly_arena_printf(arena, "%s%s", out,
                            list_text(arena, v->children[1], (uint32_t)s->offset, (uint32_t)s->length));
  }
  default: {
    char *out = hly_arena_copy(arena, "(", 1);
    for (uint32_t f = 0; f < v->type->n_fields; f++)
      out = hly_arena_printf(arena, "%s%s%s", out, f ? "," : "", test_value_text(arena, v->children[f], i));
    return hly_arena_printf(arena, "%s)", out);
  }
  }
}

// ---- random vectors -------------------------------------------------------------------------------------

static uint64_t next(uint64_t *seed) { // splitmix64
  uint64_t x = *seed += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

static hly_status random_str(hly_ctx *ctx, hly_vector *v, hly_str *out, uint64_t *seed) {
  static const uint8_t lengths[] = {0, 1, 3, 4, 5, 8, 11, 12, 13, 16, 17, 40};
  uint8_t bytes[40];
  uint32_t n = lengths[next(seed) % sizeof lengths];
  for (uint32_t i = 0; i < n; i++) bytes[i] = (uint8_t)next(seed);
  *out = (hly_str){0};
  if (n <= HLY_STR_INLINE) {
    *out = hly_str_make(bytes, n);
    return HLY_OK;
  }
  hly_buf *heap = hly_buf_create(n);
  HLY_CHECK_MEM(ctx, heap, n);
  memcpy(heap->data, bytes, n);
  hly_status st = hly_vector_add_heap(ctx, v, heap);
  if (st == HLY_OK) *out = hly_str_make(heap->data, n);
  hly_buf_unref(heap);
  return st;
}

static uint64_t random_long(uint64_t *seed) {
  switch (next(seed) % 6) {
  case 0: return 0;
  case 1: return UINT64_MAX;
  case 2: return (uint64_t)INT64_MIN;
  case 3: return INT64_MAX;
  default: return (uint64_t)((int64_t)next(seed) >> (next(seed) % 64));
  }
}

static hly_status fill(hly_ctx *ctx, hly_vector *v, uint32_t n, uint32_t null_percent, uint64_t *seed) {
  HLY_TRY(hly_vector_reset(ctx, v, n));
  if (null_percent && v->type->kind != HLY_NULL) {
    HLY_TRY(hly_vector_need_validity(ctx, v));
    for (uint32_t i = 0; i < n; i++)
      if (next(seed) % 100 < null_percent) hly_bits_clear(v->validity, i);
  }
  uint32_t elements = 0;
  for (uint32_t i = 0; i < n; i++) {
    bool null = hly_vector_is_null(v, i);
    uint64_t x = random_long(seed);
    switch (v->type->phys) {
    case HLY_PHYS_BOOL: ((uint8_t *)v->values)[i] = x & 1; break;
    case HLY_PHYS_I8: ((uint8_t *)v->values)[i] = (uint8_t)x; break;
    case HLY_PHYS_I16: ((uint16_t *)v->values)[i] = (uint16_t)x; break;
    case HLY_PHYS_I32:
    case HLY_PHYS_F32: ((uint32_t *)v->values)[i] = (uint32_t)x; break;
    case HLY_PHYS_I64:
      if (v->type->kind == HLY_DECIMAL) x = (uint64_t)((int64_t)x % hly_pow10_i64[v->type->precision]);
      ((uint64_t *)v->values)[i] = x;
      break;
    case HLY_PHYS_F64: ((uint64_t *)v->values)[i] = x; break;
    case HLY_PHYS_I128: {
      hly_i128 wide = (hly_i128)((hly_u128)next(seed) << 64 | x);
      if (x & 4) wide = (int64_t)x;
      ((hly_i128 *)v->values)[i] = wide % hly_pow10_i128[v->type->precision];
      break;
    }
    case HLY_PHYS_INTERVAL:
      ((hly_interval *)v->values)[i] = (hly_interval){(int32_t)x, (int32_t)(x >> 32), (int64_t)next(seed)};
      break;
    case HLY_PHYS_STR:
    case HLY_PHYS_VARIANT: {
      uint32_t per_row = v->type->phys == HLY_PHYS_STR ? 1 : 2;
      for (uint32_t j = 0; j < per_row; j++) {
        hly_str *s = (hly_str *)v->values + (size_t)i * per_row + j;
        hly_status st = HLY_OK;
        if (null)
          memset(s, 0, sizeof *s);
        else
          st = random_str(ctx, v, s, seed);
        HLY_TRY(st);
      }
      break;
    }
    case HLY_PHYS_SPAN: {
      uint32_t length = null ? 0 : (uint32_t)(next(seed) % 4);
      if (!null && next(seed) % 50 == 0) length = 70;
      ((hly_span *)v->values)[i] = (hly_span){(int32_t)(length ? elements : 0), (int32_t)length};
      elements += length;
      break;
    }
    default: break;
    }
  }
  for (uint32_t f = 0; hly_type_is_nested(v->type) && f < v->type->n_fields; f++) {
    bool key = v->type->kind == HLY_MAP && f == 0;
    HLY_TRY(
        fill(ctx, v->children[f], v->type->kind == HLY_STRUCT ? n : elements, key ? 0 : null_percent, seed));
  }
  return HLY_OK;
}

hly_status test_random_vector(hly_ctx *ctx, const hly_type *type, uint32_t n, uint32_t null_percent,
                              uint64_t *seed, hly_vector **out) {
  hly_vector *v = hly_vector_create(type);
  HLY_CHECK_MEM(ctx, v, sizeof *v);
  hly_status st = fill(ctx, v, n, null_percent, seed);
  if (st != HLY_OK) {
    hly_vector_unref(v);
    return st;
  }
  *out = v;
  return HLY_OK;
}
