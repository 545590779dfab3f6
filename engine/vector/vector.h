// Vectors: a column of a batch. Three encodings; validity is a bitmap that is absent when there are no nulls.
#ifndef HLY_VECTOR_VECTOR_H
#define HLY_VECTOR_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/buf.h"
#include "base/ctx.h"
#include "vector/str.h"
#include "vector/type.h"

typedef enum hly_encoding {
  HLY_FLAT = 0,  // values[n_rows]
  HLY_CONST = 1, // values[1] stands for every row; null when `validity` is not NULL and bit 0 is clear
  HLY_DICT = 2,  // indices[n_rows] into `dict` (a flat vector); nulls are in `validity` of this vector, never
                 // in dict's
} hly_encoding;

// Null rows hold values that may be read: a view or span of theirs is valid (zeros are), so that kernels may
// work on every row and mask afterwards. A vector of the NULL type has a bitmap with every bit clear.
typedef struct hly_vector {
  const hly_type *type;
  uint8_t encoding;
  uint32_t n_rows;
  uint64_t *validity; // NULL: no nulls. Points into validity_buf or foreign memory that outlives the vector.
  void *values;       // FLAT, CONST: by type->phys; NULL for structs and for the NULL type
  uint32_t *indices;  // DICT; null rows hold a valid index too (0)
  struct hly_vector *dict;
  struct hly_vector *
      *children; // array 1 (elements), map 2 (keys, values), struct n: as many rows as spans need / n_rows
  // Ownership. A struct's children and a dict are owned by the vector (destroyed with it).
  hly_buf *validity_buf, *values_buf, *indices_buf;
  hly_buf **heaps; // that string views of `values` point to
  uint32_t n_heaps, cap_heaps;
  hly_buf *append_heap; // the one of `heaps` that hly_vector_append fills; NULL: none yet
  size_t append_used;
  int32_t refs;
} hly_vector;

// New vector of one reference. Children are created for nested types. NULL: no memory.
hly_vector *hly_vector_create(const hly_type *type);
static inline hly_vector *hly_vector_ref(hly_vector *v) {
  v->refs++;
  return v;
}
void hly_vector_unref(hly_vector *v); // NULL is fine

// Makes `v` (refs == 1) flat with room for n_rows values, reusing its buffers when nobody else holds them;
// drops heaps and dict. Validity becomes NULL. Contents undefined. n_rows is set.
HLY_MUST_CHECK hly_status hly_vector_reset(hly_ctx *ctx, hly_vector *v, uint32_t n_rows);
// Makes room for a validity bitmap of n_rows, all bits set.
HLY_MUST_CHECK hly_status hly_vector_need_validity(hly_ctx *ctx, hly_vector *v);
// Keeps `heap` alive as long as v (takes a reference; adding the same heap twice in a row is free).
HLY_MUST_CHECK hly_status hly_vector_add_heap(hly_ctx *ctx, hly_vector *v, hly_buf *heap);
HLY_MUST_CHECK hly_status hly_vector_share_heaps(hly_ctx *ctx, hly_vector *to, const hly_vector *from);
// Makes `v` a constant: the literal, for n_rows.
HLY_MUST_CHECK hly_status hly_vector_set_const(hly_ctx *ctx, hly_vector *v, const hly_literal *lit,
                                               uint32_t n_rows);
// Makes `v` a dictionary vector over `dict` (takes a reference; dict is flat, without nulls), indices
// undefined.
HLY_MUST_CHECK hly_status hly_vector_set_dict(hly_ctx *ctx, hly_vector *v, hly_vector *dict, uint32_t n_rows);

// Gathers rows `sel[0..n)` (NULL: the first n) of `in` into flat `out` (refs == 1, same type). Decodes
// constant and dictionary, recurses into children, shares string heaps (or copies when live bytes are under a
// quarter of what they pin).
HLY_MUST_CHECK hly_status hly_vector_gather(hly_ctx *ctx, hly_vector *out, const hly_vector *in,
                                            const uint32_t *sel, uint32_t n);
// As gather, but keeps constants and dictionaries encoded.
HLY_MUST_CHECK hly_status hly_vector_slice(hly_ctx *ctx, hly_vector *out, const hly_vector *in,
                                           const uint32_t *sel, uint32_t n);
// Appends n rows of `in` (at `sel`, NULL: the first n) to flat `out`, copying string bytes into out's own
// heap.
HLY_MUST_CHECK hly_status hly_vector_append(hly_ctx *ctx, hly_vector *out, const hly_vector *in,
                                            const uint32_t *sel, uint32_t n);

static inline bool hly_vector_is_null(const hly_vector *v, uint32_t row) {
  return v->validity && !hly_bits_get(v->validity, v->encoding == HLY_CONST ? 0 : row);
}
// Index of `row` in the vector that holds the values (v or v->dict).
static inline uint32_t hly_vector_index(const hly_vector *v, uint32_t row) {
  return v->encoding == HLY_FLAT ? row : v->encoding == HLY_CONST ? 0 : v->indices[row];
}
static inline const void *hly_vector_base(const hly_vector *v) {
  return v->encoding == HLY_DICT ? v->dict->values : v->values;
}
// Bytes that the vector keeps alive (buffers and heaps), and bytes that n selected rows need.
uint64_t hly_vector_pinned_bytes(const hly_vector *v);
// Debug: checks every invariant above (lengths, spans inside children, views inside heaps); false with a
// message.
bool hly_vector_check(const hly_vector *v, char *message, uint32_t size);

#endif
