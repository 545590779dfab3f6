// Golden files (data/parquet/make.py) through the scan operator: every row as Spark reads it, whatever the
// batch size and the CPU level.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "fixture.h"
#include "scan_run.h"
#include "type_text.h"

static char *path_of(const char *name) {
  static char paths[8][512];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/parquet/%s.parquet", TEST_DATA, name);
  return path;
}

// A whole text file: its first line, and the rest.
static char *read_expected(const char *name, char **schema) {
  char path[512];
  snprintf(path, sizeof path, "%s/parquet/%s.txt", TEST_DATA, name);
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("no file %s", path);
  char *text = calloc(1, 1 << 20);
  size_t n = fread(text, 1, (1 << 20) - 1, f);
  text[n] = 0;
  fclose(f);
  *schema = text;
  char *rest = strchr(text, '\n');
  *rest++ = 0;
  return rest;
}

static void assert_lines(const char *what, const char *expected, const char *found) {
  if (strcmp(expected, found ? found : "") == 0) return;
  const char *a = expected, *b = found ? found : "";
  int line = 1;
  while (*a && *a == *b) {
    if (*a == '\n') line++;
    a++;
    b++;
  }
  while (a > expected && a[-1] != '\n') {
    a--;
    b--;
  }
  fail_msg("%s, line %d:\nexpected %.*s\n   found %.*s", what, line, (int)strcspn(a, "\n"), a,
           (int)strcspn(b, "\n"), b);
}

static const struct {
  const char *file, *expected;
} golden[] = {{"types", "types"},
              {"types_v2", "types"},
              {"types_v2_plain", "types"},
              {"types_plain", "types"},
              {"codec_snappy", "codec_snappy"},
              {"codec_zstd", "codec_snappy"},
              {"codec_gzip", "codec_snappy"},
              {"codec_lz4", "codec_snappy"},
              {"fallback", "fallback"},
              {"delta", "delta"},
              {"split", "split"},
              {"spark_int96", "spark_int96"},
              {"spark_v2", "spark_v2"},
              {"unsigned", "unsigned"},
              {"wide", "wide@1"},
              {"wide", "wide@2"},
              {"wide", "wide@3"},
              {"wide", "wide@4"},
              {"wide_flba", "wide_flba@1"},
              {"wide_flba", "wide_flba@2"},
              {"legacy", "legacy"},
              {"legacy_int96", "legacy_int96"},
              {"nulls", "nulls"},
              {"empty", "empty"},
              {"groups", "groups"},
              {"beside", "beside"}};
enum { N_GOLDEN = sizeof golden / sizeof *golden };

static void golden_files(void **state) {
  static const uint32_t sizes[] = {8192, 1, 7, 64, 100};
  for (int level = 0; level <= (int)hly_cpu_best(); level++) {
    hly_cpu_force((hly_cpu)level);
    for (int g = 0; g < N_GOLDEN; g++) {
      char *schema, *expected = read_expected(golden[g].expected, &schema);
      for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        scan_run r = {.schema = schema,
                      .splits = {{path_of(golden[g].file), 0, 0}},
                      .n_splits = 1,
                      .batch_rows = sizes[i]};
        hly_status st = scan_run_all(&r);
        char message[512];
        hly_error_print(&r.error, message, sizeof message);
        if (st != HLY_OK) fail_msg("%s: %s", golden[g].expected, message);
        assert_true(r.most_rows <= sizes[i]);
        assert_lines(golden[g].expected, expected, r.lines);
        scan_run_deinit(&r);
      }
      free(schema);
    }
  }
  hly_cpu_force(hly_cpu_best());
}

// Wherever a file is cut, each row group is read by exactly one split.
static void splits(void **state) {
  char *schema, *expected = read_expected("groups", &schema);
  const char *path = path_of("groups");
  FILE *f = fopen(path, "rb");
  fseek(f, 0, SEEK_END);
  int64_t size = ftell(f);
  fclose(f);
  for (int64_t cut = 1; cut < size; cut += 97) {
    scan_run r = {.schema = schema, .splits = {{path, 0, cut}, {path, cut, size - cut}}, .n_splits = 2};
    assert_int_equal(scan_run_all(&r), HLY_OK);
    assert_lines("splits", expected, r.lines);
    assert_int_equal(r.metrics[HALLEY__METRIC__ROW_GROUPS_READ], 10);
    scan_run_deinit(&r);
  }
  free(schema);
}

// Columns of a split that are the same for all its rows; a scan of nothing but them still counts rows.
static void constant_columns(void **state) {
  scan_run r = {.schema = "struct<a:bigint>", .constants = "struct<p:int,q:string,r:string>", .n_splits = 1};
  r.splits[0].path = path_of("beside");
  assert_int_equal(scan_run_all(&r), HLY_OK);
  assert_string_equal(r.lines, "1\t7\tnull\tx37\n2\t7\tnull\tx37\n3\t7\tnull\tx37\n");
  scan_run_deinit(&r);
  scan_run none = {.schema = "struct<>", .n_splits = 2, .batch_rows = 64};
  none.splits[0].path = path_of("groups");
  none.splits[1].path = path_of("beside");
  assert_int_equal(scan_run_all(&none), HLY_OK);
  assert_int_equal(none.n_lines, 403);
  assert_int_equal(none.most_rows, 40);
  scan_run_deinit(&none);
  scan_run index = {.schema = "struct<_tmp_metadata_row_index:bigint>", .n_splits = 1};
  index.splits[0] = (scan_split){path_of("groups"), 0, 0};
  assert_int_equal(scan_run_all(&index), HLY_OK);
  char expected[400 * 5] = "", *p = expected;
  for (int i = 0; i < 400; i++) p += sprintf(p, "%d\n", i);
  assert_lines("row index", expected, index.lines);
  scan_run_deinit(&index);
}

