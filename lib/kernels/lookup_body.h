// Tables of 256 bytes by byte shuffles, which look up 16: part k of the table answers the indices from
// 16 k to 16 k + 15. Subtracting 16 k and adding 0x70 with saturation leaves those with their top bit
// clear and sets it for all others, for which the shuffle gives 0. The including file defines
// LOOKUP(name), the vector type `bytes` and its operations.
enum { PARTS = 16, PART = 16 };

static inline __attribute__((always_inline)) bytes look_up(const bytes *parts, bytes index) {
  const bytes step = bytes_set(PART), least = bytes_set(0x70);
  bytes found = bytes_shuffled(parts[0], bytes_plus_saturated(index, least));
#pragma GCC unroll 16
  for (int k = 1; k < PARTS; k++) {
    index = bytes_minus(index, step);
    found = bytes_or(found, bytes_shuffled(parts[k], bytes_plus_saturated(index, least)));
  }
  return found;
}

void LOOKUP(dq_lookup)(const uint8_t *input, const uint8_t *table, uint8_t *output, int64_t count) {
  const int64_t width = (int64_t)sizeof(bytes);
  if (count < width) { // preparing the parts costs more than these
    dq_lookup_c(input, table, output, count);
    return;
  }
  bytes parts[PARTS];
  for (int k = 0; k < PARTS; k++) parts[k] = bytes_repeated(table + k * PART);
  int64_t at = 0;
  for (; at + width <= count; at += width)
    bytes_store(output + at, look_up(parts, bytes_load(input + at)));
  dq_lookup_c(input + at, table, output + at, count - at);
}
