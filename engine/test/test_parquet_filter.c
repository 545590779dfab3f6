// Filters handed down to the scan, row groups ruled out by statistics, and reading selected rows: never a row
// more or less than reading everything gives.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "parquet/reader.h"
#include "scan_run.h"
#include "type_text.h"

static char *path_of(const char *name) {
  static char paths[8][512];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/parquet/%s.parquet", TEST_DATA, name);
  return path;
}

// ---- predicates over "groups": k bigint (i, null where i % 100 is 99), s string ("key %04d"), x double (i /
// 2, NaN at 150), d decimal(10,2) (i / 100), late string; ten row groups of 40 rows

#define GROUPS "struct<k:bigint,s:string,x:double,d:decimal(10,2),late:string>"

static const hly_type *boolean(void) {
  return hly_type_of(HLY_BOOLEAN);
}

static Halley__Expr *col(expr_builder *b, const hly_schema *s, uint32_t i) {
  return x_col(b, (int32_t)i, s->fields[i].type, true);
}
static Halley__Expr *compare_k(expr_builder *b, const hly_schema *s, const char *cls, int64_t v) {
  return x_call(b, cls, boolean(), 2, col(b, s, 0), x_int(b, s->fields[0].type, v));
}
static Halley__Expr *compare_s(expr_builder *b, const hly_schema *s, const char *cls, const char *v) {
  return x_call(b, cls, boolean(), 2, col(b, s, 1), x_str(b, v));
}
static Halley__Expr *compare_x(expr_builder *b, const hly_schema *s, const char *cls, double v) {
  return x_call(b, cls, boolean(), 2, col(b, s, 2), x_float(b, s->fields[2].type, v));
}
static Halley__Expr *compare_d(expr_builder *b, const hly_schema *s, const char *cls, int64_t v) {
  return x_call(b, cls, boolean(), 2, col(b, s, 3), x_int(b, s->fields[3].type, v));
}
static Halley__Expr *both(expr_builder *b, const char *cls, Halley__Expr *l, Halley__Expr *r) {
  return x_call(b, cls, boolean(), 2, l, r);
}

enum { N_PREDICATES = 28 };
static int predicate; // which one `build` makes

// Rows it keeps and row groups (of ten) that statistics rule out.
static const struct {
  int rows, pruned;
} expected[N_PREDICATES] = {
    {1, 9},  {80, 8}, {79, 7},  {198, 5}, {0, 10},  {396, 0}, {4, 6},  {2, 8},  {40, 9}, {10, 9},
    {0, 10}, {1, 9},  {99, 7},  {40, 9},  {399, 0}, {1, 0},   {11, 0}, {40, 9}, {0, 10}, {41, 8},
    {2, 8},  {0, 10}, {320, 2}, {1, 9},   {4, 0},   {1, 9},   {0, 10}, {80, 8},
};

