// Plan messages for operator tests, built in the arena of an expr_builder, and running them.
#ifndef HLY_TEST_PLAN_BUILD_H
#define HLY_TEST_PLAN_BUILD_H

#include "expr_build.h"
#include "operators/operator.h"

// A node over `inputs`; the caller fills the message of its case. Ids count up from 1.
Halley__Plan *p_node(expr_builder *b, Halley__Plan__OpCase op, const hly_schema *output, uint32_t n_inputs,
                     ...);
Halley__Plan *p_input(expr_builder *b, const hly_schema *output);
Halley__Expr *p_field(expr_builder *b, const hly_schema *schema, uint32_t i); // a reference to column i
Halley__Plan *p_filter(expr_builder *b, Halley__Plan *in, const hly_schema *schema, Halley__Expr *condition);
Halley__Plan *p_project(expr_builder *b, Halley__Plan *in, const hly_schema *output, Halley__Expr **exprs);
Halley__Plan *p_limit(expr_builder *b, Halley__Plan *in, const hly_schema *schema, int64_t limit,
                      int64_t offset);

// Orders by text: "0 asc first, 2 desc last" (column, direction, nulls).
Halley__Plan *p_sort(expr_builder *b, Halley__Plan *in, const hly_schema *schema, const char *orders,
                     int64_t limit);

// An aggregate call; buffer types by text. `arg` NULL: merging, from column `buffer_at`, or no argument.
Halley__AggCall *p_call(expr_builder *b, const char *cls, Halley__AggMode mode, const char *type,
                        const char *buffer, Halley__Expr *arg, int32_t buffer_at);
void p_call_param(expr_builder *b, Halley__AggCall *call, const char *name, const char *string, bool value);
// Results are the inner columns as they are; the output schema follows from keys and calls.
Halley__Plan *p_aggregate(expr_builder *b, Halley__Plan *in, uint32_t n_keys, Halley__Expr **keys,
                          uint32_t n_calls, Halley__AggCall **calls, hly_schema *output);

// A plan bound and run in its own context.
typedef struct plan_run {
  hly_ctx *ctx;
  hly_arena *arena; // of the plan, and of the lines
  hly_op *op;
  char **lines; // of the rows given, a value and a bar each
  uint32_t n_lines, cap_lines;
  uint32_t most_rows; // in a batch
} plan_run;

void plan_bind(plan_run *r, hly_ctx *ctx, hly_arena *arena, const Halley__Plan *plan);
// Opens, pulls to the end (or an error, which is returned) and closes. Lines are appended.
hly_status plan_drain(plan_run *r, const Halley__TaskInput *task);
// The pool asks for all memory after each batch, before it is read.
hly_status plan_drain_asking(plan_run *r, const Halley__TaskInput *task);
void plan_sort_lines(plan_run *r);
// Binds and runs the plan over the batches (at its bottom) with every allocation failing in turn.
void plan_failing_allocations(hly_ctx *ctx, const Halley__Plan *plan, hly_batch **batches, uint32_t n_batches,
                              int max);
// Fails the test at the first line that differs.
void plan_assert_same(const plan_run *a, const plan_run *b);

#endif
