#include "memory/spill_file.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/mem.h"

// A section is blocks one after the other and an end mark. A block is a header and up to BLOCK bytes,
// compressed when that makes them fewer. The checksum covers the header's sizes and the bytes as stored.

enum { BLOCK = 64 << 10, STORED_MOST = LZ4_COMPRESSBOUND(BLOCK), PATH_MOST = 1024 };

typedef struct block_header {
  uint32_t n_raw;    // 0: end of the section
  uint32_t n_stored; // equal to n_raw: not compressed
  uint64_t checksum;
} block_header;

struct hly_spill_file {
  hly_ctx *ctx;
  int fd;
  bool failed;      // nothing more can be written; what was written is gone
  uint64_t n_bytes; // on disk
  uint32_t n_raw;   // bytes in `raw`
  uint8_t raw[BLOCK];
  uint8_t stored[sizeof(block_header) + STORED_MOST];
  char path[PATH_MOST];
};

struct hly_spill_reader {
  hly_spill_file *file;
  uint64_t offset; // of the next block
  uint32_t n_raw, used;
  bool ended;
  uint8_t raw[BLOCK];
  uint8_t stored[STORED_MOST];
};

static hly_status io_error(hly_spill_file *f, const char *what, int error) {
  return hly_error_setf(&f->ctx->error, HLY_E_SPILL_IO, "%s temporary file %s: %s", what, f->path,
                        strerror(error));
}

// What keeps operators from spilling, as Spark says it when one of its own consumers cannot.
static hly_status cannot_spill(hly_ctx *ctx, hly_error_id id, const char *message) {
  char consumer[512];
  snprintf(consumer, sizeof consumer, "native plan %s", ctx->plan ? ctx->plan : "of the task");
  return hly_error_set(&ctx->error, id, 2, "consumerToSpill", consumer, "message", message);
}

static hly_status write_error(hly_spill_file *f, const char *what, int error) {
  char message[PATH_MOST + 256];
  snprintf(message, sizeof message, "cannot %s temporary file %s: %s", what, f->path, strerror(error));
  return cannot_spill(f->ctx, HLY_E_SPILL_WRITE, message);
}

static hly_status over_limit(hly_ctx *ctx) {
  char message[256];
  snprintf(message, sizeof message,
           "its temporary files would pass %lld bytes, the most that spark.comet.maxTempDirectorySize allows",
           (long long)ctx->max_temp_bytes);
  return cannot_spill(ctx, HLY_E_TEMP_LIMIT, message);
}

