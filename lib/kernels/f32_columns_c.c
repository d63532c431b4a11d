// The transposition behind sums by channels for any machine.
#include "lib/kernels/vector_c.h"

#define COLUMNS_FUNCTION dq_f32_columns_c
#include "lib/kernels/f32_columns_body.h"
