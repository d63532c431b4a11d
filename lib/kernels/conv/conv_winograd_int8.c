// Winograd's filtering of 8-bit operands with exact sums (conv_winograd.c). Operands less their zero points are -255 to
// 255. With the matrices of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4:
//
// - B^T d B is at most 4 * 255 (m = 2) or 100 * 255 (m = 4), as the magnitudes in a row of B^T add up to 2 or 10:
// int16.
// - The rows of G times 2, 2, 2, 2 or 12, 6, 6, 24, 24, 3 are integers whose magnitudes add up to at most 3 or 7, so
//   that transformed weights are at most 9 * 255 or 49 * 255: int16.
// - Sums at places, and what A^T makes of them, are integers modulo 2^32. At the end there is the output times 4, or
//   times 9 * 2^k with k <= 6. 9 is odd and has an inverse modulo 2^32; the rest is a shift, which is exact where the
//   output times 2^k fits int32. Nothing before needs to fit.
//
// Weights are packed as they are and transformed by every run, a panel of output channels at a time: that takes less
// time than to read transformed weights, four times as many bytes or more, from memory.
#include "lib/kernels/conv/conv_winograd_int8.h"

// Largest magnitude of an output: times 2^2 or 2^6 it must fit int32.
static int64_t most(int size) { return (INT64_C(1) << (size == 2 ? 29 : 25)) - 1; }

static bool natural(const dq_conv_plan *plan) {
  const dq_conv_int8_parameters *q = &plan->int8;
  return dq_natural_zero_points(q->weight_zero_points, q->weight_zero_point_count, q->weight_signed);
}

bool dq_winograd_int8_beside_bytes(const dq_conv_plan *plan) {
  return natural(plan) && dq_kernel_find(DQ_OPERATION_u8s8_pixels, plan->cpu);
}

bool dq_winograd_int8_pays(const dq_conv_plan *plan) {
  enum { CHANNELS = 64 }; // with fewer, transforms take long beside products of bytes
  const dq_conv_parameters *p = &plan->shape;
  if (!natural(plan)) return true;
  if (dq_kernel_find(DQ_OPERATION_u8s8_block, plan->cpu)) return false;
  if (dq_winograd_int8_beside_bytes(plan)) return p->in_channels >= CHANNELS && p->out_channels >= CHANNELS;
  return !dq_kernel_find(DQ_OPERATION_u8s8_tile, plan->cpu);
}

// Sums of the weights above and below 0 of an output channel, less their zero point.
static void weight_sums(const dq_conv_plan *plan, int64_t channel, int64_t sums[2]) {
  const dq_conv_int8_parameters *q = &plan->int8;
  int64_t depth = 9 * plan->shape.in_channels;
  int32_t zero = dq_zero_point(q->weight_zero_points, q->weight_zero_point_count, channel);
  int low = q->weight_signed ? -128 : 0;
  sums[0] = depth * (low + 255 - zero);
  sums[1] = depth * (low - zero);
  if (!q->weights) return;
  const uint8_t *weights = (const uint8_t *)q->weights + channel * depth;
  sums[0] = sums[1] = 0;
  for (int64_t i = 0; i < depth; i++) {
    int32_t value = dq_int8_value(weights[i], q->weight_signed) - zero;
    sums[value < 0] += value;
  }
}

bool dq_winograd_int8_is_exact(const dq_conv_plan *plan, int size) {
  const dq_conv_int8_parameters *q = &plan->int8;
  int64_t low = (q->input_signed ? -128 : 0) - q->input_zero_point, high = low + 255;
  for (int64_t o = 0; o < plan->shape.out_channels; o++) {
    int64_t sums[2];
    weight_sums(plan, o, sums);
    int64_t largest = sums[0] * high + sums[1] * low, least = sums[0] * low + sums[1] * high;
    if (largest > most(size) || least < -most(size)) return false;
  }
  return true;
}

