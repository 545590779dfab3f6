// NestedLoopJoin, as Spark's BroadcastNestedLoopJoinExec and CartesianProductExec: a hash join without keys,
// whose kept rows are one chain. They stay in memory: a broadcast value is there anyway, and of a cartesian
// product it is one partition. A task of a cartesian product joins a partition of one input with one of the
// other, each of which its operators see by its own number.
#include "operators/hash_join.h"

static const hly_op_class NESTED_LOOP_JOIN = {.name = "NestedLoopJoin",
                                              .open = hly_hash_join_open,
                                              .next = hly_hash_join_next,
                                              .close = hly_hash_join_close};

hly_status hly_nested_loop_join_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  hly_hash_join *h;
  HLY_TRY(hly_hash_join_create(b, plan, &NESTED_LOOP_JOIN, &h));
  const Halley__NestedLoopJoin *msg = plan->nested_loop_join;
  h->build_input = &h->op.inputs[msg->build_left ? 0 : 1];
  h->probe_input = &h->op.inputs[msg->build_left ? 1 : 0];
  HLY_TRY(hly_joiner_bind(b, &h->joiner, &h->op, msg->type, msg->build_left, NULL, 0, msg->condition));
  HLY_TRY(hly_join_rows_bind(b, &h->probe_rows, NULL, 0, &(*h->probe_input)->output, NULL));
  // Whether a kept row matches nothing is known only when every task has looked at its rows.
  if (hly_hash_join_has_tail(h))
    return hly_bind_refuse(
        b, "a join without keys that gives the rows of its build side at its end has no native form");
  h->force = true;
  HLY_TRY(hly_hash_join_bind_shared(b, h, plan, NULL));
  *out = &h->op;
  return HLY_OK;
}
