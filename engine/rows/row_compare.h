// Order of laid-out rows, as Spark sorts them: NaN is greater than every number and equal to itself, -0.0
// equals 0.0, strings and binaries compare as unsigned bytes, nulls come first or last.
#ifndef HLY_ROWS_ROW_COMPARE_H
#define HLY_ROWS_ROW_COMPARE_H

#include "rows/row_layout.h"

typedef struct hly_row_order {
  uint32_t field; // of the layout
  bool descending, nulls_first;
} hly_row_order;

// The first 16 bytes of a row's key as two integers whose order is the rows' order as far as they go.
typedef struct hly_row_prefix {
  uint64_t high, low;
} hly_row_prefix;

// How far prefixes go: rows with equal prefixes are equal in the first `n_exact` orders; when that is not all
// of them, hly_row_compare decides from there on.
typedef struct hly_row_orders {
  const hly_row_order *orders;
  uint32_t n;
  uint32_t n_exact;
} hly_row_orders;

// Whether rows can be ordered by the type.
bool hly_row_orderable(const hly_type *type);
void hly_row_orders_init(hly_row_orders *o, const hly_row_layout *layout, const hly_row_order *orders,
                         uint32_t n);
hly_row_prefix hly_row_prefix_of(const hly_row_layout *layout, const hly_row_orders *o, const uint8_t *row);
// By orders from..: negative, 0 or positive.
int hly_row_compare(const hly_row_layout *layout, const hly_row_orders *o, uint32_t from, const uint8_t *a,
                    const uint8_t *b);

#endif
