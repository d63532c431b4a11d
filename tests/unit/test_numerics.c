// The cases that docs/NUMERICS.md works by hand and no other test does: parameters, weights and biases
// of affine quantization, percentiles on the histogram, one requantized sum, bytes of casts.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "calib/calib.h"
#include "lib/base/cpu.h"
#include "lib/kernels/conv/conv.h"
#include "quant/amp/amp.h"
#include "quant/numeric/parameters.h"
#include "tests/unit/picture_counts.h"

#define NEAR(a, b) assert_true(fabs((double)(a) - (double)(b)) < 1e-7)

static int start(void **state) { return (*state = dq_arena_new(0)) ? 0 : -1; }
static int end(void **state) { return dq_arena_free(*state), 0; }

// -1...3 in 255 steps: 0 lies at 63.75, which rounds to 64.
static void scale_and_zero_point(void **state) {
  (void)state;
  dq_parameters p = dq_parameters_for(-1, 3, DQ_U8, false);
  assert_true(p.scale == (float)(4.0 / 255) && p.zero_point == 64);
  assert_int_equal(dq_quantize_number(1, &p), 128);
  assert_int_equal(dq_quantize_number(-2, &p), 0);
  assert_int_equal(dq_quantize_number(4, &p), 255);
  p = dq_parameters_for(-1, 3, DQ_I8, false);
  assert_true(p.scale == (float)(4.0 / 255) && p.zero_point == -64);
  p = dq_parameters_for(-1, 3, DQ_I8, true);
  assert_true(p.scale == (float)(6.0 / 254) && p.zero_point == 0);
  p = dq_parameters_for(2, 3, DQ_U8, false); // widened to 0
  assert_true(p.scale == (float)(3.0 / 255) && p.zero_point == 0);
  p = dq_parameters_for(0, 0, DQ_U8, false);
  assert_true(p.scale == 1 && p.zero_point == 0);
  p = dq_parameters_for(0, 255 * 0x1p-126f, DQ_U8, false); // the least scale
  assert_true(p.scale == 0x1p-126f && p.zero_point == 0);
  p = dq_parameters_for(0, nextafterf(255 * 0x1p-126f, 0), DQ_U8, false); // counts as no width
  assert_true(p.scale == 1 && p.zero_point == 0);
  p = dq_parameters_for(-0x1p-130f, 0x1p-130f, DQ_U8, true);
  assert_true(p.scale == 1 && p.zero_point == 128);
}

// Steps of 1/2 around zero point 3 or -2: ties go to even, ends stay inside of the type, in the same array too. The
// last numbers lie in a second block.
static void numbers_on_the_grid(void **state) {
  (void)state;
  enum { COUNT = 5000 };
  const float first[] = {0.25f, 0.75f, -0.25f, 1.1f, -9, 200}, last[] = {0.3f, -0.8f};
  const float with_u8[] = {0, 1, 0, 1, -1.5f, 126}, with_i8[] = {0, 1, 0, 1, -9, 64.5f}, grid[] = {0.5f, -1};
  static float numbers[COUNT], rounded[COUNT];
  memcpy(numbers, first, sizeof first);
  memcpy(numbers + COUNT - 2, last, sizeof last);
  dq_parameters p = {0.5f, 3, DQ_U8};
  dq_round_numbers(&p, dq_cpu_detect(), numbers, rounded, COUNT);
  for (int i = 0; i < 6; i++) assert_true(rounded[i] == with_u8[i]);
  assert_true(rounded[COUNT - 2] == grid[0] && rounded[COUNT - 1] == grid[1]);
  p = (dq_parameters){0.5f, -2, DQ_I8};
  dq_round_numbers(&p, 0, numbers, numbers, COUNT);
  for (int i = 0; i < 6; i++) assert_true(numbers[i] == with_i8[i]);
  assert_true(numbers[COUNT - 2] == grid[0] && numbers[COUNT - 1] == grid[1]);
}

// Slices whose scale would be below the smallest normal number count as zeros.
static void least_scales_of_weights(void **state) {
  dq_tensor *weight = dq_tensor_new(*state, DQ_F32, 2, (int64_t[]){3, 2});
  const float least = 127 * 0x1p-126f;
  memcpy(weight->data, (float[]){least, -0x1p-126f, -nextafterf(least, 0), 0x1p-126f, 0, -1}, 24);
  dq_quantized_weight result;
  assert_int_equal(dq_quantize_weight(weight, &dq_weight_type_int8, 0, (float[]){0, 0, 0.5f}, *state, &result, NULL),
                   DQ_OK);
  assert_memory_equal(result.scales->data, ((float[]){0x1p-126f, 1, 0.5f}), 12);
  assert_memory_equal(result.elements->data, ((int8_t[]){127, -1, 0, 0, 0, -2}), 6);
}

