#include "operators/group_table.h"

#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

enum {
  FIRST_SLOTS = 1024,
  CHUNK = 1024, // keys laid out at a time
  LEAST_BYTES =
      256 << 10,         // of rows that are never refused, so that what leaves early has a size worth sending
  LEAST_SLOTS = 1 << 13, // and as many slots
  HUGE_FROM = 4 << 20,   // bytes of slots
  BIG_TABLE = 1 << 15,   // slots from which misses of the cache are worth prefetching for
  MAX_CODES = 1024,      // combinations of dictionary codes that are looked up once a batch
};

#define SLOT_ROW(slot) ((uint8_t *)(uintptr_t)((slot)&0xffffffffffffull))
#define SLOT_SALT(hash) ((hash) >> 48)

static inline uint64_t load(const uint8_t *p) {
  uint64_t w;
  memcpy(&w, p, sizeof w);
  return w;
}

hly_status hly_group_table_init(hly_group_table *t, hly_ctx *ctx, const hly_row_layout *layout,
                                hly_reservation *reservation) {
  *t = (hly_group_table){.ctx = ctx, .layout = layout, .reservation = reservation};
  hly_row_store_init(&t->store, ctx, layout, reservation);
  t->store.floor = LEAST_BYTES;
  t->slots = hly_calloc(FIRST_SLOTS, sizeof *t->slots);
  HLY_CHECK_MEM(ctx, t->slots, FIRST_SLOTS * sizeof *t->slots);
  t->mask = FIRST_SLOTS - 1;
  hly_reservation_force(reservation, FIRST_SLOTS * sizeof *t->slots);
  t->probe = hly_malloc((size_t)CHUNK * layout->prefix_bytes);
  t->scratch = hly_malloc(CHUNK * sizeof *t->scratch);
  t->codes = hly_malloc(CHUNK * sizeof *t->codes);
  t->code_groups = hly_malloc(MAX_CODES * sizeof *t->code_groups);
  if (!t->probe || !t->scratch || !t->codes || !t->code_groups) return hly_ctx_nomem(ctx, CHUNK * 16);
  return HLY_OK;
}

static void free_slots(hly_group_table *t) {
  if (!t->slots) return;
  hly_reservation_shrink(t->reservation, (int64_t)((t->mask + 1) * sizeof *t->slots));
  hly_free(t->slots);
  t->slots = NULL;
}

void hly_group_table_deinit(hly_group_table *t) {
  if (!t->ctx) return;
  hly_row_store_clear(&t->store);
  free_slots(t);
  hly_free(t->probe);
  hly_free(t->scratch);
  hly_free(t->codes);
  hly_free(t->code_groups);
  hly_row_nested_deinit(&t->nested);
  *t = (hly_group_table){0};
}

void hly_group_table_clear(hly_group_table *t) {
  hly_row_store_clear(&t->store);
  if (t->mask + 1 > FIRST_SLOTS) {
    uint64_t *p =
        hly_realloc(t->slots, FIRST_SLOTS * sizeof *p); // shrinks; the old block stays when it cannot
    if (p) {
      hly_reservation_shrink(t->reservation, (int64_t)((t->mask + 1 - FIRST_SLOTS) * sizeof *p));
      t->slots = p;
      t->mask = FIRST_SLOTS - 1;
    }
  }
  memset(t->slots, 0, (t->mask + 1) * sizeof *t->slots);
}

static void link_row(hly_group_table *t, uint8_t *row) {
  uint64_t hash = load(row), i = hash & t->mask;
  while (t->slots[i]) i = (i + 1) & t->mask;
  t->slots[i] = SLOT_SALT(hash) << 48 | (uint64_t)(uintptr_t)row;
}

