#include "shuffle/codec.h"

#include <string.h>

#include <lz4.h>
#define ZSTD_STATIC_LINKING_ONLY // for contexts over our allocator
#include <zstd.h>
#include <zstd_errors.h>

#include "base/mem.h"
#include "parquet/snappy.h"

struct hly_codec {
  Halley__Codec codec;
  int level;
  void *lz4_state; // LZ4_sizeofState() bytes
  ZSTD_CCtx *zstd_in;
  ZSTD_DCtx *zstd_out; // made when the first such frame comes
};

static void *zstd_alloc(void *opaque, size_t n) {
  return hly_malloc(n);
}
static void zstd_free(void *opaque, void *p) {
  hly_free(p);
}
static const ZSTD_customMem ZSTD_MEM = {zstd_alloc, zstd_free, NULL};

hly_status hly_codec_create(hly_ctx *ctx, Halley__Codec codec, int level, hly_codec **out) {
  *out = NULL;
  hly_codec *c = hly_calloc(1, sizeof *c);
  HLY_CHECK_MEM(ctx, c, sizeof *c);
  c->codec = codec;
  c->level = level;
  bool ok = true;
  switch (codec) {
  case HALLEY__CODEC__LZ4: ok = (c->lz4_state = hly_malloc((size_t)LZ4_sizeofState())) != NULL; break;
  case HALLEY__CODEC__ZSTD: ok = (c->zstd_in = ZSTD_createCCtx_advanced(ZSTD_MEM)) != NULL; break;
  default: break;
  }
  if (!ok) {
    hly_codec_destroy(c);
    return hly_ctx_nomem(ctx, 1 << 16);
  }
  *out = c;
  return HLY_OK;
}

void hly_codec_destroy(hly_codec *c) {
  if (!c) return;
  hly_free(c->lz4_state);
  ZSTD_freeCCtx(c->zstd_in);
  ZSTD_freeDCtx(c->zstd_out);
  hly_free(c);
}

size_t hly_codec_bound(const hly_codec *c, size_t n) {
  switch (c->codec) {
  case HALLEY__CODEC__LZ4: return (size_t)LZ4_compressBound((int)n);
  case HALLEY__CODEC__ZSTD: return ZSTD_compressBound(n);
  case HALLEY__CODEC__SNAPPY: return hly_snappy_bound(n);
  default: return 0;
  }
}

hly_status hly_codec_compress(hly_codec *c, hly_ctx *ctx, const uint8_t *in, size_t n, uint8_t *out,
                              size_t *n_out) {
  size_t got = 0;
  switch (c->codec) {
  case HALLEY__CODEC__LZ4:
    got = (size_t)LZ4_compress_fast_extState(c->lz4_state, (const char *)in, (char *)out, (int)n,
                                             LZ4_compressBound((int)n), 1);
    break;
  case HALLEY__CODEC__ZSTD:
    got = ZSTD_compressCCtx(c->zstd_in, out, ZSTD_compressBound(n), in, n, c->level);
    if (ZSTD_isError(got)) {
      // Room is enough by construction: what is left to fail is the allocation of its tables.
      return hly_ctx_nomem(ctx, (int64_t)n);
    }
    break;
  case HALLEY__CODEC__SNAPPY: got = hly_snappy_compress(in, n, out); break;
  default: break;
  }
  *n_out = got < n ? got : 0;
  return HLY_OK;
}

hly_status hly_codec_decompress(hly_codec *c, hly_ctx *ctx, uint8_t codec, const uint8_t *in, size_t n,
                                uint8_t *out, size_t n_out) {
  bool ok = false;
  switch (codec) {
  case HALLEY__CODEC__NONE:
    ok = n == n_out;
    if (ok && n) memcpy(out, in, n);
    break;
  case HALLEY__CODEC__LZ4:
    ok = n <= INT32_MAX && n_out <= INT32_MAX &&
         LZ4_decompress_safe((const char *)in, (char *)out, (int)n, (int)n_out) == (int)n_out;
    break;
  case HALLEY__CODEC__ZSTD: {
    if (!c->zstd_out && !(c->zstd_out = ZSTD_createDCtx_advanced(ZSTD_MEM))) {
      return hly_ctx_nomem(ctx, 1 << 17);
    }
    size_t got = ZSTD_decompressDCtx(c->zstd_out, out, n_out, in, n);
    if (ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) {
      return hly_ctx_nomem(ctx, (int64_t)n_out);
    }
    ok = got == n_out;
    break;
  }
  case HALLEY__CODEC__SNAPPY: ok = hly_snappy_decompress(in, n, out, n_out); break;
  default: break;
  }
  if (ok) return HLY_OK;
  return hly_error_setf(&ctx->error, HLY_E_SHUFFLE_CORRUPT, "a shuffle frame does not decompress (codec %u)",
                        codec);
}
