#include "shuffle/block.h"

#include <string.h>

#include <xxhash.h>

#include "base/mem.h"
#include "shuffle/block_form.h"
#include "shuffle/codec.h"
#include "vector/decimal.h"

// A frame is decompressed into one buffer, and what needs no conversion stays there: fixed-width values,
// validity and the bytes of strings are slices of it that each hold a reference. Only narrowed integers,
// booleans, string views and spans get memory of their own.

struct hly_block_reader {
  hly_ctx *ctx;
  const hly_schema *schema;
  hly_codec *codec;
  hly_buf *body;
  hly_batch batch;
  hly_vector **columns;
};

typedef struct cursor {
  hly_ctx *ctx;
  hly_buf *body;
  size_t at, end;
} cursor;

hly_status hly_block_reader_create(hly_ctx *ctx, const hly_schema *schema, hly_block_reader **out) {
  *out = NULL;
  hly_block_reader *r = hly_calloc(1, sizeof *r);
  HLY_CHECK_MEM(ctx, r, sizeof *r);
  r->ctx = ctx;
  r->schema = schema;
  r->columns = hly_calloc(schema->n_fields ? schema->n_fields : 1, sizeof *r->columns);
  hly_status st = r->columns ? HLY_OK : hly_ctx_nomem(ctx, schema->n_fields * 8);
  if (st == HLY_OK) st = hly_codec_create(ctx, HALLEY__CODEC__NONE, 0, &r->codec);
  if (st != HLY_OK) {
    hly_block_reader_destroy(r);
    return st;
  }
  r->batch.columns = r->columns;
  r->batch.n_columns = schema->n_fields;
  *out = r;
  return HLY_OK;
}

static void release_columns(hly_block_reader *r) {
  for (uint32_t c = 0; c < r->schema->n_fields; c++) {
    hly_vector_unref(r->columns[c]);
    r->columns[c] = NULL;
  }
}

void hly_block_reader_destroy(hly_block_reader *r) {
  if (!r) return;
  if (r->columns) release_columns(r);
  hly_free(r->columns);
  hly_buf_unref(r->body);
  hly_codec_destroy(r->codec);
  hly_free(r);
}

uint64_t hly_block_reader_bytes(const hly_block_reader *r) {
  uint64_t n = r->body ? r->body->capacity : 0;
  // Slices of the body have a release function; what has none is memory of its own.
  for (uint32_t c = 0; c < r->schema->n_fields; c++) {
    const hly_vector *v = r->columns[c];
    if (v && v->values_buf && !v->values_buf->release) n += v->values_buf->capacity;
    if (v && v->indices_buf) n += v->indices_buf->capacity;
  }
  return n;
}

static hly_status corrupt(hly_ctx *ctx, const char *what) {
  return hly_error_setf(&ctx->error, HLY_E_SHUFFLE_CORRUPT, "a shuffle frame is damaged: %s", what);
}

#define NEED(c, cond, what)                                                                                  \
  do {                                                                                                       \
    if (__builtin_expect(!(cond), 0)) return corrupt((c)->ctx, what);                                        \
  } while (0)

// ---- slices of the body

static hly_status take(cursor *c, size_t n, size_t *at) {
  NEED(c, n <= c->end - c->at, "a part is longer than the frame");
  *at = c->at;
  c->at += n;
  return HLY_OK;
}

static hly_status skip_to(cursor *c, size_t multiple) {
  size_t to = form_align(c->at, multiple);
  NEED(c, to <= c->end, "padding is missing");
  c->at = to;
  return HLY_OK;
}

static void release_slice(hly_buf *slice) {
  hly_buf_unref(slice->release_arg);
}

static hly_status slice(cursor *c, size_t at, size_t n, hly_buf **out) {
  hly_buf *b = hly_buf_wrap(c->body->data + at, n, release_slice, c->body);
  HLY_CHECK_MEM(c->ctx, b, sizeof *b);
  hly_buf_ref(c->body);
  *out = b;
  return HLY_OK;
}

// ---- columns

