// References of the large kernels: plain loops in the documented order. Everything faster must give
// the same bits (tests/check).
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"

#include <math.h>

// Geometry of one image shared by both references: calls nothing outside of the input.
static bool inside(int64_t y, int64_t x, const dq_conv_parameters *p) {
  return y >= 0 && y < p->in_height && x >= 0 && x < p->in_width;
}

static float conv_f32_at(const dq_conv_parameters *p, const float *weights, const float *input, int64_t oy,
                         int64_t ox) {
  int64_t channels = p->in_channels / p->groups;
  float sum = 0;
  for (int64_t c = 0; c < channels; c++)
    for (int64_t ky = 0; ky < p->kernel_height; ky++)
      for (int64_t kx = 0; kx < p->kernel_width; kx++) {
        int64_t y = oy * p->stride_height + ky * p->dilation_height - p->pad_top;
        int64_t x = ox * p->stride_width + kx * p->dilation_width - p->pad_left;
        float value = inside(y, x, p) ? input[(c * p->in_height + y) * p->in_width + x] : 0.0f;
        sum = fmaf(value, *weights++, sum);
      }
  return sum;
}

void dq_conv_f32_reference(const dq_conv_parameters *p, const float *weights, const float *bias, const float *input,
                           const float *addend, float *output) {
  int64_t in_group = p->in_channels / p->groups, out_group = p->out_channels / p->groups;
  int64_t depth = in_group * p->kernel_height * p->kernel_width, plane = p->in_height * p->in_width;
  for (int64_t n = 0; n < p->batch; n++)
    for (int64_t o = 0; o < p->out_channels; o++) {
      const float *from = input + (n * p->in_channels + o / out_group * in_group) * plane;
      for (int64_t oy = 0; oy < p->out_height; oy++)
        for (int64_t ox = 0; ox < p->out_width; ox++) {
          float sum = conv_f32_at(p, weights + o * depth, from, oy, ox);
          if (bias) sum += bias[o];
          sum = dq_activate(&p->activation, sum);
          *output++ = p->adds ? dq_activate(&p->sum_activation, sum + *addend++) : sum;
        }
    }
}

static uint32_t conv_int8_at(const dq_conv_int8_parameters *parameters, const uint8_t *weights, int32_t weight_zero,
                             const uint8_t *input, int64_t oy, int64_t ox) {
  const dq_conv_parameters *p = &parameters->shape;
  int64_t channels = p->in_channels / p->groups;
  uint32_t sum = 0;
  for (int64_t c = 0; c < channels; c++)
    for (int64_t ky = 0; ky < p->kernel_height; ky++)
      for (int64_t kx = 0; kx < p->kernel_width; kx++, weights++) {
        int64_t y = oy * p->stride_height + ky * p->dilation_height - p->pad_top;
        int64_t x = ox * p->stride_width + kx * p->dilation_width - p->pad_left;
        if (!inside(y, x, p)) continue;
        int32_t value = dq_int8_value(input[(c * p->in_height + y) * p->in_width + x], parameters->input_signed);
        int32_t weight = dq_int8_value(*weights, parameters->weight_signed);
        sum += (uint32_t)((value - parameters->input_zero_point) * (weight - weight_zero));
      }
  return sum;
}

void dq_conv_int8_reference(const dq_conv_int8_parameters *parameters, const void *weights, const void *input,
                            void *output, const dq_requantization *requantization) {
  const dq_conv_parameters *p = &parameters->shape;
  int64_t in_group = p->in_channels / p->groups, out_group = p->out_channels / p->groups;
  int64_t depth = in_group * p->kernel_height * p->kernel_width, plane = p->in_height * p->in_width;
  int64_t at = 0;
  for (int64_t n = 0; n < p->batch; n++)
    for (int64_t o = 0; o < p->out_channels; o++) {
      const uint8_t *from = (const uint8_t *)input + (n * p->in_channels + o / out_group * in_group) * plane;
      const uint8_t *row = (const uint8_t *)weights + o * depth;
      int32_t zero = dq_zero_point(parameters->weight_zero_points, parameters->weight_zero_point_count, o);
      for (int64_t oy = 0; oy < p->out_height; oy++)
        for (int64_t ox = 0; ox < p->out_width; ox++, at++) {
          int32_t sum = (int32_t)conv_int8_at(parameters, row, zero, from, oy, ox);
          if (requantization) ((uint8_t *)output)[at] = dq_requantize_one(requantization, o, sum);
          else ((int32_t *)output)[at] = sum;
        }
    }
}

void dq_gemm_f32_reference(const dq_gemm_parameters *p, const float *a, const float *b, float *out) {
  int64_t a_row = p->transpose_a ? 1 : p->a_stride, a_depth = p->transpose_a ? p->a_stride : 1;
  int64_t b_column = p->transpose_b ? p->b_stride : 1, b_depth = p->transpose_b ? 1 : p->b_stride;
  for (int64_t i = 0; i < p->rows; i++)
    for (int64_t j = 0; j < p->columns; j++) {
      float sum = 0;
      for (int64_t k = 0; k < p->depth; k++) sum = fmaf(a[i * a_row + k * a_depth], b[k * b_depth + j * b_column], sum);
      out[i * p->out_stride + j] = dq_gemm_finish(p, sum, i, j);
    }
}

void dq_gemm_int8_reference(const dq_gemm_int8_parameters *p, const void *a, const void *b, void *out,
                            const dq_requantization *requantization) {
  int64_t a_row = p->transpose_a ? 1 : p->a_stride, a_depth = p->transpose_a ? p->a_stride : 1;
  int64_t b_column = p->transpose_b ? p->b_stride : 1, b_depth = p->transpose_b ? 1 : p->b_stride;
  for (int64_t i = 0; i < p->rows; i++)
    for (int64_t j = 0; j < p->columns; j++) {
      int32_t a_zero = dq_zero_point(p->a_zero_points, p->a_zero_point_count, i);
      int32_t b_zero = dq_zero_point(p->b_zero_points, p->b_zero_point_count, j);
      uint32_t sum = 0;
      for (int64_t k = 0; k < p->depth; k++) {
        int32_t x = dq_int8_value(((const uint8_t *)a)[i * a_row + k * a_depth], p->a_signed);
        int32_t y = dq_int8_value(((const uint8_t *)b)[k * b_depth + j * b_column], p->b_signed);
        sum += (uint32_t)((x - a_zero) * (y - b_zero));
      }
      if (requantization) ((uint8_t *)out)[i * p->out_stride + j] = dq_requantize_one(requantization, j, (int32_t)sum);
      else ((int32_t *)out)[i * p->out_stride + j] = (int32_t)sum;
    }
}
