// The output of one map task on its way to the data file.
//
// Frames come in *runs*: one pass over the partitions in ascending order. A run is kept in memory while the
// reservation grants it and is moved to the task's one spill file otherwise; a run is one section there, so
// that merging reads each section once from its start to its end. In the end the data file takes, partition
// by partition, the frames of all runs in turn and then what the caller still has.
#ifndef HLY_SHUFFLE_MAP_OUTPUT_H
#define HLY_SHUFFLE_MAP_OUTPUT_H

#include "base/ctx.h"
#include "memory/pool.h"
#include "plan.pb-c.h"

typedef struct hly_map_output hly_map_output;

// `reservation` (borrowed) pays for runs in memory.
HLY_MUST_CHECK hly_status hly_map_output_create(hly_ctx *ctx, uint32_t n_partitions,
                                                hly_reservation *reservation, hly_map_output **out);
// Removes the spill file, and the data file unless it was finished. NULL is fine.
void hly_map_output_destroy(hly_map_output *o);

// Starts a run: in memory (and on disk from where memory is denied), or on disk at once. A run to disk
// reserves nothing, so that it can be written by a spill callback.
HLY_MUST_CHECK hly_status hly_map_output_begin_run(hly_map_output *o, bool to_disk);
// Adds bytes of a partition, not less than the last one of the run; or to the data file once that is begun.
HLY_MUST_CHECK hly_status hly_map_output_append(hly_map_output *o, uint32_t partition, const void *data,
                                                size_t n);
HLY_MUST_CHECK hly_status hly_map_output_end_run(hly_map_output *o);
// Moves all runs from memory to disk. Not within a run. Reserves nothing.
HLY_MUST_CHECK hly_status hly_map_output_spill(hly_map_output *o);

// Starts the data file; `buffer_bytes` 0: one of 1 MiB.
HLY_MUST_CHECK hly_status hly_map_output_begin_file(hly_map_output *o, const char *path, int64_t buffer_bytes,
                                                    Halley__Checksum checksum);
// Copies the runs' frames of `partition` to the file; partitions in ascending order, each once.
HLY_MUST_CHECK hly_status hly_map_output_copy_runs(hly_map_output *o, uint32_t partition);
// Completes the file. *results: lengths, then checksums if they were asked for; *n of them. Borrowed.
HLY_MUST_CHECK hly_status hly_map_output_end_file(hly_map_output *o, const int64_t **results, uint32_t *n);

int64_t hly_map_output_file_bytes(const hly_map_output *o);
int64_t hly_map_output_spilled_bytes(const hly_map_output *o); // ever written to the spill file
int64_t hly_map_output_spills(const hly_map_output *o);        // runs that went there

#endif
