// Tile of signed bytes for AArch64 with SMMLA: 6 rows of 16 sums. The instruction multiplies two rows of
// eight bytes, which are two words of depth, by two such columns, so that a register of sums is a square
// of two rows and two columns:
//
//   weights (row 0: k, k + 1; row 1: k, k + 1)   values (column 0: k, k + 1; column 1: k, k + 1)
//   sums (row 0, column 0; row 0, column 1; row 1, column 0; row 1, column 1)
#include "lib/kernels/simd/vector_neon.h"

#define TILE_FUNCTION dq_s8s8_tile_i8mm
#define TILE_ROWS 6
enum { PAIRS = TILE_ROWS / 2, PARTS = 4 }; // of two rows; of four columns

typedef struct squares {
  int32x4_t left, right; // two rows of a part
} squares;

static inline squares squares_of(int32x4_t upper, int32x4_t lower) {
  return (squares){vcombine_s32(vget_low_s32(upper), vget_low_s32(lower)),
                   vcombine_s32(vget_high_s32(upper), vget_high_s32(lower))};
}
static inline int32x4_t upper_row(squares s) { return vcombine_s32(vget_low_s32(s.left), vget_low_s32(s.right)); }
static inline int32x4_t lower_row(squares s) { return vcombine_s32(vget_high_s32(s.left), vget_high_s32(s.right)); }

static inline i32_vector first_sums(const dq_tile *t, int row, int at) {
  if (t->accumulate) return i32_load_some((const int32_t *)t->c + row * t->c_stride + at, t->columns - at);
  return i32_set(t->start ? t->start[row] : 0);
}
static inline void store_sums(const dq_tile *t, int row, int at, int32x4_t low, int32x4_t high) {
  i32_store_some((int32_t *)t->c + row * t->c_stride + at, (i32_vector){low, high}, t->columns - at);
}

// The words of one or two rows, in the lower half.
static inline int32x4_t weights_at(const int32_t *a, const bool both) {
  return vcombine_s32(both ? vld1_s32(a) : weight_word(a), vdup_n_s32(0));
}

// One or two words of depth.
static inline __attribute__((always_inline)) void add_words(squares sums[PAIRS][PARTS], const dq_tile *t,
                                                            const int32_t *a, const int32_t *b, const int rows,
                                                            const int vectors, const bool two) {
  int8x16_t weights[PAIRS];
#pragma GCC unroll 3
  for (int i = 0; 2 * i < rows; i++) {
    int32x4_t first = weights_at(a + 2 * i, 2 * i + 1 < rows);
    int32x4_t second = two ? weights_at(a + t->a_stride + 2 * i, 2 * i + 1 < rows) : vdupq_n_s32(0);
    weights[i] = vreinterpretq_s8_s32(vzip1q_s32(first, second));
  }
#pragma GCC unroll 4
  for (int j = 0; j < 2 * vectors; j++) {
    int32x4_t first = vld1q_s32(b + 4 * j);
    int32x4_t second = two ? vld1q_s32(b + t->b_stride + 4 * j) : vdupq_n_s32(0);
    int8x16_t left = vreinterpretq_s8_s32(vzip1q_s32(first, second));
    int8x16_t right = vreinterpretq_s8_s32(vzip2q_s32(first, second));
#pragma GCC unroll 3
    for (int i = 0; 2 * i < rows; i++) {
      sums[i][j].left = vmmlaq_s32(sums[i][j].left, weights[i], left);
      sums[i][j].right = vmmlaq_s32(sums[i][j].right, weights[i], right);
    }
  }
}

static inline __attribute__((always_inline)) void tile(const dq_tile *t, const int rows, const int vectors) {
  squares sums[PAIRS][PARTS];
#pragma GCC unroll 3
  for (int i = 0; 2 * i < rows; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
      i32_vector upper = first_sums(t, 2 * i, v * V_WORDS);
      i32_vector lower = 2 * i + 1 < rows ? first_sums(t, 2 * i + 1, v * V_WORDS) : upper;
      sums[i][2 * v] = squares_of(upper.low, lower.low);
      sums[i][2 * v + 1] = squares_of(upper.high, lower.high);
    }
  const int32_t *a = t->a, *b = t->b;
  int64_t k = t->depth;
  for (; k > 1; k -= 2, a += 2 * t->a_stride, b += 2 * t->b_stride) add_words(sums, t, a, b, rows, vectors, true);
  if (k) add_words(sums, t, a, b, rows, vectors, false);
#pragma GCC unroll 3
  for (int i = 0; 2 * i < rows; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
      squares low = sums[i][2 * v], high = sums[i][2 * v + 1];
      store_sums(t, 2 * i, v * V_WORDS, upper_row(low), upper_row(high));
      if (2 * i + 1 < rows) store_sums(t, 2 * i + 1, v * V_WORDS, lower_row(low), lower_row(high));
    }
}

#include "lib/kernels/product/tile_rows_body.h"
