// binary16 conversions by F16C, 8 at a time; the last few one at a time.
#include <immintrin.h>

#include "lib/kernels/reference/scalar.h"
#include "lib/kernels/table/kernel_table.h"

enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

void dq_f32_to_f16_avx2(const float *input, uint16_t *output, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128((void *)(output + i), _mm256_cvtps_ph(_mm256_loadu_ps(input + i), NEAREST));
  for (; i < count; i++) output[i] = _cvtss_sh(input[i], NEAREST);
}

void dq_f32_to_f16_leaky_avx2(const float *input, float alpha, uint16_t *output, int64_t count) {
  const __m256 slope = _mm256_set1_ps(alpha);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 x = _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_loadu_ps(input + i), NEAREST));
    __m256 below = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
    x = _mm256_blendv_ps(x, _mm256_mul_ps(slope, x), below);
    _mm_storeu_si128((void *)(output + i), _mm256_cvtps_ph(x, NEAREST));
  }
  dq_f32_to_f16_leaky_c(input + i, alpha, output + i, count - i);
}

void dq_f16_to_f32_avx2(const uint16_t *input, float *output, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(output + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(input + i))));
  for (; i < count; i++) output[i] = _cvtsh_ss(input[i]);
}

void dq_round_f16_avx2(const float *input, float *output, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(input + i), NEAREST);
    _mm256_storeu_ps(output + i, _mm256_cvtph_ps(half));
  }
  for (; i < count; i++) output[i] = _cvtsh_ss(_cvtss_sh(input[i], NEAREST));
}

void dq_f16_expand_avx2(const dq_expansion *e) {
  const int64_t count = e->end - e->first, stride = e->stride;
  for (int64_t line = 0; line < e->lines; line++) {
    const void *row;
    float *to = (float *)dq_start_line(e, line, &row);
    const uint16_t *from = row;
    if (stride == 1) dq_f16_to_f32_avx2(from, to, count);
    else
      for (int64_t i = 0; i < count; i++) to[i] = _cvtsh_ss(from[i * stride]);
  }
}
