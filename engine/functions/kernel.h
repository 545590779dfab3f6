// The kernel ABI: what a function's implementation sees, and how it says what it is.
//
// A kernel computes one function over the rows of a batch. It never looks at encodings: an argument is an
// array with stride 1 (a value a row) or 0 (one value for all rows), and one validity byte a value. Null
// handling is data (hly_nulls), applied by the evaluator before the call. A kernel that cannot compute a row
// exactly as Spark does, because Spark would raise or because the form is not covered, *declines* it: Spark's
// own expression is then evaluated for just that row.
#ifndef HLY_FUNCTIONS_KERNEL_H
#define HLY_FUNCTIONS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"
#include "plan/binder.h"
#include "vector/vector.h"

// Rows to compute: all of 0..n-1 (sel NULL, n_sel == n), or the ascending rows sel[0..n_sel), each < n.
typedef struct hly_rows {
  uint32_t n;
  const uint32_t *sel;
  uint32_t n_sel;
} hly_rows;

typedef struct hly_arg {
  const hly_type *type;
  const void *data;     // C values by type->phys; row i is element i * stride. NULL for nested types: use vec
  const uint8_t *valid; // byte i * stride: 1 not null, 0 null; NULL: no nulls
  uint32_t stride;      // 1 or 0
  const hly_vector *vec; // where data lives: heaps to share, children of nested types
} hly_arg;

typedef struct hly_call {
  hly_ctx *ctx;
  const void *state; // what bind made
  const hly_arg *args;
  uint32_t n_args;
  hly_rows rows;
  const hly_type *type; // of the result
  void *out; // rows.n values by type->phys, to be written at the given rows (others may be written too)
  // STRICT: what the evaluator will use, read only, NULL when no argument has nulls.
  // MAY_ADD: never NULL, filled from the arguments; the kernel clears bytes of rows that become null.
  // CUSTOM: never NULL, undefined; the kernel writes 0 or 1 at every given row, or sets it to NULL: no nulls.
  uint8_t *valid;
  hly_vector *vec;    // flat, holds `out`; string kernels attach heaps to it
  uint32_t *declined; // rows given up, in the order of `rows`; room for all; NULL when the kernel may not
  uint32_t n_declined;
} hly_call;

typedef hly_status (*hly_kernel_fn)(hly_call *call);
// Predicates: writes the given rows at which the result is true (not null) to `out`, ascending; returns how
// many. `out` may be rows.sel itself. Only for kernels that neither fail nor decline; null rows are the
// kernel's business here (args[i].valid).
typedef uint32_t (*hly_select_fn)(const hly_call *call, uint32_t *out);

typedef enum hly_nulls {
  HLY_NULLS_STRICT,  // null when an argument is null, never otherwise; values at null rows are ignored
  HLY_NULLS_MAY_ADD, // null when an argument is null; may be null otherwise
  HLY_NULLS_CUSTOM,  // the kernel decides, and sees null arguments
} hly_nulls;

enum {
  HLY_KERNEL_MAY_DECLINE = 1,
  HLY_KERNEL_COSTLY = 2,      // more than a few ns a row: worth narrowing the rows for
  HLY_KERNEL_RIGHT_FIRST = 4, // Spark evaluates the last argument first (Divide and its kin)
};

// A chosen kernel: what binding a call gives.
typedef struct hly_kernel {
  hly_kernel_fn fn;
  hly_select_fn select; // NULL: none
  const void *state;    // in the plan's arena; one program, one thread: it may hold scratch space
  hly_nulls nulls;
  uint32_t flags;
} hly_kernel;

// A call as bind functions see it. Types have been checked against the registry row.
typedef struct hly_fn_call {
  const char *cls;
  const hly_type *type; // of the result, as the planner says
  bool nullable;
  uint32_t n_args;
  const hly_type *const *arg_types;
  const hly_literal *const *literals; // [i] NULL: argument i is not a constant, or not known yet
  const bool *arg_nullable;
  const Halley__Expr *expr; // parameters
  uint32_t cpu;             // hly_cpu_level(): index for tables of kernels
} hly_fn_call;

// Chooses the kernel. HLY_REFUSED through hly_bind_refuse when this combination is not native; the
// expression is then dispatched. `out->nulls` and flags are preset from the registry row.
typedef hly_status (*hly_fn_bind)(hly_binder *b, const hly_fn_call *call, hly_kernel *out);

// ---- Parameters of the message. Every parameter it carries is declared by the row (checked before).
const Halley__Param *hly_fn_param(const hly_fn_call *call, const char *name); // NULL: absent
bool hly_fn_param_bool(const hly_fn_call *call, const char *name, bool otherwise);
const char *hly_fn_param_string(const hly_fn_call *call, const char *name, const char *otherwise);
int64_t hly_fn_param_int(const hly_fn_call *call, const char *name, int64_t otherwise);

