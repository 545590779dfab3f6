// Forms that decide which rows an argument is evaluated on: AND, OR, IF, CASE, COALESCE, NANVL; and IS NULL.
// An argument that may raise, is costly or is not deterministic sees only the rows that reach it in Spark;
// a cheap one may be computed for all.
#include <string.h>

#include "base/bits.h"
#include "expr/program.h"
#include "functions/logic.h"

// Evaluates an argument on `rows` of the current scope: exactly those where it must be, otherwise on the
// scope's own rows when that is cheaper than a list.
static hly_status eval_on(hly_exprs *p, uint32_t id, hly_rows rows, hly_arg *out) {
  const node *n = p->nodes[id];
  hly_rows all = hly_scope_now(p)->rows;
  hly_rows_cut(p, &rows); // as `all` was if a row has failed since the list was made
  bool narrow = rows.n_sel < all.n_sel && n->kind != NODE_CONST && n->kind != NODE_COLUMN &&
                (n->careful || (!n->simple && rows.n_sel < all.n_sel - all.n_sel / 4));
  if (!narrow) return hly_node_eval(p, id, out);
  uint32_t depth = p->depth, taken = p->n_sel_taken;
  HLY_TRY(hly_scope_push(p, rows));
  HLY_TRY(hly_node_eval(p, id, out));
  p->depth = depth;
  p->n_sel_taken = taken;
  return HLY_OK;
}

static hly_rows selected(const hly_exprs *p, const uint32_t *sel, uint32_t n_sel) {
  return (hly_rows){.n = p->in->n_rows, .sel = sel, .n_sel = n_sel};
}

static hly_status eval_logic(hly_exprs *p, node *n, value *v) {
  bool is_and = n->form == HLY_FORM_AND;
  hly_arg a, b;
  HLY_TRY(hly_node_eval(p, n->args[0], &a));
  hly_rows all = hly_scope_now(p)->rows, reach = all;
  uint32_t taken = p->n_sel_taken;
  const node *right = p->nodes[n->args[1]];
  if (!right->simple) {
    // The right side is reached where the left does not decide: not false for AND, not true for OR.
    uint32_t *sel, k = 0;
    HLY_TRY(hly_sel_take(p, &sel));
    const uint8_t decides = is_and ? 0 : 1;
    HLY_FOR_ROWS(all, i, {
      sel[k] = i;
      k += !(hly_arg_valid(&a, i) && HLY_ARG(uint8_t, &a, i) == decides);
    });
    reach = selected(p, sel, k);
  }
  HLY_TRY(eval_on(p, n->args[1], reach, &b));
  uint32_t n_rows = p->in->n_rows;
  HLY_TRY(hly_value_vec(p->ctx, n->type, v, n_rows));
  HLY_TRY(hly_value_valid(p->ctx, v, n_rows));
  uint8_t *out = v->vec->values, *valid = v->valid;
  if (reach.n_sel == all.n_sel && !all.sel && a.stride && b.stride) {
    (is_and ? hly_logic()->and3 : hly_logic()->or3)(all.n, a.data, a.valid, b.data, b.valid, out, valid);
  } else {
    // Rows the right side was not computed for keep the left's value, which decides.
    HLY_FOR_ROWS(all, i, {
      out[i] = HLY_ARG(uint8_t, &a, i);
      valid[i] = hly_arg_valid(&a, i);
    });
    HLY_FOR_ROWS(reach, i, {
      uint8_t va = hly_arg_valid(&a, i);
      uint8_t vb = hly_arg_valid(&b, i);
      uint8_t ta = out[i] & va;
      uint8_t tb = HLY_ARG(uint8_t, &b, i) & vb;
      if (is_and) {
        out[i] = ta & tb;
        valid[i] = (ta & tb) | (va & !ta) | (vb & !tb);
      } else {
        out[i] = ta | tb;
        valid[i] = ta | tb | (va & vb);
      }
    });
  }
  v->arg.valid = a.valid || b.valid ? valid : NULL;
  p->n_sel_taken = taken;
  return HLY_OK;
}

