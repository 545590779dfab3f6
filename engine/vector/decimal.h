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
// Changes scale with HALF_UP rounding; false on overflow of precision. Scales are 0..76.
bool hly_decimal_rescale(hly_i128 in, int from_scale, int to_precision, int to_scale, hly_i128 *out);
// a * b exactly in 256 bits, then HALF_UP from scale `from` to scale `to`; false when |result| >=
// 10^precision.
bool hly_decimal_mul(hly_i128 a, hly_i128 b, int from_scale, int to_precision, int to_scale, hly_i128 *out);
// Spark's Decimal division: a / b, HALF_UP to (precision, scale); b != 0. (Spark first cuts the quotient to
// 39 fraction digits, which never changes a digit that HALF_UP looks at.)
bool hly_decimal_div(hly_i128 a, int a_scale, hly_i128 b, int b_scale, int to_precision, int to_scale,
                     hly_i128 *out);
// Spark's Decimal.toString, which is Java's BigDecimal.toString: scientific when the exponent is below -6
// ("0E-10"). Returns the length (< 64); NUL-terminated.
int hly_decimal_print(hly_i128 unscaled, int scale, char *out);
// Spark's Decimal.toPlainString ("0.0000000000"): what ANSI casts to string use. As above.
int hly_decimal_print_plain(hly_i128 unscaled, int scale, char *out);
// Minimal big-endian two's complement, as BigInteger.toByteArray: 1..16 bytes. Returns the count.
int hly_decimal_to_bytes(hly_i128 value, uint8_t out[16]);
// False when n is 0 or the value does not fit in 128 bits.
bool hly_decimal_from_bytes(const uint8_t *bytes, int n, hly_i128 *out);

#endif
