// Max pools in float32.
// Sets: avx2 avx512
#include "lib/kernels/simd/vector.h"

#define MAXIMUM_FUNCTION DQ_FOR_SET(dq_maximum_f32)
#define W(name) f32_##name
#define MAXIMUM_ELEMENT float
#define MAXIMUM_LANES V_WORDS
#define MAXIMUM_LEAST (-__builtin_inff())
#define MAXIMUM_REST dq_maximum_f32_c
#include "lib/kernels/array/float_maximum_body.h"
