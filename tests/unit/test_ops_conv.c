// Conv, FusedConv and ConvTranspose: hand-computed cases, what is refused, agreement of the paths.
#include <math.h>
#include <string.h>

#include "tests/unit/operator_harness.h"

static void open_conv(harness *h, const char *op_type) { harness_open(h, "", op_type, 13); }

static void test_conv_by_hand(void **state) {
  (void)state;
  harness h;
  open_conv(&h, "Conv");
  harness_input(&h, DQ_F32, DIMS(1, 1, 3, 3), FLOATS(1, 2, 3, 4, 5, 6, 7, 8, 9));
  harness_input(&h, DQ_F32, DIMS(1, 1, 2, 2), FLOATS(1, 10, 100, 1000));
  harness_input(&h, DQ_F32, DIMS(1), FLOATS(0.5f));
  dq_node_set_ints(h.graph, h.node, "pads", (int64_t[]){1, 0, 0, 1}, 4);
  harness_gives(&h, DQ_F32, DIMS(1, 1, 3, 3),
                DOUBLES(2100.5, 3200.5, 300.5, 5421.5, 6532.5, 603.5, 8754.5, 9865.5, 906.5));
  assert_int_equal(h.op.row->macs(&h.op), 9 * 4);
  harness_close(&h);
}

static void test_conv_groups_stride_dilation(void **state) {
  (void)state;
  harness h;
  open_conv(&h, "Conv"); // one spatial axis
  harness_input(&h, DQ_F32, DIMS(1, 2, 5), FLOATS(1, 2, 3, 4, 5, 10, 20, 30, 40, 50));
  harness_input(&h, DQ_F32, DIMS(2, 1, 2), FLOATS(1, 1, 1, -1));
  dq_node_set_int(h.graph, h.node, "group", 2);
  dq_node_set_ints(h.graph, h.node, "strides", (int64_t[]){2}, 1);
  dq_node_set_ints(h.graph, h.node, "dilations", (int64_t[]){2}, 1);
  harness_gives(&h, DQ_F32, DIMS(1, 2, 2), DOUBLES(4, 8, -20, -20));
  assert_int_equal(h.op.row->macs(&h.op), 4 * 2);
  harness_close(&h);
}

// The same numbers by plain loops (three axes, float64), by the kernels, and widened from float16.
static void test_conv_paths_agree(void **state) {
  (void)state;
  float x[2 * 4 * 6 * 5], w[4 * 2 * 3 * 2], b[4];
  for (int i = 0; i < 240; i++) x[i] = (float)((i * 7) % 23 - 11);
  for (int i = 0; i < 48; i++) w[i] = (float)((i * 5) % 13 - 6);
  for (int i = 0; i < 4; i++) b[i] = (float)i;
  double expected[2 * 4 * 4 * 4];
  const int types[] = {DQ_F32, DQ_F32, DQ_F64, DQ_F16};
  for (int path = 0; path < 4; path++) {
    harness h;
    open_conv(&h, "Conv");
    bool three = path == 1;
    const int64_t x2[] = {2, 4, 6, 5}, x3[] = {2, 4, 1, 6, 5}, w2[] = {4, 2, 3, 2}, w3[] = {4, 2, 1, 3, 2};
    dq_tensor *tensors[] = {harness_input(&h, types[path], three ? 5 : 4, three ? x3 : x2, NULL),
                            harness_input(&h, types[path], three ? 5 : 4, three ? w3 : w2, NULL),
                            harness_input(&h, types[path], DIMS(4), NULL)};
    const float *from[] = {x, w, b};
    for (int t = 0; t < 3; t++)
      for (int64_t i = 0; i < dq_tensor_count(tensors[t]); i++) dq_tensor_set(tensors[t], i, (double)from[t][i]);
    dq_node_set_int(h.graph, h.node, "group", 2);
    assert_int_equal(harness_prepare(&h), DQ_OK);
    assert_int_equal(dq_tensor_count(h.output), 128);
    for (int i = 0; i < 128; i++) {
      if (path == 0) expected[i] = dq_tensor_get(h.output, i);
      assert_true(dq_tensor_get(h.output, i) == expected[i]);
    }
    harness_close(&h);
  }
}