static void weights_and_biases(void **state) {
  dq_tensor *weight = dq_tensor_new(*state, DQ_F32, 2, (int64_t[]){2, 2});
  memcpy(weight->data, (float[]){0.5f, -1.27f, 0, 0}, 16);
  dq_quantized_weight result;
  assert_int_equal(dq_quantize_weight(weight, &dq_weight_type_int8, 0, NULL, *state, &result, NULL), DQ_OK);
  NEAR(((float *)result.scales->data)[0], 0.01);
  assert_true(((float *)result.scales->data)[1] == 1);
  assert_memory_equal(result.elements->data, ((int8_t[]){50, -127, 0, 0}), 4);
  dq_tensor *bias = dq_tensor_new(*state, DQ_F32, 1, (int64_t[]){2}), *elements, *scales;
  memcpy(bias->data, (float[]){0.25f, -3.5f}, 8);
  float *sw = result.scales->data;
  sw[0] = 0.25f, sw[1] = 0.5f;
  assert_int_equal(dq_quantize_bias(bias, 0.125f, result.scales, *state, &elements, &scales, NULL), DQ_OK);
  assert_memory_equal(elements->data, ((int32_t[]){8, -56}), 8);
  float least, large = 1024;
  dq_bias_scale_floor(&large, 1, 0x1p-16f, &least);
  assert_true(least == 0x1p-4f);
}

// Channels without weights, or with ones too small for a scale: the scale holds the bias, 2^30 steps of sx sw = 2^-32.
static void biases_without_weights(void **state) {
  for (int axis = -1; axis < 1; axis++) {
    const float given[] = {0.25f, -0.25f, 0, 0.25f}, sx = 0.125f;
    dq_tensor *weight = dq_tensor_new(*state, DQ_F32, 2, (int64_t[]){4, 1}), *elements, *scales;
    memcpy(weight->data, (float[]){0, 1e-37f, 0, axis < 0 ? 0 : 1.27f}, 16);
    dq_tensor *bias = dq_tensor_new(*state, DQ_F32, 1, (int64_t[]){4});
    memcpy(bias->data, given, sizeof given);
    float least[4];
    dq_bias_scale_floor(given, 4, sx, least);
    assert_true(least[0] == 0x1p-29f && least[2] == 0);
    dq_quantized_weight result;
    assert_int_equal(dq_quantize_weight(weight, &dq_weight_type_int8, axis, least, *state, &result, NULL), DQ_OK);
    assert_memory_equal(result.elements->data, ((int8_t[]){0, 0, 0, axis < 0 ? 0 : 127}), 4);
    assert_int_equal(dq_quantize_bias(bias, sx, result.scales, *state, &elements, &scales, NULL), DQ_OK);
    const int32_t *steps = elements->data;
    assert_true(steps[0] == 1 << 30 && steps[1] == -(1 << 30) && steps[2] == 0);
    for (int c = 0; c < 4; c++)
      assert_true(fabs(steps[c] * (double)((const float *)scales->data)[c] - (double)given[c]) < 1e-3);
  }
}

// A product of scales below all float32 numbers leaves no bias, and no NaN.
static void bias_of_no_scale(void **state) {
  dq_tensor *bias = dq_tensor_new(*state, DQ_F32, 1, (int64_t[]){1}), *elements, *scales;
  dq_tensor *sw = dq_tensor_scalar_f32(*state, 0x1p-120f);
  assert_int_equal(dq_quantize_bias(bias, 0x1p-120f, sw, *state, &elements, &scales, NULL), DQ_OK);
  assert_int_equal(dq_tensor_get_i64(elements, 0), 0);
}

// 1, 2, 3, 4 in bins of 2^-9: the share q is reached in a bin by its upper end.
static void percentiles(void **state) {
  (void)state;
  dq_histogram histogram;
  const float values[] = {1, 2, 3, 4};
  dq_histogram_init(&histogram, NULL);
  add_values(&histogram, values, 4);
  assert_int_equal(histogram.exponent, -9);
  assert_true(dq_histogram_quantile(&histogram, 0.25) == 1 + 0x1p-9);
  assert_true(dq_histogram_quantile(&histogram, 0.75) == 3 + 0x1p-9);
  dq_range_pair all = dq_observer_find("minmax")->range(&histogram, &(dq_range_options){.percentile = 0});
  assert_true(all.low == 1 && all.high == 4);
  dq_range_pair half = dq_observer_find("percentile")->range(&histogram, &(dq_range_options){.percentile = 50});
  assert_true(half.low == 1 + 0x1p-9f && half.high == 3 + 0x1p-9f);
  const float larger = 100; // bins become 2^-5 wide; 1...4 stay apart
  add_values(&histogram, &larger, 1);
  assert_int_equal(histogram.exponent, -5);
  assert_true(dq_histogram_quantile(&histogram, 0.4) == 2 + 0x1p-5);
  dq_histogram_deinit(&histogram);
}

