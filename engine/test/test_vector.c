#include "fixture.h"

#include <string.h>

#include "type_text.h"
#include "vector/decimal.h"

static test_host host;
static hly_ctx ctx;
static hly_arena *arena; // of texts and types

static int setup(void **state) {
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  arena = hly_arena_create();
  return 0;
}

static int teardown(void **state) {
  hly_arena_destroy(arena);
  test_ctx_deinit(&ctx);
  return 0;
}

static const char *const types[] = {"boolean",
                                    "tinyint",
                                    "smallint",
                                    "int",
                                    "bigint",
                                    "float",
                                    "double",
                                    "decimal(7,2)",
                                    "decimal(38,5)",
                                    "date",
                                    "timestamp",
                                    "timestamp_ntz",
                                    "time(6)",
                                    "interval year to month",
                                    "interval day to second",
                                    "interval",
                                    "string",
                                    "binary",
                                    "variant",
                                    "void",
                                    "array<int>",
                                    "array<string>",
                                    "map<string,bigint>",
                                    "struct<a:int,b:string>",
                                    "array<struct<a:array<string>,b:map<int,decimal(20,3)>>>",
                                    "struct<a:struct<b:array<boolean>,c:void>,d:variant>"};
enum { N_TYPES = sizeof types / sizeof *types };

static void sound(const hly_vector *v) {
  char message[200];
  bool ok = hly_vector_check(v, message, sizeof message);
  if (!ok) print_error("%s\n", message);
  assert_true(ok);
}

static void same(const hly_vector *a, uint32_t i, const hly_vector *b, uint32_t j) {
  assert_string_equal(test_value_text(arena, a, i), test_value_text(arena, b, j));
}

// The same rows in another encoding: row r of the result is row map(r) of v, or null.
static hly_vector *encode(hly_vector *v, int encoding, uint32_t n, uint64_t *seed) {
  hly_vector *out = hly_vector_create(v->type);
  if (encoding == HLY_CONST) {
    uint32_t row = (uint32_t)(*seed % v->n_rows);
    assert_ok(&ctx, hly_vector_gather(&ctx, out, v, &row, 1));
    out->encoding = HLY_CONST;
    out->n_rows = n;
    return out;
  }
  hly_vector *dict;
  uint64_t own = *seed;
  assert_ok(&ctx, test_random_vector(&ctx, v->type, v->n_rows, 0, &own, &dict));
  assert_ok(&ctx, hly_vector_set_dict(&ctx, out, dict, n));
  for (uint32_t r = 0; r < n; r++) out->indices[r] = (r * 13 + 5) % dict->n_rows;
  if (v->validity) {
    assert_ok(&ctx, hly_vector_need_validity(&ctx, out));
    for (uint32_t r = 0; r < n; r += 3) hly_bits_clear(out->validity, r);
  }
  hly_vector_unref(dict);
  return out;
}

