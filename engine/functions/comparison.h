// Comparison kernels of one CPU level.
#ifndef HLY_FUNCTIONS_COMPARISON_H
#define HLY_FUNCTIONS_COMPARISON_H

#include "functions/kernel.h"

// a > b is b < a: bind swaps the arguments instead of having kernels for it.
typedef enum hly_compare { HLY_COMPARE_EQ, HLY_COMPARE_LT, HLY_COMPARE_LE, HLY_N_COMPARE } hly_compare;

typedef struct hly_compare_state {
  bool swap;
  uint8_t scale[2]; // digits by which argument 0 and 1 are scaled up to compare (decimals of differing scale)
} hly_compare_state;

typedef struct hly_compare_table {
  hly_kernel_fn fn[HLY_N_COMPARE][HLY_N_PHYS]; // NULL: no such type
  hly_select_fn select[HLY_N_COMPARE][HLY_N_PHYS];
  hly_kernel_fn mixed[HLY_N_COMPARE]; // decimals of different width or scale
} hly_compare_table;

extern const hly_compare_table hly_compare_baseline, hly_compare_v3, hly_compare_v4;

#endif
