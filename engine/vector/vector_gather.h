// Shared by the files that copy rows from vector to vector.
#ifndef HLY_VECTOR_VECTOR_GATHER_H
#define HLY_VECTOR_VECTOR_GATHER_H

#include "vector/vector.h"

// out[k] = the value of row sel[k] (NULL: k) of `in`, for a fixed-width type of `size` bytes; any encoding.
// Values at null rows are copied as they are; a dictionary without entries gives zeros.
void hly_vector_take(void *out, const hly_vector *in, const uint32_t *sel, uint32_t n, size_t size);
// Where the values of the rows are: *base is the vector that holds them (`in` or its dictionary) and *rows
// their numbers in it (NULL: the first n). *scratch is to be freed by hly_free.
HLY_MUST_CHECK hly_status hly_vector_resolve(hly_ctx *ctx, const hly_vector *in, const uint32_t *sel,
                                             uint32_t n, const hly_vector **base, const uint32_t **rows,
                                             uint32_t **scratch);
// Lists the child rows of n spans, those of null rows (`validity` of the spans) left out, and rewrites the
// spans to point to them from `at` on. *sel is owned by the caller; *total its length. Fails when the child
// would pass 2^31 - 1 rows.
HLY_MUST_CHECK hly_status hly_vector_flatten_spans(hly_ctx *ctx, hly_span *spans, const uint64_t *validity,
                                                   uint32_t n, uint32_t at, uint32_t **sel, uint32_t *total);

#endif
