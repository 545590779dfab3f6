#include "operators/runtime_filter.h"

#include <string.h>

#include "base/mem.h"
#include "operators/selection.h"

enum {
  DULL_BATCHES = 2, // after so many in a row it is given up
  DULL_SHARE = 16,  // a batch of which less than one row in so many is dropped
  MEMORY = 1 << 20, // rows from which on older ones count half
};

// ---- keys

static bool is_integer(const hly_type *t) {
  return t->kind >= HLY_BYTE && t->kind <= HLY_LONG;
}

// The column in whose order the key's values are: through what keeps bounds (a wider integer, floats with one
// NaN and one zero).
static int32_t ordered_as(const Halley__Expr *e, const hly_schema *schema) {
  const hly_type *type = NULL; // of the integer that a cast made
  while (e->n_children == 1) {
    bool normalized =
        strcmp(e->cls, "KnownFloatingPointNormalized") == 0 || strcmp(e->cls, "NormalizeNaNAndZero") == 0;
    if (!normalized && (strcmp(e->cls, "Cast") != 0 || !e->type)) return -1;
    if (!normalized) {
      const hly_type *to = hly_type_of((hly_kind)e->type->kind);
      if (!to || !is_integer(to)) return -1;
      if (!type || to->kind < type->kind) type = to;
    }
    e = e->children[0];
  }
  if (strcmp(e->cls, "BoundReference") != 0 || e->ordinal < 0 || (uint32_t)e->ordinal >= schema->n_fields)
    return -1;
  const hly_type *column = schema->fields[e->ordinal].type;
  return !type || (is_integer(column) && column->kind <= type->kind) ? e->ordinal : -1;
}

hly_status hly_runtime_filter_bind(hly_binder *b, hly_op *owner, const hly_key_filter *filter,
                                   Halley__Expr *const *keys, const hly_schema *schema,
                                   hly_runtime_filter **out) {
  *out = NULL;
  uint32_t n = filter->n_keys, n_reasons = b->n_reasons;
  hly_runtime_filter *f = HLY_ARENA_NEW(b->arena, hly_runtime_filter);
  HLY_CHECK_MEM(b->ctx, f, sizeof *f);
  f->filter = filter;
  f->owner = owner;
  hly_status st = hly_exprs_bind(b, owner->plan_id, (const Halley__Expr *const *)keys, n, schema, &f->exprs);
  if (st == HLY_NOMEM) return st;
  if (st != HLY_OK) { // a filter that cannot be is none; the plan itself is as good as before
    b->n_reasons = n_reasons;
    hly_error_clear(&b->ctx->error);
    return HLY_OK;
  }
  if (hly_exprs_can_raise(f->exprs) || !hly_exprs_deterministic(f->exprs)) return HLY_OK;
  f->columns = HLY_ARENA_NEW_N(b->arena, int32_t, n);
  f->keys = HLY_ARENA_NEW_N(b->arena, hly_vector *, n);
  if (!f->columns || !f->keys) return hly_ctx_nomem(b->ctx, n * sizeof *f->keys);
  f->plain = true;
  for (uint32_t k = 0; k < n; k++) {
    if (!hly_type_equal(hly_exprs_type(f->exprs, k), filter->types[k])) return HLY_OK;
    int32_t column = hly_exprs_as_column(f->exprs, k);
    f->plain &= column >= 0;
    f->columns[k] = column >= 0 ? column : ordered_as(keys[k], schema);
  }
  *out = f;
  return HLY_OK;
}

// ---- rows

hly_status hly_runtime_filter_open(hly_runtime_filter *f, hly_ctx *ctx, int32_t partition) {
  f->n_dull = 0;
  f->bypassed = false;
  f->n_in = f->n_out = 0;
  if (!f->scratch) f->scratch = hly_calloc(1, sizeof *f->scratch);
  HLY_CHECK_MEM(ctx, f->scratch, sizeof *f->scratch);
  return hly_exprs_open(f->exprs, ctx, partition, f->owner->metrics);
}

void hly_runtime_filter_close(hly_runtime_filter *f) {
  if (f->scratch) hly_key_scratch_deinit(f->scratch);
  hly_free(f->scratch);
  f->scratch = NULL;
  hly_exprs_close(f->exprs);
}

