// Maxima of windows by vectors: down the rows into scratch, with the least number on both sides, then along
// it at every place; with a stride of 2 every second one is kept.
// Sets: avx2 avx512 neon
#include <string.h>

#include "lib/kernels/simd/vector.h"

static inline __attribute__((always_inline)) u8_vector u8_larger(u8_vector a, u8_vector b, const bool is_signed) {
  return is_signed ? u8_larger_signed(a, b) : u8_larger_unsigned(a, b);
}

static inline __attribute__((always_inline)) void maximum_of_rows(const dq_maximum_row *r, int64_t from,
                                                                  const bool is_signed) {
  const int64_t width = (int64_t)sizeof(u8_vector);
  uint8_t *to = r->scratch + r->begin;
  for (int64_t at = 0; at < r->width; at += width) {
    if (at + width > r->width && r->width >= width) at = r->width - width; // again what is done already
    int64_t some = r->width - at;
    u8_vector most = u8_load_some(r->rows[0] + from + at, some);
    for (int64_t i = 1; i < r->row_count; i++)
      most = u8_larger(most, u8_load_some(r->rows[i] + from + at, some), is_signed);
    u8_store_some(to + at, most, some);
  }
}

static inline __attribute__((always_inline)) u8_vector maximum_at(const dq_maximum_row *r, const uint8_t *from,
                                                                  const bool is_signed) {
  u8_vector most = u8_load(from);
  for (int64_t k = 1; k < r->kernel; k++) most = u8_larger(most, u8_load(from + k * r->dilation), is_signed);
  return most;
}

static inline __attribute__((always_inline)) void maximum_row(const dq_maximum_row *given, const bool is_signed) {
  const dq_maximum_row row = *given, *r = &row; // outputs may alias *given as far as the compiler knows
  const int64_t width = (int64_t)sizeof(u8_vector);
  int64_t reached = (r->count - 1) * r->stride + (r->kernel - 1) * r->dilation + 1, there = r->begin + r->width;
  memset(r->scratch, is_signed ? 128 : 0, (size_t)r->begin);
  if (reached > there) memset(r->scratch + there, is_signed ? 128 : 0, (size_t)(reached - there));
  for (int64_t line = 0; line < r->lines; line++) {
    maximum_of_rows(r, line * r->line_step, is_signed);
    for (int64_t at = 0; at < r->count; at += width) {
      const uint8_t *from = r->scratch + at * r->stride;
      u8_vector most = maximum_at(r, from, is_signed);
      if (r->stride == 2) most = u8_even(most, maximum_at(r, from + width, is_signed));
      u8_store_some(r->output + line * r->count + at, most, r->count - at);
    }
  }
}

void DQ_FOR_SET(dq_maximum_8)(const dq_maximum_row *r) {
  if (r->stride > 2 || r->row_count == 0 || r->count <= 0) dq_maximum_8_c(r);
  else if (r->is_signed) maximum_row(r, true);
  else maximum_row(r, false);
}
