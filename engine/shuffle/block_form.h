// What the writer and the reader of frame bodies share: forms and flags of a column (shuffle/block.h).
#ifndef HLY_SHUFFLE_BLOCK_FORM_H
#define HLY_SHUFFLE_BLOCK_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "vector/type.h"

enum { FORM_FLAT = 0, FORM_CONST = 1, FORM_DICT = 2 };
enum { FLAG_VALIDITY = 1, FLAG_NULL = 2 };
enum { COLUMN_HEADER = 8 };

// Whether values may be stored as differences from a base.
static inline bool form_narrows(hly_phys phys) {
  return phys == HLY_PHYS_I32 || phys == HLY_PHYS_I64 || phys == HLY_PHYS_I128;
}
static inline size_t form_align(size_t n, size_t to) {
  return (n + to - 1) & ~(to - 1);
}

#endif
