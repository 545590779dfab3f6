#include "parquet/codec.h"

#include <limits.h>
#include <string.h>

#include <libdeflate.h>
#include <lz4.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#include "base/mem.h"
#include "parquet/snappy.h"

static void *zstd_alloc(void *opaque, size_t n) {
  return hly_malloc(n);
}
static void zstd_free(void *opaque, void *p) {
  hly_free(p);
}

bool hly_pq_codec_known(hly_pq_codec codec) {
  switch (codec) {
  case HLY_PQ_UNCOMPRESSED:
  case HLY_PQ_SNAPPY:
  case HLY_PQ_GZIP:
  case HLY_PQ_ZSTD:
  case HLY_PQ_LZ4:
  case HLY_PQ_LZ4_RAW: return true;
  default: return false;
  }
}

// Gzip files may have several members, one after the other.
static bool gunzip(struct libdeflate_decompressor *d, const uint8_t *in, size_t n_in, uint8_t *out,
                   size_t n_out) {
  size_t done = 0;
  while (n_in > 0) {
    size_t used, got;
    if (libdeflate_gzip_decompress_ex(d, in, n_in, out + done, n_out - done, &used, &got) !=
        LIBDEFLATE_SUCCESS)
      return false;
    in += used;
    n_in -= used;
    done += got;
  }
  return done == n_out;
}

static uint32_t load_be32(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// The deprecated LZ4 codec: Hadoop's frames of (raw length, then blocks of (compressed length, bytes)),
// big-endian; some writers put a bare block there, which is what is tried when the frames do not add up.
static bool unlz4_hadoop(const uint8_t *in, size_t n_in, uint8_t *out, size_t n_out) {
  const uint8_t *p = in, *end = in + n_in;
  size_t done = 0;
  bool good = true;
  while (good && p < end) {
    if (end - p < 8) {
      good = false;
      break;
    }
    size_t frame = load_be32(p);
    p += 4;
    if (frame > n_out - done) good = false;
    for (size_t got = 0; good && got < frame;) {
      if (end - p < 4) {
        good = false;
        break;
      }
      size_t n = load_be32(p);
      p += 4;
      if (n > (size_t)(end - p) || n > INT_MAX) {
        good = false;
        break;
      }
      size_t room = frame - got;
      int r = LZ4_decompress_safe((const char *)p, (char *)out + done, (int)n,
                                  (int)(room > INT_MAX ? INT_MAX : room));
      if (r <= 0) {
        good = false;
        break;
      }
      p += n;
      got += (size_t)r;
      done += (size_t)r;
    }
  }
  if (good && done == n_out) return true;
  return n_in <= INT_MAX && n_out <= INT_MAX &&
         LZ4_decompress_safe((const char *)in, (char *)out, (int)n_in, (int)n_out) == (int)n_out;
}

hly_status hly_pq_decompress(hly_file *f, hly_pq_codec_state *state, hly_pq_codec codec, const char *column,
                             const void *in, size_t n_in, void *out, size_t n_out) {
  bool good = false;
  switch (codec) {
  case HLY_PQ_UNCOMPRESSED:
    good = n_in == n_out;
    if (good) memcpy(out, in, n_out);
    break;
  case HLY_PQ_SNAPPY: good = hly_snappy_decompress(in, n_in, out, n_out); break;
  case HLY_PQ_ZSTD:
    if (!state->zstd) {
      state->zstd = ZSTD_createDCtx_advanced((ZSTD_customMem){zstd_alloc, zstd_free, NULL});
      HLY_CHECK_MEM(f->ctx, state->zstd, 0);
    }
    {
      size_t r = ZSTD_decompressDCtx(state->zstd, out, n_out, in, n_in);
      if (ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation) return hly_ctx_nomem(f->ctx, 0);
      good = !ZSTD_isError(r) && r == n_out;
    }
    break;
  case HLY_PQ_GZIP:
    if (!state->gzip) {
      libdeflate_set_memory_allocator(hly_malloc, hly_free);
      state->gzip = libdeflate_alloc_decompressor();
      HLY_CHECK_MEM(f->ctx, state->gzip, 0);
    }
    good = gunzip(state->gzip, in, n_in, out, n_out);
    break;
  case HLY_PQ_LZ4_RAW:
    good = n_in <= INT_MAX && n_out <= INT_MAX &&
           LZ4_decompress_safe(in, out, (int)n_in, (int)n_out) == (int)n_out;
    break;
  case HLY_PQ_LZ4: good = unlz4_hadoop(in, n_in, out, n_out); break;
  default:
    return hly_file_fail(f, "column %s is compressed with %s, which this reader does not know", column,
                         hly_pq_codec_name(codec));
  }
  if (!good)
    return hly_file_fail(f, "corrupt page of column %s: its %zu bytes do not decompress (%s) to %zu", column,
                         n_in, hly_pq_codec_name(codec), n_out);
  return HLY_OK;
}

void hly_pq_codec_deinit(hly_pq_codec_state *state) {
  if (state->zstd) ZSTD_freeDCtx(state->zstd);
  if (state->gzip) libdeflate_free_decompressor(state->gzip);
  state->zstd = state->gzip = NULL;
}
