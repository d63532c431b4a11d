// Integer steps of products and averages: with scales that are powers of two their sums are exact in float too, so
// they give the bits of the operators one by one. Sums by hand, and sums that int32 does not hold.
#include <math.h>

#include "tests/unit/quantized_network.h"

static affine binary_parameters(network *n, int power) {
  affine p = random_parameters(n);
  p.scale = number(n, ldexpf(1, power));
  return p;
}

static dq_value *dequantized_weight(network *n, int rank, const int64_t *dims, int axis) {
  dq_tensor *w = dq_tensor_new(n->graph->arena, DQ_I8, rank, dims);
  int64_t channels = axis < 0 ? 1 : dims[axis];
  dq_tensor *scales = dq_tensor_new(n->graph->arena, DQ_F32, axis < 0 ? 0 : 1, &channels);
  dq_tensor *zeros = dq_tensor_new(n->graph->arena, DQ_I8, axis < 0 ? 0 : 1, &channels);
  for (int64_t i = 0; i < dq_tensor_count(w); i++)
    ((int8_t *)w->data)[i] = (int8_t)(dq_random_below(&n->random, 255) - 127);
  for (int64_t c = 0; c < channels; c++) ((float *)scales->data)[c] = ldexpf(1, -7 - (int)(c % 3));
  dq_value *result = NODE(n, "DequantizeLinear", dq_graph_add_constant(n->graph, "w", w),
                          dq_graph_add_constant(n->graph, "sw", scales), dq_graph_add_constant(n->graph, "zw", zeros));
  if (axis >= 0) dq_node_set_int(n->graph, last_node(n), "axis", axis);
  return result;
}

// A bias of int32 behind DequantizeLinear, for a weight with scales along an axis and x in steps of 2^-5.
static dq_value *dequantized_bias(network *n, int64_t channels, bool by_channel) {
  dq_tensor *b = dq_tensor_new(n->graph->arena, DQ_I32, 1, &channels);
  dq_tensor *scales = dq_tensor_new(n->graph->arena, DQ_F32, 1, &channels);
  for (int64_t c = 0; c < channels; c++) {
    ((int32_t *)b->data)[c] = (int32_t)dq_random_below(&n->random, 4000) - 2000;
    ((float *)scales->data)[c] = ldexpf(1, -12 - (by_channel ? (int)(c % 3) : 0));
  }
  dq_value *result = NODE(n, "DequantizeLinear", dq_graph_add_constant(n->graph, "b", b),
                          dq_graph_add_constant(n->graph, "sb", scales));
  dq_node_set_int(n->graph, last_node(n), "axis", 0);
  return result;
}

static void matrix_by_columns(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 3, (int64_t[]){2, 5, 37});
  quantized_with(n, NODE(n, "MatMul", x, dequantized_weight(n, 2, (int64_t[]){37, 9}, 1)), binary_parameters(n, -3));
}
static void matrices_of_two_activations(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 3, 5, 37});
  dq_value *y = input_with(n, binary_parameters(n, -6), 4, (int64_t[]){2, 1, 37, 4});
  quantized_with(n, NODE(n, "Relu", NODE(n, "MatMul", x, y)), binary_parameters(n, -3));
}
static void gemm(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 2, (int64_t[]){3, 40});
  dq_value *w = dequantized_weight(n, 2, (int64_t[]){7, 40}, 0);
  dq_value *y = NODE(n, "Gemm", x, w, dequantized_bias(n, 7, true));
  SET_INT("transB", 1);
  quantized_with(n, y, binary_parameters(n, -3));
}

