// ParquetScan: reads the task's splits one after the other; a batch never mixes files. With a filter handed
// down, the columns it reads are decoded first and the others for surviving rows only.
#include "operators/parquet_scan.h"

#include <string.h>

#include "operators/runtime_filter.h"
#include "parquet/reader.h"

typedef struct scan {
  hly_op op;
  hly_pq_request request; // of the file's columns, which are the first of the output
  uint32_t n_constants;   // partition and metadata columns, the rest of it
  hly_pq_prune *prune;
  bool ignore_corrupt, ignore_missing, row_filter;
  hly_exprs *filter;
  hly_runtime_filter *runtime;        // rows, in the order they are tested
  hly_runtime_filter *runtime_groups; // row groups
  bool has_runtime;
  // Of a run.
  const Halley__ScanSplits *splits;
  size_t next_split;
  hly_arena *arena;
  hly_batch *full, *dense, *kept; // rows as read, survivors of one of them, survivors of several
  uint32_t *sel;
  uint32_t n_kept;    // rows in `kept`
  uint8_t *read_at;   // one a file column: when it is decoded
  bool replan;        // a run-time filter was given up
  bool raised;        // the filter raised behind the rows already returned
  bool filter_failed; // the status came from the filter, not from the file
  // Of a file.
  hly_arena *file_arena;
  hly_literal *constants;
  hly_pq_reader *reader;
  uint32_t group_rows; // most rows in a batch of this row group
  bool *may_fail;      // one a file column: reading it may raise, so it is read whatever the filters say
  bool any_may_fail;
} scan;

// When a column is decoded: for the filter, which without late decoding means always; for run-time filters,
// unless the filter dropped all rows; for survivors only.
enum { FIRST, FOR_RUNTIME, LATE };

enum { SPARSE = 8 }; // fewer survivors than one row in SPARSE are collected before they are returned

// ---- files

static void close_file(scan *s) {
  hly_pq_reader *r = s->reader;
  if (!r) return;
  int64_t *m = s->op.metrics;
  m[HALLEY__METRIC__BYTES_SCANNED] += r->file->bytes_read;
  m[HALLEY__METRIC__ROW_GROUPS_READ] += r->row_groups_read;
  m[HALLEY__METRIC__ROW_GROUPS_PRUNED] += r->row_groups_pruned;
  m[HALLEY__METRIC__ROW_GROUPS_PRUNED_DYNAMIC_FILTER] += r->row_groups_ruled_out;
  m[HALLEY__METRIC__PAGES_PRUNED] += hly_pq_reader_pages_skipped(r);
  m[HALLEY__METRIC__DECODE_NS] += hly_pq_reader_decode_ns(r);
  hly_pq_reader_close(r);
  s->reader = NULL;
}

static void tell_host(const scan *s, const char *path, int64_t start, int64_t length) {
  const hly_host *host = s->op.ctx->host;
  if (host && host->input_file) host->input_file(host->arg, path, start, length);
}

static hly_status read_constants(scan *s, const Halley__FileSplit *split) {
  hly_ctx *ctx = s->op.ctx;
  hly_arena_reset(s->file_arena);
  if (split->n_partition_values != s->n_constants)
    return hly_error_setf(&ctx->error, HLY_E_PLAN_INVALID, "a split has %zu constant columns instead of %u",
                          split->n_partition_values, s->n_constants);
  s->constants = HLY_ARENA_NEW_N(s->file_arena, hly_literal, s->n_constants + 1);
  HLY_CHECK_MEM(ctx, s->constants, s->n_constants * sizeof *s->constants);
  hly_binder b = {.ctx = ctx, .arena = s->file_arena};
  for (uint32_t i = 0; i < s->n_constants; i++) {
    HLY_TRY(hly_bind_literal(&b, split->partition_values[i], &s->constants[i]));
    if (!hly_type_equal(s->constants[i].type, s->op.output.fields[s->request.n_fields + i].type))
      return hly_error_setf(&ctx->error, HLY_E_PLAN_INVALID, "a constant column of a split has another type");
  }
  return HLY_OK;
}

// ---- when columns are decoded

