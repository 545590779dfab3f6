#include "shuffle/block.h"

#include <string.h>

#include <xxhash.h>

#include "base/mem.h"
#include "shuffle/block_form.h"
#include "shuffle/codec.h"
#include "vector/decimal.h"

// A run of rows of one vector: rows[0..count) or [start, start + count). No vector: `count` nulls.
typedef struct run {
  const hly_vector *v;
  const uint32_t *rows;
  uint32_t start, count;
} run;

struct hly_block_writer {
  hly_ctx *ctx;
  const hly_schema *schema;
  hly_codec *codec;
  Halley__Codec codec_id;
  hly_arena *arena; // runs of one frame
  uint8_t *raw;     // the body
  size_t n_raw, cap_raw, max_raw;
  bool full;      // the body passed max_raw
  uint8_t *frame; // header and compressed body
  size_t cap_frame;
  uint8_t *scratch; // values before they are narrowed, lengths
  size_t cap_scratch;
  uint32_t *codes; // dictionary entry -> its code in this frame, plus one; 0: not used yet
  uint32_t cap_codes;
};

static bool is_writable(const hly_type *type) {
  if (type->kind == HLY_OTHER) return false;
  for (uint32_t i = 0; i < type->n_fields; i++) {
    if (!is_writable(type->fields[i].type)) return false;
  }
  return true;
}

hly_status hly_block_bind(hly_binder *b, const hly_schema *schema) {
  for (uint32_t i = 0; i < schema->n_fields; i++) {
    if (is_writable(schema->fields[i].type)) continue;
    char name[128];
    return hly_bind_refuse(b, "a column of type %s in a shuffle",
                           hly_type_print(schema->fields[i].type, name, sizeof name));
  }
  return HLY_OK;
}

hly_status hly_block_writer_create(hly_ctx *ctx, const hly_schema *schema, Halley__Codec codec, int level,
                                   hly_block_writer **out) {
  *out = NULL;
  hly_block_writer *w = hly_calloc(1, sizeof *w);
  HLY_CHECK_MEM(ctx, w, sizeof *w);
  w->ctx = ctx;
  w->schema = schema;
  w->codec_id = codec;
  hly_status st = HLY_OK;
  if (!(w->arena = hly_arena_create())) st = hly_ctx_nomem(ctx, 4096);
  if (st == HLY_OK) st = hly_codec_create(ctx, codec, level, &w->codec);
  if (st != HLY_OK) {
    hly_block_writer_destroy(w);
    return st;
  }
  *out = w;
  return HLY_OK;
}

void hly_block_writer_destroy(hly_block_writer *w) {
  if (!w) return;
  hly_codec_destroy(w->codec);
  hly_arena_destroy(w->arena);
  hly_free(w->raw);
  hly_free(w->frame);
  hly_free(w->scratch);
  hly_free(w->codes);
  hly_free(w);
}

size_t hly_block_writer_bytes(const hly_block_writer *w) {
  return w->cap_raw + w->cap_frame + w->cap_scratch + w->cap_codes * sizeof *w->codes +
         hly_arena_bytes(w->arena);
}

// ---- buffers

static hly_status grow(hly_block_writer *w, uint8_t **p, size_t *cap, size_t need) {
  if (need <= *cap) return HLY_OK;
  size_t n = *cap + *cap / 2 > need ? *cap + *cap / 2 : need;
  uint8_t *q = hly_realloc(*p, n);
  HLY_CHECK_MEM(w->ctx, q, n);
  *p = q;
  *cap = n;
  return HLY_OK;
}

// Room for n more bytes of the body (and a little, for copies in fixed steps). HLY_DENIED: the body is full.
static hly_status room(hly_block_writer *w, size_t n) {
  if (w->n_raw + n > w->max_raw) {
    w->full = true;
    return HLY_DENIED;
  }
  return grow(w, &w->raw, &w->cap_raw, w->n_raw + n + 64);
}

