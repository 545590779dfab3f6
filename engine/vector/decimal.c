#include "vector/decimal.h"

#include <string.h>

const int64_t hly_pow10_i64[19] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
};

#define E18 ((hly_i128)1000000000000000000)
#define E36 (E18 * E18)
const hly_i128 hly_pow10_i128[39] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    E18,
    E18 * 10,
    E18 * 100,
    E18 * 1000,
    E18 * 10000,
    E18 * 100000,
    E18 * 1000000,
    E18 * 10000000,
    E18 * 100000000,
    E18 * 1000000000,
    E18 * 10000000000,
    E18 * 100000000000,
    E18 * 1000000000000,
    E18 * 10000000000000,
    E18 * 100000000000000,
    E18 * 1000000000000000,
    E18 * 10000000000000000,
    E18 * 100000000000000000,
    E36,
    E36 * 10,
    E36 * 100,
};

static inline hly_u128 magnitude(hly_i128 x) {
  return x < 0 ? -(hly_u128)x : (hly_u128)x;
}

// Gives |result| its sign, if it has at most `precision` digits.
static inline bool finish(hly_u128 result, bool negative, int precision, hly_i128 *out) {
  if (result >= (hly_u128)hly_pow10_i128[precision]) return false;
  *out = negative ? -(hly_i128)result : (hly_i128)result;
  return true;
}

bool hly_decimal_rescale(hly_i128 in, int from_scale, int to_precision, int to_scale, hly_i128 *out) {
  hly_u128 x = magnitude(in);
  if (to_scale > from_scale + 38) return x == 0 ? finish(x, false, to_precision, out) : false;
  if (from_scale > to_scale + 38) {
    // The scale of a product may be twice the largest. Half of 10^39 is more than 16 bytes hold: nothing rounds up.
    return finish(0, false, to_precision, out);
  }
  if (to_scale >= from_scale) {
    hly_u128 factor = (hly_u128)hly_pow10_i128[to_scale - from_scale];
    if (__builtin_mul_overflow(x, factor, &x)) return false;
  } else {
    hly_u128 divisor = (hly_u128)hly_pow10_i128[from_scale - to_scale];
    hly_u128 q, r;
    if (x <= UINT64_MAX && divisor <= UINT64_MAX) {
      q = (uint64_t)x / (uint64_t)divisor;
      r = (uint64_t)x % (uint64_t)divisor;
    } else {
      q = x / divisor;
      r = x % divisor;
    }
    x = q + (r >= divisor - r);
  }
  return finish(x, in < 0, to_precision, out);
}

// ---- wide numbers: little-endian limbs of 32 bits, enough for 10^38 * 10^76 and then some --------------

enum { LIMBS = 16 };

typedef struct wide {
  uint32_t limb[LIMBS];
  int n; // limbs in use, the top one is not 0
} wide;

static wide wide_of(hly_u128 x) {
  wide w = {.n = 0};
  while (x) {
    w.limb[w.n++] = (uint32_t)x;
    x >>= 32;
  }
  return w;
}

static wide wide_mul(const wide *a, const wide *b) {
  wide out = {.n = 0};
  for (int i = 0; i < a->n; i++) {
    uint64_t carry = 0;
    for (int j = 0; j < b->n || carry; j++) {
      uint64_t t = out.limb[i + j] + carry;
      if (j < b->n) t += (uint64_t)a->limb[i] * b->limb[j];
      out.limb[i + j] = (uint32_t)t;
      carry = t >> 32;
    }
  }
  out.n = a->n + b->n;
  while (out.n && !out.limb[out.n - 1]) out.n--;
  return out;
}

// a <=> b * 2 without computing it: the sign of 2a - b.
static int compare_twice(const wide *a, const wide *b) {
  wide twice = {.n = a->n};
  uint32_t carry = 0;
  for (int i = 0; i < a->n; i++) {
    twice.limb[i] = a->limb[i] << 1 | carry;
    carry = a->limb[i] >> 31;
  }
  if (carry) twice.limb[twice.n++] = carry;
  if (twice.n != b->n) return twice.n < b->n ? -1 : 1;
  for (int i = b->n - 1; i >= 0; i--)
    if (twice.limb[i] != b->limb[i]) return twice.limb[i] < b->limb[i] ? -1 : 1;
  return 0;
}

