// Rows that Spark's UnsafeProjection wrote, for every type and for random nested ones, are in
// data/unsafe_rows.txt with their values as text: decoding must give the text, encoding again the bytes.
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows/unsafe_row.h"
#include "type_text.h"

static test_host host;
static hly_ctx ctx;

static int setup(void **state) {
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  return 0;
}

static int teardown(void **state) {
  test_ctx_deinit(&ctx);
  return 0;
}

static void check_vectors(const hly_batch *batch) {
  char message[200];
  for (uint32_t i = 0; i < batch->n_columns; i++) {
    bool sound = hly_vector_check(batch->columns[i], message, sizeof message);
    if (!sound) print_error("column %u: %s\n", i, message);
    assert_true(sound);
  }
}

static size_t from_hex(const char *hex, uint8_t *out) {
  size_t n = 0;
  for (; hex[2 * n] && hex[2 * n] != ' '; n++) {
    unsigned x;
    assert_int_equal(sscanf(hex + 2 * n, "%2x", &x), 1);
    out[n] = (uint8_t)x;
  }
  return n;
}

static void show_bytes(const char *what, const uint8_t *p, size_t n) {
  print_error("%s ", what);
  for (size_t i = 0; i < n; i++) print_error("%02x", p[i]);
  print_error("\n");
}

// Rows of one type, as read from the file.
typedef struct golden {
  char type[8192];
  uint32_t n;
  uint64_t offsets[17];
  char *texts[16];
  uint8_t bytes[1 << 16];
} golden;

static void check_golden(golden *g) {
  hly_arena *arena = hly_arena_create();
  hly_schema schema = test_schema(arena, g->type);
  hly_batch *batch;
  assert_ok(&ctx, hly_batch_create(&ctx, arena, &schema, &batch));
  assert_ok(&ctx, hly_unsafe_row_decode(&ctx, g->bytes, g->offsets, g->n, &schema, batch));
  check_vectors(batch);
  for (uint32_t r = 0; r < g->n; r++) {
    char *text = hly_arena_copy(arena, "(", 1);
    for (uint32_t f = 0; f < schema.n_fields; f++)
      text =
          hly_arena_printf(arena, "%s%s%s", text, f ? "," : "", test_value_text(arena, batch->columns[f], r));
    text = hly_arena_printf(arena, "%s)", text);
    if (strcmp(text, g->texts[r]) != 0) print_error("%s\n", g->type);
    assert_string_equal(text, g->texts[r]);
  }
  hly_row_block block = {0};
  uint32_t n_done;
  assert_ok(&ctx, hly_unsafe_row_encode(&ctx, batch, NULL, 0, 0, UINT64_MAX, &block, &n_done));
  assert_int_equal(n_done, g->n);
  for (uint32_t r = 0; r < g->n; r++) {
    size_t n = g->offsets[r + 1] - g->offsets[r], m = block.offsets[r + 1] - block.offsets[r];
    const uint8_t *expected = g->bytes + g->offsets[r], *got = block.data->data + block.offsets[r];
    if (n != m || memcmp(expected, got, n) != 0) {
      print_error("%s\n%s\n", g->type, g->texts[r]);
      show_bytes("expected", expected, n);
      show_bytes("got     ", got, m);
      fail();
    }
  }
  hly_row_block_deinit(&block);
  hly_arena_destroy(arena);
}

static void rows_are_sparks(void **state) {
  FILE *f = fopen(TEST_DATA "/unsafe_rows.txt", "r");
  assert_non_null(f);
  static golden g;
  char *line = NULL;
  size_t size = 0;
  uint32_t n_types = 0;
  g.n = 0;
  for (;;) {
    ssize_t n = getline(&line, &size, f);
    if (n > 0 && line[n - 1] == '\n') line[n - 1] = 0;
    if ((n <= 0 || strncmp(line, "type ", 5) == 0) && g.n) {
      check_golden(&g);
      for (uint32_t i = 0; i < g.n; i++) free(g.texts[i]);
      g.n = 0;
      n_types++;
    }
    if (n <= 0) break;
    if (strncmp(line, "type ", 5) == 0) {
      assert_true(strlen(line) < sizeof g.type);
      strcpy(g.type, line + 5);
      continue;
    }
    assert_int_equal(strncmp(line, "row ", 4), 0);
    assert_true(g.n < 16);
    g.offsets[g.n + 1] = g.offsets[g.n] + from_hex(line + 4, g.bytes + g.offsets[g.n]);
    g.texts[g.n++] = strdup(strchr(line + 4, ' ') + 1);
  }
  free(line);
  fclose(f);
  assert_int_equal(n_types, 80);
}

