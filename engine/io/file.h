// hly_file: random reads of an immutable file. Local files are read with pread, files of other file systems
// through the host, and tests and fuzzers read from memory.
#ifndef HLY_IO_FILE_H
#define HLY_IO_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/ctx.h"

typedef struct hly_file {
  hly_ctx *ctx;
  const char *uri; // what errors name and `input_file_name` returns; owned
  int64_t size;
  int64_t bytes_read; // so far
  int64_t read_ns;    // time spent in reads
  bool local;
  // private
  int fd;
  int64_t host_handle;
  const uint8_t *memory;
} hly_file;

// Opens `path`: a plain path when `local`, otherwise a URI for host->file_open, whose size is `size` (the
// host has no way to ask). HLY_E_FILE_NOT_FOUND (parameter "path") when a local file is not there,
// HLY_E_FILE_READ otherwise. On success the caller owns *out.
HLY_MUST_CHECK hly_status hly_file_open(hly_ctx *ctx, const char *path, bool local, int64_t size,
                                        hly_file **out);
// A file whose bytes are `data` (borrowed, must outlive it); `name` is what errors say.
HLY_MUST_CHECK hly_status hly_file_open_memory(hly_ctx *ctx, const char *name, const void *data,
                                               size_t n_bytes, hly_file **out);
void hly_file_close(hly_file *f); // NULL is fine

// Reads exactly n bytes at `position`; a short file is HLY_E_FILE_READ.
HLY_MUST_CHECK hly_status hly_file_read(hly_file *f, int64_t position, void *out, int64_t n_bytes);
// Tells the kernel that a range will be read soon. Only a hint.
void hly_file_will_need(hly_file *f, int64_t position, int64_t n_bytes);

// Records HLY_E_FILE_READ with parameters "path" and "message" and returns HLY_ERR.
hly_status hly_file_fail(hly_file *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
