#include "scan_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "type_text.h"

static Halley__Field **fields_of(expr_builder *b, const hly_schema *schema, size_t *n) {
  Halley__Field **out = HLY_ARENA_NEW_N(b->arena, Halley__Field *, schema->n_fields + 1);
  for (uint32_t i = 0; out && i < schema->n_fields; i++) {
    if (!(out[i] = HLY_ARENA_NEW(b->arena, Halley__Field))) return NULL;
    halley__field__init(out[i]);
    out[i]->name = (char *)schema->fields[i].name;
    out[i]->type = x_type(b, schema->fields[i].type);
    out[i]->nullable = true;
    out[i]->field_id = schema->fields[i].field_id;
  }
  *n = schema->n_fields;
  return out;
}

static bool build(scan_run *r, expr_builder *b, Halley__Plan *plan, Halley__ParquetScan *scan,
                  Halley__TaskInput *task) {
  hly_schema files = test_schema(b->arena, r->schema), constants = {0};
  if (r->constants) constants = test_schema(b->arena, r->constants);
  hly_schema output = {.n_fields = files.n_fields + constants.n_fields};
  hly_field *fields = HLY_ARENA_NEW_N(b->arena, hly_field, output.n_fields + 1);
  if (!fields) return false;
  if (files.n_fields) memcpy(fields, files.fields, files.n_fields * sizeof *fields);
  if (constants.n_fields)
    memcpy(fields + files.n_fields, constants.fields, constants.n_fields * sizeof *fields);
  output.fields = fields;
  if (r->field_ids)
    for (uint32_t i = 0; i < files.n_fields; i++) // "id_7": the column of field id 7
      if (strncmp(fields[i].name, "id_", 3) == 0) fields[i].field_id = atoi(fields[i].name + 3) + 1;
  files.fields = fields;
  halley__plan__init(plan);
  halley__parquet_scan__init(scan);
  plan->id = 1;
  plan->op_case = HALLEY__PLAN__OP_PARQUET_SCAN;
  plan->parquet_scan = scan;
  plan->output = fields_of(b, &output, &plan->n_output);
  scan->data_schema = fields_of(b, &files, &scan->n_data_schema);
  if (!plan->output || !scan->data_schema) return false;
  scan->case_sensitive = !r->case_insensitive;
  scan->use_field_ids = r->field_ids;
  scan->datetime_rebase = (char *)(r->datetime_rebase ? r->datetime_rebase : "CORRECTED");
  scan->int96_rebase = (char *)(r->int96_rebase ? r->int96_rebase : "CORRECTED");
  scan->session_time_zone = (char *)(r->zone ? r->zone : "UTC");
  scan->ignore_corrupt_files = r->ignore_corrupt;
  scan->ignore_missing_files = r->ignore_missing;
  scan->row_filter = r->row_filter;
  if (r->prune) {
    scan->n_prune = 1;
    scan->prune = HLY_ARENA_NEW(b->arena, Halley__Expr *);
    if (!scan->prune) return false;
    scan->prune[0] = r->prune(b, &output);
  }
  halley__task_input__init(task);
  Halley__ScanSplits *splits = HLY_ARENA_NEW(b->arena, Halley__ScanSplits);
  task->scans = HLY_ARENA_NEW(b->arena, Halley__ScanSplits *);
  if (!splits || !task->scans) return false;
  halley__scan_splits__init(splits);
  task->scans[0] = splits;
  task->n_scans = 1;
  splits->plan_id = 1;
  splits->n_splits = r->n_splits;
  splits->splits = HLY_ARENA_NEW_N(b->arena, Halley__FileSplit *, r->n_splits + 1);
  for (uint32_t i = 0; splits->splits && i < r->n_splits; i++) {
    Halley__FileSplit *s = splits->splits[i] = HLY_ARENA_NEW(b->arena, Halley__FileSplit);
    if (!s) return false;
    halley__file_split__init(s);
    s->path = (char *)r->splits[i].path;
    s->local = true;
    s->start = r->splits[i].start;
    s->length = r->splits[i].length ? r->splits[i].length : INT64_MAX / 2;
    s->n_partition_values = constants.n_fields;
    s->partition_values = HLY_ARENA_NEW_N(b->arena, Halley__Literal *, constants.n_fields + 1);
    for (uint32_t k = 0; s->partition_values && k < constants.n_fields; k++) {
      const hly_type *t = constants.fields[k].type;
      Halley__Expr *lit = k % 2 ? x_null(b, t) : t->kind == HLY_STRING ? x_str(b, "7") : x_int(b, t, 7);
      if (!lit) return false;
      s->partition_values[k] = lit->literal;
    }
  }
  return splits->splits != NULL;
}

static void add_text(scan_run *r, const char *text) {
  size_t n = strlen(text);
  if (r->n_bytes + n + 1 > r->capacity) {
    r->capacity = (r->capacity + n) * 2 + 256;
    r->lines = realloc(r->lines, r->capacity);
    assert_non_null(r->lines);
  }
  memcpy(r->lines + r->n_bytes, text, n + 1);
  r->n_bytes += n;
}

