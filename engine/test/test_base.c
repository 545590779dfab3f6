#include "fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/bits.h"
#include "base/bloom_filter.h"
#include "base/buf.h"
#include "base/cpu.h"
#include "base/hash.h"

static uint64_t next(uint64_t *seed) { // splitmix64
  uint64_t x = *seed += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

// Two digits a byte; returns how many bytes.
static size_t from_hex(const char *hex, uint8_t *out) {
  size_t n = 0;
  for (unsigned x; hex[2 * n]; n++) {
    assert_int_equal(sscanf(hex + 2 * n, "%2x", &x), 1);
    out[n] = (uint8_t)x;
  }
  return n;
}

// ---- hashes ---------------------------------------------------------------------------------------------

// data/murmur3.txt: seed, bytes (- for none), hashUnsafeBytes of Spark's Murmur3_x86_32.
static void murmur3_of_bytes(void **state) {
  FILE *f = fopen(TEST_DATA "/murmur3.txt", "r");
  assert_non_null(f);
  int32_t seed, hash;
  char hex[128];
  int n_cases = 0;
  while (fscanf(f, "%d %127s %d", &seed, hex, &hash) == 3) {
    uint8_t *bytes = hly_malloc(strlen(hex) / 2); // exactly: the sanitizer sees a read past it
    size_t n = hex[0] == '-' ? 0 : from_hex(hex, bytes);
    assert_int_equal((int32_t)hly_murmur3_bytes(bytes, n, (uint32_t)seed), hash);
    hly_free(bytes);
    n_cases++;
  }
  fclose(f);
  assert_int_equal(n_cases, 24);
}

static void murmur3_of_numbers(void **state) {
  // hash(1), hash(0), hash(1L) of Spark SQL, whose seed is 42
  assert_int_equal((int32_t)hly_murmur3_int(1, 42), -559580957);
  assert_int_equal((int32_t)hly_murmur3_int(0, 42), 933211791);
  assert_int_equal((int32_t)hly_murmur3_long(1, 42), -1712319331);
  // A number hashes as its bytes do.
  for (uint64_t seed = 1, i = 0; i < 100; i++) {
    uint64_t x = next(&seed);
    assert_int_equal(hly_murmur3_int((uint32_t)x, 42), hly_murmur3_bytes(&x, 4, 42));
    assert_int_equal(hly_murmur3_long(x, 7), hly_murmur3_bytes(&x, 8, 7));
  }
}

// ---- Bloom filters ---------------------------------------------------------------------------------------

// Written by Spark's own BloomFilter after the same values were put: number of items and bits asked for,
// bytes, and which of 64 longs it says it may have.
static const struct {
  int64_t n_items, n_bits;
  const char *hex;
  uint64_t has;
} BLOOM[] = {
    {10, 64, "000000010000000400000001ad03d94a1d8a8683", 0x840400021},
    {3, 200, "000000010000002e00000004edfb997d3fdff7ffbffeffef9ffff1bfdff35aeffdd7f71de7afbcff5bf6ffbf", 0},
    {1000, 64, "0000000100000001000000010801010200820601", 0x150000030},
    {1, 100, "000000010000004500000002fffbffffffffffffffffffffdfffffff", 0x20093437025dec13},
    {10, 64, "0000000200000004000000000000000145fb1005363c2189", 0},
    {3, 200,
     "000000020000002e0000000000000004df5bff969ff3f5ef53ffbdf5ff616fffdffd7d7f6b3d3fd7f53b7fdb573fdedd",
     0x4000},
    {1000, 64, "000000020000000100000000000000010523100002200001", 0x28000004000200},
    {1, 100, "00000002000000450000000000000002ffffffffffffffffffffffffffffffff", 0xffffffffffffffff},
};

static void put_all(const hly_bloom_filter *f) {
  static const int64_t longs[] = {0, 1, -1, INT64_MAX, INT64_MIN, 123456789012};
  for (size_t i = 0; i < sizeof longs / sizeof *longs; i++) hly_bloom_filter_put_long(f, longs[i]);
  hly_bloom_filter_put_bytes(f, "text", 4);
  hly_bloom_filter_put_bytes(f, "", 0);
  hly_bloom_filter_put_bytes(f, "\xff\x80\1\2\3", 5);
}

static void bloom_filters(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof BLOOM / sizeof *BLOOM; c++) {
    size_t n = strlen(BLOOM[c].hex) / 2;
    uint8_t *bytes = hly_malloc(n), *copy = hly_malloc(n); // exactly: the sanitizer sees the end
    assert_int_equal(from_hex(BLOOM[c].hex, bytes), n);
    hly_bloom_filter f, g;
    assert_true(hly_bloom_filter_read(bytes, n, &f));
    for (int i = 0; i < 64; i++)
      assert_int_equal(hly_bloom_filter_has_long(&f, i * 7919ll - 1000), BLOOM[c].has >> i & 1);
    assert_false(hly_bloom_filter_is_empty(&f));
    for (size_t cut = 0; cut < n; cut++) assert_false(hly_bloom_filter_read(bytes, cut, &g));

    // Emptied and filled again.
    memcpy(copy, bytes, n);
    memset(f.words, 0, f.n_bits / 8);
    assert_true(hly_bloom_filter_is_empty(&f));
    put_all(&f);
    assert_memory_equal(bytes, copy, n);
    if (f.version == 2) {
      assert_int_equal(hly_bloom_filter_bytes(BLOOM[c].n_bits), n);
      hly_bloom_filter_create(copy, BLOOM[c].n_items, BLOOM[c].n_bits);
      assert_true(hly_bloom_filter_read(copy, n, &g));
      assert_true(hly_bloom_filter_is_empty(&g));
      assert_true(hly_bloom_filter_merge(&g, &f));
      assert_memory_equal(bytes, copy, n);
    }
    copy[7] ^= 64; // another number of hashes
    assert_true(hly_bloom_filter_read(copy, n, &g));
    assert_false(hly_bloom_filter_merge(&g, &f));
    copy[3] = 3; // a version there is none of
    assert_false(hly_bloom_filter_read(copy, n, &g));
    hly_free(bytes);
    hly_free(copy);
  }
  assert_int_equal(hly_bloom_filter_bytes(0), 0);
  assert_int_equal(hly_bloom_filter_bytes(-5), 0);
  assert_int_equal(hly_bloom_filter_bytes(INT64_MAX), 0);
  assert_int_equal(hly_bloom_filter_bytes(65), 32);
}