static hly_status read_flat(cursor *c, const hly_type *type, hly_vector *v, uint64_t n);

static uint32_t load_length(const uint8_t *p, uint8_t width, size_t i) {
  if (width == 1) return p[i];
  if (width == 2) return ((const uint16_t *)p)[i];
  return ((const uint32_t *)p)[i];
}

static hly_status take_lengths(cursor *c, uint32_t n, uint8_t width, const uint8_t **out) {
  NEED(c, width == 1 || width == 2 || width == 4, "a width of lengths");
  size_t at = 0;
  HLY_TRY(take(c, (size_t)n * width, &at));
  HLY_TRY(skip_to(c, 8));
  *out = c->body->data + at;
  return HLY_OK;
}

static hly_status new_values(cursor *c, hly_vector *v, size_t n_bytes) {
  v->values_buf = hly_buf_create(n_bytes ? n_bytes : 1);
  HLY_CHECK_MEM(c->ctx, v->values_buf, n_bytes);
  v->values = v->values_buf->data;
  return HLY_OK;
}

#define WIDEN(T, U, I)                                                                                       \
  do {                                                                                                       \
    const I *from = (const I *)in;                                                                           \
    T *to = v->values;                                                                                       \
    for (uint32_t i = 0; i < n; i++) to[i] = (T)((U)base + (U)from[i]);                                      \
  } while (0)

#define DEFINE_WIDEN(name, T, U)                                                                             \
  static void name(hly_vector *v, const uint8_t *base_at, const uint8_t *in, uint32_t n, uint8_t width) {    \
    T base;                                                                                                  \
    memcpy(&base, base_at, sizeof base);                                                                     \
    switch (width) {                                                                                         \
    case 1: WIDEN(T, U, uint8_t); break;                                                                     \
    case 2: WIDEN(T, U, uint16_t); break;                                                                    \
    case 4: WIDEN(T, U, uint32_t); break;                                                                    \
    default: WIDEN(T, U, uint64_t); break;                                                                   \
    }                                                                                                        \
  }
DEFINE_WIDEN(widen_i32, int32_t, uint32_t)
DEFINE_WIDEN(widen_i64, int64_t, uint64_t)
DEFINE_WIDEN(widen_i128, hly_i128, hly_u128)

static hly_status read_fixed(cursor *c, hly_phys phys, hly_vector *v, uint32_t n, uint8_t width) {
  size_t size = hly_phys_size[phys], at = 0;
  if (phys == HLY_PHYS_BOOL) {
    NEED(c, width == 0, "a width of booleans");
    HLY_TRY(take(c, hly_bits_bytes(n), &at));
    HLY_TRY(new_values(c, v, n));
    hly_bits_unpack((const uint64_t *)(c->body->data + at), n, v->values);
    return HLY_OK;
  }
  if (size == 16) HLY_TRY(skip_to(c, 16));
  if (width == 0) {
    HLY_TRY(take(c, n * size, &at));
    HLY_TRY(skip_to(c, 8));
    HLY_TRY(slice(c, at, n * size, &v->values_buf));
    v->values = v->values_buf->data;
    return HLY_OK;
  }
  NEED(c, form_narrows(phys) && width < size && (width & (width - 1)) == 0, "a width of integers");
  size_t base = 0;
  HLY_TRY(take(c, size == 16 ? 16 : 8, &base));
  HLY_TRY(take(c, (size_t)n * width, &at));
  HLY_TRY(skip_to(c, 8));
  HLY_TRY(new_values(c, v, n * size));
  const uint8_t *from = c->body->data;
  if (phys == HLY_PHYS_I32) {
    widen_i32(v, from + base, from + at, n, width);
  } else if (phys == HLY_PHYS_I64) {
    widen_i64(v, from + base, from + at, n, width);
  } else {
    widen_i128(v, from + base, from + at, n, width);
  }
  return HLY_OK;
}

