// Depthwise sums in fp32 for AVX2.
#include "lib/kernels/vector_avx2.h"

#define CORRELATE_FUNCTION dq_f32_correlate_avx2
#define V(name) f32_##name
#define CORRELATE_DOT f32_dot
#define CORRELATE_FLOAT 1
#include "lib/kernels/correlate_body.h"
