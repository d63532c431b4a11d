// Depthwise sums from plane to plane in float32.
// Sets: avx2 avx512 neon
#include "lib/kernels/simd/vector.h"

static inline __attribute__((always_inline)) f32_vector f32_ended(const dq_plane_window *w, f32_vector x) {
  return w->leaky ? f32_leaky(x, f32_set(w->alpha)) : f32_bounded(x, f32_set(w->low), f32_set(w->high));
}

#define WINDOW_FUNCTION DQ_FOR_SET(dq_f32_window)
#define W(name) f32_##name
#define WINDOW_ELEMENT float
#define WINDOW_LANES V_WORDS
#ifdef F32_WINDOW3
#define WINDOW_WIDE_3 F32_WINDOW3
#endif
#define WINDOW_ROWS F32_WINDOW_ROWS
#include "lib/kernels/product/window_body.h"
