// Tile of signed bytes for AArch64 with SDOT: 6 rows of 16 sums.
#include "lib/kernels/vector_neon.h"

#define TILE_FUNCTION dq_s8s8_tile_dotprod
#define TILE_ROWS 6
#define V(name) i32_##name
#define TILE_VALUES i32_load
#define TILE_WEIGHT s8_weight
#define TILE_DOT s8_dot
#define TILE_FLOAT 0
#include "lib/kernels/tile_body.h"