static void names(void **state) {
  scan_run r = {.schema = "struct<Z:string,A:bigint>", .n_splits = 1, .case_insensitive = true};
  r.splits[0].path = path_of("beside");
  assert_int_equal(scan_run_all(&r), HLY_OK);
  assert_string_equal(r.lines, "x70\t1\nx71\t2\nx72\t3\n");
  scan_run_deinit(&r);
  scan_run sensitive = {.schema = "struct<Z:string,a:bigint>", .n_splits = 1};
  sensitive.splits[0].path = path_of("beside");
  assert_int_equal(scan_run_all(&sensitive), HLY_OK);
  assert_string_equal(sensitive.lines, "null\t1\nnull\t2\nnull\t3\n");
  scan_run_deinit(&sensitive);
  // Nested columns and names whose case only Unicode's rules fold are left to Spark.
  scan_run nested = {.schema = "struct<st:struct<x:bigint>>", .n_splits = 1};
  assert_int_equal(scan_run_all(&nested), HLY_REFUSED);
  scan_run unicode = {.schema = "struct<\xc3\x84:bigint>", .n_splits = 1, .case_insensitive = true};
  assert_int_equal(scan_run_all(&unicode), HLY_REFUSED);
  unicode.splits[0].path = path_of("beside");
  unicode.case_insensitive = false;
  assert_int_equal(scan_run_all(&unicode), HLY_OK);
  assert_string_equal(unicode.lines, "null\nnull\nnull\n");
  scan_run_deinit(&unicode);
}

// Pairs that Spark's reader refuses, with its error's parameters.
static void type_mismatches(void **state) {
  static const struct {
    const char *file, *schema, *column, *expected, *actual;
  } cases[] = {{"wide", "struct<l:int>", "[l]", "int", "INT64"},
               {"wide", "struct<i:float>", "[i]", "float", "INT32"},
               {"wide", "struct<i:decimal(9,0)>", "[i]", "decimal(9,0)", "INT32"},
               {"wide", "struct<d92:decimal(9,1)>", "[d92]", "decimal(9,1)", "INT32"},
               {"wide", "struct<d92:decimal(9,3)>", "[d92]", "decimal(9,3)", "INT32"},
               {"wide", "struct<i:string>", "[i]", "string", "INT32"},
               {"wide", "struct<i:timestamp_ntz>", "[i]", "timestamp_ntz", "INT32"},
               {"wide", "struct<l:timestamp>", "[l]", "timestamp", "INT64"},
               {"types", "struct<d:float>", "[d]", "float", "DOUBLE"},
               {"types", "struct<s:int>", "[s]", "int", "BINARY"},
               {"types", "struct<b:int>", "[b]", "int", "BOOLEAN"},
               {"wide_flba", "struct<d92:string>", "[d92]", "string", "FIXED_LEN_BYTE_ARRAY"},
               {"spark_int96", "struct<t:bigint>", "[t]", "bigint", "INT96"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    scan_run r = {.schema = cases[i].schema, .splits = {{path_of(cases[i].file), 0, 0}}, .n_splits = 1};
    assert_int_equal(scan_run_all(&r), HLY_ERR);
    assert_int_equal(r.error.id, HLY_E_FILE_COLUMN_TYPE);
    assert_int_equal(r.error.n_params, 4);
    assert_string_equal(r.error.text + r.error.params[1].value, cases[i].column);
    assert_string_equal(r.error.text + r.error.params[2].value, cases[i].expected);
    assert_string_equal(r.error.text + r.error.params[3].value, cases[i].actual);
    scan_run_deinit(&r);
    // Spark counts it among the errors of corrupt files.
    r.ignore_corrupt = true;
    assert_int_equal(scan_run_all(&r), HLY_OK);
    assert_int_equal(r.n_lines, 0);
    scan_run_deinit(&r);
  }
}

static void ancient_values(void **state) {
  // Files of other writers follow the session's mode; day 0001-01-01 is in the file.
  scan_run r = {.schema = "struct<day:date>", .n_splits = 1, .datetime_rebase = "EXCEPTION"};
  r.splits[0].path = path_of("wide");
  assert_int_equal(scan_run_all(&r), HLY_ERR);
  assert_int_equal(r.error.id, HLY_E_DATETIME_REBASE);
  assert_string_equal(r.error.text + r.error.params[0].value, "Parquet");
  scan_run_deinit(&r);
  r.datetime_rebase = "LEGACY";
  assert_int_equal(scan_run_all(&r), HLY_OK);
  assert_string_equal(r.lines, "0\n-1\nnull\n18000\n2932896\n-719160\n");
  scan_run_deinit(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_files), cmocka_unit_test(splits),          cmocka_unit_test(constant_columns),
      cmocka_unit_test(names),        cmocka_unit_test(type_mismatches), cmocka_unit_test(ancient_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
