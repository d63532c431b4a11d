// Functions over arrays as plain loops, which the compiler vectorises for each instruction set.
// Sets: c avx2 avx512
#include "lib/kernels/reference/function.h"
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/set.h"

// Iterations touch one element each, so an output lying on the input is no dependence.
#define FUNCTION(name, one)                                                                                            \
  void DQ_FOR_SET(name)(const float *input, float *output, int64_t count) {                                            \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) output[i] = one(input[i]);                                \
  }
FUNCTION(dq_exp_f32, dq_exp_one)
FUNCTION(dq_sigmoid_f32, dq_sigmoid_one)
FUNCTION(dq_tanh_f32, dq_tanh_one)

// The loops of dq_tail, each with one body, so that the compiler vectorises them.
#define TAIL_LOOP(expression)                                                                                          \
  _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) {                                                           \
    float x = values[i];                                                                                               \
    values[i] = expression;                                                                                            \
  }
#define TAIL_BOUNDED(x) ((low > (x) ? low : (x)) > high ? high : (low > (x) ? low : (x)))

void DQ_FOR_SET(dq_f32_tail)(const dq_tail *t) {
  float *values = t->values;
  const float *addend = t->addend;
  const int64_t count = t->count;
  const float low = t->low, high = t->high, alpha = t->alpha;
  if (t->silu) TAIL_LOOP(dq_silu_one(x))
  if (!addend) return;
  if (t->leaky) TAIL_LOOP(x + addend[i] < 0.0f ? alpha * (x + addend[i]) : x + addend[i])
  else TAIL_LOOP(TAIL_BOUNDED(x + addend[i]))
}
