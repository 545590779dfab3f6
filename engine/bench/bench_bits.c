// Nanoseconds a row of the bitmap routines, at every CPU level of the machine.
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "bench.h"

enum { N = 8192, ROUNDS = 20000 };

static uint8_t *bytes, *back;
static uint64_t *bits, *out;
static uint32_t *sel, *rows;
static volatile size_t sink;

#define TIME(name, expr)                                                                                     \
  do {                                                                                                       \
    int64_t start = cpu_ns();                                                                                \
    for (int round = 0; round < ROUNDS; round++) {                                                           \
      expr;                                                                                                  \
      __asm__ volatile("" ::: "memory");                                                                     \
    }                                                                                                        \
    printf("  %-22s %.3f\n", name, (double)(cpu_ns() - start) / ((double)ROUNDS * N));                       \
  } while (0)

int main(void) {
  static const char *const names[HLY_N_CPU] = {"baseline", "v3", "v4"};
  bytes = hly_malloc(N);
  back = hly_malloc(N);
  bits = hly_malloc(hly_bits_bytes(N));
  out = hly_malloc(hly_bits_bytes(N));
  sel = hly_malloc(N * sizeof *sel);
  rows = hly_malloc(N * sizeof *rows);
  if (!bytes || !back || !bits || !out || !sel || !rows) return 1;
  uint64_t x = 1;
  for (int i = 0; i < N; i++) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    bytes[i] = x >> 60 < 8;
    rows[i] = (uint32_t)(x >> 33) % N;
  }
  for (int level = 0; level <= (int)hly_cpu_best(); level++) {
    hly_cpu_force((hly_cpu)level);
    printf("%s, ns a row\n", names[level]);
    TIME("pack", sink = hly_bits_pack(bytes, N, bits));
    TIME("unpack", hly_bits_unpack(bits, N, back));
    TIME("count", sink = hly_bits_count(bits, N));
    TIME("gather", hly_bits_gather(bits, rows, N, out));
    TIME("select, half", sink = hly_bits_select(bytes, N, sel));
    memset(back, 1, N);
    TIME("select, all", sink = hly_bits_select(back, N, sel));
    memset(back, 0, N);
    TIME("select, none", sink = hly_bits_select(back, N, sel));
  }
  hly_free(bytes);
  hly_free(back);
  hly_free(bits);
  hly_free(out);
  hly_free(sel);
  hly_free(rows);
  return 0;
}
