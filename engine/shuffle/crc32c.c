#include "shuffle/crc32c.h"

#include <pthread.h>
#include <string.h>

// Eight bytes a step, with a table for each position ("slicing by eight", Kounavis and Berry).
static uint32_t tables[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
    tables[0][i] = c;
  }
  for (int t = 1; t < 8; t++) {
    for (int i = 0; i < 256; i++) {
      tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 0xff];
    }
  }
}

uint32_t hly_crc32c(uint32_t crc, const void *data, size_t n) {
  pthread_once(&once, fill);
  const uint8_t *p = data;
  uint32_t c = ~crc;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    word ^= c;
    c = tables[7][word & 0xff] ^ tables[6][word >> 8 & 0xff] ^ tables[5][word >> 16 & 0xff] ^
        tables[4][word >> 24 & 0xff] ^ tables[3][word >> 32 & 0xff] ^ tables[2][word >> 40 & 0xff] ^
        tables[1][word >> 48 & 0xff] ^ tables[0][word >> 56];
  }
  for (; n; n--, p++) c = c >> 8 ^ tables[0][(c ^ *p) & 0xff];
  return ~c;
}