// Reads a column of strings into views `stride` apart.
static hly_status read_strings(cursor *c, hly_vector *v, uint32_t n, uint8_t width, uint32_t stride,
                               uint32_t which) {
  size_t at = 0;
  HLY_TRY(take(c, 8, &at));
  uint64_t total;
  memcpy(&total, c->body->data + at, 8);
  const uint8_t *lengths = NULL;
  HLY_TRY(take_lengths(c, n, width, &lengths));
  NEED(c, total <= c->end - c->at, "strings are longer than the frame");
  HLY_TRY(take(c, total, &at));
  HLY_TRY(skip_to(c, 8));
  hly_str *out = (hly_str *)v->values + which;
  const uint8_t *p = c->body->data + at, *end = p + total;
  bool outside = false; // whether a view points into the body
  for (uint32_t i = 0; i < n; i++) {
    uint32_t len = load_length(lengths, width, i);
    if (__builtin_expect(len > (size_t)(end - p), 0))
      return corrupt(c->ctx, "lengths pass the strings' bytes");
    out[(size_t)i * stride] = hly_str_make(p, len);
    outside |= len > HLY_STR_INLINE;
    p += len;
  }
  NEED(c, p == end, "lengths do not add up to the strings' bytes");
  if (!outside) return HLY_OK;
  hly_buf *heap = NULL;
  HLY_TRY(slice(c, at, total, &heap));
  hly_status st = hly_vector_add_heap(c->ctx, v, heap);
  hly_buf_unref(heap);
  return st;
}

static hly_status read_spans(cursor *c, const hly_type *type, hly_vector *v, uint32_t n, uint8_t width) {
  const uint8_t *lengths = NULL;
  HLY_TRY(take_lengths(c, n, width, &lengths));
  HLY_TRY(new_values(c, v, (size_t)n * sizeof(hly_span)));
  hly_span *out = v->values;
  int64_t offset = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t len = load_length(lengths, width, i);
    if (__builtin_expect(len > INT32_MAX - offset, 0)) return corrupt(c->ctx, "too many elements");
    out[i] = (hly_span){(int32_t)offset, (int32_t)len};
    offset += len;
  }
  for (uint32_t k = 0; k < type->n_fields; k++) {
    HLY_TRY(read_flat(c, type->fields[k].type, v->children[k], (uint64_t)offset));
  }
  return HLY_OK;
}

typedef struct column_header {
  uint8_t form, flags, width;
  uint32_t n;
} column_header;

static hly_status read_header(cursor *c, column_header *h) {
  size_t at = 0;
  HLY_TRY(take(c, COLUMN_HEADER, &at));
  const uint8_t *p = c->body->data + at;
  NEED(c, p[3] == 0, "a column's header");
  h->form = p[0];
  h->flags = p[1];
  h->width = p[2];
  memcpy(&h->n, p + 4, 4);
  return HLY_OK;
}

static hly_status read_validity(cursor *c, hly_vector *v, uint32_t n, uint8_t flags) {
  if (!(flags & FLAG_VALIDITY)) return HLY_OK;
  size_t at = 0;
  HLY_TRY(take(c, hly_bits_bytes(n), &at));
  HLY_TRY(slice(c, at, hly_bits_bytes(n), &v->validity_buf));
  v->validity = (uint64_t *)v->validity_buf->data;
  if (n & 63) v->validity[n / 64] &= (1ull << (n & 63)) - 1;
  return HLY_OK;
}

// A null column that the type NULL has.
static hly_status all_null(cursor *c, hly_vector *v, uint32_t n) {
  v->validity_buf = hly_buf_create(hly_bits_bytes(n) + 8);
  HLY_CHECK_MEM(c->ctx, v->validity_buf, hly_bits_bytes(n));
  v->validity = (uint64_t *)v->validity_buf->data;
  hly_bits_fill(v->validity, n, false);
  return HLY_OK;
}

