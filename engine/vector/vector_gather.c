#include "vector/vector_gather.h"

#include <string.h>

#include "base/mem.h"

typedef struct pair {
  uint64_t a, b;
} pair;
typedef struct quad {
  uint64_t a, b, c, d;
} quad;

// One loop per width and way of addressing; each is a plain gather that the compiler unrolls.
#define TAKE(T)                                                                                              \
  static void take_##T(T *restrict out, const T *restrict in, const uint32_t *restrict indices,              \
                       const uint32_t *restrict sel, uint32_t n) {                                           \
    if (indices && sel)                                                                                      \
      for (uint32_t k = 0; k < n; k++) out[k] = in[indices[sel[k]]];                                         \
    else if (indices || sel) {                                                                               \
      const uint32_t *at = indices ? indices : sel;                                                          \
      for (uint32_t k = 0; k < n; k++) out[k] = in[at[k]];                                                   \
    } else if (n)                                                                                            \
      memcpy(out, in, n * sizeof(T));                                                                        \
  }                                                                                                          \
  static void fill_##T(T *restrict out, const T *restrict in, uint32_t n) {                                  \
    T x = *in;                                                                                               \
    for (uint32_t k = 0; k < n; k++) out[k] = x;                                                             \
  }
TAKE(uint8_t)
TAKE(uint16_t)
TAKE(uint32_t)
TAKE(uint64_t)
TAKE(pair)
TAKE(quad)

void hly_vector_take(void *out, const hly_vector *in, const uint32_t *sel, uint32_t n, size_t size) {
  const void *base = hly_vector_base(in);
  const uint32_t *indices = in->encoding == HLY_DICT ? in->indices : NULL;
  if (in->encoding == HLY_DICT && in->dict->n_rows == 0) { // then every row is null
    if (n) memset(out, 0, n * size);
    return;
  }
  bool fill = in->encoding == HLY_CONST;
  switch (size) {
#define CASE(bytes, T)                                                                                       \
  case bytes:                                                                                                \
    if (fill)                                                                                                \
      fill_##T(out, base, n);                                                                                \
    else                                                                                                     \
      take_##T(out, base, indices, sel, n);                                                                  \
    break;
    CASE(1, uint8_t)
    CASE(2, uint16_t)
    CASE(4, uint32_t)
    CASE(8, uint64_t)
    CASE(16, pair)
    CASE(32, quad)
#undef CASE
  default: break;
  }
}

hly_status hly_vector_resolve(hly_ctx *ctx, const hly_vector *in, const uint32_t *sel, uint32_t n,
                              const hly_vector **base, const uint32_t **rows, uint32_t **scratch) {
  *scratch = NULL;
  *base = in;
  *rows = sel;
  if (in->encoding == HLY_FLAT) return HLY_OK;
  uint32_t *at = hly_calloc(n ? n : 1, sizeof *at);
  HLY_CHECK_MEM(ctx, at, n * sizeof *at);
  if (in->encoding == HLY_DICT) {
    *base = in->dict;
    for (uint32_t k = 0; k < n; k++) at[k] = in->indices[sel ? sel[k] : k];
  }
  *scratch = at;
  *rows = at;
  return HLY_OK;
}

hly_status hly_vector_flatten_spans(hly_ctx *ctx, hly_span *spans, const uint64_t *validity, uint32_t n,
                                    uint32_t at, uint32_t **sel, uint32_t *total) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < n; k++) {
    if (validity && !hly_bits_get(validity, k)) spans[k] = (hly_span){0, 0};
    sum += (uint32_t)spans[k].length;
  }
  if (sum + at > INT32_MAX)
    return hly_error_setf(&ctx->error, HLY_E_INTERNAL, "%llu array elements in one batch",
                          (unsigned long long)(sum + at));
  uint32_t *rows = hly_malloc((size_t)sum * sizeof *rows);
  HLY_CHECK_MEM(ctx, rows, sum * sizeof *rows);
  uint32_t used = 0;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t from = (uint32_t)spans[k].offset, length = (uint32_t)spans[k].length;
    if (length)
      spans[k].offset = (int32_t)(at + used);
    else
      spans[k].offset = 0;
    for (uint32_t j = 0; j < length; j++) rows[used + j] = from + j;
    used += length;
  }
  *sel = rows;
  *total = used;
  return HLY_OK;
}

static hly_status gather_validity(hly_ctx *ctx, hly_vector *out, const hly_vector *in, const uint32_t *sel,
                                  uint32_t n) {
  if (!in->validity || out->type->kind == HLY_NULL || n == 0) return HLY_OK;
  if (in->encoding == HLY_CONST && hly_bits_get(in->validity, 0)) return HLY_OK;
  HLY_TRY(hly_vector_need_validity(ctx, out));
  if (in->encoding == HLY_CONST)
    hly_bits_fill(out->validity, n, false);
  else if (sel)
    hly_bits_gather(in->validity, sel, n, out->validity);
  else
    hly_bits_copy(out->validity, 0, in->validity, 0, n);
  if (hly_bits_count(out->validity, n) == n) out->validity = NULL;
  return HLY_OK;
}

static uint64_t long_bytes(const hly_str *views, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += views[i].len > HLY_STR_INLINE ? views[i].len : 0;
  return sum;
}

