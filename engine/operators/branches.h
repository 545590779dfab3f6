// Branches: how union and coalesce run their inputs. A task names, in order, which input to run over which
// part; each branch opens its input's pipeline with that part's own task input, so that the partition seen
// below (rand, monotonically_increasing_id) is the input's, and closes it before the next one begins.
#ifndef HLY_OPERATORS_BRANCHES_H
#define HLY_OPERATORS_BRANCHES_H

#include "operators/operator.h"

typedef struct hly_branches {
  const Halley__Branches *list; // borrowed from the task input
  size_t next;                  // branch to open
  hly_op *running;              // NULL: none is open
} hly_branches;

HLY_MUST_CHECK hly_status hly_branches_open(hly_branches *b, hly_op *op, const Halley__TaskInput *task);
HLY_MUST_CHECK hly_status hly_branches_next(hly_branches *b, hly_op *op, hly_batch **out);
// Checks that every input's columns have the types of the operator's output.
HLY_MUST_CHECK hly_status hly_branches_check_types(hly_op *op);

#endif
