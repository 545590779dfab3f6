#include "parquet/statistics.h"

#include <math.h>
#include <string.h>

#include "vector/str.h"

typedef enum node_kind {
  AND,
  OR,
  IS_NULL,
  NOT_NULL,
  EQUAL,
  LESS,
  LESS_EQUAL,
  GREATER,
  GREATER_EQUAL,
  IN,
  STARTS
} node_kind;

typedef hly_pq_value value;
typedef hly_pq_bounds bounds;

typedef enum order { ORDER_INT, ORDER_FLOAT, ORDER_BYTES } order;

typedef struct node {
  node_kind kind;
  struct node *left, *right; // AND, OR
  uint32_t field;
  order order;
  uint32_t n_values;
  value *values;
} node;

struct hly_pq_prune {
  const hly_schema *schema;
  uint32_t n;
  node **conjuncts;
};

// ---- translation

static bool order_of(const hly_type *t, order *out) {
  switch (t->phys) {
  case HLY_PHYS_BOOL:
  case HLY_PHYS_I8:
  case HLY_PHYS_I16:
  case HLY_PHYS_I32:
  case HLY_PHYS_I64:
  case HLY_PHYS_I128: *out = ORDER_INT; return true;
  case HLY_PHYS_F32:
  case HLY_PHYS_F64: *out = ORDER_FLOAT; return true;
  case HLY_PHYS_STR: *out = ORDER_BYTES; return t->collation == NULL;
  default: return false;
  }
}

value hly_pq_value_load(hly_phys phys, const void *p) {
  value v = {0};
  switch (phys) {
  case HLY_PHYS_BOOL: v.i = *(const uint8_t *)p; break;
  case HLY_PHYS_I8: v.i = *(const int8_t *)p; break;
  case HLY_PHYS_I16: v.i = *(const int16_t *)p; break;
  case HLY_PHYS_I32: v.i = *(const int32_t *)p; break;
  case HLY_PHYS_I64: v.i = *(const int64_t *)p; break;
  case HLY_PHYS_I128: memcpy(&v.i, p, 16); break;
  case HLY_PHYS_F32: v.f = *(const float *)p; break;
  case HLY_PHYS_F64: v.f = *(const double *)p; break;
  case HLY_PHYS_STR: memcpy(&v.s, p, sizeof v.s); break;
  default: break;
  }
  return v;
}

typedef struct binding {
  hly_binder *b;
  const hly_schema *schema;
  uint32_t n_file_fields;
  bool nomem;
  int depth;
} binding;

static void *bind_alloc(binding *b, size_t n, size_t size) {
  void *p = hly_arena_array(b->b->arena, n, size);
  if (!p) b->nomem = true;
  return p;
}

static bool is_field(const binding *b, const Halley__Expr *e) {
  return strcmp(e->cls, "BoundReference") == 0 && e->ordinal >= 0 && (uint32_t)e->ordinal < b->n_file_fields;
}

// A literal of the field's type. False when it is something else; *is_null for a null.
static bool read_literal(binding *b, const Halley__Expr *e, const hly_type *type, value *out, bool *is_null) {
  hly_literal lit;
  if (strcmp(e->cls, "Literal") != 0 || !e->literal) return false;
  hly_status st = hly_bind_literal(b->b, e->literal, &lit);
  if (st == HLY_NOMEM) b->nomem = true;
  if (st != HLY_OK || !hly_type_equal(lit.type, type)) return false;
  *is_null = lit.is_null;
  if (!lit.is_null) *out = hly_pq_value_load(type->phys, &lit.value);
  return true;
}

static node *new_node(binding *b, node_kind kind, uint32_t field, uint32_t n_values) {
  node *n = bind_alloc(b, 1, sizeof *n);
  if (!n) return NULL;
  n->kind = kind;
  n->field = field;
  if (!order_of(b->schema->fields[field].type, &n->order)) return NULL;
  if (n_values && !(n->values = bind_alloc(b, n_values, sizeof *n->values))) return NULL;
  return n;
}

