// HashAggregate: every mode of Spark's (PARTIAL, PARTIAL_MERGE, FINAL, COMPLETE, mixed as Spark plans them),
// with any number of keys or none. Without keys there is exactly one group, with or without input.
//
// Memory: the table grows by reservation. When it is refused, a partial aggregate gives its groups to the
// consumer and begins anew; every other writes them to disk (aggregate_spill.c).
#include "operators/hash_aggregate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

// When a partial aggregate gives up looking for groups: by itself, and where the session asks for it.
enum { SKIP_AFTER = 100000 };
static const double SKIP_RATIO = 0.9, SKIP_RATIO_ASKED = 0.8;
static const char SKIP_KEY[] = "spark.comet.exec.aggregate.skipPartial.enabled";
static const char SKIP_ROWS_KEY[] =
    "spark.comet.datafusion.execution.skip_partial_aggregation_probe_rows_threshold";
static const char SKIP_RATIO_KEY[] =
    "spark.comet.datafusion.execution.skip_partial_aggregation_probe_ratio_threshold";

// ---- Consuming.

static int64_t spill(void *arg, int64_t want) {
  hly_hash_aggregate *h = arg;
  uint32_t level = hly_agg_next_level(h);
  if (!h->spillable || h->n_keys == 0 || h->skipping || h->table.store.n_rows == 0 || level == UINT32_MAX)
    return 0;
  int64_t before = hly_reservation_bytes(h->reservation);
  h->spillable = false;
  h->spill_status =
      hly_agg_flush(h, level); // a failure leaves the table unusable: reported when we run again
  if (h->spill_status != HLY_OK) return 0;
  h->spillable = true;
  return before - hly_reservation_bytes(h->reservation);
}

static hly_status need_groups(hly_hash_aggregate *h, uint32_t n) {
  if (n <= h->cap_groups) return HLY_OK;
  uint8_t **groups = hly_malloc((size_t)n * sizeof *groups);
  HLY_CHECK_MEM(h->op.ctx, groups, (size_t)n * sizeof *groups);
  hly_free(h->groups);
  h->groups = groups;
  h->cap_groups = n;
  return HLY_OK;
}

// Evaluates a call's filter and its arguments on the rows that pass.
static hly_status evaluate_filtered(hly_hash_aggregate *h, hly_agg_call *call) {
  hly_ctx *ctx = h->op.ctx;
  const hly_batch *in = h->in;
  HLY_TRY(hly_selection_need(ctx, &call->rows, in->n_sel));
  HLY_TRY(hly_selection_need(ctx, &call->position, in->n_sel));
  bool raised = false;
  call->n_rows = call->next_row = 0;
  HLY_TRY(hly_exprs_filter(call->filter, ctx, in, call->rows.rows, &call->n_rows, &raised));
  if (raised) {
    HLY_TRY(hly_exprs_raise(call->filter, ctx));
    return HLY_ERR;
  }
  for (uint32_t i = 0, p = 0; i < call->n_rows; i++, p++) {
    if (in->sel)
      while (in->sel[p] != call->rows.rows[i]) p++;
    else
      p = call->rows.rows[i];
    call->position.rows[i] = p;
  }
  if (call->n_rows == 0 || !call->args) return HLY_OK;
  hly_batch view = *in;
  view.sel = call->rows.rows;
  view.n_sel = call->n_rows;
  uint32_t n_good = 0;
  HLY_TRY(hly_exprs_eval(call->args, ctx, &view, call->columns, &n_good));
  if (n_good == call->n_rows) return HLY_OK;
  HLY_TRY(hly_exprs_raise(call->args, ctx));
  return HLY_ERR;
}

