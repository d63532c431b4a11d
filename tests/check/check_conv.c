// Random convolutions against the references.
#include "tests/check/check.h"

#include "lib/base/half.h"

#include <math.h>

#include <stdlib.h>
#include <string.h>
#include <stdio.h>

enum { MOST_MACS = 1500000 };

static void random_axis(checker *c, int64_t *in, int64_t *kernel, int64_t *stride, int64_t *dilation, int64_t *before,
                        int64_t *after, int64_t *out, int64_t limit) {
  do {
    *kernel = pick(c, (int64_t[]){1, 1, 2, 3, 3, 3, 4, 5, 7}, 9);
    *stride = pick(c, (int64_t[]){1, 1, 1, 2, 2, 3, 4}, 7);
    *dilation = pick(c, (int64_t[]){1, 1, 1, 2, 3}, 5);
    *before = pick(c, (int64_t[]){0, 0, 1, 2, 3}, 5);
    *after = pick(c, (int64_t[]){0, 0, 1, 2, 5}, 5);
    *in = between(c, 1, limit);
    *out = output_size(*in, *kernel, *stride, *dilation, *before, *after);
  } while (*out < 1);
  if (*out > 1 && chance(c, 5)) --*out; // fewer windows than fit
}

// Groups with one output channel each, and about as many outputs as a block has columns (128): panels of one row, as
// wide as they get.
static void make_panels_short(checker *c, dq_conv_parameters *p) {
  p->groups = p->out_channels = between(c, 2, 4);
  p->in_channels = p->groups * between(c, 2, 64);
  p->kernel_height = p->kernel_width = p->stride_height = p->stride_width = 1;
  p->pad_top = p->pad_left = p->pad_bottom = p->pad_right = 0;
  p->in_height = p->out_height = between(c, 1, 2);
  p->in_width = p->out_width = between(c, 55, 65) * 2 / p->in_height;
}

static dq_conv_parameters random_conv(checker *c, bool depthwise) {
  dq_conv_parameters p;
  do {
    memset(&p, 0, sizeof p);
    p.batch = chance(c, 70) ? 1 : between(c, 0, 3);
    p.groups = depthwise ? tile_size(c, 4, 20) : chance(c, 75) ? 1 : between(c, 2, 4);
    int64_t tile = c->row->rows > 1 ? c->row->rows : 8;
    p.in_channels = p.groups * (depthwise ? 1 : pick(c, (int64_t[]){1, 2, 3, 4, 5, 8, 17, 64}, 8));
    p.out_channels = p.groups * (depthwise ? 1 : tile_size(c, tile, 70));
    int64_t limit = chance(c, 20) ? 90 : 20;
    random_axis(c, &p.in_height, &p.kernel_height, &p.stride_height, &p.dilation_height, &p.pad_top, &p.pad_bottom,
                &p.out_height, limit);
    random_axis(c, &p.in_width, &p.kernel_width, &p.stride_width, &p.dilation_width, &p.pad_left, &p.pad_right,
                &p.out_width, limit);
    if (!depthwise && chance(c, 20)) { // what runs without expansion
      p.kernel_height = p.kernel_width = p.stride_height = p.stride_width = 1;
      p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 0;
      p.out_height = p.in_height;
      p.out_width = p.in_width;
    }
    if (!depthwise && chance(c, 5)) p.groups = 1, p.in_channels = 300; // several blocks of depth
    if (!depthwise && chance(c, 10)) make_panels_short(c, &p);
  } while (dq_conv_macs(&p) > MOST_MACS || (!depthwise && p.groups == p.in_channels && p.groups == p.out_channels));
  p.activation = random_activation(c);
  return p;
}

