#include "base/mem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// In front of every block: what is needed to account for it and to find the start of the system's block.
// 16 bytes, so that the caller's part keeps the alignment of malloc.
typedef struct header {
  uint64_t n_bytes; // that the caller asked for
  uint64_t offset;  // from the system's block to the caller's
} header;
_Static_assert(sizeof(header) == 16, "keeps the alignment");

static _Atomic int64_t in_use;
static _Atomic int64_t peak;
static _Atomic int64_t requests;
static _Atomic int64_t fail_after; // requests left before failures begin
static atomic_bool failing;

static bool refuse(void) {
  atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
  if (__builtin_expect(!atomic_load_explicit(&failing, memory_order_relaxed), 1)) return false;
  return atomic_fetch_sub_explicit(&fail_after, 1, memory_order_relaxed) <= 0;
}

static void account(int64_t delta) {
  int64_t now = atomic_fetch_add_explicit(&in_use, delta, memory_order_relaxed) + delta;
  int64_t most = atomic_load_explicit(&peak, memory_order_relaxed);
  while (now > most && !atomic_compare_exchange_weak_explicit(&peak, &most, now, memory_order_relaxed,
                                                              memory_order_relaxed)) {
  }
}

static void *place(uint8_t *block, size_t offset, size_t n_bytes) {
  header *h = (header *)(block + offset) - 1;
  h->n_bytes = n_bytes;
  h->offset = offset;
  account((int64_t)n_bytes);
  return block + offset;
}

// Large blocks that are read all over (hash tables, their rows) miss the TLB at every access unless their
// pages are large. Only asked for: the system decides.
enum { HUGE_PAGE = 2 << 20, LARGE = 4 << 20 };

static void prefer_huge_pages(void *block, size_t n_bytes) {
  uintptr_t from = ((uintptr_t)block + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
  uintptr_t to = ((uintptr_t)block + n_bytes) & ~(uintptr_t)(HUGE_PAGE - 1);
  if (to > from) madvise((void *)from, to - from, MADV_HUGEPAGE);
}

void *hly_malloc(size_t n_bytes) {
  if (refuse() || n_bytes > PTRDIFF_MAX - sizeof(header)) return NULL;
  uint8_t *block = malloc(n_bytes + sizeof(header));
  if (!block) return NULL;
  if (n_bytes >= LARGE) prefer_huge_pages(block, n_bytes);
  return place(block, sizeof(header), n_bytes);
}

void *hly_calloc(size_t n, size_t size) {
  size_t n_bytes;
  if (refuse() || __builtin_mul_overflow(n, size, &n_bytes) || n_bytes > PTRDIFF_MAX - sizeof(header))
    return NULL;
  uint8_t *block = calloc(1, n_bytes + sizeof(header));
  if (!block) return NULL;
  if (n_bytes >= LARGE) prefer_huge_pages(block, n_bytes);
  return place(block, sizeof(header), n_bytes);
}

void *hly_realloc(void *p, size_t n_bytes) {
  if (!p) return hly_malloc(n_bytes);
  if (refuse() || n_bytes > PTRDIFF_MAX - sizeof(header)) return NULL;
  header *h = (header *)p - 1;
  int64_t before = (int64_t)h->n_bytes;
  uint8_t *block = realloc(h, n_bytes + sizeof(header));
  if (!block) return NULL;
  account(-before);
  return place(block, sizeof(header), n_bytes);
}

void *hly_malloc_aligned(size_t n_bytes, size_t alignment) {
  if (alignment < 16) alignment = 16;
  if (refuse() || n_bytes > PTRDIFF_MAX - sizeof(header) - alignment) return NULL;
  uint8_t *block = malloc(n_bytes + sizeof(header) + alignment);
  if (!block) return NULL;
  uintptr_t at = ((uintptr_t)block + sizeof(header) + alignment - 1) & ~(uintptr_t)(alignment - 1);
  return place(block, at - (uintptr_t)block, n_bytes);
}

void hly_free(void *p) {
  if (!p) return;
  header *h = (header *)p - 1;
  account(-(int64_t)h->n_bytes);
  free((uint8_t *)p - h->offset);
}

int64_t hly_mem_in_use(void) {
  return atomic_load(&in_use);
}

int64_t hly_mem_peak(void) {
  return atomic_load(&peak);
}

void hly_mem_fail_at(int64_t n) {
  atomic_store(&fail_after, n);
  atomic_store(&failing, true);
}

void hly_mem_fail_never(void) {
  atomic_store(&failing, false);
}

int64_t hly_mem_requests(void) {
  return atomic_load(&requests);
}
