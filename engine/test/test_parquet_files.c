// Files that are not what they should be: each gives an error that names the file, and nothing worse. Files
// through the host; snappy; allocations that fail.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "parquet/describe.h"
#include "parquet/reader.h"
#include "parquet/snappy.h"
#include "scan_run.h"
#include "type_text.h"

static char *path_of(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/parquet/%s.parquet", TEST_DATA, name);
  return path;
}

static uint8_t *read_file(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("no file %s", path);
  uint8_t *bytes = calloc(1, 1 << 20);
  *n = fread(bytes, 1, 1 << 20, f);
  fclose(f);
  return bytes;
}

static char temp_path[256];

static void write_temp(const void *bytes, size_t n) {
  const char *dir = getenv("TMPDIR");
  snprintf(temp_path, sizeof temp_path, "%s/halley bad %d.parquet", dir ? dir : "/tmp", (int)getpid());
  FILE *f = fopen(temp_path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  fclose(f);
}

static const char *param(const hly_error *e, const char *name) {
  for (int i = 0; i < e->n_params; i++)
    if (strcmp(e->params[i].name, name) == 0) return e->text + e->params[i].value;
  return "";
}

// Fails as a file error whose message has `text`; ignored where corrupt files are.
static void assert_bad(const char *schema, hly_error_id id, const char *text) {
  scan_run r = {.schema = schema, .splits = {{temp_path, 0, 0}}, .n_splits = 1};
  assert_int_equal(scan_run_all(&r), HLY_ERR);
  assert_int_equal(r.error.id, id);
  if (!strstr(param(&r.error, "path"), "halley%20bad")) fail_msg("path %s", param(&r.error, "path"));
  if (!strstr(param(&r.error, "message"), text))
    fail_msg("\"%s\" instead of \"%s\"", param(&r.error, "message"), text);
  scan_run_deinit(&r);
  r.ignore_corrupt = true;
  if (id == HLY_E_FILE_NOT_FOUND) {
    assert_int_equal(scan_run_all(&r), HLY_ERR);
    r.ignore_missing = true;
  }
  assert_int_equal(scan_run_all(&r), HLY_OK);
  scan_run_deinit(&r);
}

static void bad_files(void **state) {
  const char *schema = "struct<i64:bigint,s:string>";
  write_temp("", 0);
  assert_bad(schema, HLY_E_FILE_READ, "not a Parquet file");
  write_temp("this is text, not Parquet at all", 32);
  assert_bad(schema, HLY_E_FILE_READ, "not a Parquet file");
  unlink(temp_path);
  assert_bad(schema, HLY_E_FILE_NOT_FOUND, "No such file");
  size_t n;
  uint8_t *bytes = read_file(path_of("types"), &n), *copy = malloc(n);
  for (size_t cut = 1; cut < n; cut += 997) { // truncated
    write_temp(bytes, n - cut);
    assert_bad(schema, HLY_E_FILE_READ, "");
  }
  memcpy(copy, bytes, n);
  memcpy(copy + n - 4, "PARE", 4);
  write_temp(copy, n);
  assert_bad(schema, HLY_E_FILE_READ, "encrypted");
  memcpy(copy, bytes, n);
  memcpy(copy + n - 8, "\xff\xff\xff\x7f", 4); // a footer longer than the file
  write_temp(copy, n);
  assert_bad(schema, HLY_E_FILE_READ, "footer of 2147483647 bytes");
  memcpy(copy, bytes, n);
  uint32_t footer;
  memcpy(&footer, bytes + n - 8, 4);
  memset(copy + n - 8 - footer, 0xff, footer);
  write_temp(copy, n);
  assert_bad(schema, HLY_E_FILE_READ, "corrupt footer");
  memcpy(copy, bytes, n);
  memset(copy + 4, 0xff, n - 12 - footer); // pages overwritten, metadata whole
  write_temp(copy, n);
  assert_bad(schema, HLY_E_FILE_READ, "page");
  unlink(temp_path);
  free(bytes);
  free(copy);
}

// Damage anywhere: an error or other values, never a crash, a leak or an allocation without bounds.
static void damaged_bytes(void **state) {
  static const char *const files[] = {"types", "types_v2", "codec_gzip",  "codec_zstd", "codec_lz4", "delta",
                                      "split", "fallback", "spark_int96", "nulls",      "wide_flba"};
  uint64_t seed = 42;
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    size_t n;
    uint8_t *bytes = read_file(path_of(files[f]), &n), *copy = malloc(n);
    char path[512], schema[4096];
    snprintf(path, sizeof path, "%s/parquet/%s.txt", TEST_DATA,
             strcmp(files[f], "types_v2") == 0    ? "types"
             : strncmp(files[f], "codec", 5) == 0 ? "codec_snappy"
             : strcmp(files[f], "wide_flba") == 0 ? "wide_flba@1"
                                                  : files[f]);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_non_null(fgets(schema, sizeof schema, in));
    fclose(in);
    schema[strcspn(schema, "\n")] = 0;
    hly_arena *arena = hly_arena_create();
    hly_schema fields = test_schema(arena, schema);
    hly_pq_request request = {.fields = fields.fields, .n_fields = fields.n_fields, .case_sensitive = true};
    for (int round = 0; round < 400; round++) {
      memcpy(copy, bytes, n);
      for (int k = 0; k <= round % 3; k++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        copy[(seed >> 20) % n] = (uint8_t)(seed >> 56);
      }
      hly_ctx ctx = {.batch_rows = 64};
      hly_file *file;
      hly_pq_reader *r = NULL;
      int64_t before = hly_mem_in_use();
      assert_int_equal(hly_file_open_memory(&ctx, "damaged", copy, n, &file), HLY_OK);
      hly_status st = hly_pq_reader_open(&ctx, file, &request, 0, -1, &r);
      bool more = true;
      while (st == HLY_OK && (st = hly_pq_reader_next_group(r, NULL, &more)) == HLY_OK && more)
        for (int steps = 0; st == HLY_OK && r->rows_left > 0 && steps < 200; steps++) {
          uint32_t step = r->rows_left < 64 ? (uint32_t)r->rows_left : 64;
          for (uint32_t i = 0; st == HLY_OK && i < fields.n_fields; i++) {
            char message[128];
            hly_vector *v = hly_vector_create(fields.fields[i].type);
            st = hly_pq_reader_read(r, i, step, v);
            // Unscaled values of a damaged file may have any number of digits, for Spark too.
            if (st == HLY_OK && !hly_vector_check(v, message, sizeof message) &&
                !strstr(message, "past its precision"))
              fail_msg("%s: %s", files[f], message);
            hly_vector_unref(v);
          }
          r->rows_left -= step;
        }
      if (st != HLY_OK) {
        assert_int_equal(st, HLY_ERR);
        assert_int_equal(ctx.error.status, HLY_ERR);
      }
      hly_pq_reader_close(r);
      assert_int_equal(hly_mem_in_use(), before);
    }
    hly_arena_destroy(arena);
    free(bytes);
    free(copy);
  }
}

