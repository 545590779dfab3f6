#include "operators/key_filter.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
  PAGE = 64,
  MAX_BYTES = 4 << 20,     // of a set
  SMALL_BYTES = 64 << 10,  // that is never refused
  EXACT_BYTES = 256 << 10, // a bit a value is taken up to this whatever the number of keys
  EXACT_BITS = 32,         // and beyond it up to these bits a key
  BLOCKED_BITS = 16,       // a key
  BLOCKED_LEAST = 6,       // a key: with fewer it would let too much pass
};

void hly_key_scratch_deinit(hly_key_scratch *s) {
  hly_free(s->values);
  s->values = NULL;
  s->cap_values = 0;
}

bool hly_key_filter_takes(const hly_type *type) {
  return type->phys >= HLY_PHYS_BOOL && type->phys <= HLY_PHYS_STR && !type->collation;
}

hly_status hly_key_filter_bind(hly_ctx *ctx, hly_arena *arena, const hly_join_rows *rows,
                               const uint32_t *keys, uint32_t n, hly_key_filter **out) {
  hly_key_filter *f = HLY_ARENA_NEW(arena, hly_key_filter);
  HLY_CHECK_MEM(ctx, f, sizeof *f);
  f->n_keys = n;
  f->keys = HLY_ARENA_NEW_N(arena, uint32_t, n);
  f->types = HLY_ARENA_NEW_N(arena, const hly_type *, n);
  if (!f->keys || !f->types) return hly_ctx_nomem(ctx, n * sizeof *f->types);
  for (uint32_t k = 0; k < n; k++) {
    f->keys[k] = keys[k];
    f->types[k] = rows->key_types[keys[k]];
  }
  *out = f;
  return HLY_OK;
}

// ---- hashes: of one key after the other, over the rows