// The result vector of a form that is put together row by row.
static hly_status begin_merge(hly_exprs *p, node *n, value *v) {
  HLY_TRY(hly_value_vec(p->ctx, n->type, v, p->in->n_rows));
  return hly_value_valid(p->ctx, v, p->in->n_rows);
}

static hly_status merge_null(value *v, hly_rows rows, bool *nulls) {
  uint8_t *valid = v->valid;
  HLY_FOR_ROWS(rows, i, valid[i] = 0;);
  if (v->vec->type->phys == HLY_PHYS_STR) {
    hly_str *s = v->vec->values;
    HLY_FOR_ROWS(rows, i, memset(&s[i], 0, sizeof s[i]););
  }
  *nulls |= rows.n_sel > 0;
  return HLY_OK;
}

// IF and CASE: condition, value, condition, value, ..., value.
static hly_status eval_case(hly_exprs *p, node *n, value *v) {
  uint32_t taken = p->n_sel_taken;
  hly_rows rest = hly_scope_now(p)->rows;
  uint32_t *hit, *miss[2];
  HLY_TRY(hly_sel_take(p, &hit));
  HLY_TRY(hly_sel_take(p, &miss[0]));
  HLY_TRY(hly_sel_take(p, &miss[1]));
  HLY_TRY(begin_merge(p, n, v));
  bool nulls = false;
  uint32_t i = 0;
  for (; i + 1 < n->n_args && rest.n_sel > 0; i += 2) {
    hly_arg condition, result;
    HLY_TRY(eval_on(p, n->args[i], rest, &condition));
    uint32_t n_hit = hly_rows_where_true(rest, &condition, true, hit);
    uint32_t *other = miss[i / 2 % 2];
    uint32_t n_miss = hly_rows_where_true(rest, &condition, false, other);
    if (n_hit) {
      hly_rows hits = n_miss ? selected(p, hit, n_hit) : rest;
      HLY_TRY(eval_on(p, n->args[i + 1], hits, &result));
      HLY_TRY(hly_value_scatter(p->ctx, v, &result, hits));
      nulls |= result.valid != NULL;
    }
    rest = n_hit ? selected(p, other, n_miss) : rest;
  }
  if (rest.n_sel > 0) {
    if (n->n_args % 2) {
      hly_arg result;
      HLY_TRY(eval_on(p, n->args[n->n_args - 1], rest, &result));
      HLY_TRY(hly_value_scatter(p->ctx, v, &result, rest));
      nulls |= result.valid != NULL;
    } else {
      HLY_TRY(merge_null(v, rest, &nulls));
    }
  }
  v->arg.valid = nulls ? v->valid : NULL;
  p->n_sel_taken = taken;
  return HLY_OK;
}

static hly_status eval_coalesce(hly_exprs *p, node *n, value *v) {
  uint32_t taken = p->n_sel_taken;
  hly_rows rest = hly_scope_now(p)->rows;
  hly_arg a;
  HLY_TRY(hly_node_eval(p, n->args[0], &a));
  n->alias = -1;
  if (!a.valid || n->n_args == 1) {
    v->arg = a;
    n->alias = (int32_t)n->args[0];
    return HLY_OK;
  }
  uint32_t *hit, *miss[2];
  HLY_TRY(hly_sel_take(p, &hit));
  HLY_TRY(hly_sel_take(p, &miss[0]));
  HLY_TRY(hly_sel_take(p, &miss[1]));
  HLY_TRY(begin_merge(p, n, v));
  bool nulls = false;
  for (uint32_t i = 0; i < n->n_args && rest.n_sel > 0; i++) {
    if (i) HLY_TRY(eval_on(p, n->args[i], rest, &a));
    if (i + 1 == n->n_args || !a.valid) {
      HLY_TRY(hly_value_scatter(p->ctx, v, &a, rest));
      nulls |= a.valid != NULL;
      break;
    }
    uint32_t n_hit = hly_rows_where_valid(rest, &a, true, hit);
    uint32_t n_miss = hly_rows_where_valid(rest, &a, false, miss[i % 2]);
    HLY_TRY(hly_value_scatter(p->ctx, v, &a, selected(p, hit, n_hit)));
    rest = selected(p, miss[i % 2], n_miss);
  }
  v->arg.valid = nulls ? v->valid : NULL;
  p->n_sel_taken = taken;
  return HLY_OK;
}

