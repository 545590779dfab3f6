#include "rows/unsafe_row.h"

#include <string.h>

#include "base/mem.h"
#include "vector/decimal.h"

// Rows are written in groups small enough to stay in the first cache while every column passes over them: the
// null bits, then column by column the eight bytes of each field and, at a cursor that each row has, what
// goes to its variable part. Spark writes fields in order, so the cursors arrive where Spark's would.

enum { GROUP = 256 };

static inline size_t bitset_bytes(size_t n_fields) {
  return (n_fields + 63) / 64 * 8;
}
static inline size_t round8(size_t n) {
  return (n + 7) & ~(size_t)7;
}
static inline void put64(uint8_t *at, uint64_t x) {
  memcpy(at, &x, 8);
}
static inline void set_bit(uint8_t *bitset, uint32_t i) {
  bitset[i >> 3] |= (uint8_t)(1u << (i & 7)); // words are little-endian
}
static inline uint64_t offset_and_size(size_t offset, size_t size) {
  return (uint64_t)offset << 32 | size;
}

// Bytes of an element of an array; 8 for what lives in the variable part.
static size_t element_bytes(const hly_type *type) {
  size_t size = hly_phys_size[type->phys];
  return size == 1 || size == 2 || size == 4 ? size : 8;
}

// Whether values of the type have a variable part.
static bool is_variable(const hly_type *type) {
  return type->phys == HLY_PHYS_STR || type->phys == HLY_PHYS_I128 || type->phys == HLY_PHYS_SPAN ||
         type->phys == HLY_PHYS_INTERVAL || type->phys == HLY_PHYS_VARIANT || type->kind == HLY_STRUCT;
}

static inline const hly_vector *holder(const hly_vector *v) {
  return v->encoding == HLY_DICT ? v->dict : v;
}

// ---- sizes ----------------------------------------------------------------------------------------------

static uint64_t value_bytes(const hly_vector *v, uint32_t row, bool element);

static uint64_t array_bytes(const hly_vector *child, const hly_span *s) {
  uint64_t n = (uint32_t)s->length;
  uint64_t sum = 8 + bitset_bytes(n) + round8(n * element_bytes(child->type));
  if (is_variable(child->type))
    for (uint32_t i = 0; i < n; i++) sum += value_bytes(child, (uint32_t)s->offset + i, true);
  return sum;
}

static uint64_t struct_bytes(const hly_vector *v, uint32_t row) {
  uint64_t sum = bitset_bytes(v->type->n_fields) + 8 * (uint64_t)v->type->n_fields;
  for (uint32_t i = 0; i < v->type->n_fields; i++)
    if (is_variable(v->type->fields[i].type)) sum += value_bytes(v->children[i], row, false);
  return sum;
}

// Bytes of the variable part that one value takes, as a field of a row or as an element of an array.
static uint64_t value_bytes(const hly_vector *v, uint32_t row, bool element) {
  bool null = hly_vector_is_null(v, row);
  hly_phys phys = v->type->phys;
  // Rows keep a place for nulls of these, so that they can be updated later; arrays do not.
  if (!element && (phys == HLY_PHYS_I128 || phys == HLY_PHYS_INTERVAL)) return 16;
  if (null) return 0;
  uint32_t i = hly_vector_index(v, row);
  v = holder(v);
  switch (phys) {
  case HLY_PHYS_STR: return round8(((const hly_str *)v->values)[i].len);
  case HLY_PHYS_I128: {
    uint8_t bytes[16];
    return round8((size_t)hly_decimal_to_bytes(((const hly_i128 *)v->values)[i], bytes));
  }
  case HLY_PHYS_INTERVAL: return 16;
  case HLY_PHYS_VARIANT: {
    const hly_str *s = (const hly_str *)v->values + 2 * (size_t)i;
    return round8(4 + (size_t)s[0].len + s[1].len);
  }
  case HLY_PHYS_SPAN: {
    const hly_span *s = (const hly_span *)v->values + i;
    uint64_t sum = array_bytes(v->children[0], s);
    return v->type->kind == HLY_MAP ? 8 + sum + array_bytes(v->children[1], s) : sum;
  }
  default: return v->type->kind == HLY_STRUCT ? struct_bytes(v, i) : 0;
  }
}

// ---- one value at a time: what is inside arrays, maps and structs ---------------------------------------

