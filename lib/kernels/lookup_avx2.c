// Tables of 256 bytes for AVX2: 32 lookups at a time.
#include "lib/kernels/vector_avx2.h"

typedef __m256i bytes;
static inline bytes bytes_load(const uint8_t *p) { return _mm256_loadu_si256((const void *)p); }
static inline void bytes_store(uint8_t *p, bytes x) { _mm256_storeu_si256((void *)p, x); }
static inline bytes bytes_set(int x) { return _mm256_set1_epi8((char)x); }
static inline bytes bytes_repeated(const uint8_t *p) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p));
}
static inline bytes bytes_minus(bytes a, bytes b) { return _mm256_sub_epi8(a, b); }
static inline bytes bytes_plus_saturated(bytes a, bytes b) { return _mm256_adds_epu8(a, b); }
static inline bytes bytes_shuffled(bytes part, bytes index) { return _mm256_shuffle_epi8(part, index); }
static inline bytes bytes_or(bytes a, bytes b) { return _mm256_or_si256(a, b); }

#define LOOKUP(name) name##_avx2
#include "lib/kernels/lookup_body.h"
