// MergeJoin, as Spark's SortMergeJoinExec: both inputs are sorted ascending by their keys, nulls first. One
// side streams; of the other the batch at hand is kept, and the rows of the last key met (the group), which
// may have begun in earlier batches.
//
// The kept input is pulled only when no streamed row waits for its output, so that an error there, or in its
// keys, does not take away rows that come before it. A group that the pool refuses room goes to disk
// (merge_join_spill.c).
#include "operators/merge_join.h"

#include <string.h>

#include "base/mem.h"

static hly_status need(hly_ctx *ctx, uint8_t ***rows, uint32_t *capacity, uint32_t n) {
  if (n <= *capacity) return HLY_OK;
  uint8_t **p = hly_malloc((size_t)n * sizeof *p);
  HLY_CHECK_MEM(ctx, p, (size_t)n * sizeof *p);
  hly_free(*rows);
  *rows = p;
  *capacity = n;
  return HLY_OK;
}

static hly_status raise(hly_merge_join *m, hly_exprs *keys) {
  HLY_TRY(hly_exprs_raise(keys, m->op.ctx));
  return HLY_ERR; // raised before: the context still has it
}

static int compare(const hly_merge_join *m, const uint8_t *a, const uint8_t *b) {
  return hly_row_compare(&m->joiner.kept.keys, &m->by_key, 0, a, b);
}

// ---- The kept side.

static hly_status link_group(hly_merge_join *m, uint8_t *row) {
  if (m->group_on_disk) return hly_merge_disk_add(m, row);
  if (m->group)
    hly_join_set_next(m->group_last, row);
  else
    m->group = row;
  m->group_last = row;
  m->n_group++;
  return HLY_OK;
}

static void drop_group(hly_merge_join *m) {
  m->group = m->group_last = NULL;
  m->n_group = 0;
  m->group_ended = m->group_on_disk = false;
}

// Whether as much again as the group takes would be refused.
static bool is_too_large(hly_merge_join *m) {
  int64_t n_bytes = m->store.reserved;
  if (m->group_ended || n_bytes <= HLY_MERGE_LEAST_BYTES) return false;
  if (hly_reservation_grow(m->reservation, n_bytes) != HLY_OK) return true;
  hly_reservation_shrink(m->reservation, n_bytes);
  return false;
}

// While the kept side is pulled the group, which goes on as far as is known, is all that is in memory.
static int64_t spill(void *arg, int64_t want) {
  hly_merge_join *m = arg;
  if (!m->spillable || !m->group || m->group_on_disk || m->group_ended || m->n_group != m->store.n_rows)
    return 0;
  int64_t before = hly_reservation_bytes(m->reservation);
  m->spill_status = hly_merge_group_to_disk(m); // a failure is reported when we run again
  m->spillable = m->spill_status == HLY_OK;
  return before - hly_reservation_bytes(m->reservation);
}

// Forgets all kept rows but the group, which may go on.
static hly_status drop_batch(hly_merge_join *m) {
  m->n_rows = m->next_row = 0;
  if (m->has_disk && !m->group_on_disk) hly_merge_disk_close(m);
  if (m->group_on_disk) {
    hly_row_store_clear(&m->store);
    return HLY_OK;
  }
  if (m->n_group == m->store.n_rows) // nothing else is there
    return m->group && is_too_large(m) ? hly_merge_group_to_disk(m) : HLY_OK;
  uint8_t *from = m->group;
  bool ended = m->group_ended;
  drop_group(m);
  for (; from; from = hly_join_next(from)) {
    uint8_t *copy;
    HLY_TRY(hly_join_rows_copy(&m->spare, from, &copy));
    hly_join_set_next(copy, NULL);
    HLY_TRY(link_group(m, copy));
  }
  m->group_ended = ended;
  hly_row_store_clear(&m->store);
  hly_row_store t = m->store;
  m->store = m->spare;
  m->spare = t;
  return m->group && is_too_large(m) ? hly_merge_group_to_disk(m) : HLY_OK;
}

