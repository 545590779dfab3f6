#include "rows/row_partitions.h"

#include <string.h>

#include "base/mem.h"

void hly_row_partitions_init(hly_row_partitions *p, hly_ctx *ctx, const hly_row_layout *layout,
                             uint32_t level) {
  *p = (hly_row_partitions){.ctx = ctx, .layout = layout, .level = level};
}

void hly_row_partitions_deinit(hly_row_partitions *p) {
  hly_spill_close(p->file);
  hly_free(p->sections);
  *p = (hly_row_partitions){0};
}

static hly_status need_sections(hly_row_partitions *p) {
  if (p->n_flushes < p->cap_flushes) return HLY_OK;
  uint32_t grown = p->cap_flushes ? p->cap_flushes * 2 : 4;
  size_t n_bytes = (size_t)grown * HLY_ROW_PARTS * sizeof(hly_row_section);
  hly_row_section *sections = hly_realloc(p->sections, n_bytes);
  HLY_CHECK_MEM(p->ctx, sections, n_bytes);
  p->sections = sections;
  p->cap_flushes = grown;
  return HLY_OK;
}

// One walk a partition, so that ordering the rows takes no memory when there is none.
static hly_status write_part(hly_row_partitions *p, const hly_row_store *store, uint32_t part, uint64_t *n) {
  uint8_t *rows[64];
  uint32_t block = 0, offset = 0, m;
  *n = 0;
  while ((m = hly_row_store_scan(store, &block, &offset, rows, 64)) > 0) {
    for (uint32_t i = 0; i < m; i++) {
      uint64_t hash;
      memcpy(&hash, rows[i], sizeof hash);
      if (hly_row_partition_of(hash, p->level) != part) continue;
      HLY_TRY(hly_row_write(p->layout, rows[i], p->file));
      (*n)++;
    }
  }
  return HLY_OK;
}

hly_status hly_row_partitions_flush(hly_row_partitions *p, hly_row_store *store, int64_t *n_bytes) {
  *n_bytes = 0;
  if (store->n_rows == 0) return HLY_OK;
  if (!p->file) HLY_TRY(hly_spill_create(p->ctx, &p->file));
  HLY_TRY(need_sections(p));
  uint64_t before = hly_spill_bytes(p->file);
  hly_row_section *sections = p->sections + (size_t)p->n_flushes * HLY_ROW_PARTS;
  for (uint32_t part = 0; part < HLY_ROW_PARTS; part++) {
    sections[part] = (hly_row_section){p->end, 0};
    HLY_TRY(write_part(p, store, part, &sections[part].n_rows));
    if (sections[part].n_rows == 0) continue;
    HLY_TRY(hly_spill_end_section(p->file, &p->end));
    p->n_rows[part] += sections[part].n_rows;
  }
  p->n_flushes++;
  *n_bytes = (int64_t)(hly_spill_bytes(p->file) - before);
  hly_row_store_clear(store);
  return HLY_OK;
}

hly_status hly_row_reader_open(hly_row_reader *r, const hly_row_partitions *parts, uint32_t part) {
  hly_row_reader_close(r);
  r->parts = parts;
  r->part = part;
  r->row = hly_malloc(parts->layout->row_bytes);
  HLY_CHECK_MEM(parts->ctx, r->row, parts->layout->row_bytes);
  return HLY_OK;
}

hly_status hly_row_reader_next(hly_row_reader *r, const uint8_t **row) {
  const hly_row_partitions *p = r->parts;
  *row = NULL;
  while (r->left == 0) {
    hly_spill_reader_close(r->reader);
    r->reader = NULL;
    if (r->flush == p->n_flushes) return HLY_OK;
    const hly_row_section *section = &p->sections[(size_t)r->flush++ * HLY_ROW_PARTS + r->part];
    if (section->n_rows == 0) continue;
    HLY_TRY(hly_spill_open(p->file, section->offset, &r->reader));
    r->left = section->n_rows;
  }
  HLY_TRY(hly_row_read(p->layout, r->reader, r->row));
  uint64_t n = hly_row_long_bytes(p->layout, r->row);
  if (n > r->cap_bytes) {
    hly_free(r->bytes);
    r->bytes = hly_malloc(n);
    r->cap_bytes = r->bytes ? n : 0;
    HLY_CHECK_MEM(p->ctx, r->bytes, n);
  }
  if (n) HLY_TRY(hly_row_read_views(p->layout, r->reader, r->row, r->bytes));
  r->left--;
  *row = r->row;
  return HLY_OK;
}

void hly_row_reader_close(hly_row_reader *r) {
  hly_spill_reader_close(r->reader);
  hly_free(r->row);
  hly_free(r->bytes);
  *r = (hly_row_reader){0};
}
