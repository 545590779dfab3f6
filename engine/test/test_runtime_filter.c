// Run-time filters of hash joins: whatever they drop, a join gives the rows and errors that it gives without
// them. Key filters alone, in scans, above other joins and sorts; where they may not go; failing allocations.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#include "batch_source.h"
#include "operators/key_filter.h"
#include "plan_build.h"
#include "random_batch.h"
#include "type_text.h"

#define INNER HALLEY__JOIN_TYPE__INNER
#define M(NAME) HALLEY__METRIC__##NAME

// ten row groups of 40 rows: k is i (null where i % 100 is 99), s "key %04d", x i / 2 (NaN at 150), d i / 100
#define GROUPS "struct<k:bigint,s:string,x:double,d:decimal(10,2),late:string>"

// one row group, whose first day is of the old calendar
#define WIDE "struct<i:bigint,day:date>"

enum { MAX_SOURCES = 4 };

// A plan under construction and what its inputs give.
typedef struct lab {
  test_host host;
  hly_ctx ctx;
  hly_arena *arena;
  expr_builder b;
  bool on, past_errors, row_filter, ignore_corrupt, broadcast;
  const char *rebase;
  Halley__TaskInput task;
  Halley__ScanSplits *scans[2];
  int32_t ids[MAX_SOURCES];
  hly_batch *batches[MAX_SOURCES][8];
  uint32_t n_batches[MAX_SOURCES], n_sources;
  batch_source sources[MAX_SOURCES];
  const Halley__Plan *plan; // of the failing allocations
  plan_run run;
} lab;

static void lab_start(lab *l) {
  memset(l, 0, sizeof *l);
  test_host_init(&l->host, -1);
  test_ctx_init(&l->ctx, &l->host);
  l->arena = hly_arena_create();
  l->b.arena = l->arena;
  l->on = l->row_filter = true;
  halley__task_input__init(&l->task);
  l->task.scans = l->scans;
}

static void lab_finish(lab *l) {
  hly_arena_destroy(l->arena);
  test_ctx_deinit(&l->ctx);
}

static hly_schema schema_of(lab *l, const char *text) {
  return test_schema(l->arena, text);
}

static Halley__Plan *scan_node(lab *l, const char *file, const char *schema_text) {
  hly_schema schema = schema_of(l, schema_text);
  Halley__Plan *p = p_node(&l->b, HALLEY__PLAN__OP_PARQUET_SCAN, &schema, 0);
  Halley__ParquetScan *s = p->parquet_scan = HLY_ARENA_NEW(l->arena, Halley__ParquetScan);
  halley__parquet_scan__init(s);
  s->data_schema = p->output;
  s->n_data_schema = p->n_output;
  s->case_sensitive = true;
  s->datetime_rebase = (char *)(l->rebase ? l->rebase : "CORRECTED");
  s->int96_rebase = (char *)"CORRECTED";
  s->session_time_zone = (char *)"UTC";
  s->row_filter = l->row_filter;
  s->ignore_corrupt_files = l->ignore_corrupt;
  Halley__ScanSplits *splits = l->scans[l->task.n_scans++] = HLY_ARENA_NEW(l->arena, Halley__ScanSplits);
  halley__scan_splits__init(splits);
  splits->plan_id = p->id;
  splits->n_splits = 1;
  splits->splits = HLY_ARENA_NEW_N(l->arena, Halley__FileSplit *, 1);
  Halley__FileSplit *split = splits->splits[0] = HLY_ARENA_NEW(l->arena, Halley__FileSplit);
  halley__file_split__init(split);
  split->path = hly_arena_printf(l->arena, "%s/parquet/%s.parquet", TEST_DATA, file);
  split->local = true;
  split->length = INT64_MAX / 2;
  return p;
}

// An input that gives `n` batches.
static Halley__Plan *source_node(lab *l, const hly_schema *schema, hly_batch *const *batches, uint32_t n) {
  Halley__Plan *p = p_input(&l->b, schema);
  uint32_t i = l->n_sources++;
  l->ids[i] = p->id;
  l->n_batches[i] = n;
  for (uint32_t k = 0; k < n; k++) l->batches[i][k] = batches[k];
  return p;
}

static void unref_vector(void *v) {
  hly_vector_unref(v);
}

static hly_vector *keep(lab *l, hly_vector *v) {
  assert_non_null(v);
  assert_int_equal(0, hly_arena_on_reset(l->arena, unref_vector, v));
  return v;
}

// A batch of one column of longs; INT64_MIN: null.
static hly_batch *longs(lab *l, const int64_t *values, uint32_t n) {
  hly_batch *batch = HLY_ARENA_NEW(l->arena, hly_batch);
  batch->n_columns = 1;
  batch->columns = HLY_ARENA_NEW_N(l->arena, hly_vector *, 1);
  hly_vector *v = batch->columns[0] = keep(l, hly_vector_create(hly_type_of(HLY_LONG)));
  assert_ok(&l->ctx, hly_vector_reset(&l->ctx, v, n));
  for (uint32_t i = 0; i < n; i++) ((int64_t *)v->values)[i] = values[i] == INT64_MIN ? 0 : values[i];
  for (uint32_t i = 0; i < n; i++)
    if (values[i] == INT64_MIN) {
      if (!v->validity) assert_ok(&l->ctx, hly_vector_need_validity(&l->ctx, v));
      hly_bits_clear(v->validity, i);
    }
  hly_batch_set_rows(batch, n);
  return batch;
}

