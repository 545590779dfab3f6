// What every engine test needs: a host that lives in this process, a context, and the failing-allocation
// loop.
#ifndef HLY_TEST_FIXTURE_H
#define HLY_TEST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "memory/pool.h"
#include "vector/batch.h"

// A host without a JVM: temporary files under $TMPDIR, no dispatcher, no inputs. `limit` < 0: unlimited
// memory.
typedef struct test_host {
  hly_host host;
  int64_t limit, granted;
  bool cancel;
} test_host;

void test_host_init(test_host *h, int64_t limit);
// A context with a pool over `h`, batch_rows 8192.
void test_ctx_init(hly_ctx *ctx, test_host *h);
// Asserts that nothing is reserved and destroys the pool.
void test_ctx_deinit(hly_ctx *ctx);

// Runs `body(arg)` once without failures, then with the Nth allocation failing for N = 0, 1, ... until a run
// needs no more (at most `max` times, then every 7th). Each failing run must return HLY_NOMEM or HLY_OK and
// leave hly_mem_in_use() where it was. `body` builds and frees everything itself.
void test_failing_allocations(hly_status (*body)(void *arg), void *arg, int max);

// Fails the test with the context's error text unless st is HLY_OK.
#define assert_ok(ctx, expr) test_assert_ok((ctx), (expr), #expr, __FILE__, __LINE__)
void test_assert_ok(hly_ctx *ctx, hly_status st, const char *what, const char *file, int line);

#endif
