#include "parquet/rle.h"

#include <string.h>

#include "base/bits.h"

bool hly_pq_rle_init(hly_pq_rle *r, const uint8_t *data, size_t n_bytes, uint32_t width) {
  memset(r, 0, sizeof *r);
  r->p = data;
  r->end = data + n_bytes;
  r->width = width;
  r->kernels = hly_pq_kernels_get();
  return width <= 32;
}

// Starts the next run. False at the end or on damage.
static bool next_run(hly_pq_rle *r) {
  if (r->bit) { // a bit-packed run ends on a byte, whatever is left of its last group
    r->p++;
    r->bit = 0;
  }
  uint64_t head = 0;
  for (int shift = 0;; shift += 7) {
    if (r->p >= r->end || shift > 28) return false;
    uint8_t b = *r->p++;
    head |= (uint64_t)(b & 0x7f) << shift;
    if (!(b & 0x80)) break;
  }
  if (head & 1) {
    uint64_t n = (head >> 1) * 8;
    // Some writers cut the last group where the values end.
    if (r->width) {
      uint64_t most = (uint64_t)(r->end - r->p) * 8 / r->width;
      if (n > most) n = most;
    }
    if (n == 0 || n > UINT32_MAX) return false;
    r->literals = (uint32_t)n;
  } else {
    uint32_t n_bytes = (r->width + 7) / 8;
    if ((head >> 1) == 0 || (head >> 1) > UINT32_MAX || (size_t)(r->end - r->p) < n_bytes) return false;
    uint32_t v = 0;
    for (uint32_t i = 0; i < n_bytes; i++) v |= (uint32_t)r->p[i] << (8 * i);
    if (r->width < 32 && v >> r->width) return false;
    r->p += n_bytes;
    r->repeats = (uint32_t)(head >> 1);
    r->repeat_value = v;
  }
  return true;
}

static inline void advance_literals(hly_pq_rle *r, uint32_t n) {
  uint64_t bit = r->bit + (uint64_t)n * r->width;
  r->p += bit >> 3;
  r->bit = (uint32_t)(bit & 7);
  r->literals -= n;
}

// Reads n literals of the current run; `out` as in hly_pq_rle_read.
static void read_literals(hly_pq_rle *r, uint32_t *out, uint32_t n) {
  if (r->width == 0) {
    memset(out, 0, n * sizeof *out);
    r->literals -= n;
    return;
  }
  // Up to a byte boundary one by one, then by the kernel.
  uint32_t done = 0;
  uint64_t mask = (1ull << r->width) - 1;
  while (done < n && r->bit) {
    uint64_t v;
    memcpy(&v, r->p, 8);
    out[done++] = (uint32_t)(v >> r->bit & mask);
    advance_literals(r, 1);
  }
  uint32_t whole = (n - done) & ~7u, rest = (n - done) & 7;
  if (whole) {
    r->kernels->unpack32(r->p, r->width, whole, out + done);
    advance_literals(r, whole);
    done += whole;
  }
  if (rest) { // the kernel writes eight
    uint32_t last[8];
    r->kernels->unpack32(r->p, r->width, 8, last);
    memcpy(out + done, last, rest * sizeof *out);
    advance_literals(r, rest);
  }
}

bool hly_pq_rle_read(hly_pq_rle *r, uint32_t *out, uint32_t n) {
  while (n > 0) {
    if (r->repeats) {
      uint32_t k = n < r->repeats ? n : r->repeats;
      uint32_t v = r->repeat_value;
      for (uint32_t i = 0; i < k; i++) out[i] = v;
      r->repeats -= k;
      out += k;
      n -= k;
    } else if (r->literals) {
      uint32_t k = n < r->literals ? n : r->literals;
      read_literals(r, out, k);
      out += k;
      n -= k;
    } else if (!next_run(r)) {
      return false;
    }
  }
  return true;
}

bool hly_pq_rle_skip(hly_pq_rle *r, uint32_t n) {
  while (n > 0) {
    if (r->repeats) {
      uint32_t k = n < r->repeats ? n : r->repeats;
      r->repeats -= k;
      n -= k;
    } else if (r->literals) {
      uint32_t k = n < r->literals ? n : r->literals;
      advance_literals(r, k);
      n -= k;
    } else if (!next_run(r)) {
      return false;
    }
  }
  return true;
}

static void fill_bits(uint64_t *bits, uint32_t start, uint32_t n, bool value) {
  uint32_t i = start, end = start + n;
  while (i < end) {
    uint32_t word = i >> 6, from = i & 63, count = 64 - from < end - i ? 64 - from : end - i;
    uint64_t mask = (count == 64 ? ~0ull : (1ull << count) - 1) << from;
    bits[word] = value ? bits[word] | mask : bits[word] & ~mask;
    i += count;
  }
}

bool hly_pq_rle_read_bits(hly_pq_rle *r, uint64_t *bits, uint32_t start, uint32_t n, uint32_t *n_set) {
  uint32_t set = 0;
  while (n > 0) {
    if (r->repeats) {
      uint32_t k = n < r->repeats ? n : r->repeats;
      fill_bits(bits, start, k, r->repeat_value);
      if (r->repeat_value) set += k;
      r->repeats -= k;
      start += k;
      n -= k;
    } else if (r->literals) {
      // A word at a time: the packed bits are already a bitmap.
      uint32_t k = 64 - (start & 63);
      if (k > n) k = n;
      if (k > r->literals) k = r->literals;
      if (k > 56) k = 56; // what eight bytes hold from any bit
      uint64_t v;
      memcpy(&v, r->p, 8);
      v = v >> r->bit & ((1ull << k) - 1);
      uint64_t mask = ((1ull << k) - 1) << (start & 63);
      bits[start >> 6] = (bits[start >> 6] & ~mask) | v << (start & 63);
      set += (uint32_t)__builtin_popcountll(v);
      advance_literals(r, k);
      start += k;
      n -= k;
    } else if (!next_run(r)) {
      return false;
    }
  }
  *n_set = set;
  return true;
}

uint32_t hly_pq_rle_run(hly_pq_rle *r, uint32_t *value) {
  while (!r->repeats && !r->literals)
    if (!next_run(r)) return 0;
  if (!r->repeats) return 0;
  *value = r->repeat_value;
  return r->repeats;
}
