// An opened plan: the life between bytes of a Stage and batches for whoever pulls. Locking is here and not in
// engine/jni, so that it can be tested without a JVM.
#include "halley/halley.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "memory/pool.h"
#include "operators/operator.h"
#include "plan/binder.h"
#include "plan/message.h"
#include "rows/unsafe_row.h"

enum {
  MAX_BATCH_ROWS = 1 << 20,
  DEFAULT_BATCH_ROWS = 8192,
  DEFAULT_BATCH_BYTES = 16 << 20,
  OPERATORS_TEXT = 256,
  MAX_ROWS_BYTES = 4 << 20, // of one part of hly_plan_next_rows: large enough to make a call cheap
};

struct hly_plan {
  hly_arena *arena;       // messages, operators, programs
  hly_arena *batch_arena; // descriptors of the exported batch, and what had to be flattened for it
  hly_ctx ctx;
  hly_host host; // what operators see: `outer` with the pool left around each call
  const hly_host *outer;
  hly_pool *pool;
  Halley__TaskInput *task;
  hly_op *root;
  bool opened;
  bool written;
  // Held by a running call, host calls included: close() waits for it. Error-checking, so that a call made
  // from within a host call of the same plan is seen instead of hanging.
  pthread_mutex_t run;
  hly_vector **flat; // a column's dense copy, made when first needed
  hly_export_batch batch;
  // Rows of `pending` from `pending_from` on are still to be encoded.
  hly_batch *pending;
  uint32_t pending_from;
  hly_row_block block;
  hly_export_rows rows;
};

const char *hly_version(void) {
  return HALLEY_VERSION;
}

// ---- The host as operators see it --------------------------------------------------------------------
// Spark may ask for memory on this thread during the calls that run foreign code, or on another one: the
// plan's state is consistent there, so the pool is free to spill it. Calls that an operator may make while it
// spills do not leave the pool: cancelled, temp_file, file_close, input_file.

static bool host_cancelled(void *arg) {
  hly_plan *p = arg;
  return p->outer->cancelled(p->outer->arg);
}

static hly_status host_input_next(void *arg, int32_t handle, hly_input_block *block, bool *more,
                                  hly_error *error) {
  hly_plan *p = arg;
  hly_pool_leave(p->pool);
  hly_status st = p->outer->input_next(p->outer->arg, handle, block, more, error);
  hly_pool_enter(p->pool);
  return st;
}

static hly_status host_broadcast(void *arg, int32_t handle, struct hly_broadcast **value, hly_error *error) {
  hly_plan *p = arg;
  *value = NULL;
  if (!p->outer->broadcast) return HLY_OK;
  hly_pool_leave(p->pool);
  hly_status st = p->outer->broadcast(p->outer->arg, handle, value, error);
  hly_pool_enter(p->pool);
  return st;
}

static hly_status host_dispatch(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call,
                                hly_error *error) {
  hly_plan *p = arg;
  hly_pool_leave(p->pool);
  hly_status st = p->outer->dispatch(p->outer->arg, plan_id, site, call, error);
  hly_pool_enter(p->pool);
  return st;
}

static hly_status host_temp_file(void *arg, char *path, uint32_t size, hly_error *error) {
  hly_plan *p = arg;
  return p->outer->temp_file(p->outer->arg, path, size, error);
}

static hly_status host_file_open(void *arg, const char *uri, int64_t *file, hly_error *error) {
  hly_plan *p = arg;
  hly_pool_leave(p->pool);
  hly_status st = p->outer->file_open(p->outer->arg, uri, file, error);
  hly_pool_enter(p->pool);
  return st;
}

static hly_status host_file_read(void *arg, int64_t file, int64_t position, void *out, int32_t n,
                                 hly_error *error) {
  hly_plan *p = arg;
  hly_pool_leave(p->pool);
  hly_status st = p->outer->file_read(p->outer->arg, file, position, out, n, error);
  hly_pool_enter(p->pool);
  return st;
}

