// Linked with --wrap: AMX is there wherever the vectors that its kernels use beside tiles are.
#include "lib/base/cpu.h"

unsigned __real_dq_cpu_detect(void);
unsigned __wrap_dq_cpu_detect(void);
unsigned __wrap_dq_cpu_detect(void) {
  unsigned found = __real_dq_cpu_detect();
  return found & DQ_CPU_VNNI && __builtin_cpu_supports("avx512vbmi2") ? found | DQ_CPU_AMX : found;
}