static Halley__Plan *long_source(lab *l, const char *schema_text, const int64_t *values, uint32_t n) {
  hly_schema schema = schema_of(l, schema_text);
  hly_batch *batch = longs(l, values, n);
  return source_node(l, &schema, &batch, n > 0);
}

// A join of the inputs by column left_key[i] = right_key[i].
static Halley__Plan *join_node(lab *l, Halley__JoinType type, bool build_left, Halley__Plan *left,
                               Halley__Plan *right, uint32_t n_keys, Halley__Expr **left_keys,
                               Halley__Expr **right_keys) {
  hly_binder binder = {.ctx = &l->ctx, .arena = l->arena};
  hly_schema a, b, both;
  assert_ok(&l->ctx, hly_bind_schema(&binder, left->output, left->n_output, &a));
  assert_ok(&l->ctx, hly_bind_schema(&binder, right->output, right->n_output, &b));
  hly_field *fields = HLY_ARENA_NEW_N(l->arena, hly_field, a.n_fields + b.n_fields);
  memcpy(fields, a.fields, a.n_fields * sizeof *fields);
  memcpy(fields + a.n_fields, b.fields, b.n_fields * sizeof *fields);
  both = (hly_schema){type < HALLEY__JOIN_TYPE__LEFT_SEMI ? a.n_fields + b.n_fields : a.n_fields, fields};
  if (type == HALLEY__JOIN_TYPE__EXISTENCE)
    fields[both.n_fields++] = (hly_field){.name = "exists", .type = hly_type_of(HLY_BOOLEAN)};
  Halley__Plan *p = p_node(&l->b, HALLEY__PLAN__OP_HASH_JOIN, &both, 2, left, right);
  Halley__HashJoin *j = p->hash_join = HLY_ARENA_NEW(l->arena, Halley__HashJoin);
  halley__hash_join__init(j);
  j->type = type;
  j->build_left = build_left;
  j->n_left_keys = j->n_right_keys = n_keys;
  j->left_keys = left_keys;
  j->right_keys = right_keys;
  j->broadcast = l->broadcast;
  j->runtime_filter = l->on;
  j->filter_past_errors = l->past_errors;
  return p;
}

static Halley__Expr **column(lab *l, const Halley__Plan *input, uint32_t i) {
  Halley__Expr **list = HLY_ARENA_NEW_N(l->arena, Halley__Expr *, 1),
               *e = HLY_ARENA_NEW(l->arena, Halley__Expr);
  halley__expr__init(e);
  e->cls = (char *)"BoundReference";
  e->type = input->output[i]->type;
  e->ordinal = (int32_t)i;
  e->nullable = e->deterministic = true;
  list[0] = e;
  return list;
}

// left.columns[i] = right.columns[j], the right side built.
static Halley__Plan *join_by(lab *l, Halley__JoinType type, Halley__Plan *left, uint32_t i,
                             Halley__Plan *right, uint32_t j) {
  return join_node(l, type, false, left, right, 1, column(l, left, i), column(l, right, j));
}

static void attach(lab *l, hly_op *op) {
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    hly_op *in = op->inputs[i];
    for (uint32_t k = 0; k < l->n_sources; k++)
      if (in->plan_id == l->ids[k])
        batch_source_attach(&l->sources[k], op, i, l->batches[k], l->n_batches[k]);
    if (op->inputs[i] == in) attach(l, in);
  }
}

static hly_op *find(hly_op *op, int32_t id) {
  if (op->plan_id == id) return op;
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    hly_op *found = find(op->inputs[i], id);
    if (found) return found;
  }
  return NULL;
}

static int64_t metric(lab *l, const Halley__Plan *p, Halley__Metric which) {
  return find(l->run.op, p->id)->metrics[which];
}

static hly_status run(lab *l, const Halley__Plan *plan) {
  plan_bind(&l->run, &l->ctx, l->arena, plan);
  attach(l, l->run.op);
  return plan_drain(&l->run, &l->task);
}

// ---- key filters

static void rows_of(lab *l, hly_join_rows *rows, hly_row_store *store, hly_reservation *r,
                    const hly_schema *s, hly_vector **keys, uint32_t n) {
  hly_binder binder = {.ctx = &l->ctx, .arena = l->arena};
  const Halley__Expr *refs[4];
  for (uint32_t i = 0; i < s->n_fields; i++) refs[i] = p_field(&l->b, s, i);
  hly_exprs *exprs;
  assert_ok(&l->ctx, hly_exprs_bind(&binder, 1, refs, s->n_fields, s, &exprs));
  assert_ok(&l->ctx, hly_join_rows_bind(&binder, rows, exprs, s->n_fields, s, NULL));
  hly_row_store_init(store, &l->ctx, &rows->row, r);
  hly_join_scratch scratch;
  assert_ok(&l->ctx, hly_join_scratch_init(&l->ctx, &scratch));
  hly_batch batch = {.n_columns = s->n_fields, .columns = keys};
  hly_batch_set_rows(&batch, n);
  uint32_t from = 0;
  assert_ok(&l->ctx, hly_join_rows_begin(rows, &l->ctx, &scratch, keys, &batch));
  assert_ok(&l->ctx, hly_join_rows_append(rows, &l->ctx, &scratch, store, keys, &batch, &from));
  hly_join_scratch_deinit(&scratch);
}

