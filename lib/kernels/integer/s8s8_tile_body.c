// Tile of sums of signed bytes.
// Sets: dotprod
#include "lib/kernels/simd/vector.h"

#define TILE_FUNCTION DQ_FOR_SET(dq_s8s8_tile)
#define TILE_ROWS S8S8_TILE_ROWS
#define V(name) i32_##name
#define T(name) s8s8_##name
#define TILE_FLOAT 0
#include "lib/kernels/product/tile_body.h"
