// Spark's Murmur3Hash: values that Spark 4.1.3's own hash() gave; and that encodings and selections do not
// matter.
#include <math.h>
#include <string.h>

#include "random_batch.h"
#include "shuffle/partitioner.h"
#include "vector/decimal.h"

static hly_ctx ctx;
static test_host host;

static int setup(void **state) {
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  return 0;
}
static int teardown(void **state) {
  test_ctx_deinit(&ctx);
  return 0;
}

// A flat vector over given values.
static hly_vector *vector_of(const hly_type *type, const void *values, uint32_t n) {
  hly_vector *v = hly_vector_create(type);
  assert_non_null(v);
  assert_ok(&ctx, hly_vector_reset(&ctx, v, n));
  memcpy(v->values, values, (size_t)n * hly_phys_size[type->phys]);
  return v;
}

static void expect_hash(const hly_type *type, const void *values, uint32_t n, const int32_t *want) {
  hly_vector *v = vector_of(type, values, n);
  for (int constant = 0; constant < 2; constant++) {
    uint32_t hashes[16];
    for (uint32_t i = 0; i < n; i++) hashes[i] = 42;
    hly_murmur3_column(v, NULL, n, constant, hashes);
    for (uint32_t i = 0; i < n; i++) {
      if ((int32_t)hashes[i] != want[i]) fail_msg("row %u: %d, Spark has %d", i, (int32_t)hashes[i], want[i]);
    }
  }
  hly_vector_unref(v);
}

#define EXPECT(type, T, values, ...)                                                                         \
  do {                                                                                                       \
    const T in[] = values;                                                                                   \
    const int32_t want[] = {__VA_ARGS__};                                                                    \
    expect_hash(type, in, sizeof in / sizeof *in, want);                                                     \
  } while (0)
#define V(...)                                                                                               \
  { __VA_ARGS__ }

static void fixed_width(void **state) {
  EXPECT(hly_type_of(HLY_BOOLEAN), uint8_t, V(1, 0), -559580957, 933211791);
  EXPECT(hly_type_of(HLY_BYTE), int8_t, V(-1), -1604776387);
  EXPECT(hly_type_of(HLY_SHORT), int16_t, V(300), -2133297984);
  EXPECT(hly_type_of(HLY_INT), int32_t, V(0, 1, INT32_MIN), 933211791, -559580957, 723455942);
  EXPECT(hly_type_of(HLY_LONG), int64_t, V(123456789, -1, INT64_MIN), 198011545, -939490007, -853646085);
  EXPECT(hly_type_of(HLY_FLOAT), float, V(0.0f, -0.0f, NAN, -NAN, 1.5f), 933211791, 933211791, -349261430,
         -349261430, -221251528);
  EXPECT(hly_type_of(HLY_DOUBLE), double, V(0.0, -0.0, NAN, -1.25, INFINITY), -1670924195, -1670924195,
         -1281358385, 747866589, 833680482);
  EXPECT(hly_type_decimal(10, 2), int64_t, V(1234567, -1), 1295238093, -939490007);
  EXPECT(hly_type_of(HLY_DATE), int32_t, V(18321, -141427), -159107471, -917758866);
  EXPECT(hly_type_of(HLY_TIMESTAMP), int64_t, V(1577836800123456), -243884851);
  EXPECT(hly_type_of(HLY_YEAR_MONTH_INTERVAL), int32_t, V(12), -319098976);
  EXPECT(hly_type_of(HLY_DAY_TIME_INTERVAL), int64_t, V(5000000), -111824516);
  hly_i128 big = -((hly_i128)123456789012345ll * 1000000000000000ll +
                   678901234567895ll); // -123456789012345678901234567895
  EXPECT(hly_type_decimal(38, 5), hly_i128, V(big * 10000), 228255626);
  EXPECT(hly_type_decimal(20, 0), hly_i128, V(0, -128, 1), -783713497, 775851899, -386724586);
}

static hly_str str(const char *s) {
  return hly_str_make(s, (uint32_t)strlen(s));
}

static void strings(void **state) {
  EXPECT(hly_type_of(HLY_STRING), hly_str,
         V(str(""), str("a"), str("abcd"), str("abcde"), str("The quick brown fox")), 142593372, 1485273170,
         -396302900, 814637928, 1217302703);
  EXPECT(hly_type_of(HLY_BINARY), hly_str, V(hly_str_make("\0\xff\x80", 3)), -2052482636);
}

static void one(const hly_vector *v, int32_t want) {
  uint32_t hash = 42;
  hly_murmur3_column(v, NULL, 1, true, &hash);
  assert_int_equal((int32_t)hash, want);
  hash = 42;
  uint32_t row = 0;
  hly_murmur3_column(v, &row, 1, false, &hash);
  assert_int_equal((int32_t)hash, want);
}