static void host_file_close(void *arg, int64_t file) {
  hly_plan *p = arg;
  p->outer->file_close(p->outer->arg, file);
}

static void host_input_file(void *arg, const char *path, int64_t start, int64_t length) {
  hly_plan *p = arg;
  p->outer->input_file(p->outer->arg, path, start, length);
}

// Memory is asked for through the pool, which has a host of its own.
static int64_t host_mem_acquire(void *arg, int64_t n_bytes) {
  hly_plan *p = arg;
  return p->outer->mem_acquire(p->outer->arg, n_bytes);
}

static void host_mem_release(void *arg, int64_t n_bytes) {
  hly_plan *p = arg;
  p->outer->mem_release(p->outer->arg, n_bytes);
}

// ---- Open and close ----------------------------------------------------------------------------------

static hly_status make_context(hly_plan *p, const Halley__Stage *stage) {
  hly_ctx *ctx = &p->ctx;
  p->host = (hly_host){
      .arg = p,
      .cancelled = host_cancelled,
      .mem_acquire = host_mem_acquire,
      .mem_release = host_mem_release,
      .input_next = host_input_next,
      .broadcast = host_broadcast,
      .dispatch = host_dispatch,
      .temp_file = host_temp_file,
      .file_open = host_file_open,
      .file_read = host_file_read,
      .file_close = host_file_close,
      .input_file = host_input_file,
  };
  ctx->host = &p->host;
  ctx->pool = p->pool;
  if (stage->batch_size < 0 || stage->batch_size > MAX_BATCH_ROWS)
    return hly_error_setf(&ctx->error, HLY_E_PLAN_INVALID, "batches of %d rows", stage->batch_size);
  if (stage->batch_bytes < 0)
    return hly_error_setf(&ctx->error, HLY_E_PLAN_INVALID, "batches of %lld bytes",
                          (long long)stage->batch_bytes);
  ctx->batch_rows = stage->batch_size ? (uint32_t)stage->batch_size : DEFAULT_BATCH_ROWS;
  ctx->batch_bytes = stage->batch_bytes ? (uint64_t)stage->batch_bytes : DEFAULT_BATCH_BYTES;
  ctx->max_temp_bytes = stage->max_temp_bytes > 0 ? stage->max_temp_bytes : INT64_MAX;
  ctx->debug = stage->debug;
  hly_pool_share(p->pool, stage->fair_bytes);
  hly_config *conf = HLY_ARENA_NEW_N(p->arena, hly_config, stage->n_conf);
  HLY_CHECK_MEM(ctx, conf || stage->n_conf == 0, stage->n_conf * sizeof *conf);
  for (size_t i = 0; i < stage->n_conf; i++)
    conf[i] = (hly_config){.key = stage->conf[i]->key, .value = stage->conf[i]->value};
  ctx->conf = conf;
  ctx->n_conf = (uint32_t)stage->n_conf;
  return HLY_OK;
}

// What the driver bound must bind here too, so this is an error and not a reason to fall back.
static hly_status refused(hly_plan *p, const hly_binder *binder) {
  char text[HLY_ERROR_TEXT / 2];
  size_t at = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < binder->n_reasons && at + 3 < sizeof text; i++) {
    int n = snprintf(text + at, sizeof text - at, "%s%s", i ? "; " : "", binder->reasons[i]);
    at = n < 0 ? sizeof text : at + (size_t)n;
  }
  return hly_error_setf(&p->ctx.error, HLY_E_PLAN_INVALID, "the plan does not bind: %s", text);
}

// The operators as "ShuffleWrite(HashAggregate(ParquetScan))", cut to what messages have room for.
static void print_operators(const hly_op *op, char *out, size_t size, size_t *at) {
  if (*at + 1 >= size) return;
  int n = snprintf(out + *at, size - *at, "%s%s", op->cls->name, op->n_inputs ? "(" : "");
  *at += n > 0 ? (size_t)n : 0;
  for (uint32_t i = 0; i < op->n_inputs && *at + 3 < size; i++) {
    if (i) {
      memcpy(out + *at, ", ", 3);
      *at += 2;
    }
    print_operators(op->inputs[i], out, size, at);
  }
  if (op->n_inputs && *at + 1 < size) {
    memcpy(out + *at, ")", 2);
    *at += 1;
  }
}