// A depthwise convolution with a square kernel.
static dq_conv_parameters random_square(checker *c) {
  dq_conv_parameters p;
  do {
    p = random_conv(c, true);
    p.kernel_height = p.kernel_width = pick(c, (int64_t[]){3, 3, 5}, 3);
    p.stride_height = p.stride_width = between(c, 1, 2);
    p.dilation_height = p.dilation_width = p.stride_width == 1 ? pick(c, (int64_t[]){1, 1, 2, 3}, 4) : 1;
    p.out_height =
        output_size(p.in_height, p.kernel_height, p.stride_height, p.dilation_height, p.pad_top, p.pad_bottom);
    p.out_width = output_size(p.in_width, p.kernel_width, p.stride_width, p.dilation_width, p.pad_left, p.pad_right);
  } while (p.out_height < 1 || p.out_width < 1 || dq_conv_macs(&p) > MOST_MACS);
  return p;
}

static const char *conv_text(const dq_conv_parameters *p, char *text, size_t size) {
  snprintf(text, size,
           "batch %lld groups %lld channels %lld->%lld in %lldx%lld kernel %lldx%lld stride %lld,%lld "
           "dilation %lld,%lld pads %lld,%lld,%lld,%lld out %lldx%lld activation %d adds %d %d",
           (long long)p->batch, (long long)p->groups, (long long)p->in_channels, (long long)p->out_channels,
           (long long)p->in_height, (long long)p->in_width, (long long)p->kernel_height, (long long)p->kernel_width,
           (long long)p->stride_height, (long long)p->stride_width, (long long)p->dilation_height,
           (long long)p->dilation_width, (long long)p->pad_top, (long long)p->pad_left, (long long)p->pad_bottom,
           (long long)p->pad_right, (long long)p->out_height, (long long)p->out_width, (int)p->activation.kind, p->adds,
           (int)p->sum_activation.kind);
  return text;
}

static int64_t weight_count(const dq_conv_parameters *p) {
  return p->out_channels * (p->in_channels / p->groups) * p->kernel_height * p->kernel_width;
}
static int64_t input_count(const dq_conv_parameters *p) {
  return p->batch * p->in_channels * p->in_height * p->in_width;
}
static int64_t output_count(const dq_conv_parameters *p) {
  return p->batch * p->out_channels * p->out_height * p->out_width;
}

typedef struct plan_rooms {
  output_buffer packed, scratch;
} plan_rooms;

static plan_rooms rooms_new(const dq_conv_plan *plan, const dq_pool *pool) {
  return (plan_rooms){output_new(dq_conv_packed_bytes(plan), 0),
                      output_new(dq_conv_scratch_bytes(plan, dq_pool_threads(pool)), 0)};
}

// False when something was written outside.
static bool rooms_free(plan_rooms *rooms) {
  bool good = output_guards_hold(&rooms->packed) && output_guards_hold(&rooms->scratch);
  output_free(&rooms->packed);
  output_free(&rooms->scratch);
  return good;
}

// Sums in any order: 2 n roundings of products as large as the largest (Higham, Accuracy and Stability of
// Numerical Algorithms, 2002, section 3.1), n the terms of a sum and the bias.
static bool close_floats(const dq_conv_parameters *p, const float *expected, const float *found, const float *weights,
                         const float *input) {
  double terms = (double)(p->in_channels / p->groups * p->kernel_height * p->kernel_width) + 1;
  double bound = largest_magnitude(weights, weight_count(p)) * largest_magnitude(input, input_count(p)) * terms;
  bound = fmax(bound, largest_magnitude(expected, output_count(p))) * 2 * terms * 0x1p-24;
  for (int64_t i = 0; i < output_count(p); i++)
    if (fabs((double)expected[i] - (double)found[i]) > bound) return false;
  return true;
}

// What only float32 convolutions end with.
static void add_tail(checker *c, dq_conv_parameters *p) {
  if (chance(c, 25)) p->activation.kind = DQ_ACTIVATION_SILU;
  p->adds = chance(c, 25);
  p->sum_activation = random_activation(c);
}

