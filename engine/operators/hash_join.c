// HashJoin, as Spark's ShuffledHashJoinExec and BroadcastHashJoinExec: every join type, either build side
// (Spark has semi, anti and existence joins only over a build side on the right), null-aware anti join.
//
// The build side is taken in whole, then the probe side streams through. When the pool refuses the build side
// room, or asks for it later, both sides go to disk in partitions (hash_join_spill.c), what was joined before
// excepted. Not so a broadcast value: that is in memory because Spark decided so.
#include "operators/hash_join.h"

#include <string.h>

#include "base/mem.h"
#include "operators/runtime_filter.h"

static bool keeps_null_build(const hly_hash_join *h) {
  return hly_hash_join_has_tail(h) && h->joiner.form != HLY_JOIN_SEMI;
}

bool hly_hash_join_keeps_unmatched(const hly_hash_join *h) {
  const hly_joiner *j = &h->joiner;
  return j->form == HLY_JOIN_PAIRS ? j->probe_outer : !j->gives_kept && j->form != HLY_JOIN_SEMI;
}

static hly_status give_memory(hly_hash_join *h) {
  bool done;
  switch (h->phase) {
  case HLY_JOIN_BUILD: return hly_hash_join_flush(h, true);
  case HLY_JOIN_PARTITION:
    // The rows of that batch lie in the store too, and are on no disk before it is known which are left.
    return h->unloaded ? HLY_OK : hly_hash_join_flush(h, false);
  case HLY_JOIN_PROBE:
    if (hly_joiner_in_row(&h->joiner)) return HLY_OK; // its chain is in use
    // fall through
  case HLY_JOIN_TAIL:
    HLY_TRY(hly_hash_join_unload(h, &done));
    if (done) h->phase = HLY_JOIN_PARTITION;
    h->unloaded = done;
    return HLY_OK;
  default: return HLY_OK;
  }
}

static int64_t spill(void *arg, int64_t want) {
  hly_hash_join *h = arg;
  const hly_row_store *store = h->phase == HLY_JOIN_PARTITION ? &h->probe_store : &h->store;
  if (!h->spillable || h->force || h->spill_status || store->n_rows == 0) return 0;
  int64_t before = hly_reservation_bytes(h->reservation);
  h->spillable = false;
  h->spill_status = give_memory(h); // a failure is reported when we run again
  h->spillable = true;
  return before - hly_reservation_bytes(h->reservation);
}

// ---- Input.

// Pulls the next batch that has rows.
static hly_status pull_rows(hly_hash_join *h, hly_op *input, hly_batch **out) {
  do {
    h->spillable = true;
    hly_status st = hly_op_next(input, out);
    h->spillable = false;
    HLY_TRY(st);
    HLY_TRY(h->spill_status);
  } while (*out && (*out)->n_sel == 0);
  return HLY_OK;
}

// Evaluates the keys of a batch; *n_good: rows before the first whose key raises.
static hly_status eval_keys(hly_hash_join *h, hly_exprs *keys, hly_batch *in, uint32_t *n_good) {
  *n_good = in ? in->n_sel : 0;
  if (!in || !keys) return HLY_OK;
  h->spillable = true; // evaluation may call the host
  hly_status st = hly_exprs_eval(keys, h->op.ctx, in, h->keys, n_good);
  h->spillable = false;
  HLY_TRY(st);
  return h->spill_status;
}

static hly_status pull(hly_hash_join *h, hly_op *input, hly_exprs *keys, hly_batch **out, uint32_t *n_good) {
  HLY_TRY(pull_rows(h, input, out));
  return eval_keys(h, keys, *out, n_good);
}

static hly_status raise(hly_hash_join *h, hly_exprs *keys) {
  HLY_TRY(hly_exprs_raise(keys, h->op.ctx));
  return HLY_ERR; // raised before: the context still has it
}