// Pulls the next batch and evaluates everything over it. h->in NULL: the input ended.
static hly_status pull(hly_hash_aggregate *h) {
  hly_ctx *ctx = h->op.ctx;
  h->in = NULL;
  hly_batch *in;
  do {
    h->spillable = true;
    hly_status st = hly_op_next(h->op.inputs[0], &in);
    h->spillable = false;
    HLY_TRY(st);
    HLY_TRY(h->spill_status);
    if (!in) return HLY_OK;
  } while (in->n_sel == 0);
  h->in = in;
  h->in_next = 0;
  HLY_TRY(need_groups(h, in->n_sel));
  if (h->exprs) {
    uint32_t n_good = 0;
    h->spillable = true; // evaluation may call the host
    hly_status st = hly_exprs_eval(h->exprs, ctx, in, h->columns, &n_good);
    h->spillable = false;
    HLY_TRY(st);
    HLY_TRY(h->spill_status);
    if (n_good < in->n_sel) {
      HLY_TRY(hly_exprs_raise(h->exprs, ctx));
      return HLY_ERR;
    }
  }
  for (uint32_t c = 0; c < h->n_calls; c++) {
    hly_agg_call *call = &h->calls[c];
    if (call->filter) {
      h->spillable = true;
      hly_status st = evaluate_filtered(h, call);
      h->spillable = false;
      HLY_TRY(st);
      HLY_TRY(h->spill_status);
    } else if (call->agg->merges) {
      call->columns = in->columns + call->buffer_at;
    } else {
      call->columns = h->columns + call->first_expr;
    }
  }
  if (h->n_keys == 0) return HLY_OK;
  return hly_group_table_begin(&h->table, h->columns, in);
}

// Gives rows [from, from + n) of the batch, whose groups are known, to every call.
static hly_status update(hly_hash_aggregate *h, uint32_t from, uint32_t n) {
  const hly_batch *in = h->in;
  for (uint32_t c = 0; c < h->n_calls; c++) {
    hly_agg_call *call = &h->calls[c];
    if (h->partial_below) {
      HLY_TRY(call->agg->combine(call->agg, &h->env, &h->one, &h->partial_below->one, 1));
      continue;
    }
    if (call->shares) continue;
    uint8_t *const *groups = h->n_keys ? h->groups + from : NULL;
    if (!call->filter) {
      HLY_TRY(
          hly_agg_apply(call->agg, &h->env, &h->scratch, call->columns, in->sel, from, n, groups, h->one));
      continue;
    }
    uint32_t first = call->next_row;
    HLY_TRY(hly_agg_scratch_need(h->op.ctx, &h->scratch, in->n_sel));
    while (call->next_row < call->n_rows && call->position.rows[call->next_row] < from + n) {
      h->scratch.groups[call->next_row - first] = h->groups[call->position.rows[call->next_row]];
      call->next_row++;
    }
    HLY_TRY(hly_agg_apply(call->agg, &h->env, &h->scratch, call->columns, call->rows.rows, first,
                          call->next_row - first, h->n_keys ? h->scratch.groups : NULL, h->one));
  }
  return HLY_OK;
}

// Takes in what is left of the batch, until it ends or the table must be emptied (*full).
static hly_status take_in(hly_hash_aggregate *h, bool *full) {
  uint32_t left = h->in->n_sel - h->in_next, n = left;
  if (h->n_keys)
    HLY_TRY(hly_group_table_find(&h->table, h->columns, h->in->sel, h->in_next, left, h->skipping,
                                 h->groups + h->in_next, &n));
  HLY_TRY(update(h, h->in_next, n));
  h->in_next += n;
  h->n_taken += n;
  if (h->skipping) h->op.metrics[HALLEY__METRIC__SKIPPED_PARTIAL_ROWS] += n;
  *full = h->n_keys && (n < left || h->env.over);
  h->env.over = false;
  return HLY_OK;
}

// Whether so few keys repeat that looking for their groups does not pay: the final aggregate sees them all
// anyway.
static bool hardly_reduces(const hly_hash_aggregate *h) {
  return h->may_skip && !h->spill && h->n_taken >= h->skip_after &&
         (double)h->table.store.n_rows > h->skip_ratio * (double)h->n_taken;
}