// hash(1, 'a', 2.5D, NULL, true), array(1, 2, NULL), array('a', '', NULL, 'xyz'), struct(1, 'a', NULL),
// array(array(1L), array())
static void rows_and_nested(void **state) {
  hly_vector *v[5];
  v[0] = vector_of(hly_type_of(HLY_INT), &(int32_t){1}, 1);
  v[1] = vector_of(hly_type_of(HLY_STRING), &(hly_str[]){str("a")}, 1);
  v[2] = vector_of(hly_type_of(HLY_DOUBLE), &(double){2.5}, 1);
  v[3] = vector_of(hly_type_of(HLY_LONG), &(int64_t){77}, 1);
  assert_ok(&ctx, hly_vector_need_validity(&ctx, v[3]));
  hly_bits_clear(v[3]->validity, 0);
  v[4] = vector_of(hly_type_of(HLY_BOOLEAN), &(uint8_t){1}, 1);
  uint32_t hash = 42;
  for (int i = 0; i < 5; i++) {
    hly_murmur3_column(v[i], NULL, 1, i == 0, &hash);
    hly_vector_unref(v[i]);
  }
  assert_int_equal((int32_t)hash, -1125248331);

  const hly_field int_element = {.name = "element", .type = hly_type_of(HLY_INT), .nullable = true};
  const hly_type ints = {.kind = HLY_ARRAY, .phys = HLY_PHYS_SPAN, .n_fields = 1, .fields = &int_element};
  hly_vector *a = vector_of(&ints, &(hly_span){0, 3}, 1);
  assert_ok(&ctx, hly_vector_reset(&ctx, a->children[0], 3));
  memcpy(a->children[0]->values, (int32_t[]){1, 2, 0}, 12);
  assert_ok(&ctx, hly_vector_need_validity(&ctx, a->children[0]));
  hly_bits_clear(a->children[0]->validity, 2);
  one(a, -222940379);
  hly_vector_unref(a);

  const hly_field str_element = {.name = "element", .type = hly_type_of(HLY_STRING), .nullable = true};
  const hly_type strs = {.kind = HLY_ARRAY, .phys = HLY_PHYS_SPAN, .n_fields = 1, .fields = &str_element};
  a = vector_of(&strs, &(hly_span){0, 4}, 1);
  assert_ok(&ctx, hly_vector_reset(&ctx, a->children[0], 4));
  memcpy(a->children[0]->values, (hly_str[]){str("a"), str(""), str(""), str("xyz")}, 64);
  assert_ok(&ctx, hly_vector_need_validity(&ctx, a->children[0]));
  hly_bits_clear(a->children[0]->validity, 2);
  one(a, 541123416);
  hly_vector_unref(a);

  const hly_field fields[] = {{.name = "x", .type = hly_type_of(HLY_INT)},
                              {.name = "y", .type = hly_type_of(HLY_STRING)},
                              {.name = "z", .type = hly_type_of(HLY_NULL)}};
  const hly_type row = {.kind = HLY_STRUCT, .n_fields = 3, .fields = fields};
  hly_vector *s = hly_vector_create(&row);
  assert_ok(&ctx, hly_vector_reset(&ctx, s, 1));
  ((int32_t *)s->children[0]->values)[0] = 1;
  ((hly_str *)s->children[1]->values)[0] = str("a");
  one(s, -936062819);
  hly_vector_unref(s);

  const hly_field long_element = {.name = "element", .type = hly_type_of(HLY_LONG)};
  const hly_type longs = {.kind = HLY_ARRAY, .phys = HLY_PHYS_SPAN, .n_fields = 1, .fields = &long_element};
  const hly_field longs_element = {.name = "element", .type = &longs};
  const hly_type deep = {.kind = HLY_ARRAY, .phys = HLY_PHYS_SPAN, .n_fields = 1, .fields = &longs_element};
  a = vector_of(&deep, &(hly_span){0, 2}, 1);
  assert_ok(&ctx, hly_vector_reset(&ctx, a->children[0], 2));
  memcpy(a->children[0]->values, (hly_span[]){{0, 1}, {1, 0}}, 16);
  assert_ok(&ctx, hly_vector_reset(&ctx, a->children[0]->children[0], 1));
  ((int64_t *)a->children[0]->children[0]->values)[0] = 1;
  one(a, -1712319331);
  hly_vector_unref(a);
}

// Flat, constant and dictionary vectors of the same values hash alike, selected or not.
static void encodings_agree(void **state) {
  test_random r = {99};
  for (uint32_t c = 0; c < test_all_types.n_fields; c++) {
    const hly_type *type = test_all_types.fields[c].type;
    if (!hly_murmur3_supports(type)) continue;
    for (int encoding = HLY_FLAT; encoding <= HLY_DICT; encoding++) {
      test_shape shape = {300, 20, 6, 30, encoding};
      hly_vector *v = test_shaped_vector(&ctx, &r, type, &shape, NULL);
      hly_vector *flat = hly_vector_create(type);
      assert_ok(&ctx, hly_vector_gather(&ctx, flat, v, NULL, 300));
      uint32_t want[300], got[300], sel[300], n_sel = 0;
      for (uint32_t i = 0; i < 300; i++) {
        want[i] = got[i] = 42;
        hly_murmur3_column(flat, &i, 1, false, &want[i]);
        if (test_below(&r, 3)) sel[n_sel++] = i;
      }
      hly_murmur3_column(v, NULL, 300, true, got);
      assert_memory_equal(got, want, sizeof got);
      for (uint32_t i = 0; i < n_sel; i++) got[i] = 42;
      hly_murmur3_column(v, sel, n_sel, true, got);
      for (uint32_t i = 0; i < n_sel; i++) assert_int_equal(got[i], want[sel[i]]);
      hly_vector_unref(flat);
      hly_vector_unref(v);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fixed_width),
      cmocka_unit_test(strings),
      cmocka_unit_test(rows_and_nested),
      cmocka_unit_test(encodings_agree),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
