// Convolutions. The rules of pointers, scratch and threads are those of kernel_table.h; the parameters stand in
// forms.h.
#ifndef DQ_KERNELS_CONV_H
#define DQ_KERNELS_CONV_H

#include "lib/base/pool.h"
#include "lib/base/status.h"
#include "lib/kernels/conv/conv_plan.h"

// How to compute a convolution: by the fastest algorithm whose results are the bits defined below, by the
// fastest of all (errors of Winograd's filtering are within docs/NUMERICS.md), or by one of the algorithms
// of conv_algorithms.def if it fits.
typedef enum dq_conv_choice {
  DQ_CONV_SAME_BITS,
  DQ_CONV_AUTO,
#define DQ_CONV_ALGORITHM(symbol, name, help) DQ_CONV_##symbol,
#include "lib/kernels/conv/conv_algorithms.def"
  DQ_CONV_CHOICES
} dq_conv_choice;

// "direct" (DQ_CONV_SAME_BITS), "auto" or the name of an algorithm; NULL past the last.
const char *dq_conv_choice_name(dq_conv_choice choice);
// Whether the results of a choice are the bits defined below, whatever the shape.
bool dq_conv_same_bits(dq_conv_choice choice);

// floor((in + pads - dilation (kernel - 1) - 1) / stride) + 1; 0 or less when the kernel does not
// fit.
int64_t dq_conv_output_size(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad_before,
                            int64_t pad_after);

// DQ_BAD_INPUT when a size is below 1 (batch: 0), pads are negative, groups do not divide the
// channels, a window reaches outside of the padded input, or sizes in bytes overflow.
dq_status dq_conv_check(const dq_conv_parameters *parameters, dq_error *error);

// Multiply-accumulates of the whole batch, padding counted as if it were there.
int64_t dq_conv_macs(const dq_conv_parameters *parameters);

// Whether the products of every two neighbouring input channels 2i, 2i + 1 of a filter's place add up
// within int16 whatever the input: weights (OIHW) as signed bytes, inputs as unsigned ones. A plan for
// weights of which it is true may add them up in 16 bits.
bool dq_conv_pairs_safe(const dq_conv_int8_parameters *parameters, const void *weights);

// The bound on the relative error of an output that Winograd's filtering must keep (docs/NUMERICS.md).
#define DQ_WINOGRAD_ERROR 0.01
// fp32. Bits: every output is one chain of fmaf from +0 over (input channel of the group, kernel
// row, kernel column) ascending, padding entering as +0; then + bias (if given); then the
// activation; then + addend and sum_activation where the parameters say so.
dq_status dq_conv_f32_plan(const dq_conv_parameters *parameters, unsigned cpu, dq_conv_plan *plan, dq_error *error);
size_t dq_conv_packed_bytes(const dq_conv_plan *plan);
size_t dq_conv_scratch_bytes(const dq_conv_plan *plan, int threads);
// weights OIHW; bias [out_channels] or NULL. They are copied, so may be freed afterwards.
void dq_conv_f32_pack(const dq_conv_plan *plan, const float *weights, const float *bias, void *packed);
// addend: elements as the output's, not lying in it; NULL where nothing is added.
void dq_conv_f32_run(const dq_conv_plan *plan, const void *packed, const float *input, const float *addend,
                     float *output, void *scratch, dq_pool *pool);

// binary16 input, weights, bias and output; the plan is one of fp32, with the same bits: operands are
// widened and the result is rounded, before the activation too if that is LEAKY. Bounds of a CLIP must
// be binary16 themselves, so that it can be applied first. Packed weights stay binary16. With half_sums
// sums run in binary16, 64 words of two channels at a time, or all taps of a depthwise convolution with a usual
// kernel (docs/NUMERICS.md), on any machine, but fast with AVX512-FP16 only.
dq_status dq_conv_f16_plan(const dq_conv_parameters *parameters, bool half_sums, unsigned cpu, dq_conv_plan *plan,
                           dq_error *error);
void dq_conv_f16_pack(const dq_conv_plan *plan, const uint16_t *weights, const uint16_t *bias, void *packed);
void dq_conv_f16_run(const dq_conv_plan *plan, const void *packed, const uint16_t *input, uint16_t *output,
                     void *scratch, dq_pool *pool);
const char *dq_conv_algorithm_name(const dq_conv_plan *plan); // for -v and benchmarks

// int8: sum over taps of (x - input_zero_point) (w - weight_zero_point[output channel]), modulo
// 2^32.
dq_status dq_conv_int8_plan(const dq_conv_int8_parameters *parameters, unsigned cpu, dq_conv_plan *plan,
                            dq_error *error);
void dq_conv_int8_pack(const dq_conv_plan *plan, const void *weights, void *packed);
// requantization NULL: output is int32 sums; else 8 bits.
void dq_conv_int8_run(const dq_conv_plan *plan, const void *packed, const void *input, void *output,
                      const dq_requantization *requantization, void *scratch, dq_pool *pool);

#endif
