#include "expr_oracle.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "rows/unsafe_row.h"
#include "vector/str.h"

oracle_value oracle_load(const hly_vector *v, uint32_t row) {
  oracle_value r = {0};
  r.null = hly_vector_is_null(v, row);
  if (r.null || v->type->kind == HLY_NULL) return (oracle_value){.null = true};
  uint32_t i = hly_vector_index(v, row);
  const void *base = hly_vector_base(v);
  switch (v->type->phys) {
  case HLY_PHYS_BOOL: r.i = ((const uint8_t *)base)[i] != 0; break;
  case HLY_PHYS_I8: r.i = ((const int8_t *)base)[i]; break;
  case HLY_PHYS_I16: r.i = ((const int16_t *)base)[i]; break;
  case HLY_PHYS_I32: r.i = ((const int32_t *)base)[i]; break;
  case HLY_PHYS_I64: r.i = ((const int64_t *)base)[i]; break;
  case HLY_PHYS_F32: r.d = ((const float *)base)[i]; break;
  case HLY_PHYS_F64: r.d = ((const double *)base)[i]; break;
  case HLY_PHYS_STR: {
    const hly_str *s = (const hly_str *)base + i;
    r.s = hly_str_data(s);
    r.n = s->len;
    break;
  }
  default: fail_msg("the oracle has no such type");
  }
  return r;
}

static bool is_float(const hly_type *t) {
  return t->kind == HLY_FLOAT || t->kind == HLY_DOUBLE;
}

static int compare(int kind, oracle_value a, oracle_value b) {
  if (kind == HLY_FLOAT || kind == HLY_DOUBLE) {
    if (isnan(a.d) || isnan(b.d)) return !!isnan(a.d) - !!isnan(b.d);
    return (a.d > b.d) - (a.d < b.d);
  }
  if (kind == HLY_STRING || kind == HLY_BINARY) {
    uint32_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.s, b.s, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
  }
  return (a.i > b.i) - (a.i < b.i);
}

bool oracle_same(const hly_type *t, oracle_value a, oracle_value b) {
  if (a.null || b.null) return a.null == b.null;
  if (is_float(t)) return (isnan(a.d) && isnan(b.d)) || memcmp(&a.d, &b.d, 8) == 0;
  return compare((int)t->kind, a, b) == 0;
}

static oracle_value yes_no(bool b) {
  return (oracle_value){.i = b};
}

