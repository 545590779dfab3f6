#include <string.h>

#include "base/mem.h"
#include "vector/vector_gather.h"

// Appends keep a vector alone and growing, unlike gather, whose result shares heaps: the state of operators
// that collect rows of many batches must not pin the batches.

enum { HEAP_FIRST = 4096, HEAP_MOST = 1 << 20 };

static hly_status grow_values(hly_ctx *ctx, hly_vector *out, uint32_t n_rows) {
  size_t size = hly_phys_size[out->type->phys];
  size_t used = size * out->n_rows, need = size * n_rows;
  if (!size) return HLY_OK;
  hly_buf *buf = out->values_buf;
  if (buf && buf->refs == 1 && !buf->release && out->values == buf->data && buf->capacity >= need)
    return HLY_OK;
  size_t capacity = need > used * 2 ? need : used * 2;
  hly_buf *fresh = hly_buf_create(capacity);
  HLY_CHECK_MEM(ctx, fresh, capacity);
  if (used) memcpy(fresh->data, out->values, used);
  hly_buf_unref(buf);
  out->values_buf = fresh;
  out->values = fresh->data;
  return HLY_OK;
}

static hly_status grow_validity(hly_ctx *ctx, hly_vector *out, uint32_t n_rows) {
  size_t need = hly_bits_bytes(n_rows);
  hly_buf *buf = out->validity_buf;
  bool own = buf && buf->refs == 1 && !buf->release;
  if (own && out->validity == (uint64_t *)buf->data && buf->capacity >= need) return HLY_OK;
  if (own && !out->validity && buf->capacity >= need) {
    out->validity = (uint64_t *)buf->data;
    hly_bits_fill(out->validity, out->n_rows, true);
    return HLY_OK;
  }
  hly_buf *fresh = hly_buf_create(need * 2);
  HLY_CHECK_MEM(ctx, fresh, need * 2);
  if (out->validity)
    memcpy(fresh->data, out->validity, hly_bits_bytes(out->n_rows));
  else
    hly_bits_fill((uint64_t *)fresh->data, out->n_rows, true);
  hly_buf_unref(buf);
  out->validity_buf = fresh;
  out->validity = (uint64_t *)fresh->data;
  return HLY_OK;
}

static hly_status append_validity(hly_ctx *ctx, hly_vector *out, const hly_vector *in, const uint32_t *sel,
                                  uint32_t n) {
  bool null_type = out->type->kind == HLY_NULL;
  if (!out->validity && !in->validity && !null_type) return HLY_OK;
  HLY_TRY(grow_validity(ctx, out, out->n_rows + n));
  uint64_t bits[64];
  enum { STEP = sizeof bits * 8 };
  for (uint32_t from = 0; from < n; from += STEP) {
    uint32_t m = n - from < STEP ? n - from : STEP;
    if (null_type)
      hly_bits_fill(bits, m, false);
    else if (!in->validity)
      hly_bits_fill(bits, m, true);
    else if (in->encoding == HLY_CONST)
      hly_bits_fill(bits, m, hly_bits_get(in->validity, 0));
    else if (sel)
      hly_bits_gather(in->validity, sel + from, m, bits);
    else
      hly_bits_copy(bits, 0, in->validity, from, m);
    hly_bits_copy(out->validity, (size_t)out->n_rows + from, bits, 0, m);
  }
  return HLY_OK;
}

// Room for n_bytes in the heap that appends fill.
static hly_status heap_room(hly_ctx *ctx, hly_vector *out, size_t n_bytes, uint8_t **to) {
  hly_buf *heap = out->append_heap;
  if (!heap || heap->capacity - out->append_used < n_bytes) {
    size_t capacity = heap ? heap->capacity * 2 : HEAP_FIRST;
    if (capacity > HEAP_MOST) capacity = HEAP_MOST;
    if (capacity < n_bytes) capacity = n_bytes;
    heap = hly_buf_create(capacity);
    HLY_CHECK_MEM(ctx, heap, capacity);
    hly_status st = hly_vector_add_heap(ctx, out, heap);
    hly_buf_unref(heap);
    HLY_TRY(st);
    out->append_heap = heap;
    out->append_used = 0;
  }
  *to = heap->data + out->append_used;
  out->append_used += n_bytes;
  return HLY_OK;
}

