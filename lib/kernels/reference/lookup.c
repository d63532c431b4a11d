// Tables of 256 bytes, one lookup at a time.
#include "lib/kernels/reference/reference.h"

void dq_lookup_c(const uint8_t *input, const uint8_t *table, uint8_t *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = table[input[i]];
}