static hly_status bind_and_open(hly_plan *p, const Halley__Stage *stage) {
  if (strcmp(stage->version, HALLEY_VERSION) != 0)
    return hly_error_setf(&p->ctx.error, HLY_E_PLAN_INVALID,
                          "the plan is of version '%s', the engine of version '%s'", stage->version,
                          HALLEY_VERSION);
  if (!stage->root) return hly_error_setf(&p->ctx.error, HLY_E_PLAN_INVALID, "the stage has no plan");
  HLY_TRY(make_context(p, stage));
  hly_binder binder = {.ctx = &p->ctx, .arena = p->arena};
  hly_status st = hly_op_bind(&binder, stage->root, &p->root);
  if (st != HLY_OK) p->root = NULL;
  if (st == HLY_REFUSED) return refused(p, &binder);
  HLY_TRY(st);
  p->flat = HLY_ARENA_NEW_N(p->arena, hly_vector *, p->root->output.n_fields);
  HLY_CHECK_MEM(&p->ctx, p->flat || p->root->output.n_fields == 0,
                p->root->output.n_fields * sizeof *p->flat);
  char *operators = hly_arena_alloc(p->arena, OPERATORS_TEXT);
  HLY_CHECK_MEM(&p->ctx, operators, OPERATORS_TEXT);
  size_t at = 0;
  print_operators(p->root, operators, OPERATORS_TEXT, &at);
  p->ctx.plan = operators;
  p->opened = true;
  return hly_op_open(p->root, p->task);
}

// Frees everything; the pool is entered and the plan not running.
static void destroy(hly_plan *p) {
  if (p->opened) hly_op_close(p->root);
  if (p->flat)
    for (uint32_t i = 0; i < p->root->output.n_fields; i++) hly_vector_unref(p->flat[i]);
  hly_row_block_deinit(&p->block);
  hly_arena_destroy(p->batch_arena);
  hly_arena_destroy(p->arena);
}

static hly_plan *plan_create(const hly_host *host, hly_pool *pool) {
  hly_plan *p = hly_calloc(1, sizeof *p);
  if (!p) return NULL;
  p->outer = host;
  p->pool = pool;
  p->arena = hly_arena_create();
  p->batch_arena = hly_arena_create();
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&p->run, &attr);
  pthread_mutexattr_destroy(&attr);
  return p;
}

static void plan_free(hly_plan *p) {
  pthread_mutex_destroy(&p->run);
  hly_free(p);
}

hly_status hly_plan_open(const uint8_t *stage, size_t n_stage, const uint8_t *task, size_t n_task,
                         const hly_host *host, hly_pool *pool, hly_error *error, hly_plan **out) {
  *out = NULL;
  hly_plan *p = plan_create(host, pool);
  if (!p) return hly_error_nomem(error, sizeof *p);
  hly_status st = HLY_OK;
  Halley__Stage *decoded = NULL;
  if (!p->arena || !p->batch_arena) st = hly_ctx_nomem(&p->ctx, 1024);
  hly_pool_enter(pool);
  if (st == HLY_OK)
    st = hly_message_unpack(&p->ctx.error, p->arena, &halley__stage__descriptor, stage, n_stage, &decoded);
  if (st == HLY_OK)
    st = hly_message_unpack(&p->ctx.error, p->arena, &halley__task_input__descriptor, task, n_task, &p->task);
  if (st == HLY_OK) st = bind_and_open(p, decoded);
  if (st != HLY_OK) {
    *error = p->ctx.error;
    destroy(p);
  }
  hly_pool_leave(pool);
  if (st != HLY_OK) {
    plan_free(p);
    return st;
  }
  *out = p;
  return HLY_OK;
}

