// Decimals: unscaled int64 or __int128 with Spark's precision and rounding rules.
#ifndef HLY_VECTOR_DECIMAL_H
#define HLY_VECTOR_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

typedef __int128 hly_i128;
typedef unsigned __int128 hly_u128;

extern const int64_t hly_pow10_i64[19];   // 10^0 .. 10^18
extern const hly_i128 hly_pow10_i128[39]; // 10^0 .. 10^38

// |x| < 10^precision
static inline bool hly_decimal_fits(hly_i128 x, int precision) {
  hly_i128 limit = hly_pow10_i128[precision];
  return x < limit && x > -limit;
}
// Changes scale with HALF_UP rounding; false on overflow of precision.
bool hly_decimal_rescale(hly_i128 in, int from_scale, int to_precision, int to_scale, hly_i128 *out);
// a * b exactly in 256 bits, then HALF_UP from scale `from` to scale `to`; false when |result| >=
// 10^precision.
bool hly_decimal_mul(hly_i128 a, hly_i128 b, int from_scale, int to_precision, int to_scale, hly_i128 *out);
// Spark's Decimal division: a / b to DecimalType.MAX_SCALE style precision then HALF_UP to (precision,
// scale); b != 0.
bool hly_decimal_div(hly_i128 a, int a_scale, hly_i128 b, int b_scale, int to_precision, int to_scale,
                     hly_i128 *out);
// Java's BigDecimal.toPlainString-like text of Spark's Decimal.toString; returns length (<= 64).
int hly_decimal_print(hly_i128 unscaled, int scale, char *out);
// Minimal big-endian two's complement, as BigInteger.toByteArray: 1..16 bytes. Returns the count.
int hly_decimal_to_bytes(hly_i128 value, uint8_t out[16]);
// False when n is 0 or the value does not fit in 128 bits.
bool hly_decimal_from_bytes(const uint8_t *bytes, int n, hly_i128 *out);

#endif
