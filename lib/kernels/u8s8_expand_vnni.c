// Input bytes to words of four for vpdpbusd, whose first operand is unsigned: plain loops that the
// compiler vectorises.
#include "lib/kernels/kernels_internal.h"

static inline __attribute__((always_inline)) void take(const dq_expansion *e, const int64_t stride) {
  const uint8_t *r0 = e->rows[0], *r1 = e->rows[1], *r2 = e->rows[2], *r3 = e->rows[3];
  uint32_t *to = e->words;
  const uint32_t flip = e->is_signed ? 0x80808080u : 0;
  for (int64_t i = 0; i < e->count; i++)
    to[i] = ((uint32_t)r0[i * stride] | (uint32_t)r1[i * stride] << 8 | (uint32_t)r2[i * stride] << 16 |
             (uint32_t)r3[i * stride] << 24) ^ flip;
}

void dq_u8s8_expand_vnni(const dq_expansion *e) {
  if (e->stride == 1)
    take(e, 1);
  else if (e->stride == 2)
    take(e, 2);
  else
    take(e, e->stride);
}
