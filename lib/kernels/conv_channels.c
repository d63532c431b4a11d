// 1x1 convolution in fp32 with few outputs: vectors hold output channels, rows of a tile are outputs. Where
// a plane does not fill whole vectors (7 x 7 is 3.06 of 16), channels do.
//
// Packed: header; [out_channels] bias; [groups][panels][in_channels][panel] weights, a panel as wide as the
// tile. Scratch: per thread sums [outputs][panel].
#include "lib/kernels/conv_internal.h"

#include <string.h>

enum {
  DEPTH = 256, // input channels at a time: their weights stay in the first-level cache
  LINE = 16,   // words of a line of a cache
};

static int64_t group_in(const dq_conv_plan *plan) {
  return plan->shape.in_channels / plan->shape.groups;
}
static int64_t group_out(const dq_conv_plan *plan) {
  return plan->shape.out_channels / plan->shape.groups;
}
static int64_t outputs(const dq_conv_plan *plan) {
  return plan->shape.out_height * plan->shape.out_width;
}
static int64_t panels(const dq_conv_plan *plan) {
  return dq_ceil_div(group_out(plan), plan->multiply->columns);
}

static bool applicable(const dq_conv_plan *plan) {
  return plan->float32 && !plan->half && dq_conv_is_flat(&plan->shape);
}

static double cost(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  enum { TURN = 12 }; // a vector of sums brought into place costs as much as so many products
  const double steps = 1.05; // values are read in smaller pieces
  int64_t vectors = dq_ceil_div(group_out(plan), 2 * DQ_COST_LANES) * 2;
  return (double)(p->batch * p->groups * outputs(plan) * vectors) * (steps * (double)group_in(plan) + TURN);
}

static void prepare(dq_conv_plan *plan) {
  plan->multiply = dq_kernel_find(DQ_OPERATION_f32_tile, plan->cpu);
  plan->depth = group_in(plan);
  plan->block_depth = DEPTH;
  plan->panel_rows = dq_ceil_div(outputs(plan), dq_ceil_div(outputs(plan), plan->multiply->rows));
}

static int64_t weights_at(const dq_conv_plan *plan) {
  return DQ_CONV_HEADER_WORDS + (int64_t)dq_words(plan->shape.out_channels);
}
static int64_t panel_words(const dq_conv_plan *plan) {
  return plan->depth * plan->multiply->columns;
}
static size_t packed_words(const dq_conv_plan *plan) {
  return (size_t)weights_at(plan) + dq_words(plan->shape.groups * panels(plan) * panel_words(plan));
}
static size_t thread_area(const dq_conv_plan *plan) {
  return dq_words(outputs(plan) * plan->multiply->columns);
}
static size_t scratch_words(const dq_conv_plan *plan, int threads) {
  return (size_t)threads * thread_area(plan);
}

static void pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  const float *from = weights;
  int64_t width = plan->multiply->columns;
  memset(packed, 0, packed_words(plan) * 4);
  packed[0] = bias != NULL;
  dq_conv_pack_bias(plan, bias, packed + DQ_CONV_HEADER_WORDS);
  for (int64_t o = 0; o < plan->shape.out_channels; o++) {
    int64_t row = o % group_out(plan), panel = o / group_out(plan) * panels(plan) + row / width;
    float *to = (float *)packed + weights_at(plan) + panel * panel_words(plan) + row % width;
    for (int64_t c = 0; c < plan->depth; c++) to[c * width] = *from++;
  }
}

// Sums of a panel of channels under all outputs of an image, input channels a block at a time.
static void multiply_panel(const dq_conv_plan *plan, const float *input, const float *weights, float *sums) {
  int64_t width = plan->multiply->columns, count = outputs(plan);
  // Later blocks of weights come from far away: each tile brings part of the next block near.
  for (int64_t k = 0; k < plan->depth; k += plan->block_depth)
    for (int64_t at = 0; at < count; at += plan->panel_rows) {
      dq_tile tile = {.a = input + k * count + at,
                      .b = weights + k * width,
                      .c = sums + at * width,
                      .a_stride = count,
                      .b_stride = width,
                      .c_stride = width,
                      .depth = dq_min_i64(plan->block_depth, plan->depth - k),
                      .rows = (int)dq_min_i64(plan->panel_rows, count - at),
                      .columns = (int)width,
                      .accumulate = k > 0};
      int64_t taken = at / plan->panel_rows * tile.depth * LINE, size = tile.depth * width;
      if (taken < size) tile.ahead = (const float *)tile.b + size + taken;
      ((dq_tile_function *)plan->multiply->function)(&tile);
    }
}

static void panel_task(void *argument, int64_t task, int thread) {
  const dq_conv_call *call = argument;
  const dq_conv_plan *plan = call->plan;
  const float *packed = call->packed;
  int64_t width = plan->multiply->columns, count = outputs(plan), panel = task % panels(plan);
  int64_t group = task / panels(plan) % plan->shape.groups, image = task / panels(plan) / plan->shape.groups;
  int64_t channel = group * group_out(plan) + panel * width;
  int64_t first = (image * plan->shape.out_channels + channel) * count;
  const float *input = (const float *)(const void *)dq_conv_input_channel(call, image, group, 0);
  float *sums = (float *)call->scratch + (size_t)thread * thread_area(plan);
  multiply_panel(plan, input, packed + weights_at(plan) + (group * panels(plan) + panel) * panel_words(plan), sums);
  dq_bounds bounds = dq_conv_bounds(plan);
  dq_columns end = {.from = sums,
                    .from_stride = width,
                    .rows = count,
                    .columns = dq_min_i64(width, group_out(plan) - panel * width),
                    .to = (float *)call->output + first,
                    .to_stride = count,
                    .bias = *(const uint32_t *)call->packed ? packed + DQ_CONV_HEADER_WORDS + channel : NULL,
                    .leaky = bounds.leaky,
                    .low = bounds.low,
                    .high = bounds.high,
                    .alpha = bounds.alpha};
  DQ_KERNEL_FUNCTION(f32_columns, plan->cpu)(&end);
  dq_conv_end(call, first, end.columns * count);
}

static void run(const dq_conv_call *call) {
  const dq_conv_plan *plan = call->plan;
  dq_pool_run(call->pool, plan->shape.batch * plan->shape.groups * panels(plan), panel_task, (void *)(uintptr_t)call);
}

const dq_conv_algorithm dq_conv_channels = {.name = "channels",
                                            .applicable = applicable,
                                            .same_bits = true,
                                            .ends = true,
                                            .cost = cost,
                                            .prepare = prepare,
                                            .packed_words = packed_words,
                                            .scratch_words = scratch_words,
                                            .pack = pack,
                                            .run = run};
