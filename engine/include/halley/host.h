// What the engine asks of the process it runs in, and the structs that cross to the JVM.
//
// The JNI layer fills a table of these functions with upcalls; tests and the command line supply their own.
// All functions are called on the thread that called into the engine. A function that fails returns
// HLY_ERR after `hly_error_set*` on `error` (JNI: the pending throwable, kept as `jvm_ref`).
#ifndef HALLEY_HOST_H
#define HALLEY_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "halley/status.h"

// A block of a JVM input. Rows: UnsafeRows, row i at `data + offsets[i]`, `offsets[i + 1] - offsets[i]`
// bytes, each 8-byte aligned, `n_rows + 1` offsets. Shuffle: one frame of engine/shuffle at `data`, no
// offsets.
typedef struct hly_input_block {
  uint64_t data;
  uint64_t n_bytes;
  uint64_t offsets; // const uint64_t *
  uint64_t n_rows;
} hly_input_block;

// Evaluation of Spark's own expressions over rows. The host builds one projection per `site` and keeps it.
// Input rows hold the columns that the expressions refer to, ascending by ordinal, each once.
typedef struct hly_dispatch_call {
  // in
  uint64_t exprs; // const int32_t *, indices into the operator's table of expressions (Expr.dispatch - 1)
  uint64_t n_exprs;
  uint64_t rows;    // UnsafeRows, 8-byte aligned
  uint64_t offsets; // const uint64_t *, n_rows + 1
  uint64_t n_rows;
  int64_t partition; // input partition, for nondeterministic expressions' initialisation (once per site and
                     // branch)
  // out
  uint64_t
      n_done; // rows evaluated; fewer than n_rows without `error`: output is full, call again with the rest
  uint64_t
      out_rows; // UnsafeRows of the results, owned by the host, valid until the next call for the same site
  uint64_t out_offsets; // const uint64_t *, n_done + 1
  int64_t error;        // reference of the throwable that row `n_done` raised, 0: none
} hly_dispatch_call;

struct hly_broadcast; // of operators/broadcast_table.h

typedef struct hly_host {
  void *arg;
  // Whether the task was asked to stop.
  bool (*cancelled)(void *arg);
  // Execution memory of the task; grants may be partial.
  int64_t (*mem_acquire)(void *arg, int64_t n_bytes);
  void (*mem_release)(void *arg, int64_t n_bytes);
  // Next block of a JVM input; `*more` false at the end.
  hly_status (*input_next)(void *arg, int32_t handle, hly_input_block *block, bool *more, hly_error *error);
  // The value behind a JVM input that is a broadcast of ours, borrowed for as long as the plan is open; NULL:
  // the input is something else. NULL function: there are none.
  hly_status (*broadcast)(void *arg, int32_t handle, struct hly_broadcast **value, hly_error *error);
  hly_status (*dispatch)(void *arg, int32_t plan_id, int32_t site, hly_dispatch_call *call, hly_error *error);
  // Writes a NUL-terminated path of at most `size` bytes.
  hly_status (*temp_file)(void *arg, char *path, uint32_t size, hly_error *error);
  // *file 0: there is no such file.
  hly_status (*file_open)(void *arg, const char *uri, int64_t *file, hly_error *error);
  hly_status (*file_read)(void *arg, int64_t file, int64_t position, void *out, int32_t n, hly_error *error);
  void (*file_close)(void *arg, int64_t file);
  // The scan begins a file (path "" : none).
  void (*input_file)(void *arg, const char *path, int64_t start, int64_t length);
} hly_host;

// ---- Export to the JVM -------------------------------------------------------------------------------

// A column of a batch, dense (no selection, no dictionary, no constant). `values` by physical type:
// fixed-width C values; strings and binaries 16-byte views (engine/vector/str.h); arrays and maps pairs of
// int32 (offset, length) into the children; structs none. Validity: one bit a row, bit set = not null; 0: no
// nulls.
typedef struct hly_export_column {
  int32_t kind; // hly_kind
  int32_t n_children;
  uint64_t validity;
  uint64_t values;
  uint64_t children; // hly_export_column *
  uint64_t n_rows;
} hly_export_column;

typedef struct hly_export_batch {
  uint64_t n_rows;
  uint64_t n_columns;
  uint64_t columns; // hly_export_column *
} hly_export_batch;

// UnsafeRows, row i at `data + offsets[i]`.
typedef struct hly_export_rows {
  uint64_t n_rows;
  uint64_t data;
  uint64_t offsets; // const uint64_t *, n_rows + 1
} hly_export_rows;

#endif
