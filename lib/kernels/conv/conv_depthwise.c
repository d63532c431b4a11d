// Depthwise convolution (one input channel per output channel): every tap is a shift of the
// expanded plane, so a band of output rows is one flat run of sums, with a few columns between rows
// thrown away.
//
// fp32 expands one plane per channel; binary16 is widened in doing so (weights, which are few, when
// they are packed) and rows of sums are rounded before they are stored. Integers put values above each other
// into words (two or four kernel rows), expanded for every output row: word rows [row group][slot][output
// row][plane width]. Packed: header; [channels] bias or starts; [channels][taps] words; [taps] offsets of 64
// bits.
#include "lib/kernels/conv/conv_algorithm.h"

#include <string.h>

enum { BAND_WORDS = 8 * 1024 }; // expanded at a time, to stay near the first level of cache

static bool applicable(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  return p->groups == p->in_channels && p->groups == p->out_channels;
}

static int choose_multiply(const dq_conv_plan *plan) {
  const dq_conv_int8_parameters *q = &plan->int8;
  if (plan->float32) return DQ_OPERATION_f32_correlate;
  bool bytes = dq_natural_zero_points(q->weight_zero_points, q->weight_zero_point_count, q->weight_signed);
  if (bytes && dq_kernel_find(DQ_OPERATION_u8s8_correlate, plan->cpu)) return DQ_OPERATION_u8s8_correlate;
  return DQ_OPERATION_i16_correlate;
}

// Output rows expanded at a time.
static int64_t band_rows(const dq_conv_plan *plan) { return plan->depthwise.rows; }
static int64_t row_groups(const dq_conv_plan *plan) { return plan->depthwise.kernel_words; }
static int64_t taps(const dq_conv_plan *plan) { return plan->depth; }

static int64_t band_words(const dq_conv_plan *plan) {
  return plan->float32 ? dq_conv_plane_words(plan)
                       : row_groups(plan) * plan->planes.slots_width * band_rows(plan) * plan->planes.width;
}

static void prepare(dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  int operation = choose_multiply(plan);
  plan->multiply = dq_kernel_find(operation, plan->cpu);
  bool bytes = operation == DQ_OPERATION_u8s8_correlate;
  plan->word_values = plan->float32 ? 1 : bytes ? 4 : 2;
  plan->expand = dq_conv_find_expand(plan);
  plan->requantize = dq_kernel_find(DQ_OPERATION_requantize, plan->cpu);
  plan->panel_rows = 1;
  plan->depthwise.kernel_words = dq_ceil_div(p->kernel_height, plan->word_values);
  plan->depth = plan->depthwise.kernel_words * p->kernel_width;
  dq_conv_prepare_planes(plan, 1);
  int64_t row_words = plan->planes.slots_width * plan->planes.width *
                      (plan->float32 ? plan->planes.slots_height : plan->depthwise.kernel_words);
  plan->depthwise.rows = dq_max_i64(1, dq_scaled(BAND_WORDS, p->tuning.columns) / row_words);
  int64_t bands = dq_ceil_div(p->out_height, plan->depthwise.rows);
  plan->depthwise.rows = dq_ceil_div(p->out_height, bands);
  dq_conv_prepare_planes(plan, plan->depthwise.rows);
}

static size_t packed_words(const dq_conv_plan *plan) {
  int64_t channels = plan->shape.out_channels;
  return DQ_CONV_HEADER_WORDS + dq_words(channels) + dq_words(channels * taps(plan)) + dq_words(2 * taps(plan));
}

// Each thread has a band, sums, requantized bytes and a row of padding.
static size_t band_area(const dq_conv_plan *plan) { return dq_words(band_words(plan) + 4 * DQ_CONV_SLACK_WORDS); }
static size_t sums_area(const dq_conv_plan *plan) {
  return dq_words(band_rows(plan) * plan->planes.width + DQ_CONV_SLACK_WORDS);
}
static size_t thread_area(const dq_conv_plan *plan) {
  size_t pads = plan->float32 ? 0 : dq_words(dq_ceil_div(plan->shape.in_width, 4));
  return band_area(plan) + 2 * sums_area(plan) + pads;
}
static size_t scratch_words(const dq_conv_plan *plan, int threads) { return (size_t)threads * thread_area(plan); }

