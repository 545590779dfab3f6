#include "shuffle/map_output.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "memory/spill_file.h"
#include "shuffle/crc32c.h"

enum {
  BLOCK_BYTES = 128 * 1024,
  COPY_BYTES = 64 * 1024,
  // So many runs on disk are merged into one, so that the readers of the last merge stay few.
  MOST_RUNS = 64,
};

typedef struct block {
  struct block *next;
  uint32_t used;
  uint8_t data[];
} block;

// Where a run is read; runs are read from start to end once.
typedef struct run {
  int64_t *lengths; // of each partition
  block *first, *last;
  bool on_disk;
  uint64_t offset; // of its section
  block *at;       // reading memory
  uint32_t at_used;
  hly_spill_reader *reader;
} run;

struct hly_map_output {
  hly_ctx *ctx;
  hly_reservation *reservation;
  uint32_t n_partitions;
  run *runs;
  uint32_t n_runs, cap_runs;
  hly_spill_file *spill;
  uint64_t next_section;
  int64_t spilled_bytes, spills;
  uint8_t *copy; // COPY_BYTES
  // the data file
  int fd;
  char *path;
  bool finished;
  uint8_t *buffer;
  size_t n_buffer, cap_buffer;
  int64_t *results;
  int64_t file_bytes;
  Halley__Checksum checksum;
};

hly_status hly_map_output_create(hly_ctx *ctx, uint32_t n_partitions, hly_reservation *reservation,
                                 hly_map_output **out) {
  *out = NULL;
  hly_map_output *o = hly_calloc(1, sizeof *o);
  HLY_CHECK_MEM(ctx, o, sizeof *o);
  o->ctx = ctx;
  o->reservation = reservation;
  o->n_partitions = n_partitions;
  o->fd = -1;
  *out = o;
  return HLY_OK;
}

static void free_blocks(hly_map_output *o, run *r) {
  while (r->first) {
    block *next = r->first->next;
    hly_free(r->first);
    r->first = next;
    hly_reservation_shrink(o->reservation, BLOCK_BYTES);
  }
  r->last = NULL;
}

static void free_run(hly_map_output *o, run *r) {
  free_blocks(o, r);
  hly_spill_reader_close(r->reader);
  hly_free(r->lengths);
  *r = (run){0};
}

void hly_map_output_destroy(hly_map_output *o) {
  if (!o) return;
  for (uint32_t i = 0; i < o->n_runs; i++) free_run(o, &o->runs[i]);
  hly_free(o->runs);
  hly_spill_close(o->spill);
  if (o->fd >= 0) close(o->fd);
  if (o->path && !o->finished) unlink(o->path);
  hly_free(o->path);
  hly_free(o->buffer);
  hly_free(o->copy);
  hly_free(o->results);
  hly_free(o);
}

int64_t hly_map_output_file_bytes(const hly_map_output *o) {
  return o->file_bytes;
}
int64_t hly_map_output_spilled_bytes(const hly_map_output *o) {
  return o->spilled_bytes + (o->spill ? (int64_t)hly_spill_bytes(o->spill) : 0);
}
int64_t hly_map_output_spills(const hly_map_output *o) {
  return o->spills;
}

// ---- reading runs

static hly_status open_runs(hly_map_output *o) {
  if (!o->copy) {
    o->copy = hly_malloc(COPY_BYTES);
    HLY_CHECK_MEM(o->ctx, o->copy, COPY_BYTES);
  }
  for (uint32_t i = 0; i < o->n_runs; i++) {
    run *r = &o->runs[i];
    if (r->on_disk) {
      HLY_TRY(hly_spill_open(o->spill, r->offset, &r->reader));
    } else {
      r->at = r->first;
      r->at_used = 0;
    }
  }
  return HLY_OK;
}

typedef hly_status (*sink_fn)(hly_map_output *o, uint32_t partition, const void *data, size_t n);

// Hands the run's bytes of `partition` to the sink.
static hly_status copy_section(hly_map_output *o, run *r, uint32_t partition, sink_fn sink) {
  int64_t left = r->lengths[partition];
  while (left > 0) {
    if (r->on_disk) {
      size_t n = left < COPY_BYTES ? (size_t)left : COPY_BYTES;
      HLY_TRY(hly_spill_read(r->reader, o->copy, n));
      HLY_TRY(sink(o, partition, o->copy, n));
      left -= (int64_t)n;
      continue;
    }
    if (r->at_used == r->at->used) {
      r->at = r->at->next;
      r->at_used = 0;
      continue;
    }
    size_t n = r->at->used - r->at_used;
    if (n > (size_t)left) n = (size_t)left;
    HLY_TRY(sink(o, partition, r->at->data + r->at_used, n));
    r->at_used += (uint32_t)n;
    left -= (int64_t)n;
  }
  return HLY_OK;
}

// ---- writing runs