static uint8_t *write_bytes(uint8_t *cursor, const void *data, size_t n) {
  size_t whole = round8(n);
  if (n & 7) put64(cursor + whole - 8, 0);
  memcpy(cursor, data, n);
  return cursor + whole;
}

static uint8_t *write_variant(uint8_t *cursor, const hly_str *s) {
  size_t n = 4 + (size_t)s[0].len + s[1].len, whole = round8(n);
  if (n & 7) put64(cursor + whole - 8, 0);
  memcpy(cursor, &s[0].len, 4);
  memcpy(cursor + 4, hly_str_data(&s[0]), s[0].len);
  memcpy(cursor + 4 + s[0].len, hly_str_data(&s[1]), s[1].len);
  return cursor + whole;
}

static uint8_t *write_interval(uint8_t *cursor, const hly_interval *x) {
  put64(cursor, (uint64_t)(uint32_t)x->months | (uint64_t)(uint32_t)x->days << 32);
  put64(cursor + 8, (uint64_t)x->micros);
  return cursor + 16;
}

static uint8_t *write_value(uint8_t *cursor, const hly_vector *v, uint32_t i);

// The low bytes of a fixed-width value, zero-extended.
static inline uint64_t fixed_value(const hly_vector *v, uint32_t i) {
  switch (hly_phys_size[v->type->phys]) {
  case 1: return ((const uint8_t *)v->values)[i];
  case 2: return ((const uint16_t *)v->values)[i];
  case 4: return ((const uint32_t *)v->values)[i];
  case 8: return ((const uint64_t *)v->values)[i];
  default: return 0;
  }
}

// Field `f` of a row at `base`: slot, null bit and variable part.
static uint8_t *write_field(uint8_t *base, uint8_t *slot, uint32_t f, uint8_t *cursor, const hly_vector *v,
                            uint32_t row) {
  bool null = hly_vector_is_null(v, row);
  if (null) set_bit(base, f);
  uint32_t i = hly_vector_index(v, row);
  v = holder(v);
  if (v->type->phys == HLY_PHYS_I128) {
    uint8_t bytes[16] = {0};
    size_t n = null ? 0 : (size_t)hly_decimal_to_bytes(((const hly_i128 *)v->values)[i], bytes);
    memset(bytes + n, 0, 16 - n);
    memcpy(cursor, bytes, 16);
    put64(slot, offset_and_size((size_t)(cursor - base), n));
    return cursor + 16;
  }
  if (v->type->phys == HLY_PHYS_INTERVAL) {
    static const hly_interval zero;
    put64(slot, offset_and_size((size_t)(cursor - base), 16));
    return write_interval(cursor, null ? &zero : (const hly_interval *)v->values + i);
  }
  if (null || v->type->kind == HLY_NULL) {
    put64(slot, 0);
    return cursor;
  }
  if (!is_variable(v->type)) {
    put64(slot, fixed_value(v, i));
    return cursor;
  }
  uint8_t *end = write_value(cursor, v, i);
  size_t n = (size_t)(end - cursor);
  if (v->type->phys == HLY_PHYS_STR) n = ((const hly_str *)v->values)[i].len;
  if (v->type->phys == HLY_PHYS_VARIANT) {
    const hly_str *s = (const hly_str *)v->values + 2 * (size_t)i;
    n = 4 + (size_t)s[0].len + s[1].len;
  }
  put64(slot, offset_and_size((size_t)(cursor - base), n));
  return end;
}

static uint8_t *write_struct(uint8_t *at, const hly_vector *v, uint32_t i) {
  uint32_t n = v->type->n_fields;
  size_t bitset = bitset_bytes(n);
  memset(at, 0, bitset);
  uint8_t *cursor = at + bitset + 8 * (size_t)n;
  for (uint32_t f = 0; f < n; f++)
    cursor = write_field(at, at + bitset + 8 * (size_t)f, f, cursor, v->children[f], i);
  return cursor;
}

