#include "operators/joiner.h"

#include <string.h>

#include "base/mem.h"

enum {
  // Pairs that are evaluated of a row of a semi, anti or existence join before the first that passes is
  // known,
  // and where pairs have failed.
  FIRST_PAIRS = 16,
};

// ---- Binding.

// left ++ right, which the condition is over.
static hly_status both_inputs(hly_binder *b, const hly_op *op, hly_schema *out) {
  const hly_schema *l = &op->inputs[0]->output, *r = &op->inputs[1]->output;
  hly_field *fields = HLY_ARENA_NEW_N(b->arena, hly_field, l->n_fields + r->n_fields + 1);
  HLY_CHECK_MEM(b->ctx, fields, (l->n_fields + r->n_fields) * sizeof *fields);
  for (uint32_t i = 0; i < l->n_fields; i++) fields[i] = l->fields[i];
  for (uint32_t i = 0; i < r->n_fields; i++) fields[l->n_fields + i] = r->fields[i];
  *out = (hly_schema){l->n_fields + r->n_fields, fields};
  return HLY_OK;
}

static hly_status check_output(hly_binder *b, const hly_joiner *j, const hly_schema *both) {
  const hly_schema *output = &j->op->output;
  uint32_t n = j->form == HLY_JOIN_PAIRS ? both->n_fields : j->n_left;
  bool same = output->n_fields == n + (j->form == HLY_JOIN_EXISTENCE);
  for (uint32_t i = 0; same && i < n; i++)
    same = hly_type_equal(both->fields[i].type, output->fields[i].type);
  if (same && j->form == HLY_JOIN_EXISTENCE) same = output->fields[n].type->kind == HLY_BOOLEAN;
  if (same) return HLY_OK;
  return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "%s has other columns than its inputs",
                        j->op->cls->name);
}

static hly_status set_form(hly_binder *b, hly_joiner *j, Halley__JoinType type) {
  bool left_outer = type == HALLEY__JOIN_TYPE__LEFT_OUTER || type == HALLEY__JOIN_TYPE__FULL_OUTER;
  bool right_outer = type == HALLEY__JOIN_TYPE__RIGHT_OUTER || type == HALLEY__JOIN_TYPE__FULL_OUTER;
  j->probe_outer = j->kept_left ? right_outer : left_outer;
  j->kept_outer = j->kept_left ? left_outer : right_outer;
  switch (type) {
  case HALLEY__JOIN_TYPE__INNER:
  case HALLEY__JOIN_TYPE__LEFT_OUTER:
  case HALLEY__JOIN_TYPE__RIGHT_OUTER:
  case HALLEY__JOIN_TYPE__FULL_OUTER: j->form = HLY_JOIN_PAIRS; return HLY_OK;
  case HALLEY__JOIN_TYPE__LEFT_SEMI: j->form = HLY_JOIN_SEMI; break;
  case HALLEY__JOIN_TYPE__LEFT_ANTI: j->form = HLY_JOIN_ANTI; break;
  case HALLEY__JOIN_TYPE__EXISTENCE: j->form = HLY_JOIN_EXISTENCE; break;
  default: return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "join type %d is none", (int)type);
  }
  j->gives_kept = j->kept_left;
  return HLY_OK;
}

static hly_status bind_condition(hly_binder *b, hly_joiner *j, const Halley__Expr *condition,
                                 const hly_schema *both) {
  if (!condition) return HLY_OK;
  HLY_TRY(hly_exprs_bind(b, j->op->plan_id, &condition, 1, both, &j->condition));
  if (hly_exprs_type(j->condition, 0)->kind != HLY_BOOLEAN)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "the condition of %s is not boolean",
                          j->op->cls->name);
  j->n_refs = hly_exprs_refs(j->condition, UINT32_MAX, &j->refs);
  return HLY_OK;
}

