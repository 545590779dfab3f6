// Inside of engine/expr: the program that an hly_exprs is, shared by binding and evaluation. Nobody outside
// the folder includes this.
#ifndef HLY_EXPR_PROGRAM_H
#define HLY_EXPR_PROGRAM_H

#include "expr/expr.h"
#include "expr/registry.h"
#include "rows/unsafe_row.h"

typedef enum node_kind {
  NODE_COLUMN,
  NODE_CONST,
  NODE_KERNEL,
  NODE_FORM, // AND, OR, IF, CASE, COALESCE, NANVL, IS_NULL, IS_NOT_NULL: by node.form
  NODE_DISPATCH,
} node_kind;

// A result while a batch is evaluated.
typedef struct value {
  hly_arg arg;
  uint64_t scope;  // serial of the scope it was computed in; 0: not computed
  uint32_t depth;  // of that scope
  hly_vector *vec; // the node's own vector (one reference is ours), NULL until needed
  uint8_t *valid;  // the node's own validity bytes
  uint32_t cap_valid;
} value;

// Result over the values of a dictionary, kept while the same dictionary is seen.
typedef struct dict_value {
  value v;
  hly_vector *key; // a reference: its address cannot come to mean another dictionary
  hly_vector *out; // the dictionary vector last given out
} dict_value;

enum { DICT_NONE = -1, DICT_ANY = -2 };

typedef struct node {
  node_kind kind;
  hly_form form;
  const hly_type *type;
  uint32_t n_args;
  uint32_t *args;     // nodes
  hly_arg *call_args; // scratch of one call
  hly_kernel kernel;
  bool deterministic;
  bool nullable;
  bool can_raise;  // it or something below it may decline rows or is dispatched
  bool careful;    // evaluate on no more rows than asked: may raise, is costly, or is not deterministic
  bool simple;     // fixed-width and a fraction of a nanosecond a row
  int32_t ordinal; // COLUMN
  const hly_literal *literal; // CONST; NULL: not known yet (planning only)
  int32_t dispatch;           // index in the host's table of expressions; -1: none
  uint32_t site;              // index in program.sites, for DISPATCH and for kernels that may decline
  uint32_t column;            // of the site's results
  const char *cls;
  const uint32_t *refs; // ascending ordinals
  uint32_t n_refs;
  int32_t dict_col; // the only column it depends on, if it may be evaluated on that column's dictionary
  uint32_t visit;   // serial of the walk that saw it last
  bool used;
  bool unconditional; // evaluated for every row
  // evaluation
  int32_t alias; // COALESCE: the argument whose result is the result, or -1
  value value;
  dict_value *on_dict;
} node;

// One projection of the host: expressions evaluated together over the same rows.
typedef struct site {
  int32_t id; // unique in the plan
  int32_t *exprs;
  uint32_t n_exprs;
  uint32_t *cols;
  uint32_t n_cols;
  hly_schema schema;
  bool merged; // evaluated for all rows of a batch at once
  // evaluation
  hly_row_block rows;
  hly_batch chunk;    // last rows decoded
  hly_vector **dense; // results so far, a row a dispatched row
  hly_vector **out;   // results at their rows
  uint64_t batch;     // serial of the batch that `out` belongs to (merged)
} site;

// Rows under evaluation; scopes nest, and what was computed in an enclosing scope is valid in this one.
typedef struct scope {
  hly_rows rows;
  uint64_t serial;
} scope;

typedef struct bound_expr {
  uint64_t hash;
  const Halley__Expr *expr;
  uint32_t node;
  struct bound_expr *next;
} bound_expr;

enum { N_BUCKETS = 256 };

