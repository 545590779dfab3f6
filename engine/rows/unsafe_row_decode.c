#include <string.h>

#include "rows/unsafe_row.h"
#include "vector/decimal.h"

// Decodes column by column. Inside, every level is the same thing: `n` cells, each eight bytes (or an
// element) in a container, whose offsets are relative to the container's start: rows for fields, arrays for
// elements.
//
// The bytes come from elsewhere and are not trusted. Nothing is read outside a container, and the containers
// and strings of one column may not be larger, together, than what they lie in: they never overlap when Spark
// writes them, and otherwise a few bytes could expand to anything.

enum { MAX_DEPTH = 256 };

typedef struct cells {
  uint32_t n;
  const uint8_t **base; // container of each cell
  const uint32_t *size; // its bytes
  const uint8_t **slot; // of each cell; NULL: base + at
  size_t at;
  const uint8_t *valid; // a byte a cell; NULL: all are. Cells that are not valid are never followed.
  uint64_t budget;      // bytes of all containers
  uint32_t depth;
} cells;

typedef struct decoder {
  hly_ctx *ctx;
  hly_arena *arena; // scratch, dropped at the end
} decoder;

static hly_status corrupt(decoder *d, const char *what) {
  return hly_error_setf(&d->ctx->error, HLY_E_PLAN_INVALID, "malformed row: %s", what);
}

static inline uint64_t get64(const uint8_t *p) {
  uint64_t x;
  memcpy(&x, p, 8);
  return x;
}
static inline size_t bitset_bytes(size_t n_fields) {
  return (n_fields + 63) / 64 * 8;
}
static inline const uint8_t *slot_of(const cells *c, uint32_t k) {
  return c->slot ? c->slot[k] : c->base[k] + c->at;
}
static inline bool is_valid(const cells *c, uint32_t k) {
  return !c->valid || c->valid[k];
}

// Scratch of n items; NULL: no memory.
#define SCRATCH(d, type, n) HLY_ARENA_NEW_N((d)->arena, type, (n))
#define CHECK_SCRATCH(d, p, n) HLY_CHECK_MEM((d)->ctx, p, (size_t)(n) * sizeof *(p))

// Where the variable part of valid cell k is; false when it reaches outside its container.
static inline bool follow(const cells *c, uint32_t k, const uint8_t **data, uint32_t *size) {
  uint64_t word = get64(slot_of(c, k));
  uint64_t offset = word >> 32;
  *size = (uint32_t)word;
  *data = c->base[k] + offset;
  return *size <= INT32_MAX && offset + *size <= c->size[k];
}

static hly_status decode_column(decoder *d, hly_vector *out, const cells *c);

static hly_status decode_validity(decoder *d, hly_vector *out, const cells *c) {
  if (!c->valid || out->type->kind == HLY_NULL || c->n == 0) return HLY_OK;
  if (!memchr(c->valid, 0, c->n)) return HLY_OK;
  HLY_TRY(hly_vector_need_validity(d->ctx, out));
  hly_bits_pack(c->valid, c->n, out->validity);
  return HLY_OK;
}

// ---- fixed width ----------------------------------------------------------------------------------------

#define GET_FIXED(T)                                                                                         \
  do {                                                                                                       \
    T *values = out->values;                                                                                 \
    if (c->slot)                                                                                             \
      for (uint32_t k = 0; k < c->n; k++) memcpy(&values[k], c->slot[k], sizeof(T));                         \
    else                                                                                                     \
      for (uint32_t k = 0; k < c->n; k++) memcpy(&values[k], c->base[k] + c->at, sizeof(T));                 \
  } while (0)

// A boolean is any byte that is not zero to Java's Unsafe; ours are 0 or 1.
static void normalise_booleans(uint8_t *values, size_t n) {
  for (size_t k = 0; k < n; k++) values[k] = values[k] != 0;
}

static hly_status check_decimals(decoder *d, const hly_vector *out, const uint8_t *valid) {
  if (out->type->kind != HLY_DECIMAL || out->type->phys != HLY_PHYS_I64) return HLY_OK;
  const int64_t *values = out->values;
  int64_t limit = hly_pow10_i64[out->type->precision];
  bool bad = false;
  for (uint32_t k = 0; k < out->n_rows; k++) {
    bool past = values[k] >= limit || values[k] <= -limit;
    bad |= past && (!valid || valid[k]);
  }
  return bad ? corrupt(d, "a decimal has more digits than its type") : HLY_OK;
}

