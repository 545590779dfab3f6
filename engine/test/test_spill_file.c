#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory/spill_file.h"

static test_host host;
static hly_ctx ctx;
static hly_status (*real_temp_file)(void *, char *, uint32_t, hly_error *);
static char path[1024];
static int second_fd; // of the file under test, which has no name

// The system's calls as a bad day has them. Ours stand in the place of libc's.
static struct {
  bool pieces;       // as little as a call may do, interrupted every other time
  int64_t disk_room; // bytes that can still be written; -1: no bound
  int read_error;    // 0: none
  uint32_t n_calls;
} trouble;

ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
  if (trouble.pieces && n > 1) {
    if (trouble.n_calls++ % 2) {
      errno = EINTR;
      return -1;
    }
    n = n / 2;
  }
  if (trouble.disk_room >= 0 && (int64_t)n > trouble.disk_room) n = (size_t)trouble.disk_room;
  if (n == 0) {
    errno = ENOSPC;
    return -1;
  }
  if (trouble.disk_room >= 0) trouble.disk_room -= (int64_t)n;
  return syscall(SYS_pwrite64, fd, data, n, at);
}

ssize_t pread(int fd, void *out, size_t n, off_t at) {
  if (trouble.read_error) {
    errno = trouble.read_error;
    return -1;
  }
  if (trouble.pieces && n > 1) {
    if (trouble.n_calls++ % 2) {
      errno = EINTR;
      return -1;
    }
    n = n / 2;
  }
  return syscall(SYS_pread64, fd, out, n, at);
}

// Notes the path and keeps the file open, so that tests can damage it.
static hly_status noting_temp_file(void *arg, char *out, uint32_t size, hly_error *error) {
  HLY_TRY(real_temp_file(arg, out, size, error));
  strcpy(path, out);
  second_fd = open(path, O_RDWR);
  assert_true(second_fd >= 0);
  return HLY_OK;
}

static int setup(void **state) {
  test_host_init(&host, -1);
  real_temp_file = host.host.temp_file;
  host.host.temp_file = noting_temp_file;
  second_fd = -1;
  memset(&trouble, 0, sizeof trouble);
  trouble.disk_room = -1;
  test_ctx_init(&ctx, &host);
  return 0;
}

static int teardown(void **state) {
  if (second_fd >= 0) close(second_fd);
  assert_int_equal(access(path, F_OK), -1); // nothing is left
  test_ctx_deinit(&ctx);
  return 0;
}

static void assert_said(const char *what) {
  char said[4096];
  hly_error_print(&ctx.error, said, sizeof said);
  if (!strstr(said, what)) fail_msg("'%s' is not in '%s'", what, said);
}

// Byte k of section s: odd sections compress, even ones do not.
static uint8_t byte_at(uint64_t s, uint64_t k) {
  if (s % 2) return (uint8_t)(k / 100 + s);
  uint64_t x = (k + s + 1) * 0x9e3779b97f4a7c15ull;
  return (uint8_t)((x ^ x >> 29) * 0xbf58476d1ce4e5b9ull >> 50);
}

static void sections(void **state) {
  static const uint32_t sizes[] = {0, 1, 65535, 65536, 65537, 300000, 17, 1000000};
  enum { N = sizeof sizes / sizeof *sizes };
  uint64_t offsets[N + 1] = {0};
  hly_spill_file *f;
  assert_ok(&ctx, hly_spill_create(&ctx, &f));
  uint8_t *data = hly_malloc(1000000);
  for (uint32_t s = 0; s < N; s++) {
    for (uint32_t k = 0; k < sizes[s]; k++) data[k] = byte_at(s, k);
    for (uint32_t at = 0, piece = 1; at < sizes[s]; at += piece, piece = piece * 5 % 200001) {
      if (piece > sizes[s] - at) piece = sizes[s] - at;
      assert_ok(&ctx, hly_spill_write(f, data + at, piece));
    }
    assert_ok(&ctx, hly_spill_end_section(f, &offsets[s + 1]));
    assert_int_equal(hly_spill_bytes(f), offsets[s + 1]);
    assert_int_equal(ctx.temp_bytes, offsets[s + 1]);
  }
  assert_true(offsets[N] < 1400000); // half of it compresses
  // All at once, in turns.
  hly_spill_reader *readers[N];
  uint32_t at[N] = {0};
  for (uint32_t s = 0; s < N; s++) assert_ok(&ctx, hly_spill_open(f, offsets[s], &readers[s]));
  for (uint32_t left = N, round = 0; left; round++) {
    left = 0;
    for (uint32_t s = 0; s < N; s++) {
      uint32_t n = (round + 1) * 7919 % 150000;
      if (n > sizes[s] - at[s]) n = sizes[s] - at[s];
      assert_ok(&ctx, hly_spill_read(readers[s], data, n));
      for (uint32_t k = 0; k < n; k++) assert_int_equal(data[k], byte_at(s, at[s] + k));
      at[s] += n;
      left += at[s] < sizes[s];
    }
  }
  for (uint32_t s = 0; s < N; s++) {
    assert_int_equal(hly_spill_read(readers[s], data, 1), HLY_ERR); // not the next section's bytes
    assert_int_equal(ctx.error.id, HLY_E_SPILL_IO);
    hly_error_clear(&ctx.error);
    hly_spill_reader_close(readers[s]);
  }
  hly_spill_reader_close(NULL);
  hly_free(data);
  hly_spill_close(f);
  hly_spill_close(NULL);
  assert_int_equal(ctx.temp_bytes, 0);
}

