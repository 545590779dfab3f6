// Joiner: what hash, merge and nested loop joins share. Given a probe batch and, for each of its rows, the
// chain of kept rows with an equal key, it evaluates the condition on the pairs and gives output batches,
// never more rows than a batch holds, in the order of the probe's rows.
//
// An error in the condition ends the batch: the pairs before it are given, and since the joiner then stands
// at the failed pair, the next call raises. Semi, anti and existence joins look at a row's pairs only up to
// the first that passes, as Spark does: an error behind it is none.
//
// Those three give the rows of the left side. When that is the kept side, probe batches only mark kept rows,
// matched or failed, and what is marked so leaves its chain; the output is made of kept rows at the end,
// where a failed one raises in its turn.
#ifndef HLY_OPERATORS_JOINER_H
#define HLY_OPERATORS_JOINER_H

#include "operators/join_rows.h"
#include "operators/operator.h"
#include "operators/selection.h"

typedef enum hly_join_form {
  HLY_JOIN_PAIRS,     // left ++ right
  HLY_JOIN_SEMI,      // probe rows with a match
  HLY_JOIN_ANTI,      // without
  HLY_JOIN_EXISTENCE, // all probe rows, and whether they have one
} hly_join_form;

// Reads a piece of the chain that is not in memory, in place of the piece before: its first one or the next.
// *last: no other follows.
typedef hly_status (*hly_piece_fn)(void *arg, bool first, uint8_t **chain, bool *last);

typedef struct hly_joiner {
  hly_op *op;
  // bound
  hly_join_form form;
  bool kept_left;   // the kept rows are those of the left input
  bool probe_outer; // probe rows without a match are given with nulls
  bool kept_outer;  // matched kept rows are marked, so that the others can be given at the end
  bool gives_kept;  // semi, anti, existence: kept rows are marked, and are all that is given
  uint32_t n_left, n_probe, n_kept; // columns
  hly_join_rows kept;
  hly_exprs *condition; // NULL: none
  const uint32_t *refs; // columns of left ++ right that it reads
  uint32_t n_refs;
  uint8_t *null_row, *zero_row;
  // a run
  hly_arena *arena;
  hly_batch *own;   // output columns that are made here
  hly_batch *pairs; // of the condition; only refs are filled
  hly_vector **columns;
  hly_batch view;
  uint32_t *pair_at, *pair_row; // position among the selected rows, and row
  uint8_t **pair_kept;          // NULL: none
  uint32_t *real;               // pairs that are not padding
  uint32_t *passed;
  uint8_t **spread; // cap_spread
  uint32_t cap_spread;
  uint8_t *matched;  // semi, anti, existence: a byte a row of the range being judged
  hly_error failure; // gives_kept: of the first row that failed
  hly_selection chosen;
  // the probe batch
  const hly_batch *in; // NULL: none
  uint32_t n_in;       // of its selected rows that count
  uint8_t *const *heads;
  uint64_t row_bytes; // average of its rows
  uint32_t at;        // next row
  uint8_t *chain;     // next kept row of its pairs; NULL: the row is not begun, or `between`
  bool row_matched;
  // A chain that comes in pieces: the head that stands for it (NULL: none), and who reads it.
  const uint8_t *pieced;
  hly_piece_fn piece;
  void *piece_arg;
  bool last_piece, between; // pieces of the row at hand
} hly_joiner;

// Binds `kept` and the condition (NULL: none) for a join of op's two inputs. `kept_keys` NULL: no keys.
HLY_MUST_CHECK hly_status hly_joiner_bind(hly_binder *b, hly_joiner *j, hly_op *op, Halley__JoinType type,
                                          bool kept_left, const hly_exprs *kept_keys, uint32_t n_keys,
                                          const Halley__Expr *condition);
HLY_MUST_CHECK hly_status hly_joiner_open(hly_joiner *j, const Halley__TaskInput *task);
void hly_joiner_close(hly_joiner *j);

// Begins a probe batch: the first n of its selected rows, heads[i] the chain of the i-th. Both are borrowed
// until hly_joiner_next gives NULL.
void hly_joiner_begin(hly_joiner *j, const hly_batch *in, uint32_t n, uint8_t *const *heads);
static inline bool hly_joiner_busy(const hly_joiner *j) {
  return j->in != NULL;
}
// Next output batch of the probe batch; NULL: it is done.
HLY_MUST_CHECK hly_status hly_joiner_next(hly_joiner *j, hly_batch **out);
// Whether some pairs of a probe row were given and others were not.
static inline bool hly_joiner_in_row(const hly_joiner *j) {
  return j->in && j->chain && j->chain != j->heads[j->at];
}
// Leaves the probe batch, not in a row, and returns which of its selected rows is the first that is left.
static inline uint32_t hly_joiner_leave(hly_joiner *j) {
  j->in = NULL;
  return j->at;
}
// Whether a kept row is given when the probe side has ended.
static inline bool hly_joiner_gives(const hly_joiner *j, const uint8_t *row) {
  bool matched = hly_join_link(row) & HLY_JOIN_MATCHED;
  return j->form == HLY_JOIN_EXISTENCE || matched == (j->form == HLY_JOIN_SEMI);
}
// Gives n kept rows at the end: with nulls for the probe's columns, or with the flag of an existence join.
HLY_MUST_CHECK hly_status hly_joiner_give(hly_joiner *j, uint8_t *const *rows, uint32_t n, hly_batch **out);
// Raises what made a kept row fail.
hly_status hly_joiner_raise_failure(hly_joiner *j);
// How many of the n kept rows make up one batch: bounded in bytes, at least one.
uint32_t hly_joiner_fits(const hly_joiner *j, uint8_t *const *rows, uint32_t n);

#endif