static hly_status decode_fixed(decoder *d, hly_vector *out, const cells *c) {
  switch (hly_phys_size[out->type->phys]) {
  case 1: GET_FIXED(uint8_t); break;
  case 2: GET_FIXED(uint16_t); break;
  case 4: GET_FIXED(uint32_t); break;
  case 8: GET_FIXED(uint64_t); break;
  default: return HLY_OK;
  }
  if (out->type->phys == HLY_PHYS_BOOL) normalise_booleans(out->values, c->n);
  return check_decimals(d, out, c->valid);
}

// ---- variable parts without structure -------------------------------------------------------------------

static hly_status decode_decimals(decoder *d, hly_vector *out, const cells *c) {
  hly_i128 *values = out->values;
  for (uint32_t k = 0; k < c->n; k++) {
    values[k] = 0;
    if (!is_valid(c, k)) continue;
    const uint8_t *data;
    uint32_t size;
    if (!follow(c, k, &data, &size) || !hly_decimal_from_bytes(data, (int)size, &values[k]))
      return corrupt(d, "a decimal");
    if (!hly_decimal_fits(values[k], out->type->precision))
      return corrupt(d, "a decimal has more digits than its type");
  }
  return HLY_OK;
}

static hly_status decode_intervals(decoder *d, hly_vector *out, const cells *c) {
  hly_interval *values = out->values;
  for (uint32_t k = 0; k < c->n; k++) {
    values[k] = (hly_interval){0, 0, 0};
    if (!is_valid(c, k)) continue;
    const uint8_t *data;
    uint32_t size;
    if (!follow(c, k, &data, &size) || size != 16) return corrupt(d, "an interval");
    uint64_t word = get64(data);
    values[k] = (hly_interval){(int32_t)word, (int32_t)(word >> 32), (int64_t)get64(data + 8)};
  }
  return HLY_OK;
}

// Copies the bytes that `views` point to, where they are not inline, into a heap of `out`.
static hly_status own_bytes(decoder *d, hly_vector *out, hly_str *views, size_t n, uint64_t n_bytes) {
  if (n_bytes == 0) return HLY_OK;
  hly_buf *heap = hly_buf_create(n_bytes);
  HLY_CHECK_MEM(d->ctx, heap, n_bytes);
  hly_status st = hly_vector_add_heap(d->ctx, out, heap);
  hly_buf_unref(heap);
  HLY_TRY(st);
  uint8_t *to = heap->data;
  for (size_t i = 0; i < n; i++) {
    if (views[i].len <= HLY_STR_INLINE) continue;
    memcpy(to, views[i].u.out.ptr, views[i].len);
    views[i].u.out.ptr = to;
    to += views[i].len;
  }
  return HLY_OK;
}

static inline uint64_t heap_bytes(const hly_str *s) {
  return s->len > HLY_STR_INLINE ? s->len : 0;
}

// hly_str_make without a copy of variable length, where the container has as many bytes as that reads.
static inline hly_str view_of(const uint8_t *data, uint32_t size, size_t room) {
  if (size > HLY_STR_INLINE || room < 16) return hly_str_make(data, size);
  hly_str s = {.len = size};
  uint64_t low = get64(data), high = get64(data + 8);
  if (size < 8) low &= (1ull << 8 * size) - 1;
  high = size <= 8 ? 0 : high & ((1ull << 8 * (size - 8)) - 1);
  memcpy(s.u.inl, &low, 8);
  memcpy(s.u.inl + 8, &high, 4);
  return s;
}

static hly_status decode_strings(decoder *d, hly_vector *out, const cells *c) {
  hly_str *values = out->values;
  uint64_t sum = 0;
  for (uint32_t k = 0; k < c->n; k++) {
    if (!is_valid(c, k)) {
      memset(&values[k], 0, sizeof values[k]);
      continue;
    }
    const uint8_t *data;
    uint32_t size;
    if (!follow(c, k, &data, &size)) {
      memset(values + k, 0, (c->n - k) * sizeof *values);
      return corrupt(d, "a string reaches outside");
    }
    values[k] = view_of(data, size, c->size[k] - (size_t)(data - c->base[k]));
    sum += heap_bytes(&values[k]);
  }
  if (sum > c->budget) return corrupt(d, "strings overlap");
  return own_bytes(d, out, values, c->n, sum);
}