// Weights of one channel as words; returns their sum.
static uint32_t pack_channel(const dq_conv_plan *plan, const uint8_t *weights, int32_t zero, uint32_t *to) {
  const dq_conv_parameters *p = &plan->shape;
  uint32_t sum = 0;
  for (int64_t y = 0; y < p->kernel_height; y += plan->word_values)
    for (int64_t x = 0; x < p->kernel_width; x++) {
      int32_t values[4];
      int64_t count = dq_min_i64(plan->word_values, p->kernel_height - y);
      for (int64_t i = 0; i < count; i++) {
        uint8_t byte = weights[(y + i) * p->kernel_width + x];
        values[i] = dq_int8_value(byte, plan->int8.weight_signed) - zero;
        sum += (uint32_t)values[i];
      }
      *to++ = dq_weight_word(plan->word_values, values, count);
    }
  return sum;
}

static void pack_offsets(const dq_conv_plan *plan, int64_t *offsets) {
  const dq_conv_parameters *p = &plan->shape;
  for (int64_t y = 0; y < row_groups(plan); y++)
    for (int64_t x = 0; x < p->kernel_width; x++) {
      int64_t row = (y * plan->planes.slots_width + x % plan->planes.slots_width) * band_rows(plan);
      *offsets++ = plan->float32 ? dq_conv_tap_offset(plan, y, x)
                                 : row * plan->planes.width + x * p->dilation_width / p->stride_width;
    }
}

static void pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  int64_t channels = plan->shape.out_channels;
  int64_t kernel = plan->shape.kernel_height * plan->shape.kernel_width;
  memset(packed, 0, packed_words(plan) * 4);
  packed[0] = bias != NULL;
  uint32_t *channel_words = packed + DQ_CONV_HEADER_WORDS;
  uint32_t *words = channel_words + dq_words(channels);
  if (plan->half) ((dq_f16_to_f32_function *)plan->widen->function)(weights, (float *)words, channels * kernel);
  else if (plan->float32) memcpy(words, weights, (size_t)(channels * kernel) * 4);
  dq_conv_pack_bias(plan, bias, channel_words);
  for (int64_t c = 0; !plan->float32 && c < channels; c++) {
    int32_t zero = dq_zero_point(plan->int8.weight_zero_points, plan->int8.weight_zero_point_count, c);
    uint32_t sum = pack_channel(plan, (const uint8_t *)weights + c * kernel, zero, words + c * taps(plan));
    channel_words[c] = (uint32_t)dq_conv_start(plan, sum);
  }
  pack_offsets(plan, (int64_t *)(void *)(words + dq_words(channels * taps(plan))));
}

// ---- Running ----
// Input row under value i of word row `group` for output row `row`.
static int64_t source_row(const dq_conv_plan *plan, int64_t group, int64_t i, int64_t row) {
  const dq_conv_parameters *p = &plan->shape;
  return row * p->stride_height + (group * plan->word_values + i) * p->dilation_height - p->pad_top;
}

// Output rows from `row` on whose input rows are all inside.
static int64_t inner_rows(const dq_conv_plan *plan, int64_t group, int64_t row, int64_t rows) {
  int64_t last = source_row(plan, group, plan->word_values - 1, row);
  if (source_row(plan, group, 0, row) < 0 || last >= plan->shape.in_height) return 0;
  return dq_min_i64(rows, (plan->shape.in_height - 1 - last) / plan->shape.stride_height + 1);
}

static void expand_integers(const dq_conv_plan *plan, const uint8_t *channel, int64_t first_row, int64_t rows,
                            const uint8_t *padding, uint32_t *words) {
  const dq_conv_parameters *p = &plan->shape;
  for (int64_t group = 0; group < row_groups(plan); group++)
    for (int64_t slot = 0; slot < plan->planes.slots_width; slot++) {
      dq_row_geometry geometry = dq_conv_row_geometry(plan, slot);
      uint32_t *to = words + (group * plan->planes.slots_width + slot) * band_rows(plan) * plan->planes.width;
      for (int64_t row = 0, lines; row < rows; row += lines) {
        lines = dq_max_i64(1, inner_rows(plan, group, first_row + row, rows - row));
        const void *from[4];
        for (int64_t i = 0; i < plan->word_values; i++) { // past the kernel the weight is 0
          int64_t y = source_row(plan, group, i, first_row + row);
          from[i] = y < 0 || y >= p->in_height ? padding : channel + y * p->in_width;
        }
        dq_conv_expand_lines(plan, &geometry, from, lines, to + row * plan->planes.width);
      }
    }
}

