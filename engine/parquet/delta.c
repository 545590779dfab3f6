// The delta encodings: DELTA_BINARY_PACKED (integers), DELTA_LENGTH_BYTE_ARRAY (byte arrays, lengths first)
// and DELTA_BYTE_ARRAY (each value as a prefix of the one before and a suffix).
#include "base/ctx.h"
#include "parquet/values.h"

// ---- the integers

static bool read_varint(const uint8_t **p, const uint8_t *end, uint64_t *out) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (*p >= end) return false;
    uint8_t b = *(*p)++;
    v |= (uint64_t)(b & 0x7f) << shift;
    if (!(b & 0x80)) {
      *out = v;
      return true;
    }
  }
  return false;
}

static uint64_t unzigzag(uint64_t v) {
  return v >> 1 ^ (0 - (v & 1));
}

bool hly_pq_delta_init(hly_pq_delta *d, const uint8_t *data, size_t n_bytes) {
  uint64_t block, miniblocks, total, first;
  memset(d, 0, sizeof *d);
  d->p = data;
  d->end = data + n_bytes;
  if (!read_varint(&d->p, d->end, &block) || !read_varint(&d->p, d->end, &miniblocks) ||
      !read_varint(&d->p, d->end, &total) || !read_varint(&d->p, d->end, &first))
    return false;
  if (block == 0 || block > 1 << 24 || miniblocks == 0 || miniblocks > 1 << 16 || block % miniblocks ||
      block / miniblocks % 32)
    return false;
  d->block_values = (uint32_t)block;
  d->n_miniblocks = (uint32_t)miniblocks;
  d->miniblock_values = (uint32_t)(block / miniblocks);
  d->left = total;
  d->value = unzigzag(first);
  d->first = true;
  d->miniblock = d->n_miniblocks;
  return true;
}

static bool start_block(hly_pq_delta *d) {
  uint64_t min;
  if (!read_varint(&d->p, d->end, &min)) return false;
  d->min_delta = unzigzag(min);
  if ((size_t)(d->end - d->p) < d->n_miniblocks) return false;
  d->widths = d->p;
  d->p += d->n_miniblocks;
  d->miniblock = 0;
  return true;
}

// Gets the next deltas ready, up to 32.
static bool fill(hly_pq_delta *d) {
  if (d->in_miniblock == 0) {
    if (d->miniblock == d->n_miniblocks && !start_block(d)) return false;
    d->width = d->widths[d->miniblock++];
    d->in_miniblock = d->miniblock_values;
    if (d->width > 64) return false;
  }
  // The last miniblock may be cut behind its values by some writers; the rest of it reads as zeros then.
  uint32_t n = 32;
  size_t n_bytes = 4 * (size_t)d->width, there = (size_t)(d->end - d->p);
  if (there < n_bytes) {
    uint64_t needed = d->left < 32 ? d->left : 32;
    if (there * 8 < needed * d->width) return false;
    n_bytes = there;
    n = (uint32_t)needed;
  }
  if (d->width == 0)
    memset(d->ready, 0, sizeof d->ready);
  else
    hly_pq_kernels_get()->unpack64(d->p, d->width, n, d->ready);
  d->p += n_bytes;
  d->in_miniblock -= 32;
  d->n_ready = n;
  d->next_ready = 0;
  return true;
}

bool hly_pq_delta_read(hly_pq_delta *d, uint32_t n, uint64_t *out) {
  if (n > d->left) return false;
  if (n && d->first) {
    *out++ = d->value;
    d->first = false;
    d->left--;
    n--;
  }
  while (n > 0) {
    if (d->next_ready == d->n_ready && !fill(d)) return false;
    uint32_t k = d->n_ready - d->next_ready;
    if (k > n) k = n;
    uint64_t value = d->value, min = d->min_delta;
    for (uint32_t i = 0; i < k; i++) {
      value += min + d->ready[d->next_ready + i];
      out[i] = value;
    }
    d->value = value;
    d->next_ready += k;
    d->left -= k;
    out += k;
    n -= k;
  }
  return true;
}