static bool float_case(checker *c, const dq_conv_parameters *p, dq_pool *pool) {
  int mode = p->algorithm ? FLOATS_NORMAL : (int)between(c, 0, FLOAT_MODES - 1);
  input_buffer weights = input_new((size_t)weight_count(p) * 4);
  input_buffer bias = input_new((size_t)p->out_channels * 4);
  input_buffer input = input_new((size_t)input_count(p) * 4);
  input_buffer addend = input_new((size_t)output_count(p) * 4);
  fill_floats(c, addend.data, output_count(p), mode);
  fill_floats(c, weights.data, weight_count(p), mode);
  fill_floats(c, bias.data, p->out_channels, mode);
  fill_floats(c, input.data, input_count(p), mode);
  const float *used_bias = chance(c, 70) ? bias.data : NULL;
  output_buffer expected = output_new((size_t)output_count(p) * 4, 0);
  output_buffer output = output_new((size_t)output_count(p) * 4, (size_t)between(c, 0, 15) * 4);
  dq_conv_f32_reference(p, weights.data, used_bias, input.data, addend.data, expected.data);
  dq_conv_plan plan;
  bool good = dq_conv_f32_plan(p, c->cpu, &plan, NULL) == DQ_OK;
  if (good) {
    plan_rooms rooms = rooms_new(&plan, pool);
    dq_conv_f32_pack(&plan, weights.data, used_bias, rooms.packed.data);
    dq_conv_f32_run(&plan, rooms.packed.data, input.data, addend.data, output.data, rooms.scratch.data, pool);
    c->reached += plan.multiply == c->row ||
                  (p->algorithm == DQ_CONV_channels && dq_kernel_find(DQ_OPERATION_f32_columns, c->cpu) == c->row);
    good = (dq_conv_same_bits(p->algorithm) ? same_floats(expected.data, output.data, output_count(p))
                                            : close_floats(p, expected.data, output.data, weights.data, input.data)) &&
           output_guards_hold(&output);
    good = rooms_free(&rooms) && good;
  }
  output_free(&expected);
  output_free(&output);
  input_free(&weights);
  input_free(&bias);
  input_free(&input);
  input_free(&addend);
  return good;
}

// Halves and their float32 form.
static void fill_halves(checker *c, uint16_t *halves, float *wide, int64_t count, int mode) {
  fill_floats(c, wide, count, mode);
  for (int64_t i = 0; i < count; i++) {
    halves[i] = dq_float_to_half(wide[i]);
    wide[i] = dq_half_to_float(halves[i]);
  }
}

// Bits, or NaN for NaN.
static bool rounded_floats(const float *expected, const uint16_t *found, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (dq_float_to_half(expected[i]) != found[i] && !(isnan(expected[i]) && isnan(dq_half_to_float(found[i]))))
      return false;
  return true;
}

// The float32 convolution of the widened operands, then its activation, each rounded.
static void half_reference(const dq_conv_parameters *p, const float *weights, const float *bias, const float *input,
                           float *output) {
  dq_conv_parameters plain = *p;
  plain.activation.kind = DQ_ACTIVATION_NONE;
  dq_conv_f32_reference(&plain, weights, bias, input, NULL, output);
  for (int64_t i = 0; i < output_count(p); i++) output[i] = dq_activate(&p->activation, dq_round_to_half(output[i]));
}

// One output of float16 sums by their definition: chains of DQ_HALF_CHAIN words of two channels, of which a depthwise
// convolution has the first only.
static float half_sums_at(const dq_conv_parameters *p, const uint16_t *weights, const uint16_t *input, int64_t oy,
                          int64_t ox) {
  int64_t channels = p->in_channels / p->groups, taps = p->kernel_height * p->kernel_width;
  int64_t words = (channels + 1) / 2 * taps;
  float total = 0;
  for (int64_t from = 0; from < words; from += DQ_HALF_CHAIN) {
    uint16_t sums[2] = {0};
    for (int64_t k = from; k < words && k < from + DQ_HALF_CHAIN; k++)
      for (int64_t half = 0; half < 2; half++) {
        int64_t channel = k / taps * 2 + half, tap = k % taps;
        int64_t y = oy * p->stride_height + tap / p->kernel_width * p->dilation_height - p->pad_top;
        int64_t x = ox * p->stride_width + tap % p->kernel_width * p->dilation_width - p->pad_left;
        bool there = channel < channels && y >= 0 && y < p->in_height && x >= 0 && x < p->in_width;
        uint16_t value = there ? input[(channel * p->in_height + y) * p->in_width + x] : 0;
        sums[half] = dq_half_fma(value, channel < channels ? weights[channel * taps + tap] : 0, sums[half]);
      }
    float sum = dq_half_to_float(sums[0]);
    if (channels > 1 || p->groups != p->out_channels) sum += dq_half_to_float(sums[1]);
    total = from ? total + sum : sum;
  }
  return total;
}

