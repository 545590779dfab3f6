// Key filter: what the build side of a hash join knows about its keys, for rows of the other side that have
// yet to reach it: bounds of each key, and a set. It never says no to a key that is there.
//
//   exact     one integer key of a range that is not too wide for its number of keys: a bit a value
//   blocked   else a Bloom filter whose bits for one row lie in one 64-bit word
//
// A set is filled once and then only read, by one task or by all tasks that share the build side
// (broadcast_table.h). It holds copies only: the rows it was made of may go.
#ifndef HLY_OPERATORS_KEY_FILTER_H
#define HLY_OPERATORS_KEY_FILTER_H

#include "operators/join_rows.h"
#include "parquet/statistics.h"

typedef struct hly_key_bounds {
  hly_pq_value min, max;
  bool has_min, has_max; // of floats none where a NaN is among them
  uint8_t *own[2];       // bytes of long strings
} hly_key_bounds;

// What is known of some keys of a build side.
typedef struct hly_key_set {
  uint32_t n_keys;
  bool empty; // no row can match
  bool exact;
  hly_key_bounds *bounds; // one a key
  uint64_t *words;        // NULL: bounds only
  uint64_t n_words;
  int64_t least; // exact: the value of the first bit
  uint64_t range;
  uint32_t shift;               // blocked: from a hash to its word
  hly_reservation *reservation; // pays for it
  int64_t n_bytes;              // so much
} hly_key_set;

// Fills *out from all rows of the store whose keys are not null, of the keys `which[0..n)` of its rows. The
// reservation pays for it until hly_key_set_clear; where the pool refuses it, or the keys are very many, only
// bounds are kept. On failure *out is empty and nothing is reserved.
HLY_MUST_CHECK hly_status hly_key_set_build(hly_key_set *out, hly_ctx *ctx, const hly_join_rows *rows,
                                            const uint32_t *which, uint32_t n, const hly_row_store *store,
                                            hly_reservation *reservation);
void hly_key_set_clear(hly_key_set *s); // frees what build made; any number of times

// A join's filter by some of its keys.
typedef struct hly_key_filter {
  struct hly_key_filter *next; // of the same join
  uint32_t n_keys;
  uint32_t *keys; // which of the join's
  const hly_type **types;
  // a run
  const hly_key_set *set; // NULL: it lets everything pass
  hly_key_set own;        // where the build side is this task's alone
} hly_key_filter;

enum { HLY_KEY_CHUNK = 1024 };
// Scratch of a user.
typedef struct hly_key_scratch {
  uint32_t positions[HLY_KEY_CHUNK];
  uint64_t hashes[HLY_KEY_CHUNK];
  uint64_t *values; // hashes of a dictionary's; NULL: none yet
  uint32_t cap_values;
} hly_key_scratch;
void hly_key_scratch_deinit(hly_key_scratch *s);

// Whether keys of the type can be told apart: all but nested ones.
bool hly_key_filter_takes(const hly_type *type);
// A filter of the keys `keys[0..n)` (copied) of the join's rows, in the arena.
HLY_MUST_CHECK hly_status hly_key_filter_bind(hly_ctx *ctx, hly_arena *arena, const hly_join_rows *rows,
                                              const uint32_t *keys, uint32_t n, hly_key_filter **out);
// Fills a set of its own, as hly_key_set_build.
HLY_MUST_CHECK hly_status hly_key_filter_build(hly_key_filter *f, hly_ctx *ctx, const hly_join_rows *rows,
                                               const hly_row_store *store, hly_reservation *reservation);
// Frees a set of its own; lets everything pass from here on. Any number of times.
void hly_key_filter_clear(hly_key_filter *f);
// Whether looking at rows can drop any.
static inline bool hly_key_filter_tests_rows(const hly_key_filter *f) {
  return f->set && (f->set->empty || f->set->words);
}
// Writes those of the n selected rows (sel NULL: the first n) that may match to `out`; `keys` in its order.
HLY_MUST_CHECK hly_status hly_key_filter_test(const hly_key_filter *f, hly_ctx *ctx, hly_key_scratch *s,
                                              hly_vector *const *keys, const uint32_t *sel, uint32_t n,
                                              uint32_t *out, uint32_t *n_out);
// Whether no row of a row group can match by key k, whose column has these bounds.
bool hly_key_filter_rules_out(const hly_key_filter *f, uint32_t k, const hly_pq_bounds *b);

#endif
