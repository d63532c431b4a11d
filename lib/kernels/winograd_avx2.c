// Transforms of Winograd's filtering for AVX2.
#include "lib/kernels/vector_avx2.h"

#define WINOGRAD(name) name##_avx2
#include "lib/kernels/winograd_body.h"
