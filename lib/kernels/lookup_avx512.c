// Tables of 256 bytes for AVX-512 BW: 64 lookups at a time.
#include "lib/kernels/vector_avx512.h"

typedef __m512i bytes;
static inline bytes bytes_load(const uint8_t *p) { return _mm512_loadu_si512(p); }
static inline void bytes_store(uint8_t *p, bytes x) { _mm512_storeu_si512(p, x); }
static inline bytes bytes_set(int x) { return _mm512_set1_epi8((char)x); }
static inline bytes bytes_repeated(const uint8_t *p) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)p));
}
static inline bytes bytes_minus(bytes a, bytes b) { return _mm512_sub_epi8(a, b); }
static inline bytes bytes_plus_saturated(bytes a, bytes b) { return _mm512_adds_epu8(a, b); }
static inline bytes bytes_shuffled(bytes part, bytes index) { return _mm512_shuffle_epi8(part, index); }
static inline bytes bytes_or(bytes a, bytes b) { return _mm512_or_si512(a, b); }

#define LOOKUP(name) name##_avx512
#include "lib/kernels/lookup_body.h"
