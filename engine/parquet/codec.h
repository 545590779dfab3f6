// Page compression.
#ifndef HLY_PARQUET_CODEC_H
#define HLY_PARQUET_CODEC_H

#include "io/file.h"
#include "parquet/format.h"

// Decompressors that keep state between pages; zero-initialised.
typedef struct hly_pq_codec_state {
  void *zstd;
  void *gzip;
} hly_pq_codec_state;

// Decompresses `in` to exactly n_out bytes; a difference is damage. Unknown codecs and damage are errors that
// name the file, the codec and `column`.
HLY_MUST_CHECK hly_status hly_pq_decompress(hly_file *f, hly_pq_codec_state *state, hly_pq_codec codec,
                                            const char *column, const void *in, size_t n_in, void *out,
                                            size_t n_out);
// Whether hly_pq_decompress knows the codec.
bool hly_pq_codec_known(hly_pq_codec codec);
void hly_pq_codec_deinit(hly_pq_codec_state *state);

#endif