hly_status hly_joiner_bind(hly_binder *b, hly_joiner *j, hly_op *op, Halley__JoinType type, bool kept_left,
                           const hly_exprs *kept_keys, uint32_t n_keys, const Halley__Expr *condition) {
  hly_schema both;
  *j = (hly_joiner){.op = op, .kept_left = kept_left};
  const hly_schema *kept = &op->inputs[kept_left ? 0 : 1]->output;
  j->n_left = op->inputs[0]->output.n_fields;
  j->n_kept = kept->n_fields;
  j->n_probe = op->inputs[kept_left ? 1 : 0]->output.n_fields;
  HLY_TRY(both_inputs(b, op, &both));
  HLY_TRY(set_form(b, j, type));
  HLY_TRY(check_output(b, j, &both));
  HLY_TRY(bind_condition(b, j, condition, &both));
  hly_op_note(op, j->condition);
  uint8_t *wanted = NULL; // what is not given is kept only for the condition
  if (j->form != HLY_JOIN_PAIRS && !j->gives_kept) {
    wanted = hly_arena_alloc(b->arena, kept->n_fields + 1);
    HLY_CHECK_MEM(b->ctx, wanted, kept->n_fields);
    for (uint32_t i = 0; i < j->n_refs; i++)
      if (j->refs[i] >= j->n_left) wanted[j->refs[i] - j->n_left] = 1;
  }
  HLY_TRY(hly_join_rows_bind(b, &j->kept, kept_keys, n_keys, kept, wanted));
  j->null_row = hly_join_rows_blank(&j->kept, b->arena, true);
  // Padding that is gathered but not looked at. Nested columns have no value of zero bytes: nulls there.
  j->zero_row = hly_join_rows_blank(&j->kept, b->arena, j->kept.keys_nested || j->kept.payload_nested);
  j->columns = HLY_ARENA_NEW_N(b->arena, hly_vector *, op->output.n_fields + 1);
  if (!j->null_row || !j->zero_row || !j->columns) return hly_ctx_nomem(b->ctx, j->kept.row.row_bytes);
  return HLY_OK;
}

// ---- A run.

static void release_pairs(void *arg) {
  hly_batch *pairs = arg;
  for (uint32_t i = 0; i < pairs->n_columns; i++) hly_vector_unref(pairs->columns[i]);
}

static hly_status create_pairs(hly_joiner *j, hly_ctx *ctx) {
  j->pairs = HLY_ARENA_NEW(j->arena, hly_batch);
  HLY_CHECK_MEM(ctx, j->pairs, sizeof *j->pairs);
  uint32_t n = j->n_probe + j->n_kept;
  j->pairs->columns = HLY_ARENA_NEW_N(j->arena, hly_vector *, n + 1);
  HLY_CHECK_MEM(ctx, j->pairs->columns, n * sizeof(void *));
  j->pairs->n_columns = n;
  if (hly_arena_on_reset(j->arena, release_pairs, j->pairs)) return hly_ctx_nomem(ctx, sizeof *j->pairs);
  const hly_schema *l = &j->op->inputs[0]->output, *r = &j->op->inputs[1]->output;
  for (uint32_t i = 0; i < j->n_refs; i++) {
    uint32_t c = j->refs[i];
    const hly_type *type = c < j->n_left ? l->fields[c].type : r->fields[c - j->n_left].type;
    j->pairs->columns[c] = hly_vector_create(type);
    HLY_CHECK_MEM(ctx, j->pairs->columns[c], sizeof(hly_vector));
  }
  return HLY_OK;
}

hly_status hly_joiner_open(hly_joiner *j, const Halley__TaskInput *task) {
  hly_ctx *ctx = j->op->ctx;
  size_t n = ctx->batch_rows;
  j->in = NULL;
  j->failure.status = HLY_OK;
  j->arena = hly_arena_create();
  HLY_CHECK_MEM(ctx, j->arena, 0);
  HLY_TRY(hly_batch_create(ctx, j->arena, &j->op->output, &j->own));
  j->pair_at = HLY_ARENA_NEW_N(j->arena, uint32_t, n);
  j->pair_row = HLY_ARENA_NEW_N(j->arena, uint32_t, n);
  j->pair_kept = HLY_ARENA_NEW_N(j->arena, uint8_t *, n);
  j->real = HLY_ARENA_NEW_N(j->arena, uint32_t, n);
  j->passed = HLY_ARENA_NEW_N(j->arena, uint32_t, n);
  j->matched = HLY_ARENA_NEW_N(j->arena, uint8_t, n);
  if (!j->pair_at || !j->pair_row || !j->pair_kept || !j->real || !j->passed || !j->matched)
    return hly_ctx_nomem(ctx, (int64_t)n * 24);
  if (!j->condition) return HLY_OK;
  HLY_TRY(create_pairs(j, ctx));
  return hly_exprs_open(j->condition, ctx, task->partition, j->op->metrics);
}