// (10-10) 1 + (20-10) (-2) + (30-10) 3 + (40-10) (-4) = -80; + 98 = 18; 18 / 4 = 4.5, to 4; + 3.
static void integer_sum(void **state) {
  (void)state;
  dq_conv_int8_parameters q = {.shape = {.batch = 1,
                                         .groups = 1,
                                         .in_channels = 1,
                                         .out_channels = 1,
                                         .in_height = 2,
                                         .in_width = 2,
                                         .kernel_height = 2,
                                         .kernel_width = 2,
                                         .stride_height = 1,
                                         .stride_width = 1,
                                         .dilation_height = 1,
                                         .dilation_width = 1,
                                         .out_height = 1,
                                         .out_width = 1},
                               .weight_signed = true,
                               .input_zero_point = 10};
  const int8_t weights[] = {1, -2, 3, -4};
  const uint8_t input[] = {10, 20, 30, 40};
  int32_t sum, bias = 98;
  uint8_t output;
  float quarter = 0.25f;
  dq_requantization r = {&quarter, 1, &bias, 3, 0, 255, false};
  for (int native = 0; native < 2; native++) {
    dq_conv_plan plan;
    assert_int_equal(dq_conv_int8_plan(&q, native ? dq_cpu_detect() : 0, &plan, NULL), DQ_OK);
    void *packed = aligned_alloc(64, dq_conv_packed_bytes(&plan) / 64 * 64 + 64);
    void *scratch = aligned_alloc(64, dq_conv_scratch_bytes(&plan, 1) / 64 * 64 + 64);
    assert_true(packed && scratch);
    dq_conv_int8_pack(&plan, weights, packed);
    dq_conv_int8_run(&plan, packed, input, &sum, NULL, scratch, NULL);
    assert_int_equal(sum, -80);
    dq_conv_int8_run(&plan, packed, input, &output, &r, scratch, NULL);
    assert_int_equal(output, 7);
    free(packed);
    free(scratch);
  }
}

static dq_value *declared(dq_graph *graph, const char *name, int64_t side) {
  dq_value *value = dq_graph_add_value(graph, name);
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 4, dq_dimension);
  for (int i = 0; i < 4; i++) dims[i].size = i == 0 ? 1 : i == 1 ? 2 : side;
  value->type = DQ_F32, value->rank = 4, value->dims = dims;
  return value;
}

// One convolution, 2x6x6 to 2x4x4: a cast in front of 72 values and one behind 32, 6 bytes each.
static void casts_of_one_convolution(void **state) {
  (void)state;
  dq_graph *graph = dq_graph_new(0);
  dq_value *x = declared(graph, "x", 6), *y = declared(graph, "y", 4);
  dq_tensor *elements = dq_tensor_new(graph->arena, DQ_F32, 4, (int64_t[]){2, 2, 3, 3});
  ((float *)elements->data)[0] = 1e-8f; // below half of the least float16
  ((float *)elements->data)[1] = 1;     // a layer of tiny results alone would stay in float32
  dq_value *w = dq_graph_add_constant(graph, "w", elements), *inputs[] = {x, w};
  x->is_input = y->is_output = true;
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x), graph->input_count = 1;
  graph->outputs = dq_arena_copy(graph->arena, &y, sizeof y), graph->output_count = 1;
  graph->ir_version = 8;
  assert_int_equal(dq_graph_set_opset(graph, "", 13, NULL), DQ_OK);
  assert_non_null(dq_graph_add_node(graph, 0, "Conv", "conv", 2, inputs, 1, &y));
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_context context;
  assert_int_equal(dq_context_init(&context, 1, ~0u, NULL), DQ_OK);
  dq_amp_options options = {0};
  dq_amp_report report;
  assert_int_equal(dq_amp_apply(graph, &options, &report, &context, NULL), DQ_OK);
  assert_int_equal(report.casts, 2);
  assert_int_equal(report.cast_bytes, (72 + 32) * 6);
  assert_int_equal(report.weights, 36);
  assert_int_equal(report.lost_to_zero, 1);
  dq_graph_free(graph);
  dq_context_deinit(&context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(scale_and_zero_point),
                                     cmocka_unit_test(numbers_on_the_grid),
                                     cmocka_unit_test(weights_and_biases),
                                     cmocka_unit_test(biases_without_weights),
                                     cmocka_unit_test(bias_of_no_scale),
                                     cmocka_unit_test(least_scales_of_weights),
                                     cmocka_unit_test(percentiles),
                                     cmocka_unit_test(integer_sum),
                                     cmocka_unit_test(casts_of_one_convolution)};
  return cmocka_run_group_tests(tests, start, end);
}