oracle_value oracle_eval(const Halley__Expr *e, const hly_batch *batch, uint32_t row, int64_t *counter) {
  static const char *const comparisons[] = {"EqualTo", "LessThan", "LessThanOrEqual", "GreaterThan",
                                            "GreaterThanOrEqual"};
  const oracle_value null = {.null = true};
  Halley__Expr **c = e->children;
#define EVAL(k) oracle_eval(c[k], batch, row, counter)
  if (!strcmp(e->cls, "BoundReference")) return oracle_load(batch->columns[e->ordinal], row);
  if (!strcmp(e->cls, "Literal")) {
    const Halley__Literal *l = e->literal;
    switch (l->value_case) {
    case HALLEY__LITERAL__VALUE_NULL_VALUE: return null;
    case HALLEY__LITERAL__VALUE_BOOL_VALUE: return yes_no(l->bool_value);
    case HALLEY__LITERAL__VALUE_INT_VALUE: return (oracle_value){.i = l->int_value};
    case HALLEY__LITERAL__VALUE_DOUBLE_VALUE: return (oracle_value){.d = l->double_value};
    default: return (oracle_value){.s = l->bytes_value.data, .n = (uint32_t)l->bytes_value.len};
    }
  }
  if (!strcmp(e->cls, "Counter")) return (oracle_value){.i = (*counter)++};
  if (!strcmp(e->cls, "Opaque") || !strcmp(e->cls, "Alias")) return EVAL(0);
  if (!strcmp(e->cls, "RaiseIf")) {
    oracle_value a = EVAL(0);
    if (a.raised) return a;
    return (oracle_value){.raised = !a.null && a.i};
  }
  if (!strcmp(e->cls, "And") || !strcmp(e->cls, "Or")) {
    bool decides = e->cls[0] == 'O';
    oracle_value a = EVAL(0);
    if (a.raised || (!a.null && a.i == decides)) return a;
    oracle_value b = EVAL(1);
    if (b.raised || (!b.null && b.i == decides)) return b;
    return a.null || b.null ? null : yes_no(!decides);
  }
  if (!strcmp(e->cls, "Not")) {
    oracle_value a = EVAL(0);
    if (!a.null) a.i = !a.i;
    return a;
  }
  if (!strcmp(e->cls, "IsNull") || !strcmp(e->cls, "IsNotNull")) {
    oracle_value a = EVAL(0);
    return a.raised ? a : yes_no(a.null == !strcmp(e->cls, "IsNull"));
  }
  if (!strcmp(e->cls, "If") || !strcmp(e->cls, "CaseWhen")) {
    size_t i = 0;
    for (; i + 1 < e->n_children; i += 2) {
      oracle_value a = EVAL(i);
      if (a.raised) return a;
      if (!a.null && a.i) return EVAL(i + 1);
    }
    return i < e->n_children ? EVAL(i) : null;
  }
  if (!strcmp(e->cls, "Coalesce")) {
    for (size_t i = 0; i < e->n_children; i++) {
      oracle_value a = EVAL(i);
      if (a.raised || !a.null) return a;
    }
    return null;
  }
  if (!strcmp(e->cls, "NaNvl")) {
    oracle_value a = EVAL(0);
    return a.raised || a.null || !isnan(a.d) ? a : EVAL(1);
  }
  if (!strcmp(e->cls, "In")) {
    oracle_value a = EVAL(0);
    bool has_null = false;
    if (a.raised || a.null) return a;
    for (size_t i = 1; i < e->n_children; i++) {
      oracle_value b = EVAL(i);
      if (b.raised) return b;
      if (b.null)
        has_null = true;
      else if (compare((int)c[0]->type->kind, a, b) == 0)
        return yes_no(true);
    }
    return has_null ? null : yes_no(false);
  }
  oracle_value a = EVAL(0);
  if (a.raised) return a;
  if (!strcmp(e->cls, "EqualNullSafe")) {
    oracle_value b = EVAL(1);
    if (b.raised) return b;
    if (a.null || b.null) return yes_no(a.null && b.null);
    return yes_no(compare((int)c[0]->type->kind, a, b) == 0);
  }
  if (!strcmp(e->cls, "IsNaN")) return yes_no(!a.null && isnan(a.d));
  if (a.null) return a;
  if (e->n_children == 1) {
    fail_msg("the oracle has no %s", e->cls);
  }
  oracle_value b = EVAL(1);
  if (b.raised || b.null) return b;
  if (!strcmp(e->cls, "Add")) { // of LONG, ANSI
    int64_t sum;
    bool overflow = __builtin_add_overflow(a.i, b.i, &sum);
    return (oracle_value){.raised = overflow, .i = sum};
  }
  for (int k = 0; k < 5; k++) {
    if (strcmp(e->cls, comparisons[k])) continue;
    int cmp = compare((int)c[0]->type->kind, a, b);
    return yes_no(k == 0 ? cmp == 0 : k == 1 ? cmp < 0 : k == 2 ? cmp <= 0 : k == 3 ? cmp > 0 : cmp >= 0);
  }
  fail_msg("the oracle has no %s", e->cls);
  return null;
}

// ---- the dispatcher

typedef struct results {
  hly_arena *arena;
  hly_ctx ctx;
  hly_row_block block;
} results;

static void mark(const Halley__Expr *e, bool *seen) {
  if (!strcmp(e->cls, "BoundReference")) seen[e->ordinal] = true;
  for (size_t i = 0; i < e->n_children; i++) mark(e->children[i], seen);
}

static hly_status store(hly_vector *v, uint32_t row, oracle_value x, results *r) {
  if (x.null) {
    hly_bits_clear(v->validity, row);
    return HLY_OK;
  }
  switch (v->type->phys) {
  case HLY_PHYS_BOOL: ((uint8_t *)v->values)[row] = x.i != 0; break;
  case HLY_PHYS_I8: ((int8_t *)v->values)[row] = (int8_t)x.i; break;
  case HLY_PHYS_I16: ((int16_t *)v->values)[row] = (int16_t)x.i; break;
  case HLY_PHYS_I32: ((int32_t *)v->values)[row] = (int32_t)x.i; break;
  case HLY_PHYS_I64: ((int64_t *)v->values)[row] = x.i; break;
  case HLY_PHYS_F32: ((float *)v->values)[row] = (float)x.d; break;
  case HLY_PHYS_F64: ((double *)v->values)[row] = x.d; break;
  case HLY_PHYS_STR: {
    const char *copy = hly_arena_copy(r->arena, x.n ? (const void *)x.s : "", x.n);
    HLY_CHECK_MEM(&r->ctx, copy, x.n);
    ((hly_str *)v->values)[row] = hly_str_make(copy, x.n);
    break;
  }
  default: fail_msg("the oracle has no such type");
  }
  return HLY_OK;
}