void hly_joiner_close(hly_joiner *j) {
  if (j->condition) hly_exprs_close(j->condition);
  hly_selection_deinit(&j->chosen);
  hly_free(j->spread);
  j->spread = NULL;
  j->cap_spread = 0;
  hly_arena_destroy(j->arena);
  j->arena = NULL;
  j->own = j->pairs = NULL;
  j->in = NULL;
}

void hly_joiner_begin(hly_joiner *j, const hly_batch *in, uint32_t n, uint8_t *const *heads) {
  j->in = in;
  j->n_in = n;
  j->heads = heads;
  j->at = 0;
  j->chain = NULL;
  j->row_matched = j->between = false;
  j->row_bytes = n && j->op->ctx->batch_bytes ? hly_batch_bytes(in) / in->n_sel : 0;
}

static inline uint32_t row_at(const hly_batch *in, uint32_t at) {
  return in->sel ? in->sel[at] : at;
}

static uint64_t kept_bytes(const hly_joiner *j, const uint8_t *row) {
  return j->kept.row.row_bytes + (j->kept.row.n_views ? hly_row_long_bytes(&j->kept.row, row) : 0);
}

uint32_t hly_joiner_fits(const hly_joiner *j, uint8_t *const *rows, uint32_t n) {
  uint64_t limit = j->op->ctx->batch_bytes, bytes = 0;
  if (n > j->op->ctx->batch_rows) n = j->op->ctx->batch_rows;
  if (limit == 0) return n;
  for (uint32_t i = 0; i < n; i++) {
    bytes += kept_bytes(j, rows[i]);
    if (bytes > limit) return i > 0 ? i : 1;
  }
  return n;
}

// ---- The condition.

// Fills the condition's columns for n pairs. Padding reads the row of zeros.
static hly_status gather_pairs(hly_joiner *j, uint32_t n) {
  hly_ctx *ctx = j->op->ctx;
  for (uint32_t i = 0; i < j->n_refs; i++) {
    uint32_t c = j->refs[i];
    HLY_TRY(hly_batch_writable(ctx, j->pairs, c));
    hly_vector *out = j->pairs->columns[c];
    bool is_left = c < j->n_left;
    uint32_t column = is_left ? c : c - j->n_left;
    if (is_left == j->kept_left)
      HLY_TRY(hly_join_rows_gather(&j->kept, ctx, column, j->pair_kept, n, out));
    else
      HLY_TRY(hly_vector_slice(ctx, out, j->in->columns[column], j->pair_row, n));
  }
  hly_batch_set_rows(j->pairs, n);
  return HLY_OK;
}

// Evaluates the condition on pairs 0..n, those of `sel` when it is not NULL. Writes the pairs that pass to
// j->passed. *stop: the pair that failed, n when none did; only pairs before it are in j->passed.
static hly_status evaluate(hly_joiner *j, uint32_t n, const uint32_t *sel, uint32_t n_sel, uint32_t *n_passed,
                           uint32_t *stop) {
  hly_ctx *ctx = j->op->ctx;
  *stop = n;
  *n_passed = 0;
  if (n_sel == 0) return HLY_OK;
  HLY_TRY(gather_pairs(j, n));
  if (n_sel < n) {
    j->pairs->sel = sel;
    j->pairs->n_sel = n_sel;
  }
  bool raised = false;
  HLY_TRY(hly_exprs_filter(j->condition, ctx, j->pairs, j->passed, n_passed, &raised));
  if (!raised) return HLY_OK;
  // The filter does not tell where; the program as a value does, and keeps the error.
  hly_vector *value;
  uint32_t n_good = 0;
  HLY_TRY(hly_exprs_eval(j->condition, ctx, j->pairs, &value, &n_good));
  if (n_good == n_sel) return hly_error_setf(&ctx->error, HLY_E_INTERNAL, "a condition failed only once");
  *stop = j->pairs->sel ? sel[n_good] : n_good;
  return HLY_OK;
}

