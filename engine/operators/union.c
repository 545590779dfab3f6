// Union: the rows of its inputs, one branch of the task after another.
#include "operators/branches.h"

typedef struct union_op {
  hly_op op;
  hly_branches branches;
} union_op;

static hly_status open_union(hly_op *op, const Halley__TaskInput *task) {
  return hly_branches_open(&((union_op *)op)->branches, op, task);
}

static hly_status next_union(hly_op *op, hly_batch **out) {
  return hly_branches_next(&((union_op *)op)->branches, op, out);
}

static void close_union(hly_op *op) {
  ((union_op *)op)->branches.running = NULL; // inputs are closed by hly_op_close
}

static const hly_op_class UNION = {
    .name = "Union", .open = open_union, .next = next_union, .close = close_union};

hly_status hly_union_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  hly_op *op;
  HLY_TRY(hly_op_create(b, plan, &UNION, sizeof(union_op), UINT32_MAX, &op));
  HLY_TRY(hly_branches_check_types(op));
  *out = op;
  return HLY_OK;
}
