#include "aggregates/aggregate.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { MAX_PARAMS = 4 };

#define PARAMS(...)                                                                                          \
  { __VA_ARGS__ }
#define AGG(cls, params, bind) {#cls, params, bind},
static const struct {
  const char *cls;
  const char *params[MAX_PARAMS];
  hly_status (*bind)(hly_binder *b, const Halley__AggCall *call, hly_agg *a);
} FUNCTIONS[] = {
#include "aggregates/aggregates.def"
};
#undef AGG
#undef PARAMS

const char *hly_agg_param(const Halley__AggCall *call, const char *name, const char *otherwise) {
  for (size_t i = 0; i < call->n_params; i++)
    if (!strcmp(call->params[i]->name, name) &&
        call->params[i]->value_case == HALLEY__PARAM__VALUE_STRING_VALUE)
      return call->params[i]->string_value;
  return otherwise;
}

bool hly_agg_param_bool(const Halley__AggCall *call, const char *name, bool otherwise) {
  for (size_t i = 0; i < call->n_params; i++)
    if (!strcmp(call->params[i]->name, name) &&
        call->params[i]->value_case == HALLEY__PARAM__VALUE_BOOL_VALUE)
      return call->params[i]->bool_value;
  return otherwise;
}

hly_status hly_agg_bind_eval_mode(hly_binder *b, const Halley__AggCall *call, hly_agg *a) {
  const char *mode = hly_agg_param(call, "evalContext.evalMode", hly_agg_param(call, "evalMode", NULL));
  if (!mode) return hly_bind_refuse(b, "%s: the evaluation mode is missing", a->cls);
  if (!strcmp(mode, "LEGACY"))
    a->eval_mode = HLY_AGG_LEGACY;
  else if (!strcmp(mode, "ANSI"))
    a->eval_mode = HLY_AGG_ANSI;
  else if (!strcmp(mode, "TRY"))
    a->eval_mode = HLY_AGG_TRY;
  else
    return hly_bind_refuse(b, "%s: evaluation mode %s has no native form", a->cls, mode);
  return HLY_OK;
}

hly_status hly_agg_refuse_type(hly_binder *b, const hly_agg *a, const hly_type *type) {
  char text[128];
  return hly_bind_refuse(b, "%s of %s%s%s has no native form", a->cls,
                         hly_type_print(type, text, sizeof text), type->collation ? " with collation " : "",
                         type->collation ? type->collation : "");
}

hly_status hly_agg_overflow(hly_ctx *ctx, int64_t site, const char *message, const char *suggestion) {
  char alternative[128], place[24];
  int n = 0;
  for (const char *p = " Use '"; *p; p++) alternative[n++] = *p;
  for (const char *p = suggestion; *p && n < 64; p++) alternative[n++] = *p;
  for (const char *p = "' to tolerate overflow and return NULL instead."; *p; p++) alternative[n++] = *p;
  alternative[n] = 0;
  snprintf(place, sizeof place, "%lld", (long long)site);
  return hly_error_set(&ctx->error, HLY_E_ARITHMETIC_OVERFLOW, 4, "message", message, "alternative",
                       alternative, "config", "\"spark.sql.ansi.enabled\"", "site", place);
}

static hly_status bind_types(hly_binder *b, const Halley__AggCall *call, hly_agg *a) {
  if (!call->type || call->n_buffer == 0)
    return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "%s has no result type or no buffer", a->cls);
  HLY_TRY(hly_bind_type(b, call->type, &a->type));
  if (call->n_buffer > HLY_AGG_MAX_BUFFERS)
    return hly_bind_refuse(b, "%s with %zu buffer columns has no native form", a->cls, call->n_buffer);
  a->n_buffers = (uint32_t)call->n_buffer;
  for (uint32_t i = 0; i < a->n_buffers; i++) {
    if (!call->buffer[i]->type)
      return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "%s has a buffer without type", a->cls);
    HLY_TRY(hly_bind_type(b, call->buffer[i]->type, &a->buffer_types[i]));
  }
  a->n_inputs = a->merges ? a->n_buffers : (uint32_t)call->n_args;
  a->input_types = HLY_ARENA_NEW_N(b->arena, const hly_type *, a->n_inputs + 1);
  HLY_CHECK_MEM(b->ctx, a->input_types, a->n_inputs * sizeof(void *));
  for (uint32_t i = 0; i < a->n_inputs; i++) {
    if (a->merges) {
      a->input_types[i] = a->buffer_types[i];
    } else {
      if (!call->args[i]->type)
        return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "an argument of %s has no type", a->cls);
      HLY_TRY(hly_bind_type(b, call->args[i]->type, &a->input_types[i]));
    }
  }
  return HLY_OK;
}