static void count(hly_runtime_filter *f, uint32_t n_in, uint32_t n_out) {
  int64_t *m = f->owner->metrics;
  m[f->count_in] += n_in;
  m[f->count_pruned] += n_in - n_out;
  if (f->n_in > MEMORY) {
    f->n_in /= 2;
    f->n_out /= 2;
  }
  f->n_in += n_in;
  f->n_out += n_out;
  f->n_dull = (uint64_t)(n_in - n_out) * DULL_SHARE < n_in ? f->n_dull + 1 : 0;
  f->bypassed = f->n_dull >= DULL_BATCHES;
}

hly_status hly_runtime_filter_apply(hly_runtime_filter *f, hly_ctx *ctx, const hly_batch *in, uint32_t *out,
                                    uint32_t *n_out) {
  *n_out = 0;
  if (in->n_sel == 0) return HLY_OK;
  if (f->plain) {
    for (uint32_t k = 0; k < f->filter->n_keys; k++) f->keys[k] = in->columns[f->columns[k]];
  } else {
    uint32_t n_good;
    HLY_TRY(hly_exprs_eval(f->exprs, ctx, in, f->keys, &n_good));
  }
  HLY_TRY(hly_key_filter_test(f->filter, ctx, f->scratch, f->keys, in->sel, in->n_sel, out, n_out));
  count(f, in->n_sel, *n_out);
  return HLY_OK;
}

// ---- the operator

typedef struct early {
  hly_op op;
  hly_runtime_filter *filter;
  hly_selection sel;
  hly_batch view;
  hly_arena *arena;
  hly_batch *dense;
} early;

static hly_status open_early(hly_op *op, const Halley__TaskInput *task) {
  early *e = (early *)op;
  HLY_TRY(hly_op_open(op->inputs[0], task));
  e->arena = hly_arena_create();
  HLY_CHECK_MEM(op->ctx, e->arena, 0);
  HLY_TRY(hly_batch_create(op->ctx, e->arena, &op->output, &e->dense));
  return hly_runtime_filter_open(e->filter, op->ctx, task->partition);
}

static hly_status next_early(hly_op *op, hly_batch **out) {
  early *e = (early *)op;
  for (;;) {
    hly_batch *in;
    HLY_TRY(hly_op_next(op->inputs[0], &in));
    if (!in || !hly_runtime_filter_active(e->filter)) {
      *out = in;
      return HLY_OK;
    }
    HLY_TRY(hly_selection_need(op->ctx, &e->sel, in->n_sel));
    uint32_t n;
    HLY_TRY(hly_runtime_filter_apply(e->filter, op->ctx, in, e->sel.rows, &n));
    if (n == 0) continue;
    return hly_selection_narrow(op->ctx, in, e->sel.rows, n, &e->view, e->dense, out);
  }
}

static void close_early(hly_op *op) {
  early *e = (early *)op;
  hly_runtime_filter_close(e->filter);
  hly_selection_deinit(&e->sel);
  hly_arena_destroy(e->arena);
  e->arena = NULL;
  e->dense = NULL;
}

static const hly_op_class RUNTIME_FILTER = {
    .name = "RuntimeFilter", .open = open_early, .next = next_early, .close = close_early};

bool hly_op_is_runtime_filter(const hly_op *op) {
  return op->cls == &RUNTIME_FILTER;
}

hly_status hly_runtime_filter_insert(hly_binder *b, hly_runtime_filter *f, hly_op **slot) {
  early *e = HLY_ARENA_NEW(b->arena, early);
  hly_op **inputs = HLY_ARENA_NEW_N(b->arena, hly_op *, 1);
  if (!e || !inputs) return hly_ctx_nomem(b->ctx, sizeof *e);
  f->count_in = HALLEY__METRIC__DYNAMIC_FILTER_EARLY_INPUT_ROWS;
  f->count_pruned = HALLEY__METRIC__DYNAMIC_FILTER_EARLY_ROWS_PRUNED;
  e->op.cls = &RUNTIME_FILTER;
  e->op.ctx = b->ctx;
  e->op.plan_id = -1; // of no message: the join shows what it did
  e->op.output = (*slot)->output;
  e->op.inputs = inputs;
  e->op.n_inputs = 1;
  inputs[0] = *slot;
  e->filter = f;
  *slot = &e->op;
  return HLY_OK;
}