static hly_status pad(hly_block_writer *w, size_t to) {
  size_t n = form_align(w->n_raw, to) - w->n_raw;
  HLY_TRY(room(w, n));
  memset(w->raw + w->n_raw, 0, n);
  w->n_raw += n;
  return HLY_OK;
}

static hly_status put(hly_block_writer *w, const void *data, size_t n) {
  HLY_TRY(room(w, n));
  if (n) memcpy(w->raw + w->n_raw, data, n);
  w->n_raw += n;
  return HLY_OK;
}

// ---- runs

static uint32_t run_row(const run *r, uint32_t i) {
  return r->rows ? r->rows[i] : r->start + i;
}
static bool run_null(const run *r, uint32_t i) {
  return !r->v || hly_vector_is_null(r->v, run_row(r, i));
}

// Row r of the run in the vector that has the values and children.
static const hly_vector *run_base(const run *r) {
  return r->v->encoding == HLY_DICT ? r->v->dict : r->v;
}

// bits [at, at + n) = ones; the words are zero there.
static void set_range(uint64_t *bits, size_t at, size_t n) {
  for (; n && (at & 63); at++, n--) hly_bits_set(bits, at);
  memset((uint8_t *)bits + at / 8, 0xff, n / 64 * 8);
  at += n & ~(size_t)63;
  for (n &= 63; n; at++, n--) hly_bits_set(bits, at);
}

// Writes the validity of the runs at the end of the body unless no row is null. *bits: offset in the body,
// SIZE_MAX where there are no nulls.
static hly_status put_validity(hly_block_writer *w, const run *runs, uint32_t n_runs, uint32_t n,
                               size_t *bits) {
  *bits = SIZE_MAX;
  bool any = false;
  for (uint32_t k = 0; k < n_runs && !any; k++) any = !runs[k].v || runs[k].v->validity;
  if (!any || n == 0) return HLY_OK;
  size_t n_bytes = hly_bits_bytes(n), at = w->n_raw;
  HLY_TRY(room(w, n_bytes));
  uint64_t *out = (uint64_t *)(w->raw + at);
  memset(out, 0, n_bytes);
  size_t i = 0;
  for (uint32_t k = 0; k < n_runs; k++) {
    const run *r = &runs[k];
    if (!r->v) {
    } else if (!r->v->validity) {
      set_range(out, i, r->count);
    } else if (r->v->encoding == HLY_CONST) {
      if (!hly_vector_is_null(r->v, 0)) set_range(out, i, r->count);
    } else if (r->rows) {
      for (uint32_t j = 0; j < r->count; j++) {
        if (hly_bits_get(r->v->validity, r->rows[j])) hly_bits_set(out, i + j);
      }
    } else {
      hly_bits_copy(out, i, r->v->validity, r->start, r->count);
    }
    i += r->count;
  }
  if (hly_bits_count(out, n) == n) return HLY_OK;
  w->n_raw += n_bytes;
  *bits = at;
  return HLY_OK;
}

// ---- values of fixed width

#define GATHER(T)                                                                                            \
  do {                                                                                                       \
    const T *in = r->v ? hly_vector_base(r->v) : NULL;                                                       \
    T *to = (T *)out + i;                                                                                    \
    if (!r->v) {                                                                                             \
      memset(to, 0, r->count * sizeof(T));                                                                   \
    } else if (r->v->encoding == HLY_CONST) {                                                                \
      for (uint32_t j = 0; j < r->count; j++) to[j] = in[0];                                                 \
    } else if (r->v->encoding == HLY_DICT) {                                                                 \
      const uint32_t *ix = r->v->indices;                                                                    \
      if (r->v->dict->n_rows == 0) {                                                                         \
        memset(to, 0, r->count * sizeof(T));                                                                 \
      } else {                                                                                               \
        for (uint32_t j = 0; j < r->count; j++) to[j] = in[ix[run_row(r, j)]];                               \
      }                                                                                                      \
    } else if (r->rows) {                                                                                    \
      for (uint32_t j = 0; j < r->count; j++) to[j] = in[r->rows[j]];                                        \
    } else if (r->count < 8) {                                                                               \
      for (uint32_t j = 0; j < r->count; j++) to[j] = in[r->start + j];                                      \
    } else {                                                                                                 \
      memcpy(to, in + r->start, r->count * sizeof(T));                                                       \
    }                                                                                                        \
  } while (0)

