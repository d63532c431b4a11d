// The audit's kernels for AVX-512: 12 rows of 32 sums; the end of a row by masks.
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

// 32 sums in two registers.
typedef struct sums32 {
  __m512i low, high;
} sums32;

static inline __mmask32 joined(__mmask16 low, __mmask16 high) {
  return (__mmask32)low | (__mmask32)high << 16;
}

static inline int outside(sums32 sums, __mmask32 used, int32_t from, int32_t to) {
  __m512i least = _mm512_set1_epi32(from), most = _mm512_set1_epi32(to);
  __mmask32 below = joined(_mm512_cmplt_epi32_mask(sums.low, least), _mm512_cmplt_epi32_mask(sums.high, least));
  __mmask32 above = joined(_mm512_cmpgt_epi32_mask(sums.low, most), _mm512_cmpgt_epi32_mask(sums.high, most));
  return __builtin_popcount((below | above) & used);
}

void dq_audit_finish_avx512(dq_audit_end *end) {
  __mmask32 used = end->lanes < DQ_AUDIT_LANES ? (1u << end->lanes) - 1 : ~(__mmask32)0;
  __mmask16 first = (__mmask16)used, second = (__mmask16)(used >> 16);
  sums32 sums = {_mm512_maskz_loadu_epi32(first, end->sums), _mm512_maskz_loadu_epi32(second, end->sums + 16)};
  end->outside16 = outside(sums, used, INT16_MIN, INT16_MAX);
  end->outside_low16 = outside(sums, used, end->low16, end->high16);
  end->outside_low32 = outside(sums, used, end->low32, end->high32);
  __m512i most = _mm512_set1_epi32(INT32_MAX), least = _mm512_set1_epi32(INT32_MIN);
  end->lowest = _mm512_reduce_min_epi32(_mm512_min_epi32(_mm512_mask_mov_epi32(most, first, sums.low),
                                                         _mm512_mask_mov_epi32(most, second, sums.high)));
  end->highest = _mm512_reduce_max_epi32(_mm512_max_epi32(_mm512_mask_mov_epi32(least, first, sums.low),
                                                          _mm512_mask_mov_epi32(least, second, sums.high)));
  end->different = end->unsure = 0;
  if (!end->last) return;
  __m512i last = _mm512_loadu_si512(end->last), top = _mm512_loadu_si512(end->top);
  __m512i low = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(last));
  __m512i high = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(last, 1));
  __mmask32 equal = joined(_mm512_cmpeq_epi32_mask(sums.low, low), _mm512_cmpeq_epi32_mask(sums.high, high));
  __mmask32 touched = _mm512_cmpeq_epi16_mask(top, _mm512_set1_epi16(INT16_MAX));
  end->different = __builtin_popcount(~equal & used);
  end->unsure = __builtin_popcount(equal & touched & used);
}