static hly_status raise(hly_joiner *j) {
  HLY_TRY(hly_exprs_raise(j->condition, j->op->ctx));
  return HLY_ERR; // raised before: the context still has it
}

// The chain of the probe row, or of its next piece.
static hly_status next_chain(hly_joiner *j, uint32_t at, uint8_t **chain) {
  *chain = j->heads[at];
  if (!j->pieced || *chain != j->pieced) return HLY_OK;
  bool first = !j->between;
  j->between = false;
  return j->piece(j->piece_arg, first, chain, &j->last_piece);
}

// ---- Semi, anti, existence.

// Decides rows [from, *limit) of the probe batch into j->matched. *limit is lowered when a row fails; the
// first one raises.
static hly_status judge(hly_joiner *j, uint32_t from, uint32_t *limit) {
  uint32_t most = j->op->ctx->batch_rows, row = from, budget = FIRST_PAIRS;
  uint8_t *chain = NULL;
  j->between = false;
  memset(j->matched, 0, *limit - from);
  while (row < *limit) {
    uint32_t n = 0, r = row, left = budget;
    uint8_t *c = chain;
    while (r < *limit) {
      bool pieced = j->pieced && j->heads[r] == j->pieced;
      if (!c) {
        if (pieced && n > 0) break; // pairs point to the piece before
        left = j->between ? budget : FIRST_PAIRS;
        HLY_TRY(next_chain(j, r, &c));
      }
      for (; c && n < most && left; n++, left--, c = hly_join_next(c)) {
        j->pair_at[n] = r;
        j->pair_row[n] = row_at(j->in, r);
        j->pair_kept[n] = c;
      }
      if (c) break;
      j->between = pieced && !j->last_piece;
      if (j->between) break;
      r++;
    }
    uint32_t n_passed, stop;
    HLY_TRY(evaluate(j, n, NULL, n, &n_passed, &stop));
    for (uint32_t i = 0; i < n_passed; i++) j->matched[j->pair_at[j->passed[i]] - from] = 1;
    if (stop < n) {
      uint32_t failed = j->pair_at[stop];
      if (!j->matched[failed - from]) {
        if (failed == from) return raise(j);
        *limit = failed;
        return HLY_OK;
      }
      r = failed; // passed before: Spark does not come to the pair that failed
      c = j->pair_kept[stop];
    }
    if ((c || j->between) && j->matched[r - from]) {
      r++;
      c = NULL;
      j->between = false;
    }
    budget = (c || j->between) && r == row ? (budget < most / 4 ? budget * 4 : most) : FIRST_PAIRS;
    row = r;
    chain = c;
    HLY_TRY(hly_ctx_poll(j->op->ctx));
  }
  return HLY_OK;
}