// ---- allocator ------------------------------------------------------------------------------------------

static void allocator_accounts(void **state) {
  int64_t before = hly_mem_in_use();
  void *a = hly_malloc(100), *b = hly_calloc(10, 7), *c = hly_malloc_aligned(5, 4096), *d = hly_malloc(0);
  assert_true(a && b && c && d);
  assert_int_equal((uintptr_t)a % 16, 0);
  assert_int_equal((uintptr_t)c % 4096, 0);
  assert_int_equal(hly_mem_in_use() - before, 175);
  for (int i = 0; i < 70; i++) assert_int_equal(((char *)b)[i], 0);
  memset(a, 7, 100);
  a = hly_realloc(a, 100000);
  for (int i = 0; i < 100; i++) assert_int_equal(((char *)a)[i], 7);
  assert_int_equal(hly_mem_in_use() - before, 100075);
  assert_true(hly_mem_peak() >= before + 100075);
  a = hly_realloc(a, 10);
  assert_int_equal(hly_mem_in_use() - before, 85);
  hly_free(a);
  hly_free(b);
  hly_free(c);
  hly_free(d);
  hly_free(NULL);
  assert_int_equal(hly_mem_in_use(), before);
}

static void allocator_refuses(void **state) {
  assert_null(hly_malloc(SIZE_MAX));
  assert_null(hly_malloc(SIZE_MAX - 8));
  assert_null(hly_calloc(SIZE_MAX / 2, 3));
  assert_null(hly_malloc_aligned(SIZE_MAX - 20, 64));
  void *p = hly_malloc(8);
  memcpy(p, "1234567", 8);
  assert_null(hly_realloc(p, SIZE_MAX - 3));
  hly_mem_fail_at(1);
  void *first = hly_malloc(1);
  assert_non_null(first);
  assert_null(hly_malloc(1));
  assert_null(hly_calloc(1, 1));
  assert_null(hly_malloc_aligned(1, 64));
  assert_null(hly_realloc(p, 1));
  hly_mem_fail_never();
  assert_string_equal(p, "1234567");
  hly_free(p);
  hly_free(first);
}

