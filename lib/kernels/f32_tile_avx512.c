// fp32 tile for AVX-512: 14 rows of 32 sums.
#include "lib/kernels/vector_avx512.h"

#define TILE_FUNCTION dq_f32_tile_avx512
#define TILE_ROWS 14
#define V(name) f32_##name
#define TILE_DOT f32_dot
#define TILE_FLOAT 1
#include "lib/kernels/tile_body.h"