static uint8_t *write_array(uint8_t *at, const hly_vector *child, const hly_span *s) {
  uint32_t n = (uint32_t)s->length, from = (uint32_t)s->offset;
  size_t bitset = bitset_bytes(n), width = element_bytes(child->type), fixed = round8(n * width);
  put64(at, n);
  memset(at + 8, 0, bitset);
  uint8_t *slots = at + 8 + bitset, *cursor = slots + fixed;
  if (fixed) put64(cursor - 8, 0); // the padding
  if (!is_variable(child->type)) {
    bool nulls = child->validity != NULL;
    if (child->encoding == HLY_FLAT && child->type->phys != HLY_PHYS_NONE) {
      memcpy(slots, (const uint8_t *)child->values + from * width, n * width);
    } else {
      for (uint32_t k = 0; k < n; k++) {
        uint64_t x = fixed_value(holder(child), hly_vector_index(child, from + k));
        memcpy(slots + k * width, &x, width);
      }
    }
    for (uint32_t k = 0; nulls && k < n; k++) {
      if (!hly_vector_is_null(child, from + k)) continue;
      set_bit(at + 8, k);
      memset(slots + k * width, 0, width);
    }
    return cursor;
  }
  for (uint32_t k = 0; k < n; k++) {
    uint8_t *slot = slots + 8 * (size_t)k;
    if (hly_vector_is_null(child, from + k)) {
      set_bit(at + 8, k);
      put64(slot, 0);
      continue;
    }
    uint32_t i = hly_vector_index(child, from + k);
    const hly_vector *v = holder(child);
    size_t size;
    uint8_t *start = cursor;
    if (v->type->phys == HLY_PHYS_I128) { // unlike in a row: no more bytes than needed
      uint8_t bytes[16];
      size = (size_t)hly_decimal_to_bytes(((const hly_i128 *)v->values)[i], bytes);
      cursor = write_bytes(cursor, bytes, size);
    } else {
      cursor = write_value(cursor, v, i);
      size = (size_t)(cursor - start);
      if (v->type->phys == HLY_PHYS_STR) size = ((const hly_str *)v->values)[i].len;
      if (v->type->phys == HLY_PHYS_VARIANT) {
        const hly_str *s2 = (const hly_str *)v->values + 2 * (size_t)i;
        size = 4 + (size_t)s2[0].len + s2[1].len;
      }
    }
    put64(slot, offset_and_size((size_t)(start - at), size));
  }
  return cursor;
}

// The variable part of value i (not null, not a decimal) of a flat vector. Returns its end.
static uint8_t *write_value(uint8_t *cursor, const hly_vector *v, uint32_t i) {
  switch (v->type->phys) {
  case HLY_PHYS_STR: {
    const hly_str *s = (const hly_str *)v->values + i;
    return write_bytes(cursor, hly_str_data(s), s->len);
  }
  case HLY_PHYS_INTERVAL: return write_interval(cursor, (const hly_interval *)v->values + i);
  case HLY_PHYS_VARIANT: return write_variant(cursor, (const hly_str *)v->values + 2 * (size_t)i);
  case HLY_PHYS_SPAN: {
    const hly_span *s = (const hly_span *)v->values + i;
    if (v->type->kind == HLY_ARRAY) return write_array(cursor, v->children[0], s);
    uint8_t *keys = cursor + 8;
    uint8_t *end = write_array(keys, v->children[0], s);
    put64(cursor, (uint64_t)(end - keys));
    return write_array(end, v->children[1], s);
  }
  default: return write_struct(cursor, v, i);
  }
}

// ---- a column at a time ---------------------------------------------------------------------------------

// A group of rows in the making.
typedef struct group {
  uint32_t n;
  const uint32_t *rows; // of the batch
  uint8_t *base[GROUP], *cursor[GROUP];
} group;

// What a column contributes to a group: where its values are and which are null.
typedef struct slice {
  const hly_vector *v; // holds the values
  uint32_t at[GROUP];  // value of row k
  bool any_null;
  uint8_t null[GROUP];
} slice;

static void slice_column(slice *s, const hly_vector *v, const group *g) {
  s->v = holder(v);
  switch (v->encoding) {
  case HLY_FLAT: memcpy(s->at, g->rows, g->n * sizeof *s->at); break;
  case HLY_CONST: memset(s->at, 0, g->n * sizeof *s->at); break;
  default:
    for (uint32_t k = 0; k < g->n; k++) s->at[k] = v->indices[g->rows[k]];
  }
  s->any_null = v->validity != NULL;
  if (!s->any_null) return;
  if (v->encoding == HLY_CONST) {
    memset(s->null, !hly_bits_get(v->validity, 0), g->n);
    return;
  }
  uint32_t first = g->rows[0];
  if (first % 64 == 0 && g->rows[g->n - 1] - first == g->n - 1) { // rows in a run
    hly_bits_unpack(v->validity + first / 64, g->n, s->null);
    for (uint32_t k = 0; k < g->n; k++) s->null[k] ^= 1;
    return;
  }
  for (uint32_t k = 0; k < g->n; k++) s->null[k] = !hly_bits_get(v->validity, g->rows[k]);
}

