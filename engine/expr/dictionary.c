// Evaluation on dictionaries: a function of one dictionary column is computed once per distinct value, and
// again only when another dictionary is seen.
#include <string.h>

#include "base/bits.h"
#include "expr/program.h"
#include "functions/logic.h"
#include "vector/decimal.h"

bool hly_node_use_dict(const hly_exprs *p, const node *n) {
  if (!n->on_dict) return false;
  const hly_vector *col = p->in->columns[n->dict_col];
  if (col->encoding != HLY_DICT) return false;
  return n->on_dict->key == col->dict || col->dict->n_rows <= hly_scope_now(p)->rows.n_sel;
}

static hly_status eval_arg(hly_exprs *p, uint32_t id, hly_vector *dict, hly_arg *out) {
  node *n = p->nodes[id];
  switch (n->kind) {
  case NODE_COLUMN:
    *out = (hly_arg){.type = n->type, .data = dict->values, .stride = 1, .vec = dict};
    return HLY_OK;
  case NODE_CONST: return hly_node_eval(p, id, out);
  default: return hly_node_eval_on_dict(p, n, dict, out);
  }
}

// AND and OR of two columns of bytes; a null constant may stand for either.
static hly_status eval_logic(hly_exprs *p, node *n, uint32_t n_rows, value *v) {
  HLY_TRY(hly_value_vec(p->ctx, n->type, v, n_rows));
  HLY_TRY(hly_value_valid(p->ctx, v, n_rows));
  uint8_t *out = v->vec->values;
  const hly_arg *a = &n->call_args[0], *b = &n->call_args[1];
  if (a->stride && b->stride) {
    (n->form == HLY_FORM_AND ? hly_logic()->and3 : hly_logic()->or3)(n_rows, a->data, a->valid, b->data,
                                                                     b->valid, out, v->valid);
  } else {
    for (uint32_t i = 0; i < n_rows; i++) {
      uint8_t va = hly_arg_valid(a, i), vb = hly_arg_valid(b, i);
      uint8_t x = HLY_ARG(uint8_t, a, i), y = HLY_ARG(uint8_t, b, i);
      if (n->form == HLY_FORM_AND)
        hly_logic()->and3(1, &x, &va, &y, &vb, out + i, v->valid + i);
      else
        hly_logic()->or3(1, &x, &va, &y, &vb, out + i, v->valid + i);
    }
    v->arg.valid = v->valid;
    return HLY_OK;
  }
  v->arg.valid = a->valid || b->valid ? v->valid : NULL;
  return HLY_OK;
}

hly_status hly_node_eval_on_dict(hly_exprs *p, node *n, hly_vector *dict, hly_arg *out) {
  dict_value *d = n->on_dict;
  if (d->key != dict) {
    hly_vector_unref(d->key);
    d->key = NULL;
    for (uint32_t i = 0; i < n->n_args; i++) HLY_TRY(eval_arg(p, n->args[i], dict, &n->call_args[i]));
    uint32_t rows = dict->n_rows;
    if (n->kind == NODE_FORM)
      HLY_TRY(eval_logic(p, n, rows, &d->v));
    else
      HLY_TRY(hly_node_call(p, n, (hly_rows){.n = rows, .n_sel = rows}, rows, &d->v));
    d->key = hly_vector_ref(dict);
  }
  *out = d->v.arg;
  return HLY_OK;
}

#define GATHER(T)                                                                                            \
  do {                                                                                                       \
    T *to_ = v->vec->values;                                                                                 \
    const T *from_ = from.data;                                                                              \
    HLY_FOR_ROWS(rows, i, to_[i] = from_[idx[i]];);                                                          \
  } while (0)

typedef struct wide {
  uint64_t a, b, c, d;
} wide;