static hly_status consume(hly_hash_aggregate *h) {
  while (h->phase == HLY_AGG_CONSUME) {
    if (!h->in) {
      HLY_TRY(pull(h));
      if (!h->in) {
        h->input_done = true;
        break;
      }
    }
    int64_t start = hly_now_ns();
    bool full;
    hly_status st = take_in(h, &full);
    if (h->in_next == h->in->n_sel) {
      full |= h->skipping;
      h->in = NULL;
    }
    if (st == HLY_OK && !h->skipping && h->n_keys && hardly_reduces(h)) h->skipping = full = true;
    if (st == HLY_OK && full) {
      if (h->partial)
        h->phase = HLY_AGG_EMIT;
      else
        st = hly_agg_flush(h, 0);
    }
    h->op.metrics[HALLEY__METRIC__AGG_NS] += hly_now_ns() - start;
    HLY_TRY(st);
  }
  if (h->phase == HLY_AGG_EMIT) {
    hly_agg_emit_begin(h);
    h->n_taken = 0;
    return HLY_OK;
  }
  if (h->spill) HLY_TRY(hly_agg_flush(h, 0));
  h->phase = HLY_AGG_EMIT;
  if (!h->spill) {
    hly_agg_emit_begin(h);
    return HLY_OK;
  }
  bool more;
  HLY_TRY(hly_agg_merge_next(h, &more));
  if (!more) h->phase = HLY_AGG_DONE;
  hly_agg_emit_begin(h);
  return HLY_OK;
}

static hly_status next_aggregate(hly_op *op, hly_batch **out) {
  hly_hash_aggregate *h = (hly_hash_aggregate *)op;
  *out = NULL;
  h->spillable = false;
  HLY_TRY(h->spill_status);
  for (;;) {
    switch (h->phase) {
    case HLY_AGG_CONSUME: HLY_TRY(consume(h)); break;
    case HLY_AGG_EMIT: {
      HLY_TRY(hly_agg_emit_next(h, out));
      if (*out) {
        h->spillable = true; // until we are pulled again
        return HLY_OK;
      }
      hly_group_table_clear(&h->table);
      hly_agg_emit_begin(h);
      if (!h->input_done) {
        h->phase = HLY_AGG_CONSUME;
        break;
      }
      bool more = false;
      if (h->spill) HLY_TRY(hly_agg_merge_next(h, &more));
      if (!more) h->phase = HLY_AGG_DONE;
      break;
    }
    default: return HLY_OK;
    }
  }
}

// ---- Opening and closing.

static hly_status open_aggregate(hly_op *op, const Halley__TaskInput *task) {
  hly_hash_aggregate *h = (hly_hash_aggregate *)op;
  hly_ctx *ctx = op->ctx;
  h->phase = HLY_AGG_CONSUME;
  h->input_done = h->skipping = h->spillable = h->failed = false;
  h->spill_status = HLY_OK;
  h->in = NULL;
  h->n_taken = 0;
  HLY_TRY(hly_op_open(op->inputs[0], task));
  h->reservation = hly_reservation_create(ctx->pool, "HashAggregate", spill, h);
  HLY_CHECK_MEM(ctx, h->reservation, 0);
  hly_reservation_show_peak(h->reservation, &op->metrics[HALLEY__METRIC__PEAK_MEMORY]);
  HLY_TRY(hly_group_table_init(&h->table, ctx, &h->layout, h->reservation));
  h->env = (hly_agg_env){.ctx = ctx, .store = &h->table.store};
  if (h->n_keys == 0) {
    HLY_TRY(hly_row_store_append(&h->table.store, &h->one));
    memset(h->one, 0, h->layout.row_bytes);
  }
  h->emit_rows = hly_malloc((size_t)ctx->batch_rows * sizeof *h->emit_rows);
  HLY_CHECK_MEM(ctx, h->emit_rows, (size_t)ctx->batch_rows * sizeof *h->emit_rows);
  h->arena = hly_arena_create();
  HLY_CHECK_MEM(ctx, h->arena, 0);
  HLY_TRY(hly_batch_create(ctx, h->arena, &h->inner, &h->inner_batch));
  if (h->exprs) HLY_TRY(hly_exprs_open(h->exprs, ctx, task->partition, op->metrics));
  for (uint32_t c = 0; c < h->n_calls; c++) {
    if (h->calls[c].filter) HLY_TRY(hly_exprs_open(h->calls[c].filter, ctx, task->partition, op->metrics));
    if (h->calls[c].args) HLY_TRY(hly_exprs_open(h->calls[c].args, ctx, task->partition, op->metrics));
  }
  return h->results ? hly_exprs_open(h->results, ctx, task->partition, op->metrics) : HLY_OK;
}

