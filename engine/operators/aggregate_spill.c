// Spilling of groups. The table is cut by four bits of the hash and written, one section a partition, as
// often as memory runs out. After the input's end partitions are merged one at a time; one that does not fit
// is cut again by the next four bits, into a level of its own, which is merged before the walk goes on.
#include "operators/hash_aggregate.h"

#include <string.h>

#include "base/mem.h"

enum {
  PART_BITS = 4,
  FIRST_BIT = 44, // below the slots' salt; levels take bits downwards
  MAX_LEVEL = 6,  // deeper than this the bits would be those that choose the slot
};

static uint32_t part_of(const uint8_t *row, uint32_t level) {
  uint64_t hash;
  memcpy(&hash, row, sizeof hash);
  return (uint32_t)(hash >> (FIRST_BIT - level * PART_BITS)) & (HLY_AGG_PARTS - 1);
}

static hly_status open_level(hly_hash_aggregate *h, uint32_t level) {
  hly_agg_spill *s = hly_calloc(1, sizeof *s);
  HLY_CHECK_MEM(h->op.ctx, s, sizeof *s);
  hly_status st = hly_spill_create(h->op.ctx, &s->file);
  if (st != HLY_OK) {
    hly_free(s);
    return st;
  }
  s->level = level;
  s->parent = h->spill;
  h->spill = s;
  return HLY_OK;
}

static void close_level(hly_hash_aggregate *h) {
  hly_agg_spill *s = h->spill;
  h->spill = s->parent;
  hly_spill_close(s->file);
  hly_free(s->sections);
  hly_free(s);
}

void hly_agg_spill_close(hly_hash_aggregate *h) {
  while (h->spill) close_level(h);
}

// The rows that have not been given yet: those waiting, then those the scan has not reached.
typedef struct walk {
  uint32_t waiting, block, offset;
} walk;

enum { WALK = 64 };

static uint32_t walk_rows(const hly_hash_aggregate *h, walk *w, uint8_t **rows) {
  uint32_t n = 0;
  for (; w->waiting < h->n_emit && n < WALK; w->waiting++) rows[n++] = h->emit_rows[w->waiting];
  return n ? n : hly_row_store_scan(&h->table.store, &w->block, &w->offset, rows, WALK);
}

// Orders the rows by partition, in the array of slots: its contents are not needed any more, and it is longer
// than the rows are many, so that spilling takes no memory.
static void order_rows(hly_hash_aggregate *h, uint32_t level, uint64_t *starts) {
  uint8_t *rows[WALK];
  uint64_t counts[HLY_AGG_PARTS] = {0};
  const walk begin = {h->next_emit, h->scan_block, h->scan_offset};
  walk w = begin;
  uint32_t n;
  while ((n = walk_rows(h, &w, rows)) > 0)
    for (uint32_t i = 0; i < n; i++) counts[part_of(rows[i], level)]++;
  uint64_t next[HLY_AGG_PARTS];
  starts[0] = 0;
  for (uint32_t p = 0; p < HLY_AGG_PARTS; p++) {
    next[p] = starts[p];
    starts[p + 1] = starts[p] + counts[p];
  }
  w = begin;
  while ((n = walk_rows(h, &w, rows)) > 0)
    for (uint32_t i = 0; i < n; i++)
      h->table.slots[next[part_of(rows[i], level)]++] = (uint64_t)(uintptr_t)rows[i];
}

hly_status hly_agg_flush(hly_hash_aggregate *h, uint32_t level) {
  if (h->table.store.n_rows == 0) return HLY_OK;
  if (!h->spill || h->spill->level < level) HLY_TRY(open_level(h, level));
  hly_agg_spill *s = h->spill;
  if (s->n_flushes == s->cap_flushes) {
    uint32_t grown = s->cap_flushes ? s->cap_flushes * 2 : 4;
    hly_agg_section *p = hly_realloc(s->sections, (size_t)grown * HLY_AGG_PARTS * sizeof *p);
    HLY_CHECK_MEM(h->op.ctx, p, (size_t)grown * HLY_AGG_PARTS * sizeof *p);
    s->sections = p;
    s->cap_flushes = grown;
  }
  uint64_t starts[HLY_AGG_PARTS + 1];
  order_rows(h, level, starts);
  hly_agg_section *sections = s->sections + (size_t)s->n_flushes * HLY_AGG_PARTS;
  for (uint32_t p = 0; p < HLY_AGG_PARTS; p++) {
    sections[p] = (hly_agg_section){s->end, starts[p + 1] - starts[p]};
    if (sections[p].n_rows == 0) continue;
    for (uint64_t i = starts[p]; i < starts[p + 1]; i++)
      HLY_TRY(hly_row_write(&h->layout, (const uint8_t *)(uintptr_t)h->table.slots[i], s->file));
    HLY_TRY(hly_spill_end_section(s->file, &s->end));
  }
  s->n_flushes++;
  int64_t before = hly_reservation_bytes(h->reservation);
  hly_group_table_clear(&h->table);
  hly_op_spilled(h->op.metrics, before - hly_reservation_bytes(h->reservation),
                 (int64_t)(hly_spill_bytes(s->file) - s->counted));
  s->counted = hly_spill_bytes(s->file);
  hly_agg_emit_begin(h);
  return HLY_OK;
}

