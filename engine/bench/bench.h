// What benches share: the thread's own clock, and random numbers that are the same in each run.
#ifndef HLY_BENCH_BENCH_H
#define HLY_BENCH_BENCH_H

#include <stdint.h>
#include <time.h>

// Of this thread, so that a busy machine does not count.
static inline int64_t cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline uint64_t next(void) {
  static uint64_t seed = 1;
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return seed >> 20;
}

#endif