// Whatever byte changes, wherever the file ends: an error, or a byte that was never read.
static void damage(void **state) {
  uint8_t data[3000], back[3000];
  for (uint32_t k = 0; k < sizeof data; k++) data[k] = byte_at(k / 2000, k);
  hly_spill_file *f;
  uint64_t end;
  assert_ok(&ctx, hly_spill_create(&ctx, &f));
  assert_ok(&ctx, hly_spill_write(f, data, sizeof data));
  assert_ok(&ctx, hly_spill_end_section(f, &end));
  int caught = 0;
  for (uint64_t i = 0; i < end - 16; i++) { // the end mark is not read
    uint8_t byte, other;
    assert_int_equal(pread(second_fd, &byte, 1, (off_t)i), 1);
    other = byte ^ (uint8_t)(1u << (i % 8));
    assert_int_equal(pwrite(second_fd, &other, 1, (off_t)i), 1);
    hly_spill_reader *r;
    assert_ok(&ctx, hly_spill_open(f, 0, &r));
    assert_int_equal(hly_spill_read(r, back, sizeof back), HLY_ERR);
    assert_int_equal(ctx.error.id, HLY_E_SPILL_IO);
    assert_said(path);
    hly_error_clear(&ctx.error);
    hly_spill_reader_close(r);
    assert_int_equal(pwrite(second_fd, &byte, 1, (off_t)i), 1);
    caught++;
  }
  assert_true(caught > 1000);
  assert_int_equal(ftruncate(second_fd, (off_t)end - 20), 0);
  hly_spill_reader *r;
  assert_ok(&ctx, hly_spill_open(f, 0, &r));
  assert_int_equal(hly_spill_read(r, back, sizeof back), HLY_ERR);
  assert_int_equal(ctx.error.id, HLY_E_SPILL_IO);
  hly_error_clear(&ctx.error);
  hly_spill_reader_close(r);
  hly_spill_close(f);
}

static void limit(void **state) {
  ctx.max_temp_bytes = 100000;
  ctx.plan = "Sort(Filter)";
  hly_spill_file *f;
  assert_ok(&ctx, hly_spill_create(&ctx, &f));
  uint8_t *data = hly_malloc(200000);
  for (uint32_t k = 0; k < 200000; k++) data[k] = byte_at(0, k);
  assert_ok(&ctx, hly_spill_write(f, data, 70000));
  assert_true(ctx.temp_bytes > 60000);
  assert_int_equal(hly_spill_write(f, data, 70000), HLY_ERR);
  assert_int_equal(ctx.error.id, HLY_E_TEMP_LIMIT);
  assert_string_equal(hly_error_condition(&ctx.error), "SPILL_OUT_OF_MEMORY");
  assert_said("native plan Sort(Filter)");
  assert_said(" 100000 bytes");
  assert_said("spark.comet.maxTempDirectorySize");
  assert_int_equal(ctx.temp_bytes, 0);
  assert_int_equal(lseek(second_fd, 0, SEEK_END), 0); // the disk is free again at once
  hly_error_clear(&ctx.error);
  assert_int_equal(hly_spill_write(f, data, 70000), HLY_ERR); // and it stays broken
  hly_error_clear(&ctx.error);
  hly_spill_close(f);
  hly_free(data);
}

static void disk_that_refuses(void **state) {
  struct rlimit before, small = {50000, RLIM_INFINITY};
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small.rlim_max = before.rlim_max;
  hly_spill_file *f;
  assert_ok(&ctx, hly_spill_create(&ctx, &f));
  uint8_t *data = hly_malloc(200000);
  for (uint32_t k = 0; k < 200000; k++) data[k] = byte_at(0, k);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  hly_status st = hly_spill_write(f, data, 200000);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_int_equal(st, HLY_ERR);
  assert_int_equal(ctx.error.id, HLY_E_SPILL_WRITE);
  assert_said(path);
  assert_said(strerror(EFBIG));
  assert_int_equal(ctx.temp_bytes, 0);
  assert_int_equal(lseek(second_fd, 0, SEEK_END), 0);
  hly_error_clear(&ctx.error);
  hly_spill_close(f);
  hly_free(data);
}