// VariantVal: four bytes of the value's length, the value, the metadata.
static hly_status decode_variants(decoder *d, hly_vector *out, const cells *c) {
  hly_str *values = out->values;
  memset(values, 0, 2 * sizeof *values * c->n);
  uint64_t sum = 0;
  for (uint32_t k = 0; k < c->n; k++) {
    if (!is_valid(c, k)) continue;
    const uint8_t *data;
    uint32_t size, n_value;
    if (!follow(c, k, &data, &size) || size < 4) return corrupt(d, "a variant reaches outside");
    memcpy(&n_value, data, 4);
    if (n_value > size - 4) return corrupt(d, "a variant's value reaches outside");
    hly_str *pair = &values[2 * (size_t)k];
    pair[0] = hly_str_make(data + 4, n_value);
    pair[1] = hly_str_make(data + 4 + n_value, size - 4 - n_value);
    sum += heap_bytes(&pair[0]) + heap_bytes(&pair[1]);
  }
  if (sum > c->budget) return corrupt(d, "variants overlap");
  return own_bytes(d, out, values, 2 * (size_t)c->n, sum);
}

// ---- rows and structs -----------------------------------------------------------------------------------

// Decodes the fields of n rows at `base`, each of at least the fixed part, into `columns`.
static hly_status decode_fields(decoder *d, hly_vector *const *columns, uint32_t n_fields, uint32_t n,
                                const uint8_t **base, const uint32_t *size, uint64_t budget, uint32_t depth) {
  uint8_t *valid = SCRATCH(d, uint8_t, n);
  CHECK_SCRATCH(d, valid, n);
  uint64_t any = 0; // null bits of the current 64 fields that some row has set
  size_t bitset = bitset_bytes(n_fields);
  for (uint32_t f = 0; f < n_fields; f++) {
    if (f % 64 == 0) {
      any = 0;
      for (uint32_t k = 0; k < n; k++) any |= get64(base[k] + f / 8);
    }
    cells c = {
        .n = n, .base = base, .size = size, .at = bitset + 8 * (size_t)f, .budget = budget, .depth = depth};
    if (any >> (f % 64) & 1) {
      for (uint32_t k = 0; k < n; k++) valid[k] = !(base[k][f / 8] >> (f % 8) & 1);
      c.valid = valid;
    }
    HLY_TRY(decode_column(d, columns[f], &c));
  }
  return HLY_OK;
}

static hly_status decode_structs(decoder *d, hly_vector *out, const cells *c) {
  uint32_t n_fields = out->type->n_fields;
  size_t fixed = bitset_bytes(n_fields) + 8 * (size_t)n_fields;
  const uint8_t **base = SCRATCH(d, const uint8_t *, c->n);
  CHECK_SCRATCH(d, base, c->n);
  uint32_t *size = SCRATCH(d, uint32_t, c->n);
  CHECK_SCRATCH(d, size, c->n);
  uint8_t *null_row = NULL; // stands for null structs: its fields are null
  uint64_t sum = 0;
  for (uint32_t k = 0; k < c->n; k++) {
    if (is_valid(c, k)) {
      if (!follow(c, k, &base[k], &size[k]) || size[k] < fixed) return corrupt(d, "a struct reaches outside");
      sum += size[k];
      continue;
    }
    if (!null_row) {
      null_row = SCRATCH(d, uint8_t, fixed);
      CHECK_SCRATCH(d, null_row, fixed);
      memset(null_row, 0xff, bitset_bytes(n_fields));
    }
    base[k] = null_row;
    size[k] = (uint32_t)fixed;
  }
  if (sum > c->budget) return corrupt(d, "structs overlap");
  return decode_fields(d, out->children, n_fields, c->n, base, size, sum, c->depth + 1);
}

// ---- arrays and maps ------------------------------------------------------------------------------------

// UnsafeArrayData at each base[k]: a count, null bits, elements. NULL base: no elements.
typedef struct arrays {
  uint32_t n;
  const uint8_t **base;
  uint32_t *size;
  uint32_t *count;
  uint64_t total;  // elements
  uint64_t budget; // bytes
} arrays;

static hly_status arrays_create(decoder *d, arrays *a, uint32_t n) {
  *a = (arrays){.n = n};
  a->base = SCRATCH(d, const uint8_t *, n);
  CHECK_SCRATCH(d, a->base, n);
  a->size = SCRATCH(d, uint32_t, n);
  CHECK_SCRATCH(d, a->size, n);
  a->count = SCRATCH(d, uint32_t, n);
  CHECK_SCRATCH(d, a->count, n);
  return HLY_OK;
}

static size_t element_bytes(const hly_type *type) {
  size_t size = hly_phys_size[type->phys];
  return size == 1 || size == 2 || size == 4 ? size : 8;
}

