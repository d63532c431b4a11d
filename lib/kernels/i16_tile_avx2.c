// int16 pair tile for AVX2: 6 rows of 16 sums.
#include "lib/kernels/vector_avx2.h"

#define TILE_FUNCTION dq_i16_tile_avx2
#define TILE_ROWS 6
#define V(name) i32_##name
#define TILE_DOT i16_dot
#define TILE_FLOAT 0
#include "lib/kernels/tile_body.h"
