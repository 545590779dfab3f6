// The context every fallible function gets: where errors go and what the plan may ask for.
#ifndef HLY_BASE_CTX_H
#define HLY_BASE_CTX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "halley/host.h"
#include "halley/status.h"

struct hly_pool;

typedef struct hly_config {
  const char *key, *value;
} hly_config;

typedef struct hly_ctx {
  const hly_host *host;
  struct hly_pool *pool; // of the task
  hly_error error;       // of the plan
  const char *plan;      // its operators, for messages; NULL: not said
  uint32_t batch_rows;   // most rows in a batch
  uint64_t batch_bytes;  // soft bound of a batch's bytes
  int64_t max_temp_bytes;
  int64_t temp_bytes; // on disk now
  bool debug;
  const hly_config *conf;
  uint32_t n_conf;
  int64_t last_cancel_check_ns;
} hly_ctx;

// HLY_CANCELLED when the task was asked to stop. Once a batch.
HLY_MUST_CHECK hly_status hly_ctx_check(hly_ctx *ctx);
// Same, but asks the host at most every 50 ms: for inner loops of blocking phases.
HLY_MUST_CHECK hly_status hly_ctx_poll(hly_ctx *ctx);
const char *hly_ctx_conf(const hly_ctx *ctx, const char *key); // NULL: not set
HLY_MUST_CHECK hly_status hly_ctx_nomem(hly_ctx *ctx, int64_t n_bytes);
int64_t hly_now_ns(void); // monotonic

// p != NULL or records and returns HLY_NOMEM.
#define HLY_CHECK_MEM(ctx, p, n_bytes)                                                                       \
  do {                                                                                                       \
    if (__builtin_expect(!(p), 0)) return hly_ctx_nomem((ctx), (int64_t)(n_bytes));                          \
  } while (0)

#endif