// Copies the runs' values of `size` bytes to `out`.
static void gather(const run *runs, uint32_t n_runs, uint32_t size, void *out) {
  size_t i = 0;
  for (uint32_t k = 0; k < n_runs; k++) {
    const run *r = &runs[k];
    switch (size) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    case 8: GATHER(uint64_t); break;
    default: GATHER(hly_u128); break;
    }
    i += r->count;
  }
}

static void zero_nulls(uint8_t *values, uint32_t size, const uint64_t *bits, uint32_t n) {
  for (size_t word = 0; word < hly_bits_words(n); word++) {
    uint64_t nulls = ~bits[word];
    if (word == n / 64) nulls &= (1ull << (n & 63)) - 1;
    for (; nulls; nulls &= nulls - 1) {
      memset(values + (word * 64 + (size_t)__builtin_ctzll(nulls)) * size, 0, size);
    }
  }
}

static uint8_t width_of(uint64_t max) {
  return max <= UINT8_MAX ? 1 : max <= UINT16_MAX ? 2 : max <= UINT32_MAX ? 4 : 8;
}

#define NARROW_TO(S, U, O)                                                                                   \
  do {                                                                                                       \
    O *to = (O *)out;                                                                                        \
    for (uint32_t i = 0; i < n; i++) to[i] = (O)((U)in[i] - (U)min);                                         \
  } while (0)

// Defines `name`: writes n values as differences from the least, if that is narrower; *width 0 if it is not.
#define DEFINE_NARROW(name, S, U, BASE)                                                                      \
  static hly_status name(hly_block_writer *w, const S *in, uint32_t n, uint8_t *width) {                     \
    S min = n ? in[0] : 0, max = min;                                                                        \
    for (uint32_t i = 0; i < n; i++) {                                                                       \
      min = in[i] < min ? in[i] : min;                                                                       \
      max = in[i] > max ? in[i] : max;                                                                       \
    }                                                                                                        \
    U range = (U)max - (U)min;                                                                               \
    *width = 0;                                                                                              \
    if (n < 4 || (U)(uint64_t)range != range || width_of((uint64_t)range) >= sizeof(S)) return HLY_OK;       \
    *width = width_of((uint64_t)range);                                                                      \
    HLY_TRY(room(w, BASE + (size_t)n * *width));                                                             \
    memset(w->raw + w->n_raw, 0, BASE);                                                                      \
    memcpy(w->raw + w->n_raw, &min, sizeof min);                                                             \
    uint8_t *out = w->raw + w->n_raw + BASE;                                                                 \
    switch (*width) {                                                                                        \
    case 1: NARROW_TO(S, U, uint8_t); break;                                                                 \
    case 2: NARROW_TO(S, U, uint16_t); break;                                                                \
    case 4: NARROW_TO(S, U, uint32_t); break;                                                                \
    default: NARROW_TO(S, U, uint64_t); break;                                                               \
    }                                                                                                        \
    w->n_raw += BASE + (size_t)n * *width;                                                                   \
    return HLY_OK;                                                                                           \
  }
DEFINE_NARROW(narrow_i32, int32_t, uint32_t, 8)
DEFINE_NARROW(narrow_i64, int64_t, uint64_t, 8)
DEFINE_NARROW(narrow_i128, hly_i128, hly_u128, 16)

