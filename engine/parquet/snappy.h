// Snappy's block format (google/snappy, format_description.txt), both ways. Own code because the library is
// C++.
#ifndef HLY_PARQUET_SNAPPY_H
#define HLY_PARQUET_SNAPPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Length of the uncompressed bytes that a block announces; false when there is no valid length.
bool hly_snappy_length(const void *in, size_t n_in, size_t *length);
// Decompresses a whole block to exactly n_out bytes. False on any damage; never reads or writes outside the
// two ranges.
bool hly_snappy_decompress(const void *in, size_t n_in, void *out, size_t n_out);
// Most bytes that compressing n can give.
size_t hly_snappy_bound(size_t n);
// Compresses n bytes (at most 4 GiB - 1) to `out`, which has room for hly_snappy_bound(n). Returns the count.
size_t hly_snappy_compress(const void *in, size_t n, void *out);

#endif
