// Rows for Spark's own code: the columns that the expressions read go out as UnsafeRows, the results come
// back as UnsafeRows. Bounded in bytes both ways; the host may return before all rows are done.
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"
#include "expr/program.h"

enum { MAX_CALL_BYTES = 4 << 20 };

hly_status hly_site_open(hly_exprs *p, site *s) {
  hly_ctx *ctx = p->ctx;
  size_t n_bytes = s->n_exprs * sizeof(hly_vector *);
  if (!s->dense) {
    s->dense = hly_calloc(s->n_exprs, sizeof *s->dense);
    HLY_CHECK_MEM(ctx, s->dense, n_bytes);
  }
  if (!s->out) {
    s->out = hly_calloc(s->n_exprs, sizeof *s->out);
    HLY_CHECK_MEM(ctx, s->out, n_bytes);
  }
  if (!s->chunk.columns) {
    s->chunk.columns = hly_calloc(s->n_exprs, sizeof *s->chunk.columns);
    HLY_CHECK_MEM(ctx, s->chunk.columns, n_bytes);
    s->chunk.n_columns = s->n_exprs;
  }
  for (uint32_t i = 0; i < s->n_exprs; i++) {
    hly_vector **all[3] = {&s->dense[i], &s->out[i], &s->chunk.columns[i]};
    for (int k = 0; k < 3; k++) {
      if (*all[k]) continue;
      *all[k] = hly_vector_create(s->schema.fields[i].type);
      HLY_CHECK_MEM(ctx, *all[k], sizeof **all[k]);
    }
  }
  return HLY_OK;
}

void hly_site_close(site *s) {
  for (uint32_t i = 0; i < s->n_exprs; i++) {
    if (s->dense) hly_vector_unref(s->dense[i]);
    if (s->out) hly_vector_unref(s->out[i]);
    if (s->chunk.columns) hly_vector_unref(s->chunk.columns[i]);
  }
  hly_free(s->dense);
  hly_free(s->out);
  hly_free(s->chunk.columns);
  hly_row_block_deinit(&s->rows);
  s->dense = s->out = NULL;
  s->chunk = (hly_batch){0};
  s->rows = (hly_row_block){0};
  s->batch = 0;
}

static hly_status writable(hly_ctx *ctx, hly_vector **v) {
  if ((*v)->refs == 1) return HLY_OK;
  hly_vector *fresh = hly_vector_create((*v)->type);
  HLY_CHECK_MEM(ctx, fresh, sizeof *fresh);
  hly_vector_unref(*v);
  *v = fresh;
  return HLY_OK;
}

// One call of the host over rows [from, from + n) of the encoded block; appends what it did to s->dense.
static hly_status call_host(hly_exprs *p, site *s, uint32_t from, uint32_t n, bool first, uint32_t *n_done,
                            int64_t *error) {
  hly_ctx *ctx = p->ctx;
  hly_dispatch_call call = {.exprs = (uint64_t)(uintptr_t)s->exprs,
                            .n_exprs = s->n_exprs,
                            .rows = (uint64_t)(uintptr_t)s->rows.data->data,
                            .offsets = (uint64_t)(uintptr_t)(s->rows.offsets + from),
                            .n_rows = n,
                            .partition = p->partition};
  int64_t start = hly_now_ns();
  hly_status st = ctx->host->dispatch(ctx->host->arg, p->plan_id, s->id, &call, &ctx->error);
  if (p->metrics) {
    p->metrics[HALLEY__METRIC__DISPATCH_NS] += hly_now_ns() - start;
    if (st == HLY_OK) p->metrics[HALLEY__METRIC__DISPATCHED_ROWS] += (int64_t)call.n_done;
  }
  HLY_TRY(st);
  if (call.n_done > n || (call.n_done == 0 && !call.error) || (call.error && call.n_done >= n))
    return hly_error_setf(&ctx->error, HLY_E_INTERNAL, "the dispatcher did %llu of %u rows",
                          (unsigned long long)call.n_done, n);
  if (call.n_done) {
    for (uint32_t i = 0; i < s->n_exprs; i++) HLY_TRY(writable(ctx, &s->chunk.columns[i]));
    HLY_TRY(hly_unsafe_row_decode(ctx, (const uint8_t *)(uintptr_t)call.out_rows,
                                  (const uint64_t *)(uintptr_t)call.out_offsets, (uint32_t)call.n_done,
                                  &s->schema, &s->chunk));
    for (uint32_t i = 0; i < s->n_exprs; i++) {
      if (first) {
        hly_vector *t = s->dense[i];
        s->dense[i] = s->chunk.columns[i];
        s->chunk.columns[i] = t;
      } else {
        HLY_TRY(hly_vector_append(ctx, s->dense[i], s->chunk.columns[i], NULL, (uint32_t)call.n_done));
      }
    }
  }
  *n_done = (uint32_t)call.n_done;
  *error = call.error;
  return HLY_OK;
}