// The last product of a classifier: its result is not quantized.
static void gemm_to_float(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 2, (int64_t[]){3, 40});
  dq_value *w = dequantized_weight(n, 2, (int64_t[]){7, 40}, 0);
  output(n, NODE(n, "Gemm", x, w, dequantized_bias(n, 7, true)));
  SET_INT("transB", 1);
}
static void matrix_to_float(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 3, (int64_t[]){2, 5, 37});
  dq_value *y = NODE(n, "MatMul", x, dequantized_weight(n, 2, (int64_t[]){37, 9}, -1));
  output(n, y);
  output(n, NODE(n, "Relu", y));
}
static void matrices_to_float(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 3, 5, 37});
  dq_value *y = input_with(n, binary_parameters(n, -6), 4, (int64_t[]){2, 1, 37, 4});
  output(n, NODE(n, "MatMul", x, y));
}
static void convolution_to_float(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 6, 7, 9});
  dq_value *w = dequantized_weight(n, 4, (int64_t[]){5, 6, 3, 3}, 0);
  output(n, NODE(n, "Conv", x, w, dequantized_bias(n, 5, true)));
  SET("pads", 1, 0, 1, 1);
}
static void pixels_to_float(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 6, 7, 9});
  output(n, NODE(n, "Conv", x, dequantized_weight(n, 4, (int64_t[]){70, 6, 1, 1}, -1)));
}

// Stays in float, where the Relu is its end.
static void convolution_with_an_end(void **state) {
  (void)state;
  network n = open_network(3);
  dq_value *x = input_with(&n, binary_parameters(&n, -5), 4, (int64_t[]){2, 6, 7, 9});
  output(&n, NODE(&n, "Relu", NODE(&n, "Conv", x, dequantized_weight(&n, 4, (int64_t[]){5, 6, 1, 1}, 0))));
  expect_exact(&n, 1, "Conv with Relu");
}

static void transposed(network *n, int64_t kernel, int64_t stride, int64_t group, int64_t pad, int64_t extra,
                       bool by_channel) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 6, 4, 5});
  int64_t outputs = 4 / group;
  dq_value *w = dequantized_weight(n, 4, (int64_t[]){6, outputs, kernel, kernel}, by_channel ? 1 : -1);
  dq_value *b = group == 1 || !by_channel ? dequantized_bias(n, 4, by_channel) : NULL;
  dq_value *y = b ? NODE(n, "ConvTranspose", x, w, b) : NODE(n, "ConvTranspose", x, w);
  SET("strides", stride, stride);
  SET("pads", pad, 0, pad, pad);
  SET("output_padding", extra, 0);
  SET_INT("group", group);
  quantized_with(n, NODE(n, "Relu", y), binary_parameters(n, -3));
}
#define TRANSPOSED(name, ...)                                                                                          \
  static void name(network *n) { transposed(n, __VA_ARGS__); }
TRANSPOSED(transposed_2_2, 2, 2, 1, 0, 0, true)
TRANSPOSED(transposed_3_2, 3, 2, 1, 1, 1, false)
TRANSPOSED(transposed_4_2_in_groups, 4, 2, 2, 1, 0, true)
TRANSPOSED(transposed_5_3_in_groups, 5, 3, 2, 2, 1, false)
TRANSPOSED(transposed_3_1, 3, 1, 1, 1, 0, true)
TRANSPOSED(transposed_1_2, 1, 2, 1, 0, 1, true)

static void products(void **state) {
  (void)state;
  EXACT(matrix_by_columns);
  EXACT(matrices_of_two_activations);
  EXACT(gemm);
  EXACT(gemm_to_float);
  EXACT(matrix_to_float);
  EXACT(matrices_to_float);
  EXACT(convolution_to_float);
  EXACT(pixels_to_float);
  EXACT(transposed_2_2);
  EXACT(transposed_3_2);
  EXACT(transposed_4_2_in_groups);
  EXACT(transposed_5_3_in_groups);
  EXACT(transposed_3_1);
  EXACT(transposed_1_2);
}

