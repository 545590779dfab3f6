// Row store: rows of one layout in blocks, and the heap their long views point to, paid for by a reservation.
// Rows never move; they are freed all at once.
#ifndef HLY_ROWS_ROW_STORE_H
#define HLY_ROWS_ROW_STORE_H

#include "memory/pool.h"
#include "rows/row_layout.h"

typedef struct hly_row_chunk {
  uint8_t *data;
  uint32_t used, capacity; // bytes
} hly_row_chunk;

typedef struct hly_row_store {
  hly_ctx *ctx;
  hly_reservation *reservation; // borrowed; shared with the owner's other state
  const hly_row_layout *layout;
  hly_row_chunk *blocks, *heap;
  uint32_t n_blocks, cap_blocks, n_heap, cap_heap;
  uint64_t n_rows;
  int64_t reserved;
  int64_t floor; // bytes that are never refused, so that spills have a size worth writing
} hly_row_store;

void hly_row_store_init(hly_row_store *s, hly_ctx *ctx, const hly_row_layout *layout,
                        hly_reservation *reservation);
// Frees all rows and gives their bytes back. The store can be filled again.
void hly_row_store_clear(hly_row_store *s);

// A new row of undefined contents. HLY_DENIED: the pool refused another block. The first block is never
// refused.
HLY_MUST_CHECK hly_status hly_row_store_append(hly_row_store *s, uint8_t **row);
// As above, for 1 <= *n <= max rows one behind the other.
HLY_MUST_CHECK hly_status hly_row_store_append_many(hly_row_store *s, uint32_t max, uint8_t **rows,
                                                    uint32_t *n);
// Room for n bytes of a long view. `force`: never HLY_DENIED. The first piece of the heap is never refused.
HLY_MUST_CHECK hly_status hly_row_store_heap(hly_row_store *s, uint64_t n, bool force, uint8_t **out);
// Copies the row's long views of fields (not of the tail) to the heap: for a row whose views are borrowed.
// HLY_DENIED: nothing was changed.
HLY_MUST_CHECK hly_status hly_row_store_own_views(hly_row_store *s, uint8_t *row);
// Removes the n rows appended last, all by one call.
void hly_row_store_drop_last(hly_row_store *s, uint32_t n);

// Reads up to `max` row addresses from position (*block, *offset), both 0 at first; 0 at the end.
uint32_t hly_row_store_scan(const hly_row_store *s, uint32_t *block, uint32_t *offset, uint8_t **rows,
                            uint32_t max);

#endif
