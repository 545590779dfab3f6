#include "rows/row_layout.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

static uint32_t round_up_8(uint32_t n) {
  return (n + 7) & ~7u;
}

hly_status hly_row_layout_init(hly_ctx *ctx, hly_arena *arena, const hly_type *const *types, uint32_t n,
                               uint32_t header_bytes, hly_row_layout *out) {
  *out = (hly_row_layout){.n_fields = n, .header_bytes = header_bytes};
  out->fields = HLY_ARENA_NEW_N(arena, hly_row_field, n + 1);
  out->views = HLY_ARENA_NEW_N(arena, uint32_t, n + 1);
  if (!out->fields || !out->views) return hly_ctx_nomem(ctx, (int64_t)n * 32);
  for (uint32_t f = 0; f < n; f++) {
    hly_row_field *field = &out->fields[f];
    field->type = types[f];
    field->is_nested = hly_type_is_nested(types[f]) || types[f]->phys == HLY_PHYS_VARIANT;
    field->is_view = field->is_nested || types[f]->phys == HLY_PHYS_STR;
    field->size = field->is_view ? sizeof(hly_str) : hly_phys_size[types[f]->phys];
  }
  uint32_t at = header_bytes;
  // Views first (contiguous: hashing treats them apart), then by falling size.
  for (uint32_t f = 0; f < n; f++) {
    if (!out->fields[f].is_view) continue;
    out->fields[f].offset = at;
    out->views[out->n_views++] = at;
    at += sizeof(hly_str);
  }
  out->n_field_views = out->n_views;
  for (uint32_t size = 16; size > 0; size /= 2) {
    for (uint32_t f = 0; f < n; f++) {
      if (out->fields[f].is_view || out->fields[f].size != size) continue;
      out->fields[f].offset = at;
      at += size;
    }
  }
  out->null_offset = at;
  out->prefix_bytes = round_up_8(at + (n + 7) / 8);
  out->row_bytes = out->prefix_bytes;
  return HLY_OK;
}

uint32_t hly_row_layout_add_tail(hly_row_layout *layout, uint32_t n_bytes) {
  uint32_t offset = layout->row_bytes;
  layout->row_bytes += round_up_8(n_bytes);
  return offset;
}

hly_status hly_row_layout_add_view(hly_ctx *ctx, hly_arena *arena, hly_row_layout *layout, uint32_t offset) {
  uint32_t *views = HLY_ARENA_NEW_N(arena, uint32_t, layout->n_views + 1);
  HLY_CHECK_MEM(ctx, views, layout->n_views * 4);
  if (layout->n_views) memcpy(views, layout->views, layout->n_views * sizeof *views);
  views[layout->n_views++] = offset;
  layout->views = views;
  return HLY_OK;
}

const uint32_t *hly_vector_positions(const hly_vector *v, const uint32_t *sel, uint32_t start, uint32_t n,
                                     uint32_t *scratch) {
  switch (v->encoding) {
  case HLY_CONST: memset(scratch, 0, (size_t)n * sizeof *scratch); return scratch;
  case HLY_DICT:
    if (sel)
      for (uint32_t i = 0; i < n; i++) scratch[i] = v->indices[sel[start + i]];
    else
      memcpy(scratch, v->indices + start, (size_t)n * sizeof *scratch);
    return scratch;
  default:
    if (!sel) return NULL;
    memcpy(scratch, sel + start, (size_t)n * sizeof *scratch);
    return scratch;
  }
}

static hly_status need_blocks(hly_ctx *ctx, hly_row_nested *nested, uint32_t n) {
  if (nested->n_fields >= n) return HLY_OK;
  hly_row_block *blocks = hly_realloc(nested->blocks, n * sizeof *blocks);
  HLY_CHECK_MEM(ctx, blocks, n * sizeof *blocks);
  memset(blocks + nested->n_fields, 0, (n - nested->n_fields) * sizeof *blocks);
  nested->blocks = blocks;
  nested->n_fields = n;
  return HLY_OK;
}