// gather, slice and append of every type, encoding, selection and density of nulls.
static void copies_keep_values(void **state) {
  uint64_t seed = 17;
  enum { N = 150 };
  uint32_t sel[200];
  for (uint32_t t = 0; t < N_TYPES; t++) {
    const hly_type *type = test_type(arena, types[t]);
    for (int encoding = 0; encoding < 3; encoding++) {
      if (type->kind == HLY_NULL && encoding == HLY_DICT) continue; // a dictionary has no nulls
      for (int round = 0; round < 6; round++) {
        hly_vector *in, *gathered = hly_vector_create(type), *sliced = hly_vector_create(type),
                        *appended = hly_vector_create(type);
        assert_ok(&ctx, test_random_vector(&ctx, type, N, round % 3 * 40, &seed, &in));
        if (encoding) {
          hly_vector *flat = in;
          in = encode(flat, encoding, N, &seed);
          hly_vector_unref(flat);
        }
        sound(in);
        const uint32_t *rows = round < 3 ? sel : NULL;
        uint32_t n = round == 5 ? 40 : round < 3 ? 200 : N;
        for (uint32_t k = 0; k < n; k++) sel[k] = rows ? (k * 7 + (uint32_t)round) % N : k;
        if (round == 1) n = 0;
        assert_ok(&ctx, hly_vector_gather(&ctx, gathered, in, rows, n));
        assert_ok(&ctx, hly_vector_slice(&ctx, sliced, in, rows, n));
        for (int i = 0; i < 3; i++) assert_ok(&ctx, hly_vector_append(&ctx, appended, in, rows, n));
        assert_int_equal(gathered->encoding, HLY_FLAT);
        if (type->kind != HLY_NULL) assert_int_equal(sliced->encoding, encoding);
        assert_true(gathered->n_rows == n && sliced->n_rows == n && appended->n_rows == 3 * n);
        sound(gathered);
        sound(sliced);
        sound(appended);
        for (uint32_t k = 0; k < n; k++) {
          same(in, sel[k], gathered, k);
          same(in, sel[k], sliced, k);
          for (uint32_t i = 0; i < 3; i++) same(in, sel[k], appended, i * n + k);
        }
        if (sliced->encoding == HLY_FLAT && n) { // it may share with `in`, which must not change
          char *before = test_value_text(arena, in, N - 1), *last = test_value_text(arena, sliced, n - 1);
          assert_ok(&ctx, hly_vector_append(&ctx, sliced, in, rows, n));
          sound(sliced);
          sound(in);
          assert_string_equal(test_value_text(arena, in, N - 1), before);
          assert_string_equal(test_value_text(arena, sliced, n - 1), last);
          for (uint32_t k = 0; k < n; k++) same(in, sel[k], sliced, n + k);
        }
        hly_vector_unref(in); // the copies live on
        for (uint32_t k = 0; k < n; k++) same(gathered, k, appended, 2 * n + k);
        for (uint32_t k = 0; k < n; k++) same(gathered, k, sliced, k);
        // A reset of what others share leaves theirs alone.
        assert_ok(&ctx, hly_vector_reset(&ctx, sliced, 3));
        hly_vector_unref(gathered);
        hly_vector_unref(sliced);
        hly_vector_unref(appended);
        hly_arena_reset(arena);
        type = test_type(arena, types[t]);
      }
    }
  }
}

static void absent_validity_means_no_nulls(void **state) {
  uint64_t seed = 1;
  hly_vector *in, *out = hly_vector_create(hly_type_of(HLY_INT));
  assert_ok(&ctx, test_random_vector(&ctx, hly_type_of(HLY_INT), 100, 0, &seed, &in));
  assert_ok(&ctx, hly_vector_need_validity(&ctx, in));
  hly_bits_clear(in->validity, 7);
  static const uint32_t without[] = {1, 2, 99}, with[] = {1, 7};
  assert_ok(&ctx, hly_vector_gather(&ctx, out, in, without, 3));
  assert_null(out->validity);
  assert_ok(&ctx, hly_vector_gather(&ctx, out, in, with, 2));
  assert_true(!hly_vector_is_null(out, 0) && hly_vector_is_null(out, 1));
  hly_vector_unref(in);
  hly_vector_unref(out);
}

static hly_vector *long_strings(uint32_t n, uint32_t length) {
  hly_vector *v = hly_vector_create(hly_type_of(HLY_STRING));
  assert_ok(&ctx, hly_vector_reset(&ctx, v, n));
  hly_buf *heap = hly_buf_create((size_t)n * length);
  assert_ok(&ctx, hly_vector_add_heap(&ctx, v, heap));
  hly_buf_unref(heap);
  for (uint32_t i = 0; i < n; i++) {
    memset(heap->data + (size_t)i * length, 'a' + i % 26, length);
    ((hly_str *)v->values)[i] = hly_str_make(heap->data + (size_t)i * length, length);
  }
  return v;
}

