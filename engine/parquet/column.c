#include "parquet/column.h"

#include <string.h>

void hly_pq_column_init(hly_pq_column *c, hly_file *file, const hly_pq_element *element, const hly_type *type,
                        const hly_pq_convert *convert) {
  memset(c, 0, sizeof *c);
  c->file = file;
  c->element = element;
  c->type = type;
  c->convert = *convert;
}

void hly_pq_column_deinit(hly_pq_column *c) {
  hly_pq_pages_deinit(&c->pages);
  hly_pq_values_deinit(&c->values);
  hly_vector_unref(c->dictionary);
  hly_buf_unref(c->index_buf);
  hly_buf_unref(c->stored_buf);
  hly_buf_unref(c->bits_buf);
  hly_buf_unref(c->piece_buf);
  hly_buf_unref(c->rank_buf);
  memset(c, 0, sizeof *c);
}

void hly_pq_column_start(hly_pq_column *c, const hly_pq_chunk *chunk, hly_pq_codec_state *codecs,
                         hly_buf *preloaded, int64_t preloaded_start) {
  hly_pq_pages_init(&c->pages, c->file, c->element->name, chunk, codecs, preloaded, preloaded_start);
  c->rows_left = chunk->n_values;
  c->pending_skip = 0;
  hly_vector_unref(c->dictionary);
  c->dictionary = NULL;
  c->n_dictionary = 0;
  c->page_left = 0;
  c->page_open = false;
}

void hly_pq_column_skip(hly_pq_column *c, uint32_t n) {
  c->pending_skip += n;
}

static hly_status fail(const hly_pq_column *c, const char *what) {
  return hly_file_fail(c->file, "corrupt page of column %s: %s", c->element->name, what);
}

// A scratch buffer of at least n bytes; contents are not kept.
static hly_status scratch(hly_pq_column *c, hly_buf **buf, size_t n_bytes) {
  if (*buf && (*buf)->capacity >= n_bytes) return HLY_OK;
  return hly_buf_reuse(buf, n_bytes) == 0 ? HLY_OK : hly_ctx_nomem(c->file->ctx, (int64_t)n_bytes);
}

// ---- conversion

static hly_status convert_failed(const hly_pq_column *c, hly_pq_convert_error e) {
  hly_error *error = &c->file->ctx->error;
  switch (e) {
  case HLY_PQ_CONVERT_OK: return HLY_OK;
  case HLY_PQ_CONVERT_OVERFLOW:
    return hly_file_fail(c->file, "column %s: a value is out of range", c->element->name);
  case HLY_PQ_CONVERT_ANCIENT:
    return c->convert.int96
               ? hly_error_set(error, HLY_E_DATETIME_REBASE, 3, "format", "Parquet INT96", "config",
                               "\"spark.sql.parquet.int96RebaseModeInRead\"", "option", "\"int96RebaseMode\"")
               : hly_error_set(error, HLY_E_DATETIME_REBASE, 3, "format", "Parquet", "config",
                               "\"spark.sql.parquet.datetimeRebaseModeInRead\"", "option",
                               "\"datetimeRebaseMode\"");
  case HLY_PQ_CONVERT_UNKNOWN_ZONE:
    return hly_file_fail(
        c->file,
        "column %s: a timestamp before 1900 was written in the legacy calendar of time zone %s, "
        "which this reader cannot rebase",
        c->element->name, c->convert.unknown_zone);
  case HLY_PQ_CONVERT_BAD_BYTES: return fail(c, "a decimal or timestamp of wrong length");
  }
  return fail(c, "a value cannot be converted");
}

static hly_status convert(const hly_pq_column *c, const void *stored, uint32_t n, void *out) {
  hly_pq_convert_error e = hly_pq_convert_values(&c->convert, stored, n, out);
  return e == HLY_PQ_CONVERT_OK ? HLY_OK : convert_failed(c, e);
}

// Whether decoders may write straight into a vector.
static inline bool direct(const hly_pq_column *c) {
  return c->convert.kind == HLY_PQ_AS_IS && c->convert.rebase == HLY_PQ_REBASE_CORRECTED;
}
static inline bool is_string(const hly_pq_column *c) {
  return c->type->phys == HLY_PHYS_STR;
}

// ---- pages

