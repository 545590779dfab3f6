// Matching what a query asks for to what a file has: by name or field id, as Spark's ParquetReadSupport does.
#ifndef HLY_PARQUET_SCHEMA_H
#define HLY_PARQUET_SCHEMA_H

#include "io/file.h"
#include "parquet/format.h"
#include "vector/type.h"

typedef struct hly_pq_request {
  const hly_field *fields; // top-level columns wanted
  uint32_t n_fields;
  bool case_sensitive, use_field_ids, ignore_missing_field_ids;
  // Rebase modes for files that do not tell ("EXCEPTION", "CORRECTED", "LEGACY"), and the zone of legacy
  // files that do not name one.
  const char *datetime_rebase, *int96_rebase, *time_zone;
} hly_pq_request;

// The file's top-level element for each field, NULL where the file has none. `out` has room for n_fields.
// Errors (HLY_E_FILE_READ): several elements match, field ids are wanted and the file has none, a column that
// may not be null is missing.
HLY_MUST_CHECK hly_status hly_pq_schema_match(hly_file *f, const hly_pq_metadata *m,
                                              const hly_pq_request *request, const hly_pq_element **out);
// Index of the element after the subtree of `i`.
uint32_t hly_pq_schema_next(const hly_pq_metadata *m, uint32_t i);
// Name of the column that Spark fills with row numbers of the file.
#define HLY_PQ_ROW_INDEX_NAME "_tmp_metadata_row_index"
// Whether matching `name` without regard to case needs more than ASCII's case rules.
bool hly_pq_schema_needs_unicode(const char *name);

#endif