static bool is_nan(const hly_arg *a, uint32_t i) {
  return a->type->kind == HLY_FLOAT ? __builtin_isnan(HLY_ARG(float, a, i))
                                    : __builtin_isnan(HLY_ARG(double, a, i));
}

static hly_status eval_nanvl(hly_exprs *p, node *n, value *v) {
  uint32_t taken = p->n_sel_taken, *nan, *other, n_nan = 0, n_other = 0;
  hly_rows all = hly_scope_now(p)->rows;
  hly_arg a, b;
  HLY_TRY(hly_node_eval(p, n->args[0], &a));
  HLY_TRY(hly_sel_take(p, &nan));
  HLY_TRY(hly_sel_take(p, &other));
  HLY_FOR_ROWS(all, i, {
    if (hly_arg_valid(&a, i) && is_nan(&a, i))
      nan[n_nan++] = i;
    else
      other[n_other++] = i;
  });
  HLY_TRY(begin_merge(p, n, v));
  HLY_TRY(hly_value_scatter(p->ctx, v, &a, selected(p, other, n_other)));
  bool nulls = a.valid != NULL;
  if (n_nan) {
    HLY_TRY(eval_on(p, n->args[1], selected(p, nan, n_nan), &b));
    HLY_TRY(hly_value_scatter(p->ctx, v, &b, selected(p, nan, n_nan)));
    nulls |= b.valid != NULL;
  }
  v->arg.valid = nulls ? v->valid : NULL;
  p->n_sel_taken = taken;
  return HLY_OK;
}

static hly_status eval_is_null(hly_exprs *p, node *n, value *v) {
  bool want_null = n->form == HLY_FORM_IS_NULL;
  const node *child = p->nodes[n->args[0]];
  const hly_vector *col = child->kind == NODE_COLUMN ? p->in->columns[child->ordinal] : NULL;
  hly_arg a = {.stride = 1};
  if (!col) {
    HLY_TRY(hly_node_eval(p, n->args[0], &a));
  } else if (col->encoding == HLY_CONST) {
    a.stride = 0;
  }
  bool nullable = col ? col->validity != NULL : a.valid != NULL;
  if (!nullable || !a.stride) {
    bool valid = !nullable || (col ? hly_bits_get(col->validity, 0) : a.valid[0]);
    HLY_TRY(hly_value_vec(p->ctx, n->type, v, 1));
    *(uint8_t *)v->vec->values = valid != want_null;
    v->arg.stride = 0;
    return HLY_OK;
  }
  uint32_t n_rows = p->in->n_rows;
  HLY_TRY(hly_value_vec(p->ctx, n->type, v, n_rows));
  uint8_t *out = v->vec->values;
  if (col)
    hly_bits_unpack(col->validity, n_rows, out);
  else
    memcpy(out, a.valid, n_rows);
  if (want_null)
    for (uint32_t i = 0; i < n_rows; i++) out[i] = !out[i];
  return HLY_OK;
}

hly_status hly_node_eval_form(hly_exprs *p, node *n, value *v) {
  switch (n->form) {
  case HLY_FORM_AND:
  case HLY_FORM_OR: return eval_logic(p, n, v);
  case HLY_FORM_IF:
  case HLY_FORM_CASE: return eval_case(p, n, v);
  case HLY_FORM_COALESCE: return eval_coalesce(p, n, v);
  case HLY_FORM_NANVL: return eval_nanvl(p, n, v);
  case HLY_FORM_IS_NULL:
  case HLY_FORM_IS_NOT_NULL: return eval_is_null(p, n, v);
  default: return hly_error_setf(&p->ctx->error, HLY_E_INTERNAL, "an expression form has no evaluation");
  }
}
