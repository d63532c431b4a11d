// The yardstick: convolution as six nested loops in plain C, output channel, output row, output column,
// input channel, kernel row, kernel column (MCMK: "multi-channel, multi-kernel"; Park and Chung,
// "Performance Comparison of Acceleration Methods for Efficient Deep Learning Inference on CPUs"). No
// blocks, no intrinsics; output channels are shared out over the pool. The Makefile fixes this file's
// flags: other algorithms are measured against it, so neither changes.
// Packed: header; [out_channels] bias; the weights as they are.
#include "lib/kernels/conv/conv_algorithm.h"

#include <string.h>

static bool applicable(const dq_conv_plan *plan) { return plan->float32 && !plan->half; }

static int64_t weight_words(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  return p->out_channels * (p->in_channels / p->groups) * p->kernel_height * p->kernel_width;
}

static size_t packed_words(const dq_conv_plan *plan) {
  return DQ_CONV_HEADER_WORDS + dq_words(plan->shape.out_channels) + dq_words(weight_words(plan));
}

static size_t scratch_words(const dq_conv_plan *plan, int threads) {
  (void)plan, (void)threads;
  return 0;
}

static void pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  memset(packed, 0, packed_words(plan) * 4);
  dq_conv_pack_bias(plan, bias, packed + DQ_CONV_HEADER_WORDS);
  memcpy(packed + DQ_CONV_HEADER_WORDS + dq_words(plan->shape.out_channels), weights, (size_t)weight_words(plan) * 4);
}

static void channel_task(void *argument, int64_t task, int thread) {
  const dq_conv_call *call = argument;
  const dq_conv_parameters *p = &call->plan->shape;
  const int64_t channels = p->in_channels / p->groups, taps = p->kernel_height * p->kernel_width;
  const int64_t n = task / p->out_channels, o = task % p->out_channels;
  const float *bias = (const float *)call->packed + DQ_CONV_HEADER_WORDS;
  const float *weights = bias + dq_words(p->out_channels) + o * channels * taps;
  const int64_t first = n * p->in_channels + o / (p->out_channels / p->groups) * channels;
  const float *input = (const float *)call->input + first * p->in_height * p->in_width;
  float *output = (float *)call->output + task * p->out_height * p->out_width;
  (void)thread;
  for (int64_t y = 0; y < p->out_height; y++)
    for (int64_t x = 0; x < p->out_width; x++) {
      float sum = 0;
      for (int64_t c = 0; c < channels; c++)
        for (int64_t ky = 0; ky < p->kernel_height; ky++) {
          int64_t row = y * p->stride_height + ky * p->dilation_height - p->pad_top;
          if (row < 0 || row >= p->in_height) continue;
          const float *line = input + (c * p->in_height + row) * p->in_width;
          const float *weight = weights + (c * p->kernel_height + ky) * p->kernel_width;
          for (int64_t kx = 0; kx < p->kernel_width; kx++) {
            int64_t column = x * p->stride_width + kx * p->dilation_width - p->pad_left;
            if (column >= 0 && column < p->in_width) sum += line[column] * weight[kx];
          }
        }
      output[y * p->out_width + x] = dq_activate(&p->activation, sum + bias[o]);
    }
}

static void run(const dq_conv_call *call) {
  const dq_conv_parameters *p = &call->plan->shape;
  dq_pool_run(call->pool, p->batch * p->out_channels, channel_task, (void *)(uintptr_t)call);
}

const dq_conv_algorithm dq_conv_mcmk = {.name = "mcmk",
                                        .applicable = applicable,
                                        .packed_words = packed_words,
                                        .scratch_words = scratch_words,
                                        .pack = pack,
                                        .run = run};
