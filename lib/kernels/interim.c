// The interface over the references, until the packed kernels take over.
#include "lib/kernels/kernels_internal.h"

#include <string.h>

static size_t weight_count(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  return (size_t)(p->out_channels * (p->in_channels / p->groups) * p->kernel_height * p->kernel_width);
}

dq_status dq_conv_f32_plan(const dq_conv_parameters *parameters, unsigned cpu, dq_conv_plan *plan,
                           dq_error *error) {
  DQ_TRY(dq_conv_check(parameters, error));
  *plan = (dq_conv_plan){.shape = *parameters, .cpu = cpu};
  return DQ_OK;
}
size_t dq_conv_packed_bytes(const dq_conv_plan *plan) {
  return (weight_count(plan) + (size_t)plan->shape.out_channels + 1) * 4;
}
size_t dq_conv_scratch_bytes(const dq_conv_plan *plan, int threads) {
  (void)plan, (void)threads;
  return 64;
}
const char *dq_conv_algorithm_name(const dq_conv_plan *plan) { return (void)plan, "reference"; }
void dq_conv_f32_pack(const dq_conv_plan *plan, const float *weights, const float *bias, void *packed) {
  float *to = packed;
  size_t channels = (size_t)plan->shape.out_channels;
  to[0] = bias ? 1.0f : 0.0f;
  if (bias) memcpy(to + 1, bias, channels * 4);
  memcpy(to + 1 + channels, weights, weight_count(plan) * 4);
}
void dq_conv_f32_run(const dq_conv_plan *plan, const void *packed, const float *input, float *output,
                     void *scratch, dq_pool *pool) {
  (void)scratch, (void)pool;
  const float *from = packed;
  dq_conv_f32_reference(&plan->shape, from + 1 + plan->shape.out_channels,
                        from[0] == 1.0f ? from + 1 : NULL, input, output);
}
dq_status dq_conv_int8_plan(const dq_conv_int8_parameters *parameters, unsigned cpu,
                            dq_conv_plan *plan, dq_error *error) {
  DQ_TRY(dq_conv_f32_plan(&parameters->shape, cpu, plan, error));
  plan->int8 = *parameters;
  return DQ_OK;
}
void dq_conv_int8_pack(const dq_conv_plan *plan, const void *weights, void *packed) {
  memcpy(packed, weights, weight_count(plan));
}
void dq_conv_int8_run(const dq_conv_plan *plan, const void *packed, const void *input, void *output,
                      const dq_requantization *requantization, void *scratch, dq_pool *pool) {
  (void)scratch, (void)pool;
  dq_conv_int8_reference(&plan->int8, packed, input, output, requantization);
}

size_t dq_gemm_f32_scratch_bytes(const dq_gemm_parameters *p, unsigned cpu, int threads) {
  (void)p, (void)cpu, (void)threads;
  return 64;
}
static size_t stored_b(int64_t depth, int64_t columns, bool transposed, int64_t stride) {
  return (size_t)((transposed ? columns : depth) * stride);
}
size_t dq_gemm_f32_packed_bytes(const dq_gemm_parameters *p, unsigned cpu) {
  (void)cpu;
  return stored_b(p->depth, p->columns, p->transpose_b, p->b_stride) * 4;
}
void dq_gemm_f32_pack(const dq_gemm_parameters *p, unsigned cpu, const float *b, void *packed) {
  memcpy(packed, b, dq_gemm_f32_packed_bytes(p, cpu));
}
void dq_gemm_f32(const dq_gemm_parameters *p, unsigned cpu, const float *a, const float *b,
                 const void *packed, float *out, void *scratch, dq_pool *pool) {
  (void)cpu, (void)scratch, (void)pool;
  dq_gemm_f32_reference(p, a, packed ? packed : b, out);
}
size_t dq_gemm_int8_scratch_bytes(const dq_gemm_int8_parameters *p, unsigned cpu, int threads) {
  (void)p, (void)cpu, (void)threads;
  return 64;
}
size_t dq_gemm_int8_packed_bytes(const dq_gemm_int8_parameters *p, unsigned cpu) {
  (void)cpu;
  return stored_b(p->depth, p->columns, p->transpose_b, p->b_stride);
}
void dq_gemm_int8_pack(const dq_gemm_int8_parameters *p, unsigned cpu, const void *b, void *packed) {
  memcpy(packed, b, dq_gemm_int8_packed_bytes(p, cpu));
}
void dq_gemm_int8(const dq_gemm_int8_parameters *p, unsigned cpu, const void *a, const void *b,
                  const void *packed, void *out, const dq_requantization *requantization, void *scratch,
                  dq_pool *pool) {
  (void)cpu, (void)scratch, (void)pool;
  dq_gemm_int8_reference(p, a, packed ? packed : b, out, requantization);
}

void dq_requantize(const dq_requantization *requantization, unsigned cpu, bool channel_is_row,
                   int64_t rows, int64_t columns, const int32_t *sums, int64_t sum_stride, void *out,
                   int64_t out_stride) {
  (void)cpu;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      ((uint8_t *)out)[i * out_stride + j] =
          dq_requantize_one(requantization, channel_is_row ? i : j, sums[i * sum_stride + j]);
}