// Leaves the rows with a null key out: *out is `in` or a view of it.
static hly_status drop_null_keys(hly_hash_join *h, hly_batch *in, const hly_batch **out) {
  *out = in;
  bool any = false;
  for (uint32_t k = 0; k < h->n_keys; k++) any |= h->keys[k]->validity != NULL;
  if (!any) return HLY_OK;
  HLY_TRY(hly_selection_need(h->op.ctx, &h->chosen, in->n_sel));
  uint32_t n = 0;
  for (uint32_t i = 0; i < in->n_sel; i++) {
    uint32_t row = in->sel ? in->sel[i] : i;
    bool null = false;
    for (uint32_t k = 0; k < h->n_keys; k++) null |= hly_vector_is_null(h->keys[k], row);
    h->chosen.rows[n] = row;
    n += !null;
  }
  if (n == in->n_sel) return HLY_OK;
  h->has_null = true;
  h->view = *in;
  h->view.sel = h->chosen.rows;
  h->view.n_sel = n;
  *out = &h->view;
  return HLY_OK;
}

// Takes a batch of either side into its store; what does not fit goes to disk.
static hly_status take_in(hly_hash_join *h, hly_batch *in, bool build) {
  hly_ctx *ctx = h->op.ctx;
  const hly_join_rows *rows = build ? &h->joiner.kept : &h->probe_rows;
  const hly_batch *batch = in;
  if (!(build ? keeps_null_build(h) : hly_hash_join_keeps_unmatched(h)))
    HLY_TRY(drop_null_keys(h, in, &batch));
  if (batch->n_sel == 0) return HLY_OK;
  HLY_TRY(hly_join_rows_begin(rows, ctx, &h->scratch, h->keys, batch));
  uint32_t from = 0;
  while (from < batch->n_sel) {
    hly_status st = hly_join_rows_append(rows, ctx, &h->scratch, build ? &h->store : &h->probe_store, h->keys,
                                         batch, &from);
    if (st == HLY_DENIED) st = hly_hash_join_flush(h, build);
    HLY_TRY(st);
  }
  return HLY_OK;
}

static hly_status consume_build(hly_hash_join *h) {
  for (;;) {
    hly_batch *in;
    uint32_t n_good;
    HLY_TRY(pull(h, *h->build_input, h->build_keys, &in, &n_good));
    if (!in) break;
    if (n_good < in->n_sel) return raise(h, h->build_keys);
    h->has_rows = true;
    HLY_TRY(take_in(h, in, true));
  }
  h->phase = HLY_JOIN_PROBE;
  if (!h->spill) {
    hly_status st = hly_join_table_build(&h->table, &h->store, h->force);
    if (st != HLY_DENIED) return st;
  }
  HLY_TRY(hly_hash_join_flush(h, true));
  h->phase = HLY_JOIN_PARTITION;
  return HLY_OK;
}

// Tells the operators below the probe side, which have not given a row yet, what keys there are. Not when the
// build side is on disk: then they let everything pass. So does one that there is no memory for.
static hly_status build_filters(hly_hash_join *h) {
  hly_ctx *ctx = h->op.ctx;
  for (hly_key_filter *f = h->key_filters; f; f = f->next) {
    hly_status st = h->shared ? hly_hash_join_share_keys(h, f)
                              : hly_key_filter_build(f, ctx, &h->joiner.kept, &h->store, h->reservation);
    if (st == HLY_NOMEM)
      hly_error_clear(&ctx->error);
    else
      HLY_TRY(st);
  }
  return HLY_OK;
}

// The build side ready to be probed, or on disk.
static hly_status build(hly_hash_join *h) {
  bool none = true;
  if (h->shared_key) {
    // A task without rows to look up needs no table. One that can be shared has keys that raise nothing. But
    // where rows are filtered by the keys the first batch comes after them.
    if (!h->key_filters) {
      HLY_TRY(pull_rows(h, *h->probe_input, &h->first));
      if (!h->first) {
        h->phase = HLY_JOIN_DONE;
        return HLY_OK;
      }
    }
    HLY_TRY(hly_hash_join_take_shared(h, consume_build, &none));
  }
  if (none) HLY_TRY(consume_build(h));
  return h->phase == HLY_JOIN_PROBE ? build_filters(h) : HLY_OK;
}