static const char everything[] =
    "struct<a:boolean,b:tinyint,c:smallint,d:int,e:bigint,f:float,g:double,h:decimal(10,2),i:decimal(38,10),"
    "j:string,k:binary,l:interval,m:variant,n:void,o:array<int>,p:array<string>,q:map<string,array<decimal("
    "30,"
    "4)>>,r:struct<x:int,y:string,z:struct<w:array<boolean>>>,s:array<struct<u:map<int,interval>,v:variant>>,"
    "t:array<void>,u:array<array<bigint>>,v:date>";

// A batch of n random rows of `schema`.
static hly_status random_batch(hly_arena *arena, const hly_schema *schema, uint32_t n, uint32_t nulls,
                               uint64_t *seed, hly_batch **out) {
  HLY_TRY(hly_batch_create(&ctx, arena, schema, out));
  for (uint32_t i = 0; i < schema->n_fields; i++) {
    hly_vector *v;
    HLY_TRY(test_random_vector(&ctx, schema->fields[i].type, n, nulls, seed, &v));
    hly_vector_unref((*out)->columns[i]);
    (*out)->columns[i] = v;
  }
  hly_batch_set_rows(*out, n);
  return HLY_OK;
}

static void same_rows(hly_arena *arena, const hly_batch *a, const uint32_t *rows, const hly_batch *b) {
  for (uint32_t r = 0; r < b->n_rows; r++) {
    for (uint32_t i = 0; i < b->n_columns; i++) {
      assert_string_equal(test_value_text(arena, a->columns[i], rows ? rows[r] : r),
                          test_value_text(arena, b->columns[i], r));
    }
  }
}

static void selections_and_pieces(void **state) {
  uint64_t seed = 7;
  for (uint32_t round = 0; round < 3; round++) {
    hly_arena *arena = hly_arena_create();
    hly_schema schema = test_schema(arena, everything);
    hly_batch *in, *out;
    uint32_t n = round == 0 ? 1 : 700, sel[700], n_sel = 0;
    assert_ok(&ctx, random_batch(arena, &schema, n, round == 1 ? 0 : 30, &seed, &in));
    for (uint32_t r = 0; r < n; r++)
      if (round == 0 || r % 3 != 1) sel[n_sel++] = r;
    if (round) {
      in->sel = sel;
      in->n_sel = n_sel;
    }
    check_vectors(in);
    assert_ok(&ctx, hly_batch_create(&ctx, arena, &schema, &out));
    hly_row_block block = {0};
    uint32_t from = 0, pieces = 0;
    while (from < in->n_sel) {
      uint32_t n_done;
      assert_ok(&ctx,
                hly_unsafe_row_encode(&ctx, in, NULL, 0, from, pieces == 0 ? 1 : 20000, &block, &n_done));
      assert_true(n_done >= 1 && n_done == block.n_rows);
      if (pieces == 0) assert_int_equal(n_done, 1);
      assert_ok(&ctx, hly_unsafe_row_decode(&ctx, block.data->data, block.offsets, n_done, &schema, out));
      check_vectors(out);
      same_rows(arena, in, sel + from, out);
      from += n_done;
      pieces++;
    }
    assert_true(round == 0 || pieces > 3);
    hly_row_block_deinit(&block);
    hly_arena_destroy(arena);
  }
}

// Constants and dictionaries give the same bytes as the flat vectors they stand for.
static void encodings(void **state) {
  uint64_t seed = 11;
  hly_arena *arena = hly_arena_create();
  hly_schema schema = test_schema(arena, everything);
  hly_batch *in, *flat;
  enum { N = 300 };
  assert_ok(&ctx, random_batch(arena, &schema, N, 0, &seed, &in));
  assert_ok(&ctx, hly_batch_create(&ctx, arena, &schema, &flat));
  for (uint32_t i = 0; i < schema.n_fields; i++) {
    if (schema.fields[i].type->kind == HLY_NULL) continue;
    hly_vector *v = hly_vector_create(schema.fields[i].type);
    if (i % 2) {
      assert_ok(&ctx, hly_vector_set_dict(&ctx, v, in->columns[i], N));
      for (uint32_t r = 0; r < N; r++) v->indices[r] = r % 5 == 0 ? 0 : (r * 7) % N;
    } else {
      static const uint32_t row = 17;
      assert_ok(&ctx, hly_vector_gather(&ctx, v, in->columns[i], &row, 1));
      v->encoding = HLY_CONST;
      v->n_rows = N;
    }
    if (i % 3) {
      assert_ok(&ctx, hly_vector_need_validity(&ctx, v));
      hly_bits_clear(v->validity, 0);
    }
    hly_vector_unref(in->columns[i]);
    in->columns[i] = v;
  }
  check_vectors(in);
  assert_ok(&ctx, hly_batch_compact(&ctx, flat, in, true));
  check_vectors(flat);
  same_rows(arena, in, NULL, flat);
  hly_row_block a = {0}, b = {0};
  uint32_t n_done;
  assert_ok(&ctx, hly_unsafe_row_encode(&ctx, in, NULL, 0, 0, UINT64_MAX, &a, &n_done));
  assert_ok(&ctx, hly_unsafe_row_encode(&ctx, flat, NULL, 0, 0, UINT64_MAX, &b, &n_done));
  assert_int_equal(a.n_rows, N);
  assert_memory_equal(a.offsets, b.offsets, (N + 1) * sizeof *a.offsets);
  assert_memory_equal(a.data->data, b.data->data, a.offsets[N]);
  hly_row_block_deinit(&a);
  hly_row_block_deinit(&b);
  hly_arena_destroy(arena);
}

