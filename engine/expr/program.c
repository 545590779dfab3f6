// Binding expressions to a program: a graph of nodes, each expression once.
//
// An expression is native when the registry has its class, the call passes the row's checks and every child
// is bound. Otherwise the whole subtree is evaluated by Spark, where the message says that Spark can. So what
// is dispatched are the largest subtrees whose root is not native.
#include <string.h>

#include "expr/program.h"
#include "functions/membership.h"

// Frames of the recursion here and in the evaluator are small; task threads' stacks are not large.
enum { MAX_DEPTH = 400 };

static hly_status invalid(hly_exprs *p, const char *what, const char *cls) {
  return hly_error_setf(&p->binder->ctx->error, HLY_E_PLAN_INVALID, "plan message: %s (%.64s)", what, cls);
}

static hly_status bind(hly_exprs *p, const Halley__Expr *e, uint32_t *out);

static hly_status add_node(hly_exprs *p, node_kind kind, const hly_type *type, const Halley__Expr *e,
                           uint32_t *id, node **out) {
  hly_binder *b = p->binder;
  if (p->n_nodes == p->cap_nodes) {
    uint32_t cap = p->cap_nodes ? p->cap_nodes * 2 : 16;
    node **nodes = HLY_ARENA_NEW_N(b->arena, node *, cap);
    HLY_CHECK_MEM(b->ctx, nodes, cap * sizeof *nodes);
    if (p->n_nodes) memcpy(nodes, p->nodes, p->n_nodes * sizeof *nodes);
    p->nodes = nodes;
    p->cap_nodes = cap;
  }
  node *n = HLY_ARENA_NEW(b->arena, node);
  HLY_CHECK_MEM(b->ctx, n, sizeof *n);
  n->kind = kind;
  n->type = type;
  n->deterministic = true;
  n->nullable = e->nullable;
  n->ordinal = n->alias = -1;
  n->dispatch = e->dispatch > 0 ? e->dispatch - 1 : -1;
  n->dict_col = DICT_NONE;
  n->cls = hly_arena_copy(b->arena, e->cls, strlen(e->cls));
  HLY_CHECK_MEM(b->ctx, n->cls, strlen(e->cls));
  p->nodes[p->n_nodes] = n;
  *id = p->n_nodes++;
  *out = n;
  return HLY_OK;
}

static hly_status set_args(hly_exprs *p, node *n, const uint32_t *args, uint32_t n_args) {
  hly_binder *b = p->binder;
  n->args = HLY_ARENA_NEW_N(b->arena, uint32_t, n_args ? n_args : 1);
  n->call_args = HLY_ARENA_NEW_N(b->arena, hly_arg, n_args ? n_args : 1);
  if (!n->args || !n->call_args) return hly_ctx_nomem(b->ctx, n_args);
  n->n_args = n_args;
  for (uint32_t i = 0; i < n_args; i++) {
    const node *a = p->nodes[args[i]];
    n->args[i] = args[i];
    n->deterministic &= a->deterministic;
    n->can_raise |= a->can_raise;
    n->careful |= a->careful;
  }
  return HLY_OK;
}

// The result's type must be one the engine holds; anything else is for Spark alone.
static bool type_is_known(const hly_type *t) {
  if (t->kind == HLY_OTHER) return false;
  for (uint32_t i = 0; i < t->n_fields; i++)
    if (!type_is_known(t->fields[i].type)) return false;
  return true;
}

static hly_status bind_column(hly_exprs *p, const Halley__Expr *e, const hly_type *type, uint32_t *id) {
  if (e->ordinal < 0 || (uint32_t)e->ordinal >= p->input->n_fields)
    return invalid(p, "ordinal out of range", e->cls);
  const hly_type *column = p->input->fields[e->ordinal].type;
  if (!hly_type_equal(column, type)) return invalid(p, "a reference of another type than its column", e->cls);
  node *n;
  HLY_TRY(add_node(p, NODE_COLUMN, column, e, id, &n));
  n->ordinal = e->ordinal;
  if (!hly_type_is_nested(column)) n->dict_col = e->ordinal;
  n->simple = true;
  return HLY_OK;
}

