// int16 pair tile for AVX-512: 12 rows of 32 sums.
#include "lib/kernels/vector_avx512.h"

#define TILE_FUNCTION dq_i16_tile_avx512
#define TILE_ROWS 12
#define V(name) i32_##name
#define TILE_DOT i16_dot
#define TILE_FLOAT 0
#include "lib/kernels/tile_body.h"
