// Where run-time filters go. From the probe side of the join that has the keys the walk goes down, as long as
// dropping rows of other keys changes nothing that comes out of the join but them:
//
//   Filter, Project, Sort   keys are rewritten by the projection's expressions
//   joins                   by each side whose rows the join's rows come from one by one: both of an inner
//                           join, the preserved one of an outer join, the left one of semi and anti joins
//   Union, Coalesce         all inputs
//   ParquetScan             takes the filter
//
// Anything else ends it: aggregates, windows, limits see more than a row at a time. So does an expression
// that is not deterministic, since its values depend on the rows before, and one that may raise an error: a
// row that matches nothing raises it in Spark. Where the walk ends without a scan, the filter goes below the
// last join or sort that was passed.
#include <string.h>

#include "operators/filter.h"
#include "operators/hash_join.h"
#include "operators/parquet_scan.h"
#include "operators/runtime_filter.h"

enum { MAX_NODES = 256 }; // of rewritten expressions: projections over projections may grow them

typedef struct key_list {
  uint32_t n;
  uint32_t *which; // of the join's keys
  Halley__Expr **exprs;
} key_list;

typedef struct walk {
  hly_binder *b;
  hly_hash_join *join;
  bool past_errors;
  uint32_t n_nodes;
  bool nomem;
} walk;

// A place below a join or a sort.
typedef struct place {
  hly_op **slot;
  key_list keys;
} place;

static hly_status new_list(walk *w, uint32_t n, key_list *out) {
  out->n = 0;
  out->which = HLY_ARENA_NEW_N(w->b->arena, uint32_t, n + 1);
  out->exprs = HLY_ARENA_NEW_N(w->b->arena, Halley__Expr *, n + 1);
  if (!out->which || !out->exprs) return hly_ctx_nomem(w->b->ctx, n * sizeof *out->exprs);
  return HLY_OK;
}

// ---- rewriting: a reference to column i becomes exprs[i], or one to column i - first

typedef struct columns {
  Halley__Expr *const *exprs; // NULL: shifted references
  uint32_t first, n;
  bool references_only; // other expressions may not take a reference's place
} columns;

static bool is_reference(const Halley__Expr *e) {
  return strcmp(e->cls, "BoundReference") == 0;
}

// NULL: it cannot be.
static Halley__Expr *rewrite(walk *w, Halley__Expr *e, const columns *to) {
  if (!e || !e->cls || w->n_nodes++ >= MAX_NODES) return NULL;
  if (is_reference(e)) {
    if (e->ordinal < 0 || (uint32_t)e->ordinal < to->first || (uint32_t)e->ordinal - to->first >= to->n)
      return NULL;
    if (to->exprs) {
      Halley__Expr *by = to->exprs[e->ordinal];
      return by && by->cls && (!to->references_only || is_reference(by)) ? by : NULL;
    }
    if (to->first == 0) return e;
  } else if (e->n_children == 0) {
    return e;
  }
  Halley__Expr *copy = HLY_ARENA_NEW(w->b->arena, Halley__Expr);
  Halley__Expr **children = HLY_ARENA_NEW_N(w->b->arena, Halley__Expr *, e->n_children + 1);
  if (!copy || !children) {
    w->nomem = true;
    return NULL;
  }
  *copy = *e;
  copy->ordinal -= is_reference(e) ? (int32_t)to->first : 0;
  copy->children = children;
  for (size_t i = 0; i < e->n_children; i++)
    if (!(children[i] = rewrite(w, e->children[i], to))) return NULL;
  return copy;
}

static bool has_reference(const Halley__Expr *e, uint32_t depth) {
  if (!e || !e->cls || depth > 64) return false;
  if (is_reference(e)) return true;
  for (size_t i = 0; i < e->n_children; i++)
    if (has_reference(e->children[i], depth + 1)) return true;
  return false;
}

// The keys that can be told from the columns; all others are left out.
static hly_status rewrite_all(walk *w, const key_list *in, const columns *to, key_list *out) {
  HLY_TRY(new_list(w, in->n, out));
  for (uint32_t k = 0; k < in->n; k++) {
    Halley__Expr *e = rewrite(w, in->exprs[k], to);
    if (w->nomem) return hly_ctx_nomem(w->b->ctx, sizeof *e);
    if (!e || !has_reference(e, 0)) continue;
    out->which[out->n] = in->which[k];
    out->exprs[out->n++] = e;
  }
  return HLY_OK;
}

