// Temporary files: created through host->temp_file, counted against ctx->max_temp_bytes, deleted when closed.
// Written and read in sections of opaque bytes, through one buffer of fixed size; blocks are compressed with
// LZ4 and checked. What keeps them from being written is HLY_E_TEMP_LIMIT or HLY_E_SPILL_WRITE.
#ifndef HLY_MEMORY_SPILL_FILE_H
#define HLY_MEMORY_SPILL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"

typedef struct hly_spill_file hly_spill_file;
typedef struct hly_spill_reader hly_spill_reader;

// Creates the file. Its buffer is allocated here, so that writing later needs no memory.
HLY_MUST_CHECK hly_status hly_spill_create(hly_ctx *ctx, hly_spill_file **out);
HLY_MUST_CHECK hly_status hly_spill_write(hly_spill_file *f, const void *data, size_t n_bytes);
// Ends a section: returns where the next one starts (flushes the block). Offset 0 is the first section.
HLY_MUST_CHECK hly_status hly_spill_end_section(hly_spill_file *f, uint64_t *next_offset);
uint64_t hly_spill_bytes(const hly_spill_file *f); // on disk
// Opens the section at `offset` for reading; several readers at once are fine. Fails with HLY_E_SPILL_IO on
// damage.
HLY_MUST_CHECK hly_status hly_spill_open(hly_spill_file *f, uint64_t offset, hly_spill_reader **out);
// Reads exactly n bytes; the section must have them.
HLY_MUST_CHECK hly_status hly_spill_read(hly_spill_reader *r, void *out, size_t n_bytes);
void hly_spill_reader_close(hly_spill_reader *r); // NULL is fine
void hly_spill_close(hly_spill_file *f);          // deletes the file; NULL is fine

#endif