static void chosen_columns_and_no_columns(void **state) {
  uint64_t seed = 5;
  hly_arena *arena = hly_arena_create();
  hly_schema schema = test_schema(arena, "struct<a:int,b:string,c:bigint>");
  hly_schema two = test_schema(arena, "struct<c:bigint,a:int>"), none = {0, NULL};
  hly_batch *in, *out;
  assert_ok(&ctx, random_batch(arena, &schema, 10, 20, &seed, &in));
  static const uint32_t cols[] = {2, 0};
  hly_row_block block = {0};
  uint32_t n_done;
  assert_ok(&ctx, hly_unsafe_row_encode(&ctx, in, cols, 2, 0, UINT64_MAX, &block, &n_done));
  assert_int_equal(block.offsets[10], 240);
  assert_ok(&ctx, hly_batch_create(&ctx, arena, &two, &out));
  assert_ok(&ctx, hly_unsafe_row_decode(&ctx, block.data->data, block.offsets, 10, &two, out));
  for (uint32_t r = 0; r < 10; r++) {
    assert_string_equal(test_value_text(arena, in->columns[2], r),
                        test_value_text(arena, out->columns[0], r));
    assert_string_equal(test_value_text(arena, in->columns[0], r),
                        test_value_text(arena, out->columns[1], r));
  }
  hly_batch empty = {.n_rows = 4, .n_sel = 4}, *back;
  assert_ok(&ctx, hly_unsafe_row_encode(&ctx, &empty, NULL, 0, 0, UINT64_MAX, &block, &n_done));
  assert_int_equal(n_done, 4);
  assert_int_equal(block.offsets[4], 0);
  assert_ok(&ctx, hly_batch_create(&ctx, arena, &none, &back));
  assert_ok(&ctx, hly_unsafe_row_decode(&ctx, block.data->data, block.offsets, 4, &none, back));
  assert_int_equal(back->n_rows, 4);
  hly_row_block_deinit(&block);
  hly_arena_destroy(arena);
}

static void put(uint8_t *row, size_t at, uint64_t x) {
  memcpy(row + at, &x, 8);
}