static void averages_of_four(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 3, 8, 6});
  dq_value *y = NODE(n, "AveragePool", x);
  SET("kernel_shape", 2, 2);
  SET("strides", 2, 1);
  quantized_with(n, NODE(n, "Clip", y, number(n, -1), number(n, 1)), binary_parameters(n, -4));
}
static void averages_of_lines(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 3, (int64_t[]){2, 3, 9});
  dq_value *y = NODE(n, "AveragePool", x);
  SET("kernel_shape", 4);
  SET("dilations", 2);
  quantized_with(n, y, binary_parameters(n, -4));
}
// More planes than are averaged together, each of one window.
static void averages_of_windows(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 45, 3, 5});
  dq_value *y = NODE(n, "AveragePool", x);
  SET("kernel_shape", 3, 5);
  quantized_with(n, NODE(n, "Clip", y, number(n, -1), number(n, 1)), binary_parameters(n, -4));
}
// Scales whose product, or quotient by that of the result, float32 does not hold: 0 times infinity is no number.
static void scales_out_of_range(void **state) {
  (void)state;
  static const float scales[][3] = {
      {1e30f, 1e30f, 0.5f}, {1e30f, 1, 1e-30f}, {1e-30f, 1e-30f, 0.5f}, {1e30f, 1e30f, 0}};
  static const int left[] = {2, 1, 2, 1}; // the second is scaled to float32
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    network n = open_network(i);
    dq_value *x = input_with(&n, parameters(&n, scales[i][0], DQ_U8, 148), 2, (int64_t[]){3, 4});
    dq_value *zero = last_node(&n)->inputs[2];
    dq_value *w = dequantized_weight(&n, 2, (int64_t[]){4, 5}, -1);
    *(float *)last_node(&n)->inputs[1]->constant->data = scales[i][1];
    dq_value *zeros = NODE(&n, "Mul", x, number(&n, 0)), *p = number(&n, scales[i][0]);
    dq_value *q = NODE(&n, "QuantizeLinear", zeros, p, zero);
    dq_value *y = NODE(&n, "MatMul", NODE(&n, "DequantizeLinear", q, p, zero), w);
    if (scales[i][2] > 0) quantized_with(&n, y, parameters(&n, scales[i][2], DQ_U8, 7));
    else output(&n, y);
    expect_exact(&n, left[i], "scales out of range");
  }
  network n = open_network(1);
  dq_value *x = input_with(&n, parameters(&n, 1e30f, DQ_U8, 0), 4, (int64_t[]){1, 1, 2, 2});
  quantized_with(&n, NODE(&n, "GlobalAveragePool", NODE(&n, "Relu", x)), parameters(&n, 1e-30f, DQ_U8, 0));
  expect_exact(&n, 2, "an average out of range");
}

static void averages_of_planes(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 3, 8, 4});
  quantized_with(n, NODE(n, "GlobalAveragePool", x), binary_parameters(n, -6));
}

// A window of as many elements as sums of 32 bits take.
static void averages_of_the_most(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){1, 1, 2048, 2048});
  dq_value *y = NODE(n, "AveragePool", x);
  SET("kernel_shape", 2048, 2048);
  quantized_with(n, y, binary_parameters(n, -6));
}

// Windows at the edge hold fewer elements, or count the padding: one step from the float average at most.
static void averages_at_edges(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 8; seed++) {
    network n = open_network(seed);
    dq_value *y = NODE(&n, "AveragePool", picture(&n));
    dq_node *pool = last_node(&n);
    dq_node_set_ints(n.graph, pool, "kernel_shape", (int64_t[]){3, 3}, 2);
    dq_node_set_ints(n.graph, pool, "strides", (int64_t[]){2, 2}, 2);
    dq_node_set_ints(n.graph, pool, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    dq_node_set_int(n.graph, pool, "count_include_pad", (int64_t)seed % 2);
    dq_node_set_int(n.graph, pool, "ceil_mode", (int64_t)seed / 2 % 2);
    quantized(&n, y);
    assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
    dq_arena *arena = dq_arena_new(0);
    outcome expected, found[WAYS];
    run_network(&n, &(dq_session_options){.plain = true}, &contexts[0], arena, &expected);
    for (int way = 0; way < WAYS; way++) {
      run_network(&n, NULL, &contexts[way], arena, &found[way]);
      expect_same(&n, &found[0], &found[way], "edges");
      assert_int_equal(found[way].conversions, 0);
    }
    for (int64_t i = 0; i < dq_tensor_count(&expected.outputs[0]); i++)
      assert_true(fabs(dq_tensor_get(&expected.outputs[0], i) - dq_tensor_get(&found[0].outputs[0], i)) <= 1);
    dq_arena_free(arena);
    dq_graph_free(n.graph);
  }
}

