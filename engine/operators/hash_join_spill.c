// Partitions of a hash join on disk. When the build side does not fit, both sides are cut by four bits of the
// keys' hash; then partitions are joined one after another, as small joins of their own. A partition whose
// build side still does not fit is cut again, both sides, by the next four bits, into a level below that is
// finished before the walk goes on. When cutting does not help, because one key is most of a partition, or at
// the last level, the build side is kept in memory whatever the pool says.
//
// A build side that was in memory, a partition's too, can be sent to disk while the probe side passes by:
// with its marks, into a level below, where the rest of the probe side follows it.
#include <string.h>

#include "operators/hash_join.h"

#include "base/mem.h"

static hly_status open_level(hly_hash_join *h, uint32_t level) {
  hly_join_spill *s = hly_calloc(1, sizeof *s);
  HLY_CHECK_MEM(h->op.ctx, s, sizeof *s);
  hly_row_partitions_init(&s->build, h->op.ctx, &h->joiner.kept.row, level);
  hly_row_partitions_init(&s->probe, h->op.ctx, &h->probe_rows.row, level);
  s->parent = h->spill;
  h->spill = s;
  return HLY_OK;
}

static void close_level(hly_hash_join *h) {
  hly_join_spill *s = h->spill;
  h->spill = s->parent;
  hly_row_partitions_deinit(&s->build);
  hly_row_partitions_deinit(&s->probe);
  hly_free(s);
}

void hly_hash_join_spill_close(hly_hash_join *h) {
  hly_row_reader_close(&h->reader);
  while (h->spill) close_level(h);
}

static hly_status flush(hly_hash_join *h, hly_row_partitions *parts, hly_row_store *store) {
  int64_t n_bytes;
  if (store->n_rows == 0) return HLY_OK;
  int64_t n_memory = store->reserved;
  HLY_TRY(hly_row_partitions_flush(parts, store, &n_bytes));
  hly_op_spilled(h->op.metrics, n_memory, n_bytes);
  return HLY_OK;
}

hly_status hly_hash_join_flush(hly_hash_join *h, bool build) {
  if (!h->spill) HLY_TRY(open_level(h, 0));
  return build ? flush(h, &h->spill->build, &h->store) : flush(h, &h->spill->probe, &h->probe_store);
}

// Whether one partition holds all build rows of its level: the next bits will not part them either.
static bool is_uncut(const hly_join_spill *s, uint32_t part) {
  uint64_t total = 0;
  for (uint32_t p = 0; p < HLY_ROW_PARTS; p++) total += s->build.n_rows[p];
  return s->build.level > 0 && s->build.n_rows[part] == total;
}

// Moves the rows that are left to read to the level below, through the store.
static hly_status recut(hly_hash_join *h, hly_row_partitions *to, hly_row_store *store) {
  const uint8_t *row;
  uint8_t *copy;
  for (uint64_t i = 0;; i++) {
    HLY_TRY(hly_row_reader_next(&h->reader, &row));
    if (!row) break;
    hly_status st = hly_join_rows_copy(store, row, &copy);
    if (st == HLY_DENIED) {
      HLY_TRY(flush(h, to, store));
      st = hly_join_rows_copy(store, row, &copy);
    }
    HLY_TRY(st);
    if (i % 4096 == 0) HLY_TRY(hly_ctx_poll(h->op.ctx));
  }
  return flush(h, to, store);
}

// Reads a partition's build side and links it. HLY_DENIED: it does not fit; nothing is kept.
static hly_status load_build(hly_hash_join *h, const hly_join_spill *s, uint32_t part, bool force) {
  hly_status st = HLY_OK;
  const uint8_t *row = NULL;
  uint8_t *copy;
  h->store.floor = force ? INT64_MAX : HLY_JOIN_LEAST_BYTES;
  HLY_TRY(hly_row_reader_open(&h->reader, &s->build, part));
  for (uint64_t i = 0; st == HLY_OK; i++) {
    HLY_TRY(hly_row_reader_next(&h->reader, &row));
    if (!row) break;
    if (hly_join_link(row) & HLY_JOIN_GIVEN) continue;
    st = hly_join_rows_copy(&h->store, row, &copy);
    if (i % 4096 == 0) HLY_TRY(hly_ctx_poll(h->op.ctx));
  }
  if (st == HLY_OK) st = hly_join_table_build(&h->table, &h->store, force);
  if (st == HLY_DENIED) hly_row_store_clear(&h->store);
  return st;
}