static bool any_null(hly_vector *const *keys, uint32_t n_keys, uint32_t row) {
  bool null = false;
  for (uint32_t k = 0; k < n_keys; k++) null |= hly_vector_is_null(keys[k], row);
  return null;
}

// Bounds of some rows as statistics would have them.
static hly_pq_bounds bounds_of(const hly_vector *v, uint32_t from, uint32_t n) {
  hly_pq_bounds b = {.null_count = -1};
  hly_phys phys = v->type->phys;
  for (uint32_t i = from; i < from + n; i++) {
    if (hly_vector_is_null(v, i)) continue;
    hly_pq_value x = hly_pq_value_load(phys, (const uint8_t *)hly_vector_base(v) +
                                                 (size_t)hly_vector_index(v, i) * hly_phys_size[phys]);
    bool is_float = phys == HLY_PHYS_F32 || phys == HLY_PHYS_F64;
    if (is_float && x.f != x.f) continue;
#define LESS(A, B)                                                                                           \
  (is_float ? (A).f < (B).f : phys == HLY_PHYS_STR ? hly_str_compare(&(A).s, &(B).s) < 0 : (A).i < (B).i)
    if (!b.has_min || LESS(x, b.min)) b.min = x;
    if (!b.has_max || LESS(b.max, x)) b.max = x;
    b.has_min = b.has_max = true;
  }
  return b;
}

static void key_filter_of(const char *type, uint32_t n_keys, uint32_t n, uint32_t distinct,
                          hly_encoding encoding, bool *exact) {
  lab l;
  lab_start(&l);
  char text[128];
  snprintf(text, sizeof text, n_keys == 1 ? "struct<a:%s>" : "struct<a:%s,b:string>", type);
  hly_schema schema = schema_of(&l, text);
  test_random r = {n * 7 + distinct};
  test_shape shape = {
      .n_rows = n, .null_percent = 10, .distinct = distinct, .max_string = 30, .encoding = encoding};
  hly_vector *in[2], *other[2];
  for (uint32_t k = 0; k < n_keys; k++) {
    in[k] = keep(&l, test_shaped_vector(&l.ctx, &r, schema.fields[k].type, &shape, NULL));
    other[k] = keep(&l, test_shaped_vector(&l.ctx, &r, schema.fields[k].type, &shape, NULL));
  }
  hly_reservation *reservation = hly_reservation_create(l.ctx.pool, "test", NULL, NULL);
  hly_join_rows rows;
  hly_row_store store = {0};
  rows_of(&l, &rows, &store, reservation, &schema, in, n);
  uint32_t which[2] = {0, 1};
  hly_key_filter *f;
  assert_ok(&l.ctx, hly_key_filter_bind(&l.ctx, l.arena, &rows, which, n_keys, &f));
  hly_key_scratch *scratch = calloc(1, sizeof *scratch);
  uint32_t *out = calloc(n, sizeof *out), n_out;
  assert_false(hly_key_filter_tests_rows(f));
  for (int twice = 0; twice < 2; twice++)
    assert_ok(&l.ctx, hly_key_filter_build(f, &l.ctx, &rows, &store, reservation));
  hly_row_store_clear(&store); // the filter keeps nothing of it
  *exact = f->set->exact;
  // All that is there passes, without nulls.
  assert_ok(&l.ctx, hly_key_filter_test(f, &l.ctx, scratch, in, NULL, n, out, &n_out));
  uint32_t expected = 0;
  for (uint32_t i = 0; i < n; i++)
    if (!any_null(in, n_keys, i)) assert_int_equal(out[expected++], i);
  assert_int_equal(expected, n_out);
  // Of others, all that are there, in place over a selection, and few more.
  uint32_t n_sel = 0, truly = 0;
  for (uint32_t i = 0; i < n; i += 2) out[n_sel++] = i;
  assert_ok(&l.ctx, hly_key_filter_test(f, &l.ctx, scratch, other, out, n_sel, out, &n_out));
  for (uint32_t i = 0, at = 0; i < n; i += 2) {
    bool there = false, passed = at < n_out && out[at] == i;
    for (uint32_t j = 0; j < n && !there && !any_null(other, n_keys, i); j++) {
      there = !any_null(in, n_keys, j);
      for (uint32_t k = 0; k < n_keys && there; k++) there = test_value_equal(other[k], i, in[k], j);
    }
    if (there) assert_true(passed);
    at += passed;
    truly += there;
  }
  assert_true(n_out >= truly && n_out - truly <= n_sel / 20 + 2);
  // A row group with a match is never ruled out.
  for (uint32_t from = 0; from + 3 <= n; from += 3)
    for (uint32_t k = 0; k < n_keys; k++) {
      hly_pq_bounds b = bounds_of(in[k], from, 3);
      bool matches = false;
      for (uint32_t i = from; i < from + 3; i++) matches |= !any_null(in, n_keys, i);
      if (matches) assert_false(hly_key_filter_rules_out(f, k, &b));
    }
  hly_key_filter_clear(f);
  hly_key_scratch_deinit(scratch);
  free(scratch);
  free(out);
  hly_reservation_destroy(reservation);
  lab_finish(&l);
}

