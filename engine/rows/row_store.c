#include "rows/row_store.h"

#include <string.h>

#include "base/mem.h"

enum { FIRST_CHUNK = 16 << 10, MIDDLE_CHUNK = 1 << 20, LAST_CHUNK = 8 << 20 };

void hly_row_store_init(hly_row_store *s, hly_ctx *ctx, const hly_row_layout *layout,
                        hly_reservation *reservation) {
  *s = (hly_row_store){.ctx = ctx, .layout = layout, .reservation = reservation};
}

static void free_chunks(hly_row_chunk *chunks, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) hly_free(chunks[i].data);
  hly_free(chunks);
}

void hly_row_store_clear(hly_row_store *s) {
  free_chunks(s->blocks, s->n_blocks);
  free_chunks(s->heap, s->n_heap);
  int64_t least = s->floor;
  if (s->reserved) hly_reservation_shrink(s->reservation, s->reserved);
  hly_row_store_init(s, s->ctx, s->layout, s->reservation);
  s->floor = least;
}

static hly_status add_chunk(hly_row_store *s, hly_row_chunk **chunks, uint32_t *n, uint32_t *capacity,
                            uint64_t n_bytes, bool force) {
  if (*n == *capacity) {
    uint32_t grown = *capacity ? *capacity * 2 : 8;
    hly_row_chunk *p = hly_realloc(*chunks, grown * sizeof *p);
    HLY_CHECK_MEM(s->ctx, p, grown * sizeof *p);
    *chunks = p;
    *capacity = grown;
  }
  if (force || s->reserved + (int64_t)n_bytes <= s->floor)
    hly_reservation_force(s->reservation, (int64_t)n_bytes);
  else
    HLY_TRY(hly_reservation_grow(s->reservation, (int64_t)n_bytes));
  uint8_t *data = hly_malloc(n_bytes);
  if (!data) {
    hly_reservation_shrink(s->reservation, (int64_t)n_bytes);
    return hly_ctx_nomem(s->ctx, (int64_t)n_bytes);
  }
  s->reserved += (int64_t)n_bytes;
  (*chunks)[(*n)++] = (hly_row_chunk){data, 0, (uint32_t)n_bytes};
  return HLY_OK;
}

// Chunks double up to a megabyte, so that few rows take little and many rows few allocations; those of a
// large store can lie in large pages.
static uint64_t chunk_bytes(uint32_t n_chunks, uint64_t least) {
  uint64_t n = n_chunks < 6 ? (uint64_t)FIRST_CHUNK << n_chunks : n_chunks < 48 ? MIDDLE_CHUNK : LAST_CHUNK;
  return n < least ? least : n;
}

hly_status hly_row_store_append(hly_row_store *s, uint8_t **row) {
  uint32_t n;
  return hly_row_store_append_many(s, 1, row, &n);
}

hly_status hly_row_store_append_many(hly_row_store *s, uint32_t max, uint8_t **rows, uint32_t *n) {
  uint32_t row_bytes = s->layout->row_bytes;
  hly_row_chunk *block = s->n_blocks ? &s->blocks[s->n_blocks - 1] : NULL;
  if (!block || block->capacity - block->used < row_bytes) {
    HLY_TRY(add_chunk(s, &s->blocks, &s->n_blocks, &s->cap_blocks, chunk_bytes(s->n_blocks, row_bytes),
                      s->n_blocks == 0));
    block = &s->blocks[s->n_blocks - 1];
  }
  uint32_t room = (block->capacity - block->used) / row_bytes;
  *n = room < max ? room : max;
  *rows = block->data + block->used;
  block->used += *n * row_bytes;
  s->n_rows += *n;
  return HLY_OK;
}

void hly_row_store_drop_last(hly_row_store *s, uint32_t n) {
  s->blocks[s->n_blocks - 1].used -= n * s->layout->row_bytes;
  s->n_rows -= n;
}

hly_status hly_row_store_heap(hly_row_store *s, uint64_t n, bool force, uint8_t **out) {
  hly_row_chunk *chunk = s->n_heap ? &s->heap[s->n_heap - 1] : NULL;
  if (!chunk || chunk->capacity - chunk->used < n) {
    if (n > INT32_MAX) return hly_ctx_nomem(s->ctx, (int64_t)n);
    force = force || s->n_heap == 0;
    HLY_TRY(add_chunk(s, &s->heap, &s->n_heap, &s->cap_heap, chunk_bytes(s->n_heap, n), force));
    chunk = &s->heap[s->n_heap - 1];
  }
  *out = chunk->data + chunk->used;
  chunk->used += (uint32_t)n;
  return HLY_OK;
}

hly_status hly_row_store_own_views(hly_row_store *s, uint8_t *row) {
  const hly_row_layout *layout = s->layout;
  uint64_t total = 0;
  for (uint32_t i = 0; i < layout->n_field_views; i++) {
    uint32_t len = hly_row_view(row, layout->views[i])->len;
    if (len > HLY_STR_INLINE) total += len;
  }
  if (total == 0) return HLY_OK;
  uint8_t *at;
  HLY_TRY(hly_row_store_heap(s, total, false, &at));
  for (uint32_t i = 0; i < layout->n_field_views; i++) {
    hly_str *view = hly_row_view(row, layout->views[i]);
    if (view->len <= HLY_STR_INLINE) continue;
    memcpy(at, view->u.out.ptr, view->len);
    view->u.out.ptr = at;
    at += view->len;
  }
  return HLY_OK;
}

uint32_t hly_row_store_scan(const hly_row_store *s, uint32_t *block, uint32_t *offset, uint8_t **rows,
                            uint32_t max) {
  uint32_t n = 0, row_bytes = s->layout->row_bytes;
  while (n < max && *block < s->n_blocks) {
    const hly_row_chunk *b = &s->blocks[*block];
    for (; n < max && *offset < b->used; *offset += row_bytes) rows[n++] = b->data + *offset;
    if (*offset >= b->used) {
      (*block)++;
      *offset = 0;
    }
  }
  return n;
}