// The views were copied with pointers into the heaps of another vector: moves their bytes into our own.
// Neighbours that share bytes (constants, runs) still do afterwards. On failure views that were not moved
// become empty, so that the vector stays sound.
static hly_status own_strings(hly_ctx *ctx, hly_str *views, size_t n, hly_vector *out) {
  const uint8_t *last = NULL;
  uint8_t *last_copy = NULL;
  uint32_t last_len = 0;
  for (size_t i = 0; i < n; i++) {
    hly_str *s = &views[i];
    if (s->len <= HLY_STR_INLINE) continue;
    if (s->u.out.ptr != last || s->len != last_len) {
      hly_status st = heap_room(ctx, out, s->len, &last_copy);
      if (st != HLY_OK) {
        memset(s, 0, (n - i) * sizeof *s);
        return st;
      }
      last = s->u.out.ptr;
      last_len = s->len;
      memcpy(last_copy, last, last_len);
    }
    s->u.out.ptr = last_copy;
  }
  return HLY_OK;
}

// Children that a slice shares with its source, or that are not flat, are copied before rows are added to
// them.
static hly_status own_children(hly_ctx *ctx, hly_vector *out) {
  for (uint32_t i = 0; i < out->type->n_fields; i++) {
    hly_vector *child = out->children[i];
    if (child->refs == 1 && child->encoding == HLY_FLAT) continue;
    hly_vector *fresh = hly_vector_create(child->type);
    HLY_CHECK_MEM(ctx, fresh, sizeof *fresh);
    hly_status st = hly_vector_append(ctx, fresh, child, NULL, child->n_rows);
    hly_vector_unref(st == HLY_OK ? child : fresh);
    HLY_TRY(st);
    out->children[i] = fresh;
  }
  return HLY_OK;
}

static hly_status append_spans(hly_ctx *ctx, hly_vector *out, const hly_vector *in, uint32_t n) {
  const hly_vector *base = in->encoding == HLY_DICT ? in->dict : in;
  if (n == 0) return HLY_OK;
  hly_span *spans = (hly_span *)out->values + out->n_rows;
  uint32_t at = out->children[0]->n_rows;
  bool once = in->encoding == HLY_CONST;
  if (out->validity)
    for (uint32_t k = 0; k < n; k++)
      if (!hly_bits_get(out->validity, (size_t)out->n_rows + k)) spans[k] = (hly_span){0, 0};
  uint32_t *rows, total;
  HLY_TRY(hly_vector_flatten_spans(ctx, spans, NULL, once ? 1 : n, at, &rows, &total));
  for (uint32_t k = 1; once && k < n; k++) spans[k] = spans[0];
  hly_status st = HLY_OK;
  for (uint32_t i = 0; i < out->type->n_fields && st == HLY_OK; i++)
    st = hly_vector_append(ctx, out->children[i], base->children[i], rows, total);
  if (st != HLY_OK) // keys and values stay equally long
    for (uint32_t i = 0; i < out->type->n_fields; i++) out->children[i]->n_rows = at;
  hly_free(rows);
  return st;
}

static hly_status append_struct(hly_ctx *ctx, hly_vector *out, const hly_vector *in, const uint32_t *sel,
                                uint32_t n) {
  const hly_vector *base;
  const uint32_t *rows;
  uint32_t *scratch;
  HLY_TRY(hly_vector_resolve(ctx, in, sel, n, &base, &rows, &scratch));
  hly_status st = HLY_OK;
  for (uint32_t i = 0; i < out->type->n_fields && st == HLY_OK; i++) {
    out->children[i]->n_rows = out->n_rows; // forgets what a failed append left behind
    st = hly_vector_append(ctx, out->children[i], base->children[i], rows, n);
  }
  hly_free(scratch);
  return st;
}

hly_status hly_vector_append(hly_ctx *ctx, hly_vector *out, const hly_vector *in, const uint32_t *sel,
                             uint32_t n) {
  if (n > UINT32_MAX - out->n_rows)
    return hly_error_setf(&ctx->error, HLY_E_INTERNAL, "more than 2^32 rows in a vector");
  hly_phys phys = out->type->phys;
  size_t size = hly_phys_size[phys];
  HLY_TRY(grow_values(ctx, out, out->n_rows + n));
  HLY_TRY(append_validity(ctx, out, in, sel, n));
  if (hly_type_is_nested(out->type)) HLY_TRY(own_children(ctx, out));
  uint8_t *to = size ? (uint8_t *)out->values + size * out->n_rows : NULL;
  hly_vector_take(to, in, sel, n, size);
  if (phys == HLY_PHYS_STR || phys == HLY_PHYS_VARIANT) {
    size_t per_row = phys == HLY_PHYS_STR ? 1 : 2;
    HLY_TRY(own_strings(ctx, (hly_str *)to, n * per_row, out));
  } else if (phys == HLY_PHYS_SPAN) {
    HLY_TRY(append_spans(ctx, out, in, n));
  } else if (out->type->kind == HLY_STRUCT) {
    HLY_TRY(append_struct(ctx, out, in, sel, n));
  }
  out->n_rows += n;
  return HLY_OK;
}