void hly_plan_close(hly_plan *p) {
  if (!p) return;
  if (pthread_mutex_lock(&p->run) == EDEADLK) return; // the plan's caller is below us on the stack
  hly_pool_enter(p->pool);
  destroy(p);
  hly_pool_leave(p->pool);
  pthread_mutex_unlock(&p->run);
  plan_free(p);
}

// Begins a call on the plan: it runs, and holds the pool.
static hly_status begin(hly_plan *p) {
  if (pthread_mutex_lock(&p->run) == EDEADLK)
    return hly_error_setf(&p->ctx.error, HLY_E_INTERNAL, "a plan was called from within its own host call");
  hly_pool_enter(p->pool);
  return HLY_OK;
}

static hly_status end(hly_plan *p, hly_status st) {
  hly_pool_leave(p->pool);
  pthread_mutex_unlock(&p->run);
  return st;
}

// ---- Export ------------------------------------------------------------------------------------------

static void release_vector(void *arg) {
  hly_vector_unref(arg);
}

static hly_status export_column(hly_plan *p, const hly_vector *v, hly_export_column *out) {
  if (v->encoding != HLY_FLAT) {
    // Only children come here encoded; the copy lives as long as the batch.
    hly_vector *flat = hly_vector_create(v->type);
    HLY_CHECK_MEM(&p->ctx, flat, sizeof *flat);
    if (hly_arena_on_reset(p->batch_arena, release_vector, flat) != 0) {
      hly_vector_unref(flat);
      return hly_ctx_nomem(&p->ctx, sizeof *flat);
    }
    HLY_TRY(hly_vector_gather(&p->ctx, flat, v, NULL, v->n_rows));
    v = flat;
  }
  uint32_t n_children = v->children ? v->type->n_fields : 0;
  hly_export_column *children = NULL;
  if (n_children) {
    children = HLY_ARENA_NEW_N(p->batch_arena, hly_export_column, n_children);
    HLY_CHECK_MEM(&p->ctx, children, n_children * sizeof *children);
    for (uint32_t i = 0; i < n_children; i++) HLY_TRY(export_column(p, v->children[i], &children[i]));
  }
  *out = (hly_export_column){
      .kind = (int32_t)v->type->kind,
      .n_children = (int32_t)n_children,
      .validity = (uint64_t)(uintptr_t)v->validity,
      .values = (uint64_t)(uintptr_t)v->values,
      .children = (uint64_t)(uintptr_t)children,
      .n_rows = v->n_rows,
  };
  return HLY_OK;
}

static hly_status export_batch(hly_plan *p, const hly_batch *in) {
  hly_arena_reset(p->batch_arena);
  hly_export_column *columns = HLY_ARENA_NEW_N(p->batch_arena, hly_export_column, in->n_columns);
  HLY_CHECK_MEM(&p->ctx, columns || in->n_columns == 0, in->n_columns * sizeof *columns);
  for (uint32_t i = 0; i < in->n_columns; i++) {
    const hly_vector *v = in->columns[i];
    if (in->sel || v->encoding != HLY_FLAT) {
      if (p->flat[i] && p->flat[i]->type != v->type) { // the same type, but the arena's other copy of it
        hly_vector_unref(p->flat[i]);
        p->flat[i] = NULL;
      }
      if (!p->flat[i]) p->flat[i] = hly_vector_create(v->type);
      HLY_CHECK_MEM(&p->ctx, p->flat[i], sizeof(hly_vector));
      HLY_TRY(hly_vector_gather(&p->ctx, p->flat[i], v, in->sel, in->n_sel));
      v = p->flat[i];
    }
    HLY_TRY(export_column(p, v, &columns[i]));
  }
  p->batch = (hly_export_batch){
      .n_rows = in->n_sel, .n_columns = in->n_columns, .columns = (uint64_t)(uintptr_t)columns};
  return HLY_OK;
}