static void read_refs_at(scan *s, const hly_exprs *exprs, uint8_t when) {
  const uint32_t *ordinals;
  uint32_t n = hly_exprs_refs(exprs, UINT32_MAX, &ordinals);
  for (uint32_t i = 0; i < n; i++)
    if (ordinals[i] < s->request.n_fields && s->read_at[ordinals[i]] > when) s->read_at[ordinals[i]] = when;
}

// Anew for each file, and when a run-time filter is given up.
static void plan_columns(scan *s) {
  bool late = s->row_filter && (s->filter || s->runtime);
  memset(s->read_at, late ? LATE : FIRST, s->request.n_fields);
  if (!late) return;
  bool any = s->filter != NULL;
  if (s->filter) read_refs_at(s, s->filter, FIRST);
  for (hly_runtime_filter *f = s->runtime; f; f = f->next)
    if (hly_runtime_filter_active(f)) {
      read_refs_at(s, f->exprs, FOR_RUNTIME);
      any = true;
    }
  // Nothing is left to wait for; and what Spark raises on a row that is dropped must be raised.
  for (uint32_t i = 0; i < s->request.n_fields; i++)
    if (!any || s->may_fail[i]) s->read_at[i] = FIRST;
}

static bool rules_out(void *arg, const hly_pq_reader *r, const hly_pq_row_group *rg) {
  const scan *s = arg;
  for (const hly_runtime_filter *f = s->runtime_groups; f; f = f->next_groups) {
    if (!f->filter->set) continue;
    if (f->filter->set->empty) return true;
    for (uint32_t k = 0; k < f->filter->n_keys; k++) {
      if (f->columns[k] < 0 || (uint32_t)f->columns[k] >= s->request.n_fields) continue;
      uint32_t i = (uint32_t)f->columns[k];
      hly_pq_bounds b;
      hly_pq_bounds_read(&r->sources[i], s->request.fields[i].type, r->metadata, rg, &b);
      if (hly_key_filter_rules_out(f->filter, k, &b)) return true;
    }
  }
  return false;
}

static hly_status open_reader(scan *s, const Halley__FileSplit *split) {
  hly_file *file;
  HLY_TRY(hly_file_open(s->op.ctx, split->path, split->local, split->file_size, &file));
  tell_host(s, file->uri, split->start, split->length);
  HLY_TRY(hly_pq_reader_open(s->op.ctx, file, &s->request, split->start, split->length, &s->reader));
  if (s->filter || s->has_runtime) {
    s->any_may_fail = false;
    for (uint32_t i = 0; i < s->request.n_fields; i++)
      s->any_may_fail |= s->may_fail[i] = hly_pq_reader_may_fail(s->reader, i);
    plan_columns(s);
    for (uint32_t i = 0; i < s->request.n_fields; i++) s->reader->late[i] = s->read_at[i];
    if (s->runtime_groups && !s->any_may_fail) {
      s->reader->rule_out = rules_out;
      s->reader->rule_out_arg = s;
    }
  }
  s->op.metrics[HALLEY__METRIC__FILES_READ]++;
  return HLY_OK;
}

// Whether Spark would go on with the next file after this status: the options are those of its FileScanRDD.
static bool may_ignore(const scan *s, hly_status st) {
  if (st != HLY_ERR || s->filter_failed) return false;
  switch (s->op.ctx->error.id) {
  case HLY_E_FILE_NOT_FOUND: return s->ignore_missing;
  case HLY_E_FILE_CORRUPT:
  case HLY_E_FILE_READ:
  case HLY_E_FILE_COLUMN_TYPE:
  case HLY_E_FILE_UNSUPPORTED:
  case HLY_E_DATETIME_REBASE: return s->ignore_corrupt;
  default: return s->ignore_corrupt && s->op.ctx->error.jvm_ref != 0;
  }
}

// ---- batches

// Rows a batch of this row group may have so that it stays within the context's bytes.
static uint32_t rows_of_group(const scan *s) {
  const hly_ctx *ctx = s->op.ctx;
  const hly_pq_reader *r = s->reader;
  uint64_t bytes = 0, rows = (uint64_t)r->row_group->n_rows,
           limit = ctx->batch_bytes ? ctx->batch_bytes : 64ull << 20;
  for (uint32_t i = 0; i < s->request.n_fields; i++)
    if (r->sources[i].element)
      bytes += (uint64_t)r->row_group->chunks[r->sources[i].element->leaf].uncompressed_size;
  uint64_t per_row = bytes / rows + 1, n = limit / per_row;
  if (n < 1) n = 1;
  return n < ctx->batch_rows ? (uint32_t)n : ctx->batch_rows;
}