static hly_status bind_const(hly_exprs *p, const Halley__Expr *e, const hly_type *type, uint32_t *id) {
  bool known = !(e->literal && e->literal->value_case == HALLEY__LITERAL__VALUE__NOT_SET);
  hly_literal *lit = NULL;
  if (known) {
    lit = HLY_ARENA_NEW(p->binder->arena, hly_literal);
    HLY_CHECK_MEM(p->binder->ctx, lit, sizeof *lit);
    HLY_TRY(hly_bind_literal(p->binder, e->literal, lit));
    if (!hly_type_equal(lit->type, type))
      return invalid(p, "a literal of another type than its expression", e->cls);
  } else if (strcmp(e->cls, "ScalarSubquery") != 0) {
    return invalid(p, "a literal without a value", e->cls);
  }
  node *n;
  HLY_TRY(add_node(p, NODE_CONST, type, e, id, &n));
  n->literal = lit;
  n->nullable = !lit || lit->is_null;
  n->dict_col = DICT_ANY;
  n->simple = true;
  p->placeholder |= !lit;
  return HLY_OK;
}

// Whether this node, its arguments being of one dictionary column and constants, is null wherever the column
// is and otherwise depends on the value alone, so that it can be evaluated on the dictionary.
static int32_t dict_column(const hly_exprs *p, const node *n) {
  bool strict = n->kind == NODE_KERNEL
                    ? n->kernel.nulls != HLY_NULLS_CUSTOM && !(n->kernel.flags & HLY_KERNEL_MAY_DECLINE)
                    : n->form == HLY_FORM_AND || n->form == HLY_FORM_OR;
  if (!strict || !n->deterministic || hly_type_is_nested(n->type)) return DICT_NONE;
  int32_t col = DICT_ANY;
  for (uint32_t i = 0; i < n->n_args; i++) {
    int32_t c = p->nodes[n->args[i]]->dict_col;
    if (c == DICT_ANY && n->kind == NODE_FORM)
      return DICT_NONE; // x AND null: not null where x is null and ...
    if (c == DICT_ANY) continue;
    if (c == DICT_NONE || (col != DICT_ANY && col != c)) return DICT_NONE;
    col = c;
  }
  return col == DICT_ANY ? DICT_NONE : col;
}

static hly_status bind_kernel(hly_exprs *p, const hly_fn *fn, const hly_fn_call *call, const Halley__Expr *e,
                              const uint32_t *args, uint32_t *id) {
  hly_kernel kernel = {.nulls = fn->nulls, .flags = fn->flags};
  HLY_TRY(fn->bind(p->binder, call, &kernel));
  bool may_decline = kernel.flags & HLY_KERNEL_MAY_DECLINE;
  if (may_decline && (e->dispatch <= 0 || !e->deterministic))
    return hly_bind_refuse(p->binder,
                           "%s: some rows need Spark's own evaluation, which is not possible here%s%s",
                           e->cls, e->no_dispatch_reason[0] ? ": " : "", e->no_dispatch_reason);
  node *n;
  HLY_TRY(add_node(p, NODE_KERNEL, call->type, e, id, &n));
  n->kernel = kernel;
  HLY_TRY(set_args(p, n, args, call->n_args));
  n->deterministic &= e->deterministic;
  n->can_raise |= may_decline;
  n->simple = !may_decline && !(kernel.flags & HLY_KERNEL_COSTLY) && call->type->phys != HLY_PHYS_STR;
  for (uint32_t i = 0; i < call->n_args; i++) {
    const node *a = p->nodes[args[i]];
    n->simple &= a->simple && a->type->phys != HLY_PHYS_STR && a->type->phys != HLY_PHYS_I128;
  }
  n->careful |= n->can_raise || !n->deterministic || (kernel.flags & HLY_KERNEL_COSTLY);
  n->dict_col = dict_column(p, n);
  return hly_node_fold(p, *id);
}

