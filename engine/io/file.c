#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

// A plain path as Hadoop's Path prints it: "file://" and the path with the characters quoted that
// java.net.URI quotes in a path. Bytes above 0x7f stay as they are.
static char *local_uri(const char *path) {
  static const char legal[] = "_-!.~'()*:@&=+$,/;";
  size_t n = strlen(path);
  char *uri = hly_malloc(n * 3 + 8);
  if (!uri) return NULL;
  memcpy(uri, "file://", 7);
  char *p = uri + 7;
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)path[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80 ||
                 strchr(legal, c);
    if (plain) {
      *p++ = (char)c;
    } else {
      *p++ = '%';
      *p++ = "0123456789ABCDEF"[c >> 4];
      *p++ = "0123456789ABCDEF"[c & 15];
    }
  }
  *p = 0;
  return uri;
}

static char *copy_text(const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = hly_malloc(n);
  if (copy) memcpy(copy, text, n);
  return copy;
}

static hly_file *file_new(hly_ctx *ctx, char *uri) {
  hly_file *f = uri ? hly_calloc(1, sizeof *f) : NULL;
  if (!f) {
    hly_free(uri);
    return NULL;
  }
  f->ctx = ctx;
  f->uri = uri;
  f->fd = -1;
  return f;
}

hly_status hly_file_open(hly_ctx *ctx, const char *path, bool local, int64_t size, hly_file **out) {
  *out = NULL;
  hly_file *f = file_new(ctx, local ? local_uri(path) : copy_text(path));
  HLY_CHECK_MEM(ctx, f, sizeof *f);
  f->local = local;
  hly_status st = HLY_OK;
  if (local) {
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;
    if (f->fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
      char message[64];
      snprintf(message, sizeof message, "%s", strerror(errno));
      st = hly_error_set(&ctx->error, HLY_E_FILE_NOT_FOUND, 2, "path", f->uri, "message", message);
    } else if (f->fd < 0) {
      st = hly_file_fail(f, "cannot open: %s", strerror(errno));
    } else if (fstat(f->fd, &s) != 0 || !S_ISREG(s.st_mode)) {
      st = hly_file_fail(f, "not a regular file");
    } else {
      f->size = s.st_size;
    }
  } else {
    f->size = size;
    if (!ctx->host || !ctx->host->file_open) {
      st = hly_file_fail(f, "this process cannot open files of another file system");
    } else {
      f->host_handle = -1;
      st = ctx->host->file_open(ctx->host->arg, path, &f->host_handle, &ctx->error);
      if (st == HLY_OK && f->host_handle == 0) {
        f->host_handle = -1;
        st = hly_error_set(&ctx->error, HLY_E_FILE_NOT_FOUND, 2, "path", f->uri, "message", "no such file");
      }
    }
  }
  if (st != HLY_OK) {
    hly_file_close(f);
    return st;
  }
  *out = f;
  return HLY_OK;
}

hly_status hly_file_open_memory(hly_ctx *ctx, const char *name, const void *data, size_t n_bytes,
                                hly_file **out) {
  *out = NULL;
  hly_file *f = file_new(ctx, copy_text(name));
  HLY_CHECK_MEM(ctx, f, sizeof *f);
  f->memory = data;
  f->size = (int64_t)n_bytes;
  f->local = true;
  *out = f;
  return HLY_OK;
}

void hly_file_close(hly_file *f) {
  if (!f) return;
  if (f->fd >= 0) close(f->fd);
  if (!f->local && f->ctx->host && f->ctx->host->file_close && f->host_handle >= 0)
    f->ctx->host->file_close(f->ctx->host->arg, f->host_handle);
  hly_free((char *)f->uri);
  hly_free(f);
}

static hly_status read_local(hly_file *f, int64_t position, uint8_t *out, int64_t n_bytes) {
  while (n_bytes > 0) {
    ssize_t n = pread(f->fd, out, (size_t)n_bytes, position);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return hly_file_fail(f, "read of %lld bytes at %lld: %s", (long long)n_bytes, (long long)position,
                           strerror(errno));
    if (n == 0)
      return hly_file_fail(f, "the file ends at %lld: it was cut while it was read", (long long)position);
    out += n;
    position += n;
    n_bytes -= n;
  }
  return HLY_OK;
}

hly_status hly_file_read(hly_file *f, int64_t position, void *out, int64_t n_bytes) {
  if (position < 0 || n_bytes < 0 || position > f->size || n_bytes > f->size - position)
    return hly_file_fail(f, "%lld bytes at %lld are past the end of the file (%lld bytes)",
                         (long long)n_bytes, (long long)position, (long long)f->size);
  int64_t start = hly_now_ns();
  hly_status st = HLY_OK;
  if (f->memory) {
    memcpy(out, f->memory + position, (size_t)n_bytes);
  } else if (f->local) {
    st = read_local(f, position, out, n_bytes);
  } else {
    // The host copies through a buffer of its own: pieces keep that small.
    enum { PIECE = 8 << 20 };
    for (int64_t done = 0; done < n_bytes && st == HLY_OK;) {
      int32_t n = (int32_t)(n_bytes - done < PIECE ? n_bytes - done : PIECE);
      st = f->ctx->host->file_read(f->ctx->host->arg, f->host_handle, position + done, (uint8_t *)out + done,
                                   n, &f->ctx->error);
      done += n;
    }
  }
  f->bytes_read += n_bytes;
  f->read_ns += hly_now_ns() - start;
  return st;
}

void hly_file_will_need(hly_file *f, int64_t position, int64_t n_bytes) {
  if (f->fd >= 0) (void)posix_fadvise(f->fd, position, n_bytes, POSIX_FADV_WILLNEED);
}

hly_status hly_file_fail(hly_file *f, const char *format, ...) {
  char message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return hly_error_set(&f->ctx->error, HLY_E_FILE_READ, 2, "path", f->uri, "message", message);
}