static void test_key_filters(void **state) {
  static const char *const types[] = {
      "boolean",       "tinyint",        "smallint", "int",       "bigint", "float",  "double",
      "decimal(12,2)", "decimal(38,10)", "date",     "timestamp", "string", "binary", "timestamp_ntz"};
  uint32_t n_exact = 0;
  for (uint32_t i = 0; i < sizeof types / sizeof *types; i++)
    for (uint32_t n_keys = 1; n_keys <= 2; n_keys++)
      for (int bits = 0; bits < 4; bits++) {
        bool exact;
        key_filter_of(types[i], n_keys, bits & 1 ? 1500 : 30, bits & 1 ? 700 : 0,
                      bits & 2 ? HLY_DICT : HLY_FLAT, &exact);
        n_exact += exact;
      }
  assert_true(n_exact >= 8); // the small integers
}

// Between the bounds there may be no key, which only the exact set knows.
static void test_rules_out(void **state) {
  lab l;
  lab_start(&l);
  hly_schema schema = schema_of(&l, "struct<a:bigint>");
  static const int64_t values[] = {-5, 100, 200, 64, INT64_MIN};
  hly_batch *batch = longs(&l, values, 5);
  hly_reservation *reservation = hly_reservation_create(l.ctx.pool, "test", NULL, NULL);
  hly_join_rows rows;
  hly_row_store store = {0};
  rows_of(&l, &rows, &store, reservation, &schema, batch->columns, 5);
  uint32_t which[1] = {0};
  hly_key_filter *f;
  assert_ok(&l.ctx, hly_key_filter_bind(&l.ctx, l.arena, &rows, which, 1, &f));
  hly_pq_bounds b = {
      .has_min = true, .has_max = true, .min = {.i = -1000}, .max = {.i = -900}, .null_count = -1};
  assert_false(hly_key_filter_rules_out(f, 0, &b));
  assert_ok(&l.ctx, hly_key_filter_build(f, &l.ctx, &rows, &store, reservation));
  assert_true(f->set->exact);
  assert_true(hly_key_filter_rules_out(f, 0, &b));
  for (int64_t lo = -10; lo < 210; lo++)
    for (int64_t hi = lo; hi < 210; hi++) {
      bool any = false;
      for (int i = 0; i < 4; i++) any |= values[i] >= lo && values[i] <= hi;
      b.min.i = lo;
      b.max.i = hi;
      assert_int_equal(hly_key_filter_rules_out(f, 0, &b), !any);
    }
  b.has_min = b.has_max = false;
  assert_false(hly_key_filter_rules_out(f, 0, &b));
  b.n_values = b.null_count = 7;
  assert_true(hly_key_filter_rules_out(f, 0, &b));
  hly_key_filter_clear(f);
  hly_row_store_clear(&store);
  hly_reservation_destroy(reservation);
  lab_finish(&l);
}

// ---- in a scan

// Rows i of the file's column c, for i in `at`, as the build side; -1: a null.
static Halley__Plan *rows_of_file(lab *l, uint32_t c, const int *at, uint32_t n) {
  hly_schema all = schema_of(l, GROUPS);
  hly_schema one = {1, &all.fields[c]};
  hly_batch *batch = HLY_ARENA_NEW(l->arena, hly_batch);
  batch->n_columns = 1;
  batch->columns = HLY_ARENA_NEW_N(l->arena, hly_vector *, 1);
  hly_vector *v = batch->columns[0] = keep(l, hly_vector_create(one.fields[0].type));
  assert_ok(&l->ctx, hly_vector_reset(&l->ctx, v, n));
  for (uint32_t i = 0; i < n; i++) {
    char *text = hly_arena_printf(l->arena, "key %04d", at[i]);
    switch (c) {
    case 1: ((hly_str *)v->values)[i] = hly_str_make(text, (uint32_t)strlen(text)); break;
    case 2: ((double *)v->values)[i] = at[i] == 150 ? (double)__builtin_nan("") : at[i] / 2.0; break;
    default: ((int64_t *)v->values)[i] = at[i]; break;
    }
  }
  for (uint32_t i = 0; i < n; i++)
    if (at[i] < 0) {
      if (!v->validity) assert_ok(&l->ctx, hly_vector_need_validity(&l->ctx, v));
      if (c == 1) ((hly_str *)v->values)[i] = hly_str_make("", 0);
      hly_bits_clear(v->validity, i);
    }
  hly_batch_set_rows(batch, n);
  return source_node(l, &one, &batch, n > 0);
}