// Doubles the slots when the next group would fill more than 5/8 of them.
static hly_status grow(hly_group_table *t) {
  uint64_t n_slots = t->mask + 1;
  if (__builtin_expect((t->store.n_rows + 1) * 8 <= n_slots * 5, 1)) return HLY_OK;
  int64_t n_bytes = (int64_t)(n_slots * 2 * sizeof *t->slots);
  if (n_slots * 2 <= LEAST_SLOTS)
    hly_reservation_force(t->reservation, n_bytes);
  else
    HLY_TRY(hly_reservation_grow(t->reservation, n_bytes));
  uint64_t *slots = hly_calloc(n_slots * 2, sizeof *slots);
  if (!slots) {
    hly_reservation_shrink(t->reservation, n_bytes);
    return hly_ctx_nomem(t->ctx, n_bytes);
  }
  // Random access to many megabytes: large pages save most misses of the TLB, and most faults.
  if (n_bytes >= HUGE_FROM) {
    uintptr_t from = ((uintptr_t)slots + 4095) & ~(uintptr_t)4095,
              to = ((uintptr_t)slots + (uintptr_t)n_bytes) & ~(uintptr_t)4095;
    (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
  }
  free_slots(t);
  t->slots = slots;
  t->mask = n_slots * 2 - 1;
  uint32_t block = 0, offset = 0, n;
  uint8_t *rows[64];
  while ((n = hly_row_store_scan(&t->store, &block, &offset, rows, 64)) > 0) {
    for (uint32_t i = 0; i < n; i++) __builtin_prefetch(&t->slots[load(rows[i]) & t->mask], 1);
    for (uint32_t i = 0; i < n; i++) link_row(t, rows[i]);
  }
  return HLY_OK;
}

// A new group of the laid-out key; its state is zero. `linked`: can be found again.
static hly_status make_group(hly_group_table *t, const uint8_t *key, bool linked, uint8_t **out) {
  const hly_row_layout *layout = t->layout;
  if (linked) HLY_TRY(grow(t));
  uint8_t *row;
  HLY_TRY(hly_row_store_append(&t->store, &row));
  memcpy(row, key, layout->prefix_bytes);
  memset(row + layout->prefix_bytes, 0, layout->row_bytes - layout->prefix_bytes);
  if (layout->n_field_views) {
    hly_status st = hly_row_store_own_views(&t->store, row);
    if (st != HLY_OK) {
      hly_row_store_drop_last(&t->store, 1);
      return st;
    }
  }
  if (linked) link_row(t, row);
  *out = row;
  return HLY_OK;
}

static inline bool same_key(const hly_row_layout *layout, const uint8_t *a, const uint8_t *b) {
  if (layout->n_field_views) return hly_row_equal(layout, a, b);
  for (uint32_t at = layout->header_bytes; at < layout->prefix_bytes; at += 8)
    if (load(a + at) != load(b + at)) return false;
  return true;
}

// The group of the key, or NULL.
static inline uint8_t *find_group(const hly_group_table *t, const uint8_t *key, uint64_t hash) {
  const hly_row_layout *layout = t->layout;
  for (uint64_t i = hash & t->mask;; i = (i + 1) & t->mask) {
    uint64_t slot = t->slots[i];
    if (!slot) return NULL;
    if (slot >> 48 != SLOT_SALT(hash)) continue;
    uint8_t *row = SLOT_ROW(slot);
    if (load(row) == hash && same_key(layout, row, key)) return row;
  }
}

hly_status hly_group_table_begin(hly_group_table *t, hly_vector *const *keys, const hly_batch *batch) {
  return hly_row_nested_encode(t->ctx, t->layout, keys, batch, &t->nested);
}

// Lays out n <= CHUNK keys in t->probe, hashes in their headers.
static void lay_out(hly_group_table *t, hly_vector *const *keys, const uint32_t *sel, uint32_t from,
                    uint32_t n) {
  const hly_row_layout *layout = t->layout;
  size_t stride = layout->prefix_bytes;
  memset(t->probe, 0, n * stride);
  for (uint32_t f = 0; f < layout->n_fields; f++)
    hly_row_scatter(layout, f, keys[f], sel, from, n, &t->nested, t->probe, stride, t->scratch);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t hash = hly_row_hash(layout, t->probe + i * stride);
    memcpy(t->probe + i * stride, &hash, sizeof hash);
  }
}

static void prefetch(const hly_group_table *t, uint32_t n) {
  size_t stride = t->layout->prefix_bytes;
  for (uint32_t i = 0; i < n; i++) __builtin_prefetch(&t->slots[load(t->probe + i * stride) & t->mask]);
  for (uint32_t i = 0; i < n; i++)
    __builtin_prefetch(SLOT_ROW(t->slots[load(t->probe + i * stride) & t->mask]));
}

