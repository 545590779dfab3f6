#include "operators/sorter.h"

#include <string.h>

#include "base/mem.h"

enum {
  CHUNK = 1024,
  FIRST_ENTRIES = 1024,
  LEAST_BYTES = 256 << 10, // of rows in memory that are never refused
  PRUNE_LEAST = 8192,      // rows kept beyond the limit before the worst are dropped
};

static int64_t spill(void *arg, int64_t want);

hly_status hly_sorter_init(hly_sorter *s, hly_op *op, const char *name, const hly_row_layout *layout,
                           const hly_row_order *orders, uint32_t n_orders, uint32_t n_output, int64_t limit) {
  hly_ctx *ctx = op->ctx;
  *s = (hly_sorter){
      .ctx = ctx, .metrics = op->metrics, .layout = layout, .n_output = n_output, .limit = limit};
  hly_row_orders_init(&s->orders, layout, orders, n_orders);
  s->reservation = hly_reservation_create(ctx->pool, name, spill, s);
  HLY_CHECK_MEM(ctx, s->reservation, 0);
  hly_reservation_show_peak(s->reservation, &op->metrics[HALLEY__METRIC__PEAK_MEMORY]);
  hly_row_store_init(&s->store, ctx, layout, s->reservation);
  s->store.floor = LEAST_BYTES;
  hly_row_store_init(&s->merged, ctx, layout, s->reservation);
  s->scratch = hly_malloc(CHUNK * sizeof *s->scratch);
  s->rows = hly_malloc((size_t)ctx->batch_rows * sizeof *s->rows);
  if (!s->scratch || !s->rows) return hly_ctx_nomem(ctx, (int64_t)ctx->batch_rows * 8);
  if (limit < 0) return HLY_OK;
  s->probe = hly_malloc((size_t)CHUNK * layout->prefix_bytes);
  s->wanted = hly_malloc(CHUNK * sizeof *s->wanted);
  s->cutoff.row = hly_malloc(layout->row_bytes);
  if (!s->probe || !s->wanted || !s->cutoff.row)
    return hly_ctx_nomem(ctx, (int64_t)CHUNK * layout->prefix_bytes);
  return HLY_OK;
}

static void free_entries(hly_sorter *s) {
  if (s->cap_entries)
    hly_reservation_shrink(s->reservation, (int64_t)(2 * s->cap_entries * sizeof *s->entries));
  hly_free(s->entries);
  hly_free(s->spare);
  s->entries = s->spare = NULL;
  s->n_entries = s->cap_entries = 0;
}

void hly_sorter_deinit(hly_sorter *s) {
  if (!s->ctx) return;
  s->spillable = false;
  hly_merge_close(s);
  hly_spill_close(s->file);
  hly_free(s->runs);
  if (s->reservation) {
    hly_row_store_clear(&s->store);
    hly_row_store_clear(&s->merged);
    free_entries(s);
  }
  hly_row_nested_deinit(&s->nested);
  hly_free(s->scratch);
  hly_free(s->rows);
  hly_free(s->probe);
  hly_free(s->wanted);
  hly_free(s->cutoff.row);
  hly_reservation_destroy(s->reservation);
  *s = (hly_sorter){0};
}

// ---- Running out of memory.

static void sort_entries(hly_sorter *s) {
  int64_t start = hly_now_ns();
  hly_sort_entries(s->layout, &s->orders, s->entries, s->spare, s->n_entries);
  s->metrics[HALLEY__METRIC__SORT_NS] += hly_now_ns() - start;
}

// Writes what is in memory (in the output phase: what has not been given yet) as a run.
static hly_status write_out(hly_sorter *s) {
  if (!s->finished) sort_entries(s);
  uint64_t n = s->n_entries;
  if (s->limit >= 0 && n > (uint64_t)s->limit) n = (uint64_t)s->limit;
  bool writes = s->next_entry < n;
  if (writes) HLY_TRY(hly_sort_write_run(s, s->next_entry, n));
  s->next_entry = 0;
  int64_t before = hly_reservation_bytes(s->reservation);
  hly_row_store_clear(&s->store);
  free_entries(s);
  if (writes) {
    uint64_t on_disk = hly_spill_bytes(s->file);
    hly_op_spilled(s->metrics, before - hly_reservation_bytes(s->reservation),
                   (int64_t)(on_disk - s->counted));
    s->counted = on_disk;
  }
  return HLY_OK;
}

static int64_t spill(void *arg, int64_t want) {
  hly_sorter *s = arg;
  if (!s->spillable || s->n_entries == 0) return 0;
  int64_t before = hly_reservation_bytes(s->reservation);
  s->spillable = false;
  s->spill_status = write_out(s); // a failure is reported when we run again
  s->spillable = true;
  return before - hly_reservation_bytes(s->reservation);
}