// ---- arenas and buffers ---------------------------------------------------------------------------------

static char order[8];
static void note(void *arg) {
  size_t n = strlen(order);
  order[n] = *(char *)arg;
  order[n + 1] = 0;
}

static void arenas(void **state) {
  int64_t before = hly_mem_in_use();
  hly_arena *arena = hly_arena_create();
  order[0] = 0;
  uint64_t seed = 1;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 2000; i++) {
      size_t n = i % 100 == 0 ? next(&seed) % 3000000 : next(&seed) % 200;
      uint8_t *p = hly_arena_alloc(arena, n);
      assert_non_null(p);
      assert_int_equal((uintptr_t)p % 16, 0);
      for (size_t k = 0; k < n; k += 97) assert_int_equal(p[k], 0);
      memset(p, 0xee, n);
    }
    assert_int_equal(hly_arena_on_reset(arena, note, "a"), 0);
    assert_int_equal(hly_arena_on_reset(arena, note, "b"), 0);
    assert_true(hly_arena_bytes(arena) > 1000000);
    if (round == 2) break;
    hly_arena_reset(arena);
    assert_true(hly_arena_bytes(arena) <= 1 << 20);
  }
  assert_string_equal(order, "baba");
  assert_string_equal(hly_arena_printf(arena, "%d-%s", 17, "x"), "17-x");
  assert_memory_equal(hly_arena_copy(arena, "ab\0c", 4), "ab\0c\0", 5);
  assert_null(hly_arena_array(arena, SIZE_MAX / 4, 8));
  assert_null(hly_arena_alloc(arena, SIZE_MAX));
  hly_arena_destroy(arena);
  hly_arena_destroy(NULL);
  assert_string_equal(order, "bababa");
  assert_int_equal(hly_mem_in_use(), before);
}

static int n_released;
static void release(hly_buf *buf) {
  n_released++;
  assert_ptr_equal(buf->release_arg, &n_released);
}

static void buffers(void **state) {
  int64_t before = hly_mem_in_use();
  hly_buf *buf = hly_buf_create(100);
  assert_int_equal((uintptr_t)buf->data % 64, 0);
  assert_true(buf->capacity >= 100);
  memset(buf->data, 1, buf->capacity + 64); // the tail may be touched
  hly_buf *same = buf;
  assert_int_equal(hly_buf_reuse(&buf, 90), 0);
  assert_ptr_equal(buf, same);
  hly_buf_ref(buf);
  assert_int_equal(hly_buf_reuse(&buf, 90), 0); // somebody else holds it
  assert_ptr_not_equal(buf, same);
  assert_int_equal(same->refs, 1);
  hly_buf_unref(same);
  memcpy(buf->data, "hello", 6);
  assert_int_equal(hly_buf_grow(&buf, 6, 5000), 0);
  assert_string_equal(buf->data, "hello");
  size_t capacity = buf->capacity;
  assert_int_equal(hly_buf_grow(&buf, 6, capacity + 1), 0);
  assert_true(buf->capacity >= 2 * capacity);
  same = buf;
  hly_mem_fail_at(0);
  assert_int_equal(hly_buf_grow(&buf, 6, buf->capacity + 1), -1);
  assert_int_equal(hly_buf_reuse(&buf, buf->capacity + 1), -1);
  hly_mem_fail_at(1); // the second allocation of a buffer
  assert_int_equal(hly_buf_grow(&buf, 6, buf->capacity + 1), -1);
  hly_mem_fail_never();
  assert_ptr_equal(buf, same);
  hly_buf_unref(buf);
  hly_buf_unref(NULL);
  char foreign[10];
  buf = hly_buf_wrap(foreign, 10, release, &n_released);
  assert_int_equal(hly_buf_reuse(&buf, 5), 0); // foreign memory is never written
  assert_int_equal(n_released, 1);
  hly_buf_unref(buf);
  assert_int_equal(hly_mem_in_use(), before);
}

// ---- bitmaps --------------------------------------------------------------------------------------------

