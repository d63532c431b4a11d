// Functions over arrays as plain loops that the compiler vectorises for the instruction set of the
// including file, which defines ARRAY(name) to give the symbols their suffix.
#include "lib/kernels/function.h"
#include "lib/kernels/kernels_internal.h"

// Iterations touch one element each, so an output lying on the input is no dependence.
#define FUNCTION(name, one)                                                                        \
  void ARRAY(name)(const float *input, float *output, int64_t count) {                             \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) output[i] = one(input[i]);            \
  }
FUNCTION(dq_exp_f32, dq_exp_one)
FUNCTION(dq_sigmoid_f32, dq_sigmoid_one)
FUNCTION(dq_tanh_f32, dq_tanh_one)
