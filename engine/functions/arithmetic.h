// Tables of arithmetic kernels, one per CPU level, indexed by operation and physical type.
#ifndef HLY_FUNCTIONS_ARITHMETIC_H
#define HLY_FUNCTIONS_ARITHMETIC_H

#include "functions/kernel.h"

// Plain forms wrap as Java does (floats: IEEE). CHECK forms treat a row that overflows or divides by zero as
// `errors` says.
typedef enum hly_arith_op {
  HLY_ARITH_ADD,
  HLY_ARITH_ADD_CHECK,
  HLY_ARITH_SUB,
  HLY_ARITH_SUB_CHECK,
  HLY_ARITH_MUL,
  HLY_ARITH_MUL_CHECK,
  HLY_ARITH_DIV,  // by zero: as `errors` says
  HLY_ARITH_IDIV, // long: as DIV; the minimum by -1 is an error with DECLINE and wraps with NULL
  HLY_ARITH_REM,
  HLY_ARITH_PMOD,
  HLY_ARITH_NEG,
  HLY_ARITH_NEG_CHECK,
  HLY_ARITH_ABS,
  HLY_ARITH_ABS_CHECK,
  HLY_ARITH_N_OPS
} hly_arith_op;

typedef enum hly_arith_errors {
  HLY_ARITH_DECLINE, // ANSI: Spark raises
  HLY_ARITH_NULL,    // TRY; LEGACY for division by zero
} hly_arith_errors;

typedef struct hly_arith_state {
  hly_arith_errors errors;
} hly_arith_state;

typedef struct hly_arith_table {
  hly_kernel_fn fn[HLY_ARITH_N_OPS][HLY_N_PHYS]; // NULL: no such combination
} hly_arith_table;

extern const hly_arith_table hly_arith_baseline, hly_arith_v3, hly_arith_v4;

// ---- Decimals: unscaled values of scales s1 and s2 to (precision, scale).
typedef enum hly_decimal_op {
  HLY_DECIMAL_ADD,
  HLY_DECIMAL_SUB,
  HLY_DECIMAL_MUL,
  HLY_DECIMAL_N_OPS
} hly_decimal_op;

typedef struct hly_decimal_state {
  hly_arith_errors errors; // overflow of the precision
  __int128 m1, m2;         // ADD, SUB: powers of ten that bring both to `from_scale`
  int from_scale;          // of the exact result before rounding
  int precision, scale;
  int s1, s2;
} hly_decimal_state;

typedef struct hly_decimal_table {
  // [op][a is int128][b is int128][out is int128]: results that fit whatever the values; no rounding.
  hly_kernel_fn exact[HLY_DECIMAL_N_OPS][2][2][2];
  // Rounded to `scale` and checked against `precision`.
  hly_kernel_fn checked[HLY_DECIMAL_N_OPS][2][2][2];
} hly_decimal_table;

extern const hly_decimal_table hly_decimal_baseline, hly_decimal_v3, hly_decimal_v4;

// The row's result is an error of the function: null, or declined for Spark to raise.
static inline void hly_arith_error(hly_call *call, hly_arith_errors errors, uint32_t row) {
  if (errors == HLY_ARITH_NULL)
    call->valid[row] = 0;
  else
    hly_decline(call, row);
}

// How the evaluation mode of a call treats errors; false where the mode is not a name this build knows.
typedef struct hly_arith_mode {
  bool ansi, try_;
} hly_arith_mode;
HLY_MUST_CHECK hly_status hly_arith_bind_mode(hly_binder *b, const hly_fn_call *call, const char *param,
                                              hly_arith_mode *out);

#endif
