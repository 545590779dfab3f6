// Joins whose build side is a broadcast value: one table for all tasks of the process (broadcast_table.h).
// The task that builds it runs the same code as one that builds a table of its own, but what that allocates
// is not the task's: a task's memory ends with it. Nor may a builder wait for the task's share, while tasks
// that wait for the table hold theirs. The sets of keys that run-time filters read are built in the same way.
#include "operators/hash_join.h"

#include <string.h>

static hly_status build_for_all(hly_hash_join *h, hly_status (*build)(hly_hash_join *h)) {
  hly_broadcast_table *t = h->shared;
  hly_ctx *ctx = h->op.ctx;
  hly_pool *own = ctx->pool;
  ctx->pool = t->pool;
  h->store.reservation = h->table.reservation = t->reservation;
  hly_status st = build(h);
  if (st != HLY_OK) {
    hly_join_table_clear(&h->table);
    hly_row_store_clear(&h->store);
  }
  h->store.reservation = h->table.reservation = h->reservation;
  // What they hold was recorded with that pool.
  hly_op_close(*h->build_input);
  if (h->build_keys) hly_exprs_close(h->build_keys);
  ctx->pool = own;
  return st;
}

hly_status hly_hash_join_take_shared(hly_hash_join *h, hly_status (*build)(hly_hash_join *h), bool *none) {
  hly_ctx *ctx = h->op.ctx;
  hly_broadcast *value = NULL;
  bool first;
  *none = true;
  if (h->value_handle < 0 || !ctx->host->broadcast) return HLY_OK;
  HLY_TRY(ctx->host->broadcast(ctx->host->arg, h->value_handle, &value, &ctx->error));
  if (!value) return HLY_OK;
  *none = false;
  HLY_TRY(hly_broadcast_pin(value, ctx, h->shared_key, h->n_shared_key, &h->shared, &first));
  hly_broadcast_table *t = h->shared;
  if (first) {
    hly_status st = build_for_all(h, build);
    if (st != HLY_OK) {
      h->shared = NULL;
      hly_broadcast_abandon(t);
      return st;
    }
    // The reservation of the published copies is the table's.
    hly_row_store store = h->store;
    hly_join_table table = h->table;
    store.reservation = table.reservation = t->reservation;
    hly_broadcast_publish(t, &store, &table, h->has_null, h->has_rows);
    return HLY_OK;
  }
  h->store = t->store;
  h->store.ctx = ctx;
  h->store.layout = &h->joiner.kept.row;
  h->store.reservation = h->reservation;
  hly_join_table_view(&h->table, &t->table);
  h->has_null = t->has_null;
  h->has_rows = t->has_rows;
  h->phase = HLY_JOIN_PROBE;
  return HLY_OK;
}

void hly_hash_join_leave_shared(hly_hash_join *h) {
  if (!h->shared) return;
  hly_row_store_init(&h->store, h->op.ctx, &h->joiner.kept.row, h->reservation);
  hly_join_table_forget(&h->table);
  hly_broadcast_unpin(h->shared);
  h->shared = NULL;
}

hly_status hly_hash_join_share_keys(hly_hash_join *h, hly_key_filter *f) {
  hly_broadcast_table *t = h->shared;
  hly_broadcast_keys *keys;
  bool first;
  HLY_TRY(hly_broadcast_find_keys(t, h->op.ctx, f->keys, f->n_keys, &keys, &first));
  if (first) {
    hly_status st = hly_key_set_build(&keys->set, h->op.ctx, &h->joiner.kept, f->keys, f->n_keys, &h->store,
                                      t->reservation);
    if (st != HLY_OK) {
      hly_broadcast_abandon_keys(keys);
      return st;
    }
    hly_broadcast_publish_keys(t, keys);
  }
  f->set = &keys->set;
  return HLY_OK;
}

// ---- Binding.

typedef struct key_text {
  uint8_t *at; // NULL: only counts
  size_t n;
} key_text;

static void put(key_text *t, const void *bytes, size_t n) {
  if (t->at) memcpy(t->at + t->n, bytes, n);
  t->n += n;
}

static void put_number(key_text *t, uint64_t v) {
  put(t, &v, sizeof v);
}

static void put_string(key_text *t, const char *s) {
  put(t, s, strlen(s) + 1);
}

// What a row of the table depends on besides the value: how the keys are computed and which columns are kept.
static void put_key(const hly_hash_join *h, Halley__Expr *const *build_keys, key_text *t) {
  const hly_join_rows *rows = &h->joiner.kept;
  bool computed = false;
  put_number(t, rows->n_keys);
  for (uint32_t k = 0; k < rows->n_keys; k++) {
    int32_t column = hly_exprs_as_column(h->build_keys, k);
    put_number(t, (uint64_t)(int64_t)column);
    if (column >= 0) continue;
    computed = true;
    size_t n = halley__expr__get_packed_size(build_keys[k]);
    put_number(t, n);
    if (t->at) halley__expr__pack(build_keys[k], t->at + t->n);
    t->n += n;
  }
  for (uint32_t c = 0; c < rows->n_columns; c++) put(t, rows->columns[c].layout ? "+" : "-", 1);
  if (!computed) return;
  const hly_ctx *ctx = h->op.ctx;
  for (uint32_t i = 0; i < ctx->n_conf; i++) {
    put_string(t, ctx->conf[i].key);
    put_string(t, ctx->conf[i].value);
  }
}

hly_status hly_hash_join_bind_shared(hly_binder *b, hly_hash_join *h, const Halley__Plan *plan,
                                     Halley__Expr *const *build_keys) {
  const Halley__Plan *input = plan->inputs[h->joiner.kept_left ? 0 : 1];
  if (input->op_case != HALLEY__PLAN__OP_SHUFFLE_INPUT) return HLY_OK;
  // Keys that can raise are those that ask the JVM. They are this task's own: what they mean is in a table of
  // its stage, an error must come whether there are rows to look up or not, and the JVM's side of a call is
  // paid for by the task.
  if (h->build_keys && hly_exprs_can_raise(h->build_keys)) return HLY_OK;
  if (hly_hash_join_has_tail(h)) return HLY_OK; // each task would mark the rows
  key_text t = {0};
  put_key(h, build_keys, &t);
  uint8_t *bytes = hly_arena_alloc(b->arena, t.n);
  HLY_CHECK_MEM(b->ctx, bytes, t.n);
  t = (key_text){.at = bytes};
  put_key(h, build_keys, &t);
  h->shared_key = bytes;
  h->n_shared_key = t.n;
  return HLY_OK;
}