// Pulls the next probe batch; NULL: it has ended, and is not asked again.
static hly_status pull_probe(hly_hash_join *h, hly_batch **out, uint32_t *n_good) {
  *out = h->first;
  *n_good = 0;
  h->first = NULL;
  if (h->probe_ended) return HLY_OK;
  if (!*out) HLY_TRY(pull_rows(h, *h->probe_input, out));
  HLY_TRY(eval_keys(h, h->probe_keys, *out, n_good));
  h->probe_ended = !*out;
  h->failed = *out && *n_good < (*out)->n_sel;
  return HLY_OK;
}

// Takes in what is left of the probe batch that was being joined.
static hly_status take_rest(hly_hash_join *h) {
  hly_joiner *j = &h->joiner;
  if (!hly_joiner_busy(j)) return HLY_OK;
  hly_batch rest = *j->in;
  uint32_t from = hly_joiner_leave(j);
  if (from == j->n_in) return HLY_OK;
  HLY_TRY(hly_selection_cut(h->op.ctx, &h->rest, &rest, from, j->n_in - from));
  return take_in(h, &rest, false);
}

static hly_status consume_probe(hly_hash_join *h) {
  hly_row_store_clear(&h->probe_store);
  h->probe_store.floor = HLY_JOIN_LEAST_BYTES;
  h->unloaded = false;
  HLY_TRY(take_rest(h));
  if (h->from_disk) return hly_hash_join_unload_probe(h);
  while (!h->failed) {
    hly_batch *in;
    uint32_t n_good;
    HLY_TRY(pull_probe(h, &in, &n_good));
    if (!in) break;
    if (!h->failed) HLY_TRY(take_in(h, in, false));
  }
  if (h->failed) return raise(h, h->probe_keys);
  h->from_disk = true;
  return hly_hash_join_flush(h, false);
}

static hly_status need_heads(hly_hash_join *h, uint32_t n) {
  if (n <= h->cap_heads) return HLY_OK;
  uint8_t **heads = hly_malloc((size_t)n * sizeof *heads);
  HLY_CHECK_MEM(h->op.ctx, heads, (size_t)n * sizeof *heads);
  hly_free(h->heads);
  h->heads = heads;
  h->cap_heads = n;
  return HLY_OK;
}

// NOT IN: with no build rows every row passes; with a null among them none does; else those that are not null
// and not found. A row that must not pass is given some match.
static void find_null_aware(hly_hash_join *h, const hly_batch *in, uint32_t n) {
  if (!h->has_rows) return;
  for (uint32_t i = 0; i < n; i++)
    if (h->has_null || hly_vector_is_null(h->keys[0], in->sel ? in->sel[i] : i))
      h->heads[i] = h->joiner.zero_row;
}

// Finds the matches of the next probe batch; *more false: there is none.
static hly_status next_probe(hly_hash_join *h, bool *more) {
  hly_batch *in;
  uint32_t n = 0;
  *more = false;
  while (n == 0) {
    if (h->failed) return raise(h, h->probe_keys);
    if (h->from_disk) {
      HLY_TRY(hly_hash_join_read_probe(h, &in));
      n = in ? in->n_sel : 0;
    } else {
      HLY_TRY(pull_probe(h, &in, &n));
    }
    if (!in) return HLY_OK;
  }
  if (h->phase == HLY_JOIN_PARTITION) { // the build side is gone meanwhile
    hly_joiner_begin(&h->joiner, in, n, NULL);
    return HLY_OK;
  }
  HLY_TRY(need_heads(h, n));
  HLY_TRY(hly_join_table_find(&h->table, &h->scratch, h->keys, in, n, h->heads));
  if (h->null_aware) find_null_aware(h, in, n);
  hly_joiner_begin(&h->joiner, in, n, h->heads);
  *more = true;
  return HLY_OK;
}

