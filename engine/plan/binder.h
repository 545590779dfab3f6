// Binding: turning plan messages into operators and programs. The same code runs on the driver (to learn
// whether it works) and on the executor (to run it). Pure: no I/O, no host calls, memory only from its arena.
#ifndef HLY_PLAN_BINDER_H
#define HLY_PLAN_BINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/ctx.h"
#include "vector/type.h"
#include "plan.pb-c.h"

typedef struct hly_binder {
  hly_ctx *ctx;
  hly_arena *arena; // of the plan
  const char **reasons;
  uint32_t n_reasons, cap_reasons;
  const char **dispatched; // class names, distinct
  uint32_t n_dispatched, cap_dispatched;
  uint32_t n_sites; // projections the host keeps for this plan, numbered as programs are bound
} hly_binder;

// Adds a reason and returns HLY_REFUSED.
hly_status hly_bind_refuse(hly_binder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
HLY_MUST_CHECK hly_status hly_bind_note_dispatch(hly_binder *b, const char *cls);
// Value of a session key that the planner sent; NULL when it did not.
const char *hly_bind_conf(const hly_binder *b, const char *key);

// Decoding. All validate fully (depth, sizes, enum ranges): HLY_E_PLAN_INVALID with a message.
HLY_MUST_CHECK hly_status hly_bind_type(hly_binder *b, const Halley__DataType *in, const hly_type **out);
HLY_MUST_CHECK hly_status hly_bind_schema(hly_binder *b, Halley__Field *const *fields, size_t n,
                                          hly_schema *out);
HLY_MUST_CHECK hly_status hly_bind_literal(hly_binder *b, const Halley__Literal *in, hly_literal *out);

#endif
