// binary16 conversions by F16C, 8 at a time; the last few by the scalar form.
#include <immintrin.h>

#include "lib/base/half.h"
#include "lib/kernels/kernels_internal.h"

enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

void dq_f32_to_f16_avx2(const float *input, uint16_t *output, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128((void *)(output + i), _mm256_cvtps_ph(_mm256_loadu_ps(input + i), NEAREST));
  for (; i < count; i++) output[i] = dq_float_to_half(input[i]);
}

void dq_f16_to_f32_avx2(const uint16_t *input, float *output, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(output + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(input + i))));
  for (; i < count; i++) output[i] = dq_half_to_float(input[i]);
}

void dq_round_f16_avx2(const float *input, float *output, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(input + i), NEAREST);
    _mm256_storeu_ps(output + i, _mm256_cvtph_ps(half));
  }
  for (; i < count; i++) output[i] = dq_round_to_half(input[i]);
}