hly_status hly_hash_join_next_part(hly_hash_join *h, bool *more) {
  *more = false;
  while (h->spill) {
    hly_join_spill *s = h->spill;
    hly_join_table_clear(&h->table);
    hly_row_store_clear(&h->store);
    hly_row_store_clear(&h->probe_store);
    h->probe_store.floor = HLY_JOIN_LEAST_BYTES;
    if (s->next_part == HLY_ROW_PARTS) {
      hly_row_reader_close(&h->reader);
      close_level(h);
      continue;
    }
    uint32_t part = s->next_part++;
    bool no_build = s->build.n_rows[part] == 0, no_probe = s->probe.n_rows[part] == 0;
    if (no_build && !hly_hash_join_keeps_unmatched(h)) continue;
    if (no_probe && !hly_hash_join_has_tail(h)) continue;
    h->uncut = s->build.level + 1 == HLY_ROW_LEVELS || is_uncut(s, part);
    hly_status st = load_build(h, s, part, h->uncut);
    if (st == HLY_DENIED) {
      HLY_TRY(open_level(h, s->build.level + 1));
      HLY_TRY(hly_row_reader_open(&h->reader, &s->build, part));
      HLY_TRY(recut(h, &h->spill->build, &h->store));
      HLY_TRY(hly_row_reader_open(&h->reader, &s->probe, part));
      HLY_TRY(recut(h, &h->spill->probe, &h->probe_store));
      continue;
    }
    HLY_TRY(st);
    HLY_TRY(hly_row_reader_open(&h->reader, &s->probe, part));
    *more = true;
    return HLY_OK;
  }
  return HLY_OK;
}

hly_status hly_hash_join_unload(hly_hash_join *h, bool *done) {
  *done = !(h->from_disk && h->uncut);
  if (!*done) return HLY_OK;
  HLY_TRY(open_level(h, h->from_disk ? h->spill->build.level + 1 : 0));
  hly_join_table_clear(&h->table);
  return hly_hash_join_flush(h, true);
}

hly_status hly_hash_join_unload_probe(hly_hash_join *h) {
  return recut(h, &h->spill->probe, &h->probe_store);
}

// Vectors of the probe side's columns and of its keys.
static hly_status need_batches(hly_hash_join *h) {
  hly_ctx *ctx = h->op.ctx;
  if (h->arena) return HLY_OK;
  h->arena = hly_arena_create();
  HLY_CHECK_MEM(ctx, h->arena, 0);
  hly_field *fields = HLY_ARENA_NEW_N(h->arena, hly_field, h->n_keys);
  HLY_CHECK_MEM(ctx, fields, h->n_keys * sizeof *fields);
  for (uint32_t k = 0; k < h->n_keys; k++)
    fields[k] = (hly_field){.name = "", .type = h->probe_rows.key_types[k], .nullable = true};
  hly_schema keys = {h->n_keys, fields};
  HLY_TRY(hly_batch_create(ctx, h->arena, &(*h->probe_input)->output, &h->disk_batch));
  return hly_batch_create(ctx, h->arena, &keys, &h->disk_keys);
}

hly_status hly_hash_join_read_probe(hly_hash_join *h, hly_batch **out) {
  hly_ctx *ctx = h->op.ctx;
  uint32_t n = 0;
  *out = NULL;
  HLY_TRY(need_batches(h));
  hly_row_store_clear(&h->probe_store);
  h->probe_store.floor = INT64_MAX; // one batch
  uint64_t bytes = 0;
  while (n < ctx->batch_rows) {
    const uint8_t *row;
    HLY_TRY(hly_row_reader_next(&h->reader, &row));
    if (!row) break;
    HLY_TRY(hly_join_rows_copy(&h->probe_store, row, &h->tail[n++]));
    bytes += h->probe_rows.row.row_bytes + hly_row_long_bytes(&h->probe_rows.row, row);
    if (ctx->batch_bytes && bytes >= ctx->batch_bytes) break;
  }
  if (n == 0) return HLY_OK;
  hly_batch *batch = h->disk_batch, *keys = h->disk_keys;
  for (uint32_t c = 0; c < batch->n_columns; c++) {
    HLY_TRY(hly_batch_writable(ctx, batch, c));
    HLY_TRY(hly_join_rows_gather(&h->probe_rows, ctx, c, h->tail, n, batch->columns[c]));
  }
  for (uint32_t k = 0; k < keys->n_columns; k++) {
    HLY_TRY(hly_batch_writable(ctx, keys, k));
    HLY_TRY(hly_row_gather(ctx, &h->probe_rows.keys, k, h->tail, n, keys->columns[k]));
    h->keys[k] = keys->columns[k];
  }
  hly_batch_set_rows(batch, n);
  *out = batch;
  return HLY_OK;
}
