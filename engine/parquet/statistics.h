// Ruling out row groups by the statistics of their chunks. A conjunct only ever rules out a row group in
// which, for certain, no row satisfies it; whatever is missing, odd or not understood keeps the row group.
#ifndef HLY_PARQUET_STATISTICS_H
#define HLY_PARQUET_STATISTICS_H

#include "parquet/convert.h"
#include "parquet/format.h"
#include "plan/binder.h"
#include "vector/str.h"

// Where a field's values come from in one file.
typedef struct hly_pq_source {
  const hly_pq_element *element; // NULL: the file has no such column
  hly_pq_convert convert;
  bool legal;     // Spark's reader allows the conversion
  bool row_index; // filled with the row's number in the file
  // NULL: null for missing columns.
  const hly_literal *default_value;
} hly_pq_source;

typedef struct hly_pq_prune hly_pq_prune;

// A value in the order that predicates use.
typedef struct hly_pq_value {
  hly_i128 i; // integers, decimals, dates, booleans
  double f;
  hly_str s;
} hly_pq_value;
hly_pq_value hly_pq_value_load(hly_phys phys, const void *p);

// What the statistics of a chunk tell of its values. NaN is in no bound.
typedef struct hly_pq_bounds {
  bool has_min, has_max;
  hly_pq_value min, max;
  int64_t n_values, null_count; // null_count -1: not known
} hly_pq_bounds;
static inline bool hly_pq_bounds_all_null(const hly_pq_bounds *b) {
  return b->null_count >= 0 && b->null_count == b->n_values;
}

// Translates conjuncts over `schema` (kept; fields 0.. are the file's columns; references past n_file_fields
// are ignored) into a form that is quick to evaluate. Lives in the binder's arena. What it does not
// understand prunes nothing. *out is NULL when nothing is left.
HLY_MUST_CHECK hly_status hly_pq_prune_bind(hly_binder *b, Halley__Expr *const *conjuncts, size_t n,
                                            const hly_schema *schema, uint32_t n_file_fields,
                                            hly_pq_prune **out);
// Whether no row of `rg` can satisfy all the conjuncts.
bool hly_pq_prune_row_group(const hly_pq_prune *p, const hly_pq_source *sources, const hly_pq_metadata *m,
                            const hly_pq_row_group *rg);
// The bounds of a field of type `type` in a row group; none for what the file does not have.
void hly_pq_bounds_read(const hly_pq_source *s, const hly_type *type, const hly_pq_metadata *m,
                        const hly_pq_row_group *rg, hly_pq_bounds *out);
// Whether reading the field can raise an error on a row of the group that no damage to the file explains: a
// type that is refused, a conversion out of range, a date of the old calendar. Spark raises it whether or not
// a filter wants the row.
bool hly_pq_may_fail(const hly_pq_source *s, const hly_type *type, const hly_pq_metadata *m,
                     const hly_pq_row_group *rg);

#endif