static void heaps_are_shared_or_compacted(void **state) {
  hly_vector *in = long_strings(1000, 100), *out = hly_vector_create(in->type);
  uint32_t sel[1000];
  for (uint32_t k = 0; k < 1000; k++) sel[k] = k;
  assert_ok(&ctx, hly_vector_gather(&ctx, out, in, sel, 300));
  assert_int_equal(out->n_heaps, 1);
  assert_ptr_equal(out->heaps[0], in->heaps[0]); // more than a quarter
  assert_ok(&ctx, hly_vector_gather(&ctx, out, in, sel + 900, 100));
  assert_ptr_not_equal(out->heaps[0], in->heaps[0]);
  assert_true(out->heaps[0]->capacity < 11000);
  assert_true(hly_vector_pinned_bytes(out) < 40000);
  sound(out);
  for (uint32_t k = 0; k < 100; k++) same(in, 900 + k, out, k);
  assert_ok(&ctx, hly_vector_gather(&ctx, out, in, sel, 0));
  assert_int_equal(out->n_heaps, 0);
  // Runs and constants are appended once.
  hly_vector *constant = hly_vector_create(in->type), *appended = hly_vector_create(in->type);
  assert_ok(&ctx, hly_vector_gather(&ctx, constant, in, sel + 3, 1));
  constant->encoding = HLY_CONST;
  constant->n_rows = 100000;
  assert_ok(&ctx, hly_vector_append(&ctx, appended, constant, NULL, 100000));
  assert_int_equal(appended->n_heaps, 1);
  assert_true(appended->heaps[0]->capacity <= 4096);
  same(in, 3, appended, 99999);
  hly_vector_unref(in);
  hly_vector_unref(out);
  hly_vector_unref(constant);
  hly_vector_unref(appended);
}

static void slices_do_not_copy(void **state) {
  hly_vector *in = long_strings(100, 20), *out = hly_vector_create(in->type);
  assert_ok(&ctx, hly_vector_slice(&ctx, out, in, NULL, 60));
  assert_ptr_equal(out->values, in->values);
  // The producer writes its next batch: into other memory.
  const void *values = out->values;
  assert_ok(&ctx, hly_vector_reset(&ctx, in, 100));
  assert_ptr_not_equal(in->values, values);
  memset(in->values, 0, 100 * sizeof(hly_str));
  sound(out);
  assert_int_equal(((hly_str *)out->values)[59].len, 20);
  hly_vector_unref(in);
  hly_vector_unref(out);
}

static void constants_from_literals(void **state) {
  static const char text[] = "a text longer than twelve";
  hly_vector *v = hly_vector_create(hly_type_of(HLY_STRING));
  hly_literal lit = {.type = hly_type_of(HLY_STRING)};
  char *gone = hly_arena_copy(arena, text, sizeof text - 1);
  hly_str view = hly_str_make(gone, sizeof text - 1);
  memcpy(lit.value.bytes, &view, sizeof view);
  assert_ok(&ctx, hly_vector_set_const(&ctx, v, &lit, 1000));
  memset(gone, 'z', sizeof text - 1); // the vector has its own
  sound(v);
  assert_memory_equal(hly_str_data(v->values), text, sizeof text - 1);
  lit.is_null = true;
  assert_ok(&ctx, hly_vector_set_const(&ctx, v, &lit, 10));
  sound(v);
  assert_true(hly_vector_is_null(v, 9));
  hly_vector_unref(v);
  for (uint32_t t = 0; t < N_TYPES; t++) {
    lit.type = test_type(arena, types[t]);
    v = hly_vector_create(lit.type);
    assert_ok(&ctx, hly_vector_set_const(&ctx, v, &lit, 10));
    sound(v);
    assert_string_equal(test_value_text(arena, v, 9), "null");
    hly_vector_unref(v);
  }
  lit = (hly_literal){.type = hly_type_decimal(38, 0)};
  lit.value.i128 = -hly_pow10_i128[37];
  v = hly_vector_create(lit.type);
  assert_ok(&ctx, hly_vector_set_const(&ctx, v, &lit, 3));
  assert_string_equal(test_value_text(arena, v, 2), "-10000000000000000000000000000000000000");
  hly_vector_unref(v);
}

