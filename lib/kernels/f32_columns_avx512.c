// The transposition behind sums by channels for AVX-512.
#include "lib/kernels/vector_avx512.h"

#define COLUMNS_FUNCTION dq_f32_columns_avx512
#include "lib/kernels/f32_columns_body.h"