static hly_status read_flat_after(cursor *c, const hly_type *type, hly_vector *v, const column_header *h) {
  uint32_t n = h->n;
  NEED(c, (h->flags & ~FLAG_VALIDITY) == 0, "a column's flags");
  v->encoding = HLY_FLAT;
  v->n_rows = n;
  HLY_TRY(read_validity(c, v, n, h->flags));
  switch (type->phys) {
  case HLY_PHYS_STR:
    NEED(c, n <= c->end - c->at, "more strings than bytes"); // before memory is asked for them
    HLY_TRY(new_values(c, v, (size_t)n * sizeof(hly_str)));
    return read_strings(c, v, n, h->width, 1, 0);
  case HLY_PHYS_VARIANT: {
    NEED(c, n <= c->end - c->at, "more values than bytes");
    HLY_TRY(new_values(c, v, (size_t)n * 2 * sizeof(hly_str)));
    HLY_TRY(read_strings(c, v, n, h->width, 2, 0));
    size_t at = 0;
    HLY_TRY(take(c, 8, &at));
    uint64_t second;
    memcpy(&second, c->body->data + at, 8);
    NEED(c, second <= 4, "a width of lengths");
    return read_strings(c, v, n, (uint8_t)second, 2, 1);
  }
  case HLY_PHYS_SPAN: return read_spans(c, type, v, n, h->width);
  case HLY_PHYS_NONE:
    if (type->kind != HLY_STRUCT) {
      // The vector of a NULL column has no bytes to bound its length: a NULL child has as many rows as spans
      // say, which may be far more than the frame has bytes.
      NEED(c, n <= HLY_FRAME_MAX_ROWS, "too many nulls");
      return v->validity ? HLY_OK : all_null(c, v, n);
    }
    for (uint32_t k = 0; k < type->n_fields; k++) {
      HLY_TRY(read_flat(c, type->fields[k].type, v->children[k], n));
    }
    return HLY_OK;
  default: return read_fixed(c, type->phys, v, n, h->width);
  }
}

static hly_status read_flat(cursor *c, const hly_type *type, hly_vector *v, uint64_t n) {
  column_header h;
  HLY_TRY(read_header(c, &h));
  NEED(c, h.form == FORM_FLAT && h.n == n, "an inner column's form or rows");
  return read_flat_after(c, type, v, &h);
}

// A constant is built as a flat vector of one row first; its buffers then stand for all rows.
static hly_status read_const(cursor *c, const hly_type *type, hly_vector *v, const column_header *h) {
  NEED(c, h->width == 0 && (h->flags & ~FLAG_NULL) == 0, "a constant's flags");
  if (h->flags & FLAG_NULL) {
    hly_literal null = {.type = type, .is_null = true};
    return hly_vector_set_const(c->ctx, v, &null, h->n);
  }
  NEED(c, h->n > 0 && type->kind != HLY_NULL, "a constant without rows");
  HLY_TRY(read_flat(c, type, v, 1));
  NEED(c, !v->validity, "a constant's validity");
  v->encoding = HLY_CONST;
  v->n_rows = h->n;
  return HLY_OK;
}

static hly_status read_dict(cursor *c, const hly_type *type, hly_vector *v, const column_header *h) {
  NEED(c, (h->flags & ~FLAG_VALIDITY) == 0 && type->phys == HLY_PHYS_STR, "a dictionary's flags or type");
  uint32_t n = h->n;
  hly_buf *validity_buf = NULL;
  uint64_t *validity = NULL;
  hly_vector *dict = NULL;
  hly_status st = HLY_OK;
  if (h->flags & FLAG_VALIDITY) {
    size_t at = 0;
    HLY_TRY(take(c, hly_bits_bytes(n), &at));
    HLY_TRY(slice(c, at, hly_bits_bytes(n), &validity_buf));
    validity = (uint64_t *)validity_buf->data;
    if (n & 63) validity[n / 64] &= (1ull << (n & 63)) - 1;
  }
  const uint8_t *codes = NULL;
  HLY_TRY_GOTO(st, take_lengths(c, n, h->width, &codes), out);
  column_header inner;
  HLY_TRY_GOTO(st, read_header(c, &inner), out);
  if (inner.form != FORM_FLAT || inner.n == 0 || (inner.flags & FLAG_VALIDITY)) {
    st = corrupt(c->ctx, "a dictionary's entries");
    goto out;
  }
  dict = hly_vector_create(type);
  if (!dict) {
    st = hly_ctx_nomem(c->ctx, sizeof *dict);
    goto out;
  }
  HLY_TRY_GOTO(st, read_flat_after(c, type, dict, &inner), out);
  HLY_TRY_GOTO(st, hly_vector_set_dict(c->ctx, v, dict, n), out);
  uint32_t max = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t code = load_length(codes, h->width, i);
    v->indices[i] = code;
    max = code > max ? code : max;
  }
  if (max >= inner.n) {
    // The vector is dropped with the frame, but must not be walked with codes outside its entries.
    if (n) memset(v->indices, 0, (size_t)n * sizeof *v->indices);
    st = corrupt(c->ctx, "a code outside its dictionary");
    goto out;
  }
  v->validity = validity;
  hly_buf_unref(v->validity_buf);
  v->validity_buf = validity_buf;
  validity_buf = NULL;