static void store_band(const dq_conv_call *call, int64_t channel, int64_t first_row, int64_t rows, uint32_t *sums,
                       uint8_t *bytes) {
  const dq_conv_plan *plan = call->plan;
  const dq_requantization *r = call->requantization;
  int64_t width = plan->shape.out_width, out_channel = channel % plan->shape.out_channels;
  size_t element = plan->half ? 2 : plan->float32 || !r ? 4 : 1;
  const uint8_t *from = (const uint8_t *)sums;
  if (!plan->float32 && r) {
    dq_requantize_rows form = {.sums = (const int32_t *)sums,
                               .bias = r->bias ? r->bias + out_channel : NULL,
                               .multipliers = r->multipliers + (r->multiplier_count == 1 ? 0 : out_channel),
                               .output = bytes,
                               .rows = 1,
                               .columns = rows * plan->planes.width,
                               .zero_point = r->zero_point,
                               .low = r->low,
                               .high = r->high};
    ((dq_requantize_function *)plan->requantize->function)(&form);
    from = bytes;
  }
  if (plan->half) {
    dq_conv_narrow(plan, (float *)sums, (uint16_t *)(void *)bytes, rows * plan->planes.width);
    from = bytes;
  }
  uint8_t *to = (uint8_t *)call->output + (size_t)((channel * plan->shape.out_height + first_row) * width) * element;
  dq_conv_copy_rows(from, (size_t)plan->planes.width * element, to, (size_t)width * element, rows);
}

static void channel_task(void *argument, int64_t channel, int thread) {
  const dq_conv_call *call = argument;
  const dq_conv_plan *plan = call->plan;
  const dq_conv_parameters *p = &plan->shape;
  uint32_t *band = call->scratch + (size_t)thread * thread_area(plan);
  uint32_t *sums = band + band_area(plan), *bytes = sums + sums_area(plan);
  uint8_t *padding = (uint8_t *)(bytes + sums_area(plan));
  if (!plan->float32) memset(padding, plan->int8.input_zero_point & 0xff, (size_t)p->in_width);
  // Columns thrown away read past the band: no denormal rests there, they are slow.
  memset(band + band_words(plan), 0, (band_area(plan) - (size_t)band_words(plan)) * 4);
  const uint8_t *from =
      (const uint8_t *)call->input + (size_t)(channel * p->in_height * p->in_width) * dq_element_bytes(plan);
  const uint32_t *packed = call->packed, *words = packed + DQ_CONV_HEADER_WORDS;
  int64_t c = channel % p->out_channels;
  const uint32_t *weights = words + dq_words(p->out_channels);
  dq_bounds bounds = dq_conv_bounds(plan);
  dq_correlation correlation = {.a = weights + c * taps(plan),
                                .b = band,
                                .c = sums,
                                .offsets =
                                    (const int64_t *)(const void *)(weights + dq_words(p->out_channels * taps(plan))),
                                .taps = taps(plan),
                                .start = (int32_t)words[c],
                                .has_bias = packed[0] != 0,
                                .leaky = bounds.leaky,
                                .low = bounds.low,
                                .high = bounds.high,
                                .alpha = bounds.alpha};
  memcpy(&correlation.bias, &words[c], 4);
  for (int64_t row = 0; row < p->out_height; row += band_rows(plan)) {
    int64_t rows = dq_min_i64(band_rows(plan), p->out_height - row);
    if (plan->float32) dq_conv_expand_plane(plan, (const uint8_t *const[4]){from}, row, band);
    else expand_integers(plan, from, row, rows, padding, band);
    correlation.count = rows * plan->planes.width;
    ((dq_correlate_function *)plan->multiply->function)(&correlation);
    store_band(call, channel, row, rows, sums, (uint8_t *)bytes);
    dq_conv_end(call, (channel * p->out_height + row) * p->out_width, rows * p->out_width);
  }
}

static void run(const dq_conv_call *call) {
  const dq_conv_parameters *p = &call->plan->shape;
  dq_pool_run(call->pool, p->batch * p->out_channels, channel_task, (void *)(uintptr_t)call);
}

static dq_block_sizes blocks(const dq_conv_plan *plan, int threads) {
  (void)threads;
  return (dq_block_sizes){plan->depthwise.rows, 0};
}

const dq_conv_algorithm dq_conv_depthwise = {.name = "depthwise",
                                             .applicable = applicable,
                                             .same_bits = true,
                                             .ends = true,
                                             .cost = dq_conv_cost_of_macs,
                                             .count = dq_conv_count_depthwise,
                                             .knobs = DQ_KNOB_COLUMNS,
                                             .prepare = prepare,
                                             .blocks = blocks,
                                             .packed_words = packed_words,
                                             .scratch_words = scratch_words,
                                             .pack = pack,
                                             .run = run};
