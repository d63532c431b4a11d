// fp32 tile for AArch64: 6 rows of 16 sums.
#include "lib/kernels/vector_neon.h"

#define TILE_FUNCTION dq_f32_tile_neon
#define TILE_ROWS 6
#define V(name) f32_##name
#define TILE_DOT f32_dot
#define TILE_FLOAT 1
#include "lib/kernels/tile_body.h"
