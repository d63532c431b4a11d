// Elementwise fp32 functions and requantization of stored sums: loops the compiler vectorises.
#include "lib/kernels/array/array.h"
#include "lib/kernels/reference/scalar.h"

void dq_add_f32(const float *a, const float *b, float *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = a[i] + b[i];
}

void dq_mul_f32(const float *a, const float *b, float *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = a[i] * b[i];
}

void dq_activate_f32(const dq_activation *activation, const float *input, float *output, int64_t count) {
  const dq_activation local = *activation; // so that the compiler takes the choice out of the loop
  for (int64_t i = 0; i < count; i++) output[i] = dq_activate(&local, input[i]);
}

void dq_exp_f32(unsigned cpu, const float *input, float *output, int64_t count) {
  DQ_KERNEL_FUNCTION(exp_f32, cpu)(input, output, count);
}

void dq_sigmoid_f32(unsigned cpu, const float *input, float *output, int64_t count) {
  DQ_KERNEL_FUNCTION(sigmoid_f32, cpu)(input, output, count);
}

void dq_tanh_f32(unsigned cpu, const float *input, float *output, int64_t count) {
  DQ_KERNEL_FUNCTION(tanh_f32, cpu)(input, output, count);
}

void dq_expm1_f32(unsigned cpu, const float *input, float *output, int64_t count) {
  DQ_KERNEL_FUNCTION(expm1_f32, cpu)(input, output, count);
}

void dq_softplus_f32(unsigned cpu, const float *input, float *output, int64_t count) {
  DQ_KERNEL_FUNCTION(softplus_f32, cpu)(input, output, count);
}

void dq_erf_f32(unsigned cpu, const float *input, float *output, int64_t count) {
  DQ_KERNEL_FUNCTION(erf_f32, cpu)(input, output, count);
}