// Evaluates the site on the rows: s->dense holds a row for each of the first *n_ok. When a row raises, the
// rows after it are not evaluated and *n_ok is its place.
static hly_status run_site(hly_exprs *p, site *s, hly_rows rows, uint32_t *n_ok) {
  hly_ctx *ctx = p->ctx;
  *n_ok = 0;
  for (uint32_t i = 0; i < s->n_exprs; i++) {
    HLY_TRY(writable(ctx, &s->dense[i]));
    HLY_TRY(hly_vector_reset(ctx, s->dense[i], 0));
  }
  if (rows.n_sel == 0) return HLY_OK;
  if (!ctx->host || !ctx->host->dispatch)
    return hly_error_setf(&ctx->error, HLY_E_INTERNAL,
                          "an expression needs Spark, which this process does not have");
  hly_batch view = *p->in;
  view.sel = rows.sel;
  view.n_sel = rows.n_sel;
  if (!rows.sel) view.n_rows = rows.n; // cut at a row in error
  for (uint32_t from = 0; from < rows.n_sel;) {
    uint32_t n_encoded = 0;
    HLY_TRY(
        hly_unsafe_row_encode(ctx, &view, s->cols, s->n_cols, from, MAX_CALL_BYTES, &s->rows, &n_encoded));
    for (uint32_t at = 0; at < n_encoded;) {
      uint32_t n_done = 0;
      int64_t error = 0;
      HLY_TRY(call_host(p, s, at, n_encoded - at, *n_ok == 0, &n_done, &error));
      *n_ok += n_done;
      at += n_done;
      if (error) {
        uint32_t k = from + at;
        hly_rows_fail(p, rows.sel ? rows.sel[k] : k, error);
        return HLY_OK;
      }
    }
    from += n_encoded;
    HLY_TRY(hly_ctx_check(ctx));
  }
  return HLY_OK;
}

// Puts dense results at their rows.
static hly_status spread(hly_exprs *p, site *s, hly_rows rows, uint32_t n_ok) {
  hly_ctx *ctx = p->ctx;
  uint32_t n_rows = p->in->n_rows, taken = p->n_sel_taken, *where = NULL;
  for (uint32_t i = 0; i < s->n_exprs; i++) {
    HLY_TRY(writable(ctx, &s->out[i]));
    if (!rows.sel && n_ok == n_rows) {
      hly_vector *t = s->out[i];
      s->out[i] = s->dense[i];
      s->dense[i] = t;
      continue;
    }
    if (n_ok == 0) {
      hly_literal null = {.type = s->schema.fields[i].type, .is_null = true};
      HLY_TRY(hly_vector_set_const(ctx, s->out[i], &null, n_rows));
      continue;
    }
    if (!where) {
      HLY_TRY(hly_sel_take(p, &where));
      memset(where, 0, (size_t)n_rows * sizeof *where);
      for (uint32_t k = 0; k < n_ok; k++) where[rows.sel ? rows.sel[k] : k] = k;
    }
    HLY_TRY(hly_vector_gather(ctx, s->out[i], s->dense[i], where, n_rows));
  }
  p->n_sel_taken = taken;
  return HLY_OK;
}

hly_status hly_node_eval_dispatch(hly_exprs *p, node *n, value *v) {
  site *s = &p->sites[n->site];
  uint32_t n_rows = p->in->n_rows;
  if (!s->merged || s->batch != p->batch_serial) {
    hly_rows rows = s->merged ? p->scopes[0].rows : hly_scope_now(p)->rows;
    uint32_t n_ok;
    HLY_TRY(run_site(p, s, rows, &n_ok));
    HLY_TRY(spread(p, s, rows, n_ok));
    s->batch = p->batch_serial;
  }
  hly_vector *vec = s->out[n->column];
  v->arg = (hly_arg){
      .type = n->type, .data = vec->values, .stride = vec->encoding == HLY_CONST ? 0 : 1, .vec = vec};
  if (vec->validity) {
    uint32_t n_bits = v->arg.stride ? n_rows : 1;
    HLY_TRY(hly_value_valid(p->ctx, v, n_bits));
    hly_bits_unpack(vec->validity, n_bits, v->valid);
    v->arg.valid = v->valid;
  }
  static const uint8_t zeros[64] __attribute__((aligned(64)));
  if (!v->arg.data) v->arg.data = zeros;
  return HLY_OK;
}