const uint8_t *hly_pq_delta_end(const hly_pq_delta *d) {
  const uint8_t *p = d->p;
  uint64_t left = d->left > 0 ? d->left - 1 : 0; // the first is in the header
  while (left > 0) {
    uint64_t min;
    if (!read_varint(&p, d->end, &min) || (size_t)(d->end - p) < d->n_miniblocks) return NULL;
    const uint8_t *widths = p;
    p += d->n_miniblocks;
    for (uint32_t m = 0; m < d->n_miniblocks && left > 0; m++) {
      if (widths[m] > 64) return NULL;
      size_t n_bytes = (size_t)d->miniblock_values / 8 * widths[m];
      if ((size_t)(d->end - p) < n_bytes) return NULL;
      p += n_bytes;
      left -= left < d->miniblock_values ? left : d->miniblock_values;
    }
  }
  return p;
}

static hly_status damaged(const hly_pq_values *v) {
  return hly_pq_values_fail(v, "damaged delta-encoded integers, or fewer values than its header says");
}

// Some writers leave a page of nothing but nulls without even a header.
static bool no_values(hly_pq_values *v) {
  if (v->p < v->end) return false;
  memset(&v->delta, 0, sizeof v->delta);
  memset(&v->suffixes, 0, sizeof v->suffixes);
  return true;
}

static hly_status ints_init(hly_pq_values *v) {
  if (no_values(v)) return HLY_OK;
  return hly_pq_delta_init(&v->delta, v->p, (size_t)(v->end - v->p)) ? HLY_OK : damaged(v);
}

static hly_status read_int64(hly_pq_values *v, uint32_t n, void *out) {
  return hly_pq_delta_read(&v->delta, n, out) ? HLY_OK : damaged(v);
}

static hly_status read_int32(hly_pq_values *v, uint32_t n, void *out) {
  uint64_t piece[256];
  uint32_t *to = out;
  while (n > 0) {
    uint32_t k = n < 256 ? n : 256;
    if (!hly_pq_delta_read(&v->delta, k, piece)) return damaged(v);
    for (uint32_t i = 0; i < k; i++) to[i] = (uint32_t)piece[i];
    to += k;
    n -= k;
  }
  return HLY_OK;
}

static bool delta_skip(hly_pq_delta *d, uint32_t n) {
  uint64_t piece[256];
  while (n > 0) {
    uint32_t k = n < 256 ? n : 256;
    if (!hly_pq_delta_read(d, k, piece)) return false;
    n -= k;
  }
  return true;
}

static hly_status ints_skip(hly_pq_values *v, uint32_t n) {
  return delta_skip(&v->delta, n) ? HLY_OK : damaged(v);
}

const hly_pq_values_class hly_pq_delta_int32 = {ints_init, read_int32, ints_skip, NULL};
const hly_pq_values_class hly_pq_delta_int64 = {ints_init, read_int64, ints_skip, NULL};

// ---- byte arrays with their lengths first

static hly_status lengths_init(hly_pq_values *v) {
  if (no_values(v)) return HLY_OK;
  if (!hly_pq_delta_init(&v->delta, v->p, (size_t)(v->end - v->p))) return damaged(v);
  const uint8_t *end = hly_pq_delta_end(&v->delta);
  if (!end) return damaged(v);
  v->p = end; // the bytes
  return HLY_OK;
}

static hly_status lengths_read(hly_pq_values *v, uint32_t n, void *out) {
  hly_str *to = out;
  uint64_t lengths[256];
  while (n > 0) {
    uint32_t k = n < 256 ? n : 256;
    if (!hly_pq_delta_read(&v->delta, k, lengths)) return damaged(v);
    for (uint32_t i = 0; i < k; i++) {
      if (lengths[i] > (size_t)(v->end - v->p))
        return hly_pq_values_fail(v, "a byte array is longer than the page");
      to[i] = hly_pq_view(v->p, (uint32_t)lengths[i]);
      v->p += lengths[i];
    }
    to += k;
    n -= k;
  }
  return HLY_OK;
}