static void close_aggregate(hly_op *op) {
  hly_hash_aggregate *h = (hly_hash_aggregate *)op;
  h->spillable = false;
  if (h->exprs) hly_exprs_close(h->exprs);
  if (h->results) hly_exprs_close(h->results);
  for (uint32_t c = 0; c < h->n_calls; c++) {
    if (h->calls[c].filter) hly_exprs_close(h->calls[c].filter);
    if (h->calls[c].args) hly_exprs_close(h->calls[c].args);
    hly_selection_deinit(&h->calls[c].rows);
    hly_selection_deinit(&h->calls[c].position);
  }
  hly_agg_spill_close(h);
  hly_group_table_deinit(&h->table);
  hly_agg_scratch_deinit(&h->scratch);
  hly_selection_deinit(&h->identity);
  hly_free(h->groups);
  hly_free(h->emit_rows);
  h->groups = h->emit_rows = NULL;
  h->cap_groups = h->n_emit = h->next_emit = 0;
  hly_arena_destroy(h->arena);
  h->arena = NULL;
  h->inner_batch = NULL;
  h->one = NULL;
  h->in = NULL;
  hly_reservation_destroy(h->reservation);
  h->reservation = NULL;
}

static const hly_op_class HASH_AGGREGATE = {
    .name = "HashAggregate", .open = open_aggregate, .next = next_aggregate, .close = close_aggregate};

// ---- Binding.

static bool has_collation(const hly_type *t) {
  if (t->collation) return true;
  for (uint32_t i = 0; i < t->n_fields; i++)
    if (has_collation(t->fields[i].type)) return true;
  return false;
}

static hly_status bind_call(hly_binder *b, hly_hash_aggregate *h, const Halley__AggCall *msg,
                            hly_agg_call *call) {
  const hly_schema *input = &h->op.inputs[0]->output;
  HLY_TRY(hly_agg_bind(b, msg, h->n_keys > 0, &call->agg));
  if (call->agg->merges) {
    if (msg->buffer_offset < 0 || (uint64_t)msg->buffer_offset + call->agg->n_buffers > input->n_fields)
      return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "buffer column %d of %s is not in the input",
                            msg->buffer_offset, call->agg->cls);
    call->buffer_at = (uint32_t)msg->buffer_offset;
    for (uint32_t i = 0; i < call->agg->n_buffers; i++)
      if (!hly_type_equal(input->fields[call->buffer_at + i].type, call->agg->buffer_types[i]))
        return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "buffer column %u of %s has another type",
                              call->buffer_at + i, call->agg->cls);
    return HLY_OK;
  }
  if (!msg->filter) {
    call->first_expr = h->n_exprs;
    h->n_exprs += (uint32_t)msg->n_args;
    return HLY_OK;
  }
  const Halley__Expr *filter = msg->filter;
  HLY_TRY(hly_exprs_bind(b, h->op.plan_id, &filter, 1, input, &call->filter));
  if (hly_exprs_type(call->filter, 0)->kind != HLY_BOOLEAN)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "the filter of %s is not boolean",
                          call->agg->cls);
  call->columns = HLY_ARENA_NEW_N(b->arena, hly_vector *, msg->n_args + 1);
  HLY_CHECK_MEM(b->ctx, call->columns, msg->n_args * sizeof(void *));
  if (msg->n_args == 0) return HLY_OK;
  return hly_exprs_bind(b, h->op.plan_id, (const Halley__Expr *const *)msg->args, (uint32_t)msg->n_args,
                        input, &call->args);
}