// Rows that a kernel gave up: v holds the other rows' results already.
hly_status hly_node_eval_declined(hly_exprs *p, node *n, const uint32_t *declined, uint32_t n_declined,
                                  value *v) {
  hly_ctx *ctx = p->ctx;
  site *s = &p->sites[n->site];
  uint32_t n_rows = p->in->n_rows, n_ok, taken = p->n_sel_taken, *rows;
  HLY_TRY(hly_sel_take(p, &rows));
  memcpy(rows, declined, n_declined * sizeof *rows);
  HLY_TRY(run_site(p, s, (hly_rows){.n = n_rows, .sel = rows, .n_sel = n_declined}, &n_ok));
  if (n_ok) {
    hly_vector *dense = s->dense[0];
    if (hly_type_is_nested(n->type)) {
      // Children differ, so the result is put together anew: the kernel's rows, then Spark's.
      hly_vector *both = hly_vector_create(n->type), *out = hly_vector_create(n->type);
      uint32_t *where = NULL;
      hly_status st = both && out ? HLY_OK : hly_ctx_nomem(ctx, sizeof *both);
      if (st == HLY_OK && v->arg.valid) {
        st = hly_vector_need_validity(ctx, v->vec);
        if (st == HLY_OK) hly_bits_pack(v->arg.valid, n_rows, v->vec->validity);
      }
      // Undefined rows must not be copied: they count as null.
      if (st == HLY_OK) st = hly_sel_take(p, &where);
      if (st == HLY_OK) {
        hly_rows done = hly_scope_now(p)->rows;
        uint32_t k = 0, m = 0;
        memset(where, 0, (size_t)n_rows * sizeof *where);
        uint32_t *kept = NULL;
        st = hly_sel_take(p, &kept);
        if (st == HLY_OK) {
          HLY_FOR_ROWS(done, i, {
            if (m < n_declined && rows[m] == i)
              m++;
            else
              kept[k++] = i;
          });
          for (uint32_t i = 0; i < k; i++) where[kept[i]] = i;
          for (uint32_t i = 0; i < n_ok; i++) where[rows[i]] = k + i;
          st = hly_vector_reset(ctx, both, 0);
          if (st == HLY_OK) st = hly_vector_append(ctx, both, v->vec, kept, k);
          if (st == HLY_OK) st = hly_vector_append(ctx, both, dense, NULL, n_ok);
          if (st == HLY_OK) st = hly_vector_gather(ctx, out, both, where, n_rows);
        }
      }
      if (st == HLY_OK) {
        hly_vector_unref(v->vec);
        v->vec = out;
        out = NULL;
        v->arg = (hly_arg){.type = n->type, .data = v->vec->values, .stride = 1, .vec = v->vec};
        if (v->vec->validity) {
          st = hly_value_valid(ctx, v, n_rows);
          if (st == HLY_OK) {
            hly_bits_unpack(v->vec->validity, n_rows, v->valid);
            v->arg.valid = v->valid;
          }
        }
      }
      hly_vector_unref(both);
      hly_vector_unref(out);
      HLY_TRY(st);
    } else {
      const uint8_t *valid = v->arg.valid;
      if (valid != v->valid || !valid) { // shared with an argument, or no nulls so far
        HLY_TRY(hly_value_valid(ctx, v, n_rows));
        if (valid)
          memcpy(v->valid, valid, n_rows);
        else
          memset(v->valid, 1, n_rows);
        v->arg.valid = v->valid;
      }
      uint32_t size = hly_phys_size[n->type->phys];
      uint8_t *to = v->vec->values;
      const uint8_t *from = dense->values;
      for (uint32_t k = 0; k < n_ok; k++) {
        v->valid[rows[k]] = !hly_vector_is_null(dense, k);
        memcpy(to + (size_t)rows[k] * size, from + (size_t)k * size, size);
      }
      if (n->type->phys == HLY_PHYS_STR || n->type->phys == HLY_PHYS_VARIANT)
        HLY_TRY(hly_vector_share_heaps(ctx, v->vec, dense));
    }
  }
  p->n_sel_taken = taken;
  return HLY_OK;
}