// ---- Build rows that are given at the end.

static hly_status next_tail(hly_hash_join *h, hly_batch **out) {
  while (h->next_tail == h->n_tail) {
    if (h->tail_fails) return hly_joiner_raise_failure(&h->joiner);
    uint32_t n =
        hly_row_store_scan(&h->store, &h->scan_block, &h->scan_offset, h->tail, h->op.ctx->batch_rows);
    if (n == 0) return HLY_OK;
    h->n_tail = h->next_tail = 0;
    for (uint32_t i = 0; i < n && !h->tail_fails; i++) {
      uint8_t *row = h->tail[i];
      if (hly_join_link(row) & HLY_JOIN_FAILED)
        h->tail_fails = true;
      else if (hly_joiner_gives(&h->joiner, row))
        h->tail[h->n_tail++] = row;
    }
    HLY_TRY(hly_ctx_poll(h->op.ctx));
  }
  uint8_t **rows = h->tail + h->next_tail;
  uint32_t n = hly_joiner_fits(&h->joiner, rows, h->n_tail - h->next_tail);
  h->next_tail += n;
  HLY_TRY(hly_joiner_give(&h->joiner, rows, n, out));
  for (uint32_t i = 0; i < n; i++) hly_join_mark(rows[i], HLY_JOIN_GIVEN);
  return HLY_OK;
}

static hly_status next_part(hly_hash_join *h) {
  bool more = false;
  h->tail_fails = false;
  h->n_tail = h->next_tail = h->scan_block = h->scan_offset = 0;
  if (h->spill) HLY_TRY(hly_hash_join_next_part(h, &more));
  h->phase = more ? HLY_JOIN_PROBE : HLY_JOIN_DONE;
  return HLY_OK;
}

static hly_status next_joined(hly_hash_join *h, hly_batch **out) {
  for (;;) {
    switch (h->phase) {
    case HLY_JOIN_BUILD: HLY_TRY(build(h)); break;
    case HLY_JOIN_PARTITION:
      HLY_TRY(consume_probe(h));
      HLY_TRY(next_part(h));
      break;
    case HLY_JOIN_PROBE: {
      bool more = true;
      if (hly_joiner_busy(&h->joiner)) {
        HLY_TRY(hly_joiner_next(&h->joiner, out));
        if (*out) return HLY_OK;
      }
      HLY_TRY(next_probe(h, &more));
      if (!more && h->phase == HLY_JOIN_PROBE) h->phase = HLY_JOIN_TAIL;
      break;
    }
    case HLY_JOIN_TAIL:
      if (hly_hash_join_has_tail(h)) HLY_TRY(next_tail(h, out));
      if (*out) return HLY_OK;
      HLY_TRY(next_part(h));
      break;
    default: return HLY_OK;
    }
  }
}

hly_status hly_hash_join_next(hly_op *op, hly_batch **out) {
  hly_hash_join *h = (hly_hash_join *)op;
  *out = NULL;
  h->spillable = false;
  HLY_TRY(h->spill_status);
  HLY_TRY(next_joined(h, out));
  h->spillable = *out != NULL; // whoever reads the batch may need memory: nothing in it lies in the store
  return HLY_OK;
}

// ---- Opening and closing.

// Both inputs over the task's partition, or each over one of its own.
static hly_status open_inputs(hly_op *op, const Halley__TaskInput *task) {
  const Halley__Branches *own = hly_task_branches(task, op->plan_id);
  const Halley__TaskInput *of[2] = {own ? NULL : task, own ? NULL : task};
  for (size_t i = 0; own && i < own->n_branches; i++) {
    const Halley__Branch *branch = own->branches[i];
    if (branch->input >= 0 && branch->input < 2) of[branch->input] = branch->task;
  }
  if (!of[0] || !of[1] || (own && own->n_branches != 2))
    return hly_error_setf(&op->ctx->error, HLY_E_PLAN_INVALID, "%s %d has no branch for an input",
                          op->cls->name, op->plan_id);
  HLY_TRY(hly_op_open(op->inputs[0], of[0]));
  return hly_op_open(op->inputs[1], of[1]);
}