out:
  hly_buf_unref(validity_buf);
  hly_vector_unref(dict);
  return st;
}

static hly_status read_column(cursor *c, const hly_type *type, hly_vector *v, uint32_t n) {
  column_header h;
  HLY_TRY(read_header(c, &h));
  NEED(c, h.n == n, "a column's rows");
  switch (h.form) {
  case FORM_FLAT: HLY_TRY(read_flat_after(c, type, v, &h)); break;
  case FORM_CONST: HLY_TRY(read_const(c, type, v, &h)); break;
  case FORM_DICT: HLY_TRY(read_dict(c, type, v, &h)); break;
  default: return corrupt(c->ctx, "a column's form");
  }
  return HLY_OK;
}

static uint32_t get_u32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return v;
}

hly_status hly_block_read(hly_block_reader *r, const uint8_t *frame, size_t n_bytes, hly_batch **out) {
  *out = NULL;
  hly_ctx *ctx = r->ctx;
  cursor c = {.ctx = ctx};
  NEED(&c, n_bytes >= HLY_FRAME_HEADER, "it ends in its header");
  uint32_t n_body = get_u32(frame + 4), n_raw = get_u32(frame + 8), n_rows = get_u32(frame + 12);
  NEED(&c, get_u32(frame) == HLY_FRAME_MAGIC, "no frame begins here");
  NEED(&c, frame[21] == HLY_FRAME_VERSION && frame[22] == 0 && frame[23] == 0, "another version's format");
  NEED(&c, n_body == n_bytes - HLY_FRAME_HEADER, "its length");
  uint64_t check;
  memcpy(&check, frame + 24, 8);
  const uint8_t *body = frame + HLY_FRAME_HEADER;
  NEED(&c, check == XXH64(body, n_body, XXH64(frame, 24, 0)), "its checksum");
  NEED(&c, n_raw <= HLY_FRAME_MAX_BYTES && n_rows <= HLY_FRAME_MAX_ROWS, "its size");
  NEED(&c, get_u32(frame + 16) == r->schema->n_fields, "its number of columns");

  release_columns(r);
  if (hly_buf_reuse(&r->body, n_raw ? n_raw : 1) != 0) {
    return hly_ctx_nomem(ctx, n_raw);
  }
  HLY_TRY(hly_codec_decompress(r->codec, ctx, frame[20], body, n_body, r->body->data, n_raw));
  c.body = r->body;
  c.end = n_raw;
  for (uint32_t i = 0; i < r->schema->n_fields; i++) {
    const hly_type *type = r->schema->fields[i].type;
    r->columns[i] = hly_vector_create(type);
    HLY_CHECK_MEM(ctx, r->columns[i], sizeof(hly_vector));
    HLY_TRY(read_column(&c, type, r->columns[i], n_rows));
  }
  NEED(&c, c.at == c.end, "bytes are left over");
  hly_batch_set_rows(&r->batch, n_rows);
  *out = &r->batch;
  return HLY_OK;
}