static hly_status put_fixed(hly_block_writer *w, hly_phys phys, const run *runs, uint32_t n_runs, uint32_t n,
                            size_t bits, uint8_t *width) {
  uint32_t size = hly_phys_size[phys];
  size_t n_bytes = (size_t)n * size;
  if (n_bytes > w->max_raw * 17) { // what is not narrowed to a byte cannot fit either
    w->full = true;
    return HLY_DENIED;
  }
  if (form_narrows(phys) || phys == HLY_PHYS_BOOL) {
    HLY_TRY(grow(w, &w->scratch, &w->cap_scratch, n_bytes + 64));
    gather(runs, n_runs, size, w->scratch);
    if (bits != SIZE_MAX) zero_nulls(w->scratch, size, (const uint64_t *)(w->raw + bits), n);
    if (phys == HLY_PHYS_BOOL) {
      HLY_TRY(room(w, hly_bits_bytes(n)));
      hly_bits_pack(w->scratch, n, (uint64_t *)(w->raw + w->n_raw));
      w->n_raw += hly_bits_bytes(n);
      return HLY_OK;
    }
    if (phys == HLY_PHYS_I128) {
      HLY_TRY(pad(w, 16));
      HLY_TRY(narrow_i128(w, (const hly_i128 *)w->scratch, n, width));
    } else if (phys == HLY_PHYS_I64) {
      HLY_TRY(narrow_i64(w, (const int64_t *)w->scratch, n, width));
    } else {
      HLY_TRY(narrow_i32(w, (const int32_t *)w->scratch, n, width));
    }
    return *width ? HLY_OK : put(w, w->scratch, n_bytes);
  }
  if (size == 16) HLY_TRY(pad(w, 16));
  HLY_TRY(room(w, n_bytes));
  uint8_t *out = w->raw + w->n_raw;
  gather(runs, n_runs, size, out);
  if (bits != SIZE_MAX) zero_nulls(out, size, (const uint64_t *)(w->raw + bits), n);
  w->n_raw += n_bytes;
  return HLY_OK;
}

// ---- lengths and strings

static hly_status put_lengths(hly_block_writer *w, const uint32_t *lengths, uint32_t n, uint8_t width) {
  HLY_TRY(room(w, (size_t)n * width));
  uint8_t *out = w->raw + w->n_raw;
  if (width == 1) {
    for (uint32_t i = 0; i < n; i++) out[i] = (uint8_t)lengths[i];
  } else if (width == 2) {
    for (uint32_t i = 0; i < n; i++) ((uint16_t *)out)[i] = (uint16_t)lengths[i];
  } else if (n) {
    memcpy(out, lengths, (size_t)n * 4);
  }
  w->n_raw += (size_t)n * width;
  return pad(w, 8);
}

static const hly_str EMPTY;

// The view of row i of a run; `stride` views a value, this is number `which`.
static const hly_str *run_str(const run *r, uint32_t i, uint32_t stride, uint32_t which) {
  if (run_null(r, i)) return &EMPTY;
  return (const hly_str *)hly_vector_base(r->v) + (size_t)hly_vector_index(r->v, run_row(r, i)) * stride +
         which;
}

