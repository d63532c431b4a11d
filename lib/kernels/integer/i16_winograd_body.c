// The transforms of Winograd's minimal filtering in integers (conv_winograd_int8.c), written once for every
// instruction set on top of vector_<set>.h: values are words of two int16 of neighbouring channels, which never
// leave int16, nor do weights; sums are int32 modulo 2^32. All of it is exact.
// Sets: avx2 avx512 neon
#include "lib/kernels/simd/vector.h"

#define INLINE static inline __attribute__((always_inline))
#define WINOGRAD_INPUT DQ_FOR_SET(dq_i16_winograd_input)
#define WINOGRAD_OUTPUT DQ_FOR_SET(dq_i32_winograd_output)
#define WINOGRAD_WEIGHTS DQ_FOR_SET(dq_i16_winograd_weights)
enum { MOST = 6 }; // values along one side of a tile: m + 2

// Vectors whose operators wrap, and the same bits as an f32_vector, which may be a struct.
typedef uint16_t u16_lanes __attribute__((vector_size(4 * V_WORDS)));
typedef uint32_t u32_lanes __attribute__((vector_size(4 * V_WORDS)));
typedef int32_t s32_lanes __attribute__((vector_size(4 * V_WORDS)));
#define RECAST(type, name, from)                                                                                       \
  INLINE type name(from x) {                                                                                           \
    type y;                                                                                                            \
    __builtin_memcpy(&y, &x, sizeof y);                                                                                \
    return y;                                                                                                          \
  }
RECAST(u16_lanes, u16_of, f32_vector)
RECAST(u32_lanes, u32_of, f32_vector)
RECAST(f32_vector, of_u16, u16_lanes)
RECAST(f32_vector, of_u32, u32_lanes)

// y = B^T x
INLINE void transform_input(const f32_vector *words, f32_vector *y, const int m) {
  u16_lanes x[MOST];
  for (int i = 0; i < m + 2; i++) x[i] = u16_of(words[i]);
  if (m == 2) {
    y[0] = of_u16(x[0] - x[2]);
    y[1] = of_u16(x[1] + x[2]);
    y[2] = of_u16(x[2] - x[1]);
    y[3] = of_u16(x[1] - x[3]);
    return;
  }
  u16_lanes a = x[4] - (x[2] << 2), b = x[3] - (x[1] << 2), c = x[4] - x[2], d = x[3] - x[1];
  y[0] = of_u16(((x[0] - x[2]) << 2) + c);
  y[1] = of_u16(a + b);
  y[2] = of_u16(a - b);
  y[3] = of_u16(c + (d << 1));
  y[4] = of_u16(c - (d << 1));
  y[5] = of_u16((x[5] - x[3]) - (d << 2));
}

// y = A^T x, times 2 with m = 2; times 24, 12, 6 and 6 with m = 4. So are the weights scaled.
INLINE void transform_output(const f32_vector *words, f32_vector *y, const int m) {
  u32_lanes x[MOST];
  for (int i = 0; i < m + 2; i++) x[i] = u32_of(words[i]);
  u32_lanes sum = x[1] + x[2], difference = x[1] - x[2];
  if (m == 2) {
    y[0] = of_u32(x[0] + sum);
    y[1] = of_u32(difference - x[3]);
    return;
  }
  u32_lanes sum_2 = x[3] + x[4], difference_2 = x[3] - x[4];
  y[0] = of_u32((x[0] << 1) + (sum << 2) + sum_2);
  y[1] = of_u32((difference << 1) + difference_2);
  y[2] = of_u32(sum + sum_2);
  y[3] = of_u32(difference + ((difference_2 + x[5]) << 1));
}

// The scale of output (i, k) is taken back: the odd part of 24 * 24, 9, by its inverse modulo 2^32, the rest by a
// shift.
INLINE f32_vector finish(const dq_winograd_output *w, f32_vector x, const int m, const int i, const int k) {
  static const int shifts[] = {3, 2, 1, 1};
  (void)w;
  if (m == 2) return of_u32((u32_lanes)((s32_lanes)u32_of(x) >> 2));
  return of_u32((u32_lanes)((s32_lanes)(u32_of(x) * DQ_INVERSE_OF_9) >> (shifts[i] + shifts[k])));
}

#include "lib/kernels/product/winograd_loops_body.h"

// ---- Weights: lanes are kernels side by side ----
enum { LANES = 2 * V_WORDS };

// y = G x, scaled as forms.h says
INLINE void transform_kernel(const u16_lanes *x, u16_lanes *y, const int m) {
  u16_lanes sum = x[0] + x[2], far = x[0] + (x[2] << 2), twice = x[1] << 1;
  if (m == 2) {
    y[0] = x[0] << 1;
    y[1] = sum + x[1];
    y[2] = sum - x[1];
    y[3] = x[2] << 1;
    return;
  }
  y[0] = x[0] + (x[0] << 1);
  y[1] = -(sum + x[1]);
  y[2] = x[1] - sum;
  y[3] = far + twice;
  y[4] = far - twice;
  y[5] = x[2] + (x[2] << 1);
}

INLINE u16_lanes load_weights(const dq_winograd_weights *w, int64_t at, const bool int16) {
  u16_lanes x;
  i32_vector wide = int16 ? i32_load((const int16_t *)w->from + at) : i16_of_int8((const int8_t *)w->from + at);
  __builtin_memcpy(&x, &wide, sizeof x);
  return x;
}

INLINE void weights(const dq_winograd_weights *w, const int m, const bool int16) {
  const int side = m + 2;
  for (int64_t i = 0; i < w->count; i += LANES) {
    u16_lanes half[MOST][3];
    for (int j = 0; j < 3; j++) {
      u16_lanes x[3], y[MOST];
      for (int k = 0; k < 3; k++) x[k] = load_weights(w, (3 * k + j) * w->count + i, int16);
      transform_kernel(x, y, m);
      for (int k = 0; k < side; k++) half[k][j] = y[k];
    }
    for (int k = 0; k < side; k++) {
      u16_lanes y[MOST];
      transform_kernel(half[k], y, m);
      for (int j = 0; j < side; j++) __builtin_memcpy(w->to + (k * side + j) * w->place_stride + i, &y[j], sizeof y[j]);
    }
  }
}

void WINOGRAD_WEIGHTS(const dq_winograd_weights *w) {
  if (w->size == 2 && w->int16) weights(w, 2, true);
  else if (w->size == 2) weights(w, 2, false);
  else if (w->int16) weights(w, 4, true);
  else weights(w, 4, false);
}