static void bits_at_one_level(void) {
  static const size_t sizes[] = {0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 200, 1000, 8192};
  static const int percents[] = {0, 2, 50, 97, 100};
  uint64_t seed = 99;
  for (size_t si = 0; si < sizeof sizes / sizeof *sizes; si++) {
    for (size_t pi = 0; pi < sizeof percents / sizeof *percents; pi++) {
      size_t n = sizes[si], count = 0;
      uint8_t *bytes = hly_malloc(n), *back = hly_malloc(n); // exactly, for the sanitizer
      uint64_t *bits = hly_malloc(hly_bits_bytes(n)), *out = hly_malloc(hly_bits_bytes(n));
      uint32_t *sel = hly_malloc(n * sizeof *sel);
      for (size_t i = 0; i < n; i++) {
        bytes[i] = (int)(next(&seed) % 100) < percents[pi] ? (uint8_t)(1 + next(&seed) % 255) : 0;
        count += bytes[i] != 0;
      }
      memset(bits, 0xff, hly_bits_bytes(n));
      assert_int_equal(hly_bits_pack(bytes, n, bits), count);
      for (size_t i = 0; i < n; i++) assert_int_equal(hly_bits_get(bits, i), bytes[i] != 0);
      if (n % 64) assert_int_equal(bits[n / 64] >> (n % 64), 0);
      assert_int_equal(hly_bits_count(bits, n), count);
      hly_bits_unpack(bits, n, back);
      for (size_t i = 0; i < n; i++) assert_int_equal(back[i], bytes[i] != 0);
      size_t n_sel = hly_bits_select(bytes, n, sel);
      assert_int_equal(n_sel, count);
      for (size_t i = 0, k = 0; i < n; i++)
        if (bytes[i]) assert_int_equal(sel[k++], i);
      for (size_t k = 0; k < n; k++) sel[k] = (uint32_t)(next(&seed) % n);
      hly_bits_gather(bits, sel, n, out);
      for (size_t k = 0; k < n; k++) assert_int_equal(hly_bits_get(out, k), bytes[sel[k]] != 0);
      if (n % 64) assert_int_equal(out[n / 64] >> (n % 64), 0);
      hly_free(bytes);
      hly_free(back);
      hly_free(bits);
      hly_free(out);
      hly_free(sel);
    }
  }
}

static void bits_at_every_level(void **state) {
  hly_cpu before = hly_cpu_level();
  for (int level = 0; level <= (int)hly_cpu_best(); level++) {
    hly_cpu_force((hly_cpu)level);
    assert_int_equal(hly_cpu_level(), level);
    bits_at_one_level();
  }
  hly_cpu_force(HLY_CPU_V4);
  assert_int_equal(hly_cpu_level(), hly_cpu_best());
  hly_cpu_force(before);
}

static void bits_copy_and_fill(void **state) {
  uint64_t seed = 4;
  enum { N = 400 };
  for (int round = 0; round < 3000; round++) {
    size_t in_start = next(&seed) % 200, out_start = next(&seed) % 200, n = next(&seed) % 200;
    if (round % 4 == 0) in_start = in_start / 64 * 64;
    uint64_t *in = hly_malloc(hly_bits_bytes(in_start + n)), out[N / 64 + 1], before[N / 64 + 1];
    for (size_t w = 0; w < hly_bits_words(in_start + n); w++) in[w] = next(&seed);
    for (size_t w = 0; w <= N / 64; w++) before[w] = out[w] = next(&seed);
    hly_bits_copy(out, out_start, in, in_start, n);
    for (size_t i = 0; i < N; i++) {
      bool inside = i >= out_start && i < out_start + n;
      assert_int_equal(hly_bits_get(out, i),
                       inside ? hly_bits_get(in, in_start + i - out_start) : hly_bits_get(before, i));
    }
    hly_bits_fill(out, n, round & 1);
    for (size_t i = 0; i < n; i++) assert_int_equal(hly_bits_get(out, i), round & 1);
    if (n % 64) assert_int_equal(out[n / 64] >> (n % 64), 0);
    hly_free(in);
  }
}

// ---- context and errors ---------------------------------------------------------------------------------