static hly_status next_rows(hly_joiner *j, hly_batch **out) {
  hly_ctx *ctx = j->op->ctx;
  const hly_batch *in = j->in;
  while (j->at < j->n_in) {
    uint32_t from = j->at, limit = j->n_in - from > ctx->batch_rows ? from + ctx->batch_rows : j->n_in;
    if (j->condition)
      HLY_TRY(judge(j, from, &limit));
    else
      for (uint32_t i = from; i < limit; i++) j->matched[i - from] = j->heads[i] != NULL;
    j->at = limit;
    uint32_t n = 0;
    HLY_TRY(hly_selection_need(ctx, &j->chosen, ctx->batch_rows));
    for (uint32_t i = from; i < limit; i++) {
      j->chosen.rows[n] = row_at(in, i);
      n += j->form == HLY_JOIN_EXISTENCE || j->matched[i - from] == (j->form == HLY_JOIN_SEMI);
    }
    if (n == 0) continue;
    for (uint32_t c = 0; c < j->n_probe; c++) j->columns[c] = in->columns[c];
    if (j->form == HLY_JOIN_EXISTENCE) {
      HLY_TRY(hly_batch_writable(ctx, j->own, j->n_probe));
      hly_vector *exists = j->columns[j->n_probe] = j->own->columns[j->n_probe];
      HLY_TRY(hly_vector_reset(ctx, exists, in->n_rows));
      uint8_t *values = exists->values;
      memset(values, 0, in->n_rows);
      for (uint32_t i = from; i < limit; i++) values[row_at(in, i)] = j->matched[i - from];
    }
    bool all = n == in->n_rows;
    j->view = (hly_batch){.n_columns = j->op->output.n_fields,
                          .n_rows = in->n_rows,
                          .columns = j->columns,
                          .sel = all ? NULL : j->chosen.rows,
                          .n_sel = n};
    *out = &j->view;
    return HLY_OK;
  }
  return HLY_OK;
}

// ---- The same where the kept rows are judged.

static bool is_decided(const uint8_t *row) {
  return hly_join_link(row) & (HLY_JOIN_MATCHED | HLY_JOIN_FAILED);
}

// Collects pairs of rows that are not decided, up to `most`, and takes decided ones that it meets out of
// their chains. The first row of a chain stays in it: it is what the table finds.
static uint32_t collect_undecided(hly_joiner *j, uint32_t most) {
  uint32_t n = 0;
  while (j->at < j->n_in && n < most) {
    uint8_t *before = NULL;
    if (!j->chain) j->chain = before = j->heads[j->at];
    for (uint8_t *c = j->chain; (j->chain = c) && n < most; c = hly_join_next(c)) {
      if (is_decided(c)) {
        if (before && c != before) hly_join_set_next(before, hly_join_next(c));
        continue;
      }
      j->pair_at[n] = j->at;
      j->pair_row[n] = row_at(j->in, j->at);
      j->pair_kept[n++] = before = c;
    }
    if (!j->chain) j->at++;
  }
  return n;
}

static void keep_failure(hly_joiner *j) {
  if (hly_exprs_raise(j->condition, j->op->ctx) == HLY_OK) return;
  if (j->failure.status == HLY_OK) j->failure = j->op->ctx->error;
  hly_error_clear(&j->op->ctx->error);
}

// Marks the kept rows that the probe batch decides.
static hly_status mark_kept(hly_joiner *j) {
  uint32_t most = j->op->ctx->batch_rows, budget = most, few = most < FIRST_PAIRS ? most : FIRST_PAIRS;
  if (!j->condition) { // rows of one chain are marked all or none
    for (; j->at < j->n_in; j->at++)
      for (uint8_t *c = j->heads[j->at]; c && !(hly_join_link(c) & HLY_JOIN_MATCHED); c = hly_join_next(c))
        hly_join_mark(c, HLY_JOIN_MATCHED);
    return HLY_OK;
  }
  while (j->at < j->n_in) {
    uint32_t n = collect_undecided(j, budget), n_passed, stop;
    HLY_TRY(evaluate(j, n, NULL, n, &n_passed, &stop));
    for (uint32_t i = 0; i < n_passed; i++) hly_join_mark(j->pair_kept[j->passed[i]], HLY_JOIN_MATCHED);
    budget = stop < n ? few : budget < most / 4 ? budget * 4 : most;
    if (stop < n) {
      uint8_t *failed = j->pair_kept[stop];
      if (!is_decided(failed)) { // else Spark does not come to this pair
        hly_join_mark(failed, HLY_JOIN_FAILED);
        keep_failure(j);
      }
      j->at = j->pair_at[stop];
      j->chain = failed;
    }
    HLY_TRY(hly_ctx_poll(j->op->ctx));
  }
  return HLY_OK;
}

hly_status hly_joiner_raise_failure(hly_joiner *j) {
  j->op->ctx->error = j->failure;
  return HLY_ERR;
}

// ---- Pairs.