hly_status hly_agg_bind(hly_binder *b, const Halley__AggCall *call, bool grouped, hly_agg **out) {
  if (call->refused && *call->refused) return hly_bind_refuse(b, "%s", call->refused);
  for (size_t f = 0; f < sizeof FUNCTIONS / sizeof *FUNCTIONS; f++) {
    if (strcmp(call->cls, FUNCTIONS[f].cls)) continue;
    for (size_t i = 0; i < call->n_params; i++) {
      bool declared = false;
      for (int k = 0; k < MAX_PARAMS && FUNCTIONS[f].params[k]; k++)
        declared |= !strcmp(call->params[i]->name, FUNCTIONS[f].params[k]);
      if (!declared)
        return hly_bind_refuse(b, "%s: parameter %s has no native form", call->cls, call->params[i]->name);
    }
    hly_agg *a = HLY_ARENA_NEW(b->arena, hly_agg);
    HLY_CHECK_MEM(b->ctx, a, sizeof *a);
    a->cls = FUNCTIONS[f].cls;
    a->mode = call->mode;
    a->site = call->site;
    a->grouped = grouped;
    if (call->mode < HALLEY__AGG_MODE__PARTIAL || call->mode > HALLEY__AGG_MODE__COMPLETE)
      return hly_error_setf(&b->ctx->error, HLY_E_PLAN_INVALID, "mode %d of %s", (int)call->mode, a->cls);
    a->merges = call->mode == HALLEY__AGG_MODE__PARTIAL_MERGE || call->mode == HALLEY__AGG_MODE__FINAL;
    a->is_final = call->mode == HALLEY__AGG_MODE__FINAL || call->mode == HALLEY__AGG_MODE__COMPLETE;
    HLY_TRY(bind_types(b, call, a));
    HLY_TRY(FUNCTIONS[f].bind(b, call, a));
    *out = a;
    return HLY_OK;
  }
  return hly_bind_refuse(b, "aggregate function %s has no native form", call->cls);
}

hly_status hly_agg_scratch_need(hly_ctx *ctx, hly_agg_scratch *s, uint32_t n) {
  if (n <= s->capacity && s->rows) return HLY_OK;
  hly_agg_scratch_deinit(s);
  s->rows = hly_malloc((size_t)n * 4);
  s->groups = hly_malloc((size_t)n * sizeof *s->groups);
  bool ok = s->rows && s->groups;
  for (int i = 0; i < HLY_AGG_MAX_BUFFERS; i++) ok &= (s->pos[i] = hly_malloc((size_t)n * 4)) != NULL;
  if (!ok) {
    hly_agg_scratch_deinit(s);
    return hly_ctx_nomem(ctx, (int64_t)n * 24);
  }
  s->capacity = n;
  return HLY_OK;
}

void hly_agg_scratch_deinit(hly_agg_scratch *s) {
  hly_free(s->rows);
  hly_free(s->groups);
  for (int i = 0; i < HLY_AGG_MAX_BUFFERS; i++) hly_free(s->pos[i]);
  *s = (hly_agg_scratch){0};
}

// Keeps rows whose value in `v` is not null: in place when they are listed already. Branch-free.
static uint32_t drop_nulls(const hly_vector *v, const uint32_t *sel, uint32_t from, uint32_t n,
                           uint8_t *const *groups, uint32_t *rows, uint8_t **kept) {
  if (v->encoding == HLY_CONST && hly_vector_is_null(v, 0)) return 0;
  const uint64_t *validity = v->encoding == HLY_CONST ? NULL : v->validity;
  uint32_t k = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t row = sel ? sel[from + i] : from + i;
    rows[k] = row;
    if (groups) kept[k] = groups[i];
    k += validity ? hly_bits_get(validity, row) : 1;
  }
  return k;
}

hly_status hly_agg_apply(const hly_agg *a, hly_agg_env *env, hly_agg_scratch *scratch,
                         hly_vector *const *columns, const uint32_t *sel, uint32_t from, uint32_t n,
                         uint8_t *const *groups, uint8_t *one) {
  if (n == 0) return HLY_OK;
  HLY_TRY(hly_agg_scratch_need(env->ctx, scratch, n));
  hly_agg_rows rows = {
      .n = n, .row = sel ? sel + from : NULL, .first_row = from, .groups = groups, .one = one};
  for (uint32_t c = 0; c < a->n_inputs && !a->keep_nulls; c++) {
    const hly_vector *v = columns[c];
    if (!v->validity && v->type->kind != HLY_NULL) continue;
    bool listed = rows.row == scratch->rows;
    rows.n = v->type->kind == HLY_NULL ? 0
                                       : drop_nulls(v, listed ? scratch->rows : sel, listed ? 0 : from,
                                                    rows.n, rows.groups, scratch->rows, scratch->groups);
    if (rows.n == 0) return HLY_OK;
    rows.row = scratch->rows;
    if (groups) rows.groups = scratch->groups;
  }
  hly_agg_column in[HLY_AGG_MAX_BUFFERS] = {{0}};
  for (uint32_t c = 0; c < a->n_inputs && c < HLY_AGG_MAX_BUFFERS; c++) {
    in[c].vector = columns[c];
    in[c].values = hly_vector_base(columns[c]);
    in[c].pos = hly_vector_positions(columns[c], rows.row, rows.row ? 0 : from, rows.n, scratch->pos[c]);
    if (!in[c].pos)
      in[c].values = (const uint8_t *)in[c].values + (size_t)from * hly_phys_size[columns[c]->type->phys];
  }
  return a->update(a, env, in, &rows);
}

hly_status hly_agg_begin(hly_ctx *ctx, hly_vector *out, uint32_t n) {
  return hly_vector_reset(ctx, out, n);
}

hly_status hly_agg_set_null(hly_ctx *ctx, hly_vector *out, uint32_t i) {
  if (!out->validity) HLY_TRY(hly_vector_need_validity(ctx, out));
  hly_bits_clear(out->validity, i);
  return HLY_OK;
}
