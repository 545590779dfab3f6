#include "base/ctx.h"

#include <string.h>
#include <time.h>

enum { POLL_NS = 50 * 1000 * 1000 };

int64_t hly_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

hly_status hly_ctx_check(hly_ctx *ctx) {
  ctx->last_cancel_check_ns = hly_now_ns();
  return ctx->host && ctx->host->cancelled && ctx->host->cancelled(ctx->host->arg) ? HLY_CANCELLED : HLY_OK;
}

hly_status hly_ctx_poll(hly_ctx *ctx) {
  return hly_now_ns() - ctx->last_cancel_check_ns < POLL_NS ? HLY_OK : hly_ctx_check(ctx);
}

const char *hly_ctx_conf(const hly_ctx *ctx, const char *key) {
  for (uint32_t i = 0; i < ctx->n_conf; i++)
    if (strcmp(ctx->conf[i].key, key) == 0) return ctx->conf[i].value;
  return NULL;
}

hly_status hly_ctx_nomem(hly_ctx *ctx, int64_t n_bytes) {
  return hly_error_nomem(&ctx->error, n_bytes);
}
