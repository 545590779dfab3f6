// The registry as JSON: what documents, tests and the planner's tools read.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "expr/registry.h"

typedef struct text {
  hly_ctx *ctx;
  char **data;
  size_t *n, *cap;
} text;

static hly_status put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static hly_status put(text *t, const char *format, ...) {
  for (;;) {
    size_t room = *t->cap - *t->n;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(room ? *t->data + *t->n : NULL, room, format, args);
    va_end(args);
    if (n < 0) return hly_error_setf(&t->ctx->error, HLY_E_INTERNAL, "the registry cannot be printed");
    if ((size_t)n < room) {
      *t->n += (size_t)n;
      return HLY_OK;
    }
    size_t cap = *t->cap * 2 > *t->n + (size_t)n + 1 ? *t->cap * 2 : *t->n + (size_t)n + 4096;
    char *data = hly_realloc(*t->data, cap);
    HLY_CHECK_MEM(t->ctx, data, cap);
    *t->data = data;
    *t->cap = cap;
  }
}

typedef struct named_class {
  uint32_t bits;
  const char *name;
} named_class;

// Widest first: a class is printed as the fewest names that make it up.
static const named_class classes[] = {
    {HLY_ARG_ANY, "any"},
    {HLY_ARG_FLAT, "not nested"},
    {HLY_ARG_ORDERED, "ordered"},
    {HLY_ARG_NUMERIC, "numeric"},
    {HLY_ARG_INTEGRAL, "integral"},
    {HLY_ARG_FLOATING, "floating"},
    {HLY_ARG_ANSI_INTERVAL, "ANSI interval"},
    {HLY_ARG_BOOLEAN, "boolean"},
    {HLY_ARG_BYTE, "tinyint"},
    {HLY_ARG_SHORT, "smallint"},
    {HLY_ARG_INT, "int"},
    {HLY_ARG_LONG, "bigint"},
    {HLY_ARG_FLOAT, "float"},
    {HLY_ARG_DOUBLE, "double"},
    {HLY_ARG_DECIMAL, "decimal"},
    {HLY_ARG_DATE, "date"},
    {HLY_ARG_TIMESTAMP, "timestamp"},
    {HLY_ARG_TIMESTAMP_NTZ, "timestamp_ntz"},
    {HLY_ARG_TIME, "time"},
    {HLY_ARG_YEAR_MONTH, "year-month interval"},
    {HLY_ARG_DAY_TIME, "day-time interval"},
    {HLY_ARG_CALENDAR, "calendar interval"},
    {HLY_ARG_STRING, "string"},
    {HLY_ARG_BINARY, "binary"},
    {HLY_ARG_NULL, "void"},
    {HLY_ARG_ARRAY, "array"},
    {HLY_ARG_MAP, "map"},
    {HLY_ARG_STRUCT, "struct"},
};

static hly_status put_class(text *t, uint32_t cls) {
  if (cls & HLY_ARG_SAME) return put(t, "as argument 1");
  if (cls & HLY_ARG_SAME_AS_2) return put(t, "as argument 2");
  const char *separator = "";
  for (size_t i = 0; i < sizeof classes / sizeof *classes && cls; i++) {
    if ((cls & classes[i].bits) != classes[i].bits) continue;
    HLY_TRY(put(t, "%s%s", separator, classes[i].name));
    separator = " or ";
    cls &= ~classes[i].bits;
  }
  return HLY_OK;
}

static hly_status put_args(text *t, const hly_fn *fn) {
  for (int i = 0; i < HLY_FN_MAX_ARGS && fn->args[i]; i++) {
    if (fn->args[i] & HLY_ARG_REST) {
      HLY_TRY(put(t, ", \"...\""));
      continue;
    }
    HLY_TRY(put(t, "%s\"", i ? ", " : ""));
    HLY_TRY(put_class(t, fn->args[i]));
    HLY_TRY(put(t, "\""));
  }
  return HLY_OK;
}

