// Depthwise sums of unsigned by signed bytes.
// Sets: vnni
#include "lib/kernels/simd/vector.h"

#define CORRELATE_FUNCTION DQ_FOR_SET(dq_u8s8_correlate)
#define V(name) i32_##name
#define T(name) u8s8_##name
#define CORRELATE_FLOAT 0
#include "lib/kernels/product/correlate_body.h"