// Pulls the next kept batch into the store. Only when no streamed row waits.
static hly_status pull_kept(hly_merge_join *m) {
  hly_ctx *ctx = m->op.ctx;
  const hly_join_rows *kept = &m->joiner.kept;
  if (m->kept_failed) return raise(m, m->kept_keys);
  HLY_TRY(drop_batch(m));
  hly_batch *in;
  uint32_t n_good = 0, from = 0;
  m->spillable = true;
  hly_status st;
  do {
    st = hly_op_next(*m->kept_input, &in);
  } while (st == HLY_OK && in && in->n_sel == 0);
  if (st == HLY_OK && in) st = hly_exprs_eval(m->kept_keys, ctx, in, m->keys, &n_good);
  m->spillable = false;
  HLY_TRY(st);
  HLY_TRY(m->spill_status);
  if (!in) {
    m->kept_done = true;
    return HLY_OK;
  }
  m->kept_failed = n_good < in->n_sel;
  if (n_good == 0) return raise(m, m->kept_keys);
  hly_batch good = *in;
  HLY_TRY(hly_selection_cut(ctx, &m->identity, &good, 0, n_good));
  HLY_TRY(need(ctx, &m->rows, &m->cap_rows, n_good));
  uint32_t block = 0, offset = 0;
  if (m->store.n_blocks) {
    block = m->store.n_blocks - 1;
    offset = m->store.blocks[block].used;
  }
  HLY_TRY(hly_join_rows_begin(kept, ctx, &m->scratch, m->keys, &good));
  HLY_TRY(hly_join_rows_append(kept, ctx, &m->scratch, &m->store, m->keys, &good, &from));
  m->n_rows = hly_row_store_scan(&m->store, &block, &offset, m->rows, n_good);
  return HLY_OK;
}

// Makes a kept row available. *blocked: it must not be pulled now, because streamed rows wait or because
// those that were passed without a match have to be given first.
static hly_status need_kept(hly_merge_join *m, bool waiting, bool *blocked) {
  *blocked = false;
  if (m->next_row < m->n_rows || m->kept_done) return HLY_OK;
  *blocked = waiting || (m->joiner.kept_outer && m->n_rows > 0);
  return *blocked ? HLY_OK : pull_kept(m);
}

// Adds to the group what still belongs to it.
static hly_status finish_group(hly_merge_join *m, bool waiting, bool *blocked) {
  *blocked = false;
  while (!m->group_ended) {
    HLY_TRY(need_kept(m, waiting, blocked));
    if (*blocked) return HLY_OK;
    if (m->next_row < m->n_rows && compare(m, m->rows[m->next_row], m->group) == 0)
      HLY_TRY(link_group(m, m->rows[m->next_row++]));
    else
      m->group_ended = true;
    if (m->group_ended && m->group_on_disk) HLY_TRY(hly_merge_disk_end(m));
  }
  return HLY_OK;
}

// Finds the group of a streamed key, which is not below any before it.
static hly_status seek(hly_merge_join *m, const uint8_t *key, bool waiting, uint8_t **head, bool *blocked) {
  *head = NULL;
  *blocked = false;
  if (hly_join_null_key(&m->joiner.kept, key)) return HLY_OK;
  if (m->group && compare(m, m->group, key) != 0) drop_group(m);
  while (!m->group) {
    HLY_TRY(need_kept(m, waiting, blocked));
    if (*blocked || m->next_row == m->n_rows) return HLY_OK;
    uint8_t *row = m->rows[m->next_row];
    int c = hly_join_null_key(&m->joiner.kept, row) ? -1 : compare(m, row, key);
    if (c > 0) return HLY_OK;
    m->next_row++;
    if (c == 0) HLY_TRY(link_group(m, row));
  }
  HLY_TRY(finish_group(m, waiting, blocked));
  *head = m->group;
  return HLY_OK;
}

