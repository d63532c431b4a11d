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
FUNCTION(dq_expm1_f32, dq_expm1_one)
FUNCTION(dq_softplus_f32, dq_softplus_one)
FUNCTION(dq_erf_f32, dq_erf_one)
