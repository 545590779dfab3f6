// Runs of a sorter on disk, and their merge: a loser tree over at most FAN_IN runs. With more, runs are first
// merged in groups, neighbours together so that the order of equal rows stays.
#include "operators/sorter.h"

#include <string.h>

#include "base/mem.h"

enum { FAN_IN = 32, READER_BYTES = 160 << 10 };

typedef struct cursor {
  hly_spill_reader *reader;
  uint64_t left; // rows not read yet
  bool done;
  hly_row_prefix key;
  uint8_t *row;
  uint8_t *bytes; // of its long views
  uint64_t n_bytes;
} cursor;

typedef struct hly_merge {
  uint32_t n;
  cursor cursors[FAN_IN];
  uint32_t losers[FAN_IN]; // [0]: the winner
  int64_t reserved;
} hly_merge;

hly_status hly_sort_write_run(hly_sorter *s, uint64_t from, uint64_t to) {
  if (!s->file) HLY_TRY(hly_spill_create(s->ctx, &s->file));
  if (s->n_runs == s->cap_runs) {
    uint32_t grown = s->cap_runs ? s->cap_runs * 2 : 16;
    hly_sort_run *runs = hly_realloc(s->runs, grown * sizeof *runs);
    HLY_CHECK_MEM(s->ctx, runs, grown * sizeof *runs);
    s->runs = runs;
    s->cap_runs = grown;
  }
  hly_sort_run run = {s->end, to - from};
  for (uint64_t i = from; i < to; i++) HLY_TRY(hly_row_write(s->layout, s->entries[i].row, s->file));
  HLY_TRY(hly_spill_end_section(s->file, &s->end));
  s->runs[s->n_runs++] = run;
  return HLY_OK;
}

static hly_status advance(hly_sorter *s, cursor *c) {
  if (c->left == 0) {
    c->done = true;
    return HLY_OK;
  }
  c->left--;
  HLY_TRY(hly_row_read(s->layout, c->reader, c->row));
  uint64_t n = hly_row_long_bytes(s->layout, c->row);
  if (n > c->n_bytes) {
    hly_free(c->bytes);
    c->bytes = hly_malloc(n);
    c->n_bytes = c->bytes ? n : 0;
    HLY_CHECK_MEM(s->ctx, c->bytes, n);
  }
  if (n) HLY_TRY(hly_row_read_views(s->layout, c->reader, c->row, c->bytes));
  c->key = hly_row_prefix_of(s->layout, &s->orders, c->row);
  return HLY_OK;
}

// Whether cursor a's row comes before b's; the earlier run on a tie; finished cursors last.
static bool before(const hly_sorter *s, uint32_t a, uint32_t b) {
  const cursor *x = &s->merge->cursors[a], *y = &s->merge->cursors[b];
  if (x->done || y->done) return !x->done || (y->done && a < b);
  if (x->key.high != y->key.high) return x->key.high < y->key.high;
  if (x->key.low != y->key.low) return x->key.low < y->key.low;
  int c = hly_row_compare(s->layout, &s->orders, s->orders.n_exact, x->row, y->row);
  return c ? c < 0 : a < b;
}

// Replays the matches of cursor i, which has a new row.
static void replay(hly_sorter *s, uint32_t i) {
  hly_merge *m = s->merge;
  uint32_t winner = i;
  for (uint32_t node = (i + m->n) / 2; node > 0; node /= 2) {
    if (before(s, m->losers[node], winner)) {
      uint32_t t = m->losers[node];
      m->losers[node] = winner;
      winner = t;
    }
  }
  m->losers[0] = winner;
}

// The winner of the subtree at `node`; its losers are recorded.
static uint32_t build(hly_sorter *s, uint32_t node) {
  hly_merge *m = s->merge;
  if (node >= m->n) return node - m->n;
  uint32_t a = build(s, 2 * node), b = build(s, 2 * node + 1);
  bool first = before(s, a, b);
  m->losers[node] = first ? b : a;
  return first ? a : b;
}