static void test_fused_activation(void **state) {
  (void)state;
  static const char *const kinds[] = {"", "Relu", "Clip", "LeakyRelu"};
  const double expected[][3] = {{-4, 1, 8}, {0, 1, 8}, {-1, 1, 6}, {-2, 1, 8}};
  for (int i = 0; i < 4; i++) {
    harness h;
    harness_open(&h, "dq", "FusedConv", 13);
    harness_input(&h, DQ_F32, DIMS(1, 1, 1, 3), FLOATS(-4, 1, 8));
    harness_input(&h, DQ_F32, DIMS(1, 1, 1, 1), FLOATS(1));
    dq_node_set_string(h.graph, h.node, "activation", kinds[i]);
    dq_node_set_float(h.graph, h.node, "activation_low", -1);
    dq_node_set_float(h.graph, h.node, "activation_high", 6);
    dq_node_set_float(h.graph, h.node, "activation_alpha", 0.5f);
    harness_gives(&h, DQ_F32, DIMS(1, 1, 1, 3), expected[i]);
    harness_close(&h);
  }
}

// A weight of outputs x inputs is a kernel of 1 at each place, whatever number of axes the input has.
static void test_points(void **state) {
  (void)state;
  for (int axes = 1; axes <= 3; axes++) {
    harness h;
    harness_open(&h, "dq", "FusedConv", 13);
    const int64_t shape[] = {1, 3, 2, 1, 1}, result[] = {1, 2, 2, 1, 1};
    harness_input(&h, DQ_F32, 2 + axes, shape, FLOATS(1, 2, 3, 4, 5, 6));
    harness_input(&h, DQ_F32, DIMS(2, 3), FLOATS(1, 10, 100, -1, 0, 2));
    harness_input(&h, DQ_F32, DIMS(2), FLOATS(0.5f, -0.5f));
    harness_gives(&h, DQ_F32, 2 + axes, result, DOUBLES(531.5, 642.5, 8.5, 9.5));
    assert_int_equal(h.op.row->macs(&h.op), 4 * 3);
    harness_close(&h);
  }
}

typedef struct refusal {
  int64_t x[5], w[5];
  int x_rank, w_rank;
  int64_t bias; // length, 0: none
  const char *attribute;
  int64_t values[4];
  int count; // 0: an integer
  const char *words;
} refusal;

