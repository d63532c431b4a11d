// The transposition behind sums by channels in plain C.
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"

void dq_f32_columns_c(const dq_columns *form) {
  const dq_columns c = *form; // a copy that no store can change
  const dq_bounds bounds = {c.leaky, c.low, c.high, c.alpha};
  for (int64_t j = 0; j < c.columns; j++)
    for (int64_t i = 0; i < c.rows; i++) {
      float x = c.from[(c.offsets && !c.ends ? c.offsets[i] : i * c.from_stride) + j];
      if (c.ends && c.bias) x += c.bias[j];
      c.to[j * c.to_stride + i] = c.ends ? dq_bounded(x, bounds) : x;
    }
}
