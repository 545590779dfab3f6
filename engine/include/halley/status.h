// Status of every fallible function, and the one error record a plan keeps.
#ifndef HALLEY_STATUS_H
#define HALLEY_STATUS_H

#include <stdint.h>

typedef enum hly_status {
  HLY_OK = 0,
  HLY_ERR = 1,       // described by the context's hly_error
  HLY_NOMEM = 2,     // the allocator or the system has no memory; also recorded in the hly_error
  HLY_CANCELLED = 3, // the task was asked to stop
  HLY_REFUSED = 4,   // bind only: not supported natively; the binder has the reasons
  HLY_DENIED = 5,    // memory pool only: reservation not granted; the caller spills and goes on
} hly_status;

#define HLY_MUST_CHECK __attribute__((warn_unused_result))

// Returns from the enclosing function when `expr` is not HLY_OK.
#define HLY_TRY(expr)                                                                                        \
  do {                                                                                                       \
    hly_status hly_try_status_ = (expr);                                                                     \
    if (__builtin_expect(hly_try_status_ != HLY_OK, 0)) return hly_try_status_;                              \
  } while (0)

// As HLY_TRY, but jumps to a label of cleanup with `st` set.
#define HLY_TRY_GOTO(st, expr, label)                                                                        \
  do {                                                                                                       \
    (st) = (expr);                                                                                           \
    if (__builtin_expect((st) != HLY_OK, 0)) goto label;                                                     \
  } while (0)

// Conditions of Spark that no expression owns. X(id, Spark's condition, SQLSTATE, exception kind).
// Parameters are named when the error is set.
typedef enum hly_error_id {
#define X(id, condition, sqlstate, kind) HLY_E_##id,
#include "halley/errors.def"
#undef X
  HLY_N_ERRORS
} hly_error_id;

enum { HLY_ERROR_MAX_PARAMS = 8, HLY_ERROR_TEXT = 2048 };

typedef struct hly_error {
  hly_status status; // HLY_OK: nothing recorded
  hly_error_id id;
  int64_t jvm_ref; // not 0: the throwable to rethrow, unchanged; the rest is then unset
  int32_t n_params;
  struct {
    const char *name; // static
    uint32_t value;   // offset of a NUL-terminated value in `text`
  } params[HLY_ERROR_MAX_PARAMS];
  uint32_t n_text;
  char text[HLY_ERROR_TEXT];
} hly_error;

// Records an error with `n_params` pairs of (const char *name, const char *value); values are copied and cut
// to fit. Returns the status to return (HLY_ERR or HLY_NOMEM). The first error recorded is kept.
hly_status hly_error_set(hly_error *error, hly_error_id id, int n_params, ...);
// Same with one parameter "message" formatted as by printf.
hly_status hly_error_setf(hly_error *error, hly_error_id id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
hly_status hly_error_nomem(hly_error *error, int64_t n_bytes);
void hly_error_clear(hly_error *error);
const char *hly_error_condition(const hly_error *error); // Spark's condition name, "" for none
// Writes "[CONDITION] name=value, ..." cut to `size`.
void hly_error_print(const hly_error *error, char *out, uint32_t size);

#endif
