// One flat column of one row group: pages in, vectors out.
//
// Byte arrays whose pages are dictionary-encoded come out as dictionary vectors over the chunk's dictionary;
// other types are gathered from it. Plain byte arrays are views into the page.
#ifndef HLY_PARQUET_COLUMN_H
#define HLY_PARQUET_COLUMN_H

#include "parquet/convert.h"
#include "parquet/page.h"
#include "parquet/values.h"
#include "vector/vector.h"

typedef struct hly_pq_column {
  // Set by hly_pq_column_init, the same for all row groups of a file.
  hly_file *file;
  const hly_pq_element *element;
  const hly_type *type;
  hly_pq_convert convert;
  int64_t decode_ns;       // spent in here, reads excluded
  int64_t n_pages_skipped; // pages that were never decompressed
  // The row group.
  hly_pq_pages pages;
  int64_t rows_left;      // in the chunk, those of the page and those to skip included
  int64_t pending_skip;   // rows to pass before the next read
  hly_vector *dictionary; // values already converted; NULL: none yet
  uint32_t n_dictionary;
  // The page.
  hly_pq_page_header header;
  uint32_t page_left; // rows not handed out
  bool page_open;     // decompressed, decoders ready
  bool page_dictionary;
  hly_pq_rle levels, indices;
  hly_pq_values values;
  // Scratch.
  hly_buf *index_buf, *stored_buf, *bits_buf, *piece_buf, *rank_buf;
} hly_pq_column;

// Prepares a column of a file for values of `type`; `convert` says how. The struct may be reused for another
// file after hly_pq_column_deinit.
void hly_pq_column_init(hly_pq_column *c, hly_file *file, const hly_pq_element *element, const hly_type *type,
                        const hly_pq_convert *convert);
void hly_pq_column_deinit(hly_pq_column *c); // also after zero-initialisation only
// Starts a row group's chunk; arguments as hly_pq_pages_init.
void hly_pq_column_start(hly_pq_column *c, const hly_pq_chunk *chunk, hly_pq_codec_state *codecs,
                         hly_buf *preloaded, int64_t preloaded_start);
// Passes n rows. Costs nothing until the next read, and little then for pages that are passed whole.
void hly_pq_column_skip(hly_pq_column *c, uint32_t n);
// The next n rows to `out` (refs == 1), whose encoding it chooses.
HLY_MUST_CHECK hly_status hly_pq_column_read(hly_pq_column *c, uint32_t n, hly_vector *out);
// Of the next n rows those at the ascending positions sel[0..n_sel), densely.
HLY_MUST_CHECK hly_status hly_pq_column_select(hly_pq_column *c, uint32_t n, const uint32_t *sel,
                                               uint32_t n_sel, hly_vector *out);

#endif
