// Rows of bytes from one distance to another for AVX2: whole vectors, the last of which may overlap the one before.
// What moves at a time is chosen once for all rows.
#include "lib/kernels/simd/vector_avx2.h"

#include <string.h>

static inline __attribute__((always_inline)) void move(const uint8_t *from, uint8_t *to, const int width,
                                                       __m256i flip) {
  const __m128i low = _mm256_castsi256_si128(flip);
  if (width == 32) {
    u8_store(to, u8_xor(u8_load(from), flip));
  } else if (width == 16) {
    _mm_storeu_si128((void *)to, _mm_xor_si128(_mm_loadu_si128((const void *)from), low));
  } else if (width == 8) {
    _mm_storel_epi64((void *)to, _mm_xor_si128(_mm_loadl_epi64((const void *)from), low));
  } else {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    word ^= (uint32_t)_mm_cvtsi128_si32(low);
    memcpy(to, &word, sizeof word);
  }
}

// Rows of at least `width` bytes, a constant.
static inline __attribute__((always_inline)) void copy(const dq_row_copy *c, const int width) {
  const __m256i flip = u8_set(c->flips ? 0x80 : 0);
  const int64_t last = c->bytes - width;
  const uint8_t *from = c->from;
  uint8_t *to = c->to;
  for (int64_t row = 0; row < c->rows; row++, from += c->from_step, to += c->to_step) {
    for (int64_t at = 0; at < last; at += width) move(from + at, to + at, width, flip);
    move(from + last, to + last, width, flip);
  }
}

void dq_copy_rows_avx2(const dq_row_copy *rows) {
  const dq_row_copy c = *rows; // a copy that no store can change
  if (c.bytes >= 32) copy(&c, 32);
  else if (c.bytes >= 16) copy(&c, 16);
  else if (c.bytes >= 8) copy(&c, 8);
  else if (c.bytes >= 4) copy(&c, 4);
  else dq_copy_rows_c(&c);
}
