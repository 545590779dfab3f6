// Aggregate functions. A call keeps its state of a group in the tail of the group's row (rows/row_layout.h);
// functions work on columns and on arrays of group rows, never on one row at a time.
//
// What leaves and enters as a partial result is Spark's own aggregation buffer (aggBufferAttributes), so that
// a partial and a final aggregate of different engines mix. The state may hold more than the buffer says.
#ifndef HLY_AGGREGATES_AGGREGATE_H
#define HLY_AGGREGATES_AGGREGATE_H

#include "plan/binder.h"
#include "rows/row_store.h"

typedef struct hly_agg hly_agg;

// Where states put variable-length bytes.
typedef struct hly_agg_env {
  hly_ctx *ctx;
  hly_row_store *store;
  bool over; // the pool refused and memory was taken anyway: the owner makes room after this batch
} hly_agg_env;

typedef struct hly_agg_column {
  const hly_vector *vector;
  const void *values;
  const uint32_t *pos; // row i's value is values[pos[i]]; NULL: values[i]
} hly_agg_column;

// Rows of a batch and the groups they belong to.
typedef struct hly_agg_rows {
  uint32_t n;
  const uint32_t *row; // number in the batch, for validity; NULL: first_row + i
  uint32_t first_row;
  uint8_t *const *groups; // NULL: all belong to `one`
  uint8_t *one;
} hly_agg_rows;

enum { HLY_AGG_MAX_BUFFERS = 2 };

struct hly_agg {
  const char *cls;
  Halley__AggMode mode;
  bool merges;   // the inputs are buffers, not arguments
  bool is_final; // gives results, not buffers
  bool grouped;  // there are grouping keys
  uint32_t n_inputs;
  const hly_type **input_types;
  uint32_t n_buffers;
  const hly_type *buffer_types[HLY_AGG_MAX_BUFFERS];
  const hly_type *type; // of the result
  int64_t site;         // of the message: goes into errors that Spark raises with a place in the query
  // Set by the bind function.
  uint32_t state_bytes;
  bool has_view;   // a view (vector/str.h) at the start of the state
  bool shareable;  // calls of one column with the same `update` and buffer type may keep one state
  bool keep_nulls; // sees rows with null inputs; else they are removed before `update`
  enum { HLY_AGG_LEGACY, HLY_AGG_ANSI, HLY_AGG_TRY } eval_mode;
  bool rounds; // the result depends on how rows are grouped into partial results (floating-point sums)
  int8_t sign; // Min -1, Max 1
  const void *settings; // of the function's own, from constant arguments
  // Set by the operator.
  uint32_t offset; // of the state in a row

  // A state is zero for a group without rows.
  // Takes rows in: arguments, or buffers when `merges`.
  hly_status (*update)(const hly_agg *a, hly_agg_env *env, const hly_agg_column *in,
                       const hly_agg_rows *rows);
  // Adds the states of rows from[i] to those of rows to[i], in order.
  hly_status (*combine)(const hly_agg *a, hly_agg_env *env, uint8_t *const *to, uint8_t *const *from,
                        uint32_t n);
  // For a row read back from a spill file: moves what its view points to into the store. NULL: has no view.
  hly_status (*adopt)(const hly_agg *a, hly_agg_env *env, uint8_t *row);
  // Writes buffers, or the result when `is_final`. *n_good (n before): rows before the first that raises; the
  // error is recorded only when that is the first row.
  hly_status (*emit)(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n, hly_vector *const *out,
                     uint32_t *n_good);
};

// Binds a call; the result lives in the binder's arena. HLY_REFUSED with reasons in the binder.
HLY_MUST_CHECK hly_status hly_agg_bind(hly_binder *b, const Halley__AggCall *call, bool grouped,
                                       hly_agg **out);
static inline uint32_t hly_agg_n_outputs(const hly_agg *a) {
  return a->is_final ? 1 : a->n_buffers;
}
static inline const hly_type *hly_agg_output_type(const hly_agg *a, uint32_t i) {
  return a->is_final ? a->type : a->buffer_types[i];
}

// Scratch for hly_agg_apply, for up to `capacity` rows.
typedef struct hly_agg_scratch {
  uint32_t capacity;
  uint32_t *rows;
  uint8_t **groups;
  uint32_t *pos[HLY_AGG_MAX_BUFFERS];
} hly_agg_scratch;
HLY_MUST_CHECK hly_status hly_agg_scratch_need(hly_ctx *ctx, hly_agg_scratch *s, uint32_t n);
void hly_agg_scratch_deinit(hly_agg_scratch *s);

