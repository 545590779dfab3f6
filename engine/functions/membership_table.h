// Inside of membership: what its two files share.
#ifndef HLY_FUNCTIONS_MEMBERSHIP_TABLE_H
#define HLY_FUNCTIONS_MEMBERSHIP_TABLE_H

#include "functions/kernel.h"
#include "vector/str.h"

enum { HLY_MEMBER_SMALL = 8 }; // up to here a comparison with each constant beats hashing

typedef struct hly_member_state {
  bool has_null; // a null in the list: not found means null
  hly_phys phys; // of the value
  uint32_t n;
  const void *list; // n constants by phys, floats normalised
  // Hash set: slots hold an index into the list plus one, 0 is empty; size is a power of two.
  const uint32_t *slots;
  uint32_t mask;
} hly_member_state;

// Dense or selected membership of a small list by comparing with each; writes 0 or 1.
typedef struct hly_member_table {
  hly_kernel_fn small[HLY_N_PHYS];
} hly_member_table;

extern const hly_member_table hly_member_baseline, hly_member_v3, hly_member_v4;

#endif