hly_status hly_row_nested_encode(hly_ctx *ctx, const hly_row_layout *layout, hly_vector *const *columns,
                                 const hly_batch *batch, hly_row_nested *nested) {
  for (uint32_t f = 0; f < layout->n_fields; f++) {
    if (!layout->fields[f].is_nested) continue;
    HLY_TRY(need_blocks(ctx, nested, layout->n_fields));
    hly_vector *column = columns[f];
    hly_batch one = *batch;
    one.n_columns = 1;
    one.columns = &column;
    uint32_t n_done = 0;
    HLY_TRY(hly_unsafe_row_encode(ctx, &one, NULL, 1, 0, UINT64_MAX, &nested->blocks[f], &n_done));
  }
  return HLY_OK;
}

void hly_row_nested_deinit(hly_row_nested *nested) {
  for (uint32_t f = 0; f < nested->n_fields; f++) hly_row_block_deinit(&nested->blocks[f]);
  hly_free(nested->blocks);
  *nested = (hly_row_nested){0};
}

// Copies values of one size; `pos` NULL: contiguous.
#define SCATTER(size)                                                                                        \
  static void scatter_##size(const uint8_t *values, const uint32_t *pos, uint32_t n, uint8_t *out,           \
                             size_t stride) {                                                                \
    if (pos)                                                                                                 \
      for (uint32_t i = 0; i < n; i++) memcpy(out + i * stride, values + (size_t)pos[i] * size, size);       \
    else                                                                                                     \
      for (uint32_t i = 0; i < n; i++) memcpy(out + i * stride, values + (size_t)i * size, size);            \
  }
SCATTER(1)
SCATTER(2)
SCATTER(4)
SCATTER(8)
SCATTER(16)

static void scatter_nested(const hly_row_layout *layout, uint32_t f, const hly_vector *v, const uint32_t *sel,
                           uint32_t from, uint32_t n, const hly_row_block *block, uint8_t *rows,
                           size_t stride) {
  for (uint32_t i = 0; i < n; i++) {
    if (hly_vector_is_null(v, sel ? sel[from + i] : from + i)) continue;
    uint64_t start = block->offsets[from + i], end = block->offsets[from + i + 1];
    *hly_row_view(rows + i * stride, layout->fields[f].offset) =
        hly_str_make(block->data->data + start, (uint32_t)(end - start));
  }
}

void hly_row_scatter(const hly_row_layout *layout, uint32_t f, const hly_vector *v, const uint32_t *sel,
                     uint32_t from, uint32_t n, const hly_row_nested *nested, uint8_t *rows, size_t stride,
                     uint32_t *scratch) {
  const hly_row_field *field = &layout->fields[f];
  uint8_t *out = rows + field->offset;
  if (field->is_nested) {
    scatter_nested(layout, f, v, sel, from, n, &nested->blocks[f], rows, stride);
  } else if (field->size > 0) {
    const uint8_t *values = hly_vector_base(v);
    const uint32_t *pos = hly_vector_positions(v, sel, from, n, scratch);
    if (!pos) values += (size_t)from * field->size;
    switch (field->size) {
    case 1: scatter_1(values, pos, n, out, stride); break;
    case 2: scatter_2(values, pos, n, out, stride); break;
    case 4: scatter_4(values, pos, n, out, stride); break;
    case 8: scatter_8(values, pos, n, out, stride); break;
    default: scatter_16(values, pos, n, out, stride); break;
    }
  }
  if (!v->validity && field->type->kind != HLY_NULL) return;
  uint8_t bit = (uint8_t)(1u << (f % 8));
  uint8_t *null_byte = rows + layout->null_offset + f / 8;
  for (uint32_t i = 0; i < n; i++) {
    if (field->type->kind != HLY_NULL && !hly_vector_is_null(v, sel ? sel[from + i] : from + i)) continue;
    null_byte[i * stride] |= bit;
    memset(out + i * stride, 0, field->size);
  }
}

