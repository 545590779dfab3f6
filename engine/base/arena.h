// Arena: allocation by bumping, freed as a whole. Lifetimes are arenas: plan, batch.
#ifndef HLY_BASE_ARENA_H
#define HLY_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct hly_arena hly_arena;

hly_arena *hly_arena_create(void);        // NULL: no memory
void hly_arena_destroy(hly_arena *arena); // NULL is fine; runs the callbacks, newest first
void hly_arena_reset(hly_arena *arena);   // frees everything but keeps the arena (and one chunk)
// Zeroed, 16-byte aligned; NULL: no memory.
void *hly_arena_alloc(hly_arena *arena, size_t n_bytes);
void *hly_arena_array(hly_arena *arena, size_t n, size_t size);           // checks for overflow
char *hly_arena_copy(hly_arena *arena, const void *data, size_t n_bytes); // adds a NUL
char *hly_arena_printf(hly_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Calls `fn(arg)` at reset or destroy: how files and buffers are tied to an arena. 0, or -1 for no memory.
int hly_arena_on_reset(hly_arena *arena, void (*fn)(void *arg), void *arg);
size_t hly_arena_bytes(const hly_arena *arena);

#define HLY_ARENA_NEW(arena, type) ((type *)hly_arena_alloc((arena), sizeof(type)))
#define HLY_ARENA_NEW_N(arena, type, n) ((type *)hly_arena_array((arena), (n), sizeof(type)))

#endif
