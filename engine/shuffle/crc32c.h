// CRC-32C (Castagnoli), as java.util.zip.CRC32C computes it.
#ifndef HLY_SHUFFLE_CRC32C_H
#define HLY_SHUFFLE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

// Continues `crc` (0 at the start) over n bytes.
uint32_t hly_crc32c(uint32_t crc, const void *data, size_t n);

#endif
