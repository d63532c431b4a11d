// Max pools in float16.
// Sets: avx512fp16
#include "lib/kernels/simd/vector.h"

#define MAXIMUM_FUNCTION DQ_FOR_SET(dq_maximum_f16)
#define W(name) f16_##name
#define MAXIMUM_ELEMENT uint16_t
#define MAXIMUM_LANES V_HALVES
#define MAXIMUM_LEAST 0xfc00
#define MAXIMUM_REST dq_maximum_f16_c
#include "lib/kernels/array/float_maximum_body.h"
