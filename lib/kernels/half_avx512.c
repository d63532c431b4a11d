// binary16 conversions by AVX-512, 16 at a time; the last few by the scalar form.
#include <immintrin.h>

#include "lib/base/half.h"
#include "lib/kernels/kernels_internal.h"

enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

void dq_f32_to_f16_avx512(const float *input, uint16_t *output, int64_t count) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    _mm256_storeu_si256((void *)(output + i), _mm512_cvtps_ph(_mm512_loadu_ps(input + i), NEAREST));
  for (; i < count; i++) output[i] = dq_float_to_half(input[i]);
}

void dq_f16_to_f32_avx512(const uint16_t *input, float *output, int64_t count) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    _mm512_storeu_ps(output + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(input + i))));
  for (; i < count; i++) output[i] = dq_half_to_float(input[i]);
}

void dq_round_f16_avx512(const float *input, float *output, int64_t count) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m256i half = _mm512_cvtps_ph(_mm512_loadu_ps(input + i), NEAREST);
    _mm512_storeu_ps(output + i, _mm512_cvtph_ps(half));
  }
  for (; i < count; i++) output[i] = dq_round_to_half(input[i]);
}