static node *bind_compare(binding *b, const Halley__Expr *e, node_kind kind, bool null_safe) {
  const Halley__Expr *left = e->children[0], *right = e->children[1];
  if (!is_field(b, left)) {
    const Halley__Expr *swap = left;
    left = right;
    right = swap;
    kind = kind == LESS            ? GREATER
           : kind == GREATER       ? LESS
           : kind == LESS_EQUAL    ? GREATER_EQUAL
           : kind == GREATER_EQUAL ? LESS_EQUAL
                                   : kind;
  }
  value v;
  bool is_null;
  if (!is_field(b, left) || !read_literal(b, right, b->schema->fields[left->ordinal].type, &v, &is_null))
    return NULL;
  if (is_null) return null_safe ? new_node(b, IS_NULL, (uint32_t)left->ordinal, 0) : NULL;
  node *n = new_node(b, kind, (uint32_t)left->ordinal, 1);
  if (!n) return NULL;
  n->values[n->n_values++] = v;
  return n;
}

static node *bind_in(binding *b, const Halley__Expr *e) {
  if (e->n_children < 2 || !is_field(b, e->children[0])) return NULL;
  uint32_t field = (uint32_t)e->children[0]->ordinal;
  node *n = new_node(b, IN, field, (uint32_t)e->n_children - 1);
  if (!n) return NULL;
  for (size_t i = 1; i < e->n_children; i++) {
    bool is_null;
    if (!read_literal(b, e->children[i], b->schema->fields[field].type, &n->values[n->n_values], &is_null))
      return NULL;
    if (!is_null) n->n_values++; // a null in the list makes no row true
  }
  return n;
}

static node *bind_node(binding *b, const Halley__Expr *e, bool negate);

// Both sides of AND, OR. What is not understood may be left out of an AND, never of an OR.
static node *bind_both(binding *b, const Halley__Expr *e, bool is_and, bool negate) {
  b->depth++;
  node *left = bind_node(b, e->children[0], negate), *right = bind_node(b, e->children[1], negate);
  b->depth--;
  if (is_and && (!left || !right)) return left ? left : right;
  if (!left || !right) return NULL;
  node *n = bind_alloc(b, 1, sizeof *n);
  if (n) *n = (node){.kind = is_and ? AND : OR, .left = left, .right = right};
  return n;
}

// A boolean column as a condition.
static node *bind_column(binding *b, const Halley__Expr *e, bool negate) {
  if (b->schema->fields[e->ordinal].type->kind != HLY_BOOLEAN) return NULL;
  node *n = new_node(b, EQUAL, (uint32_t)e->ordinal, 1);
  if (n) n->values[n->n_values++].i = !negate;
  return n;
}

// `negate`: the condition NOT e. Rows where e is null satisfy neither.
static node *bind_node(binding *b, const Halley__Expr *e, bool negate) {
  static const struct {
    const char *cls;
    node_kind kind, negated; // AND: nothing to prune by
    bool null_safe;
  } compares[] = {{"EqualTo", EQUAL, AND, false},
                  {"EqualNullSafe", EQUAL, AND, true},
                  {"LessThan", LESS, GREATER_EQUAL, false},
                  {"LessThanOrEqual", LESS_EQUAL, GREATER, false},
                  {"GreaterThan", GREATER, LESS_EQUAL, false},
                  {"GreaterThanOrEqual", GREATER_EQUAL, LESS, false}};
  if (!e || !e->cls || b->depth > 64) return NULL;
  if (is_field(b, e)) return bind_column(b, e, negate);
  if (strcmp(e->cls, "Not") == 0 && e->n_children == 1) {
    b->depth++;
    node *n = bind_node(b, e->children[0], !negate);
    b->depth--;
    return n;
  }
  bool is_and = strcmp(e->cls, "And") == 0;
  if ((is_and || strcmp(e->cls, "Or") == 0) && e->n_children == 2)
    return bind_both(b, e, is_and != negate, negate);
  bool is_null = strcmp(e->cls, "IsNull") == 0;
  if ((is_null || strcmp(e->cls, "IsNotNull") == 0) && e->n_children == 1) {
    if (!is_field(b, e->children[0])) return NULL;
    node *n = bind_alloc(b, 1, sizeof *n);
    if (n)
      *n = (node){.kind = is_null != negate ? IS_NULL : NOT_NULL, .field = (uint32_t)e->children[0]->ordinal};
    return n;
  }
  if (e->n_children == 2)
    for (size_t i = 0; i < sizeof compares / sizeof *compares; i++) {
      node_kind kind = negate ? compares[i].negated : compares[i].kind;
      if (strcmp(e->cls, compares[i].cls) == 0 && kind != AND)
        return bind_compare(b, e, kind, compares[i].null_safe);
    }
  if (negate) return NULL;
  if (strcmp(e->cls, "StartsWith") == 0 && e->n_children == 2 && is_field(b, e->children[0])) {
    node *n = bind_compare(b, e, STARTS, false);
    return n && n->order == ORDER_BYTES ? n : NULL;
  }
  return strcmp(e->cls, "In") == 0 || strcmp(e->cls, "InSet") == 0 ? bind_in(b, e) : NULL;
}