static hly_status fill_constants(scan *s, hly_batch *b, uint32_t n) {
  for (uint32_t i = 0; i < s->n_constants; i++) {
    uint32_t column = s->request.n_fields + i;
    HLY_TRY(hly_batch_writable(s->op.ctx, b, column));
    HLY_TRY(hly_vector_set_const(s->op.ctx, b->columns[column], &s->constants[i], n));
  }
  return HLY_OK;
}

static hly_status read_columns(scan *s, uint8_t when, uint32_t n) {
  for (uint32_t i = 0; i < s->request.n_fields; i++) {
    if (s->read_at[i] != when) continue;
    HLY_TRY(hly_batch_writable(s->op.ctx, s->full, i));
    HLY_TRY(hly_pq_reader_read(s->reader, i, n, s->full->columns[i]));
  }
  return HLY_OK;
}

// The survivors `sel` of the n rows in `full` to `dense`, constants excepted.
static hly_status select_columns(scan *s, uint32_t n, uint32_t n_sel, bool early_too) {
  for (uint32_t i = 0; i < s->request.n_fields; i++) {
    bool early = s->read_at[i] != LATE;
    if (early && !early_too) continue;
    HLY_TRY(hly_batch_writable(s->op.ctx, s->dense, i));
    hly_vector *out = s->dense->columns[i];
    HLY_TRY(early ? hly_vector_slice(s->op.ctx, out, s->full->columns[i], s->sel, n_sel)
                  : hly_pq_reader_select(s->reader, i, n, s->sel, n_sel, out));
  }
  return HLY_OK;
}

static hly_status return_batch(scan *s, hly_batch *b, uint32_t n, hly_batch **out) {
  HLY_TRY(fill_constants(s, b, n));
  hly_batch_set_rows(b, n);
  *out = b;
  return HLY_OK;
}

static hly_status return_kept(scan *s, hly_batch **out) {
  uint32_t n = s->n_kept;
  s->n_kept = 0;
  return return_batch(s, s->kept, n, out);
}

static hly_status keep(scan *s, uint32_t n, uint32_t n_sel) {
  hly_ctx *ctx = s->op.ctx;
  bool first = s->n_kept == 0;
  HLY_TRY(select_columns(s, n, n_sel, false));
  for (uint32_t i = 0; i < s->request.n_fields; i++) {
    if (first) {
      HLY_TRY(hly_batch_writable(ctx, s->kept, i));
      HLY_TRY(hly_vector_reset(ctx, s->kept->columns[i], 0));
    }
    HLY_TRY(s->read_at[i] != LATE
                ? hly_vector_append(ctx, s->kept->columns[i], s->full->columns[i], s->sel, n_sel)
                : hly_vector_append(ctx, s->kept->columns[i], s->dense->columns[i], NULL, n_sel));
  }
  s->n_kept += n_sel;
  return HLY_OK;
}

// Rows of `full` that the filter lets through, to *out unless they are few: then they are kept for later.
static hly_status emit(scan *s, uint32_t n, uint32_t n_sel, bool early_too, hly_batch **out) {
  uint32_t batch_rows = s->op.ctx->batch_rows;
  if (s->n_kept > 0 || (uint64_t)n_sel * SPARSE < batch_rows) {
    HLY_TRY(keep(s, n, n_sel));
    return s->n_kept * 2 >= batch_rows ? return_kept(s, out) : HLY_OK;
  }
  HLY_TRY(select_columns(s, n, n_sel, early_too));
  return return_batch(s, s->dense, n_sel, out);
}

// Skips, of the columns not decoded yet, those that would have been next at `from` or later.
static void skip_columns(scan *s, uint8_t from, uint32_t n) {
  for (uint32_t i = 0; i < s->request.n_fields; i++)
    if (s->read_at[i] >= from) hly_pq_reader_skip(s->reader, i, n);
}

// Of two filters next to each other the one that drops more goes first, from the next batch on.
static void order_runtime(scan *s) {
  hly_runtime_filter **at = &s->runtime;
  while (*at && (*at)->next) {
    hly_runtime_filter *a = *at, *b = a->next;
    if (b->n_in > 0 && a->n_in > 0 &&
        (double)b->n_out * (double)a->n_in < (double)a->n_out * (double)b->n_in) {
      a->next = b->next;
      b->next = a;
      *at = b;
    }
    at = &(*at)->next;
  }
}