uint32_t hly_agg_next_level(const hly_hash_aggregate *h) {
  if (!h->input_done || !h->spill) return 0;
  return h->spill->level < MAX_LEVEL ? h->spill->level + 1 : UINT32_MAX;
}

// Room for reading one row back.
typedef struct row_image {
  uint8_t *row;
  uint8_t *bytes; // of its long views
  uint64_t n_bytes;
} row_image;

static hly_status read_row(hly_hash_aggregate *h, hly_spill_reader *reader, row_image *image) {
  HLY_TRY(hly_row_read(&h->layout, reader, image->row));
  uint64_t n = hly_row_long_bytes(&h->layout, image->row);
  if (n > image->n_bytes) {
    hly_free(image->bytes);
    image->bytes = hly_malloc(n);
    image->n_bytes = image->bytes ? n : 0;
    HLY_CHECK_MEM(h->op.ctx, image->bytes, n);
  }
  return n ? hly_row_read_views(&h->layout, reader, image->row, image->bytes) : HLY_OK;
}

static hly_status merge_row(hly_hash_aggregate *h, row_image *image, uint32_t level) {
  uint8_t *group;
  bool made;
  hly_status st = hly_group_table_insert(&h->table, image->row, &group, &made);
  if (st == HLY_DENIED) {
    // At the last level nothing can be cut further: what remains must fit.
    if (level == MAX_LEVEL) return hly_ctx_nomem(h->op.ctx, hly_reservation_bytes(h->reservation));
    HLY_TRY(hly_agg_flush(h, level + 1));
    st = hly_group_table_insert(&h->table, image->row, &group, &made);
  }
  HLY_TRY(st);
  for (uint32_t c = 0; c < h->n_calls; c++) {
    const hly_agg *a = h->calls[c].agg;
    if (h->calls[c].shares) continue;
    if (!made)
      HLY_TRY(a->combine(a, &h->env, &group, &image->row, 1));
    else if (a->adopt)
      HLY_TRY(a->adopt(a, &h->env, group));
  }
  if (!h->env.over) return HLY_OK;
  h->env.over = false;
  return level == MAX_LEVEL ? HLY_OK : hly_agg_flush(h, level + 1);
}

static hly_status merge_section(hly_hash_aggregate *h, const hly_agg_spill *s, const hly_agg_section *section,
                                row_image *image) {
  if (section->n_rows == 0) return HLY_OK;
  hly_spill_reader *reader;
  HLY_TRY(hly_spill_open(s->file, section->offset, &reader));
  hly_status st = HLY_OK;
  for (uint64_t i = 0; i < section->n_rows && st == HLY_OK; i++) {
    st = read_row(h, reader, image);
    if (st == HLY_OK) st = merge_row(h, image, s->level);
    if (st == HLY_OK && i % 4096 == 0) st = hly_ctx_poll(h->op.ctx);
  }
  hly_spill_reader_close(reader);
  return st;
}

static hly_status merge_part(hly_hash_aggregate *h, hly_agg_spill *s, uint32_t part) {
  row_image image = {.row = hly_malloc(h->layout.row_bytes)};
  hly_status st = image.row ? HLY_OK : hly_ctx_nomem(h->op.ctx, h->layout.row_bytes);
  for (uint32_t f = 0; f < s->n_flushes && st == HLY_OK; f++)
    st = merge_section(h, s, &s->sections[(size_t)f * HLY_AGG_PARTS + part], &image);
  hly_free(image.row);
  hly_free(image.bytes);
  return st;
}

hly_status hly_agg_merge_next(hly_hash_aggregate *h, bool *more) {
  *more = false;
  while (h->spill) {
    hly_agg_spill *s = h->spill;
    if (s->next_part == HLY_AGG_PARTS) {
      close_level(h);
      continue;
    }
    HLY_TRY(merge_part(h, s, s->next_part++));
    if (h->spill != s) { // it did not fit: the level below has its first flushes
      HLY_TRY(hly_agg_flush(h, s->level + 1));
      continue;
    }
    if (h->table.store.n_rows == 0) continue;
    *more = true;
    return HLY_OK;
  }
  return HLY_OK;
}
