#include "random_batch.h"

#include <string.h>

#include "vector/decimal.h"

#define FIELD(n, t)                                                                                          \
  { .name = n, .type = t, .nullable = true }

static const hly_type INT = {.kind = HLY_INT, .phys = HLY_PHYS_I32};
static const hly_type LONG = {.kind = HLY_LONG, .phys = HLY_PHYS_I64};
static const hly_type STRING = {.kind = HLY_STRING, .phys = HLY_PHYS_STR};
static const hly_type DECIMAL_38 = {.kind = HLY_DECIMAL, .precision = 38, .scale = 10, .phys = HLY_PHYS_I128};
static const hly_field INT_ELEMENT[] = {FIELD("element", &INT)};
static const hly_type INTS = {.kind = HLY_ARRAY, .phys = HLY_PHYS_SPAN, .n_fields = 1, .fields = INT_ELEMENT};
static const hly_field PAIR_FIELDS[] = {FIELD("a", &STRING), FIELD("b", &DECIMAL_38)};
static const hly_type PAIR = {.kind = HLY_STRUCT, .n_fields = 2, .fields = PAIR_FIELDS};
static const hly_field PAIR_ELEMENT[] = {FIELD("element", &PAIR)};
static const hly_type PAIRS = {
    .kind = HLY_ARRAY, .phys = HLY_PHYS_SPAN, .n_fields = 1, .fields = PAIR_ELEMENT};
static const hly_field MAP_FIELDS[] = {FIELD("key", &STRING), FIELD("value", &INTS)};
static const hly_type MAP = {.kind = HLY_MAP, .phys = HLY_PHYS_SPAN, .n_fields = 2, .fields = MAP_FIELDS};
static const hly_field DEEP_FIELDS[] = {FIELD("x", &LONG), FIELD("y", &PAIRS), FIELD("z", &PAIR)};
static const hly_type DEEP = {.kind = HLY_STRUCT, .n_fields = 3, .fields = DEEP_FIELDS};
static const hly_type EMPTY = {.kind = HLY_STRUCT};
static const hly_type NULLS = {.kind = HLY_NULL};
static const hly_field NULL_ELEMENT[] = {FIELD("element", &NULLS)};
static const hly_type NULL_ARRAY = {
    .kind = HLY_ARRAY, .phys = HLY_PHYS_SPAN, .n_fields = 1, .fields = NULL_ELEMENT};
static const hly_type BOOLEAN = {.kind = HLY_BOOLEAN, .phys = HLY_PHYS_BOOL};
static const hly_type BYTE = {.kind = HLY_BYTE, .phys = HLY_PHYS_I8};
static const hly_type SHORT = {.kind = HLY_SHORT, .phys = HLY_PHYS_I16};
static const hly_type FLOAT = {.kind = HLY_FLOAT, .phys = HLY_PHYS_F32};
static const hly_type DOUBLE = {.kind = HLY_DOUBLE, .phys = HLY_PHYS_F64};
static const hly_type DECIMAL_12 = {.kind = HLY_DECIMAL, .precision = 12, .scale = 2, .phys = HLY_PHYS_I64};
static const hly_type DATE = {.kind = HLY_DATE, .phys = HLY_PHYS_I32};
static const hly_type TIMESTAMP = {.kind = HLY_TIMESTAMP, .phys = HLY_PHYS_I64};
static const hly_type TIME = {.kind = HLY_TIME, .precision = 6, .phys = HLY_PHYS_I64};
static const hly_type MONTHS = {.kind = HLY_YEAR_MONTH_INTERVAL, .phys = HLY_PHYS_I32};
static const hly_type INTERVAL = {.kind = HLY_CALENDAR_INTERVAL, .phys = HLY_PHYS_INTERVAL};
static const hly_type BINARY = {.kind = HLY_BINARY, .phys = HLY_PHYS_STR};
static const hly_type VARIANT = {.kind = HLY_VARIANT, .phys = HLY_PHYS_VARIANT};

#define FLAT_FIELDS                                                                                          \
  FIELD("boolean", &BOOLEAN), FIELD("byte", &BYTE), FIELD("short", &SHORT), FIELD("int", &INT),              \
      FIELD("long", &LONG), FIELD("float", &FLOAT), FIELD("double", &DOUBLE), FIELD("d12", &DECIMAL_12),     \
      FIELD("d38", &DECIMAL_38), FIELD("date", &DATE), FIELD("timestamp", &TIMESTAMP), FIELD("time", &TIME), \
      FIELD("months", &MONTHS), FIELD("string", &STRING), FIELD("binary", &BINARY)