static bool is_plain(const hly_type *type) {
  return hly_phys_size[type->phys] == element_bytes(type) && type->phys != HLY_PHYS_SPAN;
}

static bool add_array(arrays *a, uint32_t k, const uint8_t *base, uint32_t size, const hly_type *element) {
  if (size < 8) return false;
  uint64_t count = get64(base);
  if (count > size || 8 + bitset_bytes(count) + count * element_bytes(element) > size) return false;
  a->base[k] = base;
  a->size[k] = size;
  a->count[k] = (uint32_t)count;
  a->total += count;
  a->budget += size;
  return true;
}

// One byte an element: 1 where its null bit is clear. *out NULL: no null bit is set.
static hly_status element_validity(decoder *d, const arrays *a, const uint8_t **out) {
  uint8_t *valid = NULL;
  *out = NULL;
  uint64_t at = 0;
  for (uint32_t k = 0; k < a->n; k++) {
    uint32_t count = a->count[k];
    uint64_t any = 0;
    for (size_t w = 0; w < bitset_bytes(count); w += 8) any |= get64(a->base[k] + 8 + w);
    if (any && !valid) {
      valid = SCRATCH(d, uint8_t, a->total);
      CHECK_SCRATCH(d, valid, a->total);
      memset(valid, 1, a->total);
    }
    for (uint32_t i = 0; any && i < count; i++) valid[at + i] = !(a->base[k][8 + i / 8] >> (i % 8) & 1);
    at += count;
  }
  *out = valid;
  return HLY_OK;
}

static hly_status decode_elements(decoder *d, hly_vector *out, const arrays *a, uint32_t depth) {
  if (a->total > INT32_MAX) return corrupt(d, "too many elements");
  uint32_t n = (uint32_t)a->total;
  HLY_TRY(hly_vector_reset(d->ctx, out, n));
  cells c = {.n = n, .budget = a->budget, .depth = depth};
  HLY_TRY(element_validity(d, a, &c.valid));
  size_t width = element_bytes(out->type);
  if (is_plain(out->type)) {
    uint8_t *to = out->values;
    for (uint32_t k = 0; k < a->n; k++) {
      size_t n_bytes = a->count[k] * width;
      if (n_bytes) memcpy(to, a->base[k] + 8 + bitset_bytes(a->count[k]), n_bytes);
      to += n_bytes;
    }
    if (out->type->phys == HLY_PHYS_BOOL) normalise_booleans(out->values, n);
    HLY_TRY(decode_validity(d, out, &c));
    return check_decimals(d, out, c.valid);
  }
  const uint8_t **base = SCRATCH(d, const uint8_t *, n), **slot = SCRATCH(d, const uint8_t *, n);
  CHECK_SCRATCH(d, base, n);
  CHECK_SCRATCH(d, slot, n);
  uint32_t *size = SCRATCH(d, uint32_t, n);
  CHECK_SCRATCH(d, size, n);
  uint32_t at = 0;
  for (uint32_t k = 0; k < a->n; k++) {
    for (uint32_t i = 0; i < a->count[k]; i++, at++) {
      base[at] = a->base[k];
      size[at] = a->size[k];
      slot[at] = a->base[k] + 8 + bitset_bytes(a->count[k]) + i * width;
    }
  }
  c.base = base;
  c.size = size;
  c.slot = slot;
  return decode_column(d, out, &c);
}

static hly_status decode_spans(decoder *d, hly_vector *out, const cells *c) {
  bool map = out->type->kind == HLY_MAP;
  arrays keys, values; // the elements of an array are its `keys`
  HLY_TRY(arrays_create(d, &keys, c->n));
  if (map) HLY_TRY(arrays_create(d, &values, c->n));
  const hly_type *key = out->type->fields[0].type;
  hly_span *spans = out->values;
  memset(spans, 0, sizeof *spans * c->n);
  for (uint32_t k = 0; k < c->n; k++) {
    if (!is_valid(c, k)) continue;
    const uint8_t *data;
    uint32_t size;
    uint64_t at = keys.total;
    if (!follow(c, k, &data, &size)) return corrupt(d, "an array or map reaches outside");
    if (map) {
      if (size < 8) return corrupt(d, "a map");
      uint64_t n_keys = get64(data);
      if (n_keys > size - 8) return corrupt(d, "a map's keys");
      if (!add_array(&keys, k, data + 8, (uint32_t)n_keys, key) ||
          !add_array(&values, k, data + 8 + n_keys, size - 8 - (uint32_t)n_keys, out->type->fields[1].type) ||
          keys.count[k] != values.count[k])
        return corrupt(d, "a map's arrays");
    } else if (!add_array(&keys, k, data, size, key)) {
      return corrupt(d, "an array");
    }
    if (keys.total > INT32_MAX) return corrupt(d, "too many elements");
    if (keys.count[k]) spans[k] = (hly_span){(int32_t)at, (int32_t)keys.count[k]};
  }
  uint64_t budget = keys.budget + (map ? values.budget : 0);
  if (budget > c->budget) return corrupt(d, "arrays overlap");
  hly_status st = decode_elements(d, out->children[0], &keys, c->depth + 1);
  if (st == HLY_OK && map) st = decode_elements(d, out->children[1], &values, c->depth + 1);
  if (st != HLY_OK) memset(spans, 0, sizeof *spans * c->n);
  return st;
}

