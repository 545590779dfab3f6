#include "base/cpu.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static hly_cpu best = HLY_CPU_BASELINE;
static hly_cpu level = HLY_CPU_BASELINE;

// Runs at load, before any thread of ours: what follows only reads (hly_cpu_force is for tests).
__attribute__((constructor)) static void detect(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // Feature by feature: not every compiler knows the names of the levels. What is not asked for (movbe,
  // lzcnt, f16c) comes with these on every processor made.
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  best = v4 ? HLY_CPU_V4 : v3 ? HLY_CPU_V3 : HLY_CPU_BASELINE;
#endif
  level = best;
  const char *asked = getenv("HALLEY_CPU");
  if (!asked) return;
  if (strcmp(asked, "baseline") == 0) hly_cpu_force(HLY_CPU_BASELINE);
  if (strcmp(asked, "v3") == 0) hly_cpu_force(HLY_CPU_V3);
  if (strcmp(asked, "v4") == 0) hly_cpu_force(HLY_CPU_V4);
}

hly_cpu hly_cpu_level(void) {
  return level;
}

hly_cpu hly_cpu_best(void) {
  return best;
}

void hly_cpu_force(hly_cpu asked) {
  level = asked < best ? asked : best;
}
