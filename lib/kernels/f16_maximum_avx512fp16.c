// Max pools in float16 for AVX512-FP16.
#include "lib/kernels/vector_avx512fp16.h"

#define MAXIMUM_FUNCTION dq_maximum_f16_avx512fp16
#define W(name) f16_##name
#define MAXIMUM_ELEMENT uint16_t
#define MAXIMUM_LANES V_HALVES
#define MAXIMUM_LEAST 0xfc00
#define MAXIMUM_REST dq_maximum_f16_c
#include "lib/kernels/float_maximum_body.h"
