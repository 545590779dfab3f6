// Running a ParquetScan for tests: from a schema's text and file splits to lines of text.
#ifndef HLY_TEST_SCAN_RUN_H
#define HLY_TEST_SCAN_RUN_H

#include "expr_build.h"
#include "operators/parquet_scan.h"

typedef struct scan_split {
  const char *path;
  int64_t start, length; // length 0: the whole file
} scan_split;

typedef struct scan_run {
  // in
  const char *schema; // of the files' columns, "struct<...>"
  scan_split splits[8];
  uint32_t n_splits;
  uint32_t batch_rows; // 0: 8192
  bool case_insensitive, field_ids, ignore_corrupt, ignore_missing, row_filter;
  const char *datetime_rebase, *int96_rebase, *zone;
  // Built over the fields of the schema; NULL: none.
  Halley__Expr *(*filter)(expr_builder *b, const hly_schema *schema);
  Halley__Expr *(*prune)(expr_builder *b, const hly_schema *schema);
  const char *constants; // types of constant columns, all of value 7 or null, "struct<...>"; NULL: none
  const hly_host *host;
  // out
  char *lines; // one a row, cells separated by tabs; freed by scan_run_deinit
  size_t n_lines, n_bytes, capacity;
  uint32_t n_batches, most_rows;
  int64_t metrics[HALLEY__METRIC__N_METRICS];
  hly_error error; // of a failed run
} scan_run;

// Binds, opens, drains and closes. Lines written before an error stay.
hly_status scan_run_all(scan_run *r);
void scan_run_deinit(scan_run *r);
// The same without text, with every allocation failing in its turn (fixture.h).
void scan_run_failing_allocations(scan_run *r, int max);

#endif
