// Tile of float32 sums.
// Sets: avx2 avx512 neon
#include "lib/kernels/simd/vector.h"

#define TILE_FUNCTION DQ_FOR_SET(dq_f32_tile)
#define TILE_ROWS F32_TILE_ROWS
#define V(name) f32_##name
#define T(name) f32_##name
#define TILE_FLOAT 1
#include "lib/kernels/product/tile_body.h"