static void batches(void **state) {
  uint64_t seed = 3;
  hly_schema schema = test_schema(arena, "struct<a:int,b:string,c:array<int>,d:struct<x:bigint>>");
  hly_batch *in, *out;
  hly_arena *batch_arena = hly_arena_create();
  assert_ok(&ctx, hly_batch_create(&ctx, batch_arena, &schema, &in));
  assert_ok(&ctx, hly_batch_create(&ctx, batch_arena, &schema, &out));
  for (uint32_t i = 0; i < schema.n_fields; i++) {
    hly_vector_unref(in->columns[i]);
    assert_ok(&ctx, test_random_vector(&ctx, schema.fields[i].type, 100, 20, &seed, &in->columns[i]));
  }
  hly_batch_set_rows(in, 100);
  uint64_t all = hly_batch_bytes(in);
  uint32_t sel[10];
  for (uint32_t k = 0; k < 10; k++) sel[k] = 9 * k;
  in->sel = sel;
  in->n_sel = 10;
  assert_true(hly_batch_bytes(in) < all / 4 && hly_batch_bytes(in) > all / 30);
  for (int flatten = 0; flatten < 2; flatten++) {
    assert_ok(&ctx, hly_batch_compact(&ctx, out, in, flatten));
    assert_true(out->n_rows == 10 && out->n_sel == 10 && !out->sel);
    for (uint32_t i = 0; i < schema.n_fields; i++)
      for (uint32_t k = 0; k < 10; k++) same(in->columns[i], sel[k], out->columns[i], k);
  }
  // Somebody keeps a column: the producer gets another.
  hly_vector *kept = hly_vector_ref(out->columns[1]);
  assert_ok(&ctx, hly_batch_writable(&ctx, out, 1));
  assert_ptr_not_equal(out->columns[1], kept);
  assert_int_equal(kept->refs, 1);
  hly_vector *mine = out->columns[1];
  assert_ok(&ctx, hly_batch_writable(&ctx, out, 1));
  assert_ptr_equal(out->columns[1], mine);
  hly_arena_destroy(batch_arena);
  for (uint32_t k = 0; k < 10; k++) assert_non_null(test_value_text(arena, kept, k));
  hly_vector_unref(kept);
}

// The check finds what it says it finds.
static void checks_fail(void **state) {
  char message[200];
#define BROKEN(v, what, breaks, mends)                                                                       \
  do {                                                                                                       \
    breaks;                                                                                                  \
    assert_false(hly_vector_check(v, message, sizeof message));                                              \
    assert_non_null(strstr(message, what));                                                                  \
    mends;                                                                                                   \
    sound(v);                                                                                                \
  } while (0)
  hly_vector *s = long_strings(10, 20);
  hly_str *views = s->values, saved = views[4];
  hly_buf *values = s->values_buf;
  sound(s);
  BROKEN(s, "outside", views[4].u.out.ptr += 1000, views[4] = saved);
  BROKEN(s, "prefix", views[4].u.out.prefix[0]++, views[4] = saved);
  BROKEN(s, "inline", views[4].len = 3, views[4] = saved);
  BROKEN(s, "past their buffer", s->n_rows = (uint32_t)(values->capacity / 16) + 1, s->n_rows = 10);
  BROKEN(s, "encoding", s->encoding = 7, s->encoding = 0);
  BROKEN(s, "no values", s->values = NULL, s->values = values->data);
  uint64_t seed = 2;
  hly_vector *a, *d = hly_vector_create(s->type), *b, *n;
  assert_ok(&ctx, test_random_vector(&ctx, test_type(arena, "array<int>"), 10, 0, &seed, &a));
  BROKEN(a, "child rows", ((hly_span *)a->values)[9].offset = 1 << 20, ((hly_span *)a->values)[9].offset = 0);
  BROKEN(a, "negative", ((hly_span *)a->values)[9].offset = -1, ((hly_span *)a->values)[9].offset = 0);
  assert_ok(&ctx, hly_vector_set_dict(&ctx, d, s, 5));
  memset(d->indices, 0, 20);
  BROKEN(d, "index 10 of 10", d->indices[3] = 10, d->indices[3] = 9);
  BROKEN(d, "dictionary is flat", s->encoding = HLY_CONST, s->encoding = HLY_FLAT);
  assert_ok(&ctx, test_random_vector(&ctx, hly_type_of(HLY_BOOLEAN), 10, 0, &seed, &b));
  BROKEN(b, "boolean", ((uint8_t *)b->values)[1] = 2, ((uint8_t *)b->values)[1] = 1);
  hly_vector_unref(b);
  assert_ok(&ctx, test_random_vector(&ctx, hly_type_decimal(3, 0), 10, 0, &seed, &b));
  BROKEN(b, "precision", ((int64_t *)b->values)[1] = 1000, ((int64_t *)b->values)[1] = 999);
  n = hly_vector_create(hly_type_of(HLY_NULL));
  assert_ok(&ctx, hly_vector_reset(&ctx, n, 5));
  BROKEN(n, "null type", hly_bits_set(n->validity, 2), hly_bits_clear(n->validity, 2));
  hly_vector_unref(a);
  hly_vector_unref(b);
  hly_vector_unref(d);
  hly_vector_unref(n);
  hly_vector_unref(s);
}