// Views of `out` point into the heaps of `in`: keep those heaps, unless most of what they pin is dead.
static hly_status adopt_heaps(hly_ctx *ctx, hly_vector *out, const hly_vector *in, size_t n_views) {
  const hly_vector *base = in->encoding == HLY_DICT ? in->dict : in;
  if (base->n_heaps == 0) return HLY_OK;
  uint64_t pinned = 0, live = long_bytes(out->values, n_views);
  if (live == 0) return HLY_OK;
  for (uint32_t i = 0; i < base->n_heaps; i++) pinned += base->heaps[i]->capacity;
  if (live >= pinned / 4) return hly_vector_share_heaps(ctx, out, base);
  hly_buf *heap = hly_buf_create(live);
  HLY_CHECK_MEM(ctx, heap, live);
  hly_status st = hly_vector_add_heap(ctx, out, heap);
  hly_buf_unref(heap);
  HLY_TRY(st);
  uint8_t *to = heap->data;
  hly_str *views = out->values;
  for (size_t i = 0; i < n_views; i++) {
    if (views[i].len <= HLY_STR_INLINE) continue;
    memcpy(to, views[i].u.out.ptr, views[i].len);
    views[i].u.out.ptr = to;
    to += views[i].len;
  }
  return HLY_OK;
}

static hly_status gather_spans(hly_ctx *ctx, hly_vector *out, const hly_vector *in, uint32_t n) {
  const hly_vector *base = in->encoding == HLY_DICT ? in->dict : in;
  // All rows of a constant share one copy of its elements.
  bool once = in->encoding == HLY_CONST && n > 0;
  hly_span *spans = out->values;
  uint32_t *rows, total;
  HLY_TRY(hly_vector_flatten_spans(ctx, spans, out->validity, once ? 1 : n, 0, &rows, &total));
  for (uint32_t k = 1; once && k < n; k++) spans[k] = spans[0];
  bool dense = true;
  for (uint32_t k = 0; dense && k < total; k++) dense = rows[k] == k;
  hly_status st = HLY_OK;
  for (uint32_t i = 0; i < out->type->n_fields && st == HLY_OK; i++)
    st = hly_vector_gather(ctx, out->children[i], base->children[i], dense ? NULL : rows, total);
  hly_free(rows);
  return st;
}

static hly_status gather_struct(hly_ctx *ctx, hly_vector *out, const hly_vector *in, const uint32_t *sel,
                                uint32_t n) {
  const hly_vector *base;
  const uint32_t *rows;
  uint32_t *scratch;
  HLY_TRY(hly_vector_resolve(ctx, in, sel, n, &base, &rows, &scratch));
  hly_status st = HLY_OK;
  for (uint32_t i = 0; i < out->type->n_fields && st == HLY_OK; i++)
    st = hly_vector_gather(ctx, out->children[i], base->children[i], rows, n);
  hly_free(scratch);
  return st;
}

hly_status hly_vector_gather(hly_ctx *ctx, hly_vector *out, const hly_vector *in, const uint32_t *sel,
                             uint32_t n) {
  HLY_TRY(hly_vector_reset(ctx, out, n));
  HLY_TRY(gather_validity(ctx, out, in, sel, n));
  hly_phys phys = out->type->phys;
  hly_vector_take(out->values, in, sel, n, hly_phys_size[phys]);
  if (phys == HLY_PHYS_STR) return adopt_heaps(ctx, out, in, n);
  if (phys == HLY_PHYS_VARIANT) return adopt_heaps(ctx, out, in, 2 * (size_t)n);
  if (phys == HLY_PHYS_SPAN) return gather_spans(ctx, out, in, n);
  if (out->type->kind == HLY_STRUCT) return gather_struct(ctx, out, in, sel, n);
  return HLY_OK;
}

static bool holds(const hly_buf *buf, const void *p) {
  return buf && (const uint8_t *)p >= buf->data && (const uint8_t *)p <= buf->data + buf->capacity;
}

static void share_buf(hly_buf **to, hly_buf *from) {
  if (from) hly_buf_ref(from);
  hly_buf_unref(*to);
  *to = from;
}

// Whether all that the first n rows need belongs to counted buffers, so that it can be shared as it is.
static bool can_share(const hly_vector *in) {
  if (in->encoding != HLY_FLAT) return false;
  if (in->validity && !holds(in->validity_buf, in->validity)) return false;
  return !hly_phys_size[in->type->phys] || holds(in->values_buf, in->values);
}

static hly_status share_flat(hly_ctx *ctx, hly_vector *out, const hly_vector *in, uint32_t n) {
  HLY_TRY(hly_vector_reset(ctx, out, 0));
  HLY_TRY(hly_vector_share_heaps(ctx, out, in));
  for (uint32_t i = 0; hly_type_is_nested(in->type) && i < in->type->n_fields; i++) {
    if (in->type->kind == HLY_STRUCT) {
      HLY_TRY(hly_vector_slice(ctx, out->children[i], in->children[i], NULL, n));
    } else {
      hly_vector_ref(in->children[i]);
      hly_vector_unref(out->children[i]);
      out->children[i] = in->children[i];
    }
  }
  if (in->validity) {
    share_buf(&out->validity_buf, in->validity_buf);
    out->validity = in->validity;
  }
  if (in->values) {
    share_buf(&out->values_buf, in->values_buf);
    out->values = in->values;
  }
  out->n_rows = n;
  return HLY_OK;
}

hly_status hly_vector_slice(hly_ctx *ctx, hly_vector *out, const hly_vector *in, const uint32_t *sel,
                            uint32_t n) {
  if (in->encoding == HLY_CONST) {
    static const uint32_t first = 0;
    HLY_TRY(hly_vector_gather(ctx, out, in, &first, 1));
    out->encoding = HLY_CONST;
    out->n_rows = n;
    return HLY_OK;
  }
  if (in->encoding == HLY_FLAT) {
    if (!sel && can_share(in)) return share_flat(ctx, out, in, n);
    return hly_vector_gather(ctx, out, in, sel, n);
  }
  HLY_TRY(hly_vector_set_dict(ctx, out, in->dict, n));
  take_uint32_t(out->indices, in->indices, NULL, sel, n);
  return gather_validity(ctx, out, in, sel, n);
}