static const struct {
  Halley__JoinType type;
  bool build_left, filters;
} forms[] = {
    {INNER, false, true},
    {INNER, true, true},
    {HALLEY__JOIN_TYPE__LEFT_SEMI, false, true},
    {HALLEY__JOIN_TYPE__RIGHT_OUTER, false, true},
    {HALLEY__JOIN_TYPE__LEFT_OUTER, true, true},
    {HALLEY__JOIN_TYPE__LEFT_OUTER, false, false},
    {HALLEY__JOIN_TYPE__RIGHT_OUTER, true, false},
    {HALLEY__JOIN_TYPE__FULL_OUTER, false, false},
    {HALLEY__JOIN_TYPE__LEFT_ANTI, false, false},
    {HALLEY__JOIN_TYPE__EXISTENCE, false, false},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

typedef struct scan_case {
  int form;
  uint32_t column;
  const int *at;
  uint32_t n;
  uint32_t batch_rows;
  bool filter, row_filter;
} scan_case;

static Halley__Plan *scan_case_plan(lab *l, const scan_case *c, Halley__Plan **scan) {
  *scan = scan_node(l, "groups", GROUPS);
  Halley__Plan *probe = *scan, *build = rows_of_file(l, c->column, c->at, c->n);
  hly_schema schema = schema_of(l, GROUPS);
  if (c->filter)
    probe =
        p_filter(&l->b, probe, &schema,
                 x_call(&l->b, "IsNotNull", hly_type_of(HLY_BOOLEAN), 1, p_field(&l->b, &schema, c->column)));
  bool left = forms[c->form].build_left;
  Halley__Plan *a = left ? build : probe, *b = left ? probe : build;
  return join_node(l, forms[c->form].type, left, a, b, 1, column(l, a, left ? 0 : c->column),
                   column(l, b, left ? c->column : 0));
}

// Compares with and without; the metrics of the run with.
static void check_scan(const scan_case *c, int64_t *groups, int64_t *pruned, int64_t *tested) {
  lab on, off;
  Halley__Plan *scan;
  lab_start(&on);
  lab_start(&off);
  off.on = false;
  on.ctx.batch_rows = off.ctx.batch_rows = c->batch_rows;
  on.row_filter = off.row_filter = c->row_filter;
  assert_ok(&off.ctx, run(&off, scan_case_plan(&off, c, &scan)));
  assert_int_equal(metric(&off, scan, M(ROW_GROUPS_PRUNED_DYNAMIC_FILTER)), 0);
  const Halley__Plan *join = scan_case_plan(&on, c, &scan);
  assert_ok(&on.ctx, run(&on, join));
  plan_assert_same(&off.run, &on.run); // in the same order
  *groups = metric(&on, scan, M(ROW_GROUPS_PRUNED_DYNAMIC_FILTER));
  *pruned = metric(&on, join, M(DYNAMIC_FILTER_ROWS_PRUNED));
  *tested = metric(&on, join, M(DYNAMIC_FILTER_INPUT_ROWS));
  lab_finish(&off);
  lab_finish(&on);
}

static void test_scans(void **state) {
  static const int few[] = {123, 130, 130, -1, 150, 9999}, spread[] = {3, 199, 399, 77, 398};
  static const uint32_t sizes[] = {8192, 1, 7, 64};
  int64_t groups, pruned, tested;
  for (int form = 0; form < N_FORMS; form++)
    for (uint32_t column = 0; column < 4; column++)
      for (int s = 0; s < 4; s++)
        for (int bits = 0; bits < 16; bits++) {
          scan_case c = {.form = form,
                         .column = column,
                         .at = bits & 1 ? few : spread,
                         .n = bits & 1 ? 6 : 5,
                         .batch_rows = sizes[s],
                         .filter = bits & 2,
                         .row_filter = bits & 4};
          if (bits & 8) c.n = 0; // an empty build side
          check_scan(&c, &groups, &pruned, &tested);
          if (!forms[form].filters) {
            assert_int_equal(groups + pruned + tested, 0);
            continue;
          }
          // A NaN among the keys is in no row group's bounds; that of `few` is.
          bool nan = column == 2 && bits & 1 && !(bits & 8);
          if (bits & 8)
            assert_int_equal(groups, 10);
          else if (bits & 1)
            assert_true(nan ? groups == 0 : groups >= 3);
          if (!c.row_filter) assert_int_equal(tested, 0);
          if (c.row_filter && groups < 10) {
            assert_true(tested > 0);
            assert_true(pruned > tested / 2);
          }
        }
}

// Several keys, one of which has a row group's bounds; a key that is an expression.
static void test_keys(void **state) {
  for (int shape = 0; shape < 3; shape++) {
    plan_run before = {0};
    lab labs[2];
    for (int on = 0; on < 2; on++) {
      lab *l = &labs[on];
      lab_start(l);
      l->on = on;
      Halley__Plan *scan = scan_node(l, "groups", GROUPS), *join;
      Halley__Expr *left[2], *right[2];
      static const int at[] = {41, 45, 60, 300};
      const hly_type *bigint = hly_type_of(HLY_LONG), *text = hly_type_of(HLY_STRING);
      if (shape == 0) {
        hly_schema schema = schema_of(l, "struct<k:bigint,s:string>");
        Halley__Plan *source = rows_of_file(l, 0, at, 4);
        hly_batch *batch = l->batches[0][0];
        rows_of_file(l, 1, at, 4);
        hly_vector *both[] = {batch->columns[0], l->batches[1][0]->columns[0]};
        l->n_sources--;
        batch->columns = HLY_ARENA_NEW_N(l->arena, hly_vector *, 2);
        memcpy(batch->columns, both, sizeof both);
        batch->n_columns = 2;
        l->n_sources = 0;
        source = source_node(l, &schema, &batch, 1);
        for (uint32_t k = 0; k < 2; k++) {
          left[k] = column(l, scan, k)[0];
          right[k] = column(l, source, k)[0];
        }
        join = join_node(l, INNER, false, scan, source, 2, left, right);
      } else {
        Halley__Plan *source = rows_of_file(l, shape == 1 ? 0 : 1, at, 4);
        left[0] = shape == 1 ? x_call(&l->b, "Coalesce", bigint, 2, x_col(&l->b, 0, bigint, true),
                                      x_int(&l->b, bigint, 41))
                             : x_call(&l->b, "Coalesce", text, 2, x_col(&l->b, 1, text, true),
                                      x_str(&l->b, "key 0300"));
        join = join_node(l, INNER, false, scan, source, 1, left, column(l, source, 0));
      }
      assert_ok(&l->ctx, run(l, join));
      if (!on) {
        before = l->run;
        continue;
      }
      plan_assert_same(&before, &l->run);
      assert_int_equal(l->run.n_lines, shape == 1 ? 8 : 4); // the four null keys become 41
      int64_t groups = metric(l, scan, M(ROW_GROUPS_PRUNED_DYNAMIC_FILTER));
      assert_true(shape == 0 ? groups == 3 : groups == 0);
      assert_true(metric(l, join, M(DYNAMIC_FILTER_ROWS_PRUNED)) > 100);
    }
    lab_finish(&labs[1]);
    lab_finish(&labs[0]);
  }
}

// Rows that all match: given up after two batches.
static void test_bypass(void **state) {
  int all[400];
  for (int i = 0; i < 400; i++) all[i] = i;
  scan_case c = {.at = all, .n = 400, .column = 1, .batch_rows = 40, .row_filter = true};
  int64_t groups, pruned, tested;
  check_scan(&c, &groups, &pruned, &tested);
  assert_int_equal(groups, 0);
  assert_int_equal(pruned, 0);
  assert_int_equal(tested, 80);
}

// ---- errors

static hly_status throwing(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call,
                           hly_error *error) {
  call->n_done = 0;
  call->error = 77;
  return HLY_OK;
}

// 0 <= 1000 % (k - 137): divides by zero at row 137.
static Halley__Expr *remainder_of_k(lab *l) {
  expr_builder *b = &l->b;
  const hly_type *t = hly_type_of(HLY_LONG);
  Halley__Expr *minus = x_call(b, "Subtract", t, 2, x_col(b, 0, t, true), x_int(b, t, 137));
  Halley__Expr *e = x_call(b, "Remainder", t, 2, x_int(b, t, 1000), minus), *both[] = {minus, e};
  for (int i = 0; i < 2; i++) {
    x_param_string(b, both[i], "evalContext.evalMode", "ANSI");
    Halley__Param *loss = x_param(b, both[i], "evalContext.allowDecimalPrecisionLoss");
    loss->value_case = HALLEY__PARAM__VALUE_BOOL_VALUE;
    loss->bool_value = true;
  }
  return e;
}

// What may raise lies between the scan and the join, as a filter that the scan takes or does not, or as a
// projection: row 137 matches nothing, and raises all the same unless that is allowed.
static void test_errors(void **state) {
  static const int at[] = {50, 300};
  for (int shape = 0; shape < 3; shape++)
    for (int mode = 0; mode < 3; mode++) {
      lab l;
      lab_start(&l);
      l.host.host.dispatch = throwing;
      l.on = mode > 0;
      l.past_errors = mode == 2;
      l.ctx.batch_rows = 64;
      l.row_filter = shape != 1;
      hly_schema schema = schema_of(&l, GROUPS);
      Halley__Plan *scan = scan_node(&l, "groups", GROUPS), *probe;
      Halley__Expr *e = remainder_of_k(&l);
      if (shape < 2) {
        probe = p_filter(&l.b, scan, &schema,
                         x_call(&l.b, "LessThanOrEqual", hly_type_of(HLY_BOOLEAN), 2,
                                x_int(&l.b, hly_type_of(HLY_LONG), 0), e));
      } else {
        hly_schema projected = schema_of(&l, "struct<k:bigint,r:bigint>");
        Halley__Expr **exprs = HLY_ARENA_NEW_N(l.arena, Halley__Expr *, 2);
        exprs[0] = p_field(&l.b, &schema, 0);
        exprs[1] = e;
        probe = p_project(&l.b, scan, &projected, exprs);
      }
      Halley__Plan *build = rows_of_file(&l, 0, at, 2);
      hly_status st = run(&l, join_by(&l, INNER, probe, 0, build, 0));
      int64_t groups = metric(&l, scan, M(ROW_GROUPS_PRUNED_DYNAMIC_FILTER));
      if (mode == 2) {
        assert_ok(&l.ctx, st);
        assert_int_equal(l.run.n_lines, 2);
        assert_true(groups > 0);
      } else {
        assert_int_equal(st, HLY_ERR);
        assert_int_equal(l.ctx.error.jvm_ref, 77);
        assert_int_equal(l.run.n_lines, 1); // row 50 comes before it
        assert_int_equal(groups, 0);
        hly_error_clear(&l.ctx.error);
      }
      lab_finish(&l);
    }
}

// A date of the old calendar in a row that matches nothing is an error of the scan, whichever filter drops
// it.
static void test_scan_errors(void **state) {
  for (int mode = 0; mode < 6; mode++) {
    lab l;
    lab_start(&l);
    l.on = mode % 3 > 0;
    l.ignore_corrupt = mode % 3 == 2;
    l.rebase = mode < 3 ? "EXCEPTION" : "CORRECTED";
    Halley__Plan *scan = scan_node(&l, "wide", WIDE);
    static const int64_t none[] = {1ll << 40};
    Halley__Plan *build = long_source(&l, "struct<a:bigint>", none, 1);
    Halley__Plan *join = join_by(&l, INNER, scan, 0, build, 0);
    hly_status st = run(&l, join);
    if (mode == 0 || mode == 1) {
      assert_int_equal(st, HLY_ERR);
      assert_int_equal(l.ctx.error.id, HLY_E_DATETIME_REBASE);
      hly_error_clear(&l.ctx.error);
    } else {
      assert_ok(&l.ctx, st);
      assert_int_equal(l.run.n_lines, 0);
    }
    // Where nothing can fail the row group is not read; where bad files are passed over nothing is left out.
    assert_int_equal(metric(&l, scan, M(ROW_GROUPS_PRUNED_DYNAMIC_FILTER)), mode == 4);
    lab_finish(&l);
  }
}

// ---- through other operators

typedef enum chain_shape {
  CHAIN_JOIN,
  CHAIN_PROJECT,
  CHAIN_SORT,
  CHAIN_BROADCAST,
  CHAIN_LIMIT,
  CHAIN_OUTER,
  CHAIN_BUILD,
  N_CHAINS
} chain_shape;

// Two joins above a leaf that is no scan: what the upper one knows is used below the lower one.
static Halley__Plan *chain(lab *l, chain_shape shape, Halley__Plan **upper) {
  enum { N = 500 };
  int64_t many[N], twos[N / 2];
  for (int i = 0; i < N; i++) many[i] = i;
  for (int i = 0; i < N / 2; i++) twos[i] = 2 * i;
  static const int64_t wanted[] = {10, 11, 12, 400, INT64_MIN, 400};
  Halley__Plan *leaf = long_source(l, "struct<a:bigint>", many, N);
  hly_schema one = schema_of(l, "struct<a:bigint>");
  if (shape == CHAIN_LIMIT) leaf = p_limit(&l->b, leaf, &one, 300, 0);
  l->broadcast = shape == CHAIN_BROADCAST;
  Halley__JoinType type = shape == CHAIN_OUTER ? HALLEY__JOIN_TYPE__RIGHT_OUTER : INNER;
  Halley__Plan *lower = join_by(l, type, leaf, 0, long_source(l, "struct<b:bigint>", twos, N / 2), 0);
  Halley__Plan *in = lower;
  hly_schema two = schema_of(l, "struct<a:bigint,b:bigint>");
  if (shape == CHAIN_PROJECT) {
    Halley__Expr **exprs = HLY_ARENA_NEW_N(l->arena, Halley__Expr *, 2);
    exprs[0] = p_field(&l->b, &two, 1);
    exprs[1] = p_field(&l->b, &two, 0);
    in = p_project(&l->b, lower, &two, exprs);
  } else if (shape == CHAIN_SORT) {
    in = p_sort(&l->b, lower, &two, "0 desc first", -1);
  }
  uint32_t key = shape == CHAIN_PROJECT || shape == CHAIN_BUILD || shape == CHAIN_BROADCAST ? 1 : 0;
  *upper = join_by(l, INNER, in, key, long_source(l, "struct<c:bigint>", wanted, 6), 0);
  return *upper;
}

static void test_chains(void **state) {
  for (int shape = 0; shape < N_CHAINS; shape++) {
    lab on, off;
    Halley__Plan *upper;
    lab_start(&on);
    lab_start(&off);
    off.on = false;
    assert_ok(&off.ctx, run(&off, chain(&off, (chain_shape)shape, &upper)));
    assert_int_equal(metric(&off, upper, M(DYNAMIC_FILTER_EARLY_INPUT_ROWS)), 0);
    assert_ok(&on.ctx, run(&on, chain(&on, (chain_shape)shape, &upper)));
    plan_assert_same(&off.run, &on.run);
    int64_t in = metric(&on, upper, M(DYNAMIC_FILTER_EARLY_INPUT_ROWS)),
            pruned = metric(&on, upper, M(DYNAMIC_FILTER_EARLY_ROWS_PRUNED));
    switch (shape) {
    case CHAIN_LIMIT: // above the limit, but below the join
      assert_int_equal(in, 300);
      assert_int_equal(pruned, 297);
      break;
    case CHAIN_BROADCAST: // the key comes from the side that is whole in every task
    case CHAIN_OUTER:     // or from the one that is filled up with nulls
      assert_int_equal(in, 0);
      break;
    case CHAIN_BUILD:
      assert_int_equal(in, 250);
      assert_int_equal(pruned, 247);
      break;
    default:
      assert_int_equal(in, 500);
      assert_int_equal(pruned, 496);
      break;
    }
    lab_finish(&off);
    lab_finish(&on);
  }
}

// Both joins' keys reach the scan, through a projection and past a condition that cannot raise.
static void test_chain_to_scan(void **state) {
  static const int64_t low[] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 150, 390},
                       high[] = {20, 25, 90, 390, 391};
  plan_run before = {0};
  lab labs[2];
  for (int on = 0; on < 2; on++) {
    lab *l = &labs[on];
    lab_start(l);
    l->on = on;
    hly_schema schema = schema_of(l, GROUPS), projected = schema_of(l, "struct<late:string,k:bigint>");
    Halley__Plan *scan = scan_node(l, "groups", GROUPS);
    Halley__Plan *filtered =
        p_filter(&l->b, scan, &schema,
                 x_call(&l->b, "IsNotNull", hly_type_of(HLY_BOOLEAN), 1, p_field(&l->b, &schema, 1)));
    Halley__Expr **exprs = HLY_ARENA_NEW_N(l->arena, Halley__Expr *, 2);
    exprs[0] = p_field(&l->b, &schema, 4);
    exprs[1] = p_field(&l->b, &schema, 0);
    Halley__Plan *in = p_project(&l->b, filtered, &projected, exprs);
    Halley__Plan *lower = join_by(l, INNER, in, 1, long_source(l, "struct<b:bigint>", low, 12), 0);
    Halley__Plan *upper = join_by(l, INNER, lower, 1, long_source(l, "struct<c:bigint>", high, 5), 0);
    assert_ok(&l->ctx, run(l, upper));
    if (!on) {
      before = l->run;
      continue;
    }
    plan_assert_same(&before, &l->run);
    assert_int_equal(l->run.n_lines, 3);
    // Keys of the upper join lie in three row groups.
    assert_int_equal(metric(l, scan, M(ROW_GROUPS_PRUNED_DYNAMIC_FILTER)), 7);
    assert_int_equal(metric(l, scan, M(ROWS_PRUNED)), 117);
    assert_int_equal(metric(l, lower, M(OUTPUT_ROWS)), 3);
  }
  lab_finish(&labs[1]);
  lab_finish(&labs[0]);
}