// ---- names

static void duplicate_names(void **state) {
  // "types" has columns d and day; renaming "b" to "D" makes d ambiguous without regard to case.
  size_t n;
  uint8_t *bytes = read_file(path_of("types"), &n);
  uint32_t footer;
  memcpy(&footer, bytes + n - 8, 4);
  bool renamed = false;
  for (uint8_t *p = bytes + n - 8 - footer; p < bytes + n - 8 && !renamed; p++)
    if (p[0] == 0x18 && p[1] == 1 && p[2] == 'b') {
      p[2] = 'D';
      renamed = true;
    }
  assert_true(renamed);
  write_temp(bytes, n);
  scan_run r = {
      .schema = "struct<d:double>", .splits = {{temp_path, 0, 0}}, .n_splits = 1, .case_insensitive = true};
  assert_int_equal(scan_run_all(&r), HLY_ERR);
  assert_string_equal(param(&r.error, "message"),
                      "Found duplicate field(s) \"d\": [D, d] in case-insensitive mode.");
  scan_run_deinit(&r);
  r.case_insensitive = false;
  assert_int_equal(scan_run_all(&r), HLY_OK);
  assert_int_equal(r.n_lines, 100);
  scan_run_deinit(&r);
  scan_run ids = {
      .schema = "struct<id_1:double>", .splits = {{temp_path, 0, 0}}, .n_splits = 1, .field_ids = true};
  assert_int_equal(scan_run_all(&ids), HLY_ERR);
  assert_non_null(strstr(param(&ids.error, "message"), "expects field Ids"));
  scan_run_deinit(&ids);
  unlink(temp_path);
  free(bytes);
}

// ---- files of the host

static uint8_t *host_bytes;
static size_t host_size;
static int host_open, host_reads;

static hly_status host_file_open(void *arg, const char *uri, int64_t *file, hly_error *error) {
  *file = strcmp(uri, "mem://groups") == 0 ? 5 : 0; // 0: there is none
  if (*file) host_open++;
  return HLY_OK;
}
static hly_status host_file_read(void *arg, int64_t file, int64_t position, void *out, int32_t n,
                                 hly_error *error) {
  assert_int_equal(file, 5);
  assert_true(position >= 0 && (size_t)position + (size_t)n <= host_size);
  memcpy(out, host_bytes + position, (size_t)n);
  host_reads++;
  return HLY_OK;
}
static void host_file_close(void *arg, int64_t file) {
  host_open--;
}

