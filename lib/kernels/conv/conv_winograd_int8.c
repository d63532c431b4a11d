// Winograd's filtering of 8-bit operands with exact sums (conv_winograd.c). Operands less their zero points are -255 to
// 255. With the matrices of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4:
//
// - B^T d B is at most 4 * 255 (m = 2) or 100 * 255 (m = 4), as the magnitudes in a row of B^T add up to 2 or 10:
// int16.
// - The rows of G times 2, 2, 2, 2 or 12, 6, 6, 24, 24, 3 are integers whose magnitudes add up to at most 3 or 7, so
// that
//   transformed weights are at most 9 * 255 or 49 * 255: int16.
// - Sums at places, and what A^T makes of them, are integers modulo 2^32. At the end there is the output times 4, or
//   times 9 * 2^k with k <= 6. 9 is odd and has an inverse modulo 2^32; the rest is a shift, which is exact where the
//   output times 2^k fits int32. Nothing before needs to fit.
#include "lib/kernels/conv/conv_winograd_int8.h"

// Largest magnitude of an output: times 2^2 or 2^6 it must fit int32.
static int64_t most(int size) { return (1ll << (size == 2 ? 29 : 25)) - 1; }

bool dq_winograd_int8_pays(const dq_conv_plan *plan) {
  const dq_conv_int8_parameters *q = &plan->int8;
  bool bytes = dq_natural_zero_points(q->weight_zero_points, q->weight_zero_point_count, q->weight_signed);
  return !bytes ||
         !(dq_kernel_find(DQ_OPERATION_u8s8_tile, plan->cpu) || dq_kernel_find(DQ_OPERATION_u8s8_block, plan->cpu));
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

void dq_winograd_int8_prepare(dq_conv_plan *plan) {
  plan->expand = dq_conv_find_expand(plan);
  plan->requantize = dq_kernel_find(DQ_OPERATION_requantize, plan->cpu);
}

// U = G g G^T with scaled rows of G.
static void transform_weights(int size, const int32_t *weights, int32_t *to) {
  static const int8_t two[4][3] = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}};
  static const int8_t four[6][3] = {{3, 0, 0}, {-1, -1, -1}, {-1, 1, -1}, {1, 2, 4}, {1, -2, 4}, {0, 0, 3}};
  const int8_t(*g)[3] = size == 2 ? two : four;
  for (int i = 0; i < size + 2; i++) {
    int32_t row[3];
    for (int x = 0; x < 3; x++) row[x] = g[i][0] * weights[x] + g[i][1] * weights[3 + x] + g[i][2] * weights[6 + x];
    for (int j = 0; j < size + 2; j++) *to++ = g[j][0] * row[0] + g[j][1] * row[1] + g[j][2] * row[2];
  }
}

// A word of two input channels of one output channel to to[place * place_words]; the last may lack its second.
static void pack_word(const dq_conv_plan *plan, const uint8_t *weights, int64_t channels, int32_t zero,
                      const dq_winograd_weights *form, uint32_t *to) {
  int32_t transformed[2][36] = {0};
  for (int64_t c = 0; c < channels; c++) {
    int32_t values[9];
    for (int i = 0; i < 9; i++) values[i] = dq_int8_value(weights[9 * c + i], plan->int8.weight_signed) - zero;
    transform_weights(form->size, values, transformed[c]);
  }
  for (int place = 0; place < (form->size + 2) * (form->size + 2); place++) {
    int32_t pair[2] = {transformed[0][place], transformed[1][place]};
    to[place * form->place_words] = dq_weight_word(2, pair, 2);
  }
}

void dq_winograd_int8_pack(const dq_conv_plan *plan, const uint8_t *weights, const dq_winograd_weights *form) {
  const dq_conv_parameters *p = &plan->shape;
  const dq_conv_int8_parameters *q = &plan->int8;
  for (int64_t o = 0; o < p->out_channels; o++) {
    int32_t zero = dq_zero_point(q->weight_zero_points, q->weight_zero_point_count, o);
    uint32_t *to = form->words + o / plan->panel_rows * plan->group_words * plan->panel_rows + o % plan->panel_rows;
    for (int64_t c = 0; c < p->in_channels; c += 2, to += plan->panel_rows)
      pack_word(plan, weights + (o * p->in_channels + c) * 9, dq_min_i64(2, p->in_channels - c), zero, form, to);
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
  stored.lines = 0; // for the kernel to bring into the plane
  ((dq_winograd_input_function *)plan->winograd.input->function)(&stored);
}

void dq_winograd_int8_output(const dq_conv_call *call, int64_t image, int64_t channel, int64_t row,
                             const dq_winograd_output *form) {
  const dq_conv_plan *plan = call->plan;
  const dq_conv_parameters *p = &plan->shape;
  const dq_requantization *r = call->requantization;
  int64_t at = ((image * p->out_channels + channel) * p->out_height + row) * p->out_width;
  dq_winograd_output sums = *form;
  if (!r) sums.to = (float *)call->output + at;
  ((dq_winograd_output_function *)plan->winograd.output->function)(&sums);
  if (!r) return;
  dq_requantize_rows rows = {.sums = (const int32_t *)(const void *)form->to,
                             .bias = r->bias ? r->bias + channel : NULL,
                             .multipliers = r->multipliers + (r->multiplier_count != 1 ? channel : 0),
                             .output = (uint8_t *)call->output + at,
                             .rows = 1,
                             .columns = form->rows * form->width,
                             .zero_point = r->zero_point,
                             .low = r->low,
                             .high = r->high};
  ((dq_requantize_function *)plan->requantize->function)(&rows);
}