hly_status hly_node_flatten_dict(hly_exprs *p, node *n, value *v) {
  bool column = n->kind == NODE_COLUMN;
  const hly_vector *col = p->in->columns[column ? n->ordinal : n->dict_col];
  const uint32_t *idx = col->indices;
  hly_arg from = {.type = n->type, .data = col->dict->values, .stride = 1, .vec = col->dict};
  if (!column) HLY_TRY(hly_node_eval_on_dict(p, n, col->dict, &from));
  if (from.stride == 0 && from.valid && !from.valid[0]) return hly_value_set_null(p->ctx, n->type, v);
  hly_rows rows = hly_scope_now(p)->rows;
  uint32_t n_rows = p->in->n_rows;
  HLY_TRY(hly_value_vec(p->ctx, n->type, v, n_rows));
  switch (hly_phys_size[n->type->phys]) {
  case 1: GATHER(uint8_t); break;
  case 2: GATHER(uint16_t); break;
  case 4: GATHER(uint32_t); break;
  case 8: GATHER(uint64_t); break;
  case 16: GATHER(hly_i128); break;
  default: GATHER(wide); break;
  }
  if (n->type->phys == HLY_PHYS_STR || n->type->phys == HLY_PHYS_VARIANT)
    HLY_TRY(hly_vector_share_heaps(p->ctx, v->vec, from.vec));
  if (column) return HLY_OK; // the caller has unpacked its validity
  if (col->validity || from.valid) {
    HLY_TRY(hly_value_valid(p->ctx, v, n_rows));
    if (col->validity)
      hly_bits_unpack(col->validity, n_rows, v->valid);
    else
      memset(v->valid, 1, n_rows);
    if (from.valid) HLY_FOR_ROWS(rows, i, v->valid[i] &= from.valid[idx[i]];);
    v->arg.valid = v->valid;
  }
  return HLY_OK;
}

hly_status hly_node_dict_output(hly_exprs *p, node *n, hly_vector **out) {
  const hly_vector *col = p->in->columns[n->dict_col];
  dict_value *d = n->on_dict;
  hly_arg from;
  HLY_TRY(hly_node_eval_on_dict(p, n, col->dict, &from));
  if (!hly_type_is_string(n->type) || from.stride == 0) {
    // Narrow values are better flat: whoever reads them next wants arrays.
    n->value.scope = 0;
    HLY_TRY(hly_node_flatten_dict(p, n, &n->value));
    hly_vector *vec = n->value.vec;
    if (n->value.arg.stride == 0) {
      vec->encoding = HLY_CONST;
      HLY_TRY(hly_vector_need_validity(p->ctx, vec));
      hly_bits_clear(vec->validity, 0);
      vec->n_rows = p->in->n_rows;
    } else if (n->value.arg.valid) {
      HLY_TRY(hly_vector_need_validity(p->ctx, vec));
      hly_bits_pack(n->value.arg.valid, p->in->n_rows, vec->validity);
    }
    *out = vec;
    return HLY_OK;
  }
  if (d->out && d->out->refs > 1) {
    hly_vector_unref(d->out);
    d->out = NULL;
  }
  if (!d->out) {
    d->out = hly_vector_create(n->type);
    HLY_CHECK_MEM(p->ctx, d->out, sizeof *d->out);
  }
  uint32_t n_rows = p->in->n_rows;
  HLY_TRY(hly_vector_set_dict(p->ctx, d->out, d->v.vec, n_rows));
  if (n_rows) memcpy(d->out->indices, col->indices, (size_t)n_rows * sizeof *col->indices);
  if (col->validity || from.valid) {
    HLY_TRY(hly_vector_need_validity(p->ctx, d->out));
    if (col->validity) memcpy(d->out->validity, col->validity, hly_bits_bytes(n_rows));
    if (from.valid)
      HLY_FOR_ROWS(hly_scope_now(p)->rows, i,
                   if (!from.valid[col->indices[i]]) hly_bits_clear(d->out->validity, i););
  }
  *out = d->out;
  return HLY_OK;
}