// Schoolbook division (Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D). b is not 0.
static void wide_divide(const wide *a, const wide *b, wide *q, wide *r) {
  *q = (wide){.n = 0};
  *r = *a;
  if (a->n < b->n) return;
  if (b->n == 1) {
    uint64_t rest = 0;
    for (int i = a->n - 1; i >= 0; i--) {
      uint64_t t = rest << 32 | a->limb[i];
      q->limb[i] = (uint32_t)(t / b->limb[0]);
      rest = t % b->limb[0];
    }
    q->n = a->n;
    *r = wide_of(rest);
  } else {
    int shift = __builtin_clz(b->limb[b->n - 1]), n = b->n, m = a->n - b->n;
    uint32_t u[LIMBS + 1] = {0}, v[LIMBS];
    for (int i = n - 1; i >= 0; i--)
      v[i] = shift ? b->limb[i] << shift | (i ? b->limb[i - 1] >> (32 - shift) : 0) : b->limb[i];
    u[a->n] = shift ? a->limb[a->n - 1] >> (32 - shift) : 0;
    for (int i = a->n - 1; i >= 0; i--)
      u[i] = shift ? a->limb[i] << shift | (i ? a->limb[i - 1] >> (32 - shift) : 0) : a->limb[i];
    for (int j = m; j >= 0; j--) {
      uint64_t top = (uint64_t)u[j + n] << 32 | u[j + n - 1];
      uint64_t guess = top / v[n - 1], rest = top % v[n - 1];
      while (guess >> 32 || guess * v[n - 2] > (rest << 32 | u[j + n - 2])) {
        guess--;
        rest += v[n - 1];
        if (rest >> 32) break;
      }
      int64_t borrow = 0;
      for (int i = 0; i < n; i++) {
        uint64_t p = guess * v[i];
        int64_t t = (int64_t)u[i + j] - borrow - (int64_t)(p & 0xffffffffu);
        u[i + j] = (uint32_t)t;
        borrow = (int64_t)(p >> 32) - (t >> 32);
      }
      int64_t t = (int64_t)u[j + n] - borrow;
      u[j + n] = (uint32_t)t;
      if (t < 0) { // the guess was one too large
        guess--;
        uint64_t carry = 0;
        for (int i = 0; i < n; i++) {
          uint64_t s = (uint64_t)u[i + j] + v[i] + carry;
          u[i + j] = (uint32_t)s;
          carry = s >> 32;
        }
        u[j + n] += (uint32_t)carry;
      }
      q->limb[j] = (uint32_t)guess;
    }
    q->n = m + 1;
    *r = (wide){.n = n};
    for (int i = 0; i < n; i++)
      r->limb[i] = shift ? u[i] >> shift | (uint32_t)((uint64_t)u[i + 1] << (32 - shift)) : u[i];
    while (r->n && !r->limb[r->n - 1]) r->n--;
  }
  while (q->n && !q->limb[q->n - 1]) q->n--;
}

// a / b rounded half away from zero, if it fits in 128 bits.
static bool wide_divide_half_up(const wide *a, const wide *b, hly_u128 *out) {
  wide q, r;
  wide_divide(a, b, &q, &r);
  if (q.n > 4) return false;
  hly_u128 x = 0;
  for (int i = q.n - 1; i >= 0; i--) x = x << 32 | q.limb[i];
  if (compare_twice(&r, b) >= 0 && ++x == 0) return false;
  *out = x;
  return true;
}

bool hly_decimal_mul(hly_i128 a, hly_i128 b, int from_scale, int to_precision, int to_scale, hly_i128 *out) {
  bool negative = (a < 0) != (b < 0);
  hly_u128 x = magnitude(a), y = magnitude(b), product;
  if (!__builtin_mul_overflow(x, y, &product)) {
    int diff = from_scale - to_scale;
    if (diff <= 0) {
      if (__builtin_mul_overflow(product, (hly_u128)hly_pow10_i128[-diff], &product)) return false;
      return finish(product, negative, to_precision, out);
    }
    if (diff <= 38) {
      hly_u128 divisor = (hly_u128)hly_pow10_i128[diff], r = product % divisor;
      return finish(product / divisor + (r >= divisor - r), negative, to_precision, out);
    }
  }
  wide wx = wide_of(x), wy = wide_of(y), wide_product = wide_mul(&wx, &wy), divisor = wide_of(1);
  if (to_scale > from_scale) return false; // more than 128 bits already
  for (int diff = from_scale - to_scale; diff > 0; diff -= 38) {
    wide power = wide_of((hly_u128)hly_pow10_i128[diff < 38 ? diff : 38]);
    divisor = wide_mul(&divisor, &power);
  }
  return wide_divide_half_up(&wide_product, &divisor, &product) &&
         finish(product, negative, to_precision, out);
}