static void add_batch(scan_run *r, const hly_batch *batch) {
  char message[256];
  r->n_batches++;
  if (batch->n_sel > r->most_rows) r->most_rows = batch->n_sel;
  assert_true(batch->n_sel > 0);
  for (uint32_t i = 0; i < batch->n_columns; i++) {
    assert_int_equal(batch->columns[i]->n_rows, batch->n_rows);
    if (!hly_vector_check(batch->columns[i], message, sizeof message)) fail_msg("column %u: %s", i, message);
  }
  hly_arena *arena = hly_arena_create();
  for (uint32_t k = 0; k < batch->n_sel && arena; k++) {
    uint32_t row = batch->sel ? batch->sel[k] : k;
    for (uint32_t i = 0; i < batch->n_columns; i++) {
      const char *text = test_value_text(arena, batch->columns[i], row);
      if (i) add_text(r, "\t");
      add_text(r, text ? text : "");
    }
    add_text(r, "\n");
    r->n_lines++;
  }
  hly_arena_destroy(arena);
}

typedef struct built {
  expr_builder b;
  Halley__Plan plan;
  Halley__ParquetScan scan;
  Halley__TaskInput task;
  const Halley__Expr *condition;
} built;

// Binds and runs a plan that is there; `silent`: rows are pulled but not looked at.
static hly_status run_built(scan_run *r, built *x, bool silent) {
  test_host host;
  hly_ctx ctx;
  test_host_init(&host, -1);
  memset(&ctx, 0, sizeof ctx);
  if (!silent) {
    test_ctx_init(&ctx, &host);
  } else {
    ctx.host = &host.host;
    ctx.batch_rows = 8192;
  }
  if (r->host) ctx.host = r->host;
  if (r->batch_rows) ctx.batch_rows = r->batch_rows;
  hly_arena *arena = hly_arena_create();
  hly_status st = arena ? HLY_OK : HLY_NOMEM;
  hly_op *op = NULL;
  if (st == HLY_OK) {
    hly_binder binder = {.ctx = &ctx, .arena = arena};
    st = hly_op_bind(&binder, &x->plan, &op);
    if (st == HLY_OK && x->condition) {
      hly_exprs *filter;
      st = hly_exprs_bind(&binder, 2, &x->condition, 1, &op->output, &filter);
      if (st == HLY_OK) hly_parquet_scan_set_filter(op, filter);
    }
    if (st == HLY_REFUSED) snprintf(r->error.text, sizeof r->error.text, "%s", binder.reasons[0]);
    bool opened = st == HLY_OK;
    if (st == HLY_OK) st = hly_op_open(op, &x->task);
    for (hly_batch *batch; st == HLY_OK;) {
      st = hly_op_next(op, &batch);
      if (st != HLY_OK || !batch) break;
      if (!silent) add_batch(r, batch);
    }
    if (opened) hly_op_close(op);
    if (op) memcpy(r->metrics, op->metrics, sizeof r->metrics);
  }
  if (st != HLY_OK && st != HLY_REFUSED) r->error = ctx.error;
  hly_arena_destroy(arena);
  if (!silent) {
    ctx.host = &host.host;
    test_ctx_deinit(&ctx);
  }
  return st;
}

static void build_all(scan_run *r, built *x) {
  memset(x, 0, sizeof *x);
  x->b = (expr_builder){.arena = hly_arena_create(), .no_dispatch = !r->host};
  assert_non_null(x->b.arena);
  assert_true(build(r, &x->b, &x->plan, &x->scan, &x->task));
  if (!r->filter) return;
  hly_field *fields = HLY_ARENA_NEW_N(x->b.arena, hly_field, x->plan.n_output + 1);
  hly_schema files = test_schema(x->b.arena, r->schema);
  memcpy(fields, files.fields, files.n_fields * sizeof *fields);
  x->condition = r->filter(&x->b, &(hly_schema){.n_fields = files.n_fields, .fields = fields});
}

hly_status scan_run_all(scan_run *r) {
  built x;
  build_all(r, &x);
  hly_status st = run_built(r, &x, false);
  hly_arena_destroy(x.b.arena);
  return st;
}

typedef struct failing {
  scan_run *r;
  built *x;
} failing;

static hly_status failing_body(void *arg) {
  failing *f = arg;
  return run_built(f->r, f->x, true);
}

void scan_run_failing_allocations(scan_run *r, int max) {
  built x;
  build_all(r, &x);
  failing f = {r, &x};
  test_failing_allocations(failing_body, &f, max);
  hly_arena_destroy(x.b.arena);
}

void scan_run_deinit(scan_run *r) {
  free(r->lines);
  r->lines = NULL;
  r->n_bytes = r->capacity = r->n_lines = 0;
}