// One filter serves the scans below a union, which are opened one after the other.
static void test_union(void **state) {
  static const int at[] = {41, 300};
  plan_run before = {0};
  lab labs[2];
  for (int on = 0; on < 2; on++) {
    lab *l = &labs[on];
    lab_start(l);
    l->on = on;
    hly_schema schema = schema_of(l, GROUPS);
    Halley__Plan *scans[2] = {scan_node(l, "groups", GROUPS), scan_node(l, "groups", GROUPS)};
    Halley__Plan *both = p_node(&l->b, HALLEY__PLAN__OP_UNION, &schema, 2, scans[0], scans[1]);
    both->union_ = HLY_ARENA_NEW(l->arena, Halley__Union);
    halley__union__init(both->union_);
    Halley__TaskInput *inner = HLY_ARENA_NEW(l->arena, Halley__TaskInput);
    *inner = l->task;
    Halley__Branches list = HALLEY__BRANCHES__INIT, *lists[1] = {&list};
    Halley__Branch branches[3], *each[3];
    for (int i = 0; i < 3; i++) {
      halley__branch__init(&branches[i]);
      branches[i].input = i % 2;
      branches[i].task = inner;
      each[i] = &branches[i];
    }
    list.plan_id = both->id;
    list.n_branches = 3;
    list.branches = each;
    l->task.n_branches = 1;
    l->task.branches = lists;
    assert_ok(&l->ctx, run(l, join_by(l, INNER, both, 1, rows_of_file(l, 1, at, 2), 0)));
    assert_int_equal(l->run.n_lines, 6);
    if (!on) {
      before = l->run;
      continue;
    }
    plan_assert_same(&before, &l->run);
    assert_int_equal(metric(l, scans[0], M(ROW_GROUPS_PRUNED_DYNAMIC_FILTER)), 2 * 3);
    assert_int_equal(metric(l, scans[1], M(ROW_GROUPS_PRUNED_DYNAMIC_FILTER)), 3);
  }
  lab_finish(&labs[1]);
  lab_finish(&labs[0]);
}

