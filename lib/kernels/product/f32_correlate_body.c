// Depthwise sums in float32.
// Sets: avx2 avx512 neon
#include "lib/kernels/simd/vector.h"

#define CORRELATE_FUNCTION DQ_FOR_SET(dq_f32_correlate)
#define V(name) f32_##name
#define T(name) f32_##name
#define CORRELATE_FLOAT 1
#include "lib/kernels/product/correlate_body.h"
