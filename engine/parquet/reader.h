// A Parquet file being read: metadata, the columns that were asked for, row group by row group.
#ifndef HLY_PARQUET_READER_H
#define HLY_PARQUET_READER_H

#include "parquet/column.h"
#include "parquet/footer.h"
#include "parquet/schema.h"
#include "parquet/statistics.h"

struct hly_pq_reader;
// Whether no row of the row group is wanted, for a reason besides its own filters.
typedef bool (*hly_pq_rule_out_fn)(void *arg, const struct hly_pq_reader *r, const hly_pq_row_group *rg);

typedef struct hly_pq_reader {
  hly_ctx *ctx;
  hly_file *file;
  hly_arena *arena;
  hly_pq_metadata *metadata;
  const hly_pq_request *request;
  hly_pq_source *sources; // one a field
  hly_pq_column *columns; // one a field; unused where the file has no such column
  uint8_t *late;          // one a field: the bytes of fields of one number are read when one of them is used
  bool *started;          // one a field: the row group's chunk is open
  int64_t *unread;        // one a field: rows to skip once the chunk is open
  hly_pq_codec_state codecs;
  hly_pq_rebase_zone zone; // of legacy timestamps
  int64_t start, length;   // the split
  uint32_t next_row_group;
  const hly_pq_row_group *row_group;
  int64_t rows_left; // of the row group; the caller counts
  int64_t *position; // one a field: rows passed in the row group
  int64_t row_groups_read, row_groups_pruned, row_groups_ruled_out; // by prune, by rule_out
  hly_pq_rule_out_fn rule_out; // NULL: none; set by the caller, asked after `prune`
  void *rule_out_arg;
  int64_t recorded; // working bytes told to the pool
} hly_pq_reader;

// Reads the footer of `file` and matches `request` (borrowed, outlives the reader). Takes `file`, also when
// it fails. Rows come from the row groups whose midpoint lies in [start, start + length); length < 0: to the
// end.
HLY_MUST_CHECK hly_status hly_pq_reader_open(hly_ctx *ctx, hly_file *file, const hly_pq_request *request,
                                             int64_t start, int64_t length, hly_pq_reader **out);
void hly_pq_reader_close(hly_pq_reader *r); // NULL is fine
// Moves to the next row group of the split that `prune` (may be NULL) does not rule out. *more false: there
// is none. A column whose type Spark would not convert is HLY_E_FILE_COLUMN_TYPE here.
HLY_MUST_CHECK hly_status hly_pq_reader_next_group(hly_pq_reader *r, const hly_pq_prune *prune, bool *more);
// The next n rows of field i (n <= rows that the field has left). Each field moves by itself; callers keep
// them in step. Missing columns give constants.
HLY_MUST_CHECK hly_status hly_pq_reader_read(hly_pq_reader *r, uint32_t i, uint32_t n, hly_vector *out);
// Of the next n rows of field i those at sel[0..n_sel), densely.
HLY_MUST_CHECK hly_status hly_pq_reader_select(hly_pq_reader *r, uint32_t i, uint32_t n, const uint32_t *sel,
                                               uint32_t n_sel, hly_vector *out);
// Whether reading field i can raise an error on a row of the split (hly_pq_may_fail).
bool hly_pq_reader_may_fail(const hly_pq_reader *r, uint32_t i);
void hly_pq_reader_skip(hly_pq_reader *r, uint32_t i, uint32_t n);
// Time spent decoding, and pages that were passed without decompressing them, so far.
int64_t hly_pq_reader_decode_ns(const hly_pq_reader *r);
int64_t hly_pq_reader_pages_skipped(const hly_pq_reader *r);

#endif