// Each byte sequence lies about a length, an offset or a count.
static void hostile_rows(void **state) {
  static const struct {
    const char *type;
    uint32_t n_bytes;
    uint64_t words[8];
  } cases[] = {
      {"struct<a:int>", 8, {0}},                                       // too short
      {"struct<a:string>", 16, {0, 16ull << 32 | 1}},                  // past the end
      {"struct<a:string>", 24, {0, 0xfffffff0ull << 32 | 16}},         // negative offset
      {"struct<a:string>", 24, {0, 16ull << 32 | 0xffffffff}},         // negative length
      {"struct<a:decimal(38,0)>", 32, {0, 16ull << 32 | 0}},           // no bytes
      {"struct<a:decimal(38,0)>", 40, {0, 16ull << 32 | 17, 1}},       // more than 16 bytes that matter
      {"struct<a:decimal(5,0)>", 16, {0, 100000}},                     // six digits
      {"struct<a:interval>", 24, {0, 16ull << 32 | 16}},               // half of it
      {"struct<a:variant>", 24, {0, 16ull << 32 | 8, 5}},              // value longer than the whole
      {"struct<a:struct<b:int>>", 24, {0, 16ull << 32 | 8}},           // struct shorter than its fields
      {"struct<a:array<int>>", 32, {0, 16ull << 32 | 16, 1ull << 40}}, // count past the bytes
      {"struct<a:array<int>>", 32, {0, 16ull << 32 | 16, 5}},          // count past the bytes by little
      {"struct<a:array<int>>", 32, {0, 16ull << 32 | 16, UINT64_MAX}}, // negative count
      {"struct<a:map<int,int>>", 40, {0, 16ull << 32 | 24, 64}},       // keys past the map
      {"struct<a:map<int,int>>", 40, {0, 16ull << 32 | 24, 8, 0, 1}},  // fewer keys than values
      {"struct<a:array<array<int>>>",
       56,
       {0, 16ull << 32 | 40, 2, 0, 0ull << 32 | 40, 0ull << 32 | 40}}, // inside itself
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hly_arena *arena = hly_arena_create();
    hly_schema schema = test_schema(arena, cases[i].type);
    hly_batch *out;
    assert_ok(&ctx, hly_batch_create(&ctx, arena, &schema, &out));
    uint8_t *row = hly_malloc(cases[i].n_bytes); // exactly: the sanitizer sees a read past it
    for (uint32_t w = 0; w < cases[i].n_bytes / 8; w++) put(row, 8 * w, cases[i].words[w]);
    const uint64_t offsets[2] = {0, cases[i].n_bytes};
    hly_status st = hly_unsafe_row_decode(&ctx, row, offsets, 1, &schema, out);
    if (st != HLY_ERR) print_error("case %zu %s was accepted\n", i, cases[i].type);
    assert_int_equal(st, HLY_ERR);
    assert_int_equal(ctx.error.id, HLY_E_PLAN_INVALID);
    hly_error_clear(&ctx.error);
    hly_free(row);
    hly_arena_destroy(arena);
  }
}

static void literals(void **state) {
  hly_arena *arena = hly_arena_create();
  hly_schema schema = test_schema(arena, "struct<a:array<string>>");
  uint64_t seed = 3;
  hly_batch *in;
  assert_ok(&ctx, random_batch(arena, &schema, 20, 0, &seed, &in));
  hly_row_block block = {0};
  uint32_t n_done;
  assert_ok(&ctx, hly_unsafe_row_encode(&ctx, in, NULL, 0, 0, UINT64_MAX, &block, &n_done));
  hly_vector *v = hly_vector_create(schema.fields[0].type);
  for (uint32_t r = 0; r < 20; r++) {
    hly_literal lit = {.type = schema.fields[0].type,
                       .row = block.data->data + block.offsets[r],
                       .row_bytes = (uint32_t)(block.offsets[r + 1] - block.offsets[r])};
    assert_ok(&ctx, hly_vector_set_const(&ctx, v, &lit, 1000));
    char message[200];
    assert_true(hly_vector_check(v, message, sizeof message));
    assert_string_equal(test_value_text(arena, v, 999), test_value_text(arena, in->columns[0], r));
  }
  hly_vector_unref(v);
  hly_row_block_deinit(&block);
  hly_arena_destroy(arena);
}

static hly_status round_trip(void *arg) {
  static char space[1 << 16];
  uint64_t seed = 23;
  hly_error_clear(&ctx.error);
  hly_arena *arena = hly_arena_create();
  if (!arena) return HLY_NOMEM;
  const hly_schema *schema = arg;
  hly_batch *in, *out;
  hly_row_block block = {0};
  uint32_t n_done;
  hly_status st;
  HLY_TRY_GOTO(st, random_batch(arena, schema, 12, 30, &seed, &in), out);
  HLY_TRY_GOTO(st, hly_unsafe_row_encode(&ctx, in, NULL, 0, 0, sizeof space, &block, &n_done), out);
  HLY_TRY_GOTO(st, hly_batch_create(&ctx, arena, schema, &out), out);
  HLY_TRY_GOTO(st, hly_unsafe_row_decode(&ctx, block.data->data, block.offsets, n_done, schema, out), out);
out:
  hly_row_block_deinit(&block);
  hly_arena_destroy(arena);
  return st;
}

static void failing_allocations(void **state) {
  hly_arena *arena = hly_arena_create();
  hly_schema schema = test_schema(arena, everything);
  test_failing_allocations(round_trip, &schema, 400);
  hly_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(rows_are_sparks, setup, teardown),
      cmocka_unit_test_setup_teardown(selections_and_pieces, setup, teardown),
      cmocka_unit_test_setup_teardown(encodings, setup, teardown),
      cmocka_unit_test_setup_teardown(chosen_columns_and_no_columns, setup, teardown),
      cmocka_unit_test_setup_teardown(hostile_rows, setup, teardown),
      cmocka_unit_test_setup_teardown(literals, setup, teardown),
      cmocka_unit_test_setup_teardown(failing_allocations, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
