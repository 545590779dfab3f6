// The sort itself: a radix sort of the key prefixes by the bytes that differ, else a merge sort; rows whose
// prefixes are equal are then compared whole.
#include "operators/sorter.h"

#include <string.h>

enum { INSERTION = 16, RADIX_LEAST = 256 };

typedef struct order {
  const hly_row_layout *layout;
  const hly_row_orders *orders;
  bool exact; // prefixes decide
} order;

static inline bool less(const order *o, const hly_sort_entry *a, const hly_sort_entry *b) {
  if (a->key.high != b->key.high) return a->key.high < b->key.high;
  if (a->key.low != b->key.low) return a->key.low < b->key.low;
  return !o->exact && hly_row_compare(o->layout, o->orders, o->orders->n_exact, a->row, b->row) < 0;
}

static void merge_sort(const order *o, hly_sort_entry *e, hly_sort_entry *spare, uint64_t n) {
  if (n <= INSERTION) {
    for (uint64_t i = 1; i < n; i++) {
      hly_sort_entry x = e[i];
      uint64_t j = i;
      for (; j > 0 && less(o, &x, &e[j - 1]); j--) e[j] = e[j - 1];
      e[j] = x;
    }
    return;
  }
  uint64_t half = n / 2;
  merge_sort(o, e, spare, half);
  merge_sort(o, e + half, spare, n - half);
  if (!less(o, &e[half], &e[half - 1])) return; // in order already
  memcpy(spare, e, half * sizeof *e);
  for (uint64_t i = 0, j = half, k = 0; i < half; k++) {
    if (j < n && less(o, &e[j], &spare[i]))
      e[k] = e[j++];
    else
      e[k] = spare[i++];
  }
}

// One pass by one byte of the key, from `in` to `out`.
static void radix_pass(const hly_sort_entry *in, hly_sort_entry *out, uint64_t n, bool high, uint32_t shift,
                       uint64_t *counts) {
  uint64_t at = 0;
  for (int d = 0; d < 256; d++) {
    uint64_t count = counts[d];
    counts[d] = at;
    at += count;
  }
  for (uint64_t i = 0; i < n; i++) {
    uint8_t d = (uint8_t)((high ? in[i].key.high : in[i].key.low) >> shift);
    out[counts[d]++] = in[i];
  }
}

static void radix_sort(hly_sort_entry *e, hly_sort_entry *spare, uint64_t n, hly_row_prefix differing) {
  hly_sort_entry *in = e, *out = spare;
  for (uint32_t byte = 0; byte < 16; byte++) {
    bool high = byte >= 8;
    uint32_t shift = byte % 8 * 8;
    if (((high ? differing.high : differing.low) >> shift & 0xff) == 0) continue;
    uint64_t counts[256] = {0};
    for (uint64_t i = 0; i < n; i++) counts[(uint8_t)((high ? in[i].key.high : in[i].key.low) >> shift)]++;
    radix_pass(in, out, n, high, shift, counts);
    hly_sort_entry *t = in;
    in = out;
    out = t;
  }
  if (in != e) memcpy(e, in, n * sizeof *e);
}

static void sort_ties(const order *o, hly_sort_entry *e, hly_sort_entry *spare, uint64_t n) {
  for (uint64_t i = 0, j; i < n; i = j) {
    for (j = i + 1; j < n && e[j].key.high == e[i].key.high && e[j].key.low == e[i].key.low;) j++;
    if (j - i > 1) merge_sort(o, e + i, spare, j - i);
  }
}

void hly_sort_entries(const hly_row_layout *layout, const hly_row_orders *orders, hly_sort_entry *entries,
                      hly_sort_entry *spare, uint64_t n) {
  order o = {layout, orders, orders->n_exact == orders->n};
  bool sorted = true;
  hly_row_prefix differing = {0, 0};
  for (uint64_t i = 1; i < n; i++) {
    differing.high |= entries[i].key.high ^ entries[0].key.high;
    differing.low |= entries[i].key.low ^ entries[0].key.low;
    if (sorted) sorted = !less(&o, &entries[i], &entries[i - 1]);
  }
  if (sorted) return;
  uint32_t n_bytes = 0, levels = 0;
  for (uint32_t s = 0; s < 64; s += 8)
    n_bytes += ((differing.high >> s & 0xff) != 0) + ((differing.low >> s & 0xff) != 0);
  for (uint64_t m = n / INSERTION; m > 0; m /= 2) levels++;
  // A radix pass costs about as much as a level of merging, without its mispredicted branches.
  if (n < RADIX_LEAST || n_bytes > levels + 2) {
    merge_sort(&o, entries, spare, n);
    return;
  }
  radix_sort(entries, spare, n, differing);
  if (!o.exact) sort_ties(&o, entries, spare, n);
}
