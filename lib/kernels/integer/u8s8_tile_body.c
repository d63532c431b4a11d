// Tile of sums of unsigned by signed bytes.
// Sets: vnni
#include "lib/kernels/simd/vector.h"

#define TILE_FUNCTION DQ_FOR_SET(dq_u8s8_tile)
#define TILE_ROWS U8S8_TILE_ROWS
#define V(name) i32_##name
#define T(name) u8s8_##name
#define TILE_FLOAT 0
#include "lib/kernels/product/tile_body.h"
