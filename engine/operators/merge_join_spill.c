// A group of a merge join on disk. Its rows are read in pieces, for each streamed row of its key from the
// first on, as Spark does; which of them were in a pair is kept in a bit each.
#include <string.h>

#include "operators/merge_join.h"

#include "base/mem.h"

static hly_status flush(hly_merge_join *m, hly_row_store *store) {
  int64_t n_bytes;
  if (store->n_rows == 0) return HLY_OK;
  int64_t n_memory = store->reserved;
  HLY_TRY(hly_row_partitions_flush(&m->disk, store, &n_bytes));
  hly_op_spilled(m->op.metrics, n_memory, n_bytes);
  return HLY_OK;
}

hly_status hly_merge_group_to_disk(hly_merge_join *m) {
  hly_ctx *ctx = m->op.ctx;
  const hly_row_layout *layout = &m->joiner.kept.row;
  hly_row_partitions_init(&m->disk, ctx, layout, 0);
  hly_row_store_init(&m->disk_in, ctx, layout, m->reservation);
  hly_row_store_init(&m->piece, ctx, layout, m->reservation);
  m->disk_in.floor = m->piece.floor = INT64_MAX; // they are small
  m->has_disk = m->group_on_disk = true;
  m->n_disk = m->store.n_rows;
  m->piece_from = m->n_piece = 0;
  // Rows whose keys are equal but not the same bytes (zeros of both signs) belong to one partition.
  uint64_t hash = hly_join_hash(m->group);
  for (uint8_t *row = m->group; row; row = hly_join_next(row)) memcpy(row, &hash, sizeof hash);
  // The key lives in a row of its own, in front of those on their way.
  uint64_t n_key = layout->row_bytes + hly_row_long_bytes(layout, m->group);
  m->disk_key = hly_malloc(n_key);
  HLY_CHECK_MEM(ctx, m->disk_key, n_key);
  memcpy(m->disk_key, m->group, layout->row_bytes);
  uint8_t *at = m->disk_key + layout->row_bytes;
  for (uint32_t i = 0; i < layout->n_views; i++) {
    hly_str *view = hly_row_view(m->disk_key, layout->views[i]);
    if (view->len <= HLY_STR_INLINE) continue;
    memcpy(at, view->u.out.ptr, view->len);
    view->u.out.ptr = at;
    at += view->len;
  }
  m->group = m->disk_key;
  m->group_last = NULL;
  m->n_group = 0;
  m->joiner.pieced = m->disk_key;
  return flush(m, &m->store);
}

hly_status hly_merge_disk_add(hly_merge_join *m, uint8_t *row) {
  uint8_t *copy;
  HLY_TRY(hly_join_rows_copy(&m->disk_in, row, &copy));
  memcpy(copy, m->disk_key, sizeof(uint64_t));
  hly_join_set_link(row, HLY_JOIN_MATCHED); // the copy answers for it
  m->n_disk++;
  return m->disk_in.reserved > HLY_MERGE_LEAST_BYTES ? flush(m, &m->disk_in) : HLY_OK;
}

hly_status hly_merge_disk_end(hly_merge_join *m) {
  HLY_TRY(flush(m, &m->disk_in));
  if (!m->joiner.kept_outer) return HLY_OK;
  size_t words = hly_bits_words(m->n_disk);
  m->matched = hly_calloc(words, sizeof *m->matched);
  HLY_CHECK_MEM(m->op.ctx, m->matched, words * sizeof *m->matched);
  return HLY_OK;
}

// Notes which rows of the piece in memory are in a pair.
static void note_matched(hly_merge_join *m) {
  uint8_t *rows[64];
  uint32_t block = 0, offset = 0, n;
  if (!m->matched) return;
  for (uint64_t at = m->piece_from; (n = hly_row_store_scan(&m->piece, &block, &offset, rows, 64)) > 0;
       at += n)
    for (uint32_t i = 0; i < n; i++)
      if (hly_join_link(rows[i]) & HLY_JOIN_MATCHED) hly_bits_set(m->matched, at + i);
}

hly_status hly_merge_disk_piece(void *arg, bool first, uint8_t **chain, bool *last) {
  hly_merge_join *m = arg;
  note_matched(m);
  hly_row_store_clear(&m->piece);
  m->piece_from = first ? 0 : m->piece_from + m->n_piece;
  m->n_piece = 0;
  if (first)
    HLY_TRY(hly_row_reader_open(&m->reader, &m->disk, hly_row_partition_of(hly_join_hash(m->disk_key), 0)));
  uint8_t *before = NULL;
  *chain = NULL;
  while (m->piece_from + m->n_piece < m->n_disk && m->piece.reserved <= HLY_MERGE_LEAST_BYTES) {
    const uint8_t *row;
    uint8_t *copy;
    HLY_TRY(hly_row_reader_next(&m->reader, &row));
    if (!row) return hly_error_setf(&m->op.ctx->error, HLY_E_INTERNAL, "a group lost rows");
    HLY_TRY(hly_join_rows_copy(&m->piece, row, &copy));
    bool matched = m->matched && hly_bits_get(m->matched, m->piece_from + m->n_piece);
    hly_join_set_link(copy, matched ? HLY_JOIN_MATCHED : 0);
    if (before)
      hly_join_set_link(before, hly_join_link(before) | (uint64_t)(uintptr_t)copy);
    else
      *chain = copy;
    before = copy;
    m->n_piece++;
  }
  *last = m->piece_from + m->n_piece == m->n_disk;
  return HLY_OK;
}

void hly_merge_disk_close(hly_merge_join *m) {
  if (!m->has_disk) return;
  hly_row_reader_close(&m->reader);
  hly_row_partitions_deinit(&m->disk);
  hly_row_store_clear(&m->disk_in);
  hly_row_store_clear(&m->piece);
  hly_free(m->matched);
  hly_free(m->disk_key);
  m->matched = NULL;
  m->disk_key = NULL;
  m->has_disk = false;
  m->joiner.pieced = NULL;
}