// Drops more of the *n_sel rows that the filter left.
static hly_status filter_by_keys(scan *s, uint32_t n, uint32_t *n_sel) {
  bool any = false, gone = false;
  for (hly_runtime_filter *f = s->runtime; f && *n_sel > 0; f = f->next) {
    if (!hly_runtime_filter_active(f)) continue;
    hly_batch view = *s->full;
    view.sel = *n_sel < n ? s->sel : NULL;
    view.n_sel = *n_sel;
    HLY_TRY(hly_runtime_filter_apply(f, s->op.ctx, &view, s->sel, n_sel));
    any = true;
    gone |= f->bypassed;
  }
  if (any) order_runtime(s);
  s->replan = gone;
  if (*n_sel == n) // none was dropped, or looked at
    for (uint32_t i = 0; i < n; i++) s->sel[i] = i;
  return HLY_OK;
}

static hly_status filter_rows(scan *s, uint32_t n, hly_batch **out) {
  int64_t *m = s->op.metrics;
  uint32_t n_sel = n;
  HLY_TRY(fill_constants(s, s->full, n));
  hly_batch_set_rows(s->full, n);
  if (s->filter) {
    hly_status st = hly_exprs_filter(s->filter, s->op.ctx, s->full, s->sel, &n_sel, &s->raised);
    s->filter_failed = st != HLY_OK;
    HLY_TRY(st);
  }
  if (n_sel == 0) {
    skip_columns(s, FOR_RUNTIME, n);
  } else {
    if (s->runtime) {
      HLY_TRY(read_columns(s, FOR_RUNTIME, n));
      HLY_TRY(filter_by_keys(s, n, &n_sel));
    }
    if (n_sel == 0) {
      skip_columns(s, LATE, n);
    } else if (n_sel == n && s->n_kept == 0) {
      HLY_TRY(read_columns(s, LATE, n));
      HLY_TRY(return_batch(s, s->full, n, out));
    } else {
      HLY_TRY(emit(s, n, n_sel, true, out));
    }
  }
  if (s->row_filter) m[HALLEY__METRIC__ROWS_PRUNED] += n - n_sel;
  // What the scan counts as its output is what it read; the caller adds what is returned.
  m[HALLEY__METRIC__OUTPUT_ROWS] += n;
  return HLY_OK;
}

// Goes on in the file at hand. *out may stay NULL; *over: the file has no more rows.
static hly_status step(scan *s, hly_batch **out, bool *over) {
  hly_pq_reader *r = s->reader;
  *over = false;
  if (r->rows_left == 0) {
    bool more;
    HLY_TRY(hly_pq_reader_next_group(r, s->prune, &more));
    *over = !more;
    if (!more) return HLY_OK;
    s->group_rows = rows_of_group(s);
  }
  // With what is kept a batch is never over-full.
  uint32_t n =
      s->group_rows < s->op.ctx->batch_rows - s->n_kept ? s->group_rows : s->op.ctx->batch_rows - s->n_kept;
  if (n > r->rows_left) n = (uint32_t)r->rows_left;
  if (s->replan) { // what is kept has all columns
    plan_columns(s);
    s->replan = false;
  }
  HLY_TRY(read_columns(s, FIRST, n));
  r->rows_left -= n;
  if (s->filter || s->runtime) return filter_rows(s, n, out);
  return return_batch(s, s->full, n, out);
}

static hly_status next_batch(scan *s, hly_batch **out) {
  for (;;) {
    if (s->raised) {
      if (s->n_kept > 0) return return_kept(s, out);
      HLY_TRY(hly_exprs_raise(s->filter, s->op.ctx));
      return HLY_ERR; // raised before: the context still has it
    }
    hly_status st = HLY_OK;
    bool over = false;
    if (!s->reader) {
      if (!s->splits || s->next_split >= s->splits->n_splits) {
        tell_host(s, "", 0, 0);
        return HLY_OK;
      }
      const Halley__FileSplit *split = s->splits->splits[s->next_split++];
      HLY_TRY(read_constants(s, split));
      st = open_reader(s, split);
    } else {
      st = step(s, out, &over);
    }
    if (may_ignore(s, st)) { // the rest of the file is lost
      hly_error_clear(&s->op.ctx->error);
      st = HLY_OK;
      over = true;
      *out = NULL;
    }
    HLY_TRY(st);
    if (over) {
      close_file(s);
      if (s->n_kept > 0) return return_kept(s, out);
    }
    if (*out) return HLY_OK;
    HLY_TRY(hly_ctx_poll(s->op.ctx));
  }
}