static hly_status add_form(hly_exprs *p, hly_form form, const hly_type *type, const Halley__Expr *e,
                           const uint32_t *args, uint32_t n_args, uint32_t *id) {
  node *n;
  HLY_TRY(add_node(p, NODE_FORM, type, e, id, &n));
  n->form = form;
  HLY_TRY(set_args(p, n, args, n_args));
  n->simple = true;
  for (uint32_t i = 0; i < n_args; i++) n->simple &= p->nodes[args[i]]->simple;
  if (form == HLY_FORM_IF || form == HLY_FORM_CASE || form == HLY_FORM_COALESCE || form == HLY_FORM_NANVL)
    n->simple = false;
  n->careful |= !n->deterministic;
  n->dict_col = dict_column(p, n);
  return HLY_OK;
}

// In with a list that is not all constants is the disjunction of its comparisons, evaluated in order until
// one is true; with a list of constants it is one kernel.
static hly_status bind_in(hly_exprs *p, const hly_fn_call *call, const Halley__Expr *e, const uint32_t *args,
                          uint32_t *id) {
  bool constants = true;
  for (uint32_t i = 1; i < call->n_args; i++) constants &= call->literals[i] != NULL;
  if (constants) {
    hly_kernel kernel = {.nulls = HLY_NULLS_MAY_ADD};
    HLY_TRY(hly_bind_member(p->binder, call, &kernel));
    node *n;
    HLY_TRY(add_node(p, NODE_KERNEL, call->type, e, id, &n));
    n->kernel = kernel;
    HLY_TRY(set_args(p, n, args, 1)); // the list is in the kernel's state
    n->careful |= !n->deterministic;
    n->dict_col = dict_column(p, n);
    return hly_node_fold(p, *id);
  }
  if (!p->nodes[args[0]]->deterministic)
    return hly_bind_refuse(p->binder, "%s: a list that is not constant over a nondeterministic value",
                           e->cls);
  const hly_fn *equal = hly_fn_find("EqualTo");
  uint32_t n_terms = call->n_args - 1;
  uint32_t *terms = HLY_ARENA_NEW_N(p->binder->arena, uint32_t, n_terms);
  HLY_CHECK_MEM(p->binder->ctx, terms, n_terms * sizeof *terms);
  for (uint32_t i = 1; i < call->n_args; i++) {
    const hly_type *types[2] = {call->arg_types[0], call->arg_types[i]};
    const hly_literal *literals[2] = {call->literals[0], call->literals[i]};
    const bool nullable[2] = {call->arg_nullable[0], call->arg_nullable[i]};
    hly_fn_call one = *call;
    one.n_args = 2;
    one.arg_types = types;
    one.literals = literals;
    one.arg_nullable = nullable;
    hly_kernel kernel = {.nulls = equal->nulls, .flags = equal->flags};
    HLY_TRY(equal->bind(p->binder, &one, &kernel));
    node *n;
    uint32_t pair[2] = {args[0], args[i]};
    HLY_TRY(add_node(p, NODE_KERNEL, call->type, e, &terms[i - 1], &n));
    n->kernel = kernel;
    HLY_TRY(set_args(p, n, pair, 2));
    n->careful |= n->can_raise || !n->deterministic;
    n->dict_col = dict_column(p, n);
    HLY_TRY(hly_node_fold(p, terms[i - 1]));
  }
  // A balanced tree evaluates its leaves in the same order as a chain, without its depth.
  for (; n_terms > 1; n_terms = (n_terms + 1) / 2)
    for (uint32_t i = 0; i < n_terms; i += 2) {
      terms[i / 2] = terms[i];
      if (i + 1 < n_terms) {
        uint32_t pair[2] = {terms[i], terms[i + 1]};
        HLY_TRY(add_form(p, HLY_FORM_OR, call->type, e, pair, 2, &terms[i / 2]));
      }
    }
  *id = terms[0];
  return HLY_OK;
}

