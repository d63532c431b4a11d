// Tables of 256 bytes by byte shuffles, which look up 16 and give 0 for indices with their top bit set. Part k of the
// table answers the indices from 16 k on up to 127, or to 255 with their top bit inverted for k >= 8: subtracting 16 k
// with saturation sets the top bit of all below. A part holds what its 16 entries differ by from those of the part
// before, so that the exclusive or of all answers is the entry.
// Sets: avx2 avx512
#include "lib/kernels/simd/vector.h"

enum { PARTS = 16, PART = 16, VECTORS = 2 }; // vectors of indices at once, for each of which a part is read

// `found` receives the entries of VECTORS vectors of indices.
static inline __attribute__((always_inline)) void look_up(const u8_vector *parts, const uint8_t *input,
                                                          u8_vector *found, const int vectors) {
  const u8_vector step = u8_set(PART), top = u8_set(0x80);
  u8_vector low[VECTORS], high[VECTORS];
  for (int v = 0; v < vectors; v++) {
    low[v] = u8_load(input + v * (int64_t)sizeof(u8_vector));
    high[v] = u8_xor(low[v], top);
    found[v] = u8_xor(u8_shuffled(parts[0], low[v]), u8_shuffled(parts[PARTS / 2], high[v]));
  }
#pragma GCC unroll 8
  for (int k = 1; k < PARTS / 2; k++)
    for (int v = 0; v < vectors; v++) {
      low[v] = u8_minus_saturated_signed(low[v], step);
      high[v] = u8_minus_saturated_signed(high[v], step);
      found[v] = u8_xor(found[v], u8_shuffled(parts[k], low[v]));
      found[v] = u8_xor(found[v], u8_shuffled(parts[PARTS / 2 + k], high[v]));
    }
}

void DQ_FOR_SET(dq_lookup)(const uint8_t *input, const uint8_t *table, uint8_t *output, int64_t count) {
  const int64_t width = (int64_t)sizeof(u8_vector);
  if (count < width) { // preparing the parts costs more than these
    dq_lookup_c(input, table, output, count);
    return;
  }
  u8_vector parts[PARTS], found[VECTORS];
  for (int k = PARTS - 1; k >= 0; k--) {
    parts[k] = u8_repeated(table + k * PART);
    if (k % (PARTS / 2)) parts[k] = u8_xor(parts[k], u8_repeated(table + (k - 1) * PART));
  }
  int64_t at = 0;
  for (; at + VECTORS * width <= count; at += VECTORS * width) {
    look_up(parts, input + at, found, VECTORS);
    for (int v = 0; v < VECTORS; v++) u8_store(output + at + v * width, found[v]);
  }
  for (; at + width <= count; at += width) {
    look_up(parts, input + at, found, 1);
    u8_store(output + at, found[0]);
  }
  dq_lookup_c(input + at, table, output + at, count - at);
}
