// Decimal sums, for Sum and Average. Spark adds without checking and stores each sum into its buffer: with
// grouping keys a sum that leaves the buffer's precision becomes null there and stays null; without keys the
// sum lives in a variable of any size and only the end counts, so the state keeps a carry of 2^128.
#ifndef HLY_AGGREGATES_DECIMAL_SUM_H
#define HLY_AGGREGATES_DECIMAL_SUM_H

#include "aggregates/aggregate.h"
#include "vector/decimal.h"

typedef struct hly_decimal_sum {
  hly_i128_state sum;
  int64_t count; // Average
  int32_t carry; // sum is carry * 2^128 + sum
  uint8_t seen, overflow;
} hly_decimal_sum;

static inline void hly_decimal_sum_add(const hly_agg *a, hly_decimal_sum *s, hly_i128 v) {
  hly_i128 sum;
  if (__builtin_expect(__builtin_add_overflow(s->sum, v, &sum), 0)) s->carry += v < 0 ? -1 : 1;
  s->sum = sum;
  if (a->grouped) s->overflow |= s->carry != 0 || !hly_decimal_fits(sum, a->buffer_types[0]->precision);
}
static inline bool hly_decimal_sum_fits(const hly_decimal_sum *s, int precision) {
  return !s->overflow && s->carry == 0 && hly_decimal_fits(s->sum, precision);
}
static inline void hly_decimal_store(hly_vector *out, uint32_t i, hly_i128 v) {
  if (out->type->phys == HLY_PHYS_I64)
    ((int64_t *)out->values)[i] = (int64_t)v;
  else
    ((hly_i128 *)out->values)[i] = v;
}

// Chooses `update` for decimal arguments: adds values, counts them, marks the state seen.
HLY_MUST_CHECK hly_status hly_decimal_sum_bind_update(hly_binder *b, hly_agg *a);
hly_status hly_decimal_sum_combine(const hly_agg *a, hly_agg_env *env, uint8_t *const *to,
                                   uint8_t *const *from, uint32_t n);
// sum / count in `type`, rounded half up; false when it does not fit. count > 0.
bool hly_decimal_sum_divide(const hly_decimal_sum *s, const hly_type *sum_type, const hly_type *type,
                            hly_i128 *out);
// Raises NUMERIC_VALUE_OUT_OF_RANGE for a sum that does not fit its type, or for sum / count that does not
// fit `type`.
hly_status hly_decimal_sum_raise(hly_ctx *ctx, const hly_decimal_sum *s, const hly_type *sum_type);
hly_status hly_decimal_sum_raise_quotient(hly_ctx *ctx, const hly_decimal_sum *s, const hly_type *sum_type,
                                          const hly_type *type);

#endif
