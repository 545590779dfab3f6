// Types from Spark's text, for tests: "struct<a:int,b:array<decimal(20,2)>>", the form that hly_type_print
// writes.
#ifndef HLY_TEST_TYPE_TEXT_H
#define HLY_TEST_TYPE_TEXT_H

#include "base/arena.h"
#include "vector/type.h"
#include "vector/vector.h"

// In `arena`; fails the test when the text is not a type.
const hly_type *test_type(hly_arena *arena, const char *text);
// The fields of a struct type as a schema.
hly_schema test_schema(hly_arena *arena, const char *text);
// Text of one value, in a form of the tests' own: floats as hexadecimal bits, decimals plain, strings as x
// and hexadecimal bytes, arrays [a,b], maps [keys][values], structs (a,b), intervals months/days/micros,
// variants value/metadata. Appends to *out (an arena string).
char *test_value_text(hly_arena *arena, const hly_vector *v, uint32_t row);
// Makes a flat vector of n pseudo-random rows with edge values, about `null_percent` of them null.
hly_status test_random_vector(hly_ctx *ctx, const hly_type *type, uint32_t n, uint32_t null_percent,
                              uint64_t *seed, hly_vector **out);

#endif
