// Depthwise sums of int16 pairs for AVX2.
#include "lib/kernels/vector_avx2.h"

#define CORRELATE_FUNCTION dq_i16_correlate_avx2
#define V(name) i32_##name
#define CORRELATE_DOT i16_dot
#define CORRELATE_FLOAT 0
#include "lib/kernels/correlate_body.h"