#define GATHER(size)                                                                                         \
  static void gather_##size(uint8_t *const *rows, uint32_t offset, uint32_t n, uint8_t *out) {               \
    for (uint32_t i = 0; i < n; i++) memcpy(out + (size_t)i * size, rows[i] + offset, size);                 \
  }
GATHER(1)
GATHER(2)
GATHER(4)
GATHER(8)
GATHER(16)

// Copies the long bytes of the views in out's values to one heap and points the views there.
static hly_status own_views(hly_ctx *ctx, hly_vector *out, uint32_t n) {
  hly_str *views = out->values;
  uint64_t total = 0;
  for (uint32_t i = 0; i < n; i++)
    if (views[i].len > HLY_STR_INLINE) total += views[i].len;
  if (total == 0) return HLY_OK;
  hly_buf *heap = hly_buf_create(total);
  HLY_CHECK_MEM(ctx, heap, total);
  uint8_t *at = heap->data;
  for (uint32_t i = 0; i < n; i++) {
    if (views[i].len <= HLY_STR_INLINE) continue;
    memcpy(at, views[i].u.out.ptr, views[i].len);
    views[i].u.out.ptr = at;
    at += views[i].len;
  }
  hly_status st = hly_vector_add_heap(ctx, out, heap);
  hly_buf_unref(heap);
  return st;
}

hly_status hly_row_gather_views(hly_ctx *ctx, uint8_t *const *rows, uint32_t offset, uint32_t n,
                                const uint8_t *nulls, hly_vector *out) {
  HLY_TRY(hly_vector_reset(ctx, out, n));
  gather_16(rows, offset, n, out->values);
  if (nulls) {
    HLY_TRY(hly_vector_need_validity(ctx, out));
    hly_str *views = out->values;
    for (uint32_t i = 0; i < n; i++) {
      if (!nulls[i]) continue;
      hly_bits_clear(out->validity, i);
      memset(&views[i], 0, sizeof views[i]);
    }
  }
  return own_views(ctx, out, n);
}

static hly_status gather_nested(hly_ctx *ctx, const hly_row_layout *layout, uint32_t f, uint8_t *const *rows,
                                uint32_t n, hly_vector *out) {
  // Null rows are decoded from a row of one null field.
  static const uint64_t null_row[2] = {1, 0};
  uint32_t offset = layout->fields[f].offset;
  uint64_t total = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t len = hly_row_view(rows[i], offset)->len;
    total += hly_row_is_null(layout, rows[i], f) ? sizeof null_row : ((uint64_t)len + 7) / 8 * 8;
  }
  uint64_t *offsets = hly_malloc((n + 1) * sizeof *offsets);
  uint8_t *bytes = hly_malloc(total + 8);
  hly_status st = HLY_OK;
  if (!offsets || !bytes) {
    st = hly_ctx_nomem(ctx, (int64_t)total);
    goto out;
  }
  uint64_t at = 0;
  for (uint32_t i = 0; i < n; i++) {
    const hly_str *view = hly_row_view(rows[i], offset);
    bool is_null = hly_row_is_null(layout, rows[i], f);
    uint64_t len = is_null ? sizeof null_row : view->len;
    offsets[i] = at;
    memcpy(bytes + at, is_null ? (const void *)null_row : hly_str_data(view), len);
    at += (len + 7) / 8 * 8;
  }
  offsets[n] = at;
  hly_field field = {.name = "", .type = layout->fields[f].type, .nullable = true};
  hly_schema schema = {1, &field};
  hly_batch batch = {.n_columns = 1, .columns = &out};
  st = hly_unsafe_row_decode(ctx, bytes, offsets, n, &schema, &batch);
out:
  hly_free(offsets);
  hly_free(bytes);
  return st;
}