// ---- memory

static hly_status run_once(void *arg) {
  lab *l = arg;
  hly_arena *arena = hly_arena_create();
  if (!arena) return HLY_NOMEM;
  hly_binder binder = {.ctx = &l->ctx, .arena = arena};
  hly_op *op;
  hly_status st = hly_op_bind(&binder, l->plan, &op);
  if (st == HLY_OK) {
    attach(l, op);
    st = hly_op_open(op, &l->task);
    hly_batch *batch = NULL;
    do {
      if (st == HLY_OK) st = hly_op_next(op, &batch);
    } while (st == HLY_OK && batch);
    hly_op_close(op);
  }
  hly_arena_destroy(arena);
  hly_error_clear(&l->ctx.error);
  return st;
}

static void test_failing(void **state) {
  for (int shape = 0; shape < 3; shape++) {
    lab l;
    Halley__Plan *node;
    lab_start(&l);
    l.ctx.batch_rows = 64;
    static const int at[] = {41, 300, 150};
    scan_case c = {.column = 1, .at = at, .n = 3, .filter = true};
    l.plan = shape == 0   ? scan_case_plan(&l, &c, &node)
             : shape == 1 ? chain(&l, CHAIN_PROJECT, &node)
                          : chain(&l, CHAIN_SORT, &node);
    test_failing_allocations(run_once, &l, 300);
    lab_finish(&l);
  }
}

// Without memory the build side goes to disk and there is no filter.
static void test_denied(void **state) {
  lab on, off;
  Halley__Plan *upper;
  lab_start(&on);
  lab_start(&off);
  off.on = false;
  assert_ok(&off.ctx, run(&off, chain(&off, CHAIN_JOIN, &upper)));
  on.host.limit = 0;
  assert_ok(&on.ctx, run(&on, chain(&on, CHAIN_JOIN, &upper)));
  plan_sort_lines(&off.run);
  plan_sort_lines(&on.run);
  plan_assert_same(&off.run, &on.run);
  lab_finish(&off);
  lab_finish(&on);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_key_filters),   cmocka_unit_test(test_rules_out),
      cmocka_unit_test(test_scans),         cmocka_unit_test(test_keys),
      cmocka_unit_test(test_bypass),        cmocka_unit_test(test_errors),
      cmocka_unit_test(test_scan_errors),   cmocka_unit_test(test_chains),
      cmocka_unit_test(test_chain_to_scan), cmocka_unit_test(test_union),
      cmocka_unit_test(test_failing),       cmocka_unit_test(test_denied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