// Keys and arguments as one program, so that what they share is computed once.
static hly_status bind_exprs(hly_binder *b, hly_hash_aggregate *h, const Halley__HashAggregate *msg) {
  const Halley__Expr **exprs = HLY_ARENA_NEW_N(b->arena, const Halley__Expr *, h->n_exprs + 1);
  h->columns = HLY_ARENA_NEW_N(b->arena, hly_vector *, h->n_exprs + 1);
  if (!exprs || !h->columns) return hly_ctx_nomem(b->ctx, h->n_exprs * 16);
  uint32_t n = 0;
  for (uint32_t k = 0; k < h->n_keys; k++) exprs[n++] = msg->groupings[k];
  for (uint32_t c = 0; c < h->n_calls; c++)
    if (!h->calls[c].agg->merges && !msg->calls[c]->filter)
      for (size_t i = 0; i < msg->calls[c]->n_args; i++) exprs[n++] = msg->calls[c]->args[i];
  return n ? hly_exprs_bind(b, h->op.plan_id, exprs, n, &h->op.inputs[0]->output, &h->exprs) : HLY_OK;
}

// An earlier call that keeps the same state of the same plain column.
static const hly_agg_call *same_state(const hly_hash_aggregate *h, uint32_t c) {
  const hly_agg_call *call = &h->calls[c];
  const hly_agg *a = call->agg;
  // (Without keys sums cost little, and partial_below wants each state for itself.)
  if (h->n_keys == 0 || !a->shareable || a->merges || call->filter) return NULL;
  for (uint32_t i = 0; i < c; i++) {
    const hly_agg_call *other = &h->calls[i];
    const hly_agg *b = other->agg;
    if (other->shares || !b->shareable || b->merges || other->filter || b->update != a->update ||
        b->state_bytes != a->state_bytes || !hly_type_equal(b->buffer_types[0], a->buffer_types[0]))
      continue;
    int32_t column = hly_exprs_as_column(h->exprs, call->first_expr);
    if (column >= 0 && column == hly_exprs_as_column(h->exprs, other->first_expr)) return other;
  }
  return NULL;
}

// The row of keys and states, and the schema of what leaves it.
static hly_status bind_layout(hly_binder *b, hly_hash_aggregate *h) {
  char text[128];
  uint32_t n = h->n_keys;
  for (uint32_t c = 0; c < h->n_calls; c++) n += hly_agg_n_outputs(h->calls[c].agg);
  hly_field *fields = HLY_ARENA_NEW_N(b->arena, hly_field, n + 1);
  const hly_type **types = HLY_ARENA_NEW_N(b->arena, const hly_type *, h->n_keys + 1);
  if (!fields || !types) return hly_ctx_nomem(b->ctx, n * 32);
  h->inner = (hly_schema){n, fields};
  n = 0;
  for (uint32_t k = 0; k < h->n_keys; k++) {
    types[k] = hly_exprs_type(h->exprs, k);
    if (has_collation(types[k]) || types[k]->phys == HLY_PHYS_VARIANT)
      return hly_bind_refuse(b, "grouping by %s has no native form",
                             hly_type_print(types[k], text, sizeof text));
    fields[n++] = (hly_field){.name = "", .type = types[k], .nullable = true};
  }
  HLY_TRY(hly_row_layout_init(b->ctx, b->arena, types, h->n_keys, HLY_GROUP_HEADER, &h->layout));
  for (uint32_t c = 0; c < h->n_calls; c++) {
    hly_agg *a = h->calls[c].agg;
    const hly_agg_call *other = same_state(h, c);
    h->calls[c].shares = other != NULL;
    a->offset = other ? other->agg->offset : hly_row_layout_add_tail(&h->layout, a->state_bytes);
    if (a->has_view) HLY_TRY(hly_row_layout_add_view(b->ctx, b->arena, &h->layout, a->offset));
    for (uint32_t i = 0; i < hly_agg_n_outputs(a); i++)
      fields[n++] = (hly_field){.name = "", .type = hly_agg_output_type(a, i), .nullable = true};
  }
  return HLY_OK;
}

