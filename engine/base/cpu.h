// CPU levels. Kernel files are compiled once per level into a table of function pointers; `hly_cpu_level()`
// picks the table at load. HALLEY_CPU=baseline|v3|v4 forces a level (tests compare all of them bit for bit).
#ifndef HLY_BASE_CPU_H
#define HLY_BASE_CPU_H

typedef enum hly_cpu { HLY_CPU_BASELINE = 0, HLY_CPU_V3 = 1, HLY_CPU_V4 = 2, HLY_N_CPU } hly_cpu;

hly_cpu hly_cpu_level(void);       // in use
hly_cpu hly_cpu_best(void);        // what the machine has
void hly_cpu_force(hly_cpu level); // tests; at most hly_cpu_best()

// In a file compiled per level (CMake defines HLY_CPU_SUFFIX): HLY_CPU_NAME(f) is f_baseline, f_v3, f_v4.
#define HLY_CPU_PASTE_(a, b) a##_##b
#define HLY_CPU_PASTE(a, b) HLY_CPU_PASTE_(a, b)
#ifdef HLY_CPU_SUFFIX
#define HLY_CPU_NAME(name) HLY_CPU_PASTE(name, HLY_CPU_SUFFIX)
#endif

#endif
