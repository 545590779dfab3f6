// ParquetScan: the operator over engine/parquet. A Filter directly above hands its predicate down, so that
// columns the predicate does not read are decoded for surviving rows only.
#ifndef HLY_OPERATORS_PARQUET_SCAN_H
#define HLY_OPERATORS_PARQUET_SCAN_H

#include "expr/expr.h"
#include "operators/operator.h"
#include "operators/runtime_filter.h"

HLY_MUST_CHECK hly_status hly_parquet_scan_bind(hly_binder *b, const Halley__Plan *plan, hly_op **out);
// Whether `op` is a scan that decodes by a filter (it has none yet, and its message asks for it).
bool hly_parquet_scan_takes_filter(const hly_op *op);
// Called before open. From then on the scan returns only rows where `filter` (over the scan's output) is
// true, opens and closes the program itself and keeps the rule of expr.h about errors. Its batches are dense
// then. OUTPUT_ROWS of the scan stays the rows before the filter.
void hly_parquet_scan_set_filter(hly_op *scan, hly_exprs *filter);

// Whether `op` is a scan to which run-time filters may be given.
bool hly_parquet_scan_takes_runtime_filter(const hly_op *op);
// Called before open, any number of times. From then on the scan leaves out row groups, and rows, whose keys
// the filter does not have; rows after its own filter saw them. `above_work`: another join lies between, so
// rows are worth dropping whether or not that saves decoding. `past_errors`: row groups also when its own
// filter would have raised an error there. False: row groups only.
bool hly_parquet_scan_add_runtime_filter(hly_op *scan, hly_runtime_filter *filter, bool above_work,
                                         bool past_errors);

#endif