static Halley__Expr *build(expr_builder *b, const hly_schema *s) {
  switch (predicate) {
  case 0: return compare_k(b, s, "EqualTo", 123);
  case 1: return compare_k(b, s, "LessThan", 80);
  case 2: return both(b, "And", compare_k(b, s, "GreaterThanOrEqual", 60), compare_k(b, s, "LessThan", 140));
  case 3: return compare_k(b, s, "GreaterThanOrEqual", 200);
  case 4: return compare_k(b, s, "GreaterThan", 398);
  case 5: return x_call(b, "IsNotNull", boolean(), 1, col(b, s, 0));
  case 6: return x_call(b, "IsNull", boolean(), 1, col(b, s, 0));
  case 7: return both(b, "Or", compare_k(b, s, "EqualTo", 5), compare_k(b, s, "EqualTo", 305));
  case 8: return compare_s(b, s, "LessThan", "key 0040");
  case 9:
    return both(b, "And", compare_s(b, s, "GreaterThanOrEqual", "key 0390"),
                compare_s(b, s, "LessThan", "l"));
  case 10: return compare_s(b, s, "EqualTo", "kez");
  case 11: return compare_s(b, s, "EqualTo", "key 0077");
  // A NaN is greater than any number, equal to itself, and in no statistics. Row 150 has it.
  case 12: return both(b, "And", compare_x(b, s, "LessThan", 50.0), compare_k(b, s, "LessThan", 400));
  case 13: return compare_d(b, s, "LessThan", 40);
  case 14: return compare_x(b, s, "GreaterThanOrEqual", 0.5);
  case 15: return compare_x(b, s, "GreaterThanOrEqual", 1000.0);
  case 16: return compare_x(b, s, "GreaterThan", 194.5);
  case 17: return compare_d(b, s, "GreaterThanOrEqual", 360);
  case 18: return compare_d(b, s, "EqualTo", 100000);
  case 19: return compare_d(b, s, "LessThanOrEqual", 40);
  case 20:
    return x_call(b, "In", boolean(), 4, col(b, s, 0), x_int(b, s->fields[0].type, 41),
                  x_int(b, s->fields[0].type, 1000), x_int(b, s->fields[0].type, 200));
  case 21: return x_call(b, "In", boolean(), 3, col(b, s, 1), x_str(b, "a"), x_str(b, "z"));
  case 22: return x_call(b, "Not", boolean(), 1, compare_s(b, s, "LessThan", "key 0080"));
  // The literal on the left.
  case 23: return x_call(b, "EqualTo", boolean(), 2, x_int(b, s->fields[0].type, 123), col(b, s, 0));
  // A condition that statistics know nothing about.
  case 24:
    return x_call(b, "IsNull", boolean(), 1,
                  both(b, "Or", compare_k(b, s, "LessThan", 0),
                       x_call(b, "Not", boolean(), 1, compare_k(b, s, "LessThan", 10000))));
  case 25: return x_call(b, "EqualNullSafe", boolean(), 2, col(b, s, 0), x_int(b, s->fields[0].type, 7));
  case 26: return compare_x(b, s, "LessThan", -0.0); // 0.0 is not less
  default: return both(b, "And", compare_k(b, s, "LessThan", 80), compare_x(b, s, "LessThan", 1e9));
  }
}

static void assert_lines(const char *what, int p, const char *a, const char *b) {
  if (strcmp(a ? a : "", b ? b : "") != 0) fail_msg("predicate %d: %s differs:\n%s\n---\n%s", p, what, a, b);
}

static void filters_and_pruning(void **state) {
  static const uint32_t sizes[] = {8192, 1, 7, 32, 64, 333};
  for (predicate = 0; predicate < N_PREDICATES; predicate++) {
    scan_run plain = {.schema = GROUPS, .n_splits = 1, .filter = build};
    plain.splits[0].path = path_of("groups");
    assert_int_equal(scan_run_all(&plain), HLY_OK);
    if ((int)plain.n_lines != expected[predicate].rows)
      fail_msg("predicate %d: %zu rows, expected %d", predicate, plain.n_lines, expected[predicate].rows);
    assert_int_equal(plain.metrics[HALLEY__METRIC__OUTPUT_ROWS], 400); // before the filter
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      for (int mode = 1; mode < 4; mode++) {
        scan_run r = {.schema = GROUPS, .n_splits = 1, .filter = build, .batch_rows = sizes[i]};
        r.splits[0].path = path_of("groups");
        r.row_filter = mode & 1;
        if (mode & 2) r.prune = build;
        assert_int_equal(scan_run_all(&r), HLY_OK);
        assert_true(r.most_rows <= sizes[i]);
        assert_lines(mode & 2 ? "pruned" : "late", predicate, plain.lines, r.lines);
        if (mode & 2) {
          if (r.metrics[HALLEY__METRIC__ROW_GROUPS_PRUNED] != expected[predicate].pruned)
            fail_msg("predicate %d: %d row groups ruled out, expected %d", predicate,
                     (int)r.metrics[HALLEY__METRIC__ROW_GROUPS_PRUNED], expected[predicate].pruned);
        } else if (mode & 1) {
          assert_int_equal(r.metrics[HALLEY__METRIC__ROWS_PRUNED], 400 - expected[predicate].rows);
        }
        scan_run_deinit(&r);
      }
    scan_run_deinit(&plain);
  }
}

