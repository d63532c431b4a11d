// Depthwise sums from plane to plane in plain C: what f32_window and f16_window mean.
#include <math.h>

#include "lib/base/half.h"
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"

// Where in its plane the input under tap (ky, kx) of output (y, x) is; -1 in the padding.
static int64_t under_tap(const dq_plane_window *w, int64_t y, int64_t x, int ky, int kx) {
  int64_t row = y * w->stride - w->pad_top + ky * w->dilation;
  int64_t column = x * w->stride - w->pad_left + kx * w->dilation;
  bool inside = row >= 0 && row < w->in_height && column >= 0 && column < w->in_width;
  return inside ? row * w->in_width + column : -1;
}

static float ended(const dq_plane_window *w, float x) {
  return dq_bounded(x, (dq_bounds){w->leaky, w->low, w->high, w->alpha});
}
static float f32_end(const dq_plane_window *w, float sum, const float *bias) {
  return ended(w, bias ? sum + *bias : sum);
}
static uint16_t f16_end(const dq_plane_window *w, uint16_t sum, const uint16_t *bias) {
  float x = dq_half_to_float(sum);
  if (bias) x = dq_round_to_half(x + dq_half_to_float(*bias));
  return dq_float_to_half(ended(w, x));
}

#define DEFINE_WINDOW(name, type, fused, end)                                                                          \
  void name(const dq_plane_window *w) {                                                                                \
    const type *from = w->input, *weights = w->weights, *bias = w->bias;                                               \
    for (int64_t plane = 0; plane < w->planes; plane++) {                                                              \
      type *to = (type *)w->output + (plane * w->out_height + w->first_row) * w->out_width;                            \
      for (int64_t y = w->first_row; y < w->end_row; y++)                                                              \
        for (int64_t x = 0; x < w->out_width; x++) {                                                                   \
          type sum = 0;                                                                                                \
          for (int tap = 0; tap < w->kernel * w->kernel; tap++) {                                                      \
            int64_t at = under_tap(w, y, x, tap / w->kernel, tap % w->kernel);                                         \
            sum = fused(at < 0 ? 0 : from[at], weights[tap], sum);                                                     \
          }                                                                                                            \
          *to++ = end(w, sum, bias ? bias + plane : NULL);                                                             \
        }                                                                                                              \
      from += w->in_height * w->in_width;                                                                              \
      weights += w->kernel * w->kernel;                                                                                \
    }                                                                                                                  \
  }
DEFINE_WINDOW(dq_f32_window_c, float, fmaf, f32_end)
DEFINE_WINDOW(dq_f16_window_c, uint16_t, dq_half_fma, f16_end)
