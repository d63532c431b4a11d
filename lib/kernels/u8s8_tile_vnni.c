// Byte tile for AVX-512 VNNI: 14 rows of 32 sums.
#include "lib/kernels/vector_avx512.h"

#define TILE_FUNCTION dq_u8s8_tile_vnni
#define TILE_ROWS 14
#define V(name) i32_##name
#define TILE_DOT u8s8_dot
#define TILE_FLOAT 0
#include "lib/kernels/tile_body.h"