// ---- operator

static hly_status next_scan(hly_op *op, hly_batch **out) {
  scan *s = (scan *)op;
  int64_t start = hly_now_ns();
  hly_status st = next_batch(s, out);
  op->metrics[HALLEY__METRIC__SCAN_NS] += hly_now_ns() - start;
  // Rows before the filter were counted when they were read.
  if (st == HLY_OK && *out && (s->filter || s->runtime))
    op->metrics[HALLEY__METRIC__OUTPUT_ROWS] -= (*out)->n_sel;
  return st;
}

static hly_status open_scan(hly_op *op, const Halley__TaskInput *task) {
  scan *s = (scan *)op;
  hly_ctx *ctx = op->ctx;
  s->splits = hly_task_splits(task, op->plan_id);
  s->next_split = 0;
  s->n_kept = 0;
  s->raised = s->filter_failed = s->replan = false;
  s->arena = hly_arena_create();
  HLY_CHECK_MEM(ctx, s->arena, 0);
  s->file_arena = hly_arena_create();
  HLY_CHECK_MEM(ctx, s->file_arena, 0);
  HLY_TRY(hly_batch_create(ctx, s->arena, &op->output, &s->full));
  s->sel = HLY_ARENA_NEW_N(s->arena, uint32_t, ctx->batch_rows + 64);
  HLY_CHECK_MEM(ctx, s->sel, ctx->batch_rows * sizeof *s->sel);
  s->read_at = HLY_ARENA_NEW_N(s->arena, uint8_t, s->request.n_fields + 1);
  s->may_fail = HLY_ARENA_NEW_N(s->arena, bool, s->request.n_fields + 1);
  if (!s->read_at || !s->may_fail) return hly_ctx_nomem(ctx, s->request.n_fields * 2);
  memset(s->read_at, FIRST, s->request.n_fields);
  if (!s->filter && !s->runtime) return HLY_OK;
  HLY_TRY(hly_batch_create(ctx, s->arena, &op->output, &s->dense));
  HLY_TRY(hly_batch_create(ctx, s->arena, &op->output, &s->kept));
  for (hly_runtime_filter *f = s->runtime; f; f = f->next)
    HLY_TRY(hly_runtime_filter_open(f, ctx, task->partition));
  return s->filter ? hly_exprs_open(s->filter, ctx, task->partition, op->metrics) : HLY_OK;
}

static void close_scan(hly_op *op) {
  scan *s = (scan *)op;
  close_file(s);
  if (s->filter) hly_exprs_close(s->filter);
  for (hly_runtime_filter *f = s->runtime; f; f = f->next) hly_runtime_filter_close(f);
  hly_arena_destroy(s->arena);
  hly_arena_destroy(s->file_arena);
  s->arena = s->file_arena = NULL;
  s->splits = NULL;
}

static const hly_op_class PARQUET_SCAN = {
    .name = "ParquetScan", .open = open_scan, .next = next_scan, .close = close_scan};

static hly_status check_field(hly_binder *b, const hly_field *f, bool case_sensitive) {
  char type[128];
  switch (f->type->kind) {
  case HLY_ARRAY:
  case HLY_MAP:
  case HLY_STRUCT:
  case HLY_VARIANT:
  case HLY_CALENDAR_INTERVAL:
  case HLY_OTHER:
    return hly_bind_refuse(b, "Parquet column %s of type %s is not read natively", f->name,
                           hly_type_print(f->type, type, sizeof type));
  default: break;
  }
  if (!case_sensitive && hly_pq_schema_needs_unicode(f->name))
    return hly_bind_refuse(b, "matching Parquet column %s without regard to case is not native", f->name);
  return HLY_OK;
}

