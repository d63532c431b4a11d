// The transforms of Winograd's minimal filtering, written once for every instruction set on top of
// vector_<set>.h: F(2x2, 3x3) and F(4x4, 3x3) with the matrices of Lavin and Gray, "Fast Algorithms
// for Convolutional Neural Networks", CVPR 2016, section 4. Operations and their order
// are the same everywhere, so results are the same bits.
// Sets: avx2 avx512 neon
#include "lib/kernels/simd/vector.h"

#define INLINE static inline __attribute__((always_inline))
#define WINOGRAD_INPUT DQ_FOR_SET(dq_winograd_input)
#define WINOGRAD_OUTPUT DQ_FOR_SET(dq_winograd_output)
enum { MOST = 6 }; // values along one side of a tile: m + 2

// y = B^T x
INLINE void transform_input(const f32_vector *x, f32_vector *y, const int m) {
  if (m == 2) {
    y[0] = f32_minus(x[0], x[2]);
    y[1] = f32_plus(x[1], x[2]);
    y[2] = f32_minus(x[2], x[1]);
    y[3] = f32_minus(x[1], x[3]);
    return;
  }
  const f32_vector four = f32_set(4), five = f32_set(-5), minus = f32_set(-4);
  f32_vector a = f32_dot(x[4], x[2], minus), b = f32_dot(x[3], x[1], minus);
  f32_vector c = f32_minus(x[4], x[2]), d = f32_minus(x[3], x[1]);
  y[0] = f32_dot(f32_dot(x[4], x[2], five), x[0], four);
  y[1] = f32_plus(a, b);
  y[2] = f32_minus(a, b);
  y[3] = f32_dot(c, d, f32_set(2));
  y[4] = f32_dot(c, d, f32_set(-2));
  y[5] = f32_dot(f32_dot(x[5], x[3], five), x[1], four);
}

// y = A^T x
INLINE void transform_output(const f32_vector *x, f32_vector *y, const int m) {
  f32_vector sum = f32_plus(x[1], x[2]), difference = f32_minus(x[1], x[2]);
  if (m == 2) {
    y[0] = f32_plus(x[0], sum);
    y[1] = f32_minus(difference, x[3]);
    return;
  }
  f32_vector sum_2 = f32_plus(x[3], x[4]), difference_2 = f32_minus(x[3], x[4]);
  y[0] = f32_plus(f32_plus(x[0], sum), sum_2);
  y[1] = f32_dot(difference, difference_2, f32_set(2));
  y[2] = f32_dot(sum, sum_2, f32_set(4));
  y[3] = f32_plus(f32_dot(difference, difference_2, f32_set(8)), x[5]);
}

INLINE f32_vector finish(const dq_winograd_output *w, f32_vector x, const int m, const int i, const int k) {
  (void)m, (void)i, (void)k;
  if (w->has_bias) x = f32_plus(x, f32_set(w->bias));
  return w->leaky ? f32_leaky(x, f32_set(w->alpha)) : f32_bounded(x, f32_set(w->low), f32_set(w->high));
}

#include "lib/kernels/product/winograd_loops_body.h"