#define PUT_FIXED(T)                                                                                         \
  do {                                                                                                       \
    const T *values = s->v->values;                                                                          \
    if (s->any_null)                                                                                         \
      for (uint32_t k = 0; k < g->n; k++) {                                                                  \
        uint8_t *base = g->base[k];                                                                          \
        base[f / 8] |= (uint8_t)(s->null[k] << f % 8);                                                       \
        put64(base + slot, values[s->at[k]] & ((uint64_t)s->null[k] - 1));                                   \
      }                                                                                                      \
    else                                                                                                     \
      for (uint32_t k = 0; k < g->n; k++) put64(g->base[k] + slot, values[s->at[k]]);                        \
  } while (0)

// Null bits without branches: nulls come in no order that a processor could guess.
static void put_fixed(const group *g, const slice *s, uint32_t f, size_t slot) {
  switch (hly_phys_size[s->v->type->phys]) {
  case 1: PUT_FIXED(uint8_t); break;
  case 2: PUT_FIXED(uint16_t); break;
  case 4: PUT_FIXED(uint32_t); break;
  case 8: PUT_FIXED(uint64_t); break;
  default:
    for (uint32_t k = 0; k < g->n; k++) {
      set_bit(g->base[k], f);
      put64(g->base[k] + slot, 0);
    }
  }
}

static void put_strings(group *g, const slice *s, uint32_t f, size_t slot) {
  const hly_str *values = s->v->values;
  for (uint32_t k = 0; k < g->n; k++) {
    uint8_t *base = g->base[k], *cursor = g->cursor[k];
    if (s->any_null && s->null[k]) {
      set_bit(base, f);
      put64(base + slot, 0);
      continue;
    }
    const hly_str *x = &values[s->at[k]];
    put64(base + slot, offset_and_size((size_t)(cursor - base), x->len));
    if (x->len <= 8) { // one store: inline bytes past the length are zero
      if (x->len) {
        memcpy(cursor, x->u.inl, 8);
        g->cursor[k] = cursor + 8;
      }
    } else {
      g->cursor[k] = write_bytes(cursor, hly_str_data(x), x->len);
    }
  }
}

static void put_column(group *g, slice *s, const hly_vector *v, uint32_t f, size_t slot) {
  if (is_variable(v->type) && v->type->phys != HLY_PHYS_STR) {
    for (uint32_t k = 0; k < g->n; k++)
      g->cursor[k] = write_field(g->base[k], g->base[k] + slot, f, g->cursor[k], v, g->rows[k]);
    return;
  }
  slice_column(s, v, g);
  if (v->type->phys == HLY_PHYS_STR)
    put_strings(g, s, f, slot);
  else
    put_fixed(g, s, f, slot);
}

// Adds what column v needs in the variable part of each row of the group.
static void add_bytes(uint64_t *sizes, slice *s, const hly_vector *v, const group *g) {
  if (!is_variable(v->type)) return;
  if (v->type->phys == HLY_PHYS_I128 || v->type->phys == HLY_PHYS_INTERVAL) {
    for (uint32_t k = 0; k < g->n; k++) sizes[k] += 16;
  } else if (v->type->phys == HLY_PHYS_STR) {
    slice_column(s, v, g);
    const hly_str *values = s->v->values;
    for (uint32_t k = 0; k < g->n; k++)
      if (!s->any_null || !s->null[k]) sizes[k] += round8(values[s->at[k]].len);
  } else {
    for (uint32_t k = 0; k < g->n; k++) sizes[k] += value_bytes(v, g->rows[k], false);
  }
}

void hly_row_block_deinit(hly_row_block *block) {
  hly_buf_unref(block->data);
  hly_free(block->offsets);
  memset(block, 0, sizeof *block);
}