static hly_status put_strings(hly_block_writer *w, const run *runs, uint32_t n_runs, uint32_t n,
                              uint32_t stride, uint32_t which, uint8_t *width) {
  HLY_TRY(grow(w, &w->scratch, &w->cap_scratch, (size_t)n * 4 + 64));
  uint32_t *lengths = (uint32_t *)w->scratch, max = 0;
  uint64_t total = 0;
  size_t i = 0;
  for (uint32_t k = 0; k < n_runs; k++) {
    const run *r = &runs[k];
    if (r->v && r->v->encoding == HLY_FLAT && !r->v->validity && !r->rows && stride == 1) {
      const hly_str *s = (const hly_str *)r->v->values + r->start;
      for (uint32_t j = 0; j < r->count; j++) {
        uint32_t len = lengths[i + j] = s[j].len;
        total += len;
        max = len > max ? len : max;
      }
    } else {
      for (uint32_t j = 0; j < r->count; j++) {
        uint32_t len = lengths[i + j] = run_str(r, j, stride, which)->len;
        total += len;
        max = len > max ? len : max;
      }
    }
    i += r->count;
  }
  *width = width_of(max);
  HLY_TRY(put(w, &total, 8));
  HLY_TRY(put_lengths(w, lengths, n, *width));
  HLY_TRY(room(w, total));
  uint8_t *out = w->raw + w->n_raw;
  for (uint32_t k = 0; k < n_runs; k++) {
    const run *r = &runs[k];
    for (uint32_t j = 0; j < r->count; j++) {
      const hly_str *s = run_str(r, j, stride, which);
      if (s->len <= HLY_STR_INLINE) {
        memcpy(out, s->u.inl, HLY_STR_INLINE); // `room` leaves space for the excess
      } else {
        memcpy(out, s->u.out.ptr, s->len);
      }
      out += s->len;
    }
  }
  w->n_raw += total;
  return pad(w, 8);
}

// ---- columns

static hly_status put_flat(hly_block_writer *w, const hly_type *type, const run *runs, uint32_t n_runs,
                           uint32_t n);

static hly_status put_header(hly_block_writer *w, uint8_t form, uint8_t flags, uint32_t n) {
  uint8_t h[COLUMN_HEADER] = {form, flags, 0, 0};
  memcpy(h + 4, &n, 4);
  return put(w, h, sizeof h);
}

// The runs of child `child` of a struct: the same rows, where a null that stands for rows it does not have
// stays null.
static hly_status struct_runs(hly_block_writer *w, const run *runs, uint32_t n_runs, uint32_t child,
                              run **out) {
  run *to = HLY_ARENA_NEW_N(w->arena, run, n_runs ? n_runs : 1);
  HLY_CHECK_MEM(w->ctx, to, n_runs * sizeof *to);
  for (uint32_t k = 0; k < n_runs; k++) {
    const run *r = &runs[k];
    to[k] = *r;
    if (!r->v) continue;
    const hly_vector *base = run_base(r);
    to[k].v = base->children[child];
    if (r->v->encoding == HLY_FLAT) continue;
    if (base->n_rows == 0 || (r->v->encoding == HLY_CONST && hly_vector_is_null(r->v, 0))) {
      to[k].v = NULL;
      continue;
    }
    uint32_t *rows = HLY_ARENA_NEW_N(w->arena, uint32_t, r->count ? r->count : 1);
    HLY_CHECK_MEM(w->ctx, rows, r->count * 4);
    for (uint32_t j = 0; j < r->count; j++) rows[j] = hly_vector_index(r->v, run_row(r, j));
    to[k].rows = rows;
  }
  *out = to;
  return HLY_OK;
}

static hly_status put_structs(hly_block_writer *w, const hly_type *type, const run *runs, uint32_t n_runs,
                              uint32_t n) {
  for (uint32_t c = 0; c < type->n_fields; c++) {
    run *child = NULL;
    HLY_TRY(struct_runs(w, runs, n_runs, c, &child));
    HLY_TRY(put_flat(w, type->fields[c].type, child, n_runs, n));
  }
  return HLY_OK;
}

static hly_span run_span(const run *r, uint32_t i) {
  if (run_null(r, i)) return (hly_span){0, 0};
  return ((const hly_span *)hly_vector_base(r->v))[hly_vector_index(r->v, run_row(r, i))];
}