static hly_status bind_form(hly_exprs *p, const hly_fn *fn, const hly_fn_call *call, const Halley__Expr *e,
                            const uint32_t *args, uint32_t *id) {
  uint32_t n = call->n_args;
  // Branches of the result's type.
  uint32_t first = 0, step = 1;
  switch (fn->form) {
  case HLY_FORM_CHILD: *id = args[0]; return HLY_OK;
  case HLY_FORM_IN: return bind_in(p, call, e, args, id);
  case HLY_FORM_IF: first = 1; break;
  case HLY_FORM_CASE:
    if (n < 2) return hly_bind_refuse(p->binder, "%s: no branch", e->cls);
    for (uint32_t i = 0; i + 1 < n; i += 2)
      if (call->arg_types[i]->kind != HLY_BOOLEAN)
        return hly_bind_refuse(p->binder, "%s: a condition is not boolean", e->cls);
    first = 1;
    step = 2;
    break;
  case HLY_FORM_COALESCE:
  case HLY_FORM_NANVL: break;
  default: return add_form(p, fn->form, call->type, e, args, n, id);
  }
  if (!(HLY_ARG_FLAT >> call->type->kind & 1) || call->type->collation)
    return hly_bind_refuse(p->binder, "%s: result type has no native form", e->cls);
  for (uint32_t i = first; i < n; i += step)
    if (!hly_type_equal(call->arg_types[i], call->type))
      return hly_bind_refuse(p->binder, "%s: branches of different types", e->cls);
  if (step == 2 && n % 2 && !hly_type_equal(call->arg_types[n - 1], call->type))
    return hly_bind_refuse(p->binder, "%s: branches of different types", e->cls);
  return add_form(p, fn->form, call->type, e, args, n, id);
}

static hly_status bind_native(hly_exprs *p, const Halley__Expr *e, const hly_type *type, uint32_t *id) {
  hly_binder *b = p->binder;
  if (!strcmp(e->cls, "BoundReference")) return bind_column(p, e, type, id);
  if (!strcmp(e->cls, "Literal") || !strcmp(e->cls, "ScalarSubquery")) return bind_const(p, e, type, id);
  const hly_fn *fn = hly_fn_find(e->cls);
  if (!fn) return hly_bind_refuse(b, "%s has no native form", e->cls);
  size_t n = e->n_children;
  if (n > 100000) return hly_bind_refuse(b, "%s: too many arguments", e->cls);
  uint32_t *args = HLY_ARENA_NEW_N(b->arena, uint32_t, n ? n : 1);
  const hly_type **types = HLY_ARENA_NEW_N(b->arena, const hly_type *, n ? n : 1);
  const hly_literal **literals = HLY_ARENA_NEW_N(b->arena, const hly_literal *, n ? n : 1);
  bool *nullable = HLY_ARENA_NEW_N(b->arena, bool, n ? n : 1);
  if (!args || !types || !literals || !nullable) return hly_ctx_nomem(b->ctx, (int64_t)n);
  for (size_t i = 0; i < n; i++) {
    HLY_TRY(bind(p, e->children[i], &args[i]));
    const node *a = p->nodes[args[i]];
    types[i] = a->type;
    literals[i] = a->kind == NODE_CONST ? a->literal : NULL;
    nullable[i] = e->children[i]->nullable;
  }
  hly_fn_call call = {.cls = e->cls,
                      .type = type,
                      .nullable = e->nullable,
                      .n_args = (uint32_t)n,
                      .arg_types = types,
                      .literals = literals,
                      .arg_nullable = nullable,
                      .expr = e,
                      .cpu = hly_cpu_level()};
  HLY_TRY(hly_fn_check(b, fn, &call));
  if (fn->form != HLY_FORM_KERNEL) return bind_form(p, fn, &call, e, args, id);
  return bind_kernel(p, fn, &call, e, args, id);
}

// Ascending distinct ordinals in a subtree.
static hly_status mark_refs(hly_exprs *p, const Halley__Expr *e, uint8_t *seen) {
  if (e->refused[0]) return hly_bind_refuse(p->binder, "%s: %s", e->cls, e->refused);
  if (!strcmp(e->cls, "BoundReference")) {
    if (e->ordinal < 0 || (uint32_t)e->ordinal >= p->input->n_fields)
      return invalid(p, "ordinal out of range", e->cls);
    if (!type_is_known(p->input->fields[e->ordinal].type))
      return hly_bind_refuse(p->binder, "%s: a column of a type the engine does not hold", e->cls);
    seen[e->ordinal] = 1;
  }
  for (size_t i = 0; i < e->n_children; i++) HLY_TRY(mark_refs(p, e->children[i], seen));
  return HLY_OK;
}

