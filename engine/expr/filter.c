// A program as a predicate: its conjuncts one after another, each on the rows that are left.
//
// While most rows are left, the cheap ones are evaluated for all of them into one mask of bytes, which costs
// a fraction of a nanosecond a row; then the rows become a list, which every further conjunct shortens.
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"
#include "expr/program.h"
#include "functions/logic.h"

// Below one row in so many a list beats computing all rows.
enum { SPARSE = 16 };

static hly_status need_mask(hly_exprs *p, uint32_t n_rows) {
  if (p->mask && p->cap_mask >= n_rows) return HLY_OK;
  uint32_t cap = n_rows + 64;
  uint8_t *mask = hly_malloc_aligned(cap, 64);
  HLY_CHECK_MEM(p->ctx, mask, cap);
  hly_free(p->mask);
  p->mask = mask;
  p->cap_mask = cap;
  return HLY_OK;
}

// Narrows the current scope's rows (in p->scopes[0], which the filter rewrites) by a conjunct that has a
// fused kernel: compare and select in one loop.
static hly_status try_select(hly_exprs *p, const node *n, hly_rows rows, uint32_t *sel, bool *done,
                             uint32_t *n_out) {
  *done = false;
  if (n->kind != NODE_KERNEL || !n->kernel.select || n->careful || hly_node_use_dict(p, n)) return HLY_OK;
  bool arrays = true;
  for (uint32_t i = 0; i < n->n_args; i++) {
    HLY_TRY(hly_node_eval(p, n->args[i], &n->call_args[i]));
    arrays &= n->call_args[i].stride == 1 || !n->call_args[i].valid;
  }
  if (!arrays) return HLY_OK;
  hly_call call = {.ctx = p->ctx,
                   .state = n->kernel.state,
                   .args = n->call_args,
                   .n_args = n->n_args,
                   .rows = rows,
                   .type = n->type};
  *n_out = n->kernel.select(&call, sel);
  *done = true;
  return HLY_OK;
}

hly_status hly_exprs_filter(hly_exprs *p, hly_ctx *ctx, const hly_batch *in, uint32_t *sel, uint32_t *n_out,
                            bool *raised) {
  *n_out = 0;
  *raised = false;
  if (p->n_conjuncts == 0) return hly_error_setf(&ctx->error, HLY_E_INTERNAL, "not a predicate");
  HLY_TRY(hly_exprs_begin(p, ctx, in));
  uint32_t n_rows = in->n_rows, c = 0;
  hly_arg a;
  // A dense batch: a mask for as long as conjuncts are simple and rows are many.
  bool masked = false;
  uint32_t left = p->scopes[0].rows.n_sel;
  if (!in->sel && n_rows) {
    HLY_TRY(need_mask(p, n_rows));
    for (; c < p->n_conjuncts; c++) {
      const node *n = p->nodes[p->conjuncts[c]];
      if (n->careful || (masked && !n->simple && !hly_node_use_dict(p, n))) break;
      HLY_TRY(hly_node_eval(p, p->conjuncts[c], &a));
      const uint8_t *data = a.data;
      if (a.stride == 0) {
        if (data[0] && hly_arg_valid(&a, 0)) continue;
        return HLY_OK; // never true
      }
      if (!masked) {
        memcpy(p->mask, data, n_rows);
        if (a.valid) hly_logic()->mask_and(n_rows, p->mask, a.valid);
        masked = true;
      } else if (a.valid) {
        hly_logic()->mask_and2(n_rows, p->mask, data, a.valid);
      } else {
        hly_logic()->mask_and(n_rows, p->mask, data);
      }
      if (c + 1 == p->n_conjuncts) continue;
      left = hly_logic()->count(n_rows, p->mask);
      if (left == 0) return HLY_OK;
      if (left < n_rows / SPARSE) {
        c++;
        break;
      }
    }
  }
  uint32_t n_sel;
  if (masked) {
    n_sel = (uint32_t)hly_bits_select(p->mask, n_rows, sel);
  } else if (in->sel) {
    n_sel = in->n_sel;
    if (n_sel) memcpy(sel, in->sel, n_sel * sizeof *sel);
  } else {
    n_sel = n_rows;
    if (c < p->n_conjuncts || n_rows == 0) {
      for (uint32_t i = 0; i < n_rows; i++) sel[i] = i;
    } else {
      for (uint32_t i = 0; i < n_rows; i++) sel[i] = i; // every conjunct was a true constant
    }
  }
  // The rest on the list. A dense scope is kept for as long as nothing was dropped.
  hly_rows rows = {.n = n_rows, .sel = sel, .n_sel = n_sel};
  if (!in->sel && n_sel == n_rows) rows.sel = NULL;
  for (; c < p->n_conjuncts && rows.n_sel; c++) {
    const node *n = p->nodes[p->conjuncts[c]];
    // What was computed for more rows stays valid for fewer; but this scope replaces the last one, not
    // encloses it.
    p->depth = 0;
    if (rows.sel) HLY_TRY(hly_scope_push(p, rows));
    rows = hly_scope_now(p)->rows; // cut where a row has failed
    bool done = false;
    uint32_t n_left = 0;
    if (rows.sel) HLY_TRY(try_select(p, n, rows, sel, &done, &n_left));
    if (!done) {
      HLY_TRY(hly_node_eval(p, p->conjuncts[c], &a));
      rows = hly_scope_now(p)->rows;
      n_left = hly_rows_where_true(rows, &a, true, sel);
    }
    rows = (hly_rows){.n = n_rows, .sel = sel, .n_sel = n_left};
  }
  hly_exprs_record(p);
  *n_out = rows.n_sel;
  *raised = p->error_row != UINT32_MAX;
  if (*raised) { // rows after the failed one are not good
    uint32_t k = *n_out;
    while (k > 0 && sel[k - 1] >= p->error_row) k--;
    *n_out = k;
  }
  return HLY_OK;
}