static hly_status put_modes(text *t, uint32_t modes) {
  static const char *const names[] = {"legacy", "ansi", "try"};
  const char *separator = "";
  for (int i = 0; i < 3; i++) {
    if (!(modes >> i & 1)) continue;
    HLY_TRY(put(t, "%s\"%s\"", separator, names[i]));
    separator = ", ";
  }
  return HLY_OK;
}

static hly_status put_names(text *t, const char *const *names, uint32_t max) {
  for (uint32_t i = 0; i < max && names[i]; i++) HLY_TRY(put(t, "%s\"%s\"", i ? ", " : "", names[i]));
  return HLY_OK;
}

static hly_status put_functions(text *t) {
  static const char *const results[] = {[HLY_RESULT_BOOL] = "boolean",
                                        [HLY_RESULT_INT] = "int",
                                        [HLY_RESULT_SAME] = "as argument 1",
                                        [HLY_RESULT_DECLARED] = "as Spark declares"};
  static const char *const nulls[] = {[HLY_NULLS_STRICT] = "null if an argument is",
                                      [HLY_NULLS_MAY_ADD] = "null if an argument is, or the result",
                                      [HLY_NULLS_CUSTOM] = "its own"};
  for (const hly_fn *fn = hly_fns; fn->cls; fn++) {
    HLY_TRY(put(t, "%s\n    {\"class\": \"%s\", \"arguments\": [", fn == hly_fns ? "" : ",", fn->cls));
    HLY_TRY(put_args(t, fn));
    HLY_TRY(put(t, "], \"result\": \"%s\", \"nulls\": \"%s\", \"modes\": [", results[fn->result],
                nulls[fn->nulls]));
    HLY_TRY(put_modes(t, fn->modes));
    HLY_TRY(put(t, "], \"parameters\": ["));
    HLY_TRY(put_names(t, fn->params, HLY_FN_MAX_PARAMS));
    HLY_TRY(put(t, "]}"));
  }
  return HLY_OK;
}

static const struct {
  const char *cls;
  const char *params[HLY_FN_MAX_PARAMS];
} aggregates[] = {
#define PARAMS(...)                                                                                          \
  { __VA_ARGS__ }
#define AGG(cls, params, bind) {#cls, params},
#include "aggregates/aggregates.def"
#undef AGG
#undef PARAMS
};

static const char *const operators[] = {
#define X(name, bind) #name,
#include "operators/operators.def"
#undef X
};

// "HASH_AGGREGATE" as "HashAggregate", which is what plans call it.
static void camel(const char *name, char *out, size_t size) {
  bool upper = true;
  size_t k = 0;
  for (; *name && k + 1 < size; name++) {
    if (*name == '_') {
      upper = true;
      continue;
    }
    out[k++] = upper || *name < 'A' || *name > 'Z' ? *name : (char)(*name + ('a' - 'A'));
    upper = false;
  }
  out[k] = 0;
}

hly_status hly_registry_json(hly_ctx *ctx, char **json, size_t *n_bytes, size_t *capacity) {
  text t = {ctx, json, n_bytes, capacity};
  HLY_TRY(put(&t, "{\n  \"functions\": ["));
  HLY_TRY(put_functions(&t));
  HLY_TRY(put(&t, "\n  ],\n  \"aggregates\": ["));
  for (size_t i = 0; i < sizeof aggregates / sizeof *aggregates; i++) {
    HLY_TRY(put(&t, "%s\n    {\"class\": \"%s\", \"parameters\": [", i ? "," : "", aggregates[i].cls));
    HLY_TRY(put_names(&t, aggregates[i].params, HLY_FN_MAX_PARAMS));
    HLY_TRY(put(&t, "]}"));
  }
  HLY_TRY(put(&t, "\n  ],\n  \"operators\": ["));
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    char name[64];
    camel(operators[i], name, sizeof name);
    HLY_TRY(put(&t, "%s\n    {\"operator\": \"%s\"}", i ? "," : "", name));
  }
  return put(&t, "\n  ]\n}\n");
}
