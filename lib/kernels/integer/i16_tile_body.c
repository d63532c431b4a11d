// Tile of sums of pairs of int16.
// Sets: avx2 avx512 vnni neon
#include "lib/kernels/simd/vector.h"

#define TILE_FUNCTION DQ_FOR_SET(dq_i16_tile)
#define TILE_ROWS I16_TILE_ROWS
#define V(name) i32_##name
#define T(name) i16_##name
#define TILE_FLOAT 0
#include "lib/kernels/product/tile_body.h"
