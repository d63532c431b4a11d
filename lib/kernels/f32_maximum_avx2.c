// Max pools in float for AVX2.
#include "lib/kernels/vector_avx2.h"

#define MAXIMUM_FUNCTION dq_maximum_f32_avx2
#include "lib/kernels/float_maximum_body.h"