hly_status hly_spill_create(hly_ctx *ctx, hly_spill_file **out) {
  if (!ctx->host || !ctx->host->temp_file)
    return hly_error_setf(&ctx->error, HLY_E_SPILL_IO, "the host has no temporary files");
  hly_spill_file *f = hly_malloc(sizeof *f);
  HLY_CHECK_MEM(ctx, f, sizeof *f);
  f->ctx = ctx;
  f->failed = false;
  f->n_bytes = 0;
  f->n_raw = 0;
  f->path[0] = 0;
  hly_status st = ctx->host->temp_file(ctx->host->arg, f->path, sizeof f->path, &ctx->error);
  if (st != HLY_OK) {
    hly_free(f);
    return st;
  }
  f->fd = open(f->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (f->fd < 0) {
    st = write_error(f, "create", errno);
    unlink(f->path);
    hly_free(f);
    return st;
  }
  // The name goes at once: whatever kills the process, nothing is left behind.
  unlink(f->path);
  *out = f;
  return HLY_OK;
}

// Gives up what is on disk, so that a full disk is not kept full by a file that nobody can finish.
static void discard(hly_spill_file *f) {
  f->failed = true;
  f->ctx->temp_bytes -= (int64_t)f->n_bytes;
  f->n_bytes = 0;
  if (ftruncate(f->fd, 0) != 0) return; // it is deleted when it is closed anyway
}

static hly_status write_out(hly_spill_file *f, const void *data, size_t n_bytes) {
  hly_ctx *ctx = f->ctx;
  if (f->failed) return write_error(f, "go on with", EIO);
  if ((int64_t)n_bytes > ctx->max_temp_bytes - ctx->temp_bytes) {
    discard(f);
    return over_limit(ctx);
  }
  const uint8_t *p = data;
  size_t done = 0;
  while (done < n_bytes) {
    ssize_t n = pwrite(f->fd, p + done, n_bytes - done, (off_t)(f->n_bytes + done));
    if (n > 0) {
      done += (size_t)n;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    int error = n < 0 ? errno : ENOSPC;
    discard(f);
    return write_error(f, "write", error);
  }
  f->n_bytes += n_bytes;
  ctx->temp_bytes += (int64_t)n_bytes;
  return HLY_OK;
}

static uint64_t checksum_of(const block_header *h, const void *stored) {
  return XXH3_64bits_withSeed(stored, h->n_stored, (uint64_t)h->n_raw << 32 | h->n_stored);
}

static hly_status write_block(hly_spill_file *f, const uint8_t *raw, uint32_t n_raw) {
  uint8_t *payload = f->stored + sizeof(block_header);
  int n = n_raw ? LZ4_compress_default((const char *)raw, (char *)payload, (int)n_raw, STORED_MOST) : 0;
  block_header h = {.n_raw = n_raw, .n_stored = (uint32_t)n};
  if (n <= 0 || (uint32_t)n >= n_raw) {
    if (n_raw) memcpy(payload, raw, n_raw);
    h.n_stored = n_raw;
  }
  h.checksum = checksum_of(&h, payload);
  memcpy(f->stored, &h, sizeof h);
  return write_out(f, f->stored, sizeof h + h.n_stored);
}

static hly_status flush(hly_spill_file *f) {
  if (f->n_raw == 0) return HLY_OK;
  hly_status st = write_block(f, f->raw, f->n_raw);
  f->n_raw = 0;
  return st;
}

hly_status hly_spill_write(hly_spill_file *f, const void *data, size_t n_bytes) {
  const uint8_t *p = data;
  while (n_bytes) {
    if (f->n_raw == 0 && n_bytes >= BLOCK) { // whole blocks need no copy
      HLY_TRY(write_block(f, p, BLOCK));
      p += BLOCK;
      n_bytes -= BLOCK;
      continue;
    }
    size_t n = BLOCK - f->n_raw < n_bytes ? BLOCK - f->n_raw : n_bytes;
    memcpy(f->raw + f->n_raw, p, n);
    f->n_raw += (uint32_t)n;
    p += n;
    n_bytes -= n;
    if (f->n_raw == BLOCK) HLY_TRY(flush(f));
  }
  return HLY_OK;
}

hly_status hly_spill_end_section(hly_spill_file *f, uint64_t *next_offset) {
  HLY_TRY(flush(f));
  HLY_TRY(write_block(f, NULL, 0));
  *next_offset = f->n_bytes;
  return HLY_OK;
}

uint64_t hly_spill_bytes(const hly_spill_file *f) {
  return f->n_bytes;
}

hly_status hly_spill_open(hly_spill_file *f, uint64_t offset, hly_spill_reader **out) {
  hly_spill_reader *r = hly_malloc(sizeof *r);
  HLY_CHECK_MEM(f->ctx, r, sizeof *r);
  r->file = f;
  r->offset = offset;
  r->n_raw = r->used = 0;
  r->ended = false;
  *out = r;
  return HLY_OK;
}

static hly_status read_in(hly_spill_file *f, uint64_t offset, void *out, size_t n_bytes) {
  uint8_t *p = out;
  while (n_bytes) {
    ssize_t n = pread(f->fd, p, n_bytes, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(f, "cannot read", errno);
    if (n == 0) return io_error(f, "cannot read", EIO); // shorter than what was written
    p += n;
    offset += (uint64_t)n;
    n_bytes -= (size_t)n;
  }
  return HLY_OK;
}

static hly_status damaged(hly_spill_reader *r) {
  return hly_error_setf(&r->file->ctx->error, HLY_E_SPILL_IO, "temporary file %s is damaged at byte %llu",
                        r->file->path, (unsigned long long)r->offset);
}

// Reads the next block to `out`, which has room for BLOCK bytes.
static hly_status read_block(hly_spill_reader *r, uint8_t *out, uint32_t *n_raw) {
  block_header h;
  if (r->ended)
    return hly_error_setf(&r->file->ctx->error, HLY_E_SPILL_IO, "read past a section of temporary file %s",
                          r->file->path);
  HLY_TRY(read_in(r->file, r->offset, &h, sizeof h));
  if (h.n_raw > BLOCK || h.n_stored > h.n_raw) return damaged(r);
  bool compressed = h.n_stored < h.n_raw;
  uint8_t *stored = compressed ? r->stored : out;
  HLY_TRY(read_in(r->file, r->offset + sizeof h, stored, h.n_stored));
  if (checksum_of(&h, stored) != h.checksum) return damaged(r);
  if (compressed &&
      LZ4_decompress_safe((const char *)stored, (char *)out, (int)h.n_stored, BLOCK) != (int)h.n_raw)
    return damaged(r);
  r->offset += sizeof h + h.n_stored;
  r->ended = h.n_raw == 0;
  *n_raw = h.n_raw;
  return HLY_OK;
}

hly_status hly_spill_read(hly_spill_reader *r, void *out, size_t n_bytes) {
  uint8_t *p = out;
  while (n_bytes) {
    if (r->used == r->n_raw) {
      uint32_t n;
      if (n_bytes >= BLOCK) { // straight to the caller
        HLY_TRY(read_block(r, p, &n));
        p += n;
        n_bytes -= n;
        continue;
      }
      r->used = r->n_raw = 0;
      HLY_TRY(read_block(r, r->raw, &n));
      r->n_raw = n;
      continue;
    }
    size_t n = r->n_raw - r->used < n_bytes ? r->n_raw - r->used : n_bytes;
    memcpy(p, r->raw + r->used, n);
    r->used += (uint32_t)n;
    p += n;
    n_bytes -= n;
  }
  return HLY_OK;
}

void hly_spill_reader_close(hly_spill_reader *r) {
  hly_free(r);
}

void hly_spill_close(hly_spill_file *f) {
  if (!f) return;
  close(f->fd);
  f->ctx->temp_bytes -= (int64_t)f->n_bytes;
  hly_free(f);
}
