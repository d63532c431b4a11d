// Input rows to words as plain loops that the compiler vectorises; the including file defines
// EXPAND(name).
#include "lib/kernels/kernels_internal.h"

static inline __attribute__((always_inline)) void take_floats(const dq_expansion *e,
                                                              const int64_t stride) {
  const uint32_t *from = e->rows[0];
  uint32_t *to = e->words;
  for (int64_t i = 0; i < e->count; i++) to[i] = from[i * stride];
}

void EXPAND(dq_f32_expand)(const dq_expansion *e) {
  if (e->stride == 1)
    take_floats(e, 1);
  else if (e->stride == 2)
    take_floats(e, 2);
  else
    take_floats(e, e->stride);
}

static inline __attribute__((always_inline)) void take_pairs(const dq_expansion *e,
                                                             const int64_t stride, const int flip) {
  // A signed byte is its unsigned twin with the top bit flipped, less 128.
  const int zero = e->zero_point + flip;
  const uint8_t *low = e->rows[0], *high = e->rows[1];
  uint32_t *to = e->words;
  for (int64_t i = 0; i < e->count; i++) {
    int first = (low[i * stride] ^ flip) - zero, second = (high[i * stride] ^ flip) - zero;
    to[i] = ((uint32_t)first & 0xffffu) | (uint32_t)second << 16;
  }
}

void EXPAND(dq_i16_expand)(const dq_expansion *e) {
  int flip = e->is_signed ? 128 : 0;
  if (e->stride == 1)
    take_pairs(e, 1, flip);
  else if (e->stride == 2)
    take_pairs(e, 2, flip);
  else
    take_pairs(e, e->stride, flip);
}
