// Frames: every type, encoding and codec there and back; damage is always seen.
#include <stdlib.h>
#include <string.h>

#include "random_batch.h"
#include "rows/unsafe_row.h"
#include "shuffle/block.h"
#include "shuffle/crc32c.h"
#include "shuffle/data_size.h"

static void check_batch(const hly_batch *b) {
  char message[256];
  for (uint32_t c = 0; c < b->n_columns; c++) {
    assert_int_equal(b->columns[c]->n_rows, b->n_rows);
    if (!hly_vector_check(b->columns[c], message, sizeof message)) fail_msg("column %u: %s", c, message);
  }
}

static void expect_rows(const hly_batch *out, const hly_segment *segments, uint32_t n_segments) {
  uint32_t row = 0;
  for (uint32_t k = 0; k < n_segments; k++) {
    for (uint32_t i = 0; i < segments[k].count; i++, row++) {
      for (uint32_t c = 0; c < out->n_columns; c++) {
        if (!test_value_equal(segments[k].batch->columns[c], segments[k].start + i, out->columns[c], row)) {
          fail_msg("segment %u row %u column %u differs", k, i, c);
        }
      }
    }
  }
  assert_int_equal(out->n_rows, row);
  check_batch(out);
}

static void round_trip(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  static const uint32_t ROWS[] = {1, 7, 64, 65, 1000};
  static const uint32_t NULLS[] = {0, 20, 100};
  test_random r = {1};
  for (int codec = HALLEY__CODEC__NONE; codec <= HALLEY__CODEC__SNAPPY; codec++) {
    hly_block_writer *w;
    hly_block_reader *reader;
    assert_ok(&ctx, hly_block_writer_create(&ctx, &test_all_types, codec, 1, &w));
    assert_ok(&ctx, hly_block_reader_create(&ctx, &test_all_types, &reader));
    for (int encoding = HLY_FLAT; encoding <= HLY_DICT; encoding++) {
      for (size_t a = 0; a < 5; a++) {
        for (size_t b = 0; b < 3; b++) {
          hly_arena *arena = hly_arena_create();
          test_shape shape = {ROWS[a], NULLS[b], encoding == HLY_DICT ? 3 : 0, a == 2 ? 5 : 40, encoding};
          hly_batch *in = test_shaped_batch(&ctx, arena, &r, &test_all_types, &shape, NULL);
          check_batch(in);
          hly_segment all = {in, 0, in->n_rows};
          const uint8_t *frame;
          size_t n, n_raw;
          hly_batch *out;
          assert_ok(&ctx, hly_block_write(w, &all, 1, SIZE_MAX, &frame, &n, &n_raw));
          assert_ok(&ctx, hly_block_read(reader, frame, n, &out));
          expect_rows(out, &all, 1);
          // Pieces of it, in an odd order, with pieces of another batch in between.
          shape.encoding = a & 1 ? HLY_FLAT : encoding;
          hly_batch *other = test_shaped_batch(&ctx, arena, &r, &test_all_types, &shape, NULL);
          hly_segment pieces[6];
          uint32_t n_pieces = 0;
          for (int k = 0; k < 6; k++) {
            uint32_t start = test_below(&r, ROWS[a]), count = test_below(&r, ROWS[a] - start + 1);
            if (count) pieces[n_pieces++] = (hly_segment){k & 1 ? other : in, start, count};
          }
          assert_ok(&ctx, hly_block_write(w, pieces, n_pieces, SIZE_MAX, &frame, &n, &n_raw));
          assert_ok(&ctx, hly_block_read(reader, frame, n, &out));
          expect_rows(out, pieces, n_pieces);
          hly_arena_destroy(arena);
        }
      }
    }
    hly_block_writer_destroy(w);
    hly_block_reader_destroy(reader);
  }
  test_ctx_deinit(&ctx);
}

