// Tile of bytes whose products are added by pairs in 16 bits, which clips unless the weights are safe for pairs
// (dq_conv_pairs_safe): only then it is used, and exact.
// Sets: avx2 avx512
#include "lib/kernels/simd/vector.h"

#define TILE_FUNCTION DQ_FOR_SET(dq_u8s8_pair_tile)
#define TILE_ROWS PAIR_TILE_ROWS
#define V(name) i32_##name
#define T(name) pair_##name
#define TILE_FLOAT 0
#include "lib/kernels/product/tile_body.h"
