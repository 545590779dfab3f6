// The accounting allocator: the only place that calls malloc. Every byte is counted; the Nth request can be
// made to fail, which is how tests walk every out-of-memory path.
#ifndef HLY_BASE_MEM_H
#define HLY_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "halley/status.h"

// 16-byte aligned; NULL when there is no memory. Size 0 gives a pointer to free.
void *hly_malloc(size_t n_bytes);
void *hly_calloc(size_t n, size_t size);    // checks the product for overflow
void *hly_realloc(void *p, size_t n_bytes); // NULL p: as hly_malloc; on failure p stays valid
void *hly_malloc_aligned(size_t n_bytes,
                         size_t alignment); // power of two, <= 4096; freed by hly_free; not for hly_realloc
void hly_free(void *p);                     // NULL is fine

int64_t hly_mem_in_use(void); // bytes handed out and not freed, all threads
int64_t hly_mem_peak(void);
// The Nth request from now (0: the next) fails, and every one after it until hly_mem_fail_never(). Tests
// only.
void hly_mem_fail_at(int64_t n);
void hly_mem_fail_never(void);
int64_t hly_mem_requests(void); // requests since start

#endif
