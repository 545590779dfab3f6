#include "plan/binder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Appends to a list of strings that lives in the arena: doubling leaves the old array behind, which is cheap
// for lists this short.
static hly_status push(hly_binder *b, const char ***list, uint32_t *n, uint32_t *cap, const char *text) {
  if (*n == *cap) {
    uint32_t grown = *cap ? *cap * 2 : 8;
    const char **p = HLY_ARENA_NEW_N(b->arena, const char *, grown);
    HLY_CHECK_MEM(b->ctx, p, grown * sizeof *p);
    if (*n) memcpy(p, *list, *n * sizeof *p);
    *list = p;
    *cap = grown;
  }
  (*list)[(*n)++] = text;
  return HLY_OK;
}

hly_status hly_bind_refuse(hly_binder *b, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (uint32_t i = 0; i < b->n_reasons; i++)
    if (!strcmp(b->reasons[i], text)) return HLY_REFUSED;
  char *copy = hly_arena_copy(b->arena, text, strlen(text));
  HLY_CHECK_MEM(b->ctx, copy, strlen(text));
  HLY_TRY(push(b, &b->reasons, &b->n_reasons, &b->cap_reasons, copy));
  return HLY_REFUSED;
}

hly_status hly_bind_note_dispatch(hly_binder *b, const char *cls) {
  for (uint32_t i = 0; i < b->n_dispatched; i++)
    if (!strcmp(b->dispatched[i], cls)) return HLY_OK;
  char *copy = hly_arena_copy(b->arena, cls, strlen(cls));
  HLY_CHECK_MEM(b->ctx, copy, strlen(cls));
  return push(b, &b->dispatched, &b->n_dispatched, &b->cap_dispatched, copy);
}

const char *hly_bind_conf(const hly_binder *b, const char *key) {
  return hly_ctx_conf(b->ctx, key);
}
