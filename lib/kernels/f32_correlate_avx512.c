// Depthwise sums in fp32 for AVX-512.
#include "lib/kernels/vector_avx512.h"

#define CORRELATE_FUNCTION dq_f32_correlate_avx512
#define V(name) f32_##name
#define CORRELATE_DOT f32_dot
#define CORRELATE_FLOAT 1
#include "lib/kernels/correlate_body.h"