// `out` is flat and has c->n rows; its struct children too.
static hly_status decode_column(decoder *d, hly_vector *out, const cells *c) {
  if (c->depth > MAX_DEPTH) return corrupt(d, "nested too deeply");
  HLY_TRY(decode_validity(d, out, c));
  switch (out->type->phys) {
  case HLY_PHYS_I128: return decode_decimals(d, out, c);
  case HLY_PHYS_STR: return decode_strings(d, out, c);
  case HLY_PHYS_VARIANT: return decode_variants(d, out, c);
  case HLY_PHYS_INTERVAL: return decode_intervals(d, out, c);
  case HLY_PHYS_SPAN: return decode_spans(d, out, c);
  case HLY_PHYS_NONE: return out->type->kind == HLY_STRUCT ? decode_structs(d, out, c) : HLY_OK;
  default: return decode_fixed(d, out, c);
  }
}

// ---- entry ----------------------------------------------------------------------------------------------

static hly_status decode_rows(decoder *d, const uint8_t *rows, const uint64_t *offsets, uint32_t n,
                              hly_vector *const *columns, uint32_t n_columns) {
  size_t fixed = bitset_bytes(n_columns) + 8 * (size_t)n_columns;
  const uint8_t **base = SCRATCH(d, const uint8_t *, n);
  CHECK_SCRATCH(d, base, n);
  uint32_t *size = SCRATCH(d, uint32_t, n);
  CHECK_SCRATCH(d, size, n);
  uint64_t sum = 0;
  for (uint32_t k = 0; k < n; k++) {
    if (offsets[k + 1] < offsets[k] || offsets[k + 1] - offsets[k] > INT32_MAX) return corrupt(d, "its size");
    size[k] = (uint32_t)(offsets[k + 1] - offsets[k]);
    if (size[k] < fixed) return corrupt(d, "fewer bytes than its fields need");
    base[k] = rows + offsets[k];
    sum += size[k];
  }
  return decode_fields(d, columns, n_columns, n, base, size, sum, 0);
}

static hly_status decode(hly_ctx *ctx, const uint8_t *rows, const uint64_t *offsets, uint32_t n,
                         hly_vector *const *columns, uint32_t n_columns) {
  decoder d = {.ctx = ctx, .arena = hly_arena_create()};
  HLY_CHECK_MEM(ctx, d.arena, 4096);
  hly_status st = decode_rows(&d, rows, offsets, n, columns, n_columns);
  hly_arena_destroy(d.arena);
  return st;
}

hly_status hly_unsafe_row_decode(hly_ctx *ctx, const uint8_t *base, const uint64_t *offsets, uint32_t n,
                                 const hly_schema *schema, hly_batch *out) {
  hly_batch_set_rows(out, 0);
  if (schema->n_fields != out->n_columns)
    return hly_error_setf(&ctx->error, HLY_E_INTERNAL, "%u columns for rows of %u fields", out->n_columns,
                          schema->n_fields);
  for (uint32_t i = 0; i < out->n_columns; i++) {
    HLY_TRY(hly_batch_writable(ctx, out, i));
    HLY_TRY(hly_vector_reset(ctx, out->columns[i], n));
  }
  HLY_TRY(decode(ctx, base, offsets, n, out->columns, out->n_columns));
  hly_batch_set_rows(out, n);
  return HLY_OK;
}

hly_status hly_unsafe_row_literal(hly_ctx *ctx, const hly_literal *lit, hly_vector *out) {
  const uint64_t offsets[2] = {0, lit->row_bytes};
  HLY_TRY(hly_vector_reset(ctx, out, 1));
  return decode(ctx, lit->row, offsets, 1, &out, 1);
}