static hly_status bind_results(hly_binder *b, hly_hash_aggregate *h, const Halley__HashAggregate *msg) {
  const hly_schema *output = &h->op.output;
  if (msg->n_results != output->n_fields)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "HashAggregate has %zu results for %u columns",
                          msg->n_results, output->n_fields);
  if (msg->n_results > 0)
    HLY_TRY(hly_exprs_bind(b, h->op.plan_id, (const Halley__Expr *const *)msg->results,
                           (uint32_t)msg->n_results, &h->inner, &h->results));
  bool same = msg->n_results == h->inner.n_fields;
  for (uint32_t i = 0; same && i < output->n_fields; i++)
    same = hly_exprs_as_column(h->results, i) == (int32_t)i;
  if (same) h->results = NULL;
  h->result_columns = HLY_ARENA_NEW_N(b->arena, hly_vector *, output->n_fields + 1);
  HLY_CHECK_MEM(b->ctx, h->result_columns, output->n_fields * sizeof(void *));
  return HLY_OK;
}

// Without calls only where it is asked for: rows that are all key are the ones that grouping makes fewest.
static void bind_skipping(hly_binder *b, hly_hash_aggregate *h) {
  const char *asked = hly_ctx_conf(b->ctx, SKIP_KEY), *rows = hly_ctx_conf(b->ctx, SKIP_ROWS_KEY),
             *ratio = hly_ctx_conf(b->ctx, SKIP_RATIO_KEY);
  bool is_asked = asked && strcmp(asked, "true") == 0;
  h->may_skip &= h->partial && (h->n_calls > 0 || is_asked);
  h->skip_after = is_asked && rows ? strtoull(rows, NULL, 10) : SKIP_AFTER;
  h->skip_ratio = is_asked ? ratio ? strtod(ratio, NULL) : SKIP_RATIO_ASKED : SKIP_RATIO;
}

static hly_hash_aggregate *partial_below(const hly_hash_aggregate *h) {
  const hly_op *input = h->op.inputs[0];
  if (h->n_keys > 0 || input->cls != &HASH_AGGREGATE) return NULL;
  hly_hash_aggregate *below = (hly_hash_aggregate *)h->op.inputs[0];
  if (below->n_keys > 0 || below->results || below->n_calls != h->n_calls) return NULL;
  uint32_t buffer_at = 0;
  for (uint32_t c = 0; c < h->n_calls; c++) {
    const hly_agg *a = h->calls[c].agg, *p = below->calls[c].agg;
    bool same = a->mode == HALLEY__AGG_MODE__FINAL && p->mode == HALLEY__AGG_MODE__PARTIAL &&
                a->cls == p->cls && a->offset == p->offset && a->state_bytes == p->state_bytes &&
                h->calls[c].buffer_at == buffer_at;
    if (!same) return NULL;
    buffer_at += a->n_buffers;
  }
  return below;
}

hly_status hly_hash_aggregate_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  hly_op *op;
  HLY_TRY(hly_op_create(b, plan, &HASH_AGGREGATE, sizeof(hly_hash_aggregate), 1, &op));
  hly_hash_aggregate *h = (hly_hash_aggregate *)op;
  const Halley__HashAggregate *msg = plan->hash_aggregate;
  h->n_keys = h->n_exprs = (uint32_t)msg->n_groupings;
  h->n_calls = (uint32_t)msg->n_calls;
  h->calls = HLY_ARENA_NEW_N(b->arena, hly_agg_call, msg->n_calls + 1);
  HLY_CHECK_MEM(b->ctx, h->calls, msg->n_calls * sizeof *h->calls);
  h->partial = h->n_keys > 0 && (h->n_calls > 0 || msg->distinct_above);
  h->may_skip = true;
  // Bound to the end even when something is refused, so that EXPLAIN shows every reason.
  hly_status refused = HLY_OK;
  for (uint32_t c = 0; c < h->n_calls; c++) {
    hly_status st = bind_call(b, h, msg->calls[c], &h->calls[c]);
    if (st == HLY_REFUSED) {
      refused = st;
      continue;
    }
    HLY_TRY(st);
    h->partial &= msg->calls[c]->mode == HALLEY__AGG_MODE__PARTIAL;
    h->may_skip &= !h->calls[c].agg->rounds;
  }
  HLY_TRY(refused);
  bind_skipping(b, h);
  HLY_TRY(bind_exprs(b, h, msg));
  HLY_TRY(bind_layout(b, h));
  HLY_TRY(bind_results(b, h, msg));
  h->partial_below = partial_below(h);
  *out = op;
  return HLY_OK;
}
