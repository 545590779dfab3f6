// Coalesce: the rows of several partitions of its one input, one after another.
#include "operators/branches.h"

typedef struct coalesce_op {
  hly_op op;
  hly_branches branches;
} coalesce_op;

static hly_status open_coalesce(hly_op *op, const Halley__TaskInput *task) {
  return hly_branches_open(&((coalesce_op *)op)->branches, op, task);
}

static hly_status next_coalesce(hly_op *op, hly_batch **out) {
  return hly_branches_next(&((coalesce_op *)op)->branches, op, out);
}

static void close_coalesce(hly_op *op) {
  ((coalesce_op *)op)->branches.running = NULL; // inputs are closed by hly_op_close
}

static const hly_op_class COALESCE = {
    .name = "Coalesce", .open = open_coalesce, .next = next_coalesce, .close = close_coalesce};

hly_status hly_coalesce_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  hly_op *op;
  HLY_TRY(hly_op_create(b, plan, &COALESCE, sizeof(coalesce_op), 1, &op));
  HLY_TRY(hly_branches_check_types(op));
  *out = op;
  return HLY_OK;
}
