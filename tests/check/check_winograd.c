// Winograd's filtering: the same bits as its C rows, and within the bound of docs/NUMERICS.md.
#include "tests/check/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dq_conv_parameters random_shape(checker *c) {
  dq_conv_parameters p = {.batch = chance(c, 80) ? 1 : between(c, 0, 2),
                          .groups = 1,
                          .in_channels = pick(c, (int64_t[]){1, 2, 3, 8, 17}, 5),
                          .out_channels = pick(c, (int64_t[]){1, 3, 13, 14, 15, 29}, 6),
                          .kernel_height = 3,
                          .kernel_width = 3,
                          .stride_height = 1,
                          .stride_width = 1,
                          .dilation_height = 1,
                          .dilation_width = 1,
                          .activation = random_activation(c),
                          .algorithm = DQ_CONV_winograd};
  int64_t limit = chance(c, 20) ? 75 : 20;
  do {
    p.in_height = between(c, 1, limit);
    p.in_width = between(c, 1, limit);
    p.pad_top = pick(c, (int64_t[]){0, 1, 1, 2, 5}, 5);
    p.pad_left = pick(c, (int64_t[]){0, 1, 1, 2, 5}, 5);
    p.pad_bottom = pick(c, (int64_t[]){0, 1, 1, 4}, 4);
    p.pad_right = pick(c, (int64_t[]){0, 1, 1, 4}, 4);
    p.out_height = p.in_height + p.pad_top + p.pad_bottom - 2;
    p.out_width = p.in_width + p.pad_left + p.pad_right - 2;
  } while (p.out_height < 1 || p.out_width < 1);
  return p;
}

static int64_t outputs(const dq_conv_parameters *p) {
  return p->batch * p->out_channels * p->out_height * p->out_width;
}

typedef struct operands {
  input_buffer weights, bias, input;
  const float *used_bias;
} operands;

static bool run(checker *c, const dq_conv_parameters *p, unsigned cpu, const operands *from, dq_pool *pool,
                output_buffer *output) {
  dq_conv_plan plan;
  if (dq_conv_f32_plan(p, cpu, &plan, NULL) != DQ_OK) return false;
  if (strcmp(dq_conv_algorithm_name(&plan), "winograd")) return false;
  output_buffer packed = output_new(dq_conv_packed_bytes(&plan), 0);
  output_buffer scratch = output_new(dq_conv_scratch_bytes(&plan, dq_pool_threads(pool)), 0);
  dq_conv_f32_pack(&plan, from->weights.data, from->used_bias, packed.data);
  dq_conv_f32_run(&plan, packed.data, from->input.data, NULL, output->data, scratch.data, pool);
  c->reached += dq_kernel_find(c->row->operation, cpu) == c->row;
  bool good = output_guards_hold(&packed) && output_guards_hold(&scratch) && output_guards_hold(output);
  output_free(&packed);
  output_free(&scratch);
  return good;
}

// Every output within the bound for the sum of the magnitudes of its products when both are at their
// largest; an activation does not make differences larger.
static bool accurate(const dq_conv_parameters *p, const operands *from, const float *output) {
  dq_conv_parameters exact = *p;
  exact.algorithm = DQ_CONV_SAME_BITS;
  float *expected = malloc((size_t)outputs(p) * sizeof *expected + 1);
  if (!expected) abort();
  dq_conv_f32_reference(&exact, from->weights.data, from->used_bias, from->input.data, NULL, expected);
  double largest = largest_magnitude(from->input.data, p->batch * p->in_channels * p->in_height * p->in_width);
  double weight = largest_magnitude(from->weights.data, p->out_channels * p->in_channels * 9);
  double bound = DQ_WINOGRAD_ERROR * largest * weight * 9 * (double)p->in_channels;
  bool good = true;
  for (int64_t i = 0; i < outputs(p); i++) good &= fabs((double)output[i] - (double)expected[i]) <= bound;
  free(expected);
  return good;
}

static bool one_case(checker *c, const dq_conv_parameters *p, dq_pool *pool) {
  int mode = chance(c, 80) ? FLOATS_NORMAL : FLOATS_TINY;
  int64_t weights = p->out_channels * p->in_channels * 9;
  int64_t inputs = p->batch * p->in_channels * p->in_height * p->in_width;
  operands from = {input_new((size_t)weights * 4), input_new((size_t)p->out_channels * 4),
                   input_new((size_t)inputs * 4), NULL};
  fill_floats(c, from.weights.data, weights, mode);
  fill_floats(c, from.bias.data, p->out_channels, mode);
  fill_floats(c, from.input.data, inputs, mode);
  if (chance(c, 70)) from.used_bias = from.bias.data;
  output_buffer expected = output_new((size_t)outputs(p) * 4, 0);
  output_buffer found = output_new((size_t)outputs(p) * 4, (size_t)between(c, 0, 15) * 4);
  bool good = run(c, p, 0, &from, NULL, &expected) && run(c, p, c->cpu, &from, pool, &found);
  good = good && same_floats(expected.data, found.data, outputs(p));
  good = good && (mode != FLOATS_NORMAL || accurate(p, &from, found.data));
  output_free(&expected);
  output_free(&found);
  input_free(&from.weights);
  input_free(&from.bias);
  input_free(&from.input);
  return good;
}