// ---- Kept rows that match nothing.

// Gives those of the store that will match nothing any more: all but the group, which stays, unless `all`.
static hly_status next_unmatched(hly_merge_join *m, bool all, hly_batch **out) {
  while (m->next_tail == m->n_tail) {
    uint32_t n = hly_row_store_scan(m->giving_disk ? &m->piece : &m->store, &m->scan_block, &m->scan_offset,
                                    m->tail, m->op.ctx->batch_rows);
    m->n_tail = m->next_tail = 0;
    if (n == 0) {
      m->scan_block = m->scan_offset = 0;
      bool last = !m->has_disk || (m->group_on_disk && !all) || (m->giving_disk && m->joiner.last_piece);
      if (last) {
        m->giving = m->giving_disk = false;
        return HLY_OK;
      }
      uint8_t *chain;
      HLY_TRY(hly_merge_disk_piece(m, !m->giving_disk, &chain, &m->joiner.last_piece));
      m->giving_disk = true;
      continue;
    }
    for (uint32_t i = 0; i < n; i++) {
      uint8_t *row = m->tail[i];
      if (hly_join_link(row) & HLY_JOIN_MATCHED) continue;
      if (!all && !m->giving_disk && m->group && !hly_join_null_key(&m->joiner.kept, row) &&
          compare(m, row, m->group) == 0)
        continue;
      m->tail[m->n_tail++] = row;
    }
  }
  uint8_t **rows = m->tail + m->next_tail;
  uint32_t n = hly_joiner_fits(&m->joiner, rows, m->n_tail - m->next_tail);
  m->next_tail += n;
  return hly_joiner_give(&m->joiner, rows, n, out);
}

// ---- The streamed side.

static hly_status pull_stream(hly_merge_join *m) {
  hly_ctx *ctx = m->op.ctx;
  const hly_join_rows *kept = &m->joiner.kept;
  if (m->stream_failed) return raise(m, m->stream_keys);
  do {
    HLY_TRY(hly_op_next(*m->stream_input, &m->in));
    if (!m->in) {
      m->stream_done = true;
      return HLY_OK;
    }
  } while (m->in->n_sel == 0);
  HLY_TRY(hly_exprs_eval(m->stream_keys, ctx, m->in, m->keys, &m->n_in));
  m->stream_failed = m->n_in < m->in->n_sel;
  m->next_in = 0;
  if (m->n_in == 0) return raise(m, m->stream_keys);
  if (m->n_in > m->cap_in) {
    uint8_t *in_keys = hly_malloc((size_t)m->n_in * kept->keys.prefix_bytes);
    HLY_CHECK_MEM(ctx, in_keys, (size_t)m->n_in * kept->keys.prefix_bytes);
    hly_free(m->in_keys);
    m->in_keys = in_keys;
    HLY_TRY(need(ctx, &m->heads, &m->cap_in, m->n_in));
  }
  for (uint32_t from = 0; from < m->n_in; from += HLY_JOIN_CHUNK) {
    uint32_t n = m->n_in - from < HLY_JOIN_CHUNK ? m->n_in - from : HLY_JOIN_CHUNK;
    hly_join_rows_keys(kept, &m->scratch, m->keys, m->in->sel, from, n,
                       m->in_keys + (size_t)from * kept->keys.prefix_bytes);
  }
  return HLY_OK;
}

// Finds the groups of the streamed rows from next_in on, as many as the kept rows at hand decide, and begins
// giving them. Nothing is begun when the first one needs kept rows that match nothing to be given before.
static hly_status begin_range(hly_merge_join *m) {
  uint32_t from = m->next_in, i = from;
  size_t stride = m->joiner.kept.keys.prefix_bytes;
  bool blocked = false;
  for (; i < m->n_in; i++) {
    HLY_TRY(seek(m, m->in_keys + i * stride, i > from, &m->heads[i], &blocked));
    if (blocked) break;
  }
  if (i == from) { // the rows that are passed go first, then the next batch is pulled
    m->giving = true;
    return HLY_OK;
  }
  m->next_in = i;
  m->range = *m->in;
  HLY_TRY(hly_selection_cut(m->op.ctx, &m->identity, &m->range, from, i - from));
  hly_joiner_begin(&m->joiner, &m->range, i - from, m->heads + from);
  return HLY_OK;
}