// ---- errors: rows before the bad one come out

static Halley__Expr *divide(expr_builder *b, const hly_schema *s) {
  const hly_type *t = s->fields[0].type;
  Halley__Expr *minus = x_call(b, "Subtract", t, 2, x_col(b, 0, t, true), x_int(b, t, 137));
  x_param_string(b, minus, "evalContext.evalMode", "ANSI");
  Halley__Param *loss = x_param(b, minus, "evalContext.allowDecimalPrecisionLoss");
  loss->value_case = HALLEY__PARAM__VALUE_BOOL_VALUE;
  loss->bool_value = true;
  Halley__Expr *e = x_call(b, "Remainder", t, 2, x_int(b, t, 1000), minus);
  x_param_string(b, e, "evalContext.evalMode", "ANSI");
  loss = x_param(b, e, "evalContext.allowDecimalPrecisionLoss");
  loss->value_case = HALLEY__PARAM__VALUE_BOOL_VALUE;
  loss->bool_value = true;
  return x_call(b, "LessThanOrEqual", boolean(), 2, x_int(b, t, 0), e);
}

// The declined row is Spark's to evaluate, and Spark throws.
static hly_status throwing_dispatch(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call,
                                    hly_error *error) {
  call->n_done = 0;
  call->error = 77;
  return HLY_OK;
}

static void errors_after_rows(void **state) {
  test_host host;
  test_host_init(&host, -1);
  host.host.dispatch = throwing_dispatch;
  // 0 <= 1000 % (k - 137) divides by zero at row 137 and is true for those before it but 99, which is null.
  for (int late = 0; late < 2; late++)
    for (uint32_t size = 1; size < 300; size = size * 3 + 1) {
      scan_run r = {
          .schema = GROUPS, .n_splits = 1, .filter = divide, .batch_rows = size, .row_filter = late};
      r.splits[0].path = path_of("groups");
      r.host = &host.host;
      assert_int_equal(scan_run_all(&r), HLY_ERR);
      assert_int_equal(r.error.jvm_ref, 77);
      assert_int_equal(r.n_lines, 136);
      scan_run_deinit(&r);
      r.ignore_corrupt = true; // an error of the filter is none of the file
      assert_int_equal(scan_run_all(&r), HLY_ERR);
      assert_int_equal(r.n_lines, 136);
      scan_run_deinit(&r);
    }
}

// ---- selections against everything

static const char *const files[] = {"types",     "types_v2", "types_v2_plain", "types_plain", "codec_snappy",
                                    "fallback",  "delta",    "split",          "spark_int96", "spark_v2",
                                    "wide_flba", "nulls",    "groups"};

static const struct {
  const char *file, *expected;
} schema_of[] = {{"types_v2", "types"},
                 {"types_v2_plain", "types"},
                 {"types_plain", "types"},
                 {"wide_flba", "wide_flba@2"}};

static hly_pq_reader *open_reader(hly_ctx *ctx, const char *file, const hly_pq_request *request) {
  hly_file *f;
  hly_pq_reader *r;
  bool more;
  assert_ok(ctx, hly_file_open(ctx, path_of(file), true, 0, &f));
  assert_ok(ctx, hly_pq_reader_open(ctx, f, request, 0, -1, &r));
  assert_ok(ctx, hly_pq_reader_next_group(r, NULL, &more));
  assert_true(more);
  return r;
}