// A batch of no columns, as count(*) has it; and a vector that outlives its frame.
static void no_columns_and_kept_vectors(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  hly_schema none = {0, NULL};
  hly_block_writer *w;
  hly_block_reader *reader;
  assert_ok(&ctx, hly_block_writer_create(&ctx, &none, HALLEY__CODEC__LZ4, 0, &w));
  assert_ok(&ctx, hly_block_reader_create(&ctx, &none, &reader));
  hly_batch empty = {0};
  hly_batch_set_rows(&empty, 5000);
  hly_segment s = {&empty, 10, 4000};
  const uint8_t *frame;
  size_t n, n_raw;
  hly_batch *out;
  assert_ok(&ctx, hly_block_write(w, &s, 1, SIZE_MAX, &frame, &n, &n_raw));
  assert_int_equal(n, HLY_FRAME_HEADER);
  assert_ok(&ctx, hly_block_read(reader, frame, n, &out));
  assert_int_equal(out->n_rows, 4000);
  hly_block_writer_destroy(w);
  hly_block_reader_destroy(reader);

  assert_ok(&ctx, hly_block_writer_create(&ctx, &test_all_types, HALLEY__CODEC__LZ4, 0, &w));
  assert_ok(&ctx, hly_block_reader_create(&ctx, &test_all_types, &reader));
  hly_arena *arena = hly_arena_create();
  test_random r = {7};
  test_shape shape = {300, 10, 4, 30, HLY_DICT};
  hly_batch *a = test_shaped_batch(&ctx, arena, &r, &test_all_types, &shape, NULL);
  shape.encoding = HLY_FLAT;
  hly_batch *b = test_shaped_batch(&ctx, arena, &r, &test_all_types, &shape, NULL);
  hly_segment first = {a, 0, 300}, second = {b, 0, 300};
  assert_ok(&ctx, hly_block_write(w, &first, 1, SIZE_MAX, &frame, &n, &n_raw));
  assert_ok(&ctx, hly_block_read(reader, frame, n, &out));
  hly_vector *kept[64];
  for (uint32_t c = 0; c < out->n_columns; c++) kept[c] = hly_vector_ref(out->columns[c]);
  assert_ok(&ctx, hly_block_write(w, &second, 1, SIZE_MAX, &frame, &n, &n_raw));
  assert_ok(&ctx, hly_block_read(reader, frame, n, &out));
  expect_rows(out, &second, 1);
  for (uint32_t c = 0; c < out->n_columns; c++) {
    for (uint32_t i = 0; i < 300; i++) assert_true(test_value_equal(kept[c], i, a->columns[c], i));
    hly_vector_unref(kept[c]);
  }
  hly_arena_destroy(arena);
  hly_block_writer_destroy(w);
  hly_block_reader_destroy(reader);
  test_ctx_deinit(&ctx);
}

// Dictionaries of strings stay dictionaries when they pay, whatever of them a frame uses.
static void keeps_dictionaries(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  const hly_field field = {.name = "s", .type = hly_type_of(HLY_STRING), .nullable = true};
  hly_schema schema = {1, &field};
  hly_block_writer *w;
  hly_block_reader *reader;
  assert_ok(&ctx, hly_block_writer_create(&ctx, &schema, HALLEY__CODEC__LZ4, 0, &w));
  assert_ok(&ctx, hly_block_reader_create(&ctx, &schema, &reader));
  hly_arena *arena = hly_arena_create();
  test_random r = {3};
  static const struct {
    uint32_t distinct, rows;
    hly_encoding want;
  } CASES[] = {{4, 1000, HLY_DICT}, {400, 1000, HLY_DICT}, {900, 1000, HLY_FLAT}, {4, 8, HLY_FLAT}};
  for (int i = 0; i < 4; i++) {
    test_shape shape = {CASES[i].rows, 10, CASES[i].distinct, 40, HLY_DICT};
    hly_batch *in = test_shaped_batch(&ctx, arena, &r, &schema, &shape, NULL);
    hly_segment s = {in, 0, in->n_rows};
    const uint8_t *frame;
    size_t n, n_raw;
    hly_batch *out;
    assert_ok(&ctx, hly_block_write(w, &s, 1, SIZE_MAX, &frame, &n, &n_raw));
    assert_ok(&ctx, hly_block_read(reader, frame, n, &out));
    expect_rows(out, &s, 1);
    assert_int_equal(out->columns[0]->encoding, CASES[i].want);
  }
  hly_arena_destroy(arena);
  hly_block_writer_destroy(w);
  hly_block_reader_destroy(reader);
  test_ctx_deinit(&ctx);
}