static hly_status lengths_skip(hly_pq_values *v, uint32_t n) {
  hly_str piece[128];
  while (n > 0) {
    uint32_t k = n < 128 ? n : 128;
    HLY_TRY(lengths_read(v, k, piece));
    n -= k;
  }
  return HLY_OK;
}

const hly_pq_values_class hly_pq_delta_length_strings = {lengths_init, lengths_read, lengths_skip, NULL};

// ---- prefixes and suffixes

// Bytes of one read: past this it is damage or nothing a batch can hold.
#define MOST_BYTES (1ull << 31)

static hly_status prefixes_init(hly_pq_values *v) {
  v->n_last = 0;
  if (no_values(v)) return HLY_OK;
  if (!hly_pq_delta_init(&v->delta, v->p, (size_t)(v->end - v->p))) return damaged(v);
  const uint8_t *end = hly_pq_delta_end(&v->delta);
  if (!end || !hly_pq_delta_init(&v->suffixes, end, (size_t)(v->end - end))) return damaged(v);
  v->p = hly_pq_delta_end(&v->suffixes);
  return v->p ? HLY_OK : damaged(v);
}

static hly_status prefixes_read(hly_pq_values *v, uint32_t n, void *out) {
  if (n == 0) return HLY_OK;
  hly_ctx *ctx = v->file->ctx;
  if (hly_buf_reuse(&v->scratch, (size_t)n * 16) != 0) return hly_ctx_nomem(ctx, (int64_t)n * 16);
  uint64_t *prefix = (uint64_t *)v->scratch->data, *suffix = prefix + n;
  if (!hly_pq_delta_read(&v->delta, n, prefix) || !hly_pq_delta_read(&v->suffixes, n, suffix))
    return damaged(v);
  uint64_t total = 0, last = v->n_last, suffix_bytes = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (prefix[i] > last || suffix[i] > (size_t)(v->end - v->p) - suffix_bytes)
      return hly_pq_values_fail(v, "a byte array is longer than the page");
    suffix_bytes += suffix[i];
    last = prefix[i] + suffix[i];
    total += last;
    if (total > MOST_BYTES)
      return hly_pq_values_fail(v, "the byte arrays of one batch are larger than 2 GiB");
  }
  // A new buffer unless nobody looks at the last one's bytes any more.
  if (hly_buf_reuse(&v->own_heap, total + 16) != 0) return hly_ctx_nomem(ctx, (int64_t)total);
  v->heap = v->own_heap;
  hly_str *to = out;
  uint8_t *p = v->own_heap->data;
  const uint8_t *before = v->last ? v->last : v->own_heap->data; // nothing is copied from the latter
  for (uint32_t i = 0; i < n; i++) {
    memcpy(p, before, prefix[i]);
    memcpy(p + prefix[i], v->p, suffix[i]);
    v->p += suffix[i];
    uint32_t len = (uint32_t)(prefix[i] + suffix[i]);
    if (v->type == HLY_PQ_FIXED_LEN_BYTE_ARRAY && len != v->length)
      return hly_pq_values_fail(v, "a fixed-length value of another length");
    to[i] = hly_pq_view(p, len);
    before = p;
    p += len;
  }
  if (last > 0 || !v->last) {
    if (hly_buf_reuse(&v->last_buf, last + 16) != 0) return hly_ctx_nomem(ctx, (int64_t)last);
    memcpy(v->last_buf->data, before, last);
    v->last = v->last_buf->data;
  }
  v->n_last = (uint32_t)last;
  return HLY_OK;
}

static hly_status prefixes_skip(hly_pq_values *v, uint32_t n) {
  hly_str piece[128];
  while (n > 0) {
    uint32_t k = n < 128 ? n : 128;
    HLY_TRY(prefixes_read(v, k, piece));
    n -= k;
  }
  return HLY_OK;
}

const hly_pq_values_class hly_pq_delta_strings = {prefixes_init, prefixes_read, prefixes_skip, NULL};