// ---- For kernels.
static inline void hly_decline(hly_call *call, uint32_t row) {
  call->declined[call->n_declined++] = row;
}
static inline bool hly_arg_valid(const hly_arg *arg, uint32_t row) {
  return !arg->valid || arg->valid[(size_t)row * arg->stride];
}
static inline const void *hly_arg_at(const hly_arg *arg, uint32_t row, uint32_t size) {
  return (const uint8_t *)arg->data + (size_t)row * arg->stride * size;
}
#define HLY_ARG(T, arg, row) (((const T *)(arg)->data)[(size_t)(row) * (arg)->stride])
// Whether the result of `row` is wanted: false where STRICT or MAY_ADD already made it null.
static inline bool hly_call_wants(const hly_call *call, uint32_t row) {
  return !call->valid || call->valid[row];
}
// Room for n bytes of string data that live as long as call->vec. One heap a call: ask for the sum.
HLY_MUST_CHECK hly_status hly_call_heap(hly_call *call, size_t n_bytes, uint8_t **out);

// Runs the statement(s) for every row `i` (uint32_t) of `rows`: a dense and a selected loop.
#define HLY_FOR_ROWS(rows, i, ...)                                                                           \
  do {                                                                                                       \
    if (!(rows).sel) {                                                                                       \
      const uint32_t n_##i = (rows).n;                                                                       \
      for (uint32_t i = 0; i < n_##i; i++) {                                                                 \
        __VA_ARGS__                                                                                          \
      }                                                                                                      \
    } else {                                                                                                 \
      const uint32_t *sel_##i = (rows).sel;                                                                  \
      for (uint32_t k_##i = 0, n_##i = (rows).n_sel; k_##i < n_##i; k_##i++) {                               \
        const uint32_t i = sel_##i[k_##i];                                                                   \
        __VA_ARGS__                                                                                          \
      }                                                                                                      \
    }                                                                                                        \
  } while (0)

// The loops of a binary function out = EXPR(a, b) over values TA, TB, TO that cannot fail: dense with both
// arrays, with either side constant (hoisted), or selected. `a` and `b` are the names EXPR uses.
#define HLY_BINARY_LOOPS(call, TA, TB, TO, EXPR)                                                             \
  do {                                                                                                       \
    const TA *restrict pa_ = (call)->args[0].data;                                                           \
    const TB *restrict pb_ = (call)->args[1].data;                                                           \
    TO *restrict po_ = (call)->out;                                                                          \
    const uint32_t sa_ = (call)->args[0].stride, sb_ = (call)->args[1].stride, n_ = (call)->rows.n;          \
    const uint32_t *sel_ = (call)->rows.sel;                                                                 \
    if (sel_) {                                                                                              \
      for (uint32_t k_ = 0; k_ < (call)->rows.n_sel; k_++) {                                                 \
        const size_t i_ = sel_[k_];                                                                          \
        const TA a = pa_[i_ * sa_];                                                                          \
        const TB b = pb_[i_ * sb_];                                                                          \
        po_[i_] = (TO)(EXPR);                                                                                \
      }                                                                                                      \
    } else if (sa_ && sb_) {                                                                                 \
      for (uint32_t i_ = 0; i_ < n_; i_++) {                                                                 \
        const TA a = pa_[i_];                                                                                \
        const TB b = pb_[i_];                                                                                \
        po_[i_] = (TO)(EXPR);                                                                                \
      }                                                                                                      \
    } else if (sa_) {                                                                                        \
      const TB b = pb_[0];                                                                                   \
      for (uint32_t i_ = 0; i_ < n_; i_++) {                                                                 \
        const TA a = pa_[i_];                                                                                \
        po_[i_] = (TO)(EXPR);                                                                                \
      }                                                                                                      \
    } else if (sb_) {                                                                                        \
      const TA a = pa_[0];                                                                                   \
      for (uint32_t i_ = 0; i_ < n_; i_++) {                                                                 \
        const TB b = pb_[i_];                                                                                \
        po_[i_] = (TO)(EXPR);                                                                                \
      }                                                                                                      \
    } else {                                                                                                 \
      const TA a = pa_[0];                                                                                   \
      const TB b = pb_[0];                                                                                   \
      const TO r_ = (TO)(EXPR);                                                                              \
      for (uint32_t i_ = 0; i_ < n_; i_++) po_[i_] = r_;                                                     \
    }                                                                                                        \
  } while (0)

#define HLY_UNARY_LOOPS(call, TA, TO, EXPR)                                                                  \
  do {                                                                                                       \
    const TA *restrict pa_ = (call)->args[0].data;                                                           \
    TO *restrict po_ = (call)->out;                                                                          \
    const uint32_t n_ = (call)->rows.n;                                                                      \
    const size_t sa_ = (call)->args[0].stride;                                                               \
    const uint32_t *sel_ = (call)->rows.sel;                                                                 \
    if (sel_) {                                                                                              \
      for (uint32_t k_ = 0; k_ < (call)->rows.n_sel; k_++) {                                                 \
        const size_t i_ = sel_[k_];                                                                          \
        const TA a = pa_[i_ * sa_];                                                                          \
        po_[i_] = (TO)(EXPR);                                                                                \
      }                                                                                                      \
    } else if (sa_) {                                                                                        \
      for (uint32_t i_ = 0; i_ < n_; i_++) {                                                                 \
        const TA a = pa_[i_];                                                                                \
        po_[i_] = (TO)(EXPR);                                                                                \
      }                                                                                                      \
    } else {                                                                                                 \
      const TA a = pa_[0];                                                                                   \
      const TO r_ = (TO)(EXPR);                                                                              \
      for (uint32_t i_ = 0; i_ < n_; i_++) po_[i_] = r_;                                                     \
    }                                                                                                        \
  } while (0)

#endif