static void damage_is_seen(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  hly_block_writer *w;
  hly_block_reader *reader;
  assert_ok(&ctx, hly_block_writer_create(&ctx, &test_all_types, HALLEY__CODEC__LZ4, 0, &w));
  assert_ok(&ctx, hly_block_reader_create(&ctx, &test_all_types, &reader));
  hly_arena *arena = hly_arena_create();
  test_random r = {11};
  test_shape shape = {20, 10, 0, 20, HLY_FLAT};
  hly_batch *in = test_shaped_batch(&ctx, arena, &r, &test_all_types, &shape, NULL);
  hly_segment s = {in, 0, 20};
  const uint8_t *frame;
  size_t n, n_raw;
  hly_batch *out;
  assert_ok(&ctx, hly_block_write(w, &s, 1, SIZE_MAX, &frame, &n, &n_raw));
  uint8_t *copy = hly_malloc(n);
  for (size_t i = 0; i < n; i++) {
    memcpy(copy, frame, n);
    copy[i] ^= (uint8_t)(1 << test_below(&r, 8));
    assert_int_equal(hly_block_read(reader, copy, n, &out), HLY_ERR);
    assert_int_equal(ctx.error.id, HLY_E_SHUFFLE_CORRUPT);
    hly_error_clear(&ctx.error);
  }
  for (size_t cut = 0; cut < n; cut += 7) {
    assert_int_equal(hly_block_read(reader, frame, cut, &out), HLY_ERR);
    hly_error_clear(&ctx.error);
  }
  assert_ok(&ctx, hly_block_read(reader, frame, n, &out));
  expect_rows(out, &s, 1);
  // Too large for the limit: the caller is told to split.
  assert_ok(&ctx, hly_block_write(w, &s, 1, 100, &frame, &n, &n_raw));
  assert_null(frame);
  hly_free(copy);
  hly_arena_destroy(arena);
  hly_block_writer_destroy(w);
  hly_block_reader_destroy(reader);
  test_ctx_deinit(&ctx);
}

static hly_status there_and_back(void *arg) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  memset(&ctx, 0, sizeof ctx);
  ctx.host = &host.host;
  hly_block_writer *w = NULL;
  hly_block_reader *reader = NULL;
  hly_arena *arena = hly_arena_create();
  hly_status st = arena ? HLY_OK : HLY_NOMEM;
  test_random r = {5};
  for (int encoding = HLY_FLAT; encoding <= HLY_DICT && st == HLY_OK; encoding++) {
    test_shape shape = {40, 20, 3, 30, encoding};
    hly_batch *in = test_shaped_batch(&ctx, arena, &r, &test_all_types, &shape, &st);
    if (st == HLY_OK) st = hly_block_writer_create(&ctx, &test_all_types, *(int *)arg, 1, &w);
    if (st == HLY_OK) st = hly_block_reader_create(&ctx, &test_all_types, &reader);
    hly_segment s[2] = {{in, 0, 30}, {in, 10, 30}};
    const uint8_t *frame;
    size_t n, n_raw;
    hly_batch *out;
    if (st == HLY_OK) st = hly_block_write(w, s, 2, SIZE_MAX, &frame, &n, &n_raw);
    if (st == HLY_OK) st = hly_block_read(reader, frame, n, &out);
    if (st == HLY_OK) expect_rows(out, s, 2);
    hly_block_writer_destroy(w);
    hly_block_reader_destroy(reader);
    w = NULL;
    reader = NULL;
  }
  hly_arena_destroy(arena);
  return st;
}

static void without_memory(void **state) {
  for (int codec = HALLEY__CODEC__LZ4; codec <= HALLEY__CODEC__ZSTD; codec++) {
    test_failing_allocations(there_and_back, &codec, 150);
  }
}

static void crc32c_is_castagnoli(void **state) {
  assert_int_equal(hly_crc32c(0, "123456789", 9), 0xe3069283u);
  assert_int_equal(hly_crc32c(hly_crc32c(0, "12345", 5), "6789", 4), 0xe3069283u);
}

// Spark's size of rows is what the encoder of UnsafeRows gives.
static void data_size_is_sparks(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  hly_arena *arena = hly_arena_create();
  test_random r = {41};
  for (int encoding = HLY_FLAT; encoding <= HLY_DICT; encoding++) {
    test_shape shape = {500, 15, 4, 40, encoding};
    hly_batch *in = test_shaped_batch(&ctx, arena, &r, &test_all_types, &shape, NULL);
    hly_row_block rows = {0};
    uint32_t done;
    assert_ok(&ctx, hly_unsafe_row_encode(&ctx, in, NULL, in->n_columns, 0, UINT64_MAX, &rows, &done));
    assert_int_equal(done, 500);
    assert_int_equal(hly_unsafe_rows_size(in), rows.offsets[500]);
    hly_row_block_deinit(&rows);
  }
  hly_arena_destroy(arena);
  test_ctx_deinit(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trip),          cmocka_unit_test(no_columns_and_kept_vectors),
      cmocka_unit_test(keeps_dictionaries),  cmocka_unit_test(damage_is_seen),
      cmocka_unit_test(without_memory),      cmocka_unit_test(crc32c_is_castagnoli),
      cmocka_unit_test(data_size_is_sparks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
