// Maxima of windows for AVX2: 32 bytes at a time.
#include "lib/kernels/vector_avx2.h"

typedef __m256i bytes;
static inline bytes bytes_load(const uint8_t *p) { return _mm256_loadu_si256((const void *)p); }
static inline void bytes_store(uint8_t *p, bytes x) { _mm256_storeu_si256((void *)p, x); }
static inline bytes bytes_larger_signed(bytes a, bytes b) { return _mm256_max_epi8(a, b); }
static inline bytes bytes_larger_unsigned(bytes a, bytes b) { return _mm256_max_epu8(a, b); }
// Bytes 0, 2, 4... of a followed by b.
static inline bytes bytes_even(bytes a, bytes b) {
  const __m256i low = _mm256_set1_epi16(0xff);
  __m256i packed = _mm256_packus_epi16(_mm256_and_si256(a, low), _mm256_and_si256(b, low));
  return _mm256_permute4x64_epi64(packed, 0xd8);
}

#define MAXIMUM(name) name##_avx2
#include "lib/kernels/maximum_body.h"
