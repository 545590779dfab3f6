// Memory pools. Two kinds of bytes: *deniable* (operator state: grows by grant, spills) and *working*
// (batches, scan and codec buffers: recorded, never refused). One pool a task; reservations belong to
// operators.
#ifndef HLY_MEMORY_POOL_H
#define HLY_MEMORY_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ctx.h"

typedef struct hly_pool hly_pool;
typedef struct hly_reservation hly_reservation;

// Frees at least `want` bytes of state if it can and returns bytes given back to the pool (it calls
// hly_reservation_shrink itself). Must work with memory reserved beforehand and never reserve.
typedef int64_t (*hly_spill_fn)(void *arg, int64_t want);

hly_pool *hly_pool_create(
    const hly_host *host); // grows in steps of 1 MiB through host->mem_acquire; NULL host: unlimited
// Test pool with a fixed limit of deniable bytes.
hly_pool *hly_pool_create_limited(int64_t limit);
int64_t hly_pool_destroy(
    hly_pool *pool); // bytes still reserved: 0 unless there is a leak; gives all back to the host
// How the task's operators share memory. `fair_bytes` > 0: a reservation that can spill is refused what would
// take it past `fair_bytes` divided by the number of the task's consumers, which are those that hold a
// mebibyte or more now; a mebibyte is never refused for this. 0, as at first: first come, first served.
void hly_pool_share(hly_pool *pool, int64_t fair_bytes);
// Spark asks for memory, from any thread: try-locks every plan (`busy` ones return 0) and spills the largest
// first.
int64_t hly_pool_spill(hly_pool *pool, int64_t want);

// A reservation of `name` (static). `spill` NULL: cannot be asked. Registered until destroyed.
hly_reservation *hly_reservation_create(hly_pool *pool, const char *name, hly_spill_fn spill, void *arg);
void hly_reservation_destroy(hly_reservation *r); // gives everything back; NULL is fine
// Reserves n more bytes. When the host grants less, other reservations of the task are asked to spill,
// largest first (never r itself). HLY_DENIED when it is not enough, or more than r's fair share: nothing was
// reserved; the caller spills its own state and tries again.
HLY_MUST_CHECK hly_status hly_reservation_grow(hly_reservation *r, int64_t n_bytes);
// Records n more bytes that cannot be refused: for the progress an operator must be able to make after
// spilling everything.
void hly_reservation_force(hly_reservation *r, int64_t n_bytes);
void hly_reservation_shrink(hly_reservation *r, int64_t n_bytes);
int64_t hly_reservation_bytes(const hly_reservation *r);
int64_t hly_reservation_peak(const hly_reservation *r);
// Keeps *peak at the most that it or r has ever been: an operator's metric, also while it runs.
void hly_reservation_show_peak(hly_reservation *r, int64_t *peak);
// Working bytes: recorded with the host (asked, not refused). Negative gives back.
void hly_pool_record(hly_pool *pool, int64_t delta);

// A plan is locked while it runs; spill() from another thread or a nested plan's upcall try-locks. Operators
// are spillable in upcalls: the JNI layer unlocks around them.
void hly_pool_enter(hly_pool *pool);
void hly_pool_leave(hly_pool *pool);

#endif