static void selections(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  uint64_t seed = 88172645463325252ull;
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    hly_arena *arena = hly_arena_create();
    const char *expected_name = files[f];
    for (size_t i = 0; i < sizeof schema_of / sizeof *schema_of; i++)
      if (strcmp(schema_of[i].file, files[f]) == 0) expected_name = schema_of[i].expected;
    char path[512], text[4096];
    snprintf(path, sizeof path, "%s/parquet/%s.txt", TEST_DATA, expected_name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_non_null(fgets(text, sizeof text, in));
    fclose(in);
    text[strcspn(text, "\n")] = 0;
    hly_schema schema = test_schema(arena, text);
    hly_pq_request request = {.fields = schema.fields, .n_fields = schema.n_fields, .case_sensitive = true};
    for (int round = 0; round < 40; round++) {
      hly_pq_reader *all = open_reader(&ctx, files[f], &request),
                    *some = open_reader(&ctx, files[f], &request);
      for (uint32_t i = 0; i < schema.n_fields; i++) some->late[i] = (uint8_t)(i % 2);
      while (all->rows_left > 0) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        uint32_t n = (uint32_t)(seed % 60) + 1, density = (uint32_t)(seed >> 20) % 5, sel[64], n_sel = 0;
        if (n > all->rows_left) n = (uint32_t)all->rows_left;
        for (uint32_t i = 0; i < n; i++) {
          seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
          static const uint32_t out_of[] = {1, 2, 10, 30, 0};
          if (out_of[density] && seed % out_of[density] == 0) sel[n_sel++] = i;
        }
        for (uint32_t i = 0; i < schema.n_fields; i++) {
          hly_vector *a = hly_vector_create(schema.fields[i].type),
                     *b = hly_vector_create(schema.fields[i].type);
          char message[256];
          assert_ok(&ctx, hly_pq_reader_read(all, i, n, a));
          if (n_sel == 0 && seed & 1) {
            hly_pq_reader_skip(some, i, n);
          } else {
            assert_ok(&ctx, hly_pq_reader_select(some, i, n, sel, n_sel, b));
            assert_int_equal(b->n_rows, n_sel);
            if (!hly_vector_check(b, message, sizeof message)) fail_msg("%s: %s", files[f], message);
            hly_arena *texts = hly_arena_create();
            for (uint32_t k = 0; k < n_sel; k++) {
              const char *x = test_value_text(texts, a, sel[k]), *y = test_value_text(texts, b, k);
              if (strcmp(x, y) != 0)
                fail_msg("%s, column %s: row %u of %u is %s, selected %s", files[f], schema.fields[i].name,
                         sel[k], n, x, y);
            }
            hly_arena_destroy(texts);
          }
          hly_vector_unref(a);
          hly_vector_unref(b);
        }
        all->rows_left -= n;
      }
      hly_pq_reader_close(all);
      hly_pq_reader_close(some);
    }
    hly_arena_destroy(arena);
  }
  test_ctx_deinit(&ctx);
}

static Halley__Expr *build_n(expr_builder *b, const hly_schema *s) {
  return x_call(b, "EqualTo", boolean(), 2, col(b, s, 0), x_int(b, s->fields[0].type, 250));
}

// A page without survivors is never decompressed, a chunk without any never read.
static void pages_are_passed(void **state) {
  scan_run r = {.schema = "struct<n:bigint,s:string>",
                .n_splits = 1,
                .filter = build_n,
                .row_filter = true,
                .batch_rows = 8};
  r.splits[0].path = path_of("fallback");
  assert_int_equal(scan_run_all(&r), HLY_OK);
  assert_int_equal(r.n_lines, 1);
  assert_true(r.metrics[HALLEY__METRIC__PAGES_PRUNED] > 0);
  scan_run_deinit(&r);
  predicate = 0;
  scan_run late = {.schema = GROUPS, .n_splits = 1, .filter = build, .row_filter = true};
  late.splits[0].path = path_of("groups");
  assert_int_equal(scan_run_all(&late), HLY_OK);
  scan_run all = {.schema = GROUPS, .n_splits = 1, .filter = build};
  all.splits[0].path = path_of("groups");
  assert_int_equal(scan_run_all(&all), HLY_OK);
  assert_true(late.metrics[HALLEY__METRIC__BYTES_SCANNED] < all.metrics[HALLEY__METRIC__BYTES_SCANNED]);
  scan_run_deinit(&late);
  scan_run_deinit(&all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(filters_and_pruning),
      cmocka_unit_test(errors_after_rows),
      cmocka_unit_test(selections),
      cmocka_unit_test(pages_are_passed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
