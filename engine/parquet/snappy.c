#include "parquet/snappy.h"

#include <string.h>

static const uint8_t *read_length(const uint8_t *p, const uint8_t *end, uint32_t *length) {
  uint64_t v = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    if (p >= end) return NULL;
    uint8_t b = *p++;
    v |= (uint64_t)(b & 0x7f) << shift;
    if (!(b & 0x80)) {
      if (v > UINT32_MAX) return NULL;
      *length = (uint32_t)v;
      return p;
    }
  }
  return NULL;
}

bool hly_snappy_length(const void *in, size_t n_in, size_t *length) {
  uint32_t n;
  if (!read_length(in, (const uint8_t *)in + n_in, &n)) return false;
  *length = n;
  return true;
}

static inline void copy8(uint8_t *to, const uint8_t *from) {
  uint64_t v;
  memcpy(&v, from, 8);
  memcpy(to, &v, 8);
}
static inline void copy16(uint8_t *to, const uint8_t *from) {
  __uint128_t v;
  memcpy(&v, from, 16);
  memcpy(to, &v, 16);
}

// Copies `len` (1..64) bytes that lie `offset` back; there is room for 80 bytes at `op`.
static inline void copy_back_fast(uint8_t *op, size_t offset, size_t len) {
  const uint8_t *from = op - offset;
  if (offset >= 16) {
    copy16(op, from);
    if (len > 16) {
      copy16(op + 16, from + 16);
      if (len > 32) {
        copy16(op + 32, from + 32);
        copy16(op + 48, from + 48);
      }
    }
    return;
  }
  if (offset >= 8) {
    for (size_t i = 0; i < len; i += 8) copy8(op + i, from + i);
    return;
  }
  // A short pattern: write it out until it is 8 bytes or longer, then copy from a multiple of it back.
  uint8_t *p = op, *end = op + len;
  size_t period = offset;
  for (int i = 0; i < 8; i++) p[i] = from[i];
  while (period < 8) period += offset;
  p += 8;
  while (p < end) {
    copy8(p, p - period);
    p += 8;
  }
}

// The part of a block that is far from both ends, so that reads of 16 and writes of 80 bytes are within them:
// most tags are short literals and copies, each one unconditional 16-byte move. Stops before the first tag
// that is not for it; false on damage.
static bool decompress_middle(const uint8_t **ip_at, const uint8_t *iend, uint8_t **op_at,
                              const uint8_t *start, const uint8_t *oend) {
  const uint8_t *ip = *ip_at;
  uint8_t *op = *op_at;
  bool good = true;
  while (iend - ip >= 24 && oend - op >= 80) {
    uint8_t tag = ip[0];
    size_t len = (size_t)(tag >> 2) + 1, offset;
    if ((tag & 3) == 0) {
      if (len > 16) break;
      copy16(op, ip + 1);
      ip += 1 + len;
      op += len;
      continue;
    }
    if ((tag & 3) == 1) {
      len = (size_t)(tag >> 2 & 7) + 4;
      offset = (size_t)(tag >> 5) << 8 | ip[1];
      ip += 2;
    } else if ((tag & 3) == 2) {
      uint16_t v;
      memcpy(&v, ip + 1, 2);
      offset = v;
      ip += 3;
    } else {
      break;
    }
    if (offset - 1 >= (size_t)(op - start)) { // also 0
      good = false;
      break;
    }
    if (len <= 16 && offset >= len)
      copy16(op, op - offset); // what follows the copy is written later
    else
      copy_back_fast(op, offset, len);
    op += len;
  }
  *ip_at = ip;
  *op_at = op;
  return good;
}

