// data/decimals.txt holds products and quotients that Spark's Decimal computed: unscaled, scale (twice),
// precision and scale of the result, product, quotient; NULL where Spark has none.
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#include "vector/decimal.h"

static hly_i128 parse(const char *s) {
  hly_i128 x = 0;
  bool negative = *s == '-';
  for (s += negative; *s; s++) x = x * 10 + (*s - '0');
  return negative ? -x : x;
}

static void check(bool ok, hly_i128 got, int scale, const char *expected, const char *what,
                  const char *line) {
  char text[64] = "NULL";
  if (ok) {
    int n = hly_decimal_print(got, scale, text);
    assert_int_equal(n, strlen(text));
  }
  if (strcmp(text, expected) != 0) print_error("%s of: %s", what, line);
  assert_string_equal(text, expected);
}

static void products_and_quotients(void **state) {
  FILE *f = fopen(TEST_DATA "/decimals.txt", "r");
  assert_non_null(f);
  char line[512], a[64], b[64], product[64], quotient[64];
  int a_scale, b_scale, precision, scale, n = 0;
  while (fgets(line, sizeof line, f)) {
    assert_int_equal(sscanf(line, "%63s %d %63s %d %d %d %63s %63s", a, &a_scale, b, &b_scale, &precision,
                            &scale, product, quotient),
                     8);
    hly_i128 x = parse(a), y = parse(b), out = 0;
    bool ok = hly_decimal_mul(x, y, a_scale + b_scale, precision, scale, &out);
    check(ok, out, scale, product, "product", line);
    if (y == 0) continue;
    ok = hly_decimal_div(x, a_scale, y, b_scale, precision, scale, &out);
    check(ok, out, scale, quotient, "quotient", line);
    n++;
  }
  fclose(f);
  assert_true(n > 400);
}