// Forms that are written in ways of their own: factors beside the sums, and a bias in steps that sums do not have, run
// in float; a Relu in front of a high zero point is a bound of the integers, which a Concat behind it copies.
static void gemm_with_factors(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 2, (int64_t[]){3, 40});
  dq_value *y = NODE(n, "Gemm", x, dequantized_weight(n, 2, (int64_t[]){7, 40}, 0), dequantized_bias(n, 7, true));
  SET_INT("transB", 1);
  dq_node_set_float(n->graph, last_node(n), "alpha", -0.5f);
  dq_node_set_float(n->graph, last_node(n), "beta", 3);
  quantized_with(n, y, binary_parameters(n, -3));
}
static void bias_of_other_steps(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 6, 7, 9});
  dq_value *w = dequantized_weight(n, 4, (int64_t[]){5, 6, 3, 3}, 0), *b = dequantized_bias(n, 5, true);
  ((float *)last_node(n)->inputs[1]->constant->data)[2] *= 4;
  quantized_with(n, NODE(n, "Conv", x, w, b), binary_parameters(n, -3));
}
static void joined_behind_zero_points(network *n) {
  dq_value *x = input_with(n, binary_parameters(n, -5), 4, (int64_t[]){2, 6, 7, 9});
  const affine high = parameters(n, 0.125f, DQ_U8, 200), low = parameters(n, 0.25f, DQ_I8, -128);
  dq_value *y = NODE(n, "Relu", NODE(n, "Conv", x, dequantized_weight(n, 4, (int64_t[]){5, 6, 1, 1}, 0)));
  dq_value *q = NODE(n, "QuantizeLinear", y, high.scale, high.zero_point);
  dq_value *all = NODE(n, "Concat", NODE(n, "DequantizeLinear", q, high.scale, high.zero_point), x);
  SET_INT("axis", 1);
  quantized_with(n, all, low);
}
static void forms_of_others(void **state) {
  (void)state;
  expect_exact_for_seeds(gemm_with_factors, 2, "gemm_with_factors");
  expect_exact_for_seeds(bias_of_other_steps, 2, "bias_of_other_steps");
  EXACT(joined_behind_zero_points);
}

static void averages(void **state) {
  (void)state;
  EXACT(averages_of_four);
  EXACT(averages_of_lines);
  EXACT(averages_of_windows);
  EXACT(averages_of_planes);
  EXACT(averages_of_the_most);
}

// x = (10, 20, 30, 40) less 10, w = (1, -2, 3, -4): -80, with bias 98 18; in steps of 0.1 * 0.3 in float32.
static void float_product_by_hand(void **state) {
  (void)state;
  static const int8_t weights[] = {1, -2, 3, -4};
  network n = open_network(0);
  dq_tensor *w = dq_tensor_new(n.graph->arena, DQ_I8, 2, (int64_t[]){4, 1}),
            *b = dq_tensor_new(n.graph->arena, DQ_I32, 1, (int64_t[]){1});
  memcpy(w->data, weights, sizeof weights);
  *(int32_t *)b->data = 98;
  dq_value *x = input_with(&n, parameters(&n, 0.1f, DQ_U8, 10), 2, (int64_t[]){1, 4});
  affine p = parameters(&n, 0.3f, DQ_I8, 0);
  dq_value *weight = NODE(&n, "DequantizeLinear", dq_graph_add_constant(n.graph, "w", w), p.scale, p.zero_point);
  dq_value *bias = NODE(&n, "DequantizeLinear", dq_graph_add_constant(n.graph, "b", b), number(&n, 0.1f * 0.3f));
  output(&n, NODE(&n, "Gemm", x, weight, bias));
  assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
  for (int way = 0; way < WAYS; way++) {
    dq_session session;
    assert_int_equal(dq_session_open(&session, n.graph, NULL, &contexts[way], NULL), DQ_OK);
    assert_int_equal(dq_plan_step_count(session.plan), 1);
    for (int i = 0; i < 4; i++) ((uint8_t *)dq_plan_input(session.plan, 0)->data)[i] = (uint8_t)(10 * (i + 1));
    assert_int_equal(dq_plan_run(session.plan, NULL), DQ_OK);
    float expected = 18 * (0.1f * 0.3f);
    assert_memory_equal(dq_plan_output(session.plan, 0)->data, &expected, sizeof expected);
    dq_session_close(&session);
  }
  dq_graph_free(n.graph);
}

