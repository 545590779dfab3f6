// Random batches of any schema, and deep comparison of values across encodings.
#ifndef HLY_TEST_RANDOM_BATCH_H
#define HLY_TEST_RANDOM_BATCH_H

#include "fixture.h"

typedef struct test_random {
  uint64_t state;
} test_random;

uint64_t test_next(test_random *r);
static inline uint32_t test_below(test_random *r, uint32_t n) {
  return (uint32_t)(test_next(r) % n);
}

// What random values look like.
typedef struct test_shape {
  uint32_t n_rows;
  uint32_t null_percent;
  uint32_t distinct; // 0: any value; else so many different ones
  uint32_t max_string;
  hly_encoding encoding; // of the top vectors
} test_shape;

// Types over one field list each; static.
extern const hly_schema test_all_types;  // one column of every kind and physical type, nested ones included
extern const hly_schema test_flat_types; // without arrays, maps and structs

// Fills a new vector (returns owned). Fails the test when there is no memory, unless `st` is given.
hly_vector *test_shaped_vector(hly_ctx *ctx, test_random *r, const hly_type *type, const test_shape *shape,
                               hly_status *st);
// A batch in `arena`.
hly_batch *test_shaped_batch(hly_ctx *ctx, hly_arena *arena, test_random *r, const hly_schema *schema,
                             const test_shape *shape, hly_status *st);

// Deep equality of two values, whatever the encodings; fixed-width ones by their bytes.
bool test_value_equal(const hly_vector *a, uint32_t row_a, const hly_vector *b, uint32_t row_b);

#endif
