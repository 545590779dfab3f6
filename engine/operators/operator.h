// Operators: open, next, spill, close. One file each; `operators.def` lists them.
#ifndef HLY_OPERATORS_OPERATOR_H
#define HLY_OPERATORS_OPERATOR_H

#include <stdint.h>

#include "expr/expr.h"
#include "memory/pool.h"
#include "plan/binder.h"
#include "vector/batch.h"

typedef struct hly_op hly_op;

typedef struct hly_op_class {
  const char *name; // Spark's: "Filter", "HashAggregate"
  // Starts a run over the task input: `inputs` are not opened yet (call hly_op_open on them). A plan below
  // union or coalesce is opened, drained, reset and opened again.
  hly_status (*open)(hly_op *op, const Halley__TaskInput *task);
  // Next batch, or NULL at the end (and again after it). Valid until the next call.
  hly_status (*next)(hly_op *op, hly_batch **out);
  // Ends a run: frees everything `open` and `next` made. Works after a failed open. Never fails.
  void (*close)(hly_op *op);
  // Sinks only (ShuffleWrite; NULL for all others): runs the input to its end and leaves the map output in
  // `data_file`. Called once, on the opened root of a plan, instead of `next`. *lengths: bytes of each of the
  // partitions, then what else the message asks for; *n counts all. Owned by the operator until close.
  hly_status (*write)(hly_op *op, const char *data_file, const int64_t **lengths, uint32_t *n);
} hly_op_class;

struct hly_op {
  const hly_op_class *cls;
  hly_ctx *ctx;
  int32_t plan_id;
  hly_schema output;
  hly_op **inputs;
  uint32_t n_inputs;
  int64_t metrics[HALLEY__METRIC__N_METRICS];
  hly_op *next_in_plan; // all operators of a plan, for metrics
  // Of the expressions it evaluates (hly_op_note); what the operators that rows may be dropped below say.
  bool can_raise, nondeterministic;
};

// Binds a plan message and its inputs. The operator (embedding hly_op first) is in the binder's arena.
HLY_MUST_CHECK hly_status hly_op_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out);
// The bind function of every operator in operators.def: what hly_op_bind calls by message case.
#define X(message_case, bind)                                                                                \
  HLY_MUST_CHECK hly_status bind(hly_binder *b, const Halley__Plan *plan, hly_op **out);
#include "operators/operators.def"
#undef X
// For bind functions: allocates an operator of `size` bytes, binds output schema and inputs.
HLY_MUST_CHECK hly_status hly_op_create(hly_binder *b, const Halley__Plan *plan, const hly_op_class *cls,
                                        size_t size, uint32_t n_inputs, hly_op **out);

// For bind functions: remembers what evaluating the program (NULL: none) on fewer rows could change.
void hly_op_note(hly_op *op, const hly_exprs *exprs);

// open/next/close with what every operator needs: cancellation check, OUTPUT_ROWS, OUTPUT_BATCHES, ELAPSED_NS
// metrics (ELAPSED_NS includes the operator's inputs).
HLY_MUST_CHECK hly_status hly_op_open(hly_op *op, const Halley__TaskInput *task);
HLY_MUST_CHECK hly_status hly_op_next(hly_op *op, hly_batch **out);
void hly_op_close(hly_op *op); // closes the inputs too

// Counts a spill of an operator: bytes of state that left memory, and what they came to on disk.
static inline void hly_op_spilled(int64_t *metrics, int64_t n_memory, int64_t n_disk) {
  metrics[HALLEY__METRIC__SPILL_COUNT]++;
  metrics[HALLEY__METRIC__SPILL_MEMORY_BYTES] += n_memory;
  metrics[HALLEY__METRIC__SPILL_BYTES] += n_disk;
}

// Parts of a task input by plan id; NULL when absent.
const Halley__ScanSplits *hly_task_splits(const Halley__TaskInput *task, int32_t plan_id);
const Halley__JvmInputBinding *hly_task_jvm_input(const Halley__TaskInput *task, int32_t plan_id);
const Halley__Branches *hly_task_branches(const Halley__TaskInput *task, int32_t plan_id);

#endif