// Whether the end of the kept side is the end of the join.
static bool ends_with_kept(const hly_merge_join *m) {
  const hly_joiner *j = &m->joiner;
  return j->form == HLY_JOIN_SEMI || (j->form == HLY_JOIN_PAIRS && !j->probe_outer && !j->kept_outer);
}

static hly_status next_merged(hly_op *op, hly_batch **out) {
  hly_merge_join *m = (hly_merge_join *)op;
  *out = NULL;
  while (!m->done) {
    if (hly_joiner_busy(&m->joiner)) {
      HLY_TRY(hly_joiner_next(&m->joiner, out));
      if (*out) return HLY_OK;
    } else if (m->giving) {
      HLY_TRY(next_unmatched(m, m->stream_done, out));
      if (*out) return HLY_OK;
      if (!m->kept_done)
        HLY_TRY(pull_kept(m)); // all rows at hand were passed
      else
        m->done = true;
      m->done |= m->stream_done && m->kept_done; // then nothing was pulled
      m->giving = m->stream_done;
    } else if (m->in && m->next_in < m->n_in) {
      HLY_TRY(begin_range(m));
    } else if (m->kept_done && !m->group && m->next_row == m->n_rows && ends_with_kept(m)) {
      m->done = true;
    } else {
      m->in = NULL;
      HLY_TRY(pull_stream(m));
      if (!m->stream_done) continue;
      m->done = !m->joiner.kept_outer;
      m->giving = !m->done;
      drop_group(m); // nothing follows that could match it
    }
  }
  return HLY_OK;
}

// ---- Opening, closing, binding.

static hly_status open_merge(hly_op *op, const Halley__TaskInput *task) {
  hly_merge_join *m = (hly_merge_join *)op;
  hly_ctx *ctx = op->ctx;
  m->done = m->stream_done = m->stream_failed = m->kept_done = m->kept_failed = false;
  m->giving = m->giving_disk = m->spillable = false;
  m->spill_status = HLY_OK;
  m->in = NULL;
  m->n_in = m->next_in = m->n_rows = m->next_row = 0;
  m->n_tail = m->next_tail = m->scan_block = m->scan_offset = 0;
  drop_group(m);
  HLY_TRY(hly_op_open(op->inputs[0], task));
  HLY_TRY(hly_op_open(op->inputs[1], task));
  m->reservation = hly_reservation_create(ctx->pool, op->cls->name, spill, m);
  HLY_CHECK_MEM(ctx, m->reservation, 0);
  hly_reservation_show_peak(m->reservation, &op->metrics[HALLEY__METRIC__PEAK_MEMORY]);
  hly_row_store_init(&m->store, ctx, &m->joiner.kept.row, m->reservation);
  hly_row_store_init(&m->spare, ctx, &m->joiner.kept.row, m->reservation);
  // One batch, and a group until it is seen to be too large: recorded, not refused.
  m->store.floor = m->spare.floor = INT64_MAX;
  m->joiner.pieced = NULL;
  m->joiner.piece = hly_merge_disk_piece;
  m->joiner.piece_arg = m;
  HLY_TRY(hly_join_scratch_init(ctx, &m->scratch));
  m->tail = hly_malloc((size_t)ctx->batch_rows * sizeof *m->tail);
  HLY_CHECK_MEM(ctx, m->tail, (size_t)ctx->batch_rows * sizeof *m->tail);
  HLY_TRY(hly_exprs_open(m->stream_keys, ctx, task->partition, op->metrics));
  HLY_TRY(hly_exprs_open(m->kept_keys, ctx, task->partition, op->metrics));
  return hly_joiner_open(&m->joiner, task);
}

