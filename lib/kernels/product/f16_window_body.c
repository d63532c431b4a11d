// Depthwise sums from plane to plane in float16.
// Sets: avx512fp16 fp16
#include "lib/kernels/simd/vector.h"

static inline __attribute__((always_inline)) f16_vector f16_ended(const dq_plane_window *w, f16_vector x) {
  return w->leaky ? f16_leaky(x, w->alpha) : f16_bounded(x, w->low, w->high);
}

#define WINDOW_FUNCTION DQ_FOR_SET(dq_f16_window)
#define W(name) f16_##name
#define WINDOW_ELEMENT uint16_t
#define WINDOW_LANES V_HALVES
#define WINDOW_ROWS 4
#include "lib/kernels/product/window_body.h"
