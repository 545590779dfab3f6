// The engine's public API: open a plan, pull batches, ask the registry. Needs no JVM; engine/jni is one user
// of it and the `halley` command line another.
#ifndef HALLEY_H
#define HALLEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "halley/host.h"
#include "halley/status.h"

struct hly_pool;

// A plan that was opened for one task input. Used by one thread at a time; `hly_plan_close` may come from
// another thread and waits for a running call. While a call runs the pool is entered (memory/pool.h) and it
// is left around every call of the host, so that the task's operators can spill in the middle of any of them.
typedef struct hly_plan hly_plan;

// Version of the library; the planner's must be equal.
const char *hly_version(void);

// Opens a plan: `stage` and `task` are serialized `Stage` and `TaskInput` (not kept). `host` and `pool` are
// borrowed and must outlive the plan. On failure *out is NULL and `error` says why (HLY_ERR, HLY_NOMEM,
// HLY_CANCELLED, HLY_REFUSED: an operator or expression is not supported, `error` carries the reasons).
HLY_MUST_CHECK hly_status hly_plan_open(const uint8_t *stage, size_t n_stage, const uint8_t *task,
                                        size_t n_task, const hly_host *host, struct hly_pool *pool,
                                        hly_error *error, hly_plan **out);
// Next batch as dense columns; NULL at the end. Borrowed until the next call. Batches without rows are
// skipped.
HLY_MUST_CHECK hly_status hly_plan_next(hly_plan *plan, const hly_export_batch **out);
// Next rows as UnsafeRows; NULL at the end. Borrowed until the next call. One batch may come in several
// parts. Not to be mixed with hly_plan_next.
HLY_MUST_CHECK hly_status hly_plan_next_rows(hly_plan *plan, const hly_export_rows **out);
// Runs a plan whose root is a ShuffleWrite to its end; the map output is in `data_file` (created or
// replaced). *results: bytes of each partition in the file, then, where the plan asks for them, a checksum of
// each; *n counts both. Borrowed until the plan is closed.
HLY_MUST_CHECK hly_status hly_plan_write(hly_plan *plan, const char *data_file, const int64_t **results,
                                         uint32_t *n);
// Error of the last call on the plan that did not return HLY_OK.
const hly_error *hly_plan_error(const hly_plan *plan);
// Metric slots of an operator (N_METRICS of plan.proto) into `out`, at most `n`; false: no such operator.
bool hly_plan_metrics(hly_plan *plan, int32_t plan_id, int64_t *out, uint32_t n);
// Frees the plan and removes its temporary files, once a call that another thread is in has returned. NULL is
// fine. From within a host call of the same plan it does nothing.
void hly_plan_close(hly_plan *plan);

// Binds the nodes of a serialized `BindRequest`; *response is a serialized `BindResponse`
// (hly_response_free). Pure: no host, no I/O.
HLY_MUST_CHECK hly_status hly_plan_bind(const uint8_t *request, size_t n_request, hly_error *error,
                                        uint8_t **response, size_t *n_response);
void hly_response_free(uint8_t *response);

#endif