static hly_status reserve_rows(hly_ctx *ctx, hly_row_block *block, uint32_t n) {
  if (block->offsets && block->cap_rows >= n) return HLY_OK;
  uint32_t cap = block->cap_rows > UINT32_MAX / 2 ? n : block->cap_rows * 2;
  if (cap < n) cap = n;
  size_t n_bytes = ((size_t)cap + 1) * sizeof *block->offsets;
  uint64_t *offsets = hly_realloc(block->offsets, n_bytes);
  HLY_CHECK_MEM(ctx, offsets, n_bytes);
  block->offsets = offsets;
  block->cap_rows = cap;
  return HLY_OK;
}

typedef struct encoder {
  const hly_batch *batch;
  const uint32_t *cols;
  uint32_t n_cols, from;
  uint32_t numbers[GROUP];
  group g;
  slice s;
} encoder;

static const hly_vector *column(const encoder *e, uint32_t f) {
  return e->batch->columns[e->cols ? e->cols[f] : f];
}

static void begin_group(encoder *e, uint32_t first, uint32_t n) {
  e->g.n = n;
  if (e->batch->sel) {
    e->g.rows = e->batch->sel + e->from + first;
    return;
  }
  for (uint32_t k = 0; k < n; k++) e->numbers[k] = e->from + first + k;
  e->g.rows = e->numbers;
}

// Fills block->offsets for as many rows as fit.
static hly_status measure(hly_ctx *ctx, encoder *e, uint64_t max_bytes, hly_row_block *block) {
  uint32_t n_left = e->batch->n_sel - e->from;
  size_t fixed = bitset_bytes(e->n_cols) + 8 * (size_t)e->n_cols;
  uint64_t at = 0, sizes[GROUP];
  HLY_TRY(reserve_rows(ctx, block, n_left < GROUP ? n_left : GROUP));
  block->offsets[0] = 0;
  for (uint32_t first = 0; first < n_left; first += e->g.n) {
    begin_group(e, first, n_left - first < GROUP ? n_left - first : GROUP);
    HLY_TRY(reserve_rows(ctx, block, first + e->g.n));
    for (uint32_t k = 0; k < e->g.n; k++) sizes[k] = fixed;
    for (uint32_t f = 0; f < e->n_cols; f++) add_bytes(sizes, &e->s, column(e, f), &e->g);
    for (uint32_t k = 0; k < e->g.n; k++) {
      if (sizes[k] > INT32_MAX - 15)
        return hly_error_setf(&ctx->error, HLY_E_INTERNAL, "a row of %llu bytes",
                              (unsigned long long)sizes[k]);
      if (block->n_rows > 0 && at + sizes[k] > max_bytes) return HLY_OK;
      at += sizes[k];
      block->offsets[++block->n_rows] = at;
    }
  }
  return HLY_OK;
}

hly_status hly_unsafe_row_encode(hly_ctx *ctx, const hly_batch *batch, const uint32_t *cols, uint32_t n_cols,
                                 uint32_t from, uint64_t max_bytes, hly_row_block *block, uint32_t *n_done) {
  encoder e;
  e.batch = batch;
  e.cols = cols;
  e.n_cols = cols ? n_cols : batch->n_columns;
  e.from = from;
  block->n_rows = 0;
  *n_done = 0;
  if (from > batch->n_sel) return hly_error_setf(&ctx->error, HLY_E_INTERNAL, "rows past the batch");
  HLY_TRY(measure(ctx, &e, max_bytes, block));
  uint64_t n_bytes = block->offsets[block->n_rows];
  if (hly_buf_reuse(&block->data, n_bytes)) {
    block->n_rows = 0;
    return hly_ctx_nomem(ctx, (int64_t)n_bytes);
  }
  size_t bitset = bitset_bytes(e.n_cols), fixed = bitset + 8 * (size_t)e.n_cols;
  for (uint32_t first = 0; first < block->n_rows; first += e.g.n) {
    begin_group(&e, first, block->n_rows - first < GROUP ? block->n_rows - first : GROUP);
    for (uint32_t k = 0; k < e.g.n; k++) {
      uint8_t *base = block->data->data + block->offsets[first + k];
      e.g.base[k] = base;
      e.g.cursor[k] = base + fixed;
      for (size_t w = 0; w < bitset; w += 8) put64(base + w, 0);
    }
    for (uint32_t f = 0; f < e.n_cols; f++) put_column(&e.g, &e.s, column(&e, f), f, bitset + 8 * (size_t)f);
  }
  *n_done = block->n_rows;
  return HLY_OK;
}