hly_status hly_pq_prune_bind(hly_binder *b, Halley__Expr *const *conjuncts, size_t n,
                             const hly_schema *schema, uint32_t n_file_fields, hly_pq_prune **out) {
  binding bind = {.b = b, .schema = schema, .n_file_fields = n_file_fields};
  *out = NULL;
  if (n == 0) return HLY_OK;
  hly_pq_prune *p = bind_alloc(&bind, 1, sizeof *p);
  HLY_CHECK_MEM(b->ctx, p, sizeof *p);
  p->schema = schema;
  p->conjuncts = bind_alloc(&bind, n, sizeof *p->conjuncts);
  HLY_CHECK_MEM(b->ctx, p->conjuncts, n * sizeof *p->conjuncts);
  for (size_t i = 0; i < n; i++) {
    node *c = bind_node(&bind, conjuncts[i], false);
    if (bind.nomem) return hly_ctx_nomem(b->ctx, sizeof(node));
    if (c) p->conjuncts[p->n++] = c;
  }
  // A literal that did not decode only means that it prunes nothing.
  hly_error_clear(&b->ctx->error);
  if (p->n) *out = p;
  return HLY_OK;
}

// ---- bounds of a chunk

static bool stored_bound(const hly_pq_element *e, hly_bytes b, void *out) {
  switch (e->type) {
  case HLY_PQ_BOOLEAN:
    if (b.n != 1) return false;
    *(uint8_t *)out = b.data[0] & 1;
    return true;
  case HLY_PQ_INT32:
  case HLY_PQ_FLOAT:
    if (b.n != 4) return false;
    memcpy(out, b.data, 4);
    return true;
  case HLY_PQ_INT64:
  case HLY_PQ_DOUBLE:
    if (b.n != 8) return false;
    memcpy(out, b.data, 8);
    return true;
  case HLY_PQ_BYTE_ARRAY:
  case HLY_PQ_FIXED_LEN_BYTE_ARRAY: *(hly_str *)out = hly_str_make(b.data, b.n); return true;
  default: return false;
  }
}

static bool int_between(hly_i128 x, hly_i128 low, hly_i128 high) {
  return x >= low && x <= high;
}

// The bound as a value of the field's type. False when the conversion could change the order of values at or
// past the bound.
static bool convert_bound(const hly_pq_source *s, hly_phys phys, hly_bytes b, value *out) {
  const hly_pq_element *e = s->element;
  hly_pq_convert c = s->convert;
  _Alignas(16) uint8_t stored[16], converted[16];
  if (!stored_bound(e, b, stored)) return false;
  switch (c.kind) {
  case HLY_PQ_AS_IS:
    if (phys == HLY_PHYS_STR) {
      hly_pq_logical k = e->annotation.kind;
      if (k != HLY_PQ_NO_ANNOTATION && k != HLY_PQ_STRING && k != HLY_PQ_ENUM && k != HLY_PQ_JSON &&
          k != HLY_PQ_BSON && k != HLY_PQ_UUID)
        return false;
    }
    break;
  case HLY_PQ_I32_TO_I8:
    if (!int_between(*(int32_t *)stored, INT8_MIN, INT8_MAX)) return false;
    break;
  case HLY_PQ_I32_TO_I16:
    if (!int_between(*(int32_t *)stored, INT16_MIN, INT16_MAX)) return false;
    break;
  case HLY_PQ_BYTES_TO_I64:
  case HLY_PQ_BYTES_TO_I128:
    if (e->type != HLY_PQ_FIXED_LEN_BYTE_ARRAY || b.n != (uint32_t)e->type_length) return false;
    break;
  default: break;
  }
  // Decimals: computed wide first, to see that nothing is cut.
  if (c.precision && c.kind != HLY_PQ_AS_IS) {
    hly_pq_convert wide = c;
    wide.precision = 38;
    wide.cut_to_int = false;
    wide.kind = e->type == HLY_PQ_INT32        ? HLY_PQ_I32_TO_I128
                : c.kind == HLY_PQ_U64_TO_I128 ? HLY_PQ_U64_TO_I128
                : e->type == HLY_PQ_INT64      ? HLY_PQ_I64_TO_I128
                                               : HLY_PQ_BYTES_TO_I128;
    if (hly_pq_convert_values(&wide, stored, 1, converted) != HLY_PQ_CONVERT_OK) return false;
    *out = hly_pq_value_load(HLY_PHYS_I128, converted);
    if (phys == HLY_PHYS_I128) return true;
    return c.cut_to_int ? int_between(out->i, INT32_MIN, INT32_MAX)
                        : int_between(out->i, INT64_MIN, INT64_MAX);
  }
  c.rebase = HLY_PQ_REBASE_CORRECTED;
  if (hly_pq_convert_values(&c, stored, 1, converted) != HLY_PQ_CONVERT_OK) return false;
  *out = hly_pq_value_load(phys, converted);
  return true;
}