hly_status hly_row_gather(hly_ctx *ctx, const hly_row_layout *layout, uint32_t f, uint8_t *const *rows,
                          uint32_t n, hly_vector *out) {
  const hly_row_field *field = &layout->fields[f];
  if (field->is_nested) return gather_nested(ctx, layout, f, rows, n, out);
  HLY_TRY(hly_vector_reset(ctx, out, n));
  switch (field->size) {
  case 0: break;
  case 1: gather_1(rows, field->offset, n, out->values); break;
  case 2: gather_2(rows, field->offset, n, out->values); break;
  case 4: gather_4(rows, field->offset, n, out->values); break;
  case 8: gather_8(rows, field->offset, n, out->values); break;
  default: gather_16(rows, field->offset, n, out->values); break;
  }
  uint32_t byte = layout->null_offset + f / 8, bit = 1u << (f % 8);
  uint32_t any = 0;
  for (uint32_t i = 0; i < n; i++) any |= rows[i][byte];
  if (any & bit) {
    HLY_TRY(hly_vector_need_validity(ctx, out));
    for (uint32_t i = 0; i < n; i++)
      if (rows[i][byte] & bit) hly_bits_clear(out->validity, i);
  }
  return field->is_view ? own_views(ctx, out, n) : HLY_OK;
}

static inline uint64_t mix(uint64_t h, uint64_t w) {
  h = (h ^ w) * 0x9e3779b97f4a7c15ull;
  return h ^ h >> 32;
}

static inline uint64_t load(const uint8_t *p) {
  uint64_t w;
  memcpy(&w, p, sizeof w);
  return w;
}

uint64_t hly_row_hash_mask = UINT64_MAX;

uint64_t hly_row_hash(const hly_row_layout *layout, const uint8_t *row) {
  uint64_t h = 0x2545f4914f6cdd1dull;
  uint32_t at = layout->header_bytes;
  for (uint32_t i = 0; i < layout->n_field_views; i++, at += sizeof(hly_str)) {
    const hly_str *view = (const hly_str *)(const void *)(row + at);
    if (view->len <= HLY_STR_INLINE)
      h = mix(mix(h, load(row + at)), load(row + at + 8));
    else
      h = mix(h, hly_hash64_bytes(view->u.out.ptr, view->len, view->len));
  }
  for (; at < layout->prefix_bytes; at += 8) h = mix(h, load(row + at));
  return hly_hash64_int(h) & hly_row_hash_mask;
}

bool hly_row_equal(const hly_row_layout *layout, const uint8_t *a, const uint8_t *b) {
  uint32_t at = layout->header_bytes;
  for (uint32_t i = 0; i < layout->n_field_views; i++, at += sizeof(hly_str))
    if (!hly_str_equal((const hly_str *)(const void *)(a + at), (const hly_str *)(const void *)(b + at)))
      return false;
  for (; at < layout->prefix_bytes; at += 8)
    if (load(a + at) != load(b + at)) return false;
  return true;
}

uint64_t hly_row_long_bytes(const hly_row_layout *layout, const uint8_t *row) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < layout->n_views; i++) {
    uint32_t len;
    memcpy(&len, row + layout->views[i], sizeof len);
    if (len > HLY_STR_INLINE) n += len;
  }
  return n;
}

hly_status hly_row_write(const hly_row_layout *layout, const uint8_t *row, hly_spill_file *f) {
  HLY_TRY(hly_spill_write(f, row, layout->row_bytes));
  for (uint32_t i = 0; i < layout->n_views; i++) {
    const hly_str *view = (const hly_str *)(const void *)(row + layout->views[i]);
    if (view->len > HLY_STR_INLINE) HLY_TRY(hly_spill_write(f, view->u.out.ptr, view->len));
  }
  return HLY_OK;
}

hly_status hly_row_read(const hly_row_layout *layout, hly_spill_reader *r, uint8_t *row) {
  return hly_spill_read(r, row, layout->row_bytes);
}

hly_status hly_row_read_views(const hly_row_layout *layout, hly_spill_reader *r, uint8_t *row, uint8_t *out) {
  for (uint32_t i = 0; i < layout->n_views; i++) {
    hly_str *view = hly_row_view(row, layout->views[i]);
    if (view->len <= HLY_STR_INLINE) continue;
    HLY_TRY(hly_spill_read(r, out, view->len));
    view->u.out.ptr = out;
    out += view->len;
  }
  return HLY_OK;
}
