#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool cancelled(void *arg) {
  return ((test_host *)arg)->cancel;
}

static int64_t mem_acquire(void *arg, int64_t n_bytes) {
  test_host *h = arg;
  int64_t room = h->limit < 0 ? n_bytes : h->limit - h->granted;
  int64_t got = n_bytes < room ? n_bytes : room > 0 ? room : 0;
  h->granted += got;
  return got;
}

static void mem_release(void *arg, int64_t n_bytes) {
  test_host *h = arg;
  h->granted -= n_bytes;
  assert_true(h->granted >= 0);
}

static hly_status no_input(void *arg, int32_t handle, hly_input_block *block, bool *more, hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST, "this host has no input %d", handle);
}

static hly_status no_dispatch(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call,
                              hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST, "this host evaluates no expressions (plan %d, site %d)", plan_id,
                        site);
}

static hly_status temp_file(void *arg, char *path, uint32_t size, hly_error *error) {
  const char *dir = getenv("TMPDIR");
  int n = snprintf(path, size, "%s/halley-test-XXXXXX", dir ? dir : "/tmp");
  if (n < 0 || (uint32_t)n >= size) return hly_error_setf(error, HLY_E_HOST, "path too long");
  int fd = mkstemp(path);
  if (fd < 0) return hly_error_setf(error, HLY_E_HOST, "cannot create %s", path);
  close(fd);
  return HLY_OK;
}

static hly_status no_file_open(void *arg, const char *uri, int64_t *file, hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST, "this host opens no files (%s)", uri);
}

static hly_status no_file_read(void *arg, int64_t file, int64_t position, void *out, int32_t n,
                               hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST, "this host reads no files");
}

static void no_file_close(void *arg, int64_t file) {}

static void input_file(void *arg, const char *path, int64_t start, int64_t length) {}

void test_host_init(test_host *h, int64_t limit) {
  memset(h, 0, sizeof *h);
  h->limit = limit;
  h->host = (hly_host){
      .arg = h,
      .cancelled = cancelled,
      .mem_acquire = mem_acquire,
      .mem_release = mem_release,
      .input_next = no_input,
      .dispatch = no_dispatch,
      .temp_file = temp_file,
      .file_open = no_file_open,
      .file_read = no_file_read,
      .file_close = no_file_close,
      .input_file = input_file,
  };
}

void test_ctx_init(hly_ctx *ctx, test_host *h) {
  memset(ctx, 0, sizeof *ctx);
  ctx->host = &h->host;
  ctx->pool = hly_pool_create(&h->host);
  assert_non_null(ctx->pool);
  ctx->batch_rows = 8192;
  ctx->batch_bytes = 8 << 20;
  ctx->max_temp_bytes = INT64_MAX;
}

void test_ctx_deinit(hly_ctx *ctx) {
  const test_host *h = ctx->host->arg;
  assert_int_equal(hly_pool_destroy(ctx->pool), 0);
  assert_int_equal(h->granted, 0);
  assert_int_equal(ctx->temp_bytes, 0);
  ctx->pool = NULL;
}

void test_failing_allocations(hly_status (*body)(void *arg), void *arg, int max) {
  int64_t before = hly_mem_in_use();
  assert_int_equal(body(arg), HLY_OK);
  assert_int_equal(hly_mem_in_use(), before);
  for (int64_t n = 0;; n += n < max ? 1 : 7) {
    int64_t requests = hly_mem_requests();
    hly_mem_fail_at(n);
    hly_status st = body(arg);
    hly_mem_fail_never();
    bool reached = hly_mem_requests() - requests > n;
    if (st != HLY_NOMEM && st != HLY_OK) {
      print_error("failing allocation %lld: status %d\n", (long long)n, (int)st);
      fail();
    }
    if (hly_mem_in_use() != before) {
      print_error("failing allocation %lld: %lld bytes leaked\n", (long long)n,
                  (long long)(hly_mem_in_use() - before));
      fail();
    }
    if (!reached) {
      assert_int_equal(st, HLY_OK);
      return;
    }
  }
}

void test_assert_ok(hly_ctx *ctx, hly_status st, const char *what, const char *file, int line) {
  if (st == HLY_OK) return;
  char text[HLY_ERROR_TEXT + 256];
  hly_error_print(&ctx->error, text, sizeof text);
  print_error("%s:%d: %s: status %d %s\n", file, line, what, (int)st, text);
  _fail(file, line);
}
