// The file's metadata: from its last bytes to structs.
#ifndef HLY_PARQUET_FOOTER_H
#define HLY_PARQUET_FOOTER_H

#include "io/file.h"
#include "parquet/format.h"

// Reads and checks the footer of `f`. Everything lives in `arena` (statistics point into the footer's bytes,
// which are there too). What it returns is consistent: every row group has one chunk a leaf, of the leaf's
// type, whose bytes lie inside the file; counts are not negative. Memory is a small multiple of the footer's
// size. Errors: HLY_E_FILE_READ naming the file.
HLY_MUST_CHECK hly_status hly_pq_footer_read(hly_file *f, hly_arena *arena, hly_pq_metadata **out);
// Value of a key, NULL when absent.
const char *hly_pq_footer_key(const hly_pq_metadata *m, const char *key);
// Whether the row group belongs to the split [start, start + length): its midpoint lies in it, so that each
// belongs to exactly one split however a file is cut (parquet-mr's rule, ParquetMetadataConverter).
bool hly_pq_row_group_in_split(const hly_pq_row_group *rg, uint32_t n_leaves, int64_t start, int64_t length);
// First byte of a chunk's pages.
int64_t hly_pq_chunk_start(const hly_pq_chunk *c);

#endif