static void errors(void **state) {
  hly_error e;
  memset(&e, 0, sizeof e);
  char text[HLY_ERROR_TEXT];
  hly_error_print(&e, text, sizeof text);
  assert_string_equal(text, "");
  assert_string_equal(hly_error_condition(&e), "");
  assert_int_equal(hly_error_set(&e, HLY_E_FILE_READ, 2, "path", "/a/b", "reason", NULL), HLY_ERR);
  hly_error_print(&e, text, sizeof text);
  assert_string_equal(text, "[FAILED_READ_FILE.NO_HINT] path=/a/b, reason=");
  // the first one stays
  assert_int_equal(hly_error_setf(&e, HLY_E_INTERNAL, "later %d", 1), HLY_ERR);
  assert_int_equal(hly_error_nomem(&e, 5), HLY_ERR);
  assert_int_equal(e.id, HLY_E_FILE_READ);
  hly_error_clear(&e);
  assert_int_equal(hly_error_nomem(&e, 5), HLY_NOMEM);
  hly_error_print(&e, text, sizeof text);
  assert_string_equal(text, "[UNABLE_TO_ACQUIRE_MEMORY] requestedBytes=5, receivedBytes=0");
  hly_error_clear(&e);
  // too much text is cut, at every size of the output
  static char lots[3 * HLY_ERROR_TEXT];
  memset(lots, 'x', sizeof lots - 1);
  hly_error_set(&e, HLY_E_INTERNAL, 3, "a", "short", "b", lots, "c", "lost");
  assert_int_equal(e.n_params, 2);
  assert_true(e.n_text <= HLY_ERROR_TEXT);
  assert_string_equal(e.text + e.params[0].value, "short");
  for (uint32_t size = 0; size < 40; size++) {
    hly_error_print(&e, text, size);
    if (size) assert_true(strlen(text) < size);
  }
  hly_error_clear(&e);
  hly_error_setf(&e, HLY_E_INTERNAL, "%s", lots);
  assert_true(e.n_text <= HLY_ERROR_TEXT);
}

static void context(void **state) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  test_ctx_init(&ctx, &host);
  assert_int_equal(hly_ctx_check(&ctx), HLY_OK);
  host.cancel = true;
  assert_int_equal(hly_ctx_poll(&ctx), HLY_OK); // asked less than 50 ms ago
  assert_int_equal(hly_ctx_check(&ctx), HLY_CANCELLED);
  ctx.last_cancel_check_ns -= 60 * 1000 * 1000;
  assert_int_equal(hly_ctx_poll(&ctx), HLY_CANCELLED);
  const hly_config conf[] = {{"a", "1"}, {"b", "2"}};
  ctx.conf = conf;
  ctx.n_conf = 2;
  assert_string_equal(hly_ctx_conf(&ctx, "b"), "2");
  assert_null(hly_ctx_conf(&ctx, "c"));
  test_ctx_deinit(&ctx);
}

// ---- the fixture's loop notices what it must ------------------------------------------------------------

static hly_status three_allocations(void *arg) {
  void *p[3] = {NULL, NULL, NULL};
  int *reached = arg, n = 0;
  while (n < 3 && (p[n] = hly_malloc(10))) n++;
  if (n > *reached) *reached = n;
  for (int i = 0; i < 3; i++) hly_free(p[i]);
  return n == 3 ? HLY_OK : HLY_NOMEM;
}

static void failing_loop(void **state) {
  int reached = 0;
  int64_t before = hly_mem_requests();
  test_failing_allocations(three_allocations, &reached, 10);
  assert_int_equal(reached, 3);
  assert_int_equal(hly_mem_requests() - before,
                   3 + (1 + 2 + 3) + 3); // plain, three failing, one past the end
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(murmur3_of_bytes),
      cmocka_unit_test(murmur3_of_numbers),
      cmocka_unit_test(bloom_filters),
      cmocka_unit_test(allocator_accounts),
      cmocka_unit_test(allocator_refuses),
      cmocka_unit_test(arenas),
      cmocka_unit_test(buffers),
      cmocka_unit_test(bits_at_every_level),
      cmocka_unit_test(bits_copy_and_fill),
      cmocka_unit_test(errors),
      cmocka_unit_test(context),
      cmocka_unit_test(failing_loop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
