// Depthwise sums of int16 pairs for AArch64.
#include "lib/kernels/vector_neon.h"

#define CORRELATE_FUNCTION dq_i16_correlate_neon
#define V(name) i32_##name
#define CORRELATE_VALUES i16_values
#define CORRELATE_WEIGHT i16_weight
#define CORRELATE_DOT i16_dot
#define CORRELATE_FLOAT 0
#include "lib/kernels/correlate_body.h"