// ---- filters

static hly_status need_filter(walk *w, const key_list *keys, hly_key_filter **out) {
  hly_hash_join *h = w->join;
  for (hly_key_filter *f = h->key_filters; f; f = f->next)
    if (f->n_keys == keys->n && memcmp(f->keys, keys->which, keys->n * sizeof *f->keys) == 0) {
      *out = f;
      return HLY_OK;
    }
  HLY_TRY(hly_key_filter_bind(w->b->ctx, w->b->arena, &h->joiner.kept, keys->which, keys->n, out));
  (*out)->next = h->key_filters;
  h->key_filters = *out;
  return HLY_OK;
}

static hly_status use_filter(walk *w, const key_list *keys, const hly_schema *schema,
                             hly_runtime_filter **out) {
  hly_key_filter *filter;
  *out = NULL;
  if (keys->n == 0) return HLY_OK;
  HLY_TRY(need_filter(w, keys, &filter));
  return hly_runtime_filter_bind(w->b, &w->join->op, filter, keys->exprs, schema, out);
}

static hly_status place_early(walk *w, const place *at) {
  hly_runtime_filter *f;
  HLY_TRY(use_filter(w, &at->keys, &(*at->slot)->output, &f));
  return f ? hly_runtime_filter_insert(w->b, f, at->slot) : HLY_OK;
}

// ---- the walk

static bool may_pass(const walk *w, const hly_op *op) {
  return !op->nondeterministic && (!op->can_raise || w->past_errors);
}

static hly_status descend(walk *w, const Halley__Plan *plan, hly_op **slot, const key_list *keys,
                          const place *early, bool *placed);

static bool passes_left(Halley__JoinType type) {
  return type != HALLEY__JOIN_TYPE__RIGHT_OUTER && type != HALLEY__JOIN_TYPE__FULL_OUTER;
}
static bool passes_right(Halley__JoinType type) {
  return type == HALLEY__JOIN_TYPE__INNER || type == HALLEY__JOIN_TYPE__RIGHT_OUTER;
}

// `whole`: the side (0, 1; else -1) that is read as it is and kept for all tasks.
static hly_status descend_join(walk *w, const Halley__Plan *plan, hly_op *op, Halley__JoinType type,
                               int whole, const key_list *keys, bool *placed) {
  uint32_t n_left = op->inputs[0]->output.n_fields;
  for (int side = 0; side < 2; side++) {
    if (side == whole || !(side ? passes_right(type) : passes_left(type))) continue;
    columns to = {.first = side ? n_left : 0, .n = op->inputs[side]->output.n_fields};
    place below = {.slot = &op->inputs[side]};
    bool done = false;
    HLY_TRY(rewrite_all(w, keys, &to, &below.keys));
    if (below.keys.n == 0) continue;
    HLY_TRY(descend(w, plan->inputs[side], below.slot, &below.keys, &below, &done));
    *placed |= done;
  }
  return HLY_OK;
}

static hly_status descend_project(walk *w, const Halley__Plan *plan, hly_op *op, const key_list *keys,
                                  const place *early, bool *placed) {
  columns to = {
      .exprs = plan->project->exprs, .n = (uint32_t)plan->project->n_exprs, .references_only = op->can_raise};
  key_list below;
  HLY_TRY(rewrite_all(w, keys, &to, &below));
  return below.n ? descend(w, plan->inputs[0], &op->inputs[0], &below, early, placed) : HLY_OK;
}

static hly_status descend_inputs(walk *w, const Halley__Plan *plan, hly_op *op, const key_list *keys,
                                 bool *placed) {
  bool all = op->n_inputs > 0;
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    bool one = false;
    HLY_TRY(descend(w, plan->inputs[i], &op->inputs[i], keys, NULL, &one));
    all &= one;
  }
  *placed = all;
  return HLY_OK;
}