typedef struct extremes {
  int8_t weights[4];
  int low, high; // of the sum, over inputs of -10 to 245
} extremes;

static const extremes sums[] = {
    {{100, 100, 100, 100}, -4000, 98000}, {{1, 1, 1, 1}, -40, 980}, {{-1, 0, 2, -3}, -1000, 530}};

// Four inputs of 0 to 255 with zero point 10.
static void large_bias(network *n, const int8_t weights[4], int32_t bias, bool quantized) {
  dq_tensor *w = dq_tensor_new(n->graph->arena, DQ_I8, 4, (int64_t[]){1, 4, 1, 1}),
            *b = dq_tensor_new(n->graph->arena, DQ_I32, 1, (int64_t[]){1});
  memcpy(w->data, weights, 4);
  *(int32_t *)b->data = bias;
  dq_value *x = input_with(n, parameters(n, 0.1f, DQ_U8, 10), 4, (int64_t[]){1, 4, 3, 5});
  affine p = parameters(n, 0.3f, DQ_I8, 0);
  dq_value *weight = NODE(n, "DequantizeLinear", dq_graph_add_constant(n->graph, "w", w), p.scale, p.zero_point);
  dq_value *y = NODE(n, "Conv", x, weight,
                     NODE(n, "DequantizeLinear", dq_graph_add_constant(n->graph, "b", b), number(n, 0.1f * 0.3f)));
  if (quantized) quantized_with(n, y, parameters(n, 0.03f * 0x1p31f / 100, DQ_U8, 128));
  else output(n, y);
}

// int32 wraps, and what the file says does not: a sum that may leave int32 with its bias is computed in float.
static void sums_that_leave_int32(void **state) {
  (void)state;
  for (int quantized = 0; quantized < 2; quantized++)
    for (int k = 0; k < 4 * 3; k++) {
      const int i = k % 4;
      const extremes *at = &sums[k / 4];
      const int32_t biases[] = {INT32_MAX - at->high, INT32_MIN - at->low, INT32_MAX - at->high + 1,
                                INT32_MIN - at->low - 1};
      network n = open_network(0);
      large_bias(&n, at->weights, biases[i], quantized);
      assert_int_equal(dq_graph_index(n.graph, false, NULL), DQ_OK);
      dq_session session;
      assert_int_equal(dq_session_open(&session, n.graph, NULL, &contexts[0], NULL), DQ_OK);
      bool integer = false;
      for (int s = 0; s < dq_plan_step_count(session.plan); s++)
        integer |= !strcmp(dq_plan_step(session.plan, s, NULL)->op_type, "QConv");
      assert_int_equal(integer, i < 2);
      dq_session_close(&session);
      if (quantized) expect_exact(&n, integer ? 0 : 2, "a large bias");
      else if (!integer) expect_exact(&n, 1, "a large bias, to float");
      else dq_graph_free(n.graph);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products),
      cmocka_unit_test(convolution_with_an_end),
      cmocka_unit_test(averages),
      cmocka_unit_test(forms_of_others),
      cmocka_unit_test(scales_out_of_range),
      cmocka_unit_test(averages_at_edges),
      cmocka_unit_test(float_product_by_hand),
      cmocka_unit_test(sums_that_leave_int32),
  };
  return cmocka_run_group_tests(tests, contexts_start, contexts_end);
}