static bool rebase_matters(const hly_pq_convert *c, const value *min) {
  if (c->rebase == HLY_PQ_REBASE_CORRECTED) return false;
  if (c->kind == HLY_PQ_DAYS_TO_MICROS) return min->i < (hly_i128)HLY_PQ_LAST_SWITCH_DAY * 86400000000ll;
  return min->i < (c->rebase_days ? (hly_i128)HLY_PQ_LAST_SWITCH_DAY : (hly_i128)HLY_PQ_LAST_SWITCH_MICROS);
}

static void read_bounds(const hly_pq_source *s, const hly_type *type, const hly_pq_metadata *m,
                        const hly_pq_chunk *c, bounds *b) {
  const hly_pq_element *e = s->element;
  const hly_pq_statistics *st = &c->statistics;
  memset(b, 0, sizeof *b);
  b->n_values = c->n_values;
  b->null_count = e->max_def == 0 ? 0 : st->null_count > c->n_values ? -1 : st->null_count;
  bool is_unsigned = e->annotation.kind == HLY_PQ_INTEGER && !e->annotation.is_signed;
  bool by_unsigned = s->convert.kind == HLY_PQ_U32_TO_I64 || s->convert.kind == HLY_PQ_U64_TO_I128;
  if (is_unsigned && !by_unsigned) return; // their order is not that of the values
  hly_bytes min = {NULL, 0}, max = {NULL, 0};
  if (!m->orders || m->orders[e->leaf] == 1) {
    min = st->min_value;
    max = st->max_value;
  }
  bool signed_order = e->type == HLY_PQ_BOOLEAN || e->type == HLY_PQ_INT32 || e->type == HLY_PQ_INT64 ||
                      e->type == HLY_PQ_FLOAT || e->type == HLY_PQ_DOUBLE;
  if (!min.data && !max.data && signed_order && !is_unsigned) {
    min = st->old_min;
    max = st->old_max;
  }
  b->has_min = min.data && convert_bound(s, type->phys, min, &b->min);
  b->has_max = max.data && convert_bound(s, type->phys, max, &b->max);
  // Where values may be cut, only both bounds together tell that none is.
  bool may_cut =
      s->convert.kind == HLY_PQ_I32_TO_I8 || s->convert.kind == HLY_PQ_I32_TO_I16 || s->convert.precision;
  if (may_cut && !(b->has_min && b->has_max)) b->has_min = b->has_max = false;
  if (s->convert.rebase != HLY_PQ_REBASE_CORRECTED && (!b->has_min || rebase_matters(&s->convert, &b->min)))
    b->has_min = b->has_max = false;
  if (type->phys == HLY_PHYS_F32 || type->phys == HLY_PHYS_F64) {
    // NaN is in no bound but greater than all of them for Spark, so the maximum tells nothing about it; see
    // `may_match`.
    if ((b->has_min && isnan(b->min.f)) || (b->has_max && isnan(b->max.f))) b->has_min = b->has_max = false;
  }
}

static int compare(order o, const value *a, const value *b) {
  switch (o) {
  case ORDER_INT: return (a->i > b->i) - (a->i < b->i);
  case ORDER_FLOAT: return (a->f > b->f) - (a->f < b->f); // -0.0 equals 0.0, as it does for Spark
  default: return hly_str_compare(&a->s, &b->s);
  }
}

