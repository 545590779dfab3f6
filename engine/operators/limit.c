// Limit: skips `offset` rows, passes on `limit`, and does not pull its input once it has them: rows behind
// the limit are never computed, so they cannot raise.
#include "operators/operator.h"
#include "operators/selection.h"

typedef struct limit {
  hly_op op;
  int64_t limit, offset;
  int64_t to_skip, left; // left < 0: no limit
  hly_batch view;
  hly_selection identity;
} limit;

static hly_status open_limit(hly_op *op, const Halley__TaskInput *task) {
  limit *l = (limit *)op;
  l->to_skip = l->offset;
  l->left = l->limit;
  return hly_op_open(op->inputs[0], task);
}

static hly_status next_limit(hly_op *op, hly_batch **out) {
  limit *l = (limit *)op;
  while (l->left != 0) {
    hly_batch *in;
    HLY_TRY(hly_op_next(op->inputs[0], &in));
    if (!in) return HLY_OK;
    uint32_t skip = l->to_skip < in->n_sel ? (uint32_t)l->to_skip : in->n_sel;
    l->to_skip -= skip;
    uint32_t n = in->n_sel - skip;
    if (n == 0) continue;
    if (l->left >= 0 && n > l->left) n = (uint32_t)l->left;
    if (l->left > 0) l->left -= n;
    l->view = *in;
    HLY_TRY(hly_selection_cut(op->ctx, &l->identity, &l->view, skip, n));
    *out = &l->view;
    return HLY_OK;
  }
  return HLY_OK;
}

static void close_limit(hly_op *op) {
  hly_selection_deinit(&((limit *)op)->identity);
}

static const hly_op_class LIMIT = {
    .name = "Limit", .open = open_limit, .next = next_limit, .close = close_limit};

hly_status hly_limit_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  hly_op *op;
  HLY_TRY(hly_op_create(b, plan, &LIMIT, sizeof(limit), 1, &op));
  limit *l = (limit *)op;
  l->limit = plan->limit->limit;
  l->offset = plan->limit->offset;
  if (l->limit < -1 || l->offset < 0)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "limit %lld, offset %lld", (long long)l->limit,
                          (long long)l->offset);
  *out = op;
  return HLY_OK;
}
