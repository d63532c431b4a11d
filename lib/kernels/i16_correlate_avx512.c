// Depthwise sums of int16 pairs for AVX-512.
#include "lib/kernels/vector_avx512.h"

#define CORRELATE_FUNCTION dq_i16_correlate_avx512
#define V(name) i32_##name
#define CORRELATE_DOT i16_dot
#define CORRELATE_FLOAT 0
#include "lib/kernels/correlate_body.h"
