// Tables of 256 bytes by byte shuffles, which look up 16: part k of the table answers the indices from
// 16 k to 16 k + 15. Subtracting 16 k and adding 0x70 with saturation leaves those with their top bit
// clear and sets it for all others, for which the shuffle gives 0.
// Sets: avx2 avx512
#include "lib/kernels/simd/vector.h"

enum { PARTS = 16, PART = 16 };

static inline __attribute__((always_inline)) u8_vector look_up(const u8_vector *parts, u8_vector index) {
  const u8_vector step = u8_set(PART), least = u8_set(0x70);
  u8_vector found = u8_shuffled(parts[0], u8_plus_saturated(index, least));
#pragma GCC unroll 16
  for (int k = 1; k < PARTS; k++) {
    index = u8_minus(index, step);
    found = u8_or(found, u8_shuffled(parts[k], u8_plus_saturated(index, least)));
  }
  return found;
}

void DQ_FOR_SET(dq_lookup)(const uint8_t *input, const uint8_t *table, uint8_t *output, int64_t count) {
  const int64_t width = (int64_t)sizeof(u8_vector);
  if (count < width) { // preparing the parts costs more than these
    dq_lookup_c(input, table, output, count);
    return;
  }
  u8_vector parts[PARTS];
  for (int k = 0; k < PARTS; k++) parts[k] = u8_repeated(table + k * PART);
  int64_t at = 0;
  for (; at + width <= count; at += width) u8_store(output + at, look_up(parts, u8_load(input + at)));
  dq_lookup_c(input + at, table, output + at, count - at);
}
