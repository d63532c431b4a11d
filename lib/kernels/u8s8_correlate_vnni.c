// Depthwise sums of bytes for AVX-512 VNNI.
#include "lib/kernels/vector_avx512.h"

#define CORRELATE_FUNCTION dq_u8s8_correlate_vnni
#define V(name) i32_##name
#define CORRELATE_DOT u8s8_dot
#define CORRELATE_FLOAT 0
#include "lib/kernels/correlate_body.h"
