// Decoders of the values of one data page: one class an encoding, values in stored form (convert.h).
#ifndef HLY_PARQUET_VALUES_H
#define HLY_PARQUET_VALUES_H

#include "base/buf.h"
#include "io/file.h"
#include "parquet/format.h"
#include "parquet/rle.h"
#include "vector/str.h"

typedef struct hly_pq_values hly_pq_values;

typedef struct hly_pq_values_class {
  // Called once for a page, after the fields up to `n` are set.
  hly_status (*init)(hly_pq_values *v);
  // The next n values to `out`.
  hly_status (*read)(hly_pq_values *v, uint32_t n, void *out);
  hly_status (*skip)(hly_pq_values *v, uint32_t n);
  // Of the next n values those at the ascending positions sel[0..n_sel). NULL: read and gather.
  hly_status (*select)(hly_pq_values *v, const uint32_t *sel, uint32_t n_sel, uint32_t n, void *out);
} hly_pq_values_class;

// Cursor over DELTA_BINARY_PACKED integers.
typedef struct hly_pq_delta {
  const uint8_t *p, *end;
  uint32_t block_values, n_miniblocks, miniblock_values;
  uint64_t left;  // values not handed out yet
  uint64_t value; // the last one
  uint64_t min_delta;
  const uint8_t *widths; // of the block's miniblocks
  uint32_t miniblock;    // in the block; n_miniblocks: the block is over
  uint32_t in_miniblock; // deltas left in it
  uint32_t width;
  uint32_t n_ready, next_ready;
  bool first; // the first value is in the header
  uint64_t ready[32];
} hly_pq_delta;

// False on damage.
bool hly_pq_delta_init(hly_pq_delta *d, const uint8_t *data, size_t n_bytes);
bool hly_pq_delta_read(hly_pq_delta *d, uint32_t n, uint64_t *out);
// Where the encoded values end; only after hly_pq_delta_init. NULL on damage.
const uint8_t *hly_pq_delta_end(const hly_pq_delta *d);

struct hly_pq_values {
  const hly_pq_values_class *cls;
  hly_file *file;
  const char *column;
  hly_pq_type type;
  uint32_t length;        // of fixed-length values
  const uint8_t *p, *end; // bytes not read yet; readable for 64 bytes past the end
  hly_buf *heap;          // owner of what views point to; borrowed
  uint32_t n;             // values in the page
  // Encodings that make up bytes keep them here; kept between pages, released by hly_pq_values_deinit.
  hly_buf *own_heap, *scratch;
  uint32_t bit; // booleans: of *p
  hly_pq_rle rle;
  hly_pq_delta delta, suffixes;
  uint8_t *last; // DELTA_BYTE_ARRAY: the last value, in a buffer of its own
  hly_buf *last_buf;
  uint32_t n_last;
};

// Prepares `v` for a page of `encoding` (not a dictionary's indices); the fields up to `n` are set. Encodings
// that do not go with the type, or are unknown, are errors.
HLY_MUST_CHECK hly_status hly_pq_values_init(hly_pq_values *v, int32_t encoding);
void hly_pq_values_deinit(hly_pq_values *v);
// Records "corrupt page of column ...: <what>" and returns HLY_ERR.
hly_status hly_pq_values_fail(const hly_pq_values *v, const char *what);

extern const hly_pq_values_class hly_pq_plain_boolean, hly_pq_plain_fixed4, hly_pq_plain_fixed8,
    hly_pq_plain_strings, hly_pq_plain_fixed_strings, hly_pq_rle_booleans, hly_pq_delta_int32,
    hly_pq_delta_int64, hly_pq_delta_length_strings, hly_pq_delta_strings, hly_pq_split;

// View of n bytes at `p`, which are readable for 16 bytes from p.
static inline hly_str hly_pq_view(const uint8_t *p, uint32_t n) {
  hly_str s;
  s.len = n;
  if (n <= HLY_STR_INLINE) {
    uint64_t low;
    uint32_t high;
    memcpy(&low, p, 8);
    memcpy(&high, p + 8, 4);
    low &= n >= 8 ? ~0ull : (1ull << (8 * n)) - 1;
    high &= n <= 8 ? 0 : n >= 12 ? ~0u : (1u << (8 * (n - 8))) - 1;
    memcpy(s.u.inl, &low, 8);
    memcpy(s.u.inl + 8, &high, 4);
  } else {
    memcpy(s.u.out.prefix, p, 4);
    s.u.out.ptr = p;
  }
  return s;
}

#endif