enum {
  SKEW = 16,  // words between places, so that they do not fall on the same lines of a cache, and for a whole vector
  SLACK = 16, // words behind the weights
  LINE = 64,  // bytes that the tile fetches ahead in a step
};

void dq_winograd_int8_prepare(dq_conv_plan *plan) {
  plan->expand = dq_conv_find_expand(plan);
  plan->requantize = dq_kernel_find(DQ_OPERATION_requantize, plan->cpu);
  plan->winograd.weights = dq_kernel_find(DQ_OPERATION_i16_winograd_weights, plan->cpu);
  plan->winograd.bytes = natural(plan);
}

// ---- Weights: [panels][taps][in words][panel_rows][2], less their zero points ----
static int64_t places(const dq_conv_plan *plan) { return (plan->winograd.size + 2) * (plan->winograd.size + 2); }
static int64_t panel_kernels(const dq_conv_plan *plan) { return plan->group_words * plan->panel_rows * 2; }
static int64_t panel_bytes(const dq_conv_plan *plan) {
  return 9 * panel_kernels(plan) * (plan->winograd.bytes ? 1 : 2);
}

size_t dq_winograd_int8_packed_words(const dq_conv_plan *plan) {
  return dq_words(dq_ceil_div(dq_conv_panels(plan) * panel_bytes(plan), 4) + SLACK);
}

void dq_winograd_int8_pack(const dq_conv_plan *plan, const uint8_t *weights, uint32_t *packed) {
  const dq_conv_parameters *p = &plan->shape;
  const dq_conv_int8_parameters *q = &plan->int8;
  const int64_t kernels = panel_kernels(plan);
  for (int64_t o = 0; o < p->out_channels; o++) {
    int32_t zero = dq_zero_point(q->weight_zero_points, q->weight_zero_point_count, o);
    uint8_t *panel = (uint8_t *)packed + o / plan->panel_rows * panel_bytes(plan);
    for (int64_t c = 0; c < p->in_channels; c++)
      for (int64_t tap = 0; tap < 9; tap++, weights++) {
        int64_t at = tap * kernels + (c / 2 * plan->panel_rows + o % plan->panel_rows) * 2 + c % 2;
        int32_t value = dq_int8_value(*weights, q->weight_signed) - zero;
        if (plan->winograd.bytes) panel[at] = (uint8_t)value;
        else ((int16_t *)(void *)panel)[at] = (int16_t)value;
      }
  }
}

void dq_winograd_int8_input(const dq_conv_call *call, int64_t image, int64_t word, int64_t first,
                            const dq_winograd_input *form) {
  const dq_conv_plan *plan = call->plan;
  const dq_conv_parameters *p = &plan->shape;
  const uint8_t *row = dq_conv_input_channel(call, image, 0, 2 * word) + first * p->in_width;
  bool both = 2 * word + 1 < p->in_channels; // a channel past the last has weights of 0
  dq_expansion lines = {.rows = {row, both ? row + p->in_height * p->in_width : row},
                        .words = (uint32_t *)(void *)form->plane + form->pad_top * form->plane_width,
                        .lines = form->lines,
                        .line_step = p->in_width,
                        .width = form->plane_width,
                        .first = form->pad_left,
                        .end = form->pad_left + form->taken,
                        .stride = 1,
                        .is_signed = plan->int8.input_signed,
                        .zero_point = plan->int8.input_zero_point};
  if (form->lines > 0 && form->taken > 0) ((dq_expand_function *)plan->expand->function)(&lines);
  dq_winograd_input stored = *form;
  stored.rows = form->plane;
  stored.lines = form->tiles_high * form->size + 2;
  stored.width = stored.taken = form->plane_width;
  stored.pad_left = stored.pad_top = 0;
  ((dq_winograd_input_function *)plan->winograd.input->function)(&stored);
}

