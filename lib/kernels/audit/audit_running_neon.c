// Saturating sums of the audit for AArch64: 3 rows of 32 sums. The audit's other kernels are loops that
// the compiler vectorises in C already.
#include <arm_neon.h>

#include "lib/kernels/table/kernel_table.h"

enum { ROWS = 3, PARTS = DQ_AUDIT_LANES / 8 };

static inline __attribute__((always_inline)) void running(const dq_audit_sums *s, const int rows) {
  int16x8_t last[ROWS][PARTS], top[ROWS][PARTS];
#pragma GCC unroll 3
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 4
    for (int v = 0; v < PARTS; v++) last[row][v] = top[row][v] = vdupq_n_s16(0);
  const int16_t *panel = s->panel;
  const uint32_t *weights = s->weights;
  for (int64_t t = s->depth; t > 0; t--, panel += DQ_AUDIT_LANES, weights += ROWS) {
#pragma GCC unroll 4
    for (int v = 0; v < PARTS; v++) {
      int16x8_t x = vld1q_s16(panel + 8 * v);
#pragma GCC unroll 3
      for (int row = 0; row < rows; row++) {
        int16x8_t w = vreinterpretq_s16_u32(vdupq_n_u32(weights[row]));
        last[row][v] = vqaddq_s16(last[row][v], vmulq_s16(x, w));
        top[row][v] = vmaxq_s16(top[row][v], last[row][v]);
      }
    }
  }
#pragma GCC unroll 3
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 4
    for (int v = 0; v < PARTS; v++) {
      vst1q_s16(s->last + row * DQ_AUDIT_LANES + 8 * v, last[row][v]);
      vst1q_s16(s->top + row * DQ_AUDIT_LANES + 8 * v, top[row][v]);
    }
}

void dq_audit_running_neon(const dq_audit_sums *s) {
  if (s->rows <= 1) running(s, 1);
  else running(s, ROWS);
}