static hly_status dispatch(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call,
                           hly_error *error) {
  oracle_host *h = arg;
  if (!h->results) {
    h->results = hly_calloc(1, sizeof(results));
    if (!h->results) return hly_error_nomem(error, sizeof(results));
  }
  results *r = h->results;
  if (!r->arena && !(r->arena = hly_arena_create())) return hly_error_nomem(error, 0);
  h->n_calls++;
  const int32_t *exprs = (const int32_t *)(uintptr_t)call->exprs;
  hly_arena_reset(r->arena);
  // The rows hold the columns that the expressions read, ascending.
  bool seen[64] = {false};
  for (uint64_t i = 0; i < call->n_exprs; i++) mark(h->builder->table[exprs[i]], seen);
  hly_field fields[64];
  hly_schema schema = {0, fields};
  for (uint32_t i = 0; i < h->input->n_fields; i++)
    if (seen[i]) fields[schema.n_fields++] = h->input->fields[i];
  hly_batch *read, *wide = HLY_ARENA_NEW(r->arena, hly_batch), *out;
  hly_schema result = {(uint32_t)call->n_exprs, HLY_ARENA_NEW_N(r->arena, hly_field, call->n_exprs)};
  if (!wide || !result.fields) return hly_error_nomem(error, 0);
  for (uint32_t i = 0; i < result.n_fields; i++) {
    const Halley__DataType *t = h->builder->table[exprs[i]]->type;
    ((hly_field *)result.fields)[i].type = t->kind == HALLEY__KIND__DECIMAL
                                               ? hly_type_decimal(t->precision, t->scale)
                                               : hly_type_of((hly_kind)t->kind);
  }
  hly_status st = hly_batch_create(&r->ctx, r->arena, &schema, &read);
  if (st == HLY_OK) st = hly_batch_create(&r->ctx, r->arena, &result, &out);
  uint32_t n = (uint32_t)call->n_rows;
  if (h->max_rows && n > h->max_rows) n = (uint32_t)h->max_rows;
  if (st == HLY_OK)
    st = hly_unsafe_row_decode(&r->ctx, (const uint8_t *)(uintptr_t)call->rows,
                               (const uint64_t *)(uintptr_t)call->offsets, n, &schema, read);
  for (uint32_t i = 0; i < result.n_fields && st == HLY_OK; i++) {
    st = hly_vector_reset(&r->ctx, out->columns[i], n);
    if (st == HLY_OK) st = hly_vector_need_validity(&r->ctx, out->columns[i]);
  }
  if (st == HLY_OK) {
    wide->n_columns = h->input->n_fields;
    wide->columns = HLY_ARENA_NEW_N(r->arena, hly_vector *, h->input->n_fields + 1u);
    if (!wide->columns) st = hly_error_nomem(error, 0);
  }
  uint32_t done = 0;
  for (uint32_t i = 0, k = 0; st == HLY_OK && i < h->input->n_fields; i++)
    if (seen[i]) wide->columns[i] = read->columns[k++];
  for (; st == HLY_OK && done < n; done++) {
    for (uint32_t i = 0; i < result.n_fields; i++) {
      oracle_value x = oracle_eval(h->builder->table[exprs[i]], wide, done, &h->counter);
      if (x.raised) {
        call->error = 1000 + exprs[i];
        break;
      }
      if ((st = store(out->columns[i], done, x, r)) != HLY_OK) break;
    }
    if (call->error || st != HLY_OK) break;
  }
  h->n_rows += done;
  if (st == HLY_OK) {
    uint32_t encoded = 0;
    hly_batch_set_rows(out, done);
    for (uint32_t i = 0; i < result.n_fields; i++) out->columns[i]->n_rows = done;
    if (done)
      st = hly_unsafe_row_encode(&r->ctx, out, NULL, result.n_fields, 0, UINT64_MAX, &r->block, &encoded);
    call->n_done = encoded;
    call->out_rows = done && st == HLY_OK ? (uint64_t)(uintptr_t)r->block.data->data : 0;
    call->out_offsets = (uint64_t)(uintptr_t)r->block.offsets;
  }
  if (st != HLY_OK) *error = r->ctx.error;
  hly_error_clear(&r->ctx.error);
  return st;
}

void oracle_host_init(oracle_host *h, const expr_builder *builder, const hly_schema *input) {
  memset(h, 0, sizeof *h);
  test_host_init(&h->base, -1);
  h->base.host.arg = h;
  h->base.host.dispatch = dispatch;
  h->builder = builder;
  h->input = input;
}

void oracle_host_deinit(oracle_host *h) {
  results *r = h->results;
  if (!r) return;
  hly_row_block_deinit(&r->block);
  hly_arena_destroy(r->arena);
  hly_free(r);
  h->results = NULL;
}
