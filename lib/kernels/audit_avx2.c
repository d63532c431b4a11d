// The audit's kernels for AVX2: 3 rows of 32 sums.
#include <immintrin.h>

#define AUDIT(name) name##_avx2
#define AUDIT_WIDTH 16
#include "lib/kernels/audit_body.h"
#include "lib/kernels/audit_sums_body.h"

enum { ROWS = 3 };

static inline __attribute__((always_inline)) void running(const dq_audit_sums *s, const int rows) {
  __m256i last[ROWS][2], top[ROWS][2];
#pragma GCC unroll 3
  for (int row = 0; row < rows; row++)
    last[row][0] = last[row][1] = top[row][0] = top[row][1] = _mm256_setzero_si256();
  const int16_t *panel = s->panel;
  const uint32_t *weights = s->weights;
  for (int64_t t = s->depth; t > 0; t--, panel += DQ_AUDIT_LANES, weights += ROWS) {
    __m256i x[2] = {_mm256_loadu_si256((const void *)panel),
                    _mm256_loadu_si256((const void *)(panel + 16))};
#pragma GCC unroll 3
    for (int row = 0; row < rows; row++) {
      __m256i w = _mm256_set1_epi32((int)weights[row]);
#pragma GCC unroll 2
      for (int v = 0; v < 2; v++) {
        last[row][v] = _mm256_adds_epi16(last[row][v], _mm256_mullo_epi16(x[v], w));
        top[row][v] = _mm256_max_epi16(top[row][v], last[row][v]);
      }
    }
  }
#pragma GCC unroll 3
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) {
      _mm256_storeu_si256((void *)(s->last + row * DQ_AUDIT_LANES + v * 16), last[row][v]);
      _mm256_storeu_si256((void *)(s->top + row * DQ_AUDIT_LANES + v * 16), top[row][v]);
    }
}

void dq_audit_running_avx2(const dq_audit_sums *s) {
  if (s->rows <= 1) running(s, 1);
  else running(s, ROWS);
}
