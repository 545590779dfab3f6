#include "operators/join_table.h"

#include <string.h>

#include "base/mem.h"

enum {
  WALK = 64,
  BIG_TABLE = 1 << 15,     // slots from which misses of the cache are worth prefetching for
  SMALL_BYTES = 128 << 10, // of slots that are never refused: rows that fit should not fail for them
  DIRECT_LEAST = 1024,     // ranges up to this are always addressed directly
};

#define SALT(hash) ((hash) >> 48)

hly_status hly_join_table_init(hly_join_table *t, hly_ctx *ctx, const hly_join_rows *rows,
                               hly_reservation *reservation) {
  *t = (hly_join_table){.ctx = ctx, .rows = rows, .reservation = reservation};
  t->probe = hly_malloc((size_t)HLY_JOIN_CHUNK * rows->keys.prefix_bytes);
  HLY_CHECK_MEM(ctx, t->probe, (size_t)HLY_JOIN_CHUNK * rows->keys.prefix_bytes);
  return HLY_OK;
}

void hly_join_table_view(hly_join_table *t, const hly_join_table *of) {
  t->slots = of->slots;
  t->n_slots = of->n_slots;
  t->mask = of->mask;
  t->direct = of->direct;
  t->least = of->least;
  t->single = of->single;
}

void hly_join_table_forget(hly_join_table *t) {
  t->slots = NULL;
  t->n_slots = 0;
  t->direct = false;
  t->single = NULL;
}

void hly_join_table_clear(hly_join_table *t) {
  if (t->n_slots) hly_reservation_shrink(t->reservation, (int64_t)(t->n_slots * sizeof *t->slots));
  hly_free(t->slots);
  hly_join_table_forget(t);
}

void hly_join_table_deinit(hly_join_table *t) {
  if (!t->ctx) return;
  hly_join_table_clear(t);
  hly_free(t->probe);
  *t = (hly_join_table){0};
}

static hly_status need_slots(hly_join_table *t, uint64_t n, bool force) {
  int64_t n_bytes = (int64_t)(n * sizeof *t->slots);
  if (force || n_bytes <= SMALL_BYTES)
    hly_reservation_force(t->reservation, n_bytes);
  else
    HLY_TRY(hly_reservation_grow(t->reservation, n_bytes));
  t->slots = hly_calloc(n, sizeof *t->slots);
  if (!t->slots) {
    hly_reservation_shrink(t->reservation, n_bytes);
    return hly_ctx_nomem(t->ctx, n_bytes);
  }
  t->n_slots = n;
  return HLY_OK;
}

// ---- One integer key.

static bool is_integer(const hly_join_rows *rows) {
  return rows->n_keys == 1 && hly_join_is_integer(rows->key_types[0]);
}

static inline int64_t key_of(const hly_join_rows *rows, const uint8_t *row) {
  return hly_join_load_integer(row, &rows->keys.fields[0]);
}

// Least key and range of the rows that can match; false when there is none.
static bool find_range(const hly_join_rows *rows, const hly_row_store *store, int64_t *least, uint64_t *range,
                       uint64_t *n) {
  uint32_t block = 0, offset = 0, m;
  uint8_t *page[WALK];
  int64_t lo = INT64_MAX, hi = INT64_MIN;
  *n = 0;
  while ((m = hly_row_store_scan(store, &block, &offset, page, WALK)) > 0) {
    for (uint32_t i = 0; i < m; i++) {
      if (hly_join_null_key(rows, page[i])) continue;
      int64_t key = key_of(rows, page[i]);
      lo = key < lo ? key : lo;
      hi = key > hi ? key : hi;
      (*n)++;
    }
  }
  if (*n == 0) return false;
  *least = lo;
  *range = (uint64_t)hi - (uint64_t)lo; // one less; a range of all 2^64 stays a number
  return true;
}

// ---- Building.

static inline void push(uint64_t *slot, uint64_t salt, uint8_t *row) {
  hly_join_set_next(row, HLY_JOIN_ADDRESS(*slot));
  *slot = salt << 48 | (uint64_t)(uintptr_t)row;
}

static void link_hashed(hly_join_table *t, uint8_t *row) {
  uint64_t hash = hly_join_hash(row), i = hash & t->mask;
  while (t->slots[i]) {
    if (t->slots[i] >> 48 == SALT(hash) && hly_join_same_key(t->rows, HLY_JOIN_ADDRESS(t->slots[i]), row))
      break;
    i = (i + 1) & t->mask;
  }
  push(&t->slots[i], SALT(hash), row);
}

// Without keys rows keep their order.
static void link_single(hly_join_table *t, const hly_row_store *store) {
  uint32_t block = 0, offset = 0, m;
  uint8_t *page[WALK], *last = NULL;
  while ((m = hly_row_store_scan(store, &block, &offset, page, WALK)) > 0) {
    for (uint32_t i = 0; i < m; i++) {
      hly_join_set_next(page[i], NULL);
      if (last)
        hly_join_set_next(last, page[i]);
      else
        t->single = page[i];
      last = page[i];
    }
  }
}