static void rescale(void **state) {
  static const struct {
    const char *in;
    int from, precision, to;
    const char *out; // NULL: does not fit
  } cases[] = {
      {"0", 0, 1, 0, "0"},
      {"15", 1, 2, 0, "2"},
      {"14", 1, 2, 0, "1"},
      {"-15", 1, 2, 0, "-2"},
      {"-14", 1, 2, 0, "-1"},
      {"5", 1, 1, 0, "1"},
      {"-5", 1, 1, 0, "-1"},
      {"4", 1, 1, 0, "0"},
      {"995", 1, 2, 0, NULL}, // 99.5 rounds to 100
      {"994", 1, 2, 0, "99"},
      {"99", 0, 2, 0, "99"},
      {"100", 0, 2, 0, NULL},
      {"-100", 0, 2, 0, NULL},
      {"1", 0, 38, 37, "10000000000000000000000000000000000000"},
      {"10", 0, 38, 37, NULL},
      {"1", 0, 38, 38, NULL},
      {"99999999999999999999999999999999999999", 0, 38, 38, NULL},
      {"99999999999999999999999999999999999999", 38, 38, 0, "1"},
      {"49999999999999999999999999999999999999", 38, 38, 0, "0"},
      {"50000000000000000000000000000000000000", 38, 38, 0, "1"},
      {"-99999999999999999999999999999999999999", 1, 38, 0, "-10000000000000000000000000000000000000"},
      {"12345678901234567895", 1, 20, 0, "1234567890123456790"},
      // A product's own scale may be twice the largest.
      {"99999999999999999999999999999999999999", 76, 38, 37, "0"},
      {"-99999999999999999999999999999999999999", 76, 38, 0, "0"},
      {"0", 0, 38, 76, "0"},
      {"1", 0, 38, 76, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hly_i128 out = 0;
    bool ok = hly_decimal_rescale(parse(cases[i].in), cases[i].from, cases[i].precision, cases[i].to, &out);
    assert_int_equal(ok, cases[i].out != NULL);
    if (ok && out != parse(cases[i].out)) print_error("case %zu\n", i);
    if (ok) assert_true(out == parse(cases[i].out));
  }
}

// The long division agrees with the short one wherever both apply.
static void long_division(void **state) {
  uint64_t seed = 8;
  for (int i = 0; i < 20000; i++) {
    hly_i128 parts[2];
    for (int j = 0; j < 2; j++) {
      uint64_t hi = seed = seed * 6364136223846793005ull + 1442695040888963407ull;
      uint64_t lo = seed = seed * 6364136223846793005ull + 1442695040888963407ull;
      parts[j] = (hly_i128)((hly_u128)hi << 64 | (lo >> 7 ^ lo)) >> (hi % 120);
      parts[j] %= hly_pow10_i128[38];
    }
    hly_i128 a = parts[0], b = parts[1] ? parts[1] : 1, low, high;
    bool ok = hly_decimal_div(a, 0, b, 0, 38, 0, &low);
    assert_true(ok);
    hly_i128 q = a / b, r = a % b, abs_r = r < 0 ? -r : r, abs_b = b < 0 ? -b : b;
    if (abs_r >= abs_b - abs_r) q += (a < 0) != (b < 0) ? -1 : 1;
    assert_true(low == q);
    // (q * b) / (b at scale 30) is q * 10^30, by way of a numerator past 128 bits
    hly_i128 small = q % 10000000, product;
    if (__builtin_mul_overflow(small, b, &product) || !hly_decimal_fits(product, 38)) continue;
    assert_true(hly_decimal_div(product, 0, b, 30, 38, 0, &high));
    assert_true(high == small * hly_pow10_i128[30]);
  }
}

static void text(void **state) {
  static const struct {
    const char *in;
    int scale;
    const char *text, *plain;
  } cases[] = {
      {"0", 0, "0", "0"},
      {"0", 2, "0.00", "0.00"},
      {"0", 6, "0.000000", "0.000000"},
      {"0", 7, "0E-7", "0.0000000"},
      {"1", 6, "0.000001", "0.000001"},
      {"1", 7, "1E-7", "0.0000001"},
      {"-12", 8, "-1.2E-7", "-0.00000012"},
      {"123", 38, "1.23E-36", "0.00000000000000000000000000000000000123"},
      {"-5", 1, "-0.5", "-0.5"},
      {"123456", 3, "123.456", "123.456"},
      {"-99999999999999999999999999999999999999", 0, "-99999999999999999999999999999999999999",
       "-99999999999999999999999999999999999999"},
      {"-99999999999999999999999999999999999999", 38, "-0.99999999999999999999999999999999999999",
       "-0.99999999999999999999999999999999999999"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char out[64];
    int n = hly_decimal_print(parse(cases[i].in), cases[i].scale, out);
    assert_int_equal(n, strlen(cases[i].text));
    assert_string_equal(out, cases[i].text);
    hly_decimal_print_plain(parse(cases[i].in), cases[i].scale, out);
    assert_string_equal(out, cases[i].plain);
  }
}

static void bytes(void **state) {
  static const struct {
    int64_t value;
    int n;
    uint8_t bytes[4];
  } cases[] = {{0, 1, {0}},         {1, 1, {1}},           {-1, 1, {0xff}},         {127, 1, {0x7f}},
               {128, 2, {0, 0x80}}, {-128, 1, {0x80}},     {-129, 2, {0xff, 0x7f}}, {255, 2, {0, 0xff}},
               {256, 2, {1, 0}},    {32768, 3, {0, 0x80}}, {-32768, 2, {0x80, 0}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t out[16];
    assert_int_equal(hly_decimal_to_bytes(cases[i].value, out), cases[i].n);
    assert_memory_equal(out, cases[i].bytes, cases[i].n);
  }
  for (int shift = 0; shift < 127; shift++) {
    for (int d = -2; d <= 2; d++) {
      for (int sign = -1; sign <= 1; sign += 2) {
        hly_i128 x = sign * ((hly_i128)1 << shift) + d, back;
        uint8_t out[24];
        int n = hly_decimal_to_bytes(x, out + 8);
        assert_true(hly_decimal_from_bytes(out + 8, n, &back) && back == x);
        memset(out, x < 0 ? 0xff : 0, 8); // longer than need be
        assert_true(hly_decimal_from_bytes(out, n + 8, &back) && back == x);
      }
    }
  }
  hly_i128 x;
  static const uint8_t wide[17] = {0, 0x80}, odd[18] = {0, 0xff};
  assert_false(hly_decimal_from_bytes(wide, 0, &x));
  assert_false(hly_decimal_from_bytes(wide, 17, &x)); // 2^127
  assert_false(hly_decimal_from_bytes(odd, 18, &x));
  assert_false(hly_decimal_fits(hly_pow10_i128[38], 38));
  assert_true(hly_decimal_fits(hly_pow10_i128[38] - 1, 38));
  assert_true(hly_decimal_fits(-99, 2) && !hly_decimal_fits(-100, 2));
  for (int i = 1; i < 39; i++) assert_true(hly_pow10_i128[i] == hly_pow10_i128[i - 1] * 10);
  for (int i = 1; i < 19; i++) assert_true(hly_pow10_i64[i] == hly_pow10_i64[i - 1] * 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_and_quotients), cmocka_unit_test(rescale),
                                     cmocka_unit_test(long_division), cmocka_unit_test(text),
                                     cmocka_unit_test(bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
