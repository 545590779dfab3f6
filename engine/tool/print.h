// Values of an exported batch as text, one line a row.
#ifndef HLY_TOOL_PRINT_H
#define HLY_TOOL_PRINT_H

#include <stdio.h>

#include "halley/host.h"
#include "plan.pb-c.h"

// Writes the batch's rows to `out`: columns parted by tabs, nulls as NULL, strings with control characters
// escaped. `fields` are the root operator's output. Dates, times and intervals are printed as the numbers
// they are stored as.
void tool_print_batch(FILE *out, const hly_export_batch *batch, Halley__Field *const *fields,
                      size_t n_fields);

#endif
