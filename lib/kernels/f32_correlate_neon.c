// Depthwise sums in fp32 for AArch64.
#include "lib/kernels/vector_neon.h"

#define CORRELATE_FUNCTION dq_f32_correlate_neon
#define V(name) f32_##name
#define CORRELATE_DOT f32_dot
#define CORRELATE_FLOAT 1
#include "lib/kernels/correlate_body.h"
