// The audit's kernels for AVX-512: 12 rows of 32 sums.
#include <immintrin.h>

#define AUDIT(name) name##_avx512
#define AUDIT_WIDTH 32
#include "lib/kernels/audit_body.h"

enum { ROWS = 12 };

static inline __attribute__((always_inline)) void running(const dq_audit_sums *s, const int rows) {
  __m512i last[ROWS], top[ROWS];
#pragma GCC unroll 12
  for (int row = 0; row < rows; row++) last[row] = top[row] = _mm512_setzero_si512();
  const int16_t *panel = s->panel;
  const uint32_t *weights = s->weights;
  for (int64_t t = s->depth; t > 0; t--, panel += DQ_AUDIT_LANES, weights += ROWS) {
    __m512i x = _mm512_loadu_si512(panel);
#pragma GCC unroll 12
    for (int row = 0; row < rows; row++) {
      __m512i product = _mm512_mullo_epi16(x, _mm512_set1_epi32((int)weights[row]));
      last[row] = _mm512_adds_epi16(last[row], product);
      top[row] = _mm512_max_epi16(top[row], last[row]);
    }
  }
#pragma GCC unroll 12
  for (int row = 0; row < rows; row++) {
    _mm512_storeu_si512(s->last + row * DQ_AUDIT_LANES, last[row]);
    _mm512_storeu_si512(s->top + row * DQ_AUDIT_LANES, top[row]);
  }
}

void dq_audit_running_avx512(const dq_audit_sums *s) {
  if (s->rows <= 1) running(s, 1);
  else if (s->rows <= 4) running(s, 4);
  else if (s->rows <= 8) running(s, 8);
  else running(s, ROWS);
}
