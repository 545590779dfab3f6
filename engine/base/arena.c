#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST_CHUNK = 4096, LAST_CHUNK = 1 << 20 };

typedef struct chunk {
  struct chunk *next;
  size_t n_bytes; // of `data`
  _Alignas(16) uint8_t data[];
} chunk;

typedef struct callback {
  struct callback *next;
  void (*fn)(void *arg);
  void *arg;
} callback;

struct hly_arena {
  chunk *chunks; // the one that is filled first
  size_t used;   // of the first chunk
  size_t chunk_size;
  size_t n_bytes; // of all chunks
  callback *callbacks;
};

hly_arena *hly_arena_create(void) {
  hly_arena *arena = hly_calloc(1, sizeof *arena);
  if (arena) arena->chunk_size = FIRST_CHUNK;
  return arena;
}

static void run_callbacks(hly_arena *arena) {
  // A callback may register another (never on purpose); taking them off first keeps the list sound.
  while (arena->callbacks) {
    callback *c = arena->callbacks;
    arena->callbacks = c->next;
    c->fn(c->arg);
  }
}

void hly_arena_destroy(hly_arena *arena) {
  if (!arena) return;
  run_callbacks(arena);
  for (chunk *c = arena->chunks, *next; c; c = next) {
    next = c->next;
    hly_free(c);
  }
  hly_free(arena);
}

void hly_arena_reset(hly_arena *arena) {
  run_callbacks(arena);
  // Keeps the largest ordinary chunk, so that a batch arena stops allocating after its first batches.
  chunk *keep = NULL;
  for (chunk *c = arena->chunks; c; c = c->next)
    if (c->n_bytes <= LAST_CHUNK && (!keep || c->n_bytes > keep->n_bytes)) keep = c;
  for (chunk *c = arena->chunks, *next; c; c = next) {
    next = c->next;
    if (c != keep) hly_free(c);
  }
  if (keep) keep->next = NULL;
  arena->chunks = keep;
  arena->used = 0;
  arena->n_bytes = keep ? keep->n_bytes : 0;
}

void *hly_arena_alloc(hly_arena *arena, size_t n_bytes) {
  if (n_bytes > PTRDIFF_MAX / 2) return NULL;
  size_t n = (n_bytes + 15) & ~(size_t)15;
  if (n == 0) n = 16; // distinct addresses
  chunk *c = arena->chunks;
  if (!c || c->n_bytes - arena->used < n) {
    // A block too large for an ordinary chunk gets one of its own behind the first, which stays in use.
    bool own = c && n > arena->chunk_size / 2;
    size_t size = own || n > arena->chunk_size ? n : arena->chunk_size;
    chunk *fresh = hly_malloc(sizeof(chunk) + size);
    if (!fresh) return NULL;
    fresh->n_bytes = size;
    arena->n_bytes += size;
    if (own) {
      fresh->next = c->next;
      c->next = fresh;
      return memset(fresh->data, 0, n);
    }
    fresh->next = c;
    arena->chunks = c = fresh;
    arena->used = 0;
    if (arena->chunk_size < LAST_CHUNK) arena->chunk_size *= 2;
  }
  void *p = c->data + arena->used;
  arena->used += n;
  return memset(p, 0, n);
}

void *hly_arena_array(hly_arena *arena, size_t n, size_t size) {
  size_t n_bytes;
  if (__builtin_mul_overflow(n, size, &n_bytes)) return NULL;
  return hly_arena_alloc(arena, n_bytes);
}

char *hly_arena_copy(hly_arena *arena, const void *data, size_t n_bytes) {
  if (n_bytes > PTRDIFF_MAX / 2) return NULL;
  char *p = hly_arena_alloc(arena, n_bytes + 1); // zeroed: the NUL is there
  if (p && n_bytes) memcpy(p, data, n_bytes);
  return p;
}

char *hly_arena_printf(hly_arena *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *p = n < 0 ? NULL : hly_arena_alloc(arena, (size_t)n + 1);
  if (p) vsnprintf(p, (size_t)n + 1, format, again);
  va_end(again);
  return p;
}

int hly_arena_on_reset(hly_arena *arena, void (*fn)(void *arg), void *arg) {
  callback *c = HLY_ARENA_NEW(arena, callback);
  if (!c) return -1;
  c->fn = fn;
  c->arg = arg;
  c->next = arena->callbacks;
  arena->callbacks = c;
  return 0;
}

size_t hly_arena_bytes(const hly_arena *arena) {
  return arena->n_bytes;
}