static hly_status put_spans(hly_block_writer *w, const hly_type *type, const run *runs, uint32_t n_runs,
                            uint32_t n, uint8_t *width) {
  HLY_TRY(grow(w, &w->scratch, &w->cap_scratch, (size_t)n * 4 + 64));
  uint32_t *lengths = (uint32_t *)w->scratch, max = 0;
  uint64_t total = 0;
  // Neighbouring spans that lie next to each other in the same elements become one run.
  uint32_t n_child = 0;
  size_t i = 0;
  for (uint32_t k = 0; k < n_runs; k++) {
    int64_t next = -1;
    for (uint32_t j = 0; j < runs[k].count; j++, i++) {
      hly_span s = run_span(&runs[k], j);
      uint32_t len = lengths[i] = (uint32_t)s.length;
      total += len;
      max = len > max ? len : max;
      if (len && s.offset != next) n_child++;
      if (len) next = (int64_t)s.offset + len;
    }
  }
  if (total > INT32_MAX) {
    w->full = true;
    return HLY_DENIED;
  }
  *width = width_of(max);
  HLY_TRY(put_lengths(w, lengths, n, *width));
  run *children = HLY_ARENA_NEW_N(w->arena, run, n_child ? n_child : 1);
  HLY_CHECK_MEM(w->ctx, children, n_child * sizeof *children);
  for (uint32_t c = 0; c < type->n_fields; c++) {
    uint32_t m = 0;
    for (uint32_t k = 0; k < n_runs; k++) {
      int64_t next = -1;
      for (uint32_t j = 0; j < runs[k].count; j++) {
        hly_span s = run_span(&runs[k], j);
        if (!s.length) continue;
        if (s.offset != next) {
          children[m++] = (run){run_base(&runs[k])->children[c], NULL, (uint32_t)s.offset, 0};
        }
        children[m - 1].count += (uint32_t)s.length;
        next = (int64_t)s.offset + s.length;
      }
    }
    HLY_TRY(put_flat(w, type->fields[c].type, children, m, (uint32_t)total));
  }
  return HLY_OK;
}

static hly_status put_flat(hly_block_writer *w, const hly_type *type, const run *runs, uint32_t n_runs,
                           uint32_t n) {
  size_t header = w->n_raw, bits;
  uint8_t width = 0;
  HLY_TRY(put_header(w, FORM_FLAT, 0, n));
  HLY_TRY(put_validity(w, runs, n_runs, n, &bits));
  switch (type->phys) {
  case HLY_PHYS_STR: HLY_TRY(put_strings(w, runs, n_runs, n, 1, 0, &width)); break;
  case HLY_PHYS_VARIANT: {
    HLY_TRY(put_strings(w, runs, n_runs, n, 2, 0, &width));
    size_t at = w->n_raw;
    uint64_t second = 0;
    uint8_t second_width;
    HLY_TRY(put(w, &second, 8));
    HLY_TRY(put_strings(w, runs, n_runs, n, 2, 1, &second_width));
    second = second_width;
    memcpy(w->raw + at, &second, 8);
    break;
  }
  case HLY_PHYS_SPAN: HLY_TRY(put_spans(w, type, runs, n_runs, n, &width)); break;
  case HLY_PHYS_NONE:
    if (type->kind == HLY_STRUCT) HLY_TRY(put_structs(w, type, runs, n_runs, n));
    break;
  default:
    HLY_TRY(put_fixed(w, type->phys, runs, n_runs, n, bits, &width));
    HLY_TRY(pad(w, 8));
    break;
  }
  w->raw[header + 1] = bits != SIZE_MAX ? FLAG_VALIDITY : 0;
  w->raw[header + 2] = width;
  return HLY_OK;
}

