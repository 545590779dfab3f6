// Blocks from anywhere must not hurt; what is compressed comes back.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parquet/snappy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t n;
  if (hly_snappy_length(data, size, &n) && n <= 1 << 20) {
    uint8_t *exact = malloc(n ? n : 1); // the sanitizer sees a byte too many
    (void)hly_snappy_decompress(data, size, exact, n);
    free(exact);
  }
  uint8_t *packed = malloc(hly_snappy_bound(size)), *back = malloc(size ? size : 1);
  size_t n_packed = hly_snappy_compress(data, size, packed);
  if (n_packed > hly_snappy_bound(size)) abort();
  if (!hly_snappy_length(packed, n_packed, &n) || n != size) abort();
  if (!hly_snappy_decompress(packed, n_packed, back, size)) abort();
  if (size && memcmp(back, data, size) != 0) abort();
  free(packed);
  free(back);
  return 0;
}