// Takes n rows of the columns in: rows sel[from..], or from.. when sel is NULL; groups[i] (or `one` when
// groups is NULL) is the group of the i-th of them. Rows with null inputs are removed and encodings resolved
// here.
HLY_MUST_CHECK hly_status hly_agg_apply(const hly_agg *a, hly_agg_env *env, hly_agg_scratch *scratch,
                                        hly_vector *const *columns, const uint32_t *sel, uint32_t from,
                                        uint32_t n, uint8_t *const *groups, uint8_t *one);

// ---- For the functions.
#define AGG(cls, params, bind)                                                                               \
  HLY_MUST_CHECK hly_status bind(hly_binder *b, const Halley__AggCall *call, hly_agg *a);
#include "aggregates/aggregates.def"
#undef AGG

// 128-bit integers in states are aligned to 8 bytes only.
typedef __int128 hly_i128_state __attribute__((aligned(8)));

static inline bool hly_agg_is_null(const hly_agg_column *c, const hly_agg_rows *rows, uint32_t i) {
  return hly_vector_is_null(c->vector, rows->row ? rows->row[i] : rows->first_row + i);
}
// Element i of a column; valid when it is not null.
#define HLY_AGG_AT(T, column, i) (((const T *)(column)->values)[(column)->pos ? (column)->pos[i] : (i)])

// Runs the statement(s) for every row, with `v` its value of type T in the column and `s` its group's state
// of type S. One group's state is held in a local while the loop runs.
#define HLY_AGG_LOOP(T, S, a, column, rows, ...)                                                             \
  do {                                                                                                       \
    const T *x_ = (column)->values;                                                                          \
    const uint32_t *p_ = (column)->pos;                                                                      \
    const uint32_t n_ = (rows)->n;                                                                           \
    if ((rows)->groups) {                                                                                    \
      uint8_t *const *g_ = (rows)->groups;                                                                   \
      const uint32_t o_ = (a)->offset;                                                                       \
      if (p_)                                                                                                \
        for (uint32_t i_ = 0; i_ < n_; i_++) {                                                               \
          const T v = x_[p_[i_]];                                                                            \
          S *s = (S *)(void *)(g_[i_] + o_);                                                                 \
          __VA_ARGS__                                                                                        \
        }                                                                                                    \
      else                                                                                                   \
        for (uint32_t i_ = 0; i_ < n_; i_++) {                                                               \
          const T v = x_[i_];                                                                                \
          S *s = (S *)(void *)(g_[i_] + o_);                                                                 \
          __VA_ARGS__                                                                                        \
        }                                                                                                    \
    } else {                                                                                                 \
      S *one_ = (S *)(void *)((rows)->one + (a)->offset), local_ = *one_, *s = &local_;                      \
      if (p_)                                                                                                \
        for (uint32_t i_ = 0; i_ < n_; i_++) {                                                               \
          const T v = x_[p_[i_]];                                                                            \
          __VA_ARGS__                                                                                        \
        }                                                                                                    \
      else                                                                                                   \
        for (uint32_t i_ = 0; i_ < n_; i_++) {                                                               \
          const T v = x_[i_];                                                                                \
          __VA_ARGS__                                                                                        \
        }                                                                                                    \
      *one_ = local_;                                                                                        \
    }                                                                                                        \
  } while (0)

// State of row i in a kernel that does not use HLY_AGG_LOOP.
static inline uint8_t *hly_agg_state(const hly_agg *a, const hly_agg_rows *rows, uint32_t i) {
  return (rows->groups ? rows->groups[i] : rows->one) + a->offset;
}

// Errors as Spark raises them.
hly_status hly_agg_overflow(hly_ctx *ctx, int64_t site, const char *message, const char *suggestion);
// Makes `out` flat with n values; nulls[i] != 0 where null (NULL: none).
HLY_MUST_CHECK hly_status hly_agg_begin(hly_ctx *ctx, hly_vector *out, uint32_t n);
HLY_MUST_CHECK hly_status hly_agg_set_null(hly_ctx *ctx, hly_vector *out, uint32_t i); // and zeroes nothing
// The call's parameter as a string or boolean; `otherwise` when absent.
const char *hly_agg_param(const Halley__AggCall *call, const char *name, const char *otherwise);
bool hly_agg_param_bool(const Halley__AggCall *call, const char *name, bool otherwise);
// Reads "evalMode" or "evalContext.evalMode".
HLY_MUST_CHECK hly_status hly_agg_bind_eval_mode(hly_binder *b, const Halley__AggCall *call, hly_agg *a);
// Refuses with "<cls>: <what> has no native form".
hly_status hly_agg_refuse_type(hly_binder *b, const hly_agg *a, const hly_type *type);

#endif
