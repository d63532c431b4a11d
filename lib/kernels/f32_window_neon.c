// Depthwise sums from plane to plane in fp32 for AArch64.
#include "lib/kernels/vector_neon.h"

#define WINDOW_FUNCTION dq_f32_window_neon
#include "lib/kernels/window_body.h"