// Full at whatever byte: one error that says so, and what was written is given up at once.
static void full_disk(void **state) {
  uint8_t *data = hly_malloc(200000);
  for (uint32_t k = 0; k < 200000; k++) data[k] = byte_at(0, k);
  for (int64_t room = 0; room < 200000; room += 19999) {
    hly_spill_file *f;
    uint64_t end;
    assert_ok(&ctx, hly_spill_create(&ctx, &f));
    trouble.disk_room = room;
    hly_status st = hly_spill_write(f, data, 200000);
    if (st == HLY_OK) st = hly_spill_end_section(f, &end);
    assert_int_equal(st, HLY_ERR);
    assert_int_equal(ctx.error.id, HLY_E_SPILL_WRITE);
    assert_said(path);
    assert_said(strerror(ENOSPC));
    assert_int_equal(ctx.temp_bytes, 0);
    assert_int_equal(lseek(second_fd, 0, SEEK_END), 0);
    hly_error_clear(&ctx.error);
    hly_spill_close(f);
    close(second_fd);
    assert_int_equal(access(path, F_OK), -1);
    second_fd = -1;
  }
  hly_free(data);
}

// A call may do less than it was asked to, or nothing: that is no error.
static void calls_in_pieces(void **state) {
  uint8_t *data = hly_malloc(200000), *back = hly_malloc(200000);
  for (uint32_t k = 0; k < 200000; k++) data[k] = byte_at(k / 70000, k);
  hly_spill_file *f;
  hly_spill_reader *r;
  uint64_t end;
  trouble.pieces = true;
  assert_ok(&ctx, hly_spill_create(&ctx, &f));
  assert_ok(&ctx, hly_spill_write(f, data, 200000));
  assert_ok(&ctx, hly_spill_end_section(f, &end));
  assert_int_equal(lseek(second_fd, 0, SEEK_END), end);
  assert_ok(&ctx, hly_spill_open(f, 0, &r));
  assert_ok(&ctx, hly_spill_read(r, back, 200000));
  assert_memory_equal(data, back, 200000);
  assert_true(trouble.n_calls > 20);
  hly_spill_reader_close(r);
  // A disk that gives nothing back.
  trouble.read_error = EIO;
  assert_ok(&ctx, hly_spill_open(f, 0, &r));
  assert_int_equal(hly_spill_read(r, back, 1), HLY_ERR);
  assert_int_equal(ctx.error.id, HLY_E_SPILL_IO);
  assert_said(path);
  assert_said(strerror(EIO));
  hly_error_clear(&ctx.error);
  hly_spill_reader_close(r);
  hly_spill_close(f);
  hly_free(data);
  hly_free(back);
}

static hly_status no_place(void *arg, char *out, uint32_t size, hly_error *error) {
  strcpy(out, "/nowhere/at/all");
  return HLY_OK;
}

static void nowhere_to_write(void **state) {
  host.host.temp_file = no_place;
  hly_spill_file *f;
  assert_int_equal(hly_spill_create(&ctx, &f), HLY_ERR);
  assert_int_equal(ctx.error.id, HLY_E_SPILL_WRITE);
  assert_said("/nowhere/at/all");
  assert_said(strerror(ENOENT));
}

static hly_status round_trip(void *arg) {
  hly_error_clear(&ctx.error);
  hly_spill_file *f = NULL;
  hly_spill_reader *r = NULL;
  uint64_t end;
  char back[4];
  hly_status st;
  HLY_TRY_GOTO(st, hly_spill_create(&ctx, &f), out);
  int64_t requests = hly_mem_requests();
  HLY_TRY_GOTO(st, hly_spill_write(f, "abcd", 4), out);
  HLY_TRY_GOTO(st, hly_spill_end_section(f, &end), out);
  assert_int_equal(hly_mem_requests(), requests); // writing needs no memory
  HLY_TRY_GOTO(st, hly_spill_open(f, 0, &r), out);
  HLY_TRY_GOTO(st, hly_spill_read(r, back, 4), out);
  assert_memory_equal(back, "abcd", 4);
out:
  hly_spill_reader_close(r);
  hly_spill_close(f);
  return st;
}

static void failing_allocations(void **state) {
  host.host.temp_file = real_temp_file;
  test_failing_allocations(round_trip, NULL, 100);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {TEST(sections),
                                     TEST(damage),
                                     TEST(limit),
                                     TEST(disk_that_refuses),
                                     TEST(full_disk),
                                     TEST(calls_in_pieces),
                                     TEST(nowhere_to_write),
                                     TEST(failing_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