static hly_status set_refs(hly_exprs *p, const Halley__Expr *e, node *n) {
  hly_arena *arena = p->binder->arena;
  uint8_t *seen = HLY_ARENA_NEW_N(arena, uint8_t, p->input->n_fields + 1u);
  HLY_CHECK_MEM(p->binder->ctx, seen, p->input->n_fields);
  HLY_TRY(mark_refs(p, e, seen));
  uint32_t count = 0;
  for (uint32_t i = 0; i < p->input->n_fields; i++) count += seen[i];
  uint32_t *refs = HLY_ARENA_NEW_N(arena, uint32_t, count ? count : 1);
  HLY_CHECK_MEM(p->binder->ctx, refs, count * sizeof *refs);
  count = 0;
  for (uint32_t i = 0; i < p->input->n_fields; i++)
    if (seen[i]) refs[count++] = i;
  n->refs = refs;
  n->n_refs = count;
  return HLY_OK;
}

static hly_status bind_dispatch(hly_exprs *p, const Halley__Expr *e, const hly_type *type, uint32_t *id) {
  node *n;
  HLY_TRY(add_node(p, NODE_DISPATCH, type, e, id, &n));
  n->deterministic = e->deterministic;
  n->can_raise = n->careful = true;
  return set_refs(p, e, n);
}

static hly_status bind_fresh(hly_exprs *p, const Halley__Expr *e, uint32_t *id) {
  hly_binder *b = p->binder;
  const hly_type *type;
  HLY_TRY(hly_bind_type(b, e->type, &type));
  if (!type_is_known(type)) {
    char text[96];
    return hly_bind_refuse(b, "%s: type %s", e->cls, hly_type_print(type, text, sizeof text));
  }
  uint32_t n_reasons = b->n_reasons;
  hly_status st = bind_native(p, e, type, id);
  if (st == HLY_OK && p->nodes[*id]->kind == NODE_KERNEL &&
      p->nodes[*id]->kernel.flags & HLY_KERNEL_MAY_DECLINE)
    st = set_refs(p, e, p->nodes[*id]); // what Spark needs for the rows it declines
  if (st != HLY_REFUSED) return st;
  if (e->dispatch <= 0) {
    if (e->no_dispatch_reason[0]) return hly_bind_refuse(b, "%s: %s", e->cls, e->no_dispatch_reason);
    return st;
  }
  uint32_t n_native = b->n_reasons;
  HLY_TRY(bind_dispatch(p, e, type, id)); // refused: both kinds of reasons stay
  if (b->n_reasons == n_native) b->n_reasons = n_reasons;
  return HLY_OK;
}

static hly_status bind(hly_exprs *p, const Halley__Expr *e, uint32_t *out) {
  if (!e) return invalid(p, "an expression is missing", "");
  if (e->refused[0]) return hly_bind_refuse(p->binder, "%s: %s", e->cls, e->refused);
  if (p->depth_bound >= MAX_DEPTH)
    return hly_bind_refuse(p->binder, "an expression nested more than %d deep", MAX_DEPTH);
  uint64_t hash = 0;
  bool share = e->deterministic;
  if (share) {
    hash = hly_expr_hash(e);
    for (bound_expr *x = p->buckets[hash % N_BUCKETS]; x; x = x->next)
      if (x->hash == hash && hly_expr_equal(x->expr, e)) {
        *out = x->node;
        return HLY_OK;
      }
  }
  p->depth_bound++;
  hly_status st = bind_fresh(p, e, out);
  p->depth_bound--;
  HLY_TRY(st);
  if (share) {
    bound_expr *x = HLY_ARENA_NEW(p->binder->arena, bound_expr);
    HLY_CHECK_MEM(p->binder->ctx, x, sizeof *x);
    *x = (bound_expr){.hash = hash, .expr = e, .node = *out, .next = p->buckets[hash % N_BUCKETS]};
    p->buckets[hash % N_BUCKETS] = x;
  }
  return HLY_OK;
}

