// Row partitions: rows of one layout on disk, cut into 16 by four bits of the hash in their headers. Rows
// come from a row store, as often as memory runs out; each flush leaves one section a partition. Rows that do
// not fit when a partition is read again are cut by the next four bits, at the level below.
#ifndef HLY_ROWS_ROW_PARTITIONS_H
#define HLY_ROWS_ROW_PARTITIONS_H

#include "rows/row_store.h"

enum {
  HLY_ROW_PARTS = 16,
  HLY_ROW_LEVELS = 7, // below the last the bits would be those that a hash table uses
};

typedef struct hly_row_section {
  uint64_t offset, n_rows;
} hly_row_section;

typedef struct hly_row_partitions {
  hly_ctx *ctx;
  const hly_row_layout *layout; // the first 8 bytes of a row's header are its hash
  uint32_t level;
  hly_spill_file *file;      // NULL: nothing was flushed
  hly_row_section *sections; // n_flushes * HLY_ROW_PARTS
  uint32_t n_flushes, cap_flushes;
  uint64_t end; // of the file: where the next section begins
  uint64_t n_rows[HLY_ROW_PARTS];
} hly_row_partitions;

static inline uint32_t hly_row_partition_of(uint64_t hash, uint32_t level) {
  return (uint32_t)(hash >> (44 - 4 * level)) & (HLY_ROW_PARTS - 1);
}
void hly_row_partitions_init(hly_row_partitions *p, hly_ctx *ctx, const hly_row_layout *layout,
                             uint32_t level);
void hly_row_partitions_deinit(hly_row_partitions *p); // deletes the file
// Writes all rows of the store and clears it. Reserves nothing. *n_bytes: written to disk.
HLY_MUST_CHECK hly_status hly_row_partitions_flush(hly_row_partitions *p, hly_row_store *store,
                                                   int64_t *n_bytes);

// Reads the rows of one partition, one at a time.
typedef struct hly_row_reader {
  const hly_row_partitions *parts;
  uint32_t part, flush;
  uint64_t left; // rows of the open section
  hly_spill_reader *reader;
  uint8_t *row;   // valid until the next is read, its views too
  uint8_t *bytes; // of its long views
  uint64_t cap_bytes;
} hly_row_reader;

// Zeros are a reader that is not open. Can be opened again after it was used.
HLY_MUST_CHECK hly_status hly_row_reader_open(hly_row_reader *r, const hly_row_partitions *parts,
                                              uint32_t part);
// *row NULL: no more.
HLY_MUST_CHECK hly_status hly_row_reader_next(hly_row_reader *r, const uint8_t **row);
void hly_row_reader_close(hly_row_reader *r);

#endif