static void half_sums_reference(const dq_conv_parameters *p, const uint16_t *weights, const float *bias,
                                const uint16_t *input, float *output) {
  int64_t in_group = p->in_channels / p->groups, out_group = p->out_channels / p->groups;
  int64_t depth = in_group * p->kernel_height * p->kernel_width, plane = p->in_height * p->in_width;
  for (int64_t n = 0; n < p->batch; n++)
    for (int64_t o = 0; o < p->out_channels; o++) {
      const uint16_t *from = input + (n * p->in_channels + o / out_group * in_group) * plane;
      for (int64_t i = 0; i < p->out_height * p->out_width; i++) {
        float sum = half_sums_at(p, weights + o * depth, from, i / p->out_width, i % p->out_width);
        *output++ = dq_activate(&p->activation, dq_round_to_half(bias ? sum + bias[o] : sum));
      }
    }
}

static bool half_case_of(checker *c, const dq_conv_parameters *p, bool half_sums, dq_pool *pool) {
  int mode = (int)between(c, 0, FLOAT_MODES - 1);
  const int64_t counts[] = {weight_count(p), p->out_channels, input_count(p)};
  input_buffer halves[3], wide[3];
  for (int i = 0; i < 3; i++) {
    halves[i] = input_new((size_t)counts[i] * 2);
    wide[i] = input_new((size_t)counts[i] * 4);
    fill_halves(c, halves[i].data, wide[i].data, counts[i], mode);
  }
  bool with_bias = chance(c, 70);
  output_buffer expected = output_new((size_t)output_count(p) * 4, 0);
  output_buffer output = output_new((size_t)output_count(p) * 2, (size_t)between(c, 0, 15) * 2);
  const float *bias = with_bias ? wide[1].data : NULL;
  if (half_sums) half_sums_reference(p, halves[0].data, bias, halves[2].data, expected.data);
  else half_reference(p, wide[0].data, bias, wide[2].data, expected.data);
  dq_conv_plan plan;
  bool good = dq_conv_f16_plan(p, half_sums, c->cpu, &plan, NULL) == DQ_OK;
  if (good) {
    plan_rooms rooms = rooms_new(&plan, pool);
    dq_conv_f16_pack(&plan, halves[0].data, with_bias ? halves[1].data : NULL, rooms.packed.data);
    dq_conv_f16_run(&plan, rooms.packed.data, halves[2].data, output.data, rooms.scratch.data, pool);
    c->reached += plan.expand == c->row || plan.multiply == c->row;
    good = rounded_floats(expected.data, output.data, output_count(p)) && output_guards_hold(&output);
    good = rooms_free(&rooms) && good;
  }
  output_free(&expected);
  output_free(&output);
  for (int i = 0; i < 3; i++) {
    input_free(&halves[i]);
    input_free(&wide[i]);
  }
  return good;
}

static bool half_case(checker *c, const dq_conv_parameters *p, dq_pool *pool) {
  return half_case_of(c, p, false, pool);
}
static bool half_sums_case(checker *c, const dq_conv_parameters *p, dq_pool *pool) {
  return half_case_of(c, p, true, pool);
}

// Weights of -64..64, the most that any two may have.
static void make_pairs_safe(const dq_conv_int8_parameters *q, uint8_t *weights, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    int value = (int)(weights[i] % 129) - 64;
    weights[i] = (uint8_t)(q->weight_signed ? value : value + 128);
  }
  if (!dq_conv_pairs_safe(q, weights)) abort();
}