static inline uint64_t mix(uint64_t h, uint64_t v) {
  hly_u128 product = (hly_u128)(h ^ v ^ 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t mix_str(uint64_t h, const hly_str *s) {
  uint64_t words[2];
  if (s->len > HLY_STR_INLINE) return mix(h, hly_hash64_bytes(s->u.out.ptr, s->len, s->len));
  memcpy(words, s, sizeof words);
  return mix(mix(h, words[0]), words[1]);
}

static inline uint64_t mix_wide(uint64_t h, const uint8_t *p) {
  uint64_t words[2];
  memcpy(words, p, sizeof words);
  return mix(mix(h, words[0]), words[1]);
}

static inline uint64_t load_u32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline uint64_t load_u64(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

// h[i] = mix(h[i], VALUE) where p is at the i-th value of SIZE bytes.
#define MIX_ALL(SIZE, MIX)                                                                                   \
  do {                                                                                                       \
    for (uint32_t i = 0; i < n; i++) {                                                                       \
      const uint8_t *p = values + (size_t)(at ? at[i] : i) * (SIZE);                                         \
      h[i] = MIX;                                                                                            \
    }                                                                                                        \
  } while (0)

static void mix_values(hly_phys phys, const uint8_t *values, const uint32_t *at, uint32_t n, uint64_t *h) {
  switch (phys) {
  case HLY_PHYS_BOOL:
  case HLY_PHYS_I8: MIX_ALL(1, mix(h[i], *p)); break;
  case HLY_PHYS_I16: MIX_ALL(2, mix(h[i], (uint64_t)p[0] | (uint64_t)p[1] << 8)); break;
  case HLY_PHYS_I32:
  case HLY_PHYS_F32: MIX_ALL(4, mix(h[i], load_u32(p))); break;
  case HLY_PHYS_I64:
  case HLY_PHYS_F64: MIX_ALL(8, mix(h[i], load_u64(p))); break;
  case HLY_PHYS_I128: MIX_ALL(16, mix_wide(h[i], p)); break;
  default: MIX_ALL(16, mix_str(h[i], (const hly_str *)(const void *)p)); break;
  }
}

// Bits of a hash in its word, which its upper bits choose.
static inline uint64_t bits_of(uint64_t h) {
  return 1ull << (h & 63) | 1ull << (h >> 6 & 63) | 1ull << (h >> 12 & 63) | 1ull << (h >> 18 & 63);
}

// ---- filling

// What a set is made of.
typedef struct source {
  const hly_join_rows *rows;
  const uint32_t *which; // keys
  const hly_row_store *store;
} source;

static const hly_row_field *field_of(const source *from, uint32_t k) {
  return &from->rows->keys.fields[from->which[k]];
}

// Next rows that can match; 0 at the end.
static uint32_t next_rows(const source *from, uint32_t *block, uint32_t *offset, uint8_t **page, bool *more) {
  uint32_t n = hly_row_store_scan(from->store, block, offset, page, PAGE), kept = 0;
  *more = n > 0;
  for (uint32_t i = 0; i < n; i++)
    if (!hly_join_null_key(from->rows, page[i])) page[kept++] = page[i];
  return kept;
}

static int compare(hly_phys phys, const hly_pq_value *a, const hly_pq_value *b) {
  switch (phys) {
  case HLY_PHYS_F32:
  case HLY_PHYS_F64: return (a->f > b->f) - (a->f < b->f);
  case HLY_PHYS_STR: return hly_str_compare(&a->s, &b->s);
  default: return (a->i > b->i) - (a->i < b->i);
  }
}

static void widen_integers(hly_key_bounds *b, const hly_row_field *field, uint8_t *const *page, uint32_t n) {
  int64_t lo = b->has_min ? (int64_t)b->min.i : INT64_MAX, hi = b->has_max ? (int64_t)b->max.i : INT64_MIN;
  for (uint32_t i = 0; i < n; i++) {
    int64_t v = hly_join_load_integer(page[i], field);
    lo = v < lo ? v : lo;
    hi = v > hi ? v : hi;
  }
  b->min.i = lo;
  b->max.i = hi;
  b->has_min = b->has_max = true;
}

// *nan: a float that is in no order was seen.
static void widen(hly_key_bounds *b, const hly_row_field *field, uint8_t *const *page, uint32_t n,
                  bool *nan) {
  hly_phys phys = field->type->phys;
  if (n == 0) return;
  if (hly_join_is_integer(field->type)) {
    widen_integers(b, field, page, n);
    return;
  }
  for (uint32_t i = 0; i < n; i++) {
    hly_pq_value v = hly_pq_value_load(phys, page[i] + field->offset);
    if ((phys == HLY_PHYS_F32 || phys == HLY_PHYS_F64) && isnan(v.f)) {
      *nan = true;
      continue;
    }
    if (!b->has_min || compare(phys, &v, &b->min) < 0) b->min = v;
    if (!b->has_max || compare(phys, &v, &b->max) > 0) b->max = v;
    b->has_min = b->has_max = true;
  }
}

// Reserves what cannot be refused.
static void pay(hly_key_set *s, int64_t n_bytes) {
  hly_reservation_force(s->reservation, n_bytes);
  s->n_bytes += n_bytes;
}

static hly_status own_bytes(hly_key_set *set, hly_ctx *ctx, hly_str *s, uint8_t **own) {
  if (s->len <= HLY_STR_INLINE) return HLY_OK;
  uint8_t *copy = hly_malloc(s->len);
  HLY_CHECK_MEM(ctx, copy, s->len);
  pay(set, s->len);
  memcpy(copy, s->u.out.ptr, s->len);
  *s = hly_str_make(copy, s->len);
  *own = copy;
  return HLY_OK;
}

static hly_status find_bounds(hly_key_set *s, hly_ctx *ctx, const source *from, uint64_t *n_rows) {
  uint32_t block = 0, offset = 0;
  uint8_t *page[PAGE];
  bool more = true, nan = false;
  *n_rows = 0;
  for (uint64_t pages = 0; more; pages++) {
    uint32_t n = next_rows(from, &block, &offset, page, &more);
    *n_rows += n;
    for (uint32_t k = 0; k < s->n_keys; k++) widen(&s->bounds[k], field_of(from, k), page, n, &nan);
    if (pages % 1024 == 1023) HLY_TRY(hly_ctx_poll(ctx));
  }
  for (uint32_t k = 0; k < s->n_keys; k++) {
    hly_key_bounds *b = &s->bounds[k];
    hly_phys phys = field_of(from, k)->type->phys;
    if (nan && (phys == HLY_PHYS_F32 || phys == HLY_PHYS_F64)) b->has_min = b->has_max = false;
    if (phys != HLY_PHYS_STR || !b->has_min) continue;
    HLY_TRY(own_bytes(s, ctx, &b->min.s, &b->own[0]));
    HLY_TRY(own_bytes(s, ctx, &b->max.s, &b->own[1]));
  }
  return HLY_OK;
}

static hly_status need_words(hly_key_set *s, hly_ctx *ctx, uint64_t n) {
  int64_t n_bytes = (int64_t)(n * 8);
  if (n_bytes > SMALL_BYTES) {
    HLY_TRY(hly_reservation_grow(s->reservation, n_bytes));
    s->n_bytes += n_bytes;
  } else {
    pay(s, n_bytes);
  }
  s->words = hly_calloc(n, 8);
  HLY_CHECK_MEM(ctx, s->words, n_bytes);
  s->n_words = n;
  return HLY_OK;
}

static bool fits_exact(const hly_key_set *s, const source *from, uint64_t n_rows, uint64_t *n_words) {
  if (s->n_keys != 1 || !hly_join_is_integer(field_of(from, 0)->type)) return false;
  uint64_t range = (uint64_t)s->bounds[0].max.i - (uint64_t)s->bounds[0].min.i;
  *n_words = range / 64 + 1;
  if (range / 8 < EXACT_BYTES) return true;
  return range / EXACT_BITS < n_rows && range / 8 < MAX_BYTES;
}

static bool fits_blocked(uint64_t n_rows, uint64_t *n_words) {
  uint64_t n = 16;
  while (n * 64 < n_rows * BLOCKED_BITS && n * 8 < MAX_BYTES) n *= 2;
  *n_words = n;
  return n * 64 >= n_rows * BLOCKED_LEAST;
}

static void add_rows(hly_key_set *s, const source *from, uint8_t *const *page, uint32_t n) {
  if (s->exact) {
    const hly_row_field *field = field_of(from, 0);
    for (uint32_t i = 0; i < n; i++) {
      uint64_t bit = (uint64_t)hly_join_load_integer(page[i], field) - (uint64_t)s->least;
      s->words[bit >> 6] |= 1ull << (bit & 63);
    }
    return;
  }
  for (uint32_t i = 0; i < n; i++) {
    uint64_t h = 0;
    for (uint32_t k = 0; k < s->n_keys; k++) {
      const hly_row_field *field = field_of(from, k);
      mix_values(field->type->phys, page[i] + field->offset, NULL, 1, &h);
    }
    s->words[h >> s->shift] |= bits_of(h);
  }
}

static hly_status add_all(hly_key_set *s, hly_ctx *ctx, const source *from, uint64_t n_rows) {
  uint64_t n_words;
  s->exact = fits_exact(s, from, n_rows, &n_words);
  if (!s->exact && !fits_blocked(n_rows, &n_words)) return HLY_OK;
  hly_status st = need_words(s, ctx, n_words);
  if (st == HLY_DENIED) return HLY_OK;
  HLY_TRY(st);
  if (s->exact) {
    s->least = (int64_t)s->bounds[0].min.i;
    s->range = (uint64_t)s->bounds[0].max.i - (uint64_t)s->least;
  } else {
    s->shift = 64 - (uint32_t)__builtin_ctzll(n_words);
  }
  uint32_t block = 0, offset = 0;
  uint8_t *page[PAGE];
  bool more = true;
  for (uint64_t pages = 0; more; pages++) {
    uint32_t n = next_rows(from, &block, &offset, page, &more);
    add_rows(s, from, page, n);
    if (pages % 1024 == 1023) HLY_TRY(hly_ctx_poll(ctx));
  }
  return HLY_OK;
}

static hly_status fill(hly_key_set *s, hly_ctx *ctx, const source *from, uint32_t n_keys) {
  uint64_t n_rows;
  s->bounds = hly_calloc(n_keys, sizeof *s->bounds);
  HLY_CHECK_MEM(ctx, s->bounds, n_keys * sizeof *s->bounds);
  s->n_keys = n_keys;
  HLY_TRY(find_bounds(s, ctx, from, &n_rows));
  s->empty = n_rows == 0;
  return s->empty ? HLY_OK : add_all(s, ctx, from, n_rows);
}

hly_status hly_key_set_build(hly_key_set *out, hly_ctx *ctx, const hly_join_rows *rows, const uint32_t *which,
                             uint32_t n, const hly_row_store *store, hly_reservation *reservation) {
  *out = (hly_key_set){.reservation = reservation};
  hly_status st = fill(out, ctx, &(source){rows, which, store}, n);
  if (st != HLY_OK) hly_key_set_clear(out);
  return st;
}

void hly_key_set_clear(hly_key_set *s) {
  for (uint32_t k = 0; k < s->n_keys; k++) {
    hly_free(s->bounds[k].own[0]);
    hly_free(s->bounds[k].own[1]);
  }
  hly_free(s->bounds);
  hly_free(s->words);
  if (s->n_bytes) hly_reservation_shrink(s->reservation, s->n_bytes);
  *s = (hly_key_set){0};
}

hly_status hly_key_filter_build(hly_key_filter *f, hly_ctx *ctx, const hly_join_rows *rows,
                                const hly_row_store *store, hly_reservation *reservation) {
  hly_key_filter_clear(f);
  HLY_TRY(hly_key_set_build(&f->own, ctx, rows, f->keys, f->n_keys, store, reservation));
  f->set = &f->own;
  return HLY_OK;
}

void hly_key_filter_clear(hly_key_filter *f) {
  f->set = NULL;
  hly_key_set_clear(&f->own);
}

// ---- testing

#define TEST_EXACT(T)                                                                                        \
  static uint32_t test_##T(const hly_key_filter *f, const T *values, const uint32_t *at,                     \
                           const uint32_t *sel, uint32_t from, uint32_t n, uint32_t *out) {                  \
    const uint64_t *words = f->set->words;                                                                   \
    uint64_t least = (uint64_t)f->set->least, range = f->set->range;                                         \
    uint32_t m = 0;                                                                                          \
    for (uint32_t i = 0; i < n; i++) {                                                                       \
      uint64_t k = (uint64_t)(int64_t)values[at ? at[i] : i] - least;                                        \
      uint64_t in = k <= range ? k : 0;                                                                      \
      out[m] = sel ? sel[from + i] : from + i;                                                               \
      m += (k <= range) & (words[in >> 6] >> (in & 63) & 1);                                                 \
    }                                                                                                        \
    return m;                                                                                                \
  }
TEST_EXACT(int8_t)
TEST_EXACT(int16_t)
TEST_EXACT(int32_t)
TEST_EXACT(int64_t)

static uint32_t test_exact(const hly_key_filter *f, hly_key_scratch *s, const hly_vector *v,
                           const uint32_t *sel, uint32_t from, uint32_t n, uint32_t *out) {
  const uint32_t *at = hly_vector_positions(v, sel, from, n, s->positions);
  const uint8_t *values = hly_vector_base(v);
  uint32_t size = hly_phys_size[f->types[0]->phys];
  if (!at) values += (size_t)from * size;
  switch (size) {
  case 1: return test_int8_t(f, (const int8_t *)values, at, sel, from, n, out);
  case 2: return test_int16_t(f, (const int16_t *)(const void *)values, at, sel, from, n, out);
  case 4: return test_int32_t(f, (const int32_t *)(const void *)values, at, sel, from, n, out);
  default: return test_int64_t(f, (const int64_t *)(const void *)values, at, sel, from, n, out);
  }
}

// Strings of a dictionary are hashed once a batch where that is less work than hashing those of the rows.
static hly_status hash_dictionary(hly_ctx *ctx, hly_key_scratch *s, const hly_vector *dict) {
  if (s->cap_values < dict->n_rows) {
    uint64_t *values = hly_malloc((size_t)dict->n_rows * sizeof *values);
    HLY_CHECK_MEM(ctx, values, (size_t)dict->n_rows * sizeof *values);
    hly_free(s->values);
    s->values = values;
    s->cap_values = dict->n_rows;
  }
  memset(s->values, 0, (size_t)dict->n_rows * sizeof *s->values);
  mix_values(dict->type->phys, dict->values, NULL, dict->n_rows, s->values);
  return HLY_OK;
}

static uint32_t test_blocked(const hly_key_filter *f, hly_key_scratch *s, hly_vector *const *keys,
                             bool by_dictionary, const uint32_t *sel, uint32_t from, uint32_t n,
                             uint32_t *out) {
  uint64_t *h = s->hashes;
  uint32_t m = 0;
  if (by_dictionary) {
    const uint32_t *at = hly_vector_positions(keys[0], sel, from, n, s->positions);
    for (uint32_t i = 0; i < n; i++) h[i] = s->values[at ? at[i] : from + i];
  } else {
    memset(h, 0, n * sizeof *h);
    for (uint32_t k = 0; k < f->n_keys; k++) {
      const uint32_t *at = hly_vector_positions(keys[k], sel, from, n, s->positions);
      const uint8_t *values = hly_vector_base(keys[k]);
      hly_phys phys = f->types[k]->phys;
      if (!at) values += (size_t)from * hly_phys_size[phys];
      mix_values(phys, values, at, n, h);
    }
  }
  const uint64_t *words = f->set->words;
  uint32_t shift = f->set->shift;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t bits = bits_of(h[i]);
    out[m] = sel ? sel[from + i] : from + i;
    m += (words[h[i] >> shift] & bits) == bits;
  }
  return m;
}

// Rows of `out` whose keys are not null.
static uint32_t drop_nulls(const hly_key_filter *f, hly_vector *const *keys, uint32_t *out, uint32_t n) {
  for (uint32_t k = 0; k < f->n_keys && n > 0; k++) {
    if (!keys[k]->validity) continue;
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
      uint32_t row = out[i];
      out[m] = row;
      m += !hly_vector_is_null(keys[k], row);
    }
    n = m;
  }
  return n;
}