static void values_setup(hly_pq_column *c, const uint8_t *data, size_t n_bytes, uint32_t n, hly_buf *heap) {
  hly_pq_values *v = &c->values;
  v->file = c->file;
  v->column = c->element->name;
  v->type = c->element->type;
  v->length = (uint32_t)c->element->type_length;
  v->p = data;
  v->end = data + n_bytes;
  v->n = n;
  v->heap = heap;
}

static hly_status read_dictionary(hly_pq_column *c) {
  hly_ctx *ctx = c->file->ctx;
  hly_pq_page_body body;
  if (c->dictionary) return fail(c, "a second dictionary");
  if (c->header.encoding != HLY_PQ_PLAIN && c->header.encoding != HLY_PQ_PLAIN_DICTIONARY)
    return hly_file_fail(c->file, "column %s: a dictionary encoded as %s is not supported", c->element->name,
                         hly_pq_encoding_name(c->header.encoding));
  if (c->element->type == HLY_PQ_BOOLEAN) return fail(c, "a dictionary of booleans");
  HLY_TRY(hly_pq_pages_body(&c->pages, &c->header, &body));
  uint32_t n = (uint32_t)c->header.n_values, size = c->convert.stored_size;
  // The smallest a value can be bounds what is allocated.
  uint32_t smallest = c->element->type == HLY_PQ_BYTE_ARRAY ? 4
                      : c->element->type == HLY_PQ_FIXED_LEN_BYTE_ARRAY || size == 16
                          ? (uint32_t)c->element->type_length
                          : size;
  if ((uint64_t)n * smallest > body.n_values_bytes)
    return fail(c, "a dictionary with fewer values than it says");
  // Null rows need some index: there is always a value, which no row may name.
  hly_vector *d = hly_vector_create(c->type);
  HLY_CHECK_MEM(ctx, d, sizeof *d);
  c->dictionary = d;
  HLY_TRY(hly_vector_reset(ctx, d, n ? n : 1));
  if (n == 0) memset(d->values, 0, hly_phys_size[c->type->phys]);
  values_setup(c, body.values, body.n_values_bytes, n, body.owner);
  HLY_TRY(hly_pq_values_init(&c->values, HLY_PQ_PLAIN));
  if (direct(c)) {
    HLY_TRY(c->values.cls->read(&c->values, n, d->values));
  } else {
    HLY_TRY(scratch(c, &c->stored_buf, (size_t)n * size));
    HLY_TRY(c->values.cls->read(&c->values, n, c->stored_buf->data));
    HLY_TRY(convert(c, c->stored_buf->data, n, d->values));
  }
  if (is_string(c)) HLY_TRY(hly_vector_add_heap(ctx, d, body.owner));
  c->n_dictionary = n;
  return HLY_OK;
}

// Moves to the next data page; its body stays compressed. There must be one: rows are left.
static hly_status next_page(hly_pq_column *c) {
  for (;;) {
    bool more;
    HLY_TRY(hly_pq_pages_next(&c->pages, &c->header, &more));
    if (!more) return fail(c, "the chunk ends before its last row");
    switch (c->header.type) {
    case HLY_PQ_DICTIONARY_PAGE: HLY_TRY(read_dictionary(c)); continue;
    case HLY_PQ_DATA_PAGE:
    case HLY_PQ_DATA_PAGE_V2:
      if (c->header.n_values > c->rows_left) return fail(c, "more values than the chunk has");
      if (c->header.n_values == 0) {
        hly_pq_pages_skip(&c->pages, &c->header);
        continue;
      }
      c->page_left = (uint32_t)c->header.n_values;
      c->page_open = false;
      return HLY_OK;
    default: hly_pq_pages_skip(&c->pages, &c->header);
    }
  }
}

