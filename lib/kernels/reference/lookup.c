// Tables of 256 bytes, one lookup at a time, and what two lines give in their place.
#include "lib/kernels/reference/reference.h"

#include <math.h>

void dq_lookup_c(const uint8_t *input, const uint8_t *table, uint8_t *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = table[input[i]];
}

void dq_ramps_c(const dq_ramps *r, const uint8_t *input, uint8_t *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    float x = input[i], rising = fmaf(x, r->rise, r->rise_at), falling = fmaf(x, r->fall, r->fall_at);
    float nearest = rintf(rising > falling ? rising : falling);
    output[i] = (uint8_t)(nearest < 0 ? 0 : nearest > 255 ? 255 : nearest);
  }
}