// Small weights, of which many add up within 16 bits, and a few of any size, which may not even fit in pairs.
static void make_small(checker *c, const dq_conv_int8_parameters *q, uint8_t *weights, int64_t count) {
  int64_t size = between(c, 1, 60), large = between(c, 0, 4);
  for (int64_t i = 0; i < count; i++) {
    int64_t value = chance(c, (int)large) ? between(c, -128, 127) : between(c, -size, size);
    weights[i] = (uint8_t)(q->weight_signed ? value : value + 128);
  }
}

// What is asked of the weights.
typedef enum weight_kind { ANY_WEIGHTS, PAIRS_SAFE, SMALL_AND_KNOWN } weight_kind;

static bool integer_case(checker *c, const dq_conv_int8_parameters *given, weight_kind kind,
                         const dq_requantization *requantization, dq_pool *pool) {
  dq_conv_int8_parameters known = *given, *q = &known;
  const dq_conv_parameters *p = &q->shape;
  bool extremes = chance(c, 30);
  input_buffer weights = input_new((size_t)weight_count(p)), input = input_new((size_t)input_count(p));
  fill_bytes(c, weights.data, weight_count(p), extremes);
  if (kind == PAIRS_SAFE) make_pairs_safe(q, weights.data, weight_count(p));
  if (kind == SMALL_AND_KNOWN) make_small(c, q, weights.data, weight_count(p));
  if (kind == SMALL_AND_KNOWN) q->weights = weights.data;
  fill_bytes(c, input.data, input_count(p), extremes);
  size_t element = requantization ? 1 : 4, bytes = (size_t)output_count(p) * element;
  output_buffer expected = output_new(bytes, 0);
  output_buffer output = output_new(bytes, (size_t)between(c, 0, 15) * element);
  dq_conv_int8_reference(q, weights.data, input.data, expected.data, requantization);
  dq_conv_plan plan;
  bool good = dq_conv_int8_plan(q, c->cpu, &plan, NULL) == DQ_OK;
  if (good) {
    plan_rooms rooms = rooms_new(&plan, pool);
    dq_conv_int8_pack(&plan, weights.data, rooms.packed.data);
    dq_conv_int8_run(&plan, rooms.packed.data, input.data, output.data, requantization, rooms.scratch.data, pool);
    c->reached += plan.multiply == c->row || (requantization && plan.bytes == c->row);
    good = !memcmp(expected.data, output.data, bytes) && output_guards_hold(&output);
    good = rooms_free(&rooms) && good;
  }
  output_free(&expected);
  output_free(&output);
  input_free(&weights);
  input_free(&input);
  return good;
}

typedef bool float_check(checker *c, const dq_conv_parameters *p, dq_pool *pool);

static void check_shape(checker *c, dq_conv_parameters p, float_check *check) {
  char text[400];
  if (check == float_case) add_tail(c, &p);
  int pool = (int)between(c, 0, CHECK_POOLS - 1);
  report(c, check(c, &p, c->pools[pool]), "%s, %d threads", conv_text(&p, text, sizeof text), pool + 1);
}

static void check_float(checker *c, bool depthwise, float_check *check) {
  check_shape(c, random_conv(c, depthwise), check);
}

