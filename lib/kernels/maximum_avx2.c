// Maxima of windows for AVX2: 32 bytes at a time.
#include <string.h>

#include "lib/kernels/vector_avx2.h"

typedef __m256i bytes;
static inline bytes bytes_load(const uint8_t *p) { return _mm256_loadu_si256((const void *)p); }
static inline bytes bytes_load_some(const uint8_t *p, int64_t count) {
  if (count >= 32) return bytes_load(p);
  uint8_t some[32] = {0};
  memcpy(some, p, (size_t)count);
  return bytes_load(some);
}
static inline void bytes_store_some(uint8_t *p, bytes x, int64_t count) {
  uint8_t some[32];
  _mm256_storeu_si256(count >= 32 ? (void *)p : (void *)some, x);
  if (count < 32) memcpy(p, some, (size_t)count);
}
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