// All runs are constants of one value (by identity of what they were made of, which is what one batch after
// the other has for a literal or a partition value).
static bool is_const(const hly_type *type, const run *runs, uint32_t n_runs) {
  for (uint32_t k = 0; k < n_runs; k++) {
    if (runs[k].v->encoding != HLY_CONST) return false;
  }
  const hly_vector *first = runs[0].v;
  bool null = hly_vector_is_null(first, 0);
  for (uint32_t k = 1; k < n_runs; k++) {
    const hly_vector *v = runs[k].v;
    if (v == first) continue;
    if (hly_vector_is_null(v, 0) != null) return false;
    if (null) continue;
    if (hly_type_is_nested(type) || type->phys == HLY_PHYS_VARIANT) return false;
    if (hly_type_is_string(type) ? !hly_str_equal(first->values, v->values)
                                 : memcmp(first->values, v->values, hly_phys_size[type->phys]) != 0) {
      return false;
    }
  }
  return true;
}

static hly_status put_const(hly_block_writer *w, const hly_type *type, const run *runs, uint32_t n) {
  if (type->kind == HLY_NULL || hly_vector_is_null(runs[0].v, 0))
    return put_header(w, FORM_CONST, FLAG_NULL, n);
  HLY_TRY(put_header(w, FORM_CONST, 0, n));
  run one = {runs[0].v, NULL, 0, 1};
  return put_flat(w, type, &one, 1, 1);
}

// Writes a string column as codes into the entries that its rows use. *done is false when the runs have
// different dictionaries or the entries are too many to pay.
static hly_status put_dict(hly_block_writer *w, const hly_type *type, const run *runs, uint32_t n_runs,
                           uint32_t n, bool *done) {
  *done = false;
  if (type->phys != HLY_PHYS_STR || n < 16) return HLY_OK;
  const hly_vector *dict = runs[0].v->encoding == HLY_DICT ? runs[0].v->dict : NULL;
  for (uint32_t k = 0; k < n_runs; k++) {
    if (runs[k].v->encoding != HLY_DICT || runs[k].v->dict != dict) return HLY_OK;
  }
  if (!dict || dict->n_rows == 0) return HLY_OK;
  if (dict->n_rows > w->cap_codes) {
    uint32_t *codes = hly_realloc(w->codes, dict->n_rows * sizeof *codes);
    HLY_CHECK_MEM(w->ctx, codes, dict->n_rows * sizeof *codes);
    w->codes = codes;
    memset(codes + w->cap_codes, 0, (dict->n_rows - w->cap_codes) * sizeof *codes);
    w->cap_codes = dict->n_rows;
  }
  uint32_t limit = n / 2;
  uint32_t *entries = HLY_ARENA_NEW_N(w->arena, uint32_t, limit + 1);
  uint32_t *out = HLY_ARENA_NEW_N(w->arena, uint32_t, n);
  if (!entries || !out) return hly_ctx_nomem(w->ctx, (int64_t)n * 6);
  uint32_t n_entries = 0, i = 0;
  bool pays = true;
  for (uint32_t k = 0; k < n_runs && pays; k++) {
    const hly_vector *v = runs[k].v;
    for (uint32_t j = 0; j < runs[k].count; j++, i++) {
      uint32_t row = runs[k].start + j;
      if (hly_vector_is_null(v, row)) {
        out[i] = 0;
        continue;
      }
      uint32_t entry = v->indices[row];
      if (!w->codes[entry]) {
        if (n_entries == limit) {
          pays = false;
          break;
        }
        entries[n_entries++] = entry;
        w->codes[entry] = n_entries;
      }
      out[i] = w->codes[entry] - 1;
    }
  }
  for (uint32_t e = 0; e < n_entries; e++) w->codes[entries[e]] = 0;
  if (!pays || n_entries == 0) return HLY_OK;

  size_t header = w->n_raw, bits;
  HLY_TRY(put_header(w, FORM_DICT, 0, n));
  HLY_TRY(put_validity(w, runs, n_runs, n, &bits));
  uint8_t width = width_of(n_entries - 1);
  HLY_TRY(put_lengths(w, out, n, width));
  run values = {dict, entries, 0, n_entries};
  HLY_TRY(put_flat(w, type, &values, 1, n_entries));
  w->raw[header + 1] = bits != SIZE_MAX ? FLAG_VALIDITY : 0;
  w->raw[header + 2] = width;
  *done = true;
  return HLY_OK;
}

