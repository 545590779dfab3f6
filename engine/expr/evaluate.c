// Evaluation: each node at most once for the rows it is wanted on, arguments before calls.
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"
#include "expr/program.h"
#include "functions/logic.h"
#include "memory/pool.h"
#include "vector/decimal.h"

// ---- scopes and selections

// First k with sel[k] >= row.
static uint32_t rows_before(const uint32_t *sel, uint32_t n, uint32_t row) {
  uint32_t lo = 0, hi = n;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (sel[mid] < row)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

static void cut_rows(hly_rows *rows, uint32_t row) {
  if (rows->sel) {
    rows->n_sel = rows_before(rows->sel, rows->n_sel, row);
  } else if (row < rows->n) {
    rows->n = rows->n_sel = row;
  }
}

void hly_rows_cut(const hly_exprs *p, hly_rows *rows) {
  if (p->error_row != UINT32_MAX) cut_rows(rows, p->error_row);
}

hly_status hly_scope_push(hly_exprs *p, hly_rows rows) {
  if (p->depth + 1 >= p->cap_scopes) {
    uint32_t cap = p->cap_scopes * 2;
    scope *scopes = hly_realloc(p->scopes, cap * sizeof *scopes);
    HLY_CHECK_MEM(p->ctx, scopes, cap * sizeof *scopes);
    p->scopes = scopes;
    p->cap_scopes = cap;
  }
  hly_rows_cut(p, &rows);
  scope *s = &p->scopes[++p->depth];
  s->rows = rows;
  s->serial = ++p->next_serial;
  return HLY_OK;
}

hly_status hly_sel_take(hly_exprs *p, uint32_t **sel) {
  if (p->n_sel_taken == p->n_sel_bufs) {
    uint32_t n = p->n_sel_bufs + 8;
    uint32_t **bufs = hly_realloc(p->sel_bufs, n * sizeof *bufs);
    HLY_CHECK_MEM(p->ctx, bufs, n * sizeof *bufs);
    p->sel_bufs = bufs;
    uint32_t *caps = hly_realloc(p->sel_caps, n * sizeof *caps);
    HLY_CHECK_MEM(p->ctx, caps, n * sizeof *caps);
    p->sel_caps = caps;
    memset(bufs + p->n_sel_bufs, 0, 8 * sizeof *bufs);
    memset(caps + p->n_sel_bufs, 0, 8 * sizeof *caps);
    p->n_sel_bufs = n;
  }
  uint32_t i = p->n_sel_taken, want = p->in->n_rows + 16;
  if (p->sel_caps[i] < want) {
    uint32_t *buf = hly_malloc((size_t)want * sizeof *buf);
    HLY_CHECK_MEM(p->ctx, buf, want * sizeof *buf);
    hly_free(p->sel_bufs[i]);
    p->sel_bufs[i] = buf;
    p->sel_caps[i] = want;
  }
  p->n_sel_taken++;
  *sel = p->sel_bufs[i];
  return HLY_OK;
}

void hly_rows_fail(hly_exprs *p, uint32_t row, int64_t jvm_ref) {
  if (row >= p->error_row) return; // an earlier row has failed: Spark would not have come here
  p->error_row = row;
  hly_error_clear(&p->error);
  p->error.status = HLY_ERR;
  p->error.id = HLY_E_HOST;
  p->error.jvm_ref = jvm_ref;
  for (uint32_t d = 0; d <= p->depth; d++) cut_rows(&p->scopes[d].rows, row);
}

uint32_t hly_rows_where_valid(hly_rows rows, const hly_arg *arg, bool want, uint32_t *sel) {
  uint32_t k = 0;
  HLY_FOR_ROWS(rows, i, {
    sel[k] = i;
    k += hly_arg_valid(arg, i) == want;
  });
  return k;
}

uint32_t hly_rows_where_true(hly_rows rows, const hly_arg *arg, bool want, uint32_t *sel) {
  const uint8_t *data = arg->data, *valid = arg->valid;
  uint32_t k = 0;
  if (valid) {
    HLY_FOR_ROWS(rows, i, {
      size_t at = (size_t)i * arg->stride;
      sel[k] = i;
      k += (data[at] & valid[at]) == want;
    });
  } else {
    HLY_FOR_ROWS(rows, i, {
      sel[k] = i;
      k += data[(size_t)i * arg->stride] == want;
    });
  }
  return k;
}

// ---- values

static const uint8_t zeros[64] __attribute__((aligned(64)));

hly_status hly_value_vec(hly_ctx *ctx, const hly_type *type, value *v, uint32_t n_rows) {
  if (v->vec && v->vec->refs > 1) { // somebody keeps the last batch's
    hly_vector_unref(v->vec);
    v->vec = NULL;
  }
  if (!v->vec) {
    v->vec = hly_vector_create(type);
    HLY_CHECK_MEM(ctx, v->vec, sizeof *v->vec);
  }
  HLY_TRY(hly_vector_reset(ctx, v->vec, n_rows));
  v->arg = (hly_arg){.type = type, .data = v->vec->values, .stride = 1, .vec = v->vec};
  return HLY_OK;
}

hly_status hly_value_valid(hly_ctx *ctx, value *v, uint32_t n_rows) {
  if (v->cap_valid < n_rows || !v->valid) {
    uint32_t cap = n_rows + 64;
    uint8_t *valid = hly_malloc_aligned(cap, 64);
    HLY_CHECK_MEM(ctx, valid, cap);
    hly_free(v->valid);
    v->valid = valid;
    v->cap_valid = cap;
  }
  return HLY_OK;
}

hly_status hly_value_set_null(hly_ctx *ctx, const hly_type *type, value *v) {
  HLY_TRY(hly_value_vec(ctx, type, v, 1));
  HLY_TRY(hly_value_valid(ctx, v, 1));
  if (v->vec->values) memset(v->vec->values, 0, hly_phys_size[type->phys]);
  v->valid[0] = 0;
  v->arg.valid = v->valid;
  v->arg.stride = 0;
  return HLY_OK;
}

void hly_value_deinit(value *v) {
  hly_vector_unref(v->vec);
  hly_free(v->valid);
  *v = (value){0};
}

#define SCATTER(T)                                                                                           \
  do {                                                                                                       \
    T *to_ = v->vec->values;                                                                                 \
    const T *from_ = from->data;                                                                             \
    const size_t s_ = from->stride;                                                                          \
    HLY_FOR_ROWS(rows, i, to_[i] = from_[i * s_];);                                                          \
  } while (0)

typedef struct wide {
  uint64_t a, b, c, d;
} wide;

hly_status hly_value_scatter(hly_ctx *ctx, value *v, const hly_arg *from, hly_rows rows) {
  switch (hly_phys_size[v->vec->type->phys]) {
  case 0: break;
  case 1: SCATTER(uint8_t); break;
  case 2: SCATTER(uint16_t); break;
  case 4: SCATTER(uint32_t); break;
  case 8: SCATTER(uint64_t); break;
  case 16: SCATTER(hly_i128); break;
  default: SCATTER(wide); break;
  }
  if (from->valid) {
    HLY_FOR_ROWS(rows, i, v->valid[i] = from->valid[(size_t)i * from->stride];);
  } else {
    HLY_FOR_ROWS(rows, i, v->valid[i] = 1;);
  }
  if (from->vec && (v->vec->type->phys == HLY_PHYS_STR || v->vec->type->phys == HLY_PHYS_VARIANT))
    HLY_TRY(hly_vector_share_heaps(ctx, v->vec, from->vec));
  return HLY_OK;
}

hly_status hly_call_heap(hly_call *call, size_t n_bytes, uint8_t **out) {
  hly_buf *heap = hly_buf_create(n_bytes ? n_bytes : 1);
  HLY_CHECK_MEM(call->ctx, heap, n_bytes);
  hly_status st = hly_vector_add_heap(call->ctx, call->vec, heap);
  hly_buf_unref(heap);
  *out = st == HLY_OK ? call->vec->heaps[call->vec->n_heaps - 1]->data : NULL;
  return st;
}

// ---- columns

static hly_status eval_column(hly_exprs *p, node *n, value *v) {
  const hly_vector *col = p->in->columns[n->ordinal];
  v->arg = (hly_arg){.type = n->type, .vec = col, .stride = col->encoding == HLY_CONST ? 0 : 1};
  if (col->validity) {
    uint32_t n_bits = col->encoding == HLY_CONST ? 1 : p->in->n_rows;
    HLY_TRY(hly_value_valid(p->ctx, v, n_bits));
    hly_bits_unpack(col->validity, n_bits, v->valid);
  }
  if (hly_type_is_nested(n->type) && col->encoding == HLY_DICT) {
    // Kernels over nested types look at vec; nobody reads data.
  } else if (col->encoding == HLY_DICT) {
    HLY_TRY(hly_node_flatten_dict(p, n, v));
  } else {
    v->arg.data = col->values;
  }
  if (!v->arg.data) v->arg.data = zeros; // null constants, structs: kernels may load, never use
  v->arg.valid = col->validity ? v->valid : NULL;
  return HLY_OK;
}

// ---- kernels

// out_valid of STRICT and MAY_ADD: the conjunction of the arguments' validity.
static hly_status and_validity(hly_exprs *p, node *n, uint32_t n_rows, value *v) {
  const uint8_t *one = NULL;
  uint32_t n_nullable = 0;
  for (uint32_t i = 0; i < n->n_args; i++)
    if (n->call_args[i].valid && n->call_args[i].stride) {
      one = n->call_args[i].valid;
      n_nullable++;
    }
  bool own = n->kernel.nulls == HLY_NULLS_MAY_ADD;
  if (!own && n_nullable < 2) {
    v->arg.valid = one;
    return HLY_OK;
  }
  HLY_TRY(hly_value_valid(p->ctx, v, n_rows));
  v->arg.valid = v->valid;
  if (!n_nullable) {
    memset(v->valid, 1, n_rows);
    return HLY_OK;
  }
  bool first = true;
  for (uint32_t i = 0; i < n->n_args; i++) {
    const hly_arg *a = &n->call_args[i];
    if (!a->valid || !a->stride) continue;
    if (first)
      memcpy(v->valid, a->valid, n_rows);
    else
      hly_logic()->mask_and(n_rows, v->valid, a->valid);
    first = false;
  }
  return HLY_OK;
}

hly_status hly_node_call(hly_exprs *p, node *n, hly_rows rows, uint32_t n_rows, value *v) {
  bool may_decline = n->kernel.flags & HLY_KERNEL_MAY_DECLINE, all_const = n->n_args > 0;
  for (uint32_t i = 0; i < n->n_args; i++) {
    const hly_arg *a = &n->call_args[i];
    all_const &= a->stride == 0;
    if (n->kernel.nulls != HLY_NULLS_CUSTOM && a->stride == 0 && a->valid && !a->valid[0])
      return hly_value_set_null(p->ctx, n->type, v);
  }
  bool once = all_const && !may_decline && n->deterministic;
  if (once) {
    rows = (hly_rows){.n = 1, .n_sel = 1};
    n_rows = 1;
  }
  HLY_TRY(hly_value_vec(p->ctx, n->type, v, n_rows));
  hly_call call = {.ctx = p->ctx,
                   .state = n->kernel.state,
                   .args = n->call_args,
                   .n_args = n->n_args,
                   .rows = rows,
                   .type = n->type,
                   .out = v->vec->values,
                   .vec = v->vec};
  if (n->kernel.nulls == HLY_NULLS_CUSTOM) {
    HLY_TRY(hly_value_valid(p->ctx, v, n_rows));
    v->arg.valid = v->valid;
  } else {
    HLY_TRY(and_validity(p, n, n_rows, v));
  }
  call.valid = (uint8_t *)(uintptr_t)v->arg.valid; // STRICT kernels only read it
  if (may_decline) {
    if (p->cap_declined < n_rows || !p->declined) {
      uint32_t cap = n_rows + 64;
      uint32_t *declined = hly_malloc(cap * sizeof *declined);
      HLY_CHECK_MEM(p->ctx, declined, cap * sizeof *declined);
      hly_free(p->declined);
      p->declined = declined;
      p->cap_declined = cap;
    }
    call.declined = p->declined;
  }
  HLY_TRY(n->kernel.fn(&call));
  if (n->kernel.nulls == HLY_NULLS_CUSTOM && !call.valid) v->arg.valid = NULL;
  if (once) v->arg.stride = 0;
  if (call.n_declined) {
    p->n_declined = call.n_declined;
    if (p->in) return hly_node_eval_declined(p, n, call.declined, call.n_declined, v);
  }
  return HLY_OK;
}

static hly_status eval_kernel(hly_exprs *p, node *n, value *v) {
  uint32_t depth = p->depth, taken = p->n_sel_taken;
  bool right_first = n->kernel.flags & HLY_KERNEL_RIGHT_FIRST;
  for (uint32_t k = 0; k < n->n_args; k++) {
    uint32_t i = right_first ? n->n_args - 1 - k : k;
    HLY_TRY(hly_node_eval(p, n->args[i], &n->call_args[i]));
    if (n->kernel.nulls == HLY_NULLS_CUSTOM || !n->call_args[i].valid) continue;
    // Where an argument is null Spark does not evaluate those after it.
    bool careful = false;
    for (uint32_t m = k + 1; m < n->n_args; m++)
      careful |= p->nodes[n->args[right_first ? n->n_args - 1 - m : m]]->careful;
    if (!careful) continue;
    hly_rows now = hly_scope_now(p)->rows;
    uint32_t *sel;
    HLY_TRY(hly_sel_take(p, &sel));
    uint32_t n_sel = hly_rows_where_valid(now, &n->call_args[i], true, sel);
    if (n_sel == now.n_sel) {
      p->n_sel_taken--;
      continue;
    }
    HLY_TRY(hly_scope_push(p, (hly_rows){.n = p->in->n_rows, .sel = sel, .n_sel = n_sel}));
  }
  p->depth = depth;
  p->n_sel_taken = taken;
  return hly_node_call(p, n, hly_scope_now(p)->rows, p->in->n_rows, v);
}

// ---- nodes

static bool is_current(const hly_exprs *p, const value *v) {
  return v->scope && v->depth <= p->depth && p->scopes[v->depth].serial == v->scope;
}

static hly_status eval_const(hly_exprs *p, node *n, value *v) {
  if (!n->literal) return hly_error_setf(&p->ctx->error, HLY_E_PLAN_INVALID, "a subquery's value is missing");
  if (!v->vec) {
    v->vec = hly_vector_create(n->type);
    HLY_CHECK_MEM(p->ctx, v->vec, sizeof *v->vec);
    HLY_TRY(hly_vector_set_const(p->ctx, v->vec, n->literal, 1));
  }
  v->arg = (hly_arg){.type = n->type, .data = v->vec->values, .vec = v->vec};
  if (!v->arg.data) v->arg.data = zeros;
  if (n->literal->is_null) {
    HLY_TRY(hly_value_valid(p->ctx, v, 1));
    v->valid[0] = 0;
    v->arg.valid = v->valid;
  }
  return HLY_OK;
}

hly_status hly_node_eval(hly_exprs *p, uint32_t id, hly_arg *out) {
  node *n = p->nodes[id];
  value *v = &n->value;
  if (!is_current(p, v)) {
    uint32_t depth = p->depth;
    v->scope = 0;
    switch (n->kind) {
    case NODE_COLUMN:
      HLY_TRY(eval_column(p, n, v));
      if (p->in->columns[n->ordinal]->encoding != HLY_DICT) depth = 0; // the same for every scope
      break;
    case NODE_CONST: HLY_TRY(eval_const(p, n, v)); break;
    case NODE_KERNEL:
      if (hly_node_use_dict(p, n))
        HLY_TRY(hly_node_flatten_dict(p, n, v));
      else
        HLY_TRY(eval_kernel(p, n, v));
      break;
    case NODE_FORM:
      if (hly_node_use_dict(p, n))
        HLY_TRY(hly_node_flatten_dict(p, n, v));
      else
        HLY_TRY(hly_node_eval_form(p, n, v));
      break;
    case NODE_DISPATCH:
      HLY_TRY(hly_node_eval_dispatch(p, n, v));
      if (p->sites[n->site].merged) depth = 0;
      break;
    }
    if (n->kind == NODE_CONST) depth = 0;
    v->depth = depth;
    v->scope = p->scopes[depth].serial;
  }
  *out = v->arg;
  return HLY_OK;
}

hly_status hly_node_output(hly_exprs *p, uint32_t id, hly_vector **out) {
  node *n = p->nodes[id];
  if (n->kind == NODE_COLUMN) {
    *out = p->in->columns[n->ordinal];
    return HLY_OK;
  }
  if (hly_node_use_dict(p, n) && n->type->kind != HLY_BOOLEAN) return hly_node_dict_output(p, n, out);
  hly_arg a;
  HLY_TRY(hly_node_eval(p, id, &a));
  hly_vector *vec = n->value.vec;
  if (n->kind == NODE_FORM && n->form == HLY_FORM_COALESCE && n->alias >= 0)
    return hly_node_output(p, (uint32_t)n->alias, out);
  if (n->kind == NODE_DISPATCH) {
    *out = (hly_vector *)(uintptr_t)a.vec;
    return HLY_OK;
  }
  if (vec->refs > 1 && n->kind == NODE_CONST) {
    // Kept by the consumer of an earlier batch, whose number of rows it carries.
    hly_vector_unref(vec);
    n->value.vec = NULL;
    n->value.scope = 0;
    HLY_TRY(hly_node_eval(p, id, &a));
    vec = n->value.vec;
  }
  if (a.stride == 0) {
    if (n->kind != NODE_CONST) {
      vec->encoding = HLY_CONST;
      if (a.valid && !a.valid[0]) {
        HLY_TRY(hly_vector_need_validity(p->ctx, vec));
        hly_bits_clear(vec->validity, 0);
      }
    }
    vec->n_rows = p->in->n_rows;
  } else if (a.valid) {
    HLY_TRY(hly_vector_need_validity(p->ctx, vec));
    hly_bits_pack(a.valid, vec->n_rows, vec->validity);
  }
  *out = vec;
  return HLY_OK;
}

// ---- the program

hly_status hly_exprs_open(hly_exprs *p, hly_ctx *ctx, int32_t partition, int64_t *metrics) {
  if (p->placeholder) {
    for (uint32_t i = 0; i < p->n_nodes; i++)
      if (p->nodes[i]->used && p->nodes[i]->kind == NODE_CONST && !p->nodes[i]->literal)
        return hly_error_setf(&ctx->error, HLY_E_PLAN_INVALID, "a subquery's value is missing");
  }
  p->ctx = ctx;
  p->partition = partition;
  p->metrics = metrics;
  p->error_row = UINT32_MAX;
  hly_error_clear(&p->error);
  p->opened = true;
  if (!p->scopes) {
    p->cap_scopes = 16;
    p->scopes = hly_calloc(p->cap_scopes, sizeof *p->scopes);
    HLY_CHECK_MEM(ctx, p->scopes, p->cap_scopes * sizeof *p->scopes);
  }
  for (uint32_t i = 0; i < p->n_sites; i++) HLY_TRY(hly_site_open(p, &p->sites[i]));
  return HLY_OK;
}

hly_status hly_exprs_begin(hly_exprs *p, hly_ctx *ctx, const hly_batch *in) {
  if (!p->opened) return hly_error_setf(&ctx->error, HLY_E_INTERNAL, "an expression program is not open");
  p->ctx = ctx;
  p->in = in;
  p->error_row = UINT32_MAX;
  p->n_sel_taken = 0;
  p->depth = 0;
  p->batch_serial = ++p->next_serial;
  hly_error_clear(&p->error);
  p->scopes[0] =
      (scope){.rows = {.n = in->n_rows, .sel = in->sel, .n_sel = in->n_sel}, .serial = p->batch_serial};
  if (!in->sel) p->scopes[0].rows.n_sel = in->n_rows;
  return HLY_OK;
}

static int64_t value_bytes(const value *v) {
  int64_t n = v->cap_valid;
  if (!v->vec) return n;
  if (v->vec->values_buf) n += (int64_t)v->vec->values_buf->capacity;
  if (v->vec->validity_buf) n += (int64_t)v->vec->validity_buf->capacity;
  return n;
}

void hly_exprs_record(hly_exprs *p) {
  enum { EVERY = 256 }; // registers reach their size with the first full batch
  if (!p->ctx->pool || p->n_batches++ % EVERY) return;
  int64_t now = (int64_t)p->cap_declined * 4 + p->cap_mask;
  for (uint32_t i = 0; i < p->n_nodes; i++) {
    now += value_bytes(&p->nodes[i]->value);
    if (p->nodes[i]->on_dict) now += value_bytes(&p->nodes[i]->on_dict->v);
  }
  for (uint32_t i = 0; i < p->n_sel_bufs; i++) now += (int64_t)p->sel_caps[i] * 4;
  for (uint32_t i = 0; i < p->n_sites; i++)
    if (p->sites[i].rows.data) now += (int64_t)p->sites[i].rows.data->capacity;
  hly_pool_record(p->ctx->pool, now - p->recorded);
  p->recorded = now;
}

hly_status hly_exprs_eval(hly_exprs *p, hly_ctx *ctx, const hly_batch *in, hly_vector **out,
                          uint32_t *n_good) {
  HLY_TRY(hly_exprs_begin(p, ctx, in));
  for (uint32_t i = 0; i < p->n_roots; i++) HLY_TRY(hly_node_output(p, p->roots[i], &out[i]));
  *n_good = p->scopes[0].rows.n_sel;
  hly_exprs_record(p);
  return HLY_OK;
}

hly_status hly_exprs_raise(hly_exprs *p, hly_ctx *ctx) {
  if (p->error.status == HLY_OK) return HLY_OK;
  ctx->error = p->error;
  hly_error_clear(&p->error);
  return HLY_ERR;
}

void hly_exprs_close(hly_exprs *p) {
  if (!p) return;
  if (p->recorded) hly_pool_record(p->ctx->pool, -p->recorded);
  p->recorded = 0;
  p->n_batches = 0;
  for (uint32_t i = 0; i < p->n_nodes; i++) {
    node *n = p->nodes[i];
    hly_value_deinit(&n->value);
    if (n->on_dict) {
      hly_value_deinit(&n->on_dict->v);
      hly_vector_unref(n->on_dict->key);
      hly_vector_unref(n->on_dict->out);
      n->on_dict->key = n->on_dict->out = NULL;
    }
  }
  for (uint32_t i = 0; i < p->n_sites; i++) hly_site_close(&p->sites[i]);
  for (uint32_t i = 0; i < p->n_sel_bufs; i++) hly_free(p->sel_bufs[i]);
  hly_free(p->sel_bufs);
  hly_free(p->sel_caps);
  hly_free(p->scopes);
  hly_free(p->declined);
  hly_free(p->mask);
  p->sel_bufs = NULL;
  p->sel_caps = NULL;
  p->n_sel_bufs = p->n_sel_taken = 0;
  p->scopes = NULL;
  p->cap_scopes = 0;
  p->declined = NULL;
  p->cap_declined = 0;
  p->mask = NULL;
  p->cap_mask = 0;
  p->in = NULL;
  p->opened = false;
  p->next_serial = p->batch_serial = 0;
}