// Marks what the roots reach, and what of it is evaluated for every row whatever the data.
static void reach(hly_exprs *p, uint32_t id, bool unconditional) {
  node *n = p->nodes[id];
  if (n->used && (n->unconditional || !unconditional)) return;
  n->used = true;
  n->unconditional |= unconditional;
  bool branch = n->kind == NODE_FORM && n->form != HLY_FORM_IS_NULL && n->form != HLY_FORM_IS_NOT_NULL;
  bool strict = n->kind == NODE_KERNEL && n->kernel.nulls != HLY_NULLS_CUSTOM;
  bool right_first = n->kind == NODE_KERNEL && n->kernel.flags & HLY_KERNEL_RIGHT_FIRST;
  bool always = unconditional;
  for (uint32_t k = 0; k < n->n_args; k++) {
    uint32_t arg = n->args[right_first ? n->n_args - 1 - k : k];
    reach(p, arg, always);
    if (branch || (strict && p->nodes[arg]->nullable)) always = false;
  }
}

static hly_status add_site(hly_exprs *p, site **out) {
  site *s = &p->sites[p->n_sites++];
  s->id = (int32_t)p->binder->n_sites++;
  *out = s;
  return HLY_OK;
}

static hly_status fill_site(hly_exprs *p, site *s, node *const *members, uint32_t n) {
  hly_arena *arena = p->binder->arena;
  uint8_t *seen = HLY_ARENA_NEW_N(arena, uint8_t, p->input->n_fields + 1u);
  s->exprs = HLY_ARENA_NEW_N(arena, int32_t, n);
  hly_field *fields = HLY_ARENA_NEW_N(arena, hly_field, n);
  s->cols = HLY_ARENA_NEW_N(arena, uint32_t, p->input->n_fields + 1u);
  if (!seen || !s->exprs || !fields || !s->cols) return hly_ctx_nomem(p->binder->ctx, n);
  for (uint32_t i = 0; i < n; i++) {
    s->exprs[i] = members[i]->dispatch;
    fields[i] = (hly_field){.name = members[i]->cls, .type = members[i]->type, .nullable = true};
    for (uint32_t k = 0; k < members[i]->n_refs; k++) seen[members[i]->refs[k]] = 1;
    members[i]->site = (uint32_t)(s - p->sites);
    members[i]->column = i;
    HLY_TRY(hly_bind_note_dispatch(p->binder, members[i]->cls));
  }
  s->n_exprs = n;
  for (uint32_t i = 0; i < p->input->n_fields; i++)
    if (seen[i]) s->cols[s->n_cols++] = i;
  s->schema = (hly_schema){.n_fields = n, .fields = fields};
  return HLY_OK;
}

static hly_status make_sites(hly_exprs *p) {
  hly_binder *b = p->binder;
  p->sites = HLY_ARENA_NEW_N(b->arena, site, p->n_nodes + 1u);
  node **merged = HLY_ARENA_NEW_N(b->arena, node *, p->n_nodes + 1u);
  if (!p->sites || !merged) return hly_ctx_nomem(b->ctx, p->n_nodes);
  uint32_t n_merged = 0;
  site *s;
  for (uint32_t i = 0; i < p->n_nodes; i++) {
    node *n = p->nodes[i];
    if (!n->used) continue;
    bool declines = n->kind == NODE_KERNEL && n->kernel.flags & HLY_KERNEL_MAY_DECLINE;
    if (n->kind == NODE_DISPATCH && n->unconditional && n->deterministic) {
      merged[n_merged++] = n;
    } else if (n->kind == NODE_DISPATCH) {
      HLY_TRY(add_site(p, &s));
      HLY_TRY(fill_site(p, s, &n, 1));
    } else if (declines) {
      // Not noted as dispatched: only exceptional rows are.
      uint32_t n_dispatched = b->n_dispatched;
      HLY_TRY(add_site(p, &s));
      HLY_TRY(fill_site(p, s, &n, 1));
      b->n_dispatched = n_dispatched;
    }
    p->can_raise |= n->kind == NODE_DISPATCH || declines;
  }
  if (n_merged) {
    HLY_TRY(add_site(p, &s));
    s->merged = true;
    HLY_TRY(fill_site(p, s, merged, n_merged));
  }
  return HLY_OK;
}