static void test_conv_refuses(void **state) {
  (void)state;
  static const refusal cases[] = {
      {{1, 3, 5, 5}, {4, 1, 3, 3}, 4, 4, 0, "group", {2}, 0, "2 groups do not divide 3"},
      {{1, 4, 5, 5}, {3, 2, 3, 3}, 4, 4, 0, "group", {2}, 0, "2 groups do not divide 3"},
      {{1, 4, 5, 5}, {3, 4, 3, 3}, 4, 4, 0, "group", {0}, 0, "'group' is 0"},
      {{1, 4, 5, 5}, {3, 2, 3, 3}, 4, 4, 0, NULL, {0}, 0, "2 input channels per group, expected 4"},
      {{1, 4, 5, 5}, {3, 4, 6, 3}, 4, 4, 0, NULL, {0}, 0, "covers 6, more than the 5"},
      {{1, 4, 5, 5}, {3, 4, 3, 3}, 4, 4, 0, "strides", {0, 1}, 2, "'strides' holds 0"},
      {{1, 4, 5, 5}, {3, 4, 3, 3}, 4, 4, 0, "dilations", {1, 0}, 2, "'dilations' holds 0"},
      {{1, 4, 5, 5}, {3, 4, 3, 3}, 4, 4, 0, "pads", {0, 0, 0, -1}, 4, "'pads' holds -1"},
      {{1, 4, 5, 5}, {3, 4, 3, 3}, 4, 4, 0, "kernel_shape", {3, 2}, 2, "the weight has 3"},
      {{1, 4, 5, 5}, {3, 4, 3, 3}, 4, 4, 2, NULL, {0}, 0, "each of 3 output channels"},
      {{1, 4, 5, 5}, {3, 4}, 4, 2, 0, NULL, {0}, 0, "weight has shape 3x4"},
      {{1, 4, 5, 5}, {3, 4, 3}, 4, 3, 0, NULL, {0}, 0, "weight has shape 3x4x3"},
      {{1, 4, 5, 5}, {3, 4, 1, 3, 3}, 4, 5, 0, NULL, {0}, 0, "weight has shape 3x4x1x3x3"},
      {{1, 4, 5, 5}, {3, 4, 0, 3}, 4, 4, 0, NULL, {0}, 0, "weight has shape 3x4x0x3"},
      {{4, 5}, {3, 4}, 2, 2, 0, NULL, {0}, 0, "input has shape 4x5"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const refusal *c = &cases[i];
    harness h;
    open_conv(&h, "Conv");
    harness_input(&h, DQ_F32, c->x_rank, c->x, NULL);
    harness_input(&h, DQ_F32, c->w_rank, c->w, NULL);
    if (c->bias) harness_input(&h, DQ_F32, DIMS(c->bias), NULL);
    if (c->attribute && c->count) dq_node_set_ints(h.graph, h.node, c->attribute, c->values, c->count);
    else if (c->attribute) dq_node_set_int(h.graph, h.node, c->attribute, c->values[0]);
    harness_refuses(&h, DQ_BAD_INPUT, c->words);
    harness_close(&h);
  }
}

static void test_conv_types(void **state) {
  (void)state;
  harness h;
  open_conv(&h, "Conv");
  harness_input(&h, DQ_F32, DIMS(1, 1, 2, 2), NULL);
  harness_input(&h, DQ_F16, DIMS(1, 1, 1, 1), NULL);
  harness_refuses(&h, DQ_BAD_INPUT, "weight has float16; expected one type");
  harness_close(&h);
}

static void test_empty_batch(void **state) {
  (void)state;
  harness h;
  open_conv(&h, "Conv");
  harness_input(&h, DQ_F32, DIMS(0, 1, 2, 2), NULL);
  harness_input(&h, DQ_F32, DIMS(1, 1, 1, 1), NULL);
  harness_gives(&h, DQ_F32, DIMS(0, 1, 2, 2), NULL);
  harness_close(&h);
}

static void test_transpose_by_hand(void **state) {
  (void)state;
  const int types[] = {DQ_F32, DQ_F64};
  for (int t = 0; t < 2; t++) {
    harness h;
    open_conv(&h, "ConvTranspose");
    const double x[] = {1, 2}, w[] = {1, 10, 100}, b[] = {0.5};
    const int64_t x_dims[] = {1, 1, 1, 2}, w_dims[] = {1, 1, 1, 3}, b_dims[] = {1};
    dq_tensor *tensors[] = {harness_input(&h, types[t], 4, x_dims, NULL), harness_input(&h, types[t], 4, w_dims, NULL),
                            harness_input(&h, types[t], 1, b_dims, NULL)};
    const double *from[] = {x, w, b};
    for (int k = 0; k < 3; k++)
      for (int64_t i = 0; i < dq_tensor_count(tensors[k]); i++) dq_tensor_set(tensors[k], i, from[k][i]);
    dq_node_set_ints(h.graph, h.node, "strides", (int64_t[]){1, 2}, 2);
    harness_gives(&h, types[t], DIMS(1, 1, 1, 5), DOUBLES(1.5, 10.5, 102.5, 20.5, 200.5));
    assert_int_equal(h.op.row->macs(&h.op), 2 * 3);
    dq_node_set_ints(h.graph, h.node, "pads", (int64_t[]){0, 1, 0, 0}, 4);
    dq_node_set_ints(h.graph, h.node, "output_padding", (int64_t[]){0, 1}, 2);
    harness_gives(&h, types[t], DIMS(1, 1, 1, 5), DOUBLES(10.5, 102.5, 20.5, 200.5, 0.5));
    harness_close(&h);
  }
}

static void test_transpose_groups_and_output_shape(void **state) {
  (void)state;
  harness h;
  open_conv(&h, "ConvTranspose");
  harness_input(&h, DQ_F32, DIMS(1, 2, 2), FLOATS(1, 2, 3, 4));
  harness_input(&h, DQ_F32, DIMS(2, 1, 3), FLOATS(1, 1, 1, 1, 2, 3));
  dq_node_set_int(h.graph, h.node, "group", 2);
  dq_node_set_ints(h.graph, h.node, "strides", (int64_t[]){2}, 1);
  dq_node_set_ints(h.graph, h.node, "output_shape", (int64_t[]){4}, 1);
  // one element too many: cut at the beginning
  harness_gives(&h, DQ_F32, DIMS(1, 2, 4), DOUBLES(1, 3, 2, 2, 6, 13, 8, 12));
  dq_node_set_string(h.graph, h.node, "auto_pad", "SAME_UPPER");
  harness_gives(&h, DQ_F32, DIMS(1, 2, 4), DOUBLES(1, 1, 3, 2, 3, 6, 13, 8));
  harness_close(&h);
}

static void test_transpose_refuses(void **state) {
  (void)state;
  static const refusal cases[] = {
      {{1, 3, 2, 2}, {4, 1, 3, 3}, 4, 4, 0, NULL, {0}, 0, "input has shape 1x3x2x2 and weight 4x"},
      {{1, 3, 2, 2}, {3, 1, 3, 3}, 4, 4, 0, "group", {2}, 0, "2 groups do not divide 3"},
      {{1, 3, 2, 2}, {3, 0, 3, 3}, 4, 4, 0, NULL, {0}, 0, "weight has shape 3x0x3x3"},
      {{1, 3, 2, 2}, {3, 2, 3, 3}, 4, 4, 3, NULL, {0}, 0, "each of 2 output channels"},
      {{1, 3, 1, 1}, {3, 2, 1, 1}, 4, 4, 0, "pads", {1, 0, 0, 0}, 4, "output would have size 0"},
      {{1, 3, 1, 1}, {3, 2, 1, 1}, 4, 4, 0, "output_padding", {1}, 1, "1 elements, expected 2"},
      {{1, 3, 1, 1}, {3, 2, 1, 1}, 4, 4, 0, "output_shape", {0, 1}, 2, "'output_shape' holds 0"},
      {{1, 3, 0, 1}, {3, 2, 1, 1}, 4, 4, 0, NULL, {0}, 0, "input has size 0"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const refusal *c = &cases[i];
    harness h;
    open_conv(&h, "ConvTranspose");
    harness_input(&h, DQ_F32, c->x_rank, c->x, NULL);
    harness_input(&h, DQ_F32, c->w_rank, c->w, NULL);
    if (c->bias) harness_input(&h, DQ_F32, DIMS(c->bias), NULL);
    if (c->attribute && c->count) dq_node_set_ints(h.graph, h.node, c->attribute, c->values, c->count);
    else if (c->attribute) dq_node_set_int(h.graph, h.node, c->attribute, c->values[0]);
    harness_refuses(&h, DQ_BAD_INPUT, c->words);
    harness_close(&h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conv_by_hand),
      cmocka_unit_test(test_conv_groups_stride_dilation),
      cmocka_unit_test(test_conv_paths_agree),
      cmocka_unit_test(test_fused_activation),
      cmocka_unit_test(test_points),
      cmocka_unit_test(test_conv_refuses),
      cmocka_unit_test(test_conv_types),
      cmocka_unit_test(test_empty_batch),
      cmocka_unit_test(test_transpose_by_hand),
      cmocka_unit_test(test_transpose_groups_and_output_shape),
      cmocka_unit_test(test_transpose_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