// The next batch with rows; NULL at the end.
static hly_status pull(hly_plan *p, hly_batch **out) {
  do HLY_TRY(hly_op_next(p->root, out));
  while (*out && (*out)->n_sel == 0);
  return HLY_OK;
}

static hly_status next_batch(hly_plan *p, const hly_export_batch **out) {
  hly_batch *batch;
  HLY_TRY(pull(p, &batch));
  if (!batch) return HLY_OK;
  HLY_TRY(export_batch(p, batch));
  *out = &p->batch;
  return HLY_OK;
}

hly_status hly_plan_next(hly_plan *p, const hly_export_batch **out) {
  *out = NULL;
  HLY_TRY(begin(p));
  return end(p, next_batch(p, out));
}

static hly_status next_rows(hly_plan *p, const hly_export_rows **out) {
  if (!p->pending || p->pending_from == p->pending->n_sel) {
    HLY_TRY(pull(p, &p->pending));
    p->pending_from = 0;
    if (!p->pending) return HLY_OK;
  }
  uint64_t max_bytes = p->ctx.batch_bytes < MAX_ROWS_BYTES ? p->ctx.batch_bytes : MAX_ROWS_BYTES;
  uint32_t n_done = 0;
  HLY_TRY(hly_unsafe_row_encode(&p->ctx, p->pending, NULL, p->pending->n_columns, p->pending_from, max_bytes,
                                &p->block, &n_done));
  p->pending_from += n_done;
  p->rows = (hly_export_rows){.n_rows = n_done,
                              .data = (uint64_t)(uintptr_t)(p->block.data ? p->block.data->data : NULL),
                              .offsets = (uint64_t)(uintptr_t)p->block.offsets};
  *out = &p->rows;
  return HLY_OK;
}

hly_status hly_plan_next_rows(hly_plan *p, const hly_export_rows **out) {
  *out = NULL;
  HLY_TRY(begin(p));
  return end(p, next_rows(p, out));
}

static hly_status write_output(hly_plan *p, const char *data_file, const int64_t **lengths, uint32_t *n) {
  if (!p->root->cls->write)
    return hly_error_setf(&p->ctx.error, HLY_E_PLAN_INVALID, "%s writes no shuffle output",
                          p->root->cls->name);
  if (p->written) return hly_error_setf(&p->ctx.error, HLY_E_INTERNAL, "the plan was written before");
  p->written = true;
  int64_t start = hly_now_ns();
  hly_status st = p->root->cls->write(p->root, data_file, lengths, n);
  p->root->metrics[HALLEY__METRIC__ELAPSED_NS] += hly_now_ns() - start;
  return st;
}

hly_status hly_plan_write(hly_plan *p, const char *data_file, const int64_t **lengths, uint32_t *n) {
  *lengths = NULL;
  *n = 0;
  HLY_TRY(begin(p));
  return end(p, write_output(p, data_file, lengths, n));
}

const hly_error *hly_plan_error(const hly_plan *p) {
  return &p->ctx.error;
}

static const hly_op *find_op(const hly_op *op, int32_t plan_id) {
  if (op->plan_id == plan_id) return op;
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    const hly_op *found = find_op(op->inputs[i], plan_id);
    if (found) return found;
  }
  return NULL;
}

bool hly_plan_metrics(hly_plan *p, int32_t plan_id, int64_t *out, uint32_t n) {
  const hly_op *op = find_op(p->root, plan_id);
  if (!op) return false;
  for (uint32_t i = 0; i < n; i++) out[i] = i < HALLEY__METRIC__N_METRICS ? op->metrics[i] : 0;
  return true;
}

// ---- Binding on the driver ---------------------------------------------------------------------------

