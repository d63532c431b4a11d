// Depthwise sums of pairs of int16.
// Sets: avx2 avx512 neon
#include "lib/kernels/simd/vector.h"

#define CORRELATE_FUNCTION DQ_FOR_SET(dq_i16_correlate)
#define V(name) i32_##name
#define T(name) i16_##name
#define CORRELATE_FLOAT 0
#include "lib/kernels/product/correlate_body.h"
