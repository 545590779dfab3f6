#include "vector/type.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const uint8_t hly_phys_size[HLY_N_PHYS] = {
    [HLY_PHYS_NONE] = 0,     [HLY_PHYS_BOOL] = 1, [HLY_PHYS_I8] = 1,    [HLY_PHYS_I16] = 2,
    [HLY_PHYS_I32] = 4,      [HLY_PHYS_I64] = 8,  [HLY_PHYS_I128] = 16, [HLY_PHYS_F32] = 4,
    [HLY_PHYS_F64] = 8,      [HLY_PHYS_STR] = 16, [HLY_PHYS_SPAN] = 8,  [HLY_PHYS_INTERVAL] = 16,
    [HLY_PHYS_VARIANT] = 32,
};

// X(kind, physical type, Spark's name); decimals choose theirs by precision.
#define KINDS                                                                                                \
  X(NULL, NONE, "void")                                                                                      \
  X(BOOLEAN, BOOL, "boolean")                                                                                \
  X(BYTE, I8, "tinyint")                                                                                     \
  X(SHORT, I16, "smallint")                                                                                  \
  X(INT, I32, "int")                                                                                         \
  X(LONG, I64, "bigint")                                                                                     \
  X(FLOAT, F32, "float")                                                                                     \
  X(DOUBLE, F64, "double")                                                                                   \
  X(DECIMAL, I64, "decimal")                                                                                 \
  X(DATE, I32, "date")                                                                                       \
  X(TIMESTAMP, I64, "timestamp")                                                                             \
  X(TIMESTAMP_NTZ, I64, "timestamp_ntz")                                                                     \
  X(TIME, I64, "time")                                                                                       \
  X(YEAR_MONTH_INTERVAL, I32, "interval year to month")                                                      \
  X(DAY_TIME_INTERVAL, I64, "interval day to second")                                                        \
  X(CALENDAR_INTERVAL, INTERVAL, "interval")                                                                 \
  X(STRING, STR, "string")                                                                                   \
  X(BINARY, STR, "binary")                                                                                   \
  X(VARIANT, VARIANT, "variant")                                                                             \
  X(ARRAY, SPAN, "array")                                                                                    \
  X(MAP, SPAN, "map")                                                                                        \
  X(STRUCT, NONE, "struct")                                                                                  \
  X(OTHER, NONE, "other")

static const hly_type scalars[HLY_N_KINDS] = {
#define X(k, p, text) [HLY_##k] = {.kind = HLY_##k, .phys = HLY_PHYS_##p},
    KINDS
#undef X
};

static const char *const kind_names[HLY_N_KINDS] = {
#define X(k, p, text) [HLY_##k] = text,
    KINDS
#undef X
};

enum { MAX_PRECISION = 38, MAX_LONG_PRECISION = 18 };

static hly_type decimals[MAX_PRECISION + 1][MAX_PRECISION + 1];

__attribute__((constructor)) static void fill_decimals(void) {
  for (int p = 1; p <= MAX_PRECISION; p++)
    for (int s = 0; s <= p; s++)
      decimals[p][s] = (hly_type){.kind = HLY_DECIMAL,
                                  .precision = (uint8_t)p,
                                  .scale = (uint8_t)s,
                                  .phys = hly_type_phys(HLY_DECIMAL, p)};
}

hly_phys hly_type_phys(hly_kind kind, int precision) {
  if ((unsigned)kind >= HLY_N_KINDS) return HLY_PHYS_NONE;
  if (kind == HLY_DECIMAL) return precision <= MAX_LONG_PRECISION ? HLY_PHYS_I64 : HLY_PHYS_I128;
  return scalars[kind].phys;
}

const hly_type *hly_type_of(hly_kind kind) {
  if ((unsigned)kind >= HLY_ARRAY || kind == HLY_DECIMAL || kind == HLY_TIME) return NULL;
  return &scalars[kind];
}

const hly_type *hly_type_decimal(int precision, int scale) {
  if (precision < 1 || precision > MAX_PRECISION || scale < 0 || scale > precision) return NULL;
  return &decimals[precision][scale];
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

bool hly_type_equal(const hly_type *a, const hly_type *b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->precision != b->precision || a->scale != b->scale ||
      a->n_fields != b->n_fields)
    return false;
  if (!same_text(a->collation, b->collation) || !same_text(a->name, b->name)) return false;
  for (uint32_t i = 0; i < a->n_fields; i++)
    if (!hly_type_equal(a->fields[i].type, b->fields[i].type)) return false;
  return true;
}

typedef struct text {
  char *out;
  uint32_t n, size;
} text;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...) {
  if (t->n + 1 >= t->size) return;
  va_list args;
  va_start(args, format);
  int n = vsnprintf(t->out + t->n, t->size - t->n, format, args);
  va_end(args);
  if (n > 0) t->n = t->n + (uint32_t)n < t->size ? t->n + (uint32_t)n : t->size - 1;
}

static void print(text *t, const hly_type *type) {
  switch (type->kind) {
  case HLY_DECIMAL: add(t, "decimal(%d,%d)", type->precision, type->scale); return;
  case HLY_TIME: add(t, "time(%d)", type->precision); return;
  case HLY_STRING:
    if (type->collation)
      add(t, "string collate %s", type->collation);
    else
      add(t, "string");
    return;
  case HLY_OTHER: add(t, "%s", type->name ? type->name : "other"); return;
  case HLY_ARRAY:
  case HLY_MAP:
  case HLY_STRUCT:
    add(t, "%s<", kind_names[type->kind]);
    for (uint32_t i = 0; i < type->n_fields; i++) {
      if (i) add(t, ",");
      if (type->kind == HLY_STRUCT) add(t, "%s:", type->fields[i].name ? type->fields[i].name : "");
      print(t, type->fields[i].type);
    }
    add(t, ">");
    return;
  default: add(t, "%s", (unsigned)type->kind < HLY_N_KINDS ? kind_names[type->kind] : "?");
  }
}

const char *hly_type_print(const hly_type *t, char *out, uint32_t size) {
  if (!size) return out;
  out[0] = 0;
  text to = {out, 0, size};
  print(&to, t);
  return out;
}