// Decompresses the page and sets up its decoders.
static hly_status open_page(hly_pq_column *c) {
  hly_pq_page_body body;
  const hly_pq_page_header *h = &c->header;
  HLY_TRY(hly_pq_pages_body(&c->pages, h, &body));
  const uint8_t *p = body.values, *end = p + body.n_values_bytes;
  if (c->element->max_def > 0) {
    const uint8_t *levels;
    uint32_t n_levels;
    if (h->type == HLY_PQ_DATA_PAGE_V2) {
      levels = body.levels + h->rep_bytes;
      n_levels = (uint32_t)h->def_bytes;
    } else {
      if (h->def_encoding != HLY_PQ_RLE)
        return hly_file_fail(c->file, "column %s: levels encoded as %s are not supported", c->element->name,
                             hly_pq_encoding_name(h->def_encoding));
      if (end - p < 4) return fail(c, "no room for levels");
      memcpy(&n_levels, p, 4);
      p += 4;
      if (n_levels > (size_t)(end - p)) return fail(c, "levels longer than the page");
      levels = p;
      p += n_levels;
    }
    hly_pq_rle_init(&c->levels, levels, n_levels, 1);
  }
  c->page_dictionary = h->encoding == HLY_PQ_PLAIN_DICTIONARY || h->encoding == HLY_PQ_RLE_DICTIONARY;
  if (c->page_dictionary) {
    if (!c->dictionary) return fail(c, "indices without a dictionary");
    uint32_t width = p < end ? *p++ : 0;
    if (!hly_pq_rle_init(&c->indices, p, (size_t)(end - p), width))
      return fail(c, "indices wider than 32 bits");
  } else {
    values_setup(c, p, (size_t)(end - p), (uint32_t)h->n_values, body.owner);
    HLY_TRY(hly_pq_values_init(&c->values, h->encoding));
  }
  c->page_open = true;
  return HLY_OK;
}

static hly_status need_page(hly_pq_column *c, bool open) {
  if (c->page_left == 0) HLY_TRY(next_page(c));
  return open && !c->page_open ? open_page(c) : HLY_OK;
}

static void page_done(hly_pq_column *c, uint32_t n) {
  c->page_left -= n;
  c->rows_left -= n;
}

// ---- levels

// Bits of the next n rows (1: not null) to bits_buf from bit `start`; how many are set. `*all` true: they are
// all set, and nothing was written.
static hly_status read_levels(hly_pq_column *c, uint32_t start, uint32_t n, uint32_t *n_valid, bool *all) {
  *all = true;
  *n_valid = n;
  if (c->element->max_def == 0) return HLY_OK;
  uint32_t value;
  if (hly_pq_rle_run(&c->levels, &value) >= n && value == 1) {
    if (!hly_pq_rle_skip(&c->levels, n)) return fail(c, "fewer levels than its header says");
    return HLY_OK;
  }
  *all = false;
  if (!hly_pq_rle_read_bits(&c->levels, (uint64_t *)c->bits_buf->data, start, n, n_valid))
    return fail(c, "fewer levels than its header says");
  return HLY_OK;
}

// ---- values of a piece: rows of one page

static void gather_dictionary(const hly_pq_column *c, const uint32_t *indices, uint32_t n, void *out) {
  const void *values = c->dictionary->values;
  const hly_pq_kernels *k = hly_pq_kernels_get();
  switch (c->convert.value_size) {
  case 1:
    for (uint32_t i = 0; i < n; i++) ((uint8_t *)out)[i] = ((const uint8_t *)values)[indices[i]];
    break;
  case 2:
    for (uint32_t i = 0; i < n; i++) ((uint16_t *)out)[i] = ((const uint16_t *)values)[indices[i]];
    break;
  case 4: k->gather32(values, indices, n, out); break;
  case 8: k->gather64(values, indices, n, out); break;
  default:
    for (uint32_t i = 0; i < n; i++) ((hly_i128 *)out)[i] = ((const hly_i128 *)values)[indices[i]];
  }
}

// What an output vector looks like while it is filled.
typedef struct target {
  hly_vector *v;
  bool dict;      // indices are written, values are not
  bool has_nulls; // then the bits of all rows so far are in bits_buf (read) or in `bits` (select)
  uint32_t done;  // rows written
} target;

static inline uint8_t *target_values(const hly_pq_column *c, const target *t) {
  return (uint8_t *)t->v->values + (size_t)t->done * c->convert.value_size;
}

static hly_status read_indices(hly_pq_column *c, uint32_t n, uint32_t *out) {
  if (!hly_pq_rle_read(&c->indices, out, n)) return fail(c, "fewer indices than its header says");
  if (n && c->indices.kernels->max32(out, n) >= c->n_dictionary)
    return fail(c, "an index outside the dictionary");
  return HLY_OK;
}

// A dictionary vector that meets a page of another kind becomes flat.
static hly_status make_flat(hly_pq_column *c, target *t, uint32_t n_rows) {
  hly_ctx *ctx = c->file->ctx;
  hly_buf *indices = hly_buf_ref(t->v->indices_buf);
  hly_vector *dict = hly_vector_ref(t->v->dict);
  hly_status st = hly_vector_reset(ctx, t->v, n_rows);
  if (st == HLY_OK) {
    gather_dictionary(c, (const uint32_t *)indices->data, t->done, t->v->values);
    st = hly_vector_share_heaps(ctx, t->v, dict);
  }
  hly_vector_unref(dict);
  hly_buf_unref(indices);
  t->dict = false;
  return st;
}