// The next pairs, up to a batch; probe rows without any are padded when they are given.
static hly_status fill(hly_joiner *j, uint32_t *n_out) {
  uint32_t n = 0, most = j->op->ctx->batch_rows;
  uint64_t bytes = 0, limit = j->op->ctx->batch_bytes;
  while (n < most && j->at < j->n_in) {
    bool pieced = j->pieced && j->heads[j->at] == j->pieced;
    if (!j->chain) {
      if (pieced && n > 0) break; // pairs point to the piece before
      HLY_TRY(next_chain(j, j->at, &j->chain));
      if (!j->chain && !j->probe_outer) {
        j->at++;
        continue;
      }
    }
    if (limit) {
      bytes += j->row_bytes + (j->chain ? kept_bytes(j, j->chain) : 0);
      if (bytes > limit && n > 0) break;
    }
    j->pair_at[n] = j->at;
    j->pair_row[n] = row_at(j->in, j->at);
    j->pair_kept[n++] = j->chain;
    if (j->chain) j->chain = hly_join_next(j->chain);
    if (j->chain) continue;
    j->between = pieced && !j->last_piece;
    if (j->between) break;
    j->at++;
  }
  *n_out = n;
  return HLY_OK;
}

// Drops the pairs that do not pass; the last one of a probe row that no pair of passed becomes padding.
static hly_status filter(hly_joiner *j, uint32_t n, uint32_t *n_out) {
  uint32_t n_real = 0, n_passed, stop, k_passed = 0, out = 0;
  for (uint32_t k = 0; k < n; k++) {
    j->real[n_real] = k;
    n_real += j->pair_kept[k] != NULL;
  }
  if (n_real < n)
    for (uint32_t k = 0; k < n; k++)
      if (!j->pair_kept[k]) j->pair_kept[k] = j->zero_row;
  HLY_TRY(evaluate(j, n, j->real, n_real, &n_passed, &stop));
  if (stop == 0) return raise(j);
  bool row_ends = j->at != j->pair_at[n - 1];
  uint32_t failed_at = 0;
  uint8_t *failed_kept = NULL;
  if (stop < n) {
    failed_at = j->pair_at[stop];
    failed_kept = j->pair_kept[stop];
  }
  for (uint32_t k = 0; k < stop; k++) {
    bool passes = k_passed < n_passed && j->passed[k_passed] == k;
    k_passed += passes;
    j->row_matched |= passes;
    uint32_t at = j->pair_at[k];
    bool last = k + 1 < n ? j->pair_at[k + 1] != at : row_ends;
    bool pads = last && !j->row_matched && j->probe_outer;
    if (passes || pads) {
      j->pair_at[out] = at;
      j->pair_row[out] = j->pair_row[k];
      j->pair_kept[out++] = passes ? j->pair_kept[k] : NULL;
    }
    if (last) j->row_matched = false;
  }
  if (stop < n) { // the next call begins with the pair that failed
    j->at = failed_at;
    j->chain = failed_kept;
    j->between = false;
  }
  *n_out = out;
  return HLY_OK;
}

static hly_status need_spread(hly_joiner *j, uint32_t n) {
  if (n <= j->cap_spread) return HLY_OK;
  uint8_t **spread = hly_malloc((size_t)n * sizeof *spread);
  HLY_CHECK_MEM(j->op->ctx, spread, (size_t)n * sizeof *spread);
  hly_free(j->spread);
  j->spread = spread;
  j->cap_spread = n;
  return HLY_OK;
}

// When most probe rows are in exactly one pair their columns go on as they are, and the kept columns are
// spread to their rows: nothing of the probe is copied.
static bool spreads(const hly_joiner *j, uint32_t n) {
  if (j->kept.keys_nested || j->kept.payload_nested || (uint64_t)n * 2 < j->in->n_rows) return false;
  for (uint32_t k = 1; k < n; k++)
    if (j->pair_at[k] == j->pair_at[k - 1]) return false;
  return true;
}