static hly_status new_run(hly_map_output *o, run **out) {
  if (o->n_runs == o->cap_runs) {
    uint32_t cap = o->cap_runs ? o->cap_runs * 2 : 8;
    run *runs = hly_realloc(o->runs, cap * sizeof *runs);
    HLY_CHECK_MEM(o->ctx, runs, cap * sizeof *runs);
    o->runs = runs;
    o->cap_runs = cap;
  }
  run *r = &o->runs[o->n_runs];
  *r = (run){0};
  r->lengths = hly_calloc(o->n_partitions, sizeof *r->lengths);
  HLY_CHECK_MEM(o->ctx, r->lengths, o->n_partitions * sizeof *r->lengths);
  o->n_runs++;
  *out = r;
  return HLY_OK;
}

static hly_status need_spill_file(hly_map_output *o) {
  if (o->spill) return HLY_OK;
  o->next_section = 0;
  return hly_spill_create(o->ctx, &o->spill);
}

static hly_status spill_sink(hly_map_output *o, uint32_t partition, const void *data, size_t n) {
  return hly_spill_write(o->spill, data, n);
}

// Writes the blocks of a run from memory to where the spill file stands, and frees them.
static hly_status blocks_to_disk(hly_map_output *o, run *r) {
  HLY_TRY(need_spill_file(o));
  r->offset = o->next_section;
  for (block *b = r->first; b; b = b->next) HLY_TRY(hly_spill_write(o->spill, b->data, b->used));
  free_blocks(o, r);
  r->on_disk = true;
  o->spills++;
  return HLY_OK;
}

// Merges all runs into one in a new spill file.
static hly_status merge_runs(hly_map_output *o) {
  HLY_TRY(open_runs(o));
  hly_spill_file *old = o->spill;
  o->spill = NULL;
  hly_status st = need_spill_file(o);
  int64_t *lengths = o->runs[0].lengths;
  for (uint32_t p = 0; p < o->n_partitions && st == HLY_OK; p++) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < o->n_runs && st == HLY_OK; i++) {
      sum += o->runs[i].lengths[p];
      st = copy_section(o, &o->runs[i], p, spill_sink);
    }
    lengths[p] = sum;
  }
  if (st == HLY_OK) st = hly_spill_end_section(o->spill, &o->next_section);
  for (uint32_t i = 0; i < o->n_runs; i++) {
    hly_spill_reader_close(o->runs[i].reader);
    o->runs[i].reader = NULL;
  }
  while (o->n_runs > 1) free_run(o, &o->runs[--o->n_runs]);
  free_blocks(o, &o->runs[0]);
  o->runs[0].on_disk = true;
  o->runs[0].offset = 0;
  if (old) o->spilled_bytes += (int64_t)hly_spill_bytes(old);
  hly_spill_close(old);
  return st;
}

hly_status hly_map_output_begin_run(hly_map_output *o, bool to_disk) {
  uint32_t n_disk = 0;
  for (uint32_t i = 0; i < o->n_runs; i++) n_disk += o->runs[i].on_disk;
  if (n_disk >= MOST_RUNS) HLY_TRY(merge_runs(o));
  if (to_disk) {
    HLY_TRY(hly_map_output_spill(o));
    HLY_TRY(need_spill_file(o));
  }
  run *r = NULL;
  HLY_TRY(new_run(o, &r));
  r->on_disk = to_disk;
  r->offset = o->next_section;
  if (to_disk) o->spills++;
  return HLY_OK;
}

static hly_status file_write(hly_map_output *o, uint32_t partition, const void *data, size_t n);

hly_status hly_map_output_append(hly_map_output *o, uint32_t partition, const void *data, size_t n) {
  if (o->fd >= 0) return file_write(o, partition, data, n);
  run *r = &o->runs[o->n_runs - 1];
  r->lengths[partition] += (int64_t)n;
  const uint8_t *p = data;
  while (n && !r->on_disk) {
    block *b = r->last;
    if (!b || b->used == BLOCK_BYTES - sizeof *b) {
      if (hly_reservation_grow(o->reservation, BLOCK_BYTES) == HLY_DENIED) {
        // All that is in memory goes, the earlier runs first; the file's open section is then this run's.
        for (uint32_t i = 0; i + 1 < o->n_runs; i++) {
          if (o->runs[i].on_disk) continue;
          HLY_TRY(blocks_to_disk(o, &o->runs[i]));
          HLY_TRY(hly_spill_end_section(o->spill, &o->next_section));
        }
        HLY_TRY(blocks_to_disk(o, r));
        break;
      }
      b = hly_malloc(BLOCK_BYTES);
      if (!b) hly_reservation_shrink(o->reservation, BLOCK_BYTES);
      HLY_CHECK_MEM(o->ctx, b, BLOCK_BYTES);
      b->next = NULL;
      b->used = 0;
      if (r->last) {
        r->last->next = b;
      } else {
        r->first = b;
      }
      r->last = b;
    }
    size_t room = BLOCK_BYTES - sizeof *b - b->used, m = n < room ? n : room;
    memcpy(b->data + b->used, p, m);
    b->used += (uint32_t)m;
    p += m;
    n -= m;
  }
  return n ? hly_spill_write(o->spill, p, n) : HLY_OK;
}

