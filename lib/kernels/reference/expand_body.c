// Input rows to words as plain loops, which the compiler vectorises for each instruction set.
// Sets: c avx2
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"
#include "lib/kernels/reference/set.h"

static inline __attribute__((always_inline)) void expand_floats(const dq_expansion *e, const int64_t stride) {
  const int64_t count = e->end - e->first;
  for (int64_t line = 0; line < e->lines; line++) {
    const void *row;
    uint32_t *to = dq_start_line(e, line, &row);
    const uint32_t *from = row;
    for (int64_t i = 0; i < count; i++) to[i] = from[i * stride];
  }
}

void DQ_FOR_SET(dq_f32_expand)(const dq_expansion *e) {
  if (e->stride == 1) expand_floats(e, 1);
  else if (e->stride == 2) expand_floats(e, 2);
  else expand_floats(e, e->stride);
}

static inline __attribute__((always_inline)) void expand_pairs(const dq_expansion *e, const int64_t stride) {
  // A signed byte is its unsigned twin with the top bit flipped, less 128.
  const int flip = e->is_signed ? 128 : 0, zero = e->zero_point + flip;
  const int64_t count = e->end - e->first;
  for (int64_t line = 0; line < e->lines; line++) {
    const void *row;
    uint32_t *to = dq_start_line(e, line, &row);
    const uint8_t *low = row, *high = (const uint8_t *)e->rows[1] + line * e->line_step;
    for (int64_t i = 0; i < count; i++) {
      int first = (low[i * stride] ^ flip) - zero, second = (high[i * stride] ^ flip) - zero;
      to[i] = ((uint32_t)first & 0xffffu) | (uint32_t)second << 16;
    }
  }
}

void DQ_FOR_SET(dq_i16_expand)(const dq_expansion *e) {
  if (e->stride == 1) expand_pairs(e, 1);
  else if (e->stride == 2) expand_pairs(e, 2);
  else expand_pairs(e, e->stride);
}

static inline __attribute__((always_inline)) void expand_quads(const dq_expansion *e, const int64_t stride) {
  const uint32_t flip = e->flips ? 0x80808080u : 0;
  const int64_t count = e->end - e->first;
  for (int64_t line = 0; line < e->lines; line++) {
    const void *row;
    uint32_t *to = dq_start_line(e, line, &row);
    const uint8_t *a = row, *b = (const uint8_t *)e->rows[1] + line * e->line_step;
    const uint8_t *c = (const uint8_t *)e->rows[2] + line * e->line_step;
    const uint8_t *d = (const uint8_t *)e->rows[3] + line * e->line_step;
    for (int64_t i = 0; i < count; i++) {
      uint32_t low = a[i * stride] | (uint32_t)b[i * stride] << 8;
      uint32_t high = c[i * stride] | (uint32_t)d[i * stride] << 8;
      to[i] = (low | high << 16) ^ flip;
    }
  }
}

void DQ_FOR_SET(dq_u8s8_expand)(const dq_expansion *e) {
  if (e->stride == 1) expand_quads(e, 1);
  else if (e->stride == 2) expand_quads(e, 2);
  else expand_quads(e, e->stride);
}
