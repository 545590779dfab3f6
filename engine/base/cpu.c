#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

static hly_cpu best = HLY_CPU_BASELINE;
static hly_cpu level = HLY_CPU_BASELINE;

// Runs at load, before any thread of ours: what follows only reads (hly_cpu_force is for tests).
__attribute__((constructor)) static void detect(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    best = HLY_CPU_V4;
  else if (__builtin_cpu_supports("x86-64-v3"))
    best = HLY_CPU_V3;
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