static hly_status give_pairs(hly_joiner *j, uint32_t n, hly_batch **out) {
  hly_ctx *ctx = j->op->ctx;
  const hly_batch *in = j->in;
  for (uint32_t k = 0; k < n; k++) {
    if (!j->pair_kept[k])
      j->pair_kept[k] = j->null_row;
    else if (j->kept_outer)
      hly_join_mark(j->pair_kept[k], HLY_JOIN_MATCHED);
  }
  uint32_t probe_at = j->kept_left ? j->n_kept : 0, kept_at = j->kept_left ? 0 : j->n_probe;
  j->view = (hly_batch){.n_columns = j->op->output.n_fields, .columns = j->columns};
  hly_batch_set_rows(&j->view, n);
  uint8_t **rows = j->pair_kept;
  bool spread = spreads(j, n);
  if (spread) {
    HLY_TRY(need_spread(j, in->n_rows));
    rows = j->spread;
    if (n < in->n_rows)
      for (uint32_t i = 0; i < in->n_rows; i++) rows[i] = j->zero_row;
    for (uint32_t k = 0; k < n; k++) rows[j->pair_row[k]] = j->pair_kept[k];
    hly_batch_set_rows(&j->view, in->n_rows);
    if (n < in->n_rows) {
      j->view.sel = j->pair_row;
      j->view.n_sel = n;
    }
  }
  for (uint32_t c = 0; c < j->n_probe; c++) {
    if (spread) {
      j->columns[probe_at + c] = in->columns[c];
      continue;
    }
    HLY_TRY(hly_batch_writable(ctx, j->own, probe_at + c));
    hly_vector *to = j->columns[probe_at + c] = j->own->columns[probe_at + c];
    HLY_TRY(hly_vector_slice(ctx, to, in->columns[c], j->pair_row, n));
  }
  for (uint32_t c = 0; c < j->n_kept; c++) {
    HLY_TRY(hly_batch_writable(ctx, j->own, kept_at + c));
    hly_vector *to = j->columns[kept_at + c] = j->own->columns[kept_at + c];
    HLY_TRY(hly_join_rows_gather(&j->kept, ctx, c, rows, j->view.n_rows, to));
  }
  *out = &j->view;
  return HLY_OK;
}

hly_status hly_joiner_next(hly_joiner *j, hly_batch **out) {
  *out = NULL;
  if (j->gives_kept) {
    HLY_TRY(mark_kept(j));
  } else if (j->form != HLY_JOIN_PAIRS) {
    HLY_TRY(next_rows(j, out));
  } else {
    uint32_t n;
    for (;;) {
      HLY_TRY(fill(j, &n));
      if (n == 0) break;
      if (j->condition) HLY_TRY(filter(j, n, &n));
      if (n > 0) return give_pairs(j, n, out);
      HLY_TRY(hly_ctx_poll(j->op->ctx));
    }
  }
  if (!*out) j->in = NULL;
  return HLY_OK;
}

hly_status hly_joiner_give(hly_joiner *j, uint8_t *const *rows, uint32_t n, hly_batch **out) {
  hly_ctx *ctx = j->op->ctx;
  uint32_t kept_at = j->kept_left ? 0 : j->n_probe;
  j->view = (hly_batch){.n_columns = j->op->output.n_fields, .columns = j->columns};
  for (uint32_t c = 0; c < j->view.n_columns; c++) {
    HLY_TRY(hly_batch_writable(ctx, j->own, c));
    hly_vector *to = j->columns[c] = j->own->columns[c];
    if (c - kept_at < j->n_kept) { // unsigned: below kept_at is not
      HLY_TRY(hly_join_rows_gather(&j->kept, ctx, c - kept_at, rows, n, to));
    } else if (j->gives_kept) {
      HLY_TRY(hly_vector_reset(ctx, to, n));
      uint8_t *exists = to->values;
      for (uint32_t i = 0; i < n; i++) exists[i] = hly_join_link(rows[i]) & HLY_JOIN_MATCHED ? 1 : 0;
    } else {
      hly_literal null = {.type = to->type, .is_null = true};
      HLY_TRY(hly_vector_set_const(ctx, to, &null, n));
    }
  }
  hly_batch_set_rows(&j->view, n);
  *out = &j->view;
  return HLY_OK;
}
