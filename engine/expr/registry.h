// The registry: the one table of what the engine can do with an expression (functions/functions.def), and
// the checks a call must pass before its bind function sees it.
#ifndef HLY_EXPR_REGISTRY_H
#define HLY_EXPR_REGISTRY_H

#include "functions/kernel.h"

// Argument classes: a bit per hly_kind, or a rule that refers to other arguments.
enum {
  HLY_ARG_BOOLEAN = 1u << HLY_BOOLEAN,
  HLY_ARG_BYTE = 1u << HLY_BYTE,
  HLY_ARG_SHORT = 1u << HLY_SHORT,
  HLY_ARG_INT = 1u << HLY_INT,
  HLY_ARG_LONG = 1u << HLY_LONG,
  HLY_ARG_FLOAT = 1u << HLY_FLOAT,
  HLY_ARG_DOUBLE = 1u << HLY_DOUBLE,
  HLY_ARG_DECIMAL = 1u << HLY_DECIMAL,
  HLY_ARG_DATE = 1u << HLY_DATE,
  HLY_ARG_TIMESTAMP = 1u << HLY_TIMESTAMP,
  HLY_ARG_TIMESTAMP_NTZ = 1u << HLY_TIMESTAMP_NTZ,
  HLY_ARG_TIME = 1u << HLY_TIME,
  HLY_ARG_YEAR_MONTH = 1u << HLY_YEAR_MONTH_INTERVAL,
  HLY_ARG_DAY_TIME = 1u << HLY_DAY_TIME_INTERVAL,
  HLY_ARG_CALENDAR = 1u << HLY_CALENDAR_INTERVAL,
  HLY_ARG_STRING = 1u << HLY_STRING,
  HLY_ARG_BINARY = 1u << HLY_BINARY,
  HLY_ARG_NULL = 1u << HLY_NULL,
  HLY_ARG_ARRAY = 1u << HLY_ARRAY,
  HLY_ARG_MAP = 1u << HLY_MAP,
  HLY_ARG_STRUCT = 1u << HLY_STRUCT,
  HLY_ARG_INTEGRAL = HLY_ARG_BYTE | HLY_ARG_SHORT | HLY_ARG_INT | HLY_ARG_LONG,
  HLY_ARG_FLOATING = HLY_ARG_FLOAT | HLY_ARG_DOUBLE,
  HLY_ARG_NUMERIC = HLY_ARG_INTEGRAL | HLY_ARG_FLOATING | HLY_ARG_DECIMAL,
  HLY_ARG_TEXT = HLY_ARG_STRING | HLY_ARG_BINARY,
  HLY_ARG_ANSI_INTERVAL = HLY_ARG_YEAR_MONTH | HLY_ARG_DAY_TIME,
  HLY_ARG_ADDABLE = HLY_ARG_NUMERIC | HLY_ARG_ANSI_INTERVAL,
  HLY_ARG_NUMBER_OR_BOOLEAN = HLY_ARG_NUMERIC | HLY_ARG_BOOLEAN,
  HLY_ARG_SMALL_INTEGER = HLY_ARG_BYTE | HLY_ARG_SHORT | HLY_ARG_INT,
  // Everything with an order that is the order of its value's bytes or number.
  HLY_ARG_ORDERED = HLY_ARG_BOOLEAN | HLY_ARG_NUMERIC | HLY_ARG_DATE | HLY_ARG_TIMESTAMP |
                    HLY_ARG_TIMESTAMP_NTZ | HLY_ARG_TIME | HLY_ARG_ANSI_INTERVAL | HLY_ARG_STRING |
                    HLY_ARG_BINARY,
  // Everything whose value is an array element of fixed size (not nested).
  HLY_ARG_FLAT = HLY_ARG_ORDERED | HLY_ARG_CALENDAR,
  HLY_ARG_HASHED = HLY_ARG_ORDERED, // Spark's two evaluations of a calendar interval's hash differ
  HLY_ARG_ANY = (1u << HLY_OTHER) - 1,
  HLY_ARG_SAME = 1u << 30,      // as argument 1
  HLY_ARG_SAME_AS_2 = 1u << 29, // as argument 2
  HLY_ARG_REST = 1u << 28,      // any number more of the class before
};

typedef enum hly_result_rule {
  HLY_RESULT_BOOL,
  HLY_RESULT_INT,
  HLY_RESULT_SAME,
  HLY_RESULT_DECLARED
} hly_result_rule;

enum { HLY_MODE_NONE = 0, HLY_MODE_LEGACY = 1, HLY_MODE_ANSI = 2, HLY_MODE_TRY = 4 };

// How the evaluator runs it: by a kernel, or by a form of its own.
typedef enum hly_form {
  HLY_FORM_KERNEL,
  HLY_FORM_CHILD, // the child itself
  HLY_FORM_AND,
  HLY_FORM_OR,
  HLY_FORM_IF,
  HLY_FORM_CASE,
  HLY_FORM_COALESCE,
  HLY_FORM_NANVL,
  HLY_FORM_IS_NULL,
  HLY_FORM_IS_NOT_NULL,
  HLY_FORM_IN,
} hly_form;

enum { HLY_FN_MAX_ARGS = 8, HLY_FN_MAX_PARAMS = 12 };

typedef struct hly_fn {
  const char *cls;
  uint32_t args[HLY_FN_MAX_ARGS]; // ends with 0
  hly_result_rule result;
  hly_nulls nulls;
  uint32_t flags;
  const char *params[HLY_FN_MAX_PARAMS]; // ends with NULL; "*": any
  uint32_t modes;
  hly_fn_bind bind; // kernels
  hly_form form;
} hly_fn;

extern const hly_fn hly_fns[];              // ascending by class name is not required; ends with cls NULL
const hly_fn *hly_fn_find(const char *cls); // NULL: none
// Checks number and classes of arguments, result rule, parameters and collations. HLY_REFUSED with a reason.
HLY_MUST_CHECK hly_status hly_fn_check(hly_binder *b, const hly_fn *fn, const hly_fn_call *call);

// Appends the registry (functions, aggregates, operators) as JSON to a buffer from hly_malloc that grows:
// *json (NULL at first), *n_bytes without the NUL, *capacity. The caller frees it with hly_free.
HLY_MUST_CHECK hly_status hly_registry_json(hly_ctx *ctx, char **json, size_t *n_bytes, size_t *capacity);

#endif