hly_status hly_join_table_build(hly_join_table *t, const hly_row_store *store, bool force) {
  hly_join_table_clear(t);
  if (t->rows->n_keys == 0) {
    link_single(t, store);
    return HLY_OK;
  }
  uint64_t range, n;
  t->direct = is_integer(t->rows) && find_range(t->rows, store, &t->least, &range, &n) &&
              (range < DIRECT_LEAST || range / 4 < n);
  if (t->direct) {
    HLY_TRY(need_slots(t, range + 1, force));
  } else {
    uint64_t n_slots = 64;
    while (n_slots * 5 < store->n_rows * 8) n_slots *= 2;
    HLY_TRY(need_slots(t, n_slots, force));
    t->mask = n_slots - 1;
  }
  uint32_t block = 0, offset = 0, m;
  uint8_t *page[WALK];
  for (uint64_t done = 0; (m = hly_row_store_scan(store, &block, &offset, page, WALK)) > 0; done += m) {
    if (!t->direct && t->mask >= BIG_TABLE)
      for (uint32_t i = 0; i < m; i++) __builtin_prefetch(&t->slots[hly_join_hash(page[i]) & t->mask], 1);
    for (uint32_t i = 0; i < m; i++) {
      hly_join_set_next(page[i], NULL);
      if (hly_join_null_key(t->rows, page[i])) continue;
      if (t->direct)
        push(&t->slots[(uint64_t)key_of(t->rows, page[i]) - (uint64_t)t->least], 0, page[i]);
      else
        link_hashed(t, page[i]);
    }
    if (done % 65536 == 0) HLY_TRY(hly_ctx_poll(t->ctx));
  }
  return HLY_OK;
}

// ---- Finding.

#define FIND_DIRECT(T)                                                                                       \
  static void find_##T(const hly_join_table *t, const T *values, const uint32_t *at, uint32_t n,             \
                       uint8_t **heads) {                                                                    \
    const uint64_t *slots = t->slots;                                                                        \
    uint64_t least = (uint64_t)t->least, n_slots = t->n_slots;                                               \
    for (uint32_t i = 0; i < n; i++) {                                                                       \
      uint64_t k = (uint64_t)(int64_t)values[at ? at[i] : i] - least;                                        \
      heads[i] = k < n_slots ? (uint8_t *)(uintptr_t)slots[k] : NULL;                                        \
    }                                                                                                        \
  }
FIND_DIRECT(int8_t)
FIND_DIRECT(int16_t)
FIND_DIRECT(int32_t)
FIND_DIRECT(int64_t)

static void find_direct(const hly_join_table *t, hly_join_scratch *scratch, const hly_vector *v,
                        const uint32_t *sel, uint32_t from, uint32_t n, uint8_t **heads) {
  if (v->encoding == HLY_DICT && v->dict->n_rows == 0) { // every row is null
    memset(heads, 0, n * sizeof *heads);
    return;
  }
  const uint32_t *at = hly_vector_positions(v, sel, from, n, scratch->positions);
  const uint8_t *values = hly_vector_base(v);
  uint32_t size = t->rows->keys.fields[0].size;
  if (!at) values += (size_t)from * size;
  switch (size) {
  case 1: find_int8_t(t, (const int8_t *)values, at, n, heads); break;
  case 2: find_int16_t(t, (const int16_t *)(const void *)values, at, n, heads); break;
  case 4: find_int32_t(t, (const int32_t *)(const void *)values, at, n, heads); break;
  default: find_int64_t(t, (const int64_t *)(const void *)values, at, n, heads); break;
  }
  if (!v->validity) return;
  for (uint32_t i = 0; i < n; i++)
    if (hly_vector_is_null(v, sel ? sel[from + i] : from + i)) heads[i] = NULL;
}

static inline uint8_t *find_hashed(const hly_join_table *t, const uint8_t *key) {
  uint64_t hash = hly_join_hash(key);
  for (uint64_t i = hash & t->mask; t->slots[i]; i = (i + 1) & t->mask) {
    if (t->slots[i] >> 48 != SALT(hash)) continue;
    uint8_t *row = HLY_JOIN_ADDRESS(t->slots[i]);
    if (hly_join_same_key(t->rows, row, key)) return row;
  }
  return NULL;
}

hly_status hly_join_table_find(hly_join_table *t, hly_join_scratch *scratch, hly_vector *const *keys,
                               const hly_batch *batch, uint32_t n, uint8_t **heads) {
  const hly_join_rows *rows = t->rows;
  const uint32_t *sel = batch->sel;
  if (rows->n_keys == 0) {
    for (uint32_t i = 0; i < n; i++) heads[i] = t->single;
    return HLY_OK;
  }
  HLY_TRY(hly_join_keys_begin(rows, t->ctx, scratch, keys, batch, n));
  size_t stride = rows->keys.prefix_bytes;
  for (uint32_t from = 0; from < n; from += HLY_JOIN_CHUNK) {
    uint32_t m = n - from < HLY_JOIN_CHUNK ? n - from : HLY_JOIN_CHUNK;
    if (t->direct) {
      find_direct(t, scratch, keys[0], sel, from, m, heads + from);
      if (t->reads_rows && t->n_slots >= BIG_TABLE)
        for (uint32_t i = from; i < from + m; i++) __builtin_prefetch(heads[i]);
      continue;
    }
    hly_join_rows_keys(rows, scratch, keys, sel, from, m, t->probe);
    // First all slots, then all rows, so that their misses overlap.
    if (t->mask >= BIG_TABLE) {
      for (uint32_t i = 0; i < m; i++)
        __builtin_prefetch(&t->slots[hly_join_hash(t->probe + i * stride) & t->mask]);
      for (uint32_t i = 0; i < m; i++) {
        uint64_t hash = hly_join_hash(t->probe + i * stride), slot = t->slots[hash & t->mask];
        if (slot >> 48 == SALT(hash)) __builtin_prefetch(HLY_JOIN_ADDRESS(slot));
      }
    }
    for (uint32_t i = 0; i < m; i++) {
      const uint8_t *key = t->probe + i * stride;
      heads[from + i] = hly_join_null_key(rows, key) ? NULL : find_hashed(t, key);
    }
  }
  return HLY_OK;
}
