// Depthwise sums from plane to plane in fp32 for AVX2.
#include "lib/kernels/vector_avx2.h"

#define WINDOW_FUNCTION dq_f32_window_avx2
#include "lib/kernels/window_body.h"
