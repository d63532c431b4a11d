// Max pools in float for AVX-512.
#include "lib/kernels/vector_avx512.h"

#define MAXIMUM_FUNCTION dq_maximum_f32_avx512
#include "lib/kernels/float_maximum_body.h"