static void check_integer_shape(checker *c, dq_conv_parameters shape, weight_kind kind) {
  char text[400];
  dq_conv_int8_parameters q = {.shape = shape};
  int64_t channels = q.shape.out_channels;
  int pool = (int)between(c, 0, CHECK_POOLS - 1);
  q.input_signed = chance(c, 50);
  q.weight_signed = chance(c, 60);
  q.input_zero_point = (int32_t)between(c, q.input_signed ? -128 : 0, q.input_signed ? 127 : 255);
  int32_t *zeros = malloc((size_t)channels * sizeof *zeros);
  if (!zeros) abort();
  bool natural = kind != ANY_WEIGHTS || chance(c, 60);
  int32_t low = q.weight_signed ? -128 : 0, usual = q.weight_signed ? 0 : 128;
  for (int64_t i = 0; i < channels; i++) zeros[i] = natural ? usual : (int32_t)between(c, low, low + 255);
  q.weight_zero_points = zeros;
  q.pairs_safe = kind == PAIRS_SAFE;
  q.weight_zero_point_count = natural && q.weight_signed && chance(c, 50) ? 0 : chance(c, 50) ? 1 : channels;
  requantization_material m = requantization_new(
      c, channels, q.shape.in_channels / q.shape.groups * q.shape.kernel_height * q.shape.kernel_width);
  bool raw = chance(c, q.shape.out_channels == q.shape.groups ? 60 : 30);
  bool good = integer_case(c, &q, kind, raw ? NULL : &m.form, c->pools[pool]);
  report(c, good, "%s, input %s zero %d, weights %s zeros %lld (%s), %s, %d threads",
         conv_text(&q.shape, text, sizeof text), q.input_signed ? "s8" : "u8", q.input_zero_point,
         q.weight_signed ? "s8" : "u8", (long long)q.weight_zero_point_count, natural ? "natural" : "any",
         raw ? "int32" : "requantized", pool + 1);
  requantization_free(&m);
  free(zeros);
}

static void check_integer(checker *c, bool depthwise, weight_kind kind) {
  check_integer_shape(c, random_conv(c, depthwise), kind);
}

void check_conv_f32(checker *c) { check_float(c, false, float_case); }
// The algorithms that are taken when asked for only, over the same shapes.
void check_conv_matrix(checker *c) {
  char text[400];
  dq_conv_parameters p = random_conv(c, false);
  p.algorithm = (dq_conv_choice)between(c, DQ_CONV_im2col, DQ_CONV_CHOICES - 1);
  add_tail(c, &p);
  int pool = (int)between(c, 0, CHECK_POOLS - 1);
  report(c, float_case(c, &p, c->pools[pool]), "%s: %s, %d threads", dq_conv_choice_name(p.algorithm),
         conv_text(&p, text, sizeof text), pool + 1);
}
void check_conv_channels(checker *c) {
  dq_conv_parameters p = random_conv(c, false);
  if (chance(c, 50)) { // reads the input where it is
    p.kernel_height = p.kernel_width = p.stride_height = p.stride_width = 1;
    p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 0;
    p.out_height = p.in_height = between(c, 1, 12);
    p.out_width = p.in_width = between(c, 1, 12);
    if (chance(c, 20)) p.in_channels = 300 * p.groups; // several blocks of depth
  }
  p.algorithm = DQ_CONV_channels;
  check_shape(c, p, float_case);
}
void check_depthwise_f32(checker *c) { check_float(c, true, float_case); }
void check_window_f32(checker *c) { check_shape(c, random_square(c), float_case); }
void check_window_f16(checker *c) { check_shape(c, random_square(c), half_sums_case); }
void check_conv_f16(checker *c) { check_float(c, false, half_case); }
void check_conv_f16_sums(checker *c) { check_float(c, false, half_sums_case); }
void check_depthwise_f16(checker *c) { check_float(c, true, half_case); }
void check_conv_int8(checker *c) { check_integer(c, false, ANY_WEIGHTS); }
void check_conv_pixels(checker *c) {
  dq_conv_parameters p = random_conv(c, false);
  p.algorithm = DQ_CONV_pixels;
  check_integer_shape(c, p, ANY_WEIGHTS);
}
void check_depthwise_int8(checker *c) { check_integer(c, true, ANY_WEIGHTS); }
// Of square kernels, half with planes as wide as before and outputs that follow each other across the ends of rows.
void check_window_int8(checker *c) {
  dq_conv_parameters p = random_square(c);
  if (chance(c, 50)) {
    p.stride_height = p.stride_width = 1;
    p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = p.dilation_width * (p.kernel_width - 1) / 2;
    p.out_height = p.in_height;
    p.out_width = p.in_width;
  }
  check_integer_shape(c, p, ANY_WEIGHTS);
}
void check_conv_int8_pairs(checker *c) { check_integer(c, false, PAIRS_SAFE); }
void check_conv_int8_sums16(checker *c) { check_integer(c, false, SMALL_AND_KNOWN); }
