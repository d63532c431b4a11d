// Depthwise sums of signed bytes for AArch64 with SDOT.
#include "lib/kernels/vector_neon.h"

#define CORRELATE_FUNCTION dq_s8s8_correlate_dotprod
#define V(name) i32_##name
#define CORRELATE_VALUES i32_load
#define CORRELATE_WEIGHT s8_weight
#define CORRELATE_DOT s8_dot
#define CORRELATE_FLOAT 0
#include "lib/kernels/correlate_body.h"