static void close_merge(hly_op *op) {
  hly_merge_join *m = (hly_merge_join *)op;
  m->spillable = false;
  hly_joiner_close(&m->joiner);
  hly_merge_disk_close(m);
  hly_exprs_close(m->stream_keys);
  hly_exprs_close(m->kept_keys);
  if (m->reservation) {
    if (m->store.ctx) hly_row_store_clear(&m->store);
    if (m->spare.ctx) hly_row_store_clear(&m->spare);
  }
  m->store = m->spare = (hly_row_store){0};
  hly_join_scratch_deinit(&m->scratch);
  hly_selection_deinit(&m->identity);
  hly_free(m->in_keys);
  hly_free(m->heads);
  hly_free(m->rows);
  hly_free(m->tail);
  m->in_keys = NULL;
  m->heads = m->rows = m->tail = NULL;
  m->cap_in = m->cap_rows = 0;
  hly_reservation_destroy(m->reservation);
  m->reservation = NULL;
}

static const hly_op_class MERGE_JOIN = {
    .name = "MergeJoin", .open = open_merge, .next = next_merged, .close = close_merge};

static hly_status bind_keys(hly_binder *b, hly_merge_join *m, const Halley__MergeJoin *msg, bool kept_left) {
  char text[128];
  uint32_t n = m->n_keys = (uint32_t)msg->n_left_keys;
  if (n == 0 || msg->n_right_keys != n)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "MergeJoin has %zu and %zu keys",
                          msg->n_left_keys, msg->n_right_keys);
  hly_exprs *exprs[2];
  for (uint32_t i = 0; i < 2; i++)
    HLY_TRY(hly_exprs_bind(b, m->op.plan_id,
                           (const Halley__Expr *const *)(i ? msg->right_keys : msg->left_keys), n,
                           &m->op.inputs[i]->output, &exprs[i]));
  m->orders = HLY_ARENA_NEW_N(b->arena, hly_row_order, n);
  m->keys = HLY_ARENA_NEW_N(b->arena, hly_vector *, n);
  if (!m->orders || !m->keys) return hly_ctx_nomem(b->ctx, n * 24);
  for (uint32_t k = 0; k < n; k++) {
    const hly_type *type = hly_exprs_type(exprs[0], k);
    if (!hly_type_equal(type, hly_exprs_type(exprs[1], k)))
      return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "MergeJoin compares keys of two types");
    if (!hly_row_orderable(type))
      return hly_bind_refuse(b, "joining by %s has no native form", hly_type_print(type, text, sizeof text));
    m->orders[k] = (hly_row_order){.field = k, .nulls_first = true};
  }
  for (uint32_t i = 0; i < 2; i++) hly_op_note(&m->op, exprs[i]);
  m->kept_keys = exprs[kept_left ? 0 : 1];
  m->stream_keys = exprs[kept_left ? 1 : 0];
  return HLY_OK;
}

hly_status hly_merge_join_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out) {
  hly_op *op;
  HLY_TRY(hly_op_create(b, plan, &MERGE_JOIN, sizeof(hly_merge_join), 2, &op));
  hly_merge_join *m = (hly_merge_join *)op;
  const Halley__MergeJoin *msg = plan->merge_join;
  bool kept_left = msg->type == HALLEY__JOIN_TYPE__RIGHT_OUTER;
  m->kept_input = &op->inputs[kept_left ? 0 : 1];
  m->stream_input = &op->inputs[kept_left ? 1 : 0];
  HLY_TRY(bind_keys(b, m, msg, kept_left));
  HLY_TRY(hly_joiner_bind(b, &m->joiner, op, msg->type, kept_left, m->kept_keys, m->n_keys, msg->condition));
  hly_row_orders_init(&m->by_key, &m->joiner.kept.keys, m->orders, m->n_keys);
  *out = op;
  return HLY_OK;
}