hly_status hly_hash_join_open(hly_op *op, const Halley__TaskInput *task) {
  hly_hash_join *h = (hly_hash_join *)op;
  hly_ctx *ctx = op->ctx;
  h->phase = HLY_JOIN_BUILD;
  h->spillable = h->failed = h->probe_ended = h->tail_fails = false;
  h->has_null = h->has_rows = h->from_disk = h->uncut = h->unloaded = false;
  h->spill_status = HLY_OK;
  h->n_tail = h->next_tail = h->scan_block = h->scan_offset = 0;
  h->first = NULL;
  const Halley__JvmInputBinding *value = hly_task_jvm_input(task, (*h->build_input)->plan_id);
  h->value_handle = value ? value->handle : -1;
  HLY_TRY(open_inputs(op, task));
  h->reservation = hly_reservation_create(ctx->pool, op->cls->name, spill, h);
  HLY_CHECK_MEM(ctx, h->reservation, 0);
  hly_reservation_show_peak(h->reservation, &op->metrics[HALLEY__METRIC__PEAK_MEMORY]);
  hly_row_store_init(&h->store, ctx, &h->joiner.kept.row, h->reservation);
  hly_row_store_init(&h->probe_store, ctx, &h->probe_rows.row, h->reservation);
  h->store.floor = h->force ? INT64_MAX : HLY_JOIN_LEAST_BYTES;
  h->probe_store.floor = HLY_JOIN_LEAST_BYTES;
  HLY_TRY(hly_join_scratch_init(ctx, &h->scratch));
  HLY_TRY(hly_join_table_init(&h->table, ctx, &h->joiner.kept, h->reservation));
  h->table.reads_rows = h->joiner.form == HLY_JOIN_PAIRS || h->joiner.condition || h->joiner.gives_kept;
  h->tail = hly_malloc((size_t)ctx->batch_rows * sizeof *h->tail);
  HLY_CHECK_MEM(ctx, h->tail, (size_t)ctx->batch_rows * sizeof *h->tail);
  if (h->build_keys) HLY_TRY(hly_exprs_open(h->build_keys, ctx, task->partition, op->metrics));
  if (h->probe_keys) HLY_TRY(hly_exprs_open(h->probe_keys, ctx, task->partition, op->metrics));
  return hly_joiner_open(&h->joiner, task);
}

void hly_hash_join_close(hly_op *op) {
  hly_hash_join *h = (hly_hash_join *)op;
  h->spillable = false;
  hly_joiner_close(&h->joiner);
  if (h->build_keys) hly_exprs_close(h->build_keys);
  if (h->probe_keys) hly_exprs_close(h->probe_keys);
  hly_hash_join_spill_close(h);
  for (hly_key_filter *f = h->key_filters; f; f = f->next) hly_key_filter_clear(f);
  hly_hash_join_leave_shared(h);
  hly_join_table_deinit(&h->table);
  if (h->reservation) {
    if (h->store.ctx) hly_row_store_clear(&h->store);
    if (h->probe_store.ctx) hly_row_store_clear(&h->probe_store);
  }
  h->store = h->probe_store = (hly_row_store){0};
  hly_join_scratch_deinit(&h->scratch);
  hly_selection_deinit(&h->chosen);
  hly_selection_deinit(&h->rest);
  hly_free(h->heads);
  hly_free(h->tail);
  h->heads = h->tail = NULL;
  h->cap_heads = 0;
  hly_arena_destroy(h->arena);
  h->arena = NULL;
  h->disk_batch = h->disk_keys = NULL;
  hly_reservation_destroy(h->reservation);
  h->reservation = NULL;
}

