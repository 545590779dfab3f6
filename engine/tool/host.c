#include "tool/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool cancelled(void *arg) {
  return false;
}

static int64_t mem_acquire(void *arg, int64_t n_bytes) {
  tool_host *h = arg;
  int64_t room = h->limit < 0 ? n_bytes : h->limit - h->granted;
  int64_t grant = room < n_bytes ? (room < 0 ? 0 : room) : n_bytes;
  h->granted += grant;
  return grant;
}

static void mem_release(void *arg, int64_t n_bytes) {
  tool_host *h = arg;
  h->granted -= n_bytes;
}

static hly_status input_next(void *arg, int32_t handle, hly_input_block *block, bool *more,
                             hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST,
                        "input %d comes from the JVM; a saved plan without it cannot run here", handle);
}

static hly_status dispatch(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call,
                           hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST,
                        "operator %d has an expression that only Spark's own code evaluates", plan_id);
}

static hly_status temp_file(void *arg, char *path, uint32_t size, hly_error *error) {
  tool_host *h = arg;
  const char *dir = getenv("TMPDIR");
  int n =
      snprintf(path, size, "%s/halley-%d-%u", dir && *dir ? dir : "/tmp", (int)getpid(), h->n_temp_files++);
  if (n < 0 || (uint32_t)n >= size) return hly_error_setf(error, HLY_E_HOST, "TMPDIR is too long");
  return HLY_OK;
}

static hly_status file_open(void *arg, const char *uri, int64_t *file, hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST, "'%s' is not a local file", uri);
}

static hly_status file_read(void *arg, int64_t file, int64_t position, void *out, int32_t n,
                            hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST, "no file is open through the host");
}

static void file_close(void *arg, int64_t file) {}

static void input_file(void *arg, const char *path, int64_t start, int64_t length) {}

void tool_host_init(tool_host *h, int64_t memory_limit) {
  *h = (tool_host){.limit = memory_limit};
  h->host = (hly_host){
      .arg = h,
      .cancelled = cancelled,
      .mem_acquire = mem_acquire,
      .mem_release = mem_release,
      .input_next = input_next,
      .dispatch = dispatch,
      .temp_file = temp_file,
      .file_open = file_open,
      .file_read = file_read,
      .file_close = file_close,
      .input_file = input_file,
  };
}