// Chooses the encoding for the first piece and keeps to it as long as pages allow.
static hly_status prepare(hly_pq_column *c, target *t, uint32_t n_rows) {
  bool dict = c->page_dictionary && is_string(c);
  if (t->done == 0) {
    t->dict = dict;
    return dict ? hly_vector_set_dict(c->file->ctx, t->v, c->dictionary, n_rows)
                : hly_vector_reset(c->file->ctx, t->v, n_rows);
  }
  if (t->dict && !dict) return make_flat(c, t, n_rows);
  return HLY_OK;
}

// n values, packed, to the target's end. When `sel` is given, only those at sel of n_of.
static hly_status read_values(hly_pq_column *c, target *t, const uint32_t *sel, uint32_t n, uint32_t n_of) {
  hly_ctx *ctx = c->file->ctx;
  if (c->page_dictionary) {
    uint32_t *to = t->dict && !sel ? t->v->indices + t->done : NULL;
    if (!to) {
      HLY_TRY(scratch(c, &c->index_buf, (size_t)n_of * 4));
      to = (uint32_t *)c->index_buf->data;
    }
    HLY_TRY(read_indices(c, n_of, to));
    if (sel) {
      uint32_t *packed = t->dict ? t->v->indices + t->done : to;
      for (uint32_t i = 0; i < n; i++) packed[i] = to[sel[i]]; // sel[i] >= i: packing in place is safe
      to = packed;
    }
    if (t->dict) return HLY_OK;
    gather_dictionary(c, to, n, target_values(c, t));
    return is_string(c) ? hly_vector_share_heaps(ctx, t->v, c->dictionary) : HLY_OK;
  }
  hly_pq_values *v = &c->values;
  uint8_t *out = target_values(c, t);
  uint32_t size = c->convert.stored_size;
  void *to = out;
  if (!direct(c)) {
    HLY_TRY(scratch(c, &c->stored_buf, (size_t)n * size));
    to = c->stored_buf->data;
  }
  if (!sel) {
    HLY_TRY(v->cls->read(v, n, to));
  } else if (v->cls->select) {
    HLY_TRY(v->cls->select(v, sel, n, n_of, to));
  } else {
    HLY_TRY(scratch(c, &c->piece_buf, (size_t)n_of * size));
    const uint8_t *all = c->piece_buf->data;
    HLY_TRY(v->cls->read(v, n_of, c->piece_buf->data));
    switch (size) {
    case 1:
      for (uint32_t i = 0; i < n; i++) ((uint8_t *)to)[i] = all[sel[i]];
      break;
    case 4: hly_pq_kernels_get()->gather32((const uint32_t *)all, sel, n, to); break;
    case 8: hly_pq_kernels_get()->gather64((const uint64_t *)all, sel, n, to); break;
    default:
      for (uint32_t i = 0; i < n; i++) ((hly_str *)to)[i] = ((const hly_str *)all)[sel[i]];
    }
  }
  if (!direct(c)) return convert(c, to, n, out);
  return is_string(c) ? hly_vector_add_heap(ctx, t->v, v->heap) : HLY_OK;
}

// Moves n packed values apart to n_rows rows, from the end; null rows get zeros.
#define SPREAD(TYPE)                                                                                         \
  do {                                                                                                       \
    TYPE *values = base, zero = {0};                                                                         \
    for (uint32_t i = n_rows, k = n; i > k;) {                                                               \
      bool valid = hly_bits_get(bits, start + --i);                                                          \
      values[i] = valid ? values[k - 1] : zero;                                                              \
      k -= valid;                                                                                            \
    }                                                                                                        \
  } while (0)

typedef struct wide {
  uint64_t a, b;
} wide;

static void spread(void *base, uint32_t size, const uint64_t *bits, uint32_t start, uint32_t n_rows,
                   uint32_t n) {
  if (n == 0) {
    memset(base, 0, (size_t)n_rows * size);
    return;
  }
  switch (size) {
  case 1: SPREAD(uint8_t); break;
  case 2: SPREAD(uint16_t); break;
  case 4: SPREAD(uint32_t); break;
  case 8: SPREAD(uint64_t); break;
  default: SPREAD(wide); break;
  }
}