hly_status hly_map_output_end_run(hly_map_output *o) {
  if (!o->runs[o->n_runs - 1].on_disk) return HLY_OK;
  return hly_spill_end_section(o->spill, &o->next_section);
}

hly_status hly_map_output_spill(hly_map_output *o) {
  for (uint32_t i = 0; i < o->n_runs; i++) {
    if (o->runs[i].on_disk) continue;
    HLY_TRY(blocks_to_disk(o, &o->runs[i]));
    HLY_TRY(hly_spill_end_section(o->spill, &o->next_section));
  }
  return HLY_OK;
}

// ---- the data file

static hly_status io_error(hly_map_output *o, const char *what) {
  return hly_error_setf(&o->ctx->error, HLY_E_SPILL_IO, "cannot %s shuffle file %s: %m", what, o->path);
}

hly_status hly_map_output_begin_file(hly_map_output *o, const char *path, int64_t buffer_bytes,
                                     Halley__Checksum checksum) {
  o->checksum = checksum;
  o->cap_buffer = buffer_bytes <= 0           ? 1 << 20
                  : buffer_bytes < 1 << 12    ? 1 << 12
                  : buffer_bytes > (64 << 20) ? 64 << 20
                                              : (size_t)buffer_bytes;
  o->buffer = hly_malloc(o->cap_buffer);
  HLY_CHECK_MEM(o->ctx, o->buffer, o->cap_buffer);
  o->results = hly_calloc((size_t)o->n_partitions * 2, sizeof *o->results);
  HLY_CHECK_MEM(o->ctx, o->results, o->n_partitions * 16);
  if (checksum == HALLEY__CHECKSUM__ADLER32) {
    for (uint32_t p = 0; p < o->n_partitions; p++) o->results[o->n_partitions + p] = 1;
  }
  size_t n_path = strlen(path) + 1;
  char *copy = hly_malloc(n_path);
  HLY_CHECK_MEM(o->ctx, copy, n_path);
  memcpy(copy, path, n_path);
  o->path = copy;
  o->finished = true; // until there is a file of ours to remove
  HLY_TRY(open_runs(o));
  o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (o->fd < 0) return io_error(o, "create");
  o->finished = false;
  return HLY_OK;
}

static hly_status write_all(hly_map_output *o, const uint8_t *data, size_t n) {
  while (n) {
    ssize_t m = write(o->fd, data, n);
    if (m < 0 && errno == EINTR) continue;
    if (m < 0) return io_error(o, "write");
    data += m;
    n -= (size_t)m;
  }
  return HLY_OK;
}

static hly_status flush(hly_map_output *o) {
  size_t n = o->n_buffer;
  o->n_buffer = 0;
  return write_all(o, o->buffer, n);
}

static hly_status file_write(hly_map_output *o, uint32_t partition, const void *data, size_t n) {
  o->results[partition] += (int64_t)n;
  o->file_bytes += (int64_t)n;
  int64_t *check = &o->results[o->n_partitions + partition];
  switch (o->checksum) {
  case HALLEY__CHECKSUM__ADLER32: *check = libdeflate_adler32((uint32_t)*check, data, n); break;
  case HALLEY__CHECKSUM__CRC32: *check = libdeflate_crc32((uint32_t)*check, data, n); break;
  case HALLEY__CHECKSUM__CRC32C: *check = hly_crc32c((uint32_t)*check, data, n); break;
  default: break;
  }
  if (n > o->cap_buffer - o->n_buffer) HLY_TRY(flush(o));
  if (n > o->cap_buffer) return write_all(o, data, n);
  memcpy(o->buffer + o->n_buffer, data, n);
  o->n_buffer += n;
  return HLY_OK;
}

hly_status hly_map_output_copy_runs(hly_map_output *o, uint32_t partition) {
  for (uint32_t i = 0; i < o->n_runs; i++) HLY_TRY(copy_section(o, &o->runs[i], partition, file_write));
  return HLY_OK;
}

hly_status hly_map_output_end_file(hly_map_output *o, const int64_t **results, uint32_t *n) {
  HLY_TRY(flush(o));
  int fd = o->fd;
  o->fd = -1;
  if (close(fd) != 0) return io_error(o, "close");
  o->finished = true;
  *results = o->results;
  *n = o->checksum == HALLEY__CHECKSUM__NO_CHECKSUM ? o->n_partitions : o->n_partitions * 2;
  return HLY_OK;
}
