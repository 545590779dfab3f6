// Bytes of a Stage: decoded, bound, opened over an empty task and pulled once. The host has no inputs, no
// files and no dispatcher, so nothing outside is touched.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "halley/halley.h"
#include "memory/pool.h"

static bool cancelled(void *arg) {
  return false;
}
static hly_status no_input(void *arg, int32_t handle, hly_input_block *block, bool *more, hly_error *error) {
  *more = false;
  return HLY_OK;
}
static hly_status no_dispatch(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call,
                              hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST, "no dispatcher");
}
static hly_status no_temp_file(void *arg, char *path, uint32_t size, hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST, "no files");
}
static hly_status no_open(void *arg, const char *uri, int64_t *file, hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST, "no files");
}
static hly_status no_read(void *arg, int64_t file, int64_t position, void *out, int32_t n, hly_error *error) {
  return hly_error_setf(error, HLY_E_HOST, "no files");
}
static void no_close(void *arg, int64_t file) {}
static void no_input_file(void *arg, const char *path, int64_t start, int64_t length) {}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hly_host host = {.cancelled = cancelled,
                   .input_next = no_input,
                   .dispatch = no_dispatch,
                   .temp_file = no_temp_file,
                   .file_open = no_open,
                   .file_read = no_read,
                   .file_close = no_close,
                   .input_file = no_input_file};
  hly_error error = {0};
  uint8_t *response = NULL;
  size_t n_response = 0;
  if (hly_plan_bind(data, size, &error, &response, &n_response) == HLY_OK) hly_response_free(response);
  memset(&error, 0, sizeof error);
  hly_pool *pool = hly_pool_create_limited(64 << 20);
  if (!pool) return 0;
  hly_plan *plan = NULL;
  if (hly_plan_open(data, size, NULL, 0, &host, pool, &error, &plan) == HLY_OK) {
    const hly_export_batch *batch = NULL;
    hly_status st = hly_plan_next(plan, &batch);
    (void)st;
    hly_plan_close(plan);
  }
  hly_pool_destroy(pool);
  return 0;
}
