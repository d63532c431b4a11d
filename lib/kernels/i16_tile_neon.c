// int16 pair tile for AArch64: 6 rows of 16 sums.
#include "lib/kernels/vector_neon.h"

#define TILE_FUNCTION dq_i16_tile_neon
#define TILE_ROWS 6
#define V(name) i32_##name
#define TILE_VALUES i16_values
#define TILE_WEIGHT i16_weight
#define TILE_DOT i16_dot
#define TILE_FLOAT 0
#include "lib/kernels/tile_body.h"
