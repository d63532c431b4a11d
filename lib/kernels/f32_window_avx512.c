// Depthwise sums from plane to plane in fp32 for AVX-512.
#include "lib/kernels/vector_avx512.h"

#define WINDOW_FUNCTION dq_f32_window_avx512
#include "lib/kernels/window_body.h"