static void type_texts(void **state) {
  char out[200];
  for (uint32_t t = 0; t < N_TYPES; t++) {
    const hly_type *type = test_type(arena, types[t]);
    assert_string_equal(hly_type_print(type, out, sizeof out), types[t]);
    assert_true(hly_type_equal(type, test_type(arena, types[t])));
    for (uint32_t u = 0; u < N_TYPES; u++)
      if (u != t) assert_false(hly_type_equal(type, test_type(arena, types[u])));
    for (uint32_t size = 1; size < 30; size++) {
      hly_type_print(type, out, size);
      assert_true(strlen(out) < size && strncmp(out, types[t], strlen(out)) == 0);
    }
  }
  assert_true(hly_type_equal(test_type(arena, "struct<a:int>"), test_type(arena, "struct<b:int>")));
  assert_false(hly_type_equal(hly_type_decimal(10, 2), hly_type_decimal(10, 3)));
  hly_type collated = *hly_type_of(HLY_STRING);
  collated.collation = "UNICODE_CI";
  assert_false(hly_type_equal(&collated, hly_type_of(HLY_STRING)));
  assert_string_equal(hly_type_print(&collated, out, sizeof out), "string collate UNICODE_CI");
  assert_null(hly_type_decimal(39, 0));
  assert_null(hly_type_decimal(0, 0));
  assert_null(hly_type_decimal(5, 6));
  assert_null(hly_type_decimal(5, -1));
  assert_int_equal(hly_type_decimal(18, 18)->phys, HLY_PHYS_I64);
  assert_int_equal(hly_type_decimal(19, 0)->phys, HLY_PHYS_I128);
  assert_null(hly_type_of(HLY_DECIMAL));
  assert_null(hly_type_of(HLY_STRUCT));
  assert_null(hly_type_of((hly_kind)99));
}

static hly_status all_copies(void *arg) {
  const hly_type *type = arg;
  uint64_t seed = 31;
  hly_error_clear(&ctx.error);
  hly_vector *in = NULL, *dict = hly_vector_create(type), *out = hly_vector_create(type),
             *more = hly_vector_create(type);
  hly_status st = HLY_NOMEM;
  static const uint32_t sel[] = {1, 5, 7, 7, 2};
  if (!dict || !out || !more) goto out;
  HLY_TRY_GOTO(st, test_random_vector(&ctx, type, 10, 0, &seed, &in), out);
  HLY_TRY_GOTO(st, hly_vector_gather(&ctx, out, in, sel, 5), out);
  HLY_TRY_GOTO(st, hly_vector_slice(&ctx, out, in, NULL, 10), out);
  HLY_TRY_GOTO(st, hly_vector_set_dict(&ctx, dict, in, 8), out);
  memset(dict->indices, 0, 8 * 4);
  HLY_TRY_GOTO(st, hly_vector_need_validity(&ctx, dict), out);
  hly_bits_clear(dict->validity, 5);
  HLY_TRY_GOTO(st, hly_vector_append(&ctx, more, in, NULL, 10), out);
  HLY_TRY_GOTO(st, hly_vector_append(&ctx, more, dict, sel, 5), out);
  HLY_TRY_GOTO(st, hly_vector_append(&ctx, more, dict, sel, 5), out);
  HLY_TRY_GOTO(st, hly_vector_slice(&ctx, out, dict, sel, 5), out);
  HLY_TRY_GOTO(st, hly_vector_gather(&ctx, out, dict, sel, 5), out);
out:
  // Whatever failed: what is there is sound.
  if (more) sound(more);
  hly_vector_unref(in);
  hly_vector_unref(dict);
  hly_vector_unref(out);
  hly_vector_unref(more);
  return st;
}

static void failing_allocations(void **state) {
  for (uint32_t t = 0; t < N_TYPES; t++) {
    const hly_type *type = test_type(arena, types[t]);
    if (type->kind == HLY_NULL) continue;
    test_failing_allocations(all_copies, (void *)type, 200);
  }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {TEST(copies_keep_values),
                                     TEST(absent_validity_means_no_nulls),
                                     TEST(heaps_are_shared_or_compacted),
                                     TEST(slices_do_not_copy),
                                     TEST(constants_from_literals),
                                     TEST(batches),
                                     TEST(checks_fail),
                                     TEST(type_texts),
                                     TEST(failing_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
