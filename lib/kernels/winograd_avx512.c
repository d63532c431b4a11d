// Transforms of Winograd's filtering for AVX-512.
#include "lib/kernels/vector_avx512.h"

#define WINOGRAD(name) name##_avx512
#include "lib/kernels/winograd_body.h"