// Columns that each root reads.
static void collect_refs(hly_exprs *p, uint32_t id, uint8_t *seen) {
  node *n = p->nodes[id];
  if (n->visit == p->visit) return;
  n->visit = p->visit;
  if (n->kind == NODE_COLUMN) seen[n->ordinal] = 1;
  for (uint32_t i = 0; i < n->n_refs; i++) seen[n->refs[i]] = 1;
  for (uint32_t i = 0; i < n->n_args; i++) collect_refs(p, n->args[i], seen);
}

static void root_refs(hly_exprs *p, uint32_t id, uint8_t *seen) {
  memset(seen, 0, p->input->n_fields);
  p->visit++;
  collect_refs(p, id, seen);
}

static void split_conjuncts(const hly_exprs *p, uint32_t id, uint32_t *out, uint32_t *n) {
  const node *x = p->nodes[id];
  if (x->kind == NODE_FORM && x->form == HLY_FORM_AND) {
    split_conjuncts(p, x->args[0], out, n);
    split_conjuncts(p, x->args[1], out, n);
  } else {
    out[(*n)++] = id;
  }
}

static uint32_t count_conjuncts(const hly_exprs *p, uint32_t id) {
  const node *x = p->nodes[id];
  if (x->kind != NODE_FORM || x->form != HLY_FORM_AND) return 1;
  return count_conjuncts(p, x->args[0]) + count_conjuncts(p, x->args[1]);
}

static bool is_not_null_of_column(const hly_exprs *p, uint32_t id, uint32_t *ordinal) {
  const node *n = p->nodes[id];
  if (n->kind != NODE_FORM || n->form != HLY_FORM_IS_NOT_NULL || p->nodes[n->args[0]]->kind != NODE_COLUMN)
    return false;
  *ordinal = (uint32_t)p->nodes[n->args[0]]->ordinal;
  return true;
}

// Spark's filter checks `x IS NOT NULL` just before the first other conjunct that reads x, and those that
// nobody reads last (GeneratePredicateHelper). It matters where a conjunct can raise.
static hly_status order_conjuncts(hly_exprs *p) {
  hly_arena *arena = p->binder->arena;
  uint32_t n = 0, count = count_conjuncts(p, p->roots[0]), m = 0, ordinal;
  uint32_t *in = HLY_ARENA_NEW_N(arena, uint32_t, count), *out = HLY_ARENA_NEW_N(arena, uint32_t, count);
  uint8_t *taken = HLY_ARENA_NEW_N(arena, uint8_t, count),
          *seen = HLY_ARENA_NEW_N(arena, uint8_t, p->input->n_fields + 1u);
  if (!in || !out || !taken || !seen) return hly_ctx_nomem(p->binder->ctx, count);
  split_conjuncts(p, p->roots[0], in, &n);
  bool raises = false;
  for (uint32_t i = 0; i < n; i++) raises |= p->nodes[in[i]]->careful;
  p->conjuncts = in;
  p->n_conjuncts = n;
  if (!raises) return HLY_OK;
  for (uint32_t i = 0; i < n; i++) {
    if (is_not_null_of_column(p, in[i], &ordinal)) continue;
    root_refs(p, in[i], seen);
    for (uint32_t k = 0; k < n; k++)
      if (!taken[k] && is_not_null_of_column(p, in[k], &ordinal) && seen[ordinal]) {
        taken[k] = 1;
        out[m++] = in[k];
      }
    taken[i] = 1;
    out[m++] = in[i];
  }
  for (uint32_t k = 0; k < n; k++)
    if (!taken[k]) out[m++] = in[k];
  p->conjuncts = out;
  return HLY_OK;
}

