// Input rows to words as plain loops that the compiler vectorises; the including file defines
// EXPAND(name).
#include "lib/kernels/kernels_internal.h"

static inline uint32_t *start_line(const dq_expansion *e, int64_t line) {
  uint32_t *words = (uint32_t *)e->words + line * e->width;
  for (int64_t i = 0; i < e->first; i++) words[i] = e->pad;
  for (int64_t i = e->end; i < e->width; i++) words[i] = e->pad;
  return words + e->first;
}

static inline const uint8_t *source(const dq_expansion *e, int row, int64_t line) {
  return (const uint8_t *)e->rows[row] + line * e->line_step;
}

static inline __attribute__((always_inline)) void take_floats(const dq_expansion *e,
                                                              const int64_t stride) {
  const int64_t count = e->end - e->first;
  for (int64_t line = 0; line < e->lines; line++) {
    uint32_t *to = start_line(e, line);
    const uint32_t *from = (const uint32_t *)(const void *)source(e, 0, line);
    for (int64_t i = 0; i < count; i++) to[i] = from[i * stride];
  }
}

void EXPAND(dq_f32_expand)(const dq_expansion *e) {
  if (e->stride == 1) take_floats(e, 1);
  else if (e->stride == 2) take_floats(e, 2);
  else take_floats(e, e->stride);
}

static inline __attribute__((always_inline)) void take_pairs(const dq_expansion *e,
                                                             const int64_t stride) {
  // A signed byte is its unsigned twin with the top bit flipped, less 128.
  const int flip = e->is_signed ? 128 : 0, zero = e->zero_point + flip;
  const int64_t count = e->end - e->first;
  for (int64_t line = 0; line < e->lines; line++) {
    uint32_t *to = start_line(e, line);
    const uint8_t *low = source(e, 0, line), *high = source(e, 1, line);
    for (int64_t i = 0; i < count; i++) {
      int first = (low[i * stride] ^ flip) - zero, second = (high[i * stride] ^ flip) - zero;
      to[i] = ((uint32_t)first & 0xffffu) | (uint32_t)second << 16;
    }
  }
}

void EXPAND(dq_i16_expand)(const dq_expansion *e) {
  if (e->stride == 1) take_pairs(e, 1);
  else if (e->stride == 2) take_pairs(e, 2);
  else take_pairs(e, e->stride);
}