void hly_pq_bounds_read(const hly_pq_source *s, const hly_type *type, const hly_pq_metadata *m,
                        const hly_pq_row_group *rg, hly_pq_bounds *out) {
  memset(out, 0, sizeof *out);
  out->null_count = -1;
  if (!s->element || !s->legal || s->convert.kind == HLY_PQ_ALWAYS_NULL) return;
  const hly_pq_chunk *c = &rg->chunks[s->element->leaf];
  if (!c->has_metadata) return;
  read_bounds(s, type, m, c, out);
  order o;
  // Nothing lies between them: they are wrong, and say nothing.
  if (out->has_min && out->has_max && order_of(type, &o) && compare(o, &out->min, &out->max) > 0)
    out->has_min = out->has_max = false;
}

bool hly_pq_may_fail(const hly_pq_source *s, const hly_type *type, const hly_pq_metadata *m,
                     const hly_pq_row_group *rg) {
  if (!s->element) return false;
  if (!s->legal || rg->chunks[s->element->leaf].encrypted) return true;
  if (!hly_pq_convert_can_fail(&s->convert)) return false;
  bounds b;
  hly_pq_bounds_read(s, type, m, rg, &b);
  if (hly_pq_bounds_all_null(&b)) return false;
  return !(b.has_min && b.has_max); // both were converted, and so will be what lies between
}

static bool value_may_match(const node *n, const bounds *b, const value *v) {
  bool nan = n->order == ORDER_FLOAT && isnan(v->f);
  switch (n->kind) {
  case EQUAL:
  case IN:
    if (nan) return true;
    return !(b->has_min && compare(n->order, v, &b->min) < 0) &&
           !(b->has_max && compare(n->order, v, &b->max) > 0);
  case LESS: return nan || !(b->has_min && compare(n->order, &b->min, v) >= 0);
  case LESS_EQUAL: return nan || !(b->has_min && compare(n->order, &b->min, v) > 0);
  // A NaN that the statistics do not know of is greater than anything.
  case GREATER: return n->order == ORDER_FLOAT || !(b->has_max && compare(n->order, &b->max, v) <= 0);
  case GREATER_EQUAL: return n->order == ORDER_FLOAT || !(b->has_max && compare(n->order, &b->max, v) < 0);
  case STARTS: {
    if (b->has_max && hly_str_compare(&b->max.s, &v->s) < 0) return false;
    if (!b->has_min) return true;
    uint32_t len = b->min.s.len < v->s.len ? b->min.s.len : v->s.len;
    return memcmp(hly_str_data(&b->min.s), hly_str_data(&v->s), len) <= 0;
  }
  default: return true;
  }
}

static bool missing_may_match(const node *n, const hly_pq_source *s) {
  bool is_null = !s->default_value || s->default_value->is_null;
  return n->kind == IS_NULL ? is_null : !is_null;
}

static bool field_may_match(const node *n, const hly_pq_source *s, const hly_type *type,
                            const hly_pq_metadata *m, const hly_pq_row_group *rg) {
  if (s->row_index) return true;
  if (!s->element) return missing_may_match(n, s);
  const hly_pq_chunk *c = &rg->chunks[s->element->leaf];
  if (!s->legal || !c->has_metadata || s->convert.kind == HLY_PQ_ALWAYS_NULL) return true;
  bounds b;
  read_bounds(s, type, m, c, &b);
  if (n->kind == IS_NULL) return b.null_count != 0;
  if (hly_pq_bounds_all_null(&b)) return false;
  if (n->kind == NOT_NULL) return true;
  for (uint32_t i = 0; i < n->n_values; i++)
    if (value_may_match(n, &b, &n->values[i])) return true;
  return false;
}

static bool may_match(const node *n, const hly_pq_source *sources, const hly_pq_metadata *m,
                      const hly_pq_row_group *rg, const hly_schema *schema) {
  switch (n->kind) {
  case AND: return may_match(n->left, sources, m, rg, schema) && may_match(n->right, sources, m, rg, schema);
  case OR: return may_match(n->left, sources, m, rg, schema) || may_match(n->right, sources, m, rg, schema);
  default: return field_may_match(n, &sources[n->field], schema->fields[n->field].type, m, rg);
  }
}

bool hly_pq_prune_row_group(const hly_pq_prune *p, const hly_pq_source *sources, const hly_pq_metadata *m,
                            const hly_pq_row_group *rg) {
  for (uint32_t i = 0; i < p->n; i++)
    if (!may_match(p->conjuncts[i], sources, m, rg, p->schema)) return true;
  return false;
}
