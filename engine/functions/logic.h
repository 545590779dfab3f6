// Boolean bytes: three-valued AND and OR, masks. One table a CPU level.
#ifndef HLY_FUNCTIONS_LOGIC_H
#define HLY_FUNCTIONS_LOGIC_H

#include "functions/kernel.h"

typedef struct hly_logic_table {
  void (*mask_and)(uint32_t n, uint8_t *to, const uint8_t *from); // to &= from, bytes of 0 or 1
  void (*mask_and2)(uint32_t n, uint8_t *to, const uint8_t *a, const uint8_t *b); // to &= a & b
  void (*invert)(uint32_t n, uint8_t *to, const uint8_t *from);                   // to = 1 - from
  // Validity may be NULL: no nulls. out and out_valid may be a and valid_a. Without nulls out_valid is not
  // written.
  void (*and3)(uint32_t n, const uint8_t *a, const uint8_t *valid_a, const uint8_t *b, const uint8_t *valid_b,
               uint8_t *out, uint8_t *out_valid);
  void (*or3)(uint32_t n, const uint8_t *a, const uint8_t *valid_a, const uint8_t *b, const uint8_t *valid_b,
              uint8_t *out, uint8_t *out_valid);
  uint32_t (*count)(uint32_t n, const uint8_t *bytes); // how many are 1
  hly_kernel_fn not_;
  hly_kernel_fn is_nan[2]; // float, double
  hly_kernel_fn normalize[2];
} hly_logic_table;

const hly_logic_table *hly_logic(void); // of the CPU level in use
extern const hly_logic_table hly_logic_baseline, hly_logic_v3, hly_logic_v4;

#endif
