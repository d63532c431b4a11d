// The transposition behind sums by channels for AVX2.
#include "lib/kernels/vector_avx2.h"

#define COLUMNS_FUNCTION dq_f32_columns_avx2
#include "lib/kernels/f32_columns_body.h"