void hly_merge_close(hly_sorter *s) {
  hly_merge *m = s->merge;
  if (!m) return;
  for (uint32_t i = 0; i < m->n; i++) {
    hly_spill_reader_close(m->cursors[i].reader);
    hly_free(m->cursors[i].row);
    hly_free(m->cursors[i].bytes);
  }
  hly_reservation_shrink(s->reservation, m->reserved);
  hly_free(m);
  s->merge = NULL;
}

static hly_status open_runs(hly_sorter *s, const hly_sort_run *runs, uint32_t n) {
  hly_merge *m = hly_calloc(1, sizeof *m);
  HLY_CHECK_MEM(s->ctx, m, sizeof *m);
  s->merge = m;
  m->n = n;
  m->reserved = (int64_t)n * READER_BYTES;
  hly_reservation_force(s->reservation, m->reserved);
  for (uint32_t i = 0; i < n; i++) {
    cursor *c = &m->cursors[i];
    c->left = runs[i].n_rows;
    c->row = hly_malloc(s->layout->row_bytes);
    HLY_CHECK_MEM(s->ctx, c->row, s->layout->row_bytes);
    HLY_TRY(hly_spill_open(s->file, runs[i].offset, &c->reader));
    HLY_TRY(advance(s, c));
  }
  m->losers[0] = n > 1 ? build(s, 1) : 0;
  return HLY_OK;
}

const uint8_t *hly_merge_peek(const hly_sorter *s) {
  const cursor *c = &s->merge->cursors[s->merge->losers[0]];
  return c->done ? NULL : c->row;
}

hly_status hly_merge_advance(hly_sorter *s) {
  uint32_t i = s->merge->losers[0];
  HLY_TRY(advance(s, &s->merge->cursors[i]));
  if (s->merge->n > 1) replay(s, i);
  return HLY_OK;
}

// Merges n neighbouring runs into one at the end of `file`.
static hly_status merge_runs(hly_sorter *s, const hly_sort_run *runs, uint32_t n, hly_spill_file *file,
                             hly_sort_run *out) {
  HLY_TRY(open_runs(s, runs, n));
  uint64_t most = s->limit < 0 ? UINT64_MAX : (uint64_t)s->limit;
  out->n_rows = 0;
  for (const uint8_t *row; out->n_rows < most && (row = hly_merge_peek(s)); out->n_rows++) {
    HLY_TRY(hly_row_write(s->layout, row, file));
    HLY_TRY(hly_merge_advance(s));
    if (out->n_rows % 4096 == 0) HLY_TRY(hly_ctx_poll(s->ctx));
  }
  hly_merge_close(s);
  return HLY_OK;
}

// One pass: groups of FAN_IN runs become one each, in a new file.
static hly_status merge_pass(hly_sorter *s) {
  hly_spill_file *file;
  HLY_TRY(hly_spill_create(s->ctx, &file));
  uint64_t end = 0;
  uint32_t n_out = 0;
  hly_status st = HLY_OK;
  for (uint32_t from = 0; from < s->n_runs && st == HLY_OK; from += FAN_IN) {
    uint32_t n = s->n_runs - from < FAN_IN ? s->n_runs - from : FAN_IN;
    hly_sort_run run = {end, 0};
    st = merge_runs(s, s->runs + from, n, file, &run);
    if (st == HLY_OK) st = hly_spill_end_section(file, &end);
    s->runs[n_out++] = run; // never ahead of the runs still to be read
  }
  hly_merge_close(s);
  if (st != HLY_OK) {
    hly_spill_close(file);
    return st;
  }
  s->metrics[HALLEY__METRIC__SPILL_BYTES] += (int64_t)hly_spill_bytes(file);
  hly_spill_close(s->file);
  s->file = file;
  s->n_runs = n_out;
  return HLY_OK;
}

hly_status hly_merge_open(hly_sorter *s) {
  while (s->n_runs > FAN_IN) HLY_TRY(merge_pass(s));
  return open_runs(s, s->runs, s->n_runs);
}
