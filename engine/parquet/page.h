// The pages of one column chunk: headers parsed one by one, bodies decompressed only when somebody reads
// them.
#ifndef HLY_PARQUET_PAGE_H
#define HLY_PARQUET_PAGE_H

#include "base/buf.h"
#include "io/file.h"
#include "parquet/codec.h"
#include "parquet/footer.h"

typedef struct hly_pq_page_header {
  hly_pq_page_type type;
  int32_t uncompressed_size, compressed_size;
  int32_t n_values;
  int32_t encoding;
  int32_t def_encoding, rep_encoding; // v1
  int32_t n_nulls, n_rows;            // v2
  int32_t def_bytes, rep_bytes;       // v2
  bool compressed;                    // v2: values are compressed
  uint32_t header_bytes;
} hly_pq_page_header;

// Bytes of a chunk, through a window that moves forward.
typedef struct hly_pq_pages {
  hly_file *file;
  const char *column;
  hly_pq_codec codec;
  int64_t position, end; // in the file: of the next byte, of the chunk's end
  hly_buf *window;
  int64_t window_start, window_bytes;
  bool window_borrowed; // several chunks in one buffer: never read into
  int64_t window_size;  // how much to read at a time
  hly_buf *body;        // decompressed bytes of the last page read
  hly_pq_codec_state *codecs;
} hly_pq_pages;

// Pages of `chunk`; `codecs` is shared by the columns of a file and outlives it. `preloaded` (may be NULL;
// takes a reference) holds the file's bytes from `preloaded_start` on, the whole chunk among them.
void hly_pq_pages_init(hly_pq_pages *p, hly_file *file, const char *column, const hly_pq_chunk *chunk,
                       hly_pq_codec_state *codecs, hly_buf *preloaded, int64_t preloaded_start);
void hly_pq_pages_deinit(hly_pq_pages *p);

// Reads the header of the next page and moves behind it. *more false: no bytes are left.
HLY_MUST_CHECK hly_status hly_pq_pages_next(hly_pq_pages *p, hly_pq_page_header *header, bool *more);
// Skips the body of the page whose header was read last.
void hly_pq_pages_skip(hly_pq_pages *p, const hly_pq_page_header *header);

typedef struct hly_pq_page_body {
  const uint8_t
      *levels; // v2: repetition levels, then definition levels; v1: NULL (they are part of the values)
  const uint8_t *values;
  uint32_t n_values_bytes;
  hly_buf *owner; // of `values`; borrowed
} hly_pq_page_body;

// Reads and decompresses the body. It stays until the next call that reads a page; whoever keeps pointers
// longer takes a reference to `owner`.
HLY_MUST_CHECK hly_status hly_pq_pages_body(hly_pq_pages *p, const hly_pq_page_header *header,
                                            hly_pq_page_body *body);

#endif
