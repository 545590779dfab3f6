// Codecs of frame bodies: LZ4, Zstandard, Snappy, none. A codec owns the state of its compressor and
// decompressor, so that neither allocates per frame.
#ifndef HLY_SHUFFLE_CODEC_H
#define HLY_SHUFFLE_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"
#include "plan.pb-c.h"

typedef struct hly_codec hly_codec;

// A codec for both directions; `level` is Zstandard's (0: its default). Returns owned.
HLY_MUST_CHECK hly_status hly_codec_create(hly_ctx *ctx, Halley__Codec codec, int level, hly_codec **out);
void hly_codec_destroy(hly_codec *c); // NULL is fine

// Most bytes that `n` bytes can compress to.
size_t hly_codec_bound(const hly_codec *c, size_t n);
// Compresses n (<= 2^31 - 2^16) bytes to `out` with room for hly_codec_bound(n). *n_out is 0 when the result
// would not be smaller than the input: the caller then stores it as it is.
HLY_MUST_CHECK hly_status hly_codec_compress(hly_codec *c, hly_ctx *ctx, const uint8_t *in, size_t n,
                                             uint8_t *out, size_t *n_out);
// Decompresses hostile bytes of whichever codec the frame names to exactly n_out bytes.
// HLY_E_SHUFFLE_CORRUPT.
HLY_MUST_CHECK hly_status hly_codec_decompress(hly_codec *c, hly_ctx *ctx, uint8_t codec, const uint8_t *in,
                                               size_t n, uint8_t *out, size_t n_out);

#endif
