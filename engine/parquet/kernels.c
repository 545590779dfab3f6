#include "parquet/kernels.h"

#include "base/cpu.h"

extern const hly_pq_kernels hly_pq_kernels_baseline, hly_pq_kernels_v3, hly_pq_kernels_v4;

const hly_pq_kernels *hly_pq_kernels_get(void) {
  switch (hly_cpu_level()) {
  case HLY_CPU_V4: return &hly_pq_kernels_v4;
  case HLY_CPU_V3: return &hly_pq_kernels_v3;
  default: return &hly_pq_kernels_baseline;
  }
}
