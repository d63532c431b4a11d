// Maxima of windows, one at a time.
#include <string.h>

#include "lib/base/half.h"
#include "lib/kernels/reference/reference.h"

static uint8_t larger(uint8_t a, uint8_t b, uint8_t flip) { return (a ^ flip) > (b ^ flip) ? a : b; }

static uint8_t maximum_at(const dq_maximum_row *r, int64_t line, int64_t o) {
  const uint8_t flip = r->is_signed ? 128 : 0;
  uint8_t most = flip; // the least number
  for (int64_t k = 0; k < r->kernel; k++) {
    int64_t x = o * r->stride - r->begin + k * r->dilation;
    for (int64_t i = 0; x >= 0 && x < r->width && i < r->row_count; i++)
      most = larger(r->rows[i][line * r->line_step + x], most, flip);
  }
  return most;
}

void dq_maximum_8_c(const dq_maximum_row *r) {
  for (int64_t line = 0; line < r->lines; line++)
    for (int64_t o = 0; o < r->count; o++) r->output[line * r->count + o] = maximum_at(r, line, o);
}

#define NUMBER_ABOVE(a, b) ((a) > (b))
#define DEFINE_MAXIMUM(name, type, least, ABOVE)                                                                       \
  void name(const dq_maximum_row *r) {                                                                                 \
    const type *const *rows = (const type *const *)(const void *)r->rows;                                              \
    type *output = (type *)(void *)r->output;                                                                          \
    for (int64_t o = 0; o < r->count; o++) {                                                                           \
      type most = least;                                                                                               \
      for (int64_t k = 0; k < r->kernel && r->row_count; k++) {                                                        \
        int64_t x = o * r->stride - r->begin + k * r->dilation;                                                        \
        if (x < 0 || x >= r->width) continue;                                                                          \
        type here = rows[0][x];                                                                                        \
        for (int64_t i = 1; i < r->row_count; i++) here = ABOVE(rows[i][x], here) ? rows[i][x] : here;                 \
        most = ABOVE(here, most) ? here : most;                                                                        \
      }                                                                                                                \
      output[o] = most;                                                                                                \
    }                                                                                                                  \
  }
DEFINE_MAXIMUM(dq_maximum_f32_c, float, -__builtin_inff(), NUMBER_ABOVE)
DEFINE_MAXIMUM(dq_maximum_f16_c, uint16_t, 0xfc00, dq_half_above)
