// The tail of a convolution in C.
#include "lib/kernels/reference/function.h"
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"

void dq_f32_tail_c(const dq_tail *t) {
  const dq_bounds bounds = {t->leaky, t->low, t->high, t->alpha};
  for (int64_t row = 0; row < t->rows; row++)
    for (int64_t i = row * t->stride; i < row * t->stride + t->columns; i++) {
      float x = t->values[i];
      if (t->silu) x = dq_silu_one(x);
      t->values[i] = t->addend ? dq_bounded(x + t->addend[i], bounds) : x;
    }
}
