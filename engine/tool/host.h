// A host without a JVM, for the command line: temporary files in $TMPDIR, a fixed limit of memory, no inputs
// and no dispatcher.
#ifndef HLY_TOOL_HOST_H
#define HLY_TOOL_HOST_H

#include "halley/host.h"

typedef struct tool_host {
  hly_host host;
  int64_t limit; // bytes of operator state; < 0: none
  int64_t granted;
  uint32_t n_temp_files;
} tool_host;

void tool_host_init(tool_host *h, int64_t memory_limit);

#endif