bool hly_snappy_decompress(const void *in, size_t n_in, void *out, size_t n_out) {
  const uint8_t *ip = in, *iend = ip + n_in;
  uint8_t *op = out, *const start = out, *const oend = op + n_out;
  uint32_t announced;
  ip = read_length(ip, iend, &announced);
  if (!ip || announced != n_out) return false;
  while (ip < iend) {
    if (!decompress_middle(&ip, iend, &op, start, oend)) return false;
    uint8_t tag = *ip++;
    size_t len, offset;
    switch (tag & 3) {
    case 0:
      len = (size_t)(tag >> 2) + 1;
      if (len <= 16 && iend - ip >= 16 && oend - op >= 16) {
        copy16(op, ip);
        ip += len;
        op += len;
        continue;
      }
      if (len > 60) {
        size_t n_bytes = len - 60;
        if ((size_t)(iend - ip) < n_bytes) return false;
        uint32_t v = 0;
        for (size_t i = 0; i < n_bytes; i++) v |= (uint32_t)ip[i] << (8 * i);
        ip += n_bytes;
        len = (size_t)v + 1;
      }
      if ((size_t)(iend - ip) < len || (size_t)(oend - op) < len) return false;
      memcpy(op, ip, len);
      ip += len;
      op += len;
      continue;
    case 1:
      if (ip >= iend) return false;
      len = (size_t)(tag >> 2 & 7) + 4;
      offset = (size_t)(tag >> 5) << 8 | *ip++;
      break;
    case 2:
      if (iend - ip < 2) return false;
      len = (size_t)(tag >> 2) + 1;
      offset = ip[0] | (size_t)ip[1] << 8;
      ip += 2;
      break;
    default:
      if (iend - ip < 4) return false;
      len = (size_t)(tag >> 2) + 1;
      offset = ip[0] | (size_t)ip[1] << 8 | (size_t)ip[2] << 16 | (size_t)ip[3] << 24;
      ip += 4;
    }
    if (offset == 0 || offset > (size_t)(op - start) || len > (size_t)(oend - op)) return false;
    if (oend - op >= 80) {
      copy_back_fast(op, offset, len);
    } else {
      for (size_t i = 0; i < len; i++) op[i] = op[i - offset];
    }
    op += len;
  }
  return op == oend;
}

size_t hly_snappy_bound(size_t n) {
  return 32 + n + n / 6;
}

// ---- compression: greedy, one hash table of positions for each 64 KiB block, as the format's authors do it.

enum { BLOCK = 1 << 16, HASH_BITS = 14 };

static inline uint32_t load32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return v;
}
static inline uint32_t hash32(uint32_t v) {
  return (v * 0x1e35a7bdu) >> (32 - HASH_BITS);
}

static uint8_t *emit_literal(uint8_t *op, const uint8_t *from, size_t len) {
  if (len == 0) return op;
  size_t n = len - 1;
  if (n < 60) {
    *op++ = (uint8_t)(n << 2);
  } else {
    uint8_t *tag = op++;
    int n_bytes = 0;
    for (; n > 0; n >>= 8, n_bytes++) *op++ = (uint8_t)n;
    *tag = (uint8_t)((59 + n_bytes) << 2);
  }
  memcpy(op, from, len);
  return op + len;
}

static uint8_t *emit_copy(uint8_t *op, size_t offset, size_t len) {
  while (len > 0) {
    // Leave at least 4 for the last copy, so that it may use the short form.
    size_t n = len >= 68 ? 64 : len > 64 ? 60 : len;
    if (n >= 4 && n < 12 && offset < 2048) {
      *op++ = (uint8_t)(1 | (n - 4) << 2 | offset >> 8 << 5);
      *op++ = (uint8_t)offset;
    } else {
      *op++ = (uint8_t)(2 | (n - 1) << 2);
      *op++ = (uint8_t)offset;
      *op++ = (uint8_t)(offset >> 8);
    }
    len -= n;
  }
  return op;
}

static uint8_t *compress_block(const uint8_t *in, size_t n, uint8_t *op) {
  uint16_t table[1 << HASH_BITS];
  if (n < 16) return emit_literal(op, in, n);
  memset(table, 0, sizeof table);
  const uint8_t *ip = in + 1, *end = in + n, *limit = end - 15, *literal = in;
  while (ip < limit) {
    // The longer nothing is found, the longer the steps.
    uint32_t skip = 32;
    const uint8_t *candidate;
    for (;;) {
      uint32_t v = load32(ip), h = hash32(v);
      candidate = in + table[h];
      table[h] = (uint16_t)(ip - in);
      if (candidate < ip && load32(candidate) == v) break;
      ip += skip++ >> 5;
      if (ip >= limit) return emit_literal(op, literal, (size_t)(end - literal));
    }
    op = emit_literal(op, literal, (size_t)(ip - literal));
    size_t len = 4;
    while (ip + len < end && candidate[len] == ip[len]) len++;
    op = emit_copy(op, (size_t)(ip - candidate), len);
    ip += len;
    literal = ip;
    if (ip < limit) table[hash32(load32(ip - 1))] = (uint16_t)(ip - 1 - in);
  }
  return emit_literal(op, literal, (size_t)(end - literal));
}

size_t hly_snappy_compress(const void *in, size_t n, void *out) {
  uint8_t *op = out;
  const uint8_t *ip = in;
  uint32_t v = (uint32_t)n;
  while (v >= 0x80) {
    *op++ = (uint8_t)(v | 0x80);
    v >>= 7;
  }
  *op++ = (uint8_t)v;
  for (size_t done = 0; done < n; done += BLOCK) {
    size_t len = n - done < BLOCK ? n - done : BLOCK;
    op = compress_block(ip + done, len, op);
  }
  return (size_t)(op - (uint8_t *)out);
}