static void spread_target(hly_pq_column *c, target *t, const uint64_t *bits, uint32_t n_rows, uint32_t n) {
  if (t->dict)
    spread(t->v->indices + t->done, 4, bits, t->done, n_rows, n);
  else
    spread(target_values(c, t), c->convert.value_size, bits, t->done, n_rows, n);
}

static hly_status finish(hly_pq_column *c, target *t, const uint64_t *bits) {
  if (!t->has_nulls) return HLY_OK;
  HLY_TRY(hly_vector_need_validity(c->file->ctx, t->v));
  memcpy(t->v->validity, bits, hly_bits_bytes(t->v->n_rows));
  if (t->v->n_rows & 63) t->v->validity[t->v->n_rows >> 6] &= (1ull << (t->v->n_rows & 63)) - 1;
  return HLY_OK;
}

// ---- reading

static hly_status skip_values(hly_pq_column *c, uint32_t n) {
  if (n == 0) return HLY_OK;
  if (!c->page_dictionary) return c->values.cls->skip(&c->values, n);
  return hly_pq_rle_skip(&c->indices, n) ? HLY_OK : fail(c, "fewer indices than its header says");
}

// Passes n rows of the page in hand.
static hly_status skip_piece(hly_pq_column *c, uint32_t n) {
  if (n == c->page_left) { // the rest of it
    if (!c->page_open) {
      hly_pq_pages_skip(&c->pages, &c->header);
      c->n_pages_skipped++;
    }
    page_done(c, n);
    return HLY_OK;
  }
  HLY_TRY(need_page(c, true));
  uint32_t left = n, n_valid;
  bool all;
  HLY_TRY(scratch(c, &c->bits_buf, hly_bits_bytes(n)));
  HLY_TRY(read_levels(c, 0, left, &n_valid, &all));
  HLY_TRY(skip_values(c, n_valid));
  page_done(c, n);
  return HLY_OK;
}

static hly_status do_pending_skip(hly_pq_column *c) {
  enum { MOST = 1 << 16 };
  while (c->pending_skip > 0) {
    if (c->pending_skip > c->rows_left) return fail(c, "fewer rows than the row group");
    HLY_TRY(need_page(c, false));
    uint32_t n = c->pending_skip < c->page_left ? (uint32_t)c->pending_skip : c->page_left;
    if (n < c->page_left && n > MOST) n = MOST;
    HLY_TRY(skip_piece(c, n));
    c->pending_skip -= n;
  }
  return HLY_OK;
}

static hly_status read_rows(hly_pq_column *c, uint32_t n, hly_vector *out) {
  target t = {.v = out};
  HLY_TRY(do_pending_skip(c));
  if (n > c->rows_left) return fail(c, "fewer rows than the row group");
  if (n == 0) return hly_vector_reset(c->file->ctx, out, 0);
  if (c->element->max_def > 0) HLY_TRY(scratch(c, &c->bits_buf, hly_bits_bytes(n)));
  uint64_t *bits = c->bits_buf ? (uint64_t *)c->bits_buf->data : NULL;
  while (t.done < n) {
    HLY_TRY(need_page(c, true));
    uint32_t take = n - t.done < c->page_left ? n - t.done : c->page_left, n_valid;
    bool all;
    HLY_TRY(prepare(c, &t, n));
    HLY_TRY(read_levels(c, t.done, take, &n_valid, &all));
    if (n_valid < take && !t.has_nulls) {
      t.has_nulls = true;
      for (uint32_t i = 0; i < t.done; i++) hly_bits_set(bits, i);
    } else if (t.has_nulls && all) {
      for (uint32_t i = 0; i < take; i++) hly_bits_set(bits, t.done + i);
    }
    HLY_TRY(read_values(c, &t, NULL, n_valid, n_valid));
    if (n_valid < take) spread_target(c, &t, bits, take, n_valid);
    t.done += take;
    page_done(c, take);
  }
  return finish(c, &t, bits);
}