static hly_status find_chunk(hly_group_table *t, uint32_t n, bool new_only, uint8_t **groups,
                             uint32_t *n_done) {
  size_t stride = t->layout->prefix_bytes;
  if (t->mask >= BIG_TABLE && !new_only) prefetch(t, n);
  const uint8_t *last = NULL;
  uint64_t last_hash = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint8_t *key = t->probe + i * stride;
    uint64_t hash = load(key);
    uint8_t *group;
    if (new_only) {
      group = NULL;
    } else if (last && hash == last_hash && same_key(t->layout, key, last)) {
      group = groups[i - 1]; // runs of one key
    } else {
      group = find_group(t, key, hash);
    }
    if (!group) {
      hly_status st = make_group(t, key, !new_only, &group);
      if (st == HLY_DENIED) {
        *n_done = i;
        return HLY_OK;
      }
      HLY_TRY(st);
    }
    groups[i] = group;
    last = key;
    last_hash = hash;
  }
  *n_done = n;
  return HLY_OK;
}

// The number of combinations of the keys' dictionary entries, when it is small: then each combination is
// looked up once. 0: otherwise.
static uint32_t n_codes(const hly_group_table *t, hly_vector *const *keys) {
  uint64_t n = 1;
  for (uint32_t f = 0; f < t->layout->n_fields; f++) {
    const hly_vector *v = keys[f];
    if (v->encoding == HLY_CONST) continue;
    if (v->encoding != HLY_DICT) return 0;
    n *= (uint64_t)v->dict->n_rows + 1; // one more for null
    if (n > MAX_CODES) return 0;
  }
  return t->layout->n_fields ? (uint32_t)n : 0;
}

static void make_codes(const hly_group_table *t, hly_vector *const *keys, const uint32_t *sel, uint32_t from,
                       uint32_t n) {
  memset(t->codes, 0, n * sizeof *t->codes);
  for (uint32_t f = 0; f < t->layout->n_fields; f++) {
    const hly_vector *v = keys[f];
    if (v->encoding == HLY_CONST) continue;
    uint32_t radix = v->dict->n_rows + 1;
    for (uint32_t i = 0; i < n; i++) {
      uint32_t row = sel ? sel[from + i] : from + i;
      uint32_t code = v->validity && !hly_bits_get(v->validity, row) ? radix - 1 : v->indices[row];
      t->codes[i] = t->codes[i] * radix + code;
    }
  }
}

static hly_status find_by_codes(hly_group_table *t, hly_vector *const *keys, const uint32_t *sel,
                                uint32_t from, uint32_t n, uint8_t **groups, uint32_t *n_done) {
  for (uint32_t at = 0; at < n; at += CHUNK) {
    uint32_t m = n - at < CHUNK ? n - at : CHUNK;
    make_codes(t, keys, sel, from + at, m);
    for (uint32_t i = 0; i < m; i++) {
      uint8_t **group = &t->code_groups[t->codes[i]];
      if (__builtin_expect(!*group, 0)) {
        uint32_t done = 0;
        lay_out(t, keys, sel, from + at + i, 1);
        HLY_TRY(find_chunk(t, 1, false, group, &done));
        if (!done) {
          *n_done = at + i;
          return HLY_OK;
        }
      }
      groups[at + i] = *group;
    }
  }
  *n_done = n;
  return HLY_OK;
}

hly_status hly_group_table_find(hly_group_table *t, hly_vector *const *keys, const uint32_t *sel,
                                uint32_t from, uint32_t n, bool new_only, uint8_t **groups,
                                uint32_t *n_done) {
  uint32_t codes = new_only ? 0 : n_codes(t, keys);
  if (codes > 0 && codes <= n / 4) {
    memset(t->code_groups, 0, codes * sizeof *t->code_groups);
    return find_by_codes(t, keys, sel, from, n, groups, n_done);
  }
  for (*n_done = 0; *n_done < n;) {
    uint32_t m = n - *n_done < CHUNK ? n - *n_done : CHUNK, done = 0;
    lay_out(t, keys, sel, from + *n_done, m);
    HLY_TRY(find_chunk(t, m, new_only, groups + *n_done, &done));
    *n_done += done;
    if (done < m) return HLY_OK;
  }
  return HLY_OK;
}

hly_status hly_group_table_insert(hly_group_table *t, const uint8_t *row, uint8_t **group, bool *made) {
  *group = find_group(t, row, load(row));
  *made = !*group;
  if (*group) return HLY_OK;
  HLY_TRY(make_group(t, row, true, group));
  uint32_t prefix = t->layout->prefix_bytes;
  memcpy(*group + prefix, row + prefix, t->layout->row_bytes - prefix);
  return HLY_OK;
}
