// A kept value: the state of functions whose result is one of their inputs (Min, Max, First, Last).
#ifndef HLY_AGGREGATES_KEPT_VALUE_H
#define HLY_AGGREGATES_KEPT_VALUE_H

#include <string.h>

#include "aggregates/aggregate.h"

// Values of fixed size.
typedef struct hly_kept {
  union {
    uint8_t bytes[16];
    hly_i128_state i128;
    int64_t i64;
    double f64;
    hly_str str;
  } value;
  uint8_t set;      // a row was taken
  uint8_t not_null; // and its value is not null
} hly_kept;

// Strings and binaries: long bytes lie in a piece of the store that is used again while the next value fits.
typedef struct hly_kept_str {
  hly_kept kept;
  uint8_t *room;
  uint32_t n_room;
} hly_kept_str;

HLY_MUST_CHECK hly_status hly_kept_set_str(hly_agg_env *env, hly_kept_str *s, const hly_str *value);
static inline void hly_kept_set_null(hly_kept *s) {
  memset(&s->value, 0, sizeof s->value);
  s->set = 1;
  s->not_null = 0;
}
// Sets a->state_bytes, has_view and adopt by the type kept; refuses types that have no fixed size or view.
HLY_MUST_CHECK hly_status hly_kept_bind(hly_binder *b, hly_agg *a, const hly_type *type);
// Moves the value of state `from` into `to`.
HLY_MUST_CHECK hly_status hly_kept_move(const hly_agg *a, hly_agg_env *env, hly_kept *to,
                                        const hly_kept *from);
// Writes the values of n rows.
HLY_MUST_CHECK hly_status hly_kept_emit(const hly_agg *a, hly_ctx *ctx, uint8_t *const *rows, uint32_t n,
                                        hly_vector *out);

#endif