// Positions among the values for the selected rows that are not null; their bits to `out_bits` from `at`.
// `sel` counts from `base`.
static uint32_t rank_selected(const uint64_t *bits, const uint32_t *sel, uint32_t n_sel, uint32_t base,
                              uint32_t *ranks, uint64_t *out_bits, uint32_t at) {
  uint32_t word = 0, before = 0, n = 0;
  for (uint32_t i = 0; i < n_sel; i++) {
    uint32_t row = sel[i] - base;
    while (word < row >> 6) before += (uint32_t)__builtin_popcountll(bits[word++]);
    uint64_t bit = 1ull << (row & 63);
    bool valid = bits[word] & bit;
    ranks[n] = before + (uint32_t)__builtin_popcountll(bits[word] & (bit - 1));
    n += valid;
    if (valid)
      hly_bits_set(out_bits, at + i);
    else
      hly_bits_clear(out_bits, at + i);
  }
  return n;
}

static hly_status select_rows(hly_pq_column *c, uint32_t n, const uint32_t *sel, uint32_t n_sel,
                              hly_vector *out) {
  target t = {.v = out};
  HLY_TRY(do_pending_skip(c));
  if (n > c->rows_left) return fail(c, "fewer rows than the row group");
  if (n_sel == 0) {
    c->pending_skip += n;
    return hly_vector_reset(c->file->ctx, out, 0);
  }
  // bits_buf: levels of the piece, then bits of the output.
  HLY_TRY(scratch(c, &c->bits_buf, hly_bits_bytes(n) + hly_bits_bytes(n_sel)));
  HLY_TRY(scratch(c, &c->rank_buf, (size_t)n_sel * 4));
  uint64_t *bits = (uint64_t *)c->bits_buf->data, *out_bits = bits + hly_bits_words(n);
  uint32_t *ranks = (uint32_t *)c->rank_buf->data;
  for (uint32_t base = 0; t.done < n_sel;) {
    HLY_TRY(need_page(c, false));
    uint32_t take = n - base < c->page_left ? n - base : c->page_left, n_valid, k = 0;
    while (t.done + k < n_sel && sel[t.done + k] < base + take) k++;
    if (k == 0) {
      HLY_TRY(skip_piece(c, take));
      base += take;
      continue;
    }
    // Rows behind the last one selected are left for the next skip, which may pass the page.
    if (t.done + k == n_sel) take = sel[n_sel - 1] + 1 - base;
    HLY_TRY(need_page(c, true));
    HLY_TRY(prepare(c, &t, n_sel));
    bool all;
    HLY_TRY(read_levels(c, 0, take, &n_valid, &all));
    uint32_t n_ranks = k;
    if (n_valid == take) {
      for (uint32_t i = 0; i < k; i++) ranks[i] = sel[t.done + i] - base;
      if (t.has_nulls)
        for (uint32_t i = 0; i < k; i++) hly_bits_set(out_bits, t.done + i);
    } else {
      if (!t.has_nulls)
        for (uint32_t i = 0; i < t.done; i++) hly_bits_set(out_bits, i);
      t.has_nulls = true;
      n_ranks = rank_selected(bits, sel + t.done, k, base, ranks, out_bits, t.done);
    }
    HLY_TRY(read_values(c, &t, ranks, n_ranks, n_valid));
    if (n_ranks < k) spread_target(c, &t, out_bits, k, n_ranks);
    t.done += k;
    base += take;
    page_done(c, take);
    if (t.done == n_sel) c->pending_skip += n - base;
  }
  return finish(c, &t, out_bits);
}

static hly_status always_null(hly_pq_column *c, uint32_t n, hly_vector *out) {
  c->pending_skip += n;
  return hly_vector_reset(c->file->ctx, out, n);
}

hly_status hly_pq_column_read(hly_pq_column *c, uint32_t n, hly_vector *out) {
  if (c->convert.kind == HLY_PQ_ALWAYS_NULL) return always_null(c, n, out);
  int64_t start = hly_now_ns() - c->file->read_ns;
  hly_status st = read_rows(c, n, out);
  c->decode_ns += hly_now_ns() - c->file->read_ns - start;
  return st;
}

hly_status hly_pq_column_select(hly_pq_column *c, uint32_t n, const uint32_t *sel, uint32_t n_sel,
                                hly_vector *out) {
  if (c->convert.kind == HLY_PQ_ALWAYS_NULL) {
    c->pending_skip += n;
    return hly_vector_reset(c->file->ctx, out, n_sel);
  }
  int64_t start = hly_now_ns() - c->file->read_ns;
  hly_status st = select_rows(c, n, sel, n_sel, out);
  c->decode_ns += hly_now_ns() - c->file->read_ns - start;
  return st;
}
