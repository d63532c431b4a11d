// Maxima of windows for AVX-512 BW: 64 bytes at a time.
#include "lib/kernels/vector_avx512.h"

typedef __m512i bytes;
static inline __mmask64 some_of(int64_t count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }
static inline bytes bytes_load(const uint8_t *p) { return _mm512_loadu_si512(p); }
static inline bytes bytes_load_some(const uint8_t *p, int64_t count) {
  return _mm512_maskz_loadu_epi8(some_of(count), p);
}
static inline void bytes_store_some(uint8_t *p, bytes x, int64_t count) {
  _mm512_mask_storeu_epi8(p, some_of(count), x);
}
static inline bytes bytes_larger_signed(bytes a, bytes b) { return _mm512_max_epi8(a, b); }
static inline bytes bytes_larger_unsigned(bytes a, bytes b) { return _mm512_max_epu8(a, b); }
// Bytes 0, 2, 4... of a followed by b.
static inline bytes bytes_even(bytes a, bytes b) {
  __m256i low = _mm512_cvtepi16_epi8(a), high = _mm512_cvtepi16_epi8(b);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

#define MAXIMUM_BY_MASKS
#define MAXIMUM(name) name##_avx512
#include "lib/kernels/maximum_body.h"
