// Telling about a file: what `halley parquet FILE` prints.
#ifndef HLY_PARQUET_DESCRIBE_H
#define HLY_PARQUET_DESCRIBE_H

#include <stdio.h>

#include "base/ctx.h"

// Prints schema, row groups, chunks (codec, encodings, sizes, statistics) and pages of the local file `path`.
HLY_MUST_CHECK hly_status hly_parquet_describe(hly_ctx *ctx, const char *path, FILE *out);

#endif