struct hly_exprs {
  int32_t plan_id;
  const hly_schema *input;
  node **nodes;
  uint32_t n_nodes, cap_nodes;
  uint32_t *roots;
  uint32_t n_roots;
  site *sites;
  uint32_t n_sites;
  uint32_t **root_refs; // columns each root reads; [n_roots]: all
  uint32_t *n_root_refs;
  uint32_t *conjuncts; // of the first root, in the order they are evaluated as a filter
  uint32_t n_conjuncts;
  bool can_raise;
  bool placeholder; // an unknown constant: cannot be opened
  // binding
  hly_binder *binder;
  bound_expr **buckets;
  uint32_t depth_bound;
  uint32_t visit;
  // evaluation
  bool opened;
  int32_t partition;
  int64_t *metrics;
  const hly_batch *in;
  uint64_t next_serial;
  uint64_t batch_serial;
  scope *scopes;
  uint32_t depth, cap_scopes; // scopes[depth] is the current one
  uint32_t **sel_bufs;
  uint32_t *sel_caps;
  uint32_t n_sel_bufs, n_sel_taken;
  uint32_t *declined;
  uint32_t cap_declined, n_declined;
  uint8_t *mask;
  uint32_t cap_mask;
  hly_vector **out;
  uint32_t n_batches;
  int64_t recorded;   // working bytes the pool knows of
  uint32_t error_row; // UINT32_MAX: none
  hly_error error;
  hly_ctx *ctx;
};

// ---- evaluate.c
hly_status hly_exprs_begin(hly_exprs *p, hly_ctx *ctx, const hly_batch *in);
hly_status hly_node_eval(hly_exprs *p, uint32_t id, hly_arg *out); // flat or constant, on the current scope
hly_status hly_node_output(hly_exprs *p, uint32_t id, hly_vector **out);
// Calls node's kernel with n->call_args over `rows`; arrays have `n_rows` elements. Fills v.
hly_status hly_node_call(hly_exprs *p, node *n, hly_rows rows, uint32_t n_rows, value *v);
hly_status hly_value_vec(hly_ctx *ctx, const hly_type *type, value *v, uint32_t n_rows); // own vector, reset
hly_status hly_value_valid(hly_ctx *ctx, value *v, uint32_t n_rows);                     // own validity bytes
hly_status hly_value_set_null(hly_ctx *ctx, const hly_type *type, value *v);             // constant null
void hly_value_deinit(value *v);
hly_status hly_value_scatter(hly_ctx *ctx, value *v, const hly_arg *from,
                             hly_rows rows); // copies rows into v
static inline const scope *hly_scope_now(const hly_exprs *p) {
  return &p->scopes[p->depth];
}
// Begins a scope of the given rows (cut at the row in error). Undo by restoring p->depth.
hly_status hly_scope_push(hly_exprs *p, hly_rows rows);
hly_status hly_sel_take(hly_exprs *p, uint32_t **sel); // room for a batch; undo by restoring p->n_sel_taken
void hly_rows_cut(const hly_exprs *p, hly_rows *rows); // drops the row in error and those after it
void hly_rows_fail(hly_exprs *p, uint32_t row, int64_t jvm_ref);
// Rows of `rows` where arg is not null / is true and not null; complement with `want` false.
uint32_t hly_rows_where_valid(hly_rows rows, const hly_arg *arg, bool want, uint32_t *sel);
uint32_t hly_rows_where_true(hly_rows rows, const hly_arg *arg, bool want, uint32_t *sel);

void hly_exprs_record(hly_exprs *p); // tells the pool what the registers hold; after a batch

// ---- conditional.c
hly_status hly_node_eval_form(hly_exprs *p, node *n, value *v);
// ---- dispatch.c
hly_status hly_node_eval_dispatch(hly_exprs *p, node *n, value *v);
hly_status hly_node_eval_declined(hly_exprs *p, node *n, const uint32_t *rows, uint32_t n_declined, value *v);
hly_status hly_site_open(hly_exprs *p, site *s);
void hly_site_close(site *s);
// ---- dictionary.c
// Whether n is to be evaluated on its column's dictionary for this batch.
bool hly_node_use_dict(const hly_exprs *p, const node *n);
hly_status hly_node_eval_on_dict(hly_exprs *p, node *n, hly_vector *dict, hly_arg *out);
hly_status hly_node_flatten_dict(hly_exprs *p, node *n, value *v); // by the column's indices, current scope
hly_status hly_node_dict_output(hly_exprs *p, node *n, hly_vector **out);
// ---- fold.c
hly_status hly_node_fold(hly_exprs *p, uint32_t id);
// ---- sharing.c: structural equality of messages
uint64_t hly_expr_hash(const Halley__Expr *e);
bool hly_expr_equal(const Halley__Expr *a, const Halley__Expr *b);

#endif