bool hly_decimal_div(hly_i128 a, int a_scale, hly_i128 b, int b_scale, int to_precision, int to_scale,
                     hly_i128 *out) {
  bool negative = (a < 0) != (b < 0);
  hly_u128 x = magnitude(a), y = magnitude(b), q;
  int up = to_scale + b_scale - a_scale; // the quotient of the unscaled values is to be multiplied by 10^up
  if (up >= 0 && up <= 38 && !__builtin_mul_overflow(x, (hly_u128)hly_pow10_i128[up], &x)) {
    hly_u128 r;
    if (x <= UINT64_MAX && y <= UINT64_MAX) {
      q = (uint64_t)x / (uint64_t)y;
      r = (uint64_t)x % (uint64_t)y;
    } else {
      q = x / y;
      r = x % y;
    }
    return finish(q + (r >= y - r), negative, to_precision, out);
  }
  wide top = wide_of(magnitude(a)), bottom = wide_of(y);
  for (int rest = up < 0 ? -up : up; rest > 0; rest -= 38) {
    wide power = wide_of((hly_u128)hly_pow10_i128[rest < 38 ? rest : 38]);
    if (up < 0)
      bottom = wide_mul(&bottom, &power);
    else
      top = wide_mul(&top, &power);
  }
  return wide_divide_half_up(&top, &bottom, &q) && finish(q, negative, to_precision, out);
}

// ---- text and bytes -------------------------------------------------------------------------------------

static int digits_of(hly_u128 x, char *out) { // at least one digit; at most 39
  char text[40];
  int n = 0;
  do {
    text[n++] = (char)('0' + (int)(x % 10));
    x /= 10;
  } while (x);
  for (int i = 0; i < n; i++) out[i] = text[n - 1 - i];
  return n;
}

int hly_decimal_print_plain(hly_i128 unscaled, int scale, char *out) {
  char digits[40], *p = out;
  int n = digits_of(magnitude(unscaled), digits);
  if (unscaled < 0) *p++ = '-';
  if (n <= scale) {
    *p++ = '0';
    *p++ = '.';
    for (int i = n; i < scale; i++) *p++ = '0';
    memcpy(p, digits, (size_t)n);
    p += n;
  } else {
    memcpy(p, digits, (size_t)(n - scale));
    p += n - scale;
    if (scale > 0) {
      *p++ = '.';
      memcpy(p, digits + n - scale, (size_t)scale);
      p += scale;
    }
  }
  *p = 0;
  return (int)(p - out);
}

int hly_decimal_print(hly_i128 unscaled, int scale, char *out) {
  char digits[40], *p = out;
  int n = digits_of(magnitude(unscaled), digits);
  int exponent = n - 1 - scale;
  if (exponent >= -6) return hly_decimal_print_plain(unscaled, scale, out);
  if (unscaled < 0) *p++ = '-';
  *p++ = digits[0];
  if (n > 1) {
    *p++ = '.';
    memcpy(p, digits + 1, (size_t)n - 1);
    p += n - 1;
  }
  *p++ = 'E';
  *p++ = '-';
  p += digits_of((hly_u128)-exponent, p);
  *p = 0;
  return (int)(p - out);
}

int hly_decimal_to_bytes(hly_i128 value, uint8_t out[16]) {
  int n = 16;
  while (n > 1) { // drop a byte while the rest still has the sign
    hly_i128 rest = value >> (8 * (n - 1) - 1);
    if (rest != 0 && rest != -1) break;
    n--;
  }
  for (int i = 0; i < n; i++) out[i] = (uint8_t)(value >> (8 * (n - 1 - i)));
  return n;
}

bool hly_decimal_from_bytes(const uint8_t *bytes, int n, hly_i128 *out) {
  if (n < 1) return false;
  uint8_t fill = bytes[0] & 0x80 ? 0xff : 0;
  hly_u128 x = fill ? ~(hly_u128)0 : 0;
  for (; n > 16; n--, bytes++)
    if (*bytes != fill) return false;
  if (((bytes[0] & 0x80) != 0) != (fill != 0)) return false;
  for (int i = 0; i < n; i++) x = x << 8 | bytes[i];
  *out = (hly_i128)x;
  return true;
}
