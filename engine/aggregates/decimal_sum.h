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

// What is left of an addition whose sum is large: `over` tells that it left 128 bits.
void hly_decimal_sum_add_large(const hly_agg *a, hly_decimal_sum *s, bool negative, bool over);
static inline void hly_decimal_sum_add(const hly_agg *a, hly_decimal_sum *s, hly_i128 v) {
  hly_i128 sum;
  bool over = __builtin_add_overflow(s->sum, v, &sum);
  s->sum = sum;
  // Below 2^125 it has 38 digits at most. (Narrower buffers are checked when they are written.)
  bool small = (uint64_t)((int64_t)(sum >> 64) + (1ll << 61)) < 1ull << 62;
  if (__builtin_expect(!small | over, 0)) hly_decimal_sum_add_large(a, s, v < 0, over);
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
hly_status hly_decimal_sum_raise(hly_ctx *ctx, int64_t site, const hly_decimal_sum *s,
                                 const hly_type *sum_type);
hly_status hly_decimal_sum_raise_quotient(hly_ctx *ctx, int64_t site, const hly_decimal_sum *s,
                                          const hly_type *sum_type, const hly_type *type);

#endif