// Room for n more entries.
static hly_status need_entries(hly_sorter *s, uint64_t n) {
  if (s->n_entries + n <= s->cap_entries) return HLY_OK;
  uint64_t grown = s->cap_entries ? s->cap_entries * 2 : FIRST_ENTRIES;
  if (grown < s->n_entries + n) grown = s->n_entries + n;
  int64_t more = (int64_t)(2 * (grown - s->cap_entries) * sizeof *s->entries);
  if (s->cap_entries == 0)
    hly_reservation_force(s->reservation, more);
  else
    HLY_TRY(hly_reservation_grow(s->reservation, more));
  hly_sort_entry *entries = hly_realloc(s->entries, grown * sizeof *entries);
  if (entries) s->entries = entries;
  hly_sort_entry *spare = entries ? hly_malloc(grown * sizeof *spare) : NULL;
  if (!spare) {
    hly_reservation_shrink(s->reservation, more);
    return hly_ctx_nomem(s->ctx, more);
  }
  hly_free(s->spare);
  s->spare = spare;
  s->cap_entries = grown;
  return HLY_OK;
}

// ---- A limit: only the best rows are kept.

static bool below_cutoff(const hly_sorter *s, const hly_row_prefix *key, const uint8_t *row) {
  const hly_row_prefix *cut = &s->cutoff.key;
  if (key->high != cut->high) return key->high < cut->high;
  if (key->low != cut->low) return key->low < cut->low;
  return hly_row_compare(s->layout, &s->orders, s->orders.n_exact, row, s->cutoff.row) < 0;
}

// Writes to `wanted` the row numbers, among n <= CHUNK selected ones, whose keys are below the cutoff. A row
// equal to it came later than enough others.
static uint32_t choose_wanted(hly_sorter *s, hly_vector *const *columns, const uint32_t *sel, uint32_t from,
                              uint32_t n) {
  const hly_row_layout *layout = s->layout;
  size_t stride = layout->prefix_bytes;
  memset(s->probe, 0, n * stride);
  for (uint32_t k = 0; k < s->orders.n; k++) {
    uint32_t f = s->orders.orders[k].field;
    hly_row_scatter(layout, f, columns[f], sel, from, n, &s->nested, s->probe, stride, s->scratch);
  }
  uint32_t n_wanted = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint8_t *row = s->probe + i * stride;
    hly_row_prefix key = hly_row_prefix_of(layout, &s->orders, row);
    if (below_cutoff(s, &key, row)) s->wanted[n_wanted++] = sel ? sel[from + i] : from + i;
  }
  return n_wanted;
}

// Keeps the first `limit` rows, in a new store, and makes the last of them the cutoff.
static hly_status prune(hly_sorter *s) {
  sort_entries(s);
  s->n_entries = (uint64_t)s->limit;
  hly_row_store kept;
  hly_row_store_init(&kept, s->ctx, s->layout, s->reservation);
  kept.floor = INT64_MAX; // the rows that go make up for it
  hly_status st = HLY_OK;
  for (uint64_t i = 0; i < s->n_entries && st == HLY_OK; i++) {
    uint8_t *row;
    st = hly_row_store_append(&kept, &row);
    if (st != HLY_OK) break;
    memcpy(row, s->entries[i].row, s->layout->row_bytes);
    st = hly_row_store_own_views(&kept, row);
    s->entries[i].row = row;
  }
  if (st != HLY_OK) {
    hly_row_store_clear(&kept);
    return st;
  }
  hly_row_store_clear(&s->store);
  kept.floor = s->store.floor;
  s->store = kept;
  const hly_sort_entry *last = &s->entries[s->n_entries - 1];
  s->cutoff.key = last->key;
  // Its views point into the store, which is not freed before the next pruning.
  memcpy(s->cutoff.row, last->row, s->layout->row_bytes);
  s->has_cutoff = true;
  return HLY_OK;
}

// ---- Taking rows.