// ---- Outputs: a panel of output channels at all places, so that its weights and sums stay in the cache ----
static int64_t weight_stride(const dq_conv_plan *plan) { return plan->group_words * plan->panel_rows + SKEW; }
static int64_t sum_stride(const dq_conv_plan *plan, int64_t columns) { return plan->panel_rows * columns + SKEW; }

size_t dq_winograd_int8_workspace(const dq_conv_plan *plan, int64_t columns) {
  return dq_words(places(plan) * (weight_stride(plan) + sum_stride(plan, columns)));
}

static void transform_weights(const dq_conv_plan *plan, const uint8_t *panel, uint32_t *to) {
  dq_winograd_weights form = {.size = plan->winograd.size,
                              .int16 = !plan->winograd.bytes,
                              .from = panel,
                              .count = panel_kernels(plan),
                              .to = (int16_t *)(void *)to,
                              .place_stride = 2 * weight_stride(plan)};
  ((dq_i16_winograd_weights_function *)plan->winograd.weights->function)(&form);
}

// The sums of a panel at all places. The bytes of the next one are fetched ahead.
static void multiply_panel(const dq_winograd_band *b, int64_t panel, float *sums) {
  const dq_conv_plan *plan = b->call->plan;
  const uint8_t *packed = (const uint8_t *)((const uint32_t *)b->call->packed + DQ_CONV_HEADER_WORDS);
  const uint8_t *next = packed + (panel + 1) * panel_bytes(plan);
  const int64_t depth = plan->group_words, rows = plan->panel_rows;
  dq_tile tile = {.a_stride = rows, .b_stride = plan->multiply->columns, .c_stride = b->columns, .depth = depth};
  tile.rows = (int)dq_min_i64(rows, plan->shape.out_channels - panel * rows);
  transform_weights(plan, packed + panel * panel_bytes(plan), b->workspace);
  for (int64_t place = 0; place < places(plan); place++) {
    const int64_t fetched = place * depth * LINE;
    tile.a = b->workspace + place * weight_stride(plan);
    tile.ahead = fetched < panel_bytes(plan) ? next + fetched : NULL;
    dq_winograd_multiply(plan, &tile, b->values + place * b->value_stride, sums + place * sum_stride(plan, b->columns),
                         b->tiles);
  }
}

// The outputs of a channel from their sums at all places.
static void finish_channel(const dq_winograd_band *b, int64_t channel, const float *sums) {
  const dq_conv_plan *plan = b->call->plan;
  const dq_conv_parameters *p = &plan->shape;
  const dq_requantization *r = b->call->requantization;
  int64_t at = ((b->image * p->out_channels + channel) * p->out_height + b->row) * p->out_width;
  dq_winograd_output form = b->form;
  form.from = sums;
  form.place_stride = sum_stride(plan, b->columns);
  if (!r) form.to = (float *)b->call->output + at;
  ((dq_winograd_output_function *)plan->winograd.output->function)(&form);
  if (!r) return;
  dq_requantize_rows rows = {.sums = (const int32_t *)(const void *)form.to,
                             .bias = r->bias ? r->bias + channel : NULL,
                             .multipliers = r->multipliers + (r->multiplier_count != 1 ? channel : 0),
                             .output = (uint8_t *)b->call->output + at,
                             .rows = 1,
                             .columns = form.rows * form.width,
                             .zero_point = r->zero_point,
                             .low = r->low,
                             .high = r->high};
  ((dq_requantize_function *)plan->requantize->function)(&rows);
}

void dq_winograd_int8_outputs(const dq_winograd_band *band, int64_t from, int64_t end) {
  const dq_conv_plan *plan = band->call->plan;
  float *sums = (float *)(band->workspace + places(plan) * weight_stride(plan));
  for (int64_t panel = from; panel < end; panel++) {
    multiply_panel(band, panel, sums);
    int64_t first = panel * plan->panel_rows;
    int64_t last = dq_min_i64(first + plan->panel_rows, plan->shape.out_channels);
    for (int64_t o = first; o < last; o++) finish_channel(band, o, sums + (o - first) * band->columns);
  }
}