static hly_status finish(hly_exprs *p) {
  hly_arena *arena = p->binder->arena;
  bool predicate = p->n_roots == 1 && p->nodes[p->roots[0]]->type->kind == HLY_BOOLEAN;
  if (predicate) {
    // As a filter only the first conjunct sees every row; evaluated as a value that costs nothing but a call
    // more.
    HLY_TRY(order_conjuncts(p));
    for (uint32_t i = 0; i < p->n_conjuncts; i++) reach(p, p->conjuncts[i], i == 0);
  }
  for (uint32_t i = 0; i < p->n_roots; i++) reach(p, p->roots[i], !predicate);
  HLY_TRY(make_sites(p));
  uint8_t *all = HLY_ARENA_NEW_N(arena, uint8_t, p->input->n_fields + 1u);
  uint8_t *seen = HLY_ARENA_NEW_N(arena, uint8_t, p->input->n_fields + 1u);
  p->root_refs = HLY_ARENA_NEW_N(arena, uint32_t *, p->n_roots + 1u);
  p->n_root_refs = HLY_ARENA_NEW_N(arena, uint32_t, p->n_roots + 1u);
  p->out = HLY_ARENA_NEW_N(arena, hly_vector *, p->n_roots + 1u);
  if (!all || !seen || !p->root_refs || !p->n_root_refs || !p->out)
    return hly_ctx_nomem(p->binder->ctx, p->n_roots);
  for (uint32_t r = 0; r <= p->n_roots; r++) {
    uint8_t *from = seen;
    if (r < p->n_roots) {
      root_refs(p, p->roots[r], seen);
    } else {
      from = all;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->input->n_fields; i++) {
      n += from[i];
      all[i] |= from[i];
    }
    p->root_refs[r] = HLY_ARENA_NEW_N(arena, uint32_t, n + 1u);
    HLY_CHECK_MEM(p->binder->ctx, p->root_refs[r], n * sizeof(uint32_t));
    n = 0;
    for (uint32_t i = 0; i < p->input->n_fields; i++)
      if (from[i]) p->root_refs[r][n++] = i;
    p->n_root_refs[r] = n;
  }
  for (uint32_t i = 0; i < p->n_nodes; i++) {
    node *n = p->nodes[i];
    if (!n->used || n->dict_col < 0 || n->kind == NODE_COLUMN) continue;
    n->on_dict = HLY_ARENA_NEW(arena, dict_value);
    HLY_CHECK_MEM(p->binder->ctx, n->on_dict, sizeof *n->on_dict);
  }
  return HLY_OK;
}

hly_status hly_exprs_bind(hly_binder *b, int32_t plan_id, const Halley__Expr *const *exprs, uint32_t n,
                          const hly_schema *input, hly_exprs **out) {
  hly_exprs *p = HLY_ARENA_NEW(b->arena, hly_exprs);
  HLY_CHECK_MEM(b->ctx, p, sizeof *p);
  p->plan_id = plan_id;
  p->input = input;
  p->binder = b;
  p->error_row = UINT32_MAX;
  p->roots = HLY_ARENA_NEW_N(b->arena, uint32_t, n + 1u);
  p->buckets = HLY_ARENA_NEW_N(b->arena, bound_expr *, N_BUCKETS);
  if (!p->roots || !p->buckets) return hly_ctx_nomem(b->ctx, n);
  bool refused = false;
  for (uint32_t i = 0; i < n; i++) {
    p->depth_bound = 0;
    hly_status st = bind(p, exprs[i], &p->roots[i]);
    if (st != HLY_OK && st != HLY_REFUSED) return st;
    refused |= st == HLY_REFUSED; // go on: every reason is wanted
  }
  if (refused) return HLY_REFUSED;
  p->n_roots = n;
  HLY_TRY(finish(p));
  p->binder = NULL;
  p->buckets = NULL;
  *out = p;
  return HLY_OK;
}

uint32_t hly_exprs_count(const hly_exprs *p) {
  return p->n_roots;
}

const hly_type *hly_exprs_type(const hly_exprs *p, uint32_t i) {
  return p->nodes[p->roots[i]]->type;
}

uint32_t hly_exprs_refs(const hly_exprs *p, uint32_t i, const uint32_t **ordinals) {
  uint32_t r = i == UINT32_MAX ? p->n_roots : i;
  *ordinals = p->root_refs[r];
  return p->n_root_refs[r];
}

bool hly_exprs_can_raise(const hly_exprs *p) {
  return p->can_raise;
}

bool hly_exprs_deterministic(const hly_exprs *p) {
  for (uint32_t i = 0; i < p->n_roots; i++)
    if (!p->nodes[p->roots[i]]->deterministic) return false;
  return true;
}

int32_t hly_exprs_as_column(const hly_exprs *p, uint32_t i) {
  const node *n = p->nodes[p->roots[i]];
  return n->kind == NODE_COLUMN ? n->ordinal : -1;
}