static hly_status bind_node(hly_arena *arena, const Halley__BindRequest *request, const Halley__Plan *node,
                            hly_error *error, Halley__BindVerdict *verdict) {
  hly_ctx *ctx = HLY_ARENA_NEW(arena, hly_ctx);
  hly_config *conf = HLY_ARENA_NEW_N(arena, hly_config, request->n_conf);
  if (!ctx || (!conf && request->n_conf)) return hly_error_nomem(error, sizeof *ctx);
  for (size_t i = 0; i < request->n_conf; i++)
    conf[i] = (hly_config){.key = request->conf[i]->key, .value = request->conf[i]->value};
  ctx->batch_rows = DEFAULT_BATCH_ROWS;
  ctx->batch_bytes = DEFAULT_BATCH_BYTES;
  ctx->conf = conf;
  ctx->n_conf = (uint32_t)request->n_conf;
  hly_binder binder = {.ctx = ctx, .arena = arena};
  hly_op *op = NULL;
  hly_status st = hly_op_bind(&binder, node, &op);
  if (st == HLY_NOMEM) {
    *error = ctx->error;
    return st;
  }
  verdict->bound = st == HLY_OK;
  if (st == HLY_OK || st == HLY_REFUSED) {
    verdict->n_reasons = st == HLY_OK ? 0 : binder.n_reasons;
    verdict->reasons = (char **)binder.reasons;
    verdict->n_dispatched = binder.n_dispatched;
    verdict->dispatched = (char **)binder.dispatched;
  } else {
    // A message that is not valid is a fault of the planner, but no reason to fail the query.
    char text[HLY_ERROR_TEXT];
    hly_error_print(&ctx->error, text, sizeof text);
    verdict->reasons = HLY_ARENA_NEW(arena, char *);
    char *copy = hly_arena_copy(arena, text, strlen(text));
    if (!verdict->reasons || !copy) return hly_error_nomem(error, sizeof text);
    verdict->reasons[0] = copy;
    verdict->n_reasons = 1;
  }
  return HLY_OK;
}

static hly_status bind_request(hly_arena *arena, const uint8_t *bytes, size_t n, hly_error *error,
                               uint8_t **response, size_t *n_response) {
  Halley__BindRequest *request = NULL;
  HLY_TRY(hly_message_unpack(error, arena, &halley__bind_request__descriptor, bytes, n, &request));
  if (strcmp(request->version, HALLEY_VERSION) != 0)
    return hly_error_setf(error, HLY_E_PLAN_INVALID,
                          "the request is of version '%s', the engine of version '%s'", request->version,
                          HALLEY_VERSION);
  Halley__BindResponse answer = HALLEY__BIND_RESPONSE__INIT;
  answer.verdicts = HLY_ARENA_NEW_N(arena, Halley__BindVerdict *, request->n_nodes);
  if (!answer.verdicts && request->n_nodes) return hly_error_nomem(error, (int64_t)request->n_nodes * 8);
  answer.n_verdicts = request->n_nodes;
  for (size_t i = 0; i < request->n_nodes; i++) {
    Halley__BindVerdict *verdict = HLY_ARENA_NEW(arena, Halley__BindVerdict);
    if (!verdict) return hly_error_nomem(error, sizeof *verdict);
    halley__bind_verdict__init(verdict);
    HLY_TRY(bind_node(arena, request, request->nodes[i], error, verdict));
    answer.verdicts[i] = verdict;
  }
  size_t n_bytes = halley__bind_response__get_packed_size(&answer);
  uint8_t *packed = hly_malloc(n_bytes);
  if (!packed) return hly_error_nomem(error, (int64_t)n_bytes);
  halley__bind_response__pack(&answer, packed);
  *response = packed;
  *n_response = n_bytes;
  return HLY_OK;
}

hly_status hly_plan_bind(const uint8_t *request, size_t n_request, hly_error *error, uint8_t **response,
                         size_t *n_response) {
  *response = NULL;
  *n_response = 0;
  hly_arena *arena = hly_arena_create();
  if (!arena) return hly_error_nomem(error, 1024);
  hly_status st = bind_request(arena, request, n_request, error, response, n_response);
  hly_arena_destroy(arena);
  return st;
}

void hly_response_free(uint8_t *response) {
  hly_free(response);
}
