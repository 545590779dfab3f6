// Constants at bind: a call whose arguments are all known is made once, unless the kernel gives the row up.
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"
#include "expr/program.h"
#include "vector/str.h"

static hly_status literal_of(hly_exprs *p, const node *n, const hly_arg *result, const hly_literal **out) {
  hly_binder *b = p->binder;
  hly_literal *lit = HLY_ARENA_NEW(b->arena, hly_literal);
  HLY_CHECK_MEM(b->ctx, lit, sizeof *lit);
  lit->type = n->type;
  lit->is_null = !hly_arg_valid(result, 0);
  if (!lit->is_null) {
    memcpy(lit->value.bytes, result->data, hly_phys_size[n->type->phys]);
    if (n->type->phys == HLY_PHYS_STR) {
      hly_str *s = (hly_str *)lit->value.bytes;
      const char *copy = hly_arena_copy(b->arena, hly_str_data(s), s->len);
      HLY_CHECK_MEM(b->ctx, copy, s->len);
      *s = hly_str_make(copy, s->len);
    }
  }
  *out = lit;
  return HLY_OK;
}

hly_status hly_node_fold(hly_exprs *p, uint32_t id) {
  node *n = p->nodes[id];
  uint32_t size = hly_phys_size[n->type->phys];
  if (!n->deterministic || n->n_args == 0 || size == 0 || size > 16 || n->type->phys == HLY_PHYS_SPAN ||
      n->type->phys == HLY_PHYS_INTERVAL)
    return HLY_OK;
  for (uint32_t i = 0; i < n->n_args; i++) {
    const node *a = p->nodes[n->args[i]];
    if (a->kind != NODE_CONST || !a->literal || a->literal->row) return HLY_OK;
  }
  uint32_t n_args = n->n_args;
  hly_ctx *ctx = p->binder->ctx;
  p->ctx = ctx;
  value result = {0};
  hly_status st = HLY_OK;
  hly_vector **args = HLY_ARENA_NEW_N(p->binder->arena, hly_vector *, n->n_args);
  HLY_CHECK_MEM(ctx, args, n->n_args * sizeof *args);
  static const uint8_t null_byte = 0;
  static const uint8_t zeros[64] __attribute__((aligned(64)));
  for (uint32_t i = 0; i < n->n_args && st == HLY_OK; i++) {
    const node *a = p->nodes[n->args[i]];
    args[i] = hly_vector_create(a->type);
    st = args[i] ? hly_vector_set_const(ctx, args[i], a->literal, 1) : hly_ctx_nomem(ctx, sizeof **args);
    if (st != HLY_OK) break;
    n->call_args[i] = (hly_arg){.type = a->type,
                                .data = args[i]->values ? args[i]->values : zeros,
                                .valid = a->literal->is_null ? &null_byte : NULL,
                                .vec = args[i]};
  }
  p->n_declined = 0;
  if (st == HLY_OK) st = hly_node_call(p, n, (hly_rows){.n = 1, .n_sel = 1}, 1, &result);
  if (st == HLY_OK && p->n_declined == 0) {
    const hly_literal *lit = NULL;
    st = literal_of(p, n, &result.arg, &lit);
    if (st == HLY_OK) {
      n->kind = NODE_CONST;
      n->literal = lit;
      n->nullable = lit->is_null;
      n->n_args = 0;
      n->can_raise = n->careful = false;
      n->simple = true;
      n->dict_col = DICT_ANY;
    }
  }
  for (uint32_t i = 0; i < n_args; i++) hly_vector_unref(args[i]);
  hly_value_deinit(&result);
  // Binding leaves nothing but its arena behind.
  hly_free(p->declined);
  p->declined = NULL;
  p->cap_declined = 0;
  return st;
}
