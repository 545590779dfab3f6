// Frames: the unit of the shuffle's bytes. A map output's partition is a sequence of frames or nothing, and
// sequences concatenate. All integers are little-endian.
//
//   offset  0  u32  magic "HLYF"
//           4  u32  bytes of the body that follow the header
//           8  u32  bytes of the body uncompressed
//          12  u32  rows
//          16  u32  columns
//          20  u8   codec of the body (Codec of plan.proto); u8 format version; u16 zero
//          24  u64  XXH64 of the body, seeded with the XXH64 (seed 0) of header bytes 0..23
//
// The body is one column after the other, each at an offset that is a multiple of 8:
//
//   u8 form (FLAT, CONST, DICT), u8 flags, u8 width, u8 zero, u32 rows
//   [flags & 1]  validity, one bit a row, in 8-byte words
//   FLAT   boolean: bits in 8-byte words. Integers with width w > 0: a base (8 bytes; 16 for 128-bit), then
//   unsigned
//          differences of w bytes. Other fixed-width values: as they are. Values of 16 bytes, or their base,
//          stand at a multiple of 16. Strings: u64 bytes, lengths of `width` bytes, then the bytes; variant
//          is two of these, each with its u64 and an own width (the second's precedes its u64 in 8 bytes).
//          Arrays and maps: lengths of `width` bytes, then the element columns. Structs: the field columns.
//   CONST  a FLAT column of one row that stands for all, or [flags & 2] null for all and nothing more
//   DICT   indices of `width` bytes, then a FLAT column without nulls
//
// CONST and DICT occur at the top only. Every part ends with zeros up to a multiple of 8. The values of null
// rows are zero, so that equal rows give equal bytes.
#ifndef HLY_SHUFFLE_BLOCK_H
#define HLY_SHUFFLE_BLOCK_H

#include "plan/binder.h"
#include "vector/batch.h"

enum {
  HLY_FRAME_HEADER = 32,
  HLY_FRAME_VERSION = 1,
  HLY_FRAME_MAX_ROWS = 1 << 24,
  HLY_FRAME_MAX_BYTES = 0x7e000000, // of an uncompressed body; a compressed one stays under 2^31 then
};
#define HLY_FRAME_MAGIC 0x46594c48u

// Rows [start, start + count) of a batch that has no selection.
typedef struct hly_segment {
  const hly_batch *batch;
  uint32_t start, count;
} hly_segment;

typedef struct hly_block_writer hly_block_writer;
// Writes rows of `schema` (borrowed). Returns owned.
HLY_MUST_CHECK hly_status hly_block_writer_create(hly_ctx *ctx, const hly_schema *schema, Halley__Codec codec,
                                                  int level, hly_block_writer **out);
void hly_block_writer_destroy(hly_block_writer *w); // NULL is fine
// One frame of all rows of the segments. Borrowed until the next call. When the body would pass `max_raw`
// bytes and there is more than one row, *frame is NULL: the caller splits the rows and tries again. One row
// that passes HLY_FRAME_MAX_BYTES is an error. *n_raw: bytes of the uncompressed body.
HLY_MUST_CHECK hly_status hly_block_write(hly_block_writer *w, const hly_segment *segments,
                                          uint32_t n_segments, size_t max_raw, const uint8_t **frame,
                                          size_t *n_bytes, size_t *n_raw);
// Bytes that the writer's own buffers hold.
size_t hly_block_writer_bytes(const hly_block_writer *w);

// Whether every type of the schema can be written; HLY_REFUSED with the reason otherwise.
HLY_MUST_CHECK hly_status hly_block_bind(hly_binder *b, const hly_schema *schema);

typedef struct hly_block_reader hly_block_reader;
HLY_MUST_CHECK hly_status hly_block_reader_create(hly_ctx *ctx, const hly_schema *schema,
                                                  hly_block_reader **out);
void hly_block_reader_destroy(hly_block_reader *r); // NULL is fine
// Decodes one frame of exactly n bytes (copied where needed). The batch is borrowed until the next call; its
// vectors may be kept by taking references. HLY_E_SHUFFLE_CORRUPT for anything that the writer would not have
// written.
HLY_MUST_CHECK hly_status hly_block_read(hly_block_reader *r, const uint8_t *frame, size_t n_bytes,
                                         hly_batch **out);
// Bytes that the last batch keeps.
uint64_t hly_block_reader_bytes(const hly_block_reader *r);

#endif