static const hly_field ALL[] = {
    FLAT_FIELDS,          FIELD("interval", &INTERVAL), FIELD("variant", &VARIANT),  FIELD("null", &NULLS),
    FIELD("ints", &INTS), FIELD("pairs", &PAIRS),       FIELD("map", &MAP),          FIELD("pair", &PAIR),
    FIELD("deep", &DEEP), FIELD("empty", &EMPTY),       FIELD("nulls", &NULL_ARRAY),
};
static const hly_field FLAT[] = {FLAT_FIELDS};
const hly_schema test_all_types = {sizeof ALL / sizeof *ALL, ALL};
const hly_schema test_flat_types = {sizeof FLAT / sizeof *FLAT, FLAT};

uint64_t test_next(test_random *r) { // splitmix64
  uint64_t z = r->state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

static uint64_t value_seed(test_random *r, const test_shape *shape) {
  return shape->distinct ? test_below(r, shape->distinct) * 0x2545f4914f6cdd1dull : test_next(r);
}

// A string of bytes that follow from a seed.
static hly_status random_string(hly_ctx *ctx, hly_vector *v, hly_str *out, uint64_t seed,
                                const test_shape *shape) {
  test_random own = {seed};
  uint32_t n = shape->max_string ? test_below(&own, shape->max_string + 1) : 0;
  if (n <= HLY_STR_INLINE) {
    uint8_t bytes[HLY_STR_INLINE];
    for (uint32_t i = 0; i < n; i++) bytes[i] = (uint8_t)test_next(&own);
    *out = hly_str_make(bytes, n);
    return HLY_OK;
  }
  hly_buf *heap = hly_buf_create(n);
  HLY_CHECK_MEM(ctx, heap, n);
  for (uint32_t i = 0; i < n; i++) heap->data[i] = (uint8_t)(test_next(&own) & 31);
  *out = hly_str_make(heap->data, n);
  hly_status st = hly_vector_add_heap(ctx, v, heap);
  hly_buf_unref(heap);
  return st;
}

static hly_status fill(hly_ctx *ctx, test_random *r, hly_vector *v, const test_shape *shape, bool nulls) {
  uint32_t n = shape->n_rows;
  HLY_TRY(hly_vector_reset(ctx, v, n));
  if (nulls && shape->null_percent && v->type->kind != HLY_NULL) {
    HLY_TRY(hly_vector_need_validity(ctx, v));
    for (uint32_t i = 0; i < n; i++) {
      if (test_below(r, 100) < shape->null_percent) hly_bits_clear(v->validity, i);
    }
  }
  test_shape inner = *shape;
  inner.encoding = HLY_FLAT;
  switch (v->type->phys) {
  case HLY_PHYS_BOOL:
    for (uint32_t i = 0; i < n; i++) ((uint8_t *)v->values)[i] = test_next(r) & 1;
    return HLY_OK;
  case HLY_PHYS_STR:
  case HLY_PHYS_VARIANT: {
    uint32_t each = v->type->phys == HLY_PHYS_STR ? 1 : 2;
    memset(v->values, 0, (size_t)n * each * sizeof(hly_str));
    for (uint32_t i = 0; i < n * each; i++) {
      HLY_TRY(random_string(ctx, v, (hly_str *)v->values + i, value_seed(r, shape), shape));
    }
    return HLY_OK;
  }
  case HLY_PHYS_SPAN: {
    int32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
      // Gaps between spans, as a filter leaves them.
      if (test_below(r, 8) == 0) at++;
      int32_t len = (int32_t)test_below(r, 4);
      ((hly_span *)v->values)[i] = (hly_span){at, len};
      at += len;
    }
    inner.n_rows = (uint32_t)at;
    for (uint32_t c = 0; c < v->type->n_fields; c++) {
      HLY_TRY(fill(ctx, r, v->children[c], &inner, v->type->kind == HLY_ARRAY || c == 1));
    }
    return HLY_OK;
  }
  case HLY_PHYS_NONE:
    for (uint32_t c = 0; c < v->type->n_fields; c++) HLY_TRY(fill(ctx, r, v->children[c], &inner, true));
    return HLY_OK;
  default: {
    uint32_t size = hly_phys_size[v->type->phys];
    // Small ranges as often as large ones.
    uint32_t shift = test_below(r, 4) * 16;
    for (uint32_t i = 0; i < n; i++) {
      uint64_t x[2] = {value_seed(r, shape), 0};
      x[0] >>= shift;
      if (size == 16 && shift == 0) x[1] = test_next(r) >> 8;
      if (v->type->kind == HLY_DECIMAL) {
        hly_i128 d = size == 8 ? (int64_t)x[0] : (hly_i128)((hly_u128)x[1] << 64 | x[0]);
        d %= hly_pow10_i128[v->type->precision];
        memcpy(x, &d, sizeof x);
      }
      memcpy((uint8_t *)v->values + (size_t)i * size, x, size);
    }
    return HLY_OK;
  }
  }
}