hly_status hly_key_filter_test(const hly_key_filter *f, hly_ctx *ctx, hly_key_scratch *s,
                               hly_vector *const *keys, const uint32_t *sel, uint32_t n, uint32_t *out,
                               uint32_t *n_out) {
  *n_out = 0;
  if (f->set->empty) return HLY_OK;
  for (uint32_t k = 0; k < f->n_keys; k++)
    if (keys[k]->encoding == HLY_DICT && keys[k]->dict->n_rows == 0) return HLY_OK; // every row is null
  const hly_vector *first = keys[0];
  bool by_dictionary = !f->set->exact && f->n_keys == 1 && first->encoding == HLY_DICT &&
                       first->type->phys == HLY_PHYS_STR && first->dict->n_rows < n;
  if (by_dictionary) HLY_TRY(hash_dictionary(ctx, s, first->dict));
  uint32_t total = 0;
  for (uint32_t from = 0; from < n; from += HLY_KEY_CHUNK) {
    uint32_t m = n - from < HLY_KEY_CHUNK ? n - from : HLY_KEY_CHUNK, passed;
    if (f->set->exact)
      passed = test_exact(f, s, first, sel, from, m, out + total);
    else
      passed = test_blocked(f, s, keys, by_dictionary, sel, from, m, out + total);
    total += drop_nulls(f, keys, out + total, passed);
  }
  *n_out = total;
  return HLY_OK;
}

bool hly_key_filter_rules_out(const hly_key_filter *f, uint32_t k, const hly_pq_bounds *b) {
  const hly_key_set *s = f->set;
  if (!s) return false;
  if (s->empty || hly_pq_bounds_all_null(b)) return true;
  const hly_key_bounds *own = &s->bounds[k];
  hly_phys phys = f->types[k]->phys;
  if (own->has_min && b->has_max && compare(phys, &b->max, &own->min) < 0) return true;
  if (own->has_max && b->has_min && compare(phys, &b->min, &own->max) > 0) return true;
  if (!s->exact || !s->words || !b->has_min || !b->has_max) return false;
  // They overlap; between them there may still be no key.
  uint64_t lo = b->min.i < own->min.i ? 0 : (uint64_t)b->min.i - (uint64_t)s->least;
  uint64_t hi = b->max.i > own->max.i ? s->range : (uint64_t)b->max.i - (uint64_t)s->least;
  for (uint64_t w = lo >> 6; w <= hi >> 6; w++) {
    uint64_t bits = s->words[w];
    if (w == lo >> 6) bits &= ~0ull << (lo & 63);
    if (w == hi >> 6) bits &= ~0ull >> (63 - (hi & 63));
    if (bits) return false;
  }
  return true;
}