// Takes rows sel[from..from + n) (from.. when sel is NULL), at most CHUNK.
static hly_status add_rows(hly_sorter *s, hly_vector *const *columns, const uint32_t *sel, uint32_t from,
                           uint32_t n) {
  const hly_row_layout *layout = s->layout;
  while (n > 0) {
    uint8_t *rows;
    uint32_t m;
    hly_status st = need_entries(s, n);
    if (st == HLY_OK) st = hly_row_store_append_many(&s->store, n, &rows, &m);
    if (st == HLY_DENIED) {
      HLY_TRY(write_out(s));
      s->has_cutoff = false; // it points to rows that are gone
      continue;
    }
    HLY_TRY(st);
    size_t stride = layout->row_bytes;
    memset(rows, 0, m * stride);
    for (uint32_t f = 0; f < layout->n_fields; f++)
      hly_row_scatter(layout, f, columns[f], sel, from, m, &s->nested, rows, stride, s->scratch);
    uint32_t done = 0;
    for (; done < m && st == HLY_OK; done++) {
      uint8_t *row = rows + done * stride;
      if (layout->n_field_views) st = hly_row_store_own_views(&s->store, row);
      if (st != HLY_OK) break;
      s->entries[s->n_entries++] = (hly_sort_entry){hly_row_prefix_of(layout, &s->orders, row), row};
    }
    if (done < m) hly_row_store_drop_last(&s->store, m - done);
    from += done;
    n -= done;
    if (st == HLY_DENIED) {
      HLY_TRY(write_out(s));
      s->has_cutoff = false;
    } else {
      HLY_TRY(st);
    }
  }
  return HLY_OK;
}

hly_status hly_sorter_add(hly_sorter *s, hly_vector *const *columns, const hly_batch *batch) {
  s->spillable = false;
  HLY_TRY(s->spill_status);
  if (!s->n_entries) s->has_cutoff = false; // a spill in between
  HLY_TRY(hly_row_nested_encode(s->ctx, s->layout, columns, batch, &s->nested));
  for (uint32_t from = 0; from < batch->n_sel; from += CHUNK) {
    uint32_t n = batch->n_sel - from < CHUNK ? batch->n_sel - from : CHUNK;
    if (s->has_cutoff && s->nested.n_fields == 0) {
      n = choose_wanted(s, columns, batch->sel, from, n);
      HLY_TRY(add_rows(s, columns, s->wanted, 0, n));
    } else {
      HLY_TRY(add_rows(s, columns, batch->sel, from, n));
    }
    if (s->limit >= 0 && s->n_entries > (uint64_t)s->limit * 2 + PRUNE_LEAST) HLY_TRY(prune(s));
  }
  s->spillable = true;
  return hly_ctx_poll(s->ctx);
}

hly_status hly_sorter_finish(hly_sorter *s) {
  s->spillable = false;
  HLY_TRY(s->spill_status);
  if (s->n_runs > 0) {
    HLY_TRY(write_out(s));
  } else {
    sort_entries(s);
  }
  s->finished = true;
  return HLY_OK;
}

// ---- Giving rows.

static hly_status gather(hly_sorter *s, uint32_t n, hly_batch *out) {
  for (uint32_t f = 0; f < s->n_output; f++) {
    HLY_TRY(hly_batch_writable(s->ctx, out, f));
    HLY_TRY(hly_row_gather(s->ctx, s->layout, f, s->rows, n, out->columns[f]));
  }
  hly_batch_set_rows(out, n);
  s->n_given += n;
  return HLY_OK;
}

static uint64_t row_bytes(const hly_sorter *s, const uint8_t *row) {
  return s->layout->row_bytes + (s->layout->n_views ? hly_row_long_bytes(s->layout, row) : 0);
}

static bool batch_is_full(const hly_sorter *s, uint32_t n, uint64_t bytes) {
  return n == s->ctx->batch_rows || (s->ctx->batch_bytes && bytes > s->ctx->batch_bytes) ||
         (s->limit >= 0 && s->n_given + n >= (uint64_t)s->limit);
}

static hly_status next_merged(hly_sorter *s, hly_batch *out) {
  if (!s->merge) HLY_TRY(hly_merge_open(s));
  hly_row_store_clear(&s->merged);
  s->merged.floor = INT64_MAX; // a batch is working memory
  uint32_t n = 0;
  uint64_t bytes = 0;
  const uint8_t *row;
  while (!batch_is_full(s, n, bytes) && (row = hly_merge_peek(s))) {
    HLY_TRY(hly_row_store_append(&s->merged, &s->rows[n]));
    memcpy(s->rows[n], row, s->layout->row_bytes);
    HLY_TRY(hly_row_store_own_views(&s->merged, s->rows[n]));
    bytes += row_bytes(s, row);
    n++;
    HLY_TRY(hly_merge_advance(s));
  }
  return gather(s, n, out);
}

hly_status hly_sorter_next(hly_sorter *s, hly_batch *out) {
  s->spillable = false;
  HLY_TRY(s->spill_status);
  if (s->n_runs > 0) return next_merged(s, out);
  uint32_t n = 0;
  uint64_t bytes = 0;
  for (; s->next_entry < s->n_entries && !batch_is_full(s, n, bytes); s->next_entry++, n++) {
    s->rows[n] = s->entries[s->next_entry].row;
    bytes += row_bytes(s, s->rows[n]);
  }
  HLY_TRY(gather(s, n, out));
  s->spillable = s->next_entry < s->n_entries;
  return HLY_OK;
}