static hly_status give_scan(walk *w, hly_op *scan, const key_list *keys, bool passed_work, bool *placed) {
  hly_runtime_filter *f;
  if (!hly_parquet_scan_takes_runtime_filter(scan)) return HLY_OK;
  HLY_TRY(use_filter(w, keys, &scan->output, &f));
  if (f) *placed = hly_parquet_scan_add_runtime_filter(scan, f, passed_work, w->past_errors);
  return HLY_OK;
}

static hly_status descend_op(walk *w, const Halley__Plan *plan, hly_op *op, const key_list *keys,
                             const place *early, bool *placed) {
  place below = {.slot = op->inputs, .keys = *keys};
  switch (plan->op_case) {
  case HALLEY__PLAN__OP_PARQUET_SCAN: return give_scan(w, op, keys, early != NULL, placed);
  case HALLEY__PLAN__OP_FILTER: // one that the scan evaluates goes first there
    if (!may_pass(w, op) && !hly_filter_is_handed_down(op)) return HLY_OK;
    return descend(w, plan->inputs[0], &op->inputs[0], keys, early, placed);
  case HALLEY__PLAN__OP_PROJECT:
    return may_pass(w, op) ? descend_project(w, plan, op, keys, early, placed) : HLY_OK;
  case HALLEY__PLAN__OP_SORT:
    return may_pass(w, op) ? descend(w, plan->inputs[0], below.slot, keys, &below, placed) : HLY_OK;
  case HALLEY__PLAN__OP_HASH_JOIN: {
    const Halley__HashJoin *msg = plan->hash_join;
    int whole = msg->broadcast ? !msg->build_left : -1;
    return may_pass(w, op) ? descend_join(w, plan, op, msg->type, whole, keys, placed) : HLY_OK;
  }
  case HALLEY__PLAN__OP_NESTED_LOOP_JOIN: {
    const Halley__NestedLoopJoin *msg = plan->nested_loop_join;
    return may_pass(w, op) ? descend_join(w, plan, op, msg->type, !msg->build_left, keys, placed) : HLY_OK;
  }
  case HALLEY__PLAN__OP_MERGE_JOIN:
    return may_pass(w, op) ? descend_join(w, plan, op, plan->merge_join->type, -1, keys, placed) : HLY_OK;
  case HALLEY__PLAN__OP_UNION:
  case HALLEY__PLAN__OP_COALESCE: return descend_inputs(w, plan, op, keys, placed);
  default: return HLY_OK;
  }
}

// `early` NULL: no join or sort was passed.
static hly_status descend(walk *w, const Halley__Plan *plan, hly_op **slot, const key_list *keys,
                          const place *early, bool *placed) {
  hly_op *op = *slot;
  while (hly_op_is_runtime_filter(op)) op = op->inputs[0];
  HLY_TRY(descend_op(w, plan, op, keys, early, placed));
  // Only where the place is: operators between it and here leave it to its own level.
  if (!*placed && early && early->slot == slot) {
    HLY_TRY(place_early(w, early));
    *placed = true;
  }
  return HLY_OK;
}

hly_status hly_runtime_filters_place(hly_binder *b, const Halley__Plan *plan, hly_hash_join *h,
                                     bool past_errors) {
  walk w = {.b = b, .join = h, .past_errors = past_errors};
  int side = plan->hash_join->build_left ? 1 : 0;
  Halley__Expr **exprs = side ? plan->hash_join->right_keys : plan->hash_join->left_keys;
  bool can_raise = hly_exprs_can_raise(h->probe_keys), placed = false;
  if ((can_raise && !past_errors) || !hly_exprs_deterministic(h->probe_keys)) return HLY_OK;
  key_list keys;
  HLY_TRY(new_list(&w, h->n_keys, &keys));
  for (uint32_t k = 0; k < h->n_keys; k++) {
    if (!hly_key_filter_takes(h->joiner.kept.key_types[k])) continue;
    if (can_raise && hly_exprs_as_column(h->probe_keys, k) < 0) continue;
    keys.which[keys.n] = k;
    keys.exprs[keys.n++] = exprs[k];
  }
  return keys.n ? descend(&w, plan->inputs[side], h->probe_input, &keys, NULL, &placed) : HLY_OK;
}