static void report_shape(checker *c, bool good, const dq_conv_parameters *p, const char *type, int threads) {
  report(c, good, "%s, batch %lld channels %lld->%lld in %lldx%lld pads %lld,%lld,%lld,%lld out %lldx%lld, %d threads",
         type, (long long)p->batch, (long long)p->in_channels, (long long)p->out_channels, (long long)p->in_height,
         (long long)p->in_width, (long long)p->pad_top, (long long)p->pad_left, (long long)p->pad_bottom,
         (long long)p->pad_right, (long long)p->out_height, (long long)p->out_width, threads);
}

void check_winograd(checker *c) {
  dq_conv_parameters p = random_shape(c);
  int pool = (int)between(c, 0, CHECK_POOLS - 1);
  report_shape(c, one_case(c, &p, c->pools[pool]), &p, "float32", pool + 1);
}

// ---- 8 bits: the sums of the reference, whatever the operands ----
static bool integer_case(checker *c, dq_conv_int8_parameters *q, const dq_requantization *requantization,
                         dq_pool *pool) {
  const dq_conv_parameters *p = &q->shape;
  int64_t weight_count = p->out_channels * p->in_channels * 9;
  int64_t input_count = p->batch * p->in_channels * p->in_height * p->in_width;
  bool extremes = chance(c, 40);
  input_buffer weights = input_new((size_t)weight_count), input = input_new((size_t)input_count);
  fill_bytes(c, weights.data, weight_count, extremes);
  fill_bytes(c, input.data, input_count, extremes);
  if (chance(c, 70)) q->weights = weights.data;
  size_t element = requantization ? 1 : 4, bytes = (size_t)outputs(p) * element;
  output_buffer expected = output_new(bytes, 0);
  output_buffer found = output_new(bytes, (size_t)between(c, 0, 15) * element);
  dq_conv_int8_reference(q, weights.data, input.data, expected.data, requantization);
  dq_conv_plan plan;
  bool good = dq_conv_int8_plan(q, c->cpu, &plan, NULL) == DQ_OK;
  if (good) {
    output_buffer packed = output_new(dq_conv_packed_bytes(&plan), 0);
    output_buffer scratch = output_new(dq_conv_scratch_bytes(&plan, dq_pool_threads(pool)), 0);
    dq_conv_int8_pack(&plan, weights.data, packed.data);
    dq_conv_int8_run(&plan, packed.data, input.data, found.data, requantization, scratch.data, pool);
    bool filtered = !strcmp(dq_conv_algorithm_name(&plan), "winograd");
    c->reached += filtered && dq_kernel_find(c->row->operation, plan.cpu) == c->row;
    good = !memcmp(expected.data, found.data, bytes) && output_guards_hold(&found);
    good = good && output_guards_hold(&packed) && output_guards_hold(&scratch);
    output_free(&packed);
    output_free(&scratch);
  }
  output_free(&expected);
  output_free(&found);
  input_free(&weights);
  input_free(&input);
  return good;
}

void check_winograd_int8(checker *c) {
  dq_conv_int8_parameters q = {.shape = random_shape(c), .input_signed = chance(c, 50), .weight_signed = chance(c, 50)};
  if (chance(c, 20)) q.shape.in_channels = between(c, 30, 90); // on both sides of the bound for 4x4 outputs
  if (chance(c, 4)) q.shape.in_channels = between(c, 64, 70), q.shape.out_channels = between(c, 64, 70); // with VNNI
  int32_t low = q.weight_signed ? -128 : 0, zero = chance(c, 50) ? low + 128 : (int32_t)between(c, low, low + 255);
  q.weight_zero_points = &zero;
  q.weight_zero_point_count = 1;
  q.input_zero_point = (int32_t)between(c, q.input_signed ? -128 : 0, q.input_signed ? 127 : 255);
  requantization_material m = requantization_new(c, q.shape.out_channels, q.shape.in_channels * 9);
  int pool = (int)between(c, 0, CHECK_POOLS - 1);
  bool good = integer_case(c, &q, chance(c, 40) ? NULL : &m.form, c->pools[pool]);
  report_shape(c, good, &q.shape, "8 bits", pool + 1);
  requantization_free(&m);
}