static hly_status put_body(hly_block_writer *w, const hly_segment *segments, uint32_t n_segments,
                           uint32_t n) {
  run *runs = HLY_ARENA_NEW_N(w->arena, run, n_segments ? n_segments : 1);
  HLY_CHECK_MEM(w->ctx, runs, n_segments * sizeof *runs);
  for (uint32_t c = 0; c < w->schema->n_fields; c++) {
    const hly_type *type = w->schema->fields[c].type;
    for (uint32_t k = 0; k < n_segments; k++) {
      const hly_segment *s = &segments[k];
      runs[k] = (run){s->batch->columns[c], NULL, s->start, s->count};
    }
    if (type->kind == HLY_NULL) {
      HLY_TRY(put_header(w, FORM_CONST, FLAG_NULL, n));
    } else if (n && is_const(type, runs, n_segments)) {
      HLY_TRY(put_const(w, type, runs, n));
    } else {
      bool done = false;
      size_t before = w->n_raw;
      HLY_TRY(put_dict(w, type, runs, n_segments, n, &done));
      if (!done) {
        w->n_raw = before;
        HLY_TRY(put_flat(w, type, runs, n_segments, n));
      }
    }
  }
  return HLY_OK;
}

static void put_u32(uint8_t *at, size_t value) {
  uint32_t v = (uint32_t)value;
  memcpy(at, &v, 4);
}

hly_status hly_block_write(hly_block_writer *w, const hly_segment *segments, uint32_t n_segments,
                           size_t max_raw, const uint8_t **frame, size_t *n_bytes, size_t *n_raw) {
  *frame = NULL;
  *n_bytes = *n_raw = 0;
  uint32_t n = 0;
  for (uint32_t k = 0; k < n_segments; k++) n += segments[k].count;
  hly_arena_reset(w->arena);
  w->n_raw = 0;
  w->full = false;
  w->max_raw = n > 1 && max_raw < HLY_FRAME_MAX_BYTES ? max_raw : HLY_FRAME_MAX_BYTES;
  hly_status st = put_body(w, segments, n_segments, n);
  if (st == HLY_DENIED && w->full) {
    if (n > 1) return HLY_OK;
    return hly_error_setf(&w->ctx->error, HLY_E_INTERNAL, "a row of more than %d bytes cannot be shuffled",
                          HLY_FRAME_MAX_BYTES);
  }
  HLY_TRY(st);

  size_t bound = hly_codec_bound(w->codec, w->n_raw);
  HLY_TRY(grow(w, &w->frame, &w->cap_frame, HLY_FRAME_HEADER + (bound > w->n_raw ? bound : w->n_raw)));
  uint8_t *h = w->frame, *body = h + HLY_FRAME_HEADER;
  size_t n_body = 0;
  HLY_TRY(hly_codec_compress(w->codec, w->ctx, w->raw, w->n_raw, body, &n_body));
  Halley__Codec codec = w->codec_id;
  if (n_body == 0) {
    codec = HALLEY__CODEC__NONE;
    n_body = w->n_raw;
    if (n_body) memcpy(body, w->raw, n_body);
  }
  memset(h, 0, HLY_FRAME_HEADER);
  put_u32(h, HLY_FRAME_MAGIC);
  put_u32(h + 4, n_body);
  put_u32(h + 8, w->n_raw);
  put_u32(h + 12, n);
  put_u32(h + 16, w->schema->n_fields);
  h[20] = (uint8_t)codec;
  h[21] = HLY_FRAME_VERSION;
  uint64_t check = XXH64(body, n_body, XXH64(h, 24, 0));
  memcpy(h + 24, &check, 8);
  *frame = w->frame;
  *n_bytes = HLY_FRAME_HEADER + n_body;
  *n_raw = w->n_raw;
  return HLY_OK;
}