static hly_status random_vector(hly_ctx *ctx, test_random *r, hly_vector *v, const test_shape *shape) {
  if (shape->encoding == HLY_FLAT || v->type->kind == HLY_NULL) return fill(ctx, r, v, shape, true);
  test_shape inner = *shape;
  inner.encoding = HLY_FLAT;
  if (shape->encoding == HLY_CONST) {
    inner.n_rows = 1;
    HLY_TRY(fill(ctx, r, v, &inner, true));
    v->encoding = HLY_CONST;
    v->n_rows = shape->n_rows;
    return HLY_OK;
  }
  inner.n_rows = shape->distinct ? shape->distinct : 5;
  hly_vector *dict = hly_vector_create(v->type);
  HLY_CHECK_MEM(ctx, dict, sizeof *dict);
  hly_status st = fill(ctx, r, dict, &inner, false);
  if (st == HLY_OK) st = hly_vector_set_dict(ctx, v, dict, shape->n_rows);
  hly_vector_unref(dict);
  HLY_TRY(st);
  for (uint32_t i = 0; i < shape->n_rows; i++) v->indices[i] = test_below(r, inner.n_rows);
  if (shape->null_percent) {
    HLY_TRY(hly_vector_need_validity(ctx, v));
    for (uint32_t i = 0; i < shape->n_rows; i++) {
      if (test_below(r, 100) >= shape->null_percent) continue;
      hly_bits_clear(v->validity, i);
      v->indices[i] = 0;
    }
  }
  return HLY_OK;
}

hly_vector *test_shaped_vector(hly_ctx *ctx, test_random *r, const hly_type *type, const test_shape *shape,
                               hly_status *st) {
  hly_vector *v = hly_vector_create(type);
  hly_status own = v ? random_vector(ctx, r, v, shape) : hly_ctx_nomem(ctx, sizeof *v);
  if (st) {
    *st = own;
  } else {
    assert_ok(ctx, own);
  }
  if (own == HLY_OK) return v;
  hly_vector_unref(v);
  return NULL;
}

hly_batch *test_shaped_batch(hly_ctx *ctx, hly_arena *arena, test_random *r, const hly_schema *schema,
                             const test_shape *shape, hly_status *st) {
  hly_batch *batch = NULL;
  hly_status own = hly_batch_create(ctx, arena, schema, &batch);
  for (uint32_t c = 0; c < schema->n_fields && own == HLY_OK; c++) {
    own = random_vector(ctx, r, batch->columns[c], shape);
  }
  if (st) {
    *st = own;
  } else {
    assert_ok(ctx, own);
  }
  if (own == HLY_OK) hly_batch_set_rows(batch, shape->n_rows);
  return own == HLY_OK ? batch : NULL;
}

bool test_value_equal(const hly_vector *a, uint32_t row_a, const hly_vector *b, uint32_t row_b) {
  if (a->type->kind == HLY_NULL) return true;
  bool null = hly_vector_is_null(a, row_a);
  if (null != hly_vector_is_null(b, row_b)) return false;
  if (null) return true;
  const hly_vector *base_a = a->encoding == HLY_DICT ? a->dict : a,
                   *base_b = b->encoding == HLY_DICT ? b->dict : b;
  uint32_t i = hly_vector_index(a, row_a), k = hly_vector_index(b, row_b);
  switch (a->type->phys) {
  case HLY_PHYS_STR:
    return hly_str_equal((const hly_str *)base_a->values + i, (const hly_str *)base_b->values + k);
  case HLY_PHYS_VARIANT:
    return hly_str_equal((const hly_str *)base_a->values + 2 * i, (const hly_str *)base_b->values + 2 * k) &&
           hly_str_equal((const hly_str *)base_a->values + 2 * i + 1,
                         (const hly_str *)base_b->values + 2 * k + 1);
  case HLY_PHYS_SPAN: {
    hly_span x = ((const hly_span *)base_a->values)[i], y = ((const hly_span *)base_b->values)[k];
    if (x.length != y.length) return false;
    for (uint32_t c = 0; c < a->type->n_fields; c++) {
      for (int32_t e = 0; e < x.length; e++) {
        if (!test_value_equal(base_a->children[c], (uint32_t)(x.offset + e), base_b->children[c],
                              (uint32_t)(y.offset + e))) {
          return false;
        }
      }
    }
    return true;
  }
  case HLY_PHYS_NONE:
    for (uint32_t c = 0; c < a->type->n_fields; c++) {
      if (!test_value_equal(base_a->children[c], i, base_b->children[c], k)) return false;
    }
    return true;
  default: {
    uint32_t size = hly_phys_size[a->type->phys];
    return memcmp((const uint8_t *)base_a->values + (size_t)i * size,
                  (const uint8_t *)base_b->values + (size_t)k * size, size) == 0;
  }
  }
}
