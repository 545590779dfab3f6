// Expression programs, as operators use them: bind once, evaluate per batch.
//
// Rows that Spark would not reach raise nothing: an error at selected row k ends the batch. `eval` then
// reports k good rows and keeps the error; the operator returns the rows before k and calls hly_exprs_raise
// when it is pulled again.
#ifndef HLY_EXPR_EXPR_H
#define HLY_EXPR_EXPR_H

#include <stdint.h>

#include "plan/binder.h"
#include "vector/batch.h"

typedef struct hly_exprs hly_exprs;

// Binds `n` expressions over `input` into one program (common subexpressions once, constants folded). Lives
// in the binder's arena. HLY_REFUSED: reasons are in the binder. `plan_id` names the operator's dispatch
// table in the host.
HLY_MUST_CHECK hly_status hly_exprs_bind(hly_binder *b, int32_t plan_id, const Halley__Expr *const *exprs,
                                         uint32_t n, const hly_schema *input, hly_exprs **out);
// Starts a partition (seeds of nondeterministic expressions; dispatch sites are told the partition). Before
// the first eval.
HLY_MUST_CHECK hly_status hly_exprs_open(hly_exprs *p, hly_ctx *ctx, int32_t partition, int64_t *metrics);

uint32_t hly_exprs_count(const hly_exprs *p);
const hly_type *hly_exprs_type(const hly_exprs *p, uint32_t i);
// Ascending ordinals of the input columns that expression i (UINT32_MAX: any) reads.
uint32_t hly_exprs_refs(const hly_exprs *p, uint32_t i, const uint32_t **ordinals);
// Whether evaluation of it can raise on some row (may decline rows or is dispatched).
bool hly_exprs_can_raise(const hly_exprs *p);
// Whether all its values depend on nothing but the row.
bool hly_exprs_deterministic(const hly_exprs *p);
// The input ordinal when expression i is a plain column, else -1.
int32_t hly_exprs_as_column(const hly_exprs *p, uint32_t i);

// Evaluates all expressions on the batch's selected rows. out[i] has batch->n_rows rows, any encoding, values
// at unselected rows undefined; borrowed until the next eval (take a reference to keep). A plain column comes
// back as the input's vector. *n_good: how many of the selected rows, from the first, are good; fewer than
// n_sel means an error is kept.
HLY_MUST_CHECK hly_status hly_exprs_eval(hly_exprs *p, hly_ctx *ctx, const hly_batch *in, hly_vector **out,
                                         uint32_t *n_good);
// Program of one boolean expression as a predicate: writes the selected rows where it is true to `sel` (room
// for in->n_sel). On an error at selected row k only rows before it are written, *raised is true and the
// error is kept.
HLY_MUST_CHECK hly_status hly_exprs_filter(hly_exprs *p, hly_ctx *ctx, const hly_batch *in, uint32_t *sel,
                                           uint32_t *n_out, bool *raised);
// Moves the kept error into ctx and returns HLY_ERR (HLY_OK when there is none).
hly_status hly_exprs_raise(hly_exprs *p, hly_ctx *ctx);
void hly_exprs_close(hly_exprs *p); // frees registers; the program stays for another open

#endif