static void host_files(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  host.host.file_open = host_file_open;
  host.host.file_read = host_file_read;
  host.host.file_close = host_file_close;
  test_ctx_init(&ctx, &host);
  host_bytes = read_file(path_of("groups"), &host_size);
  hly_arena *arena = hly_arena_create();
  hly_schema fields = test_schema(arena, "struct<k:bigint,s:string,x:double,d:decimal(10,2),late:string>");
  hly_pq_request request = {.fields = fields.fields, .n_fields = fields.n_fields, .case_sensitive = true};
  hly_file *file;
  hly_pq_reader *r;
  bool more;
  int64_t rows = 0;
  assert_ok(&ctx, hly_file_open(&ctx, "mem://groups", false, (int64_t)host_size, &file));
  assert_ok(&ctx, hly_pq_reader_open(&ctx, file, &request, 0, -1, &r));
  for (;;) {
    assert_ok(&ctx, hly_pq_reader_next_group(r, NULL, &more));
    if (!more) break;
    for (uint32_t i = 0; i < 5; i++) {
      hly_vector *v = hly_vector_create(fields.fields[i].type);
      assert_ok(&ctx, hly_pq_reader_read(r, i, (uint32_t)r->rows_left, v));
      hly_vector_unref(v);
    }
    rows += r->rows_left;
  }
  assert_int_equal(rows, 400);
  assert_true(host_reads <= 12); // the footer, and small chunks of a row group together
  hly_pq_reader_close(r);
  assert_int_equal(host_open, 0);
  assert_int_equal(hly_file_open(&ctx, "mem://other", false, 100, &file), HLY_ERR);
  assert_int_equal(ctx.error.id, HLY_E_FILE_NOT_FOUND);
  hly_error_clear(&ctx.error);
  hly_arena_destroy(arena);
  free(host_bytes);
  test_ctx_deinit(&ctx);
}

static void snappy_round_trips(void **state) {
  uint64_t seed = 7;
  for (size_t n = 0; n < 200000; n = n * 2 + n / 3 + 1)
    for (int kind = 0; kind < 4; kind++) {
      uint8_t *in = malloc(n + 1), *packed = malloc(hly_snappy_bound(n)), *out = malloc(n ? n : 1);
      for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        in[i] = kind == 0   ? 0
                : kind == 1 ? (uint8_t)(seed >> 56)
                : kind == 2 ? (uint8_t)(i % 7)
                            : "abcd"[(seed >> 60) % 4];
      }
      size_t n_packed = hly_snappy_compress(in, n, packed), length;
      assert_true(n_packed <= hly_snappy_bound(n));
      assert_true(hly_snappy_length(packed, n_packed, &length));
      assert_int_equal(length, n);
      assert_true(hly_snappy_decompress(packed, n_packed, out, n));
      assert_memory_equal(in, out, n);
      if (n) assert_false(hly_snappy_decompress(packed, n_packed - 1, out, n));
      free(in);
      free(packed);
      free(out);
    }
}

static Halley__Expr *late_filter(expr_builder *b, const hly_schema *s) {
  return x_call(b, "LessThan", hly_type_of(HLY_BOOLEAN), 2, x_col(b, 0, s->fields[0].type, true),
                x_int(b, s->fields[0].type, 150));
}

static void failing_allocations(void **state) {
  static char path[512];
  snprintf(path, sizeof path, "%s/parquet/groups.parquet", TEST_DATA);
  scan_run late = {.schema = "struct<k:bigint,s:string,x:double,d:decimal(10,2),late:string,none:int>",
                   .splits = {{path, 0, 0}},
                   .n_splits = 1,
                   .constants = "struct<p:int,q:string>",
                   .row_filter = true,
                   .filter = late_filter,
                   .batch_rows = 64};
  scan_run_failing_allocations(&late, 200);
  static const char *const files[][2] = {
      {"delta", "struct<i:int,l:bigint,len:string,pre:string>"},
      {"codec_zstd", "struct<i64:bigint,d38:decimal(38,6),s:string,b:boolean>"},
      {"codec_gzip", "struct<i64:bigint,s:string>"},
      {"split", "struct<f:float,d:double,fix:binary>"},
      {"fallback", "struct<s:string,n:bigint>"},
      {"types_v2", "struct<b:boolean,i8:tinyint,d9:decimal(9,2),us:timestamp,bin:binary>"}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char *file = strdup(path_of(files[i][0]));
    scan_run r = {.schema = files[i][1], .splits = {{file, 0, 0}}, .n_splits = 1, .batch_rows = 33};
    scan_run_failing_allocations(&r, 100);
    free(file);
  }
}

static void description(void **state) {
  hly_ctx ctx = {.batch_rows = 64};
  char *text = NULL;
  size_t n = 0;
  FILE *out = open_memstream(&text, &n);
  assert_ok(&ctx, hly_parquet_describe(&ctx, path_of("groups"), out));
  assert_ok(&ctx, hly_parquet_describe(&ctx, path_of("beside"), out));
  fclose(out);
  assert_non_null(strstr(text, "400 rows, 10 row groups"));
  assert_non_null(strstr(text, "optional FIXED_LEN_BYTE_ARRAY(5) d (DECIMAL(10,2))"));
  assert_non_null(strstr(text, "bounds \"key 0040\" .. \"key 0079\", 0 nulls"));
  assert_non_null(strstr(text, "optional group st"));
  assert_non_null(strstr(text, "RLE_DICTIONARY"));
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_files),          cmocka_unit_test(damaged_bytes),
      cmocka_unit_test(duplicate_names),    cmocka_unit_test(host_files),
      cmocka_unit_test(snappy_round_trips), cmocka_unit_test(failing_allocations),
      cmocka_unit_test(description),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