hly_status hly_parquet_scan_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  const Halley__ParquetScan *msg = plan->parquet_scan;
  hly_op *op;
  HLY_TRY(hly_op_create(b, plan, &PARQUET_SCAN, sizeof(scan), 0, &op));
  scan *s = (scan *)op;
  if (msg->n_data_schema > op->output.n_fields)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID,
                          "ParquetScan has %u output columns for %zu of the files", op->output.n_fields,
                          msg->n_data_schema);
  hly_schema files;
  HLY_TRY(hly_bind_schema(b, msg->data_schema, msg->n_data_schema, &files));
  hly_status st = HLY_OK;
  for (uint32_t i = 0; i < files.n_fields; i++) {
    const hly_field *f = &files.fields[i];
    if (!hly_type_equal(f->type, op->output.fields[i].type))
      return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID,
                            "column %s of ParquetScan differs in type from its output", f->name);
    hly_status field_st = check_field(b, f, msg->case_sensitive);
    if (field_st != HLY_OK && field_st != HLY_REFUSED) return field_st;
    if (field_st == HLY_REFUSED) st = HLY_REFUSED; // go on: all reasons at once
  }
  HLY_TRY(st);
  s->request = (hly_pq_request){.fields = files.fields,
                                .n_fields = files.n_fields,
                                .case_sensitive = msg->case_sensitive,
                                .use_field_ids = msg->use_field_ids,
                                .ignore_missing_field_ids = msg->ignore_missing_field_ids,
                                .datetime_rebase = hly_arena_printf(b->arena, "%s", msg->datetime_rebase),
                                .int96_rebase = hly_arena_printf(b->arena, "%s", msg->int96_rebase),
                                .time_zone = hly_arena_printf(b->arena, "%s", msg->session_time_zone)};
  if (!s->request.datetime_rebase || !s->request.int96_rebase || !s->request.time_zone)
    return hly_ctx_nomem(b->ctx, 64);
  s->n_constants = op->output.n_fields - files.n_fields;
  s->ignore_corrupt = msg->ignore_corrupt_files;
  s->ignore_missing = msg->ignore_missing_files;
  s->row_filter = msg->row_filter;
  HLY_TRY(hly_pq_prune_bind(b, msg->prune, msg->n_prune, &op->output, files.n_fields, &s->prune));
  *out = op;
  return HLY_OK;
}

bool hly_parquet_scan_takes_filter(const hly_op *op) {
  return op->cls == &PARQUET_SCAN && ((const scan *)op)->row_filter && !((const scan *)op)->filter;
}

void hly_parquet_scan_set_filter(hly_op *op, hly_exprs *filter) {
  ((scan *)op)->filter = filter;
}

bool hly_parquet_scan_takes_runtime_filter(const hly_op *op) {
  // Where the rest of a bad file is passed over, how far it was read decides which rows there are.
  return op->cls == &PARQUET_SCAN && !((const scan *)op)->ignore_corrupt;
}

// Whether some column is neither a key of `f` nor read by the filter: its values may be saved.
static bool saves_columns(const scan *s, const hly_runtime_filter *f) {
  for (uint32_t i = 0; i < s->request.n_fields; i++) {
    const hly_exprs *readers[2] = {f->exprs, s->filter};
    bool read = false;
    for (int e = 0; e < 2 && readers[e]; e++) {
      const uint32_t *ordinals;
      uint32_t n = hly_exprs_refs(readers[e], UINT32_MAX, &ordinals);
      for (uint32_t k = 0; k < n; k++) read |= ordinals[k] == i;
    }
    if (!read) return true;
  }
  return false;
}

bool hly_parquet_scan_add_runtime_filter(hly_op *op, hly_runtime_filter *f, bool above_work,
                                         bool past_errors) {
  scan *s = (scan *)op;
  s->has_runtime = true;
  bool shown = s->filter && (!hly_exprs_deterministic(s->filter) ||
                             (hly_exprs_can_raise(s->filter) && !past_errors)); // it must see every row
  if (!shown) {
    f->next_groups = s->runtime_groups;
    s->runtime_groups = f;
  }
  if (!s->row_filter || (!above_work && !saves_columns(s, f))) return false;
  f->count_in = HALLEY__METRIC__DYNAMIC_FILTER_INPUT_ROWS;
  f->count_pruned = HALLEY__METRIC__DYNAMIC_FILTER_ROWS_PRUNED;
  f->next = s->runtime;
  s->runtime = f;
  return true;
}