// ---- Binding.

hly_status hly_hash_join_create(hly_binder *b, const Halley__Plan *plan, const hly_op_class *cls,
                                hly_hash_join **out) {
  hly_op *op;
  HLY_TRY(hly_op_create(b, plan, cls, sizeof(hly_hash_join), 2, &op));
  *out = (hly_hash_join *)op;
  return HLY_OK;
}

static hly_status bind_keys(hly_binder *b, hly_hash_join *h, const Halley__HashJoin *msg) {
  char left[128], right[128];
  uint32_t n = h->n_keys = (uint32_t)msg->n_left_keys;
  if (n == 0 || msg->n_right_keys != n)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "HashJoin has %zu and %zu keys",
                          msg->n_left_keys, msg->n_right_keys);
  hly_exprs *exprs[2];
  for (uint32_t i = 0; i < 2; i++)
    HLY_TRY(hly_exprs_bind(b, h->op.plan_id,
                           (const Halley__Expr *const *)(i ? msg->right_keys : msg->left_keys), n,
                           &h->op.inputs[i]->output, &exprs[i]));
  for (uint32_t k = 0; k < n; k++) {
    const hly_type *l = hly_exprs_type(exprs[0], k), *r = hly_exprs_type(exprs[1], k);
    if (!hly_type_equal(l, r))
      return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "HashJoin compares %s with %s",
                            hly_type_print(l, left, sizeof left), hly_type_print(r, right, sizeof right));
  }
  for (uint32_t i = 0; i < 2; i++) hly_op_note(&h->op, exprs[i]);
  h->build_keys = exprs[msg->build_left ? 0 : 1];
  h->probe_keys = exprs[msg->build_left ? 1 : 0];
  h->keys = HLY_ARENA_NEW_N(b->arena, hly_vector *, n);
  HLY_CHECK_MEM(b->ctx, h->keys, n * sizeof *h->keys);
  return HLY_OK;
}

const hly_op_class hly_hash_join_class = {
    .name = "HashJoin", .open = hly_hash_join_open, .next = hly_hash_join_next, .close = hly_hash_join_close};

hly_status hly_hash_join_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  hly_hash_join *h;
  HLY_TRY(hly_hash_join_create(b, plan, &hly_hash_join_class, &h));
  const Halley__HashJoin *msg = plan->hash_join;
  h->build_input = &h->op.inputs[msg->build_left ? 0 : 1];
  h->probe_input = &h->op.inputs[msg->build_left ? 1 : 0];
  HLY_TRY(bind_keys(b, h, msg));
  HLY_TRY(hly_joiner_bind(b, &h->joiner, &h->op, msg->type, msg->build_left, h->build_keys, h->n_keys,
                          msg->condition));
  HLY_TRY(hly_join_rows_bind(b, &h->probe_rows, h->probe_keys, h->n_keys, &(*h->probe_input)->output, NULL));
  h->null_aware = msg->null_aware_anti;
  if (h->null_aware &&
      (msg->type != HALLEY__JOIN_TYPE__LEFT_ANTI || msg->build_left || h->n_keys != 1 || msg->condition))
    return hly_bind_refuse(b, "a null-aware join other than an anti join of one key has no native form");
  if (msg->broadcast && hly_hash_join_has_tail(h))
    return hly_bind_refuse(b,
                           "a join that gives the rows of its broadcast side at its end has no native form");
  h->force = msg->broadcast || h->null_aware;
  if (msg->broadcast)
    HLY_TRY(hly_hash_join_bind_shared(b, h, plan, msg->build_left ? msg->left_keys : msg->right_keys));
  *out = &h->op;
  if (!msg->runtime_filter || h->null_aware || hly_hash_join_keeps_unmatched(h)) return HLY_OK;
  return hly_runtime_filters_place(b, plan, h, msg->filter_past_errors);
}
