// Operators on 8-bit operands: hand-computed cases, bounds, zero points per row and column, the
// forms without a kernel, what is refused.
#include <math.h>
#include <string.h>

#include "tests/unit/operator_harness.h"

#define U8(...)                                                                                                        \
  (uint8_t[]) { __VA_ARGS__ }
#define I8(...)                                                                                                        \
  (int8_t[]) { __VA_ARGS__ }
#define I32(...)                                                                                                       \
  (int32_t[]) { __VA_ARGS__ }
#define SCALAR 0, NULL

// A convolution of one channel to two: multipliers 0.5 and 0.125. `axes` spatial axes.
static void open_q_conv(harness *h, const char *domain, const char *op_type, int axes) {
  harness_open(h, domain, op_type, 13);
  const int64_t x[] = {1, 1, 3, 1, 1}, w[] = {2, 1, 1, 1, 1};
  harness_input(h, DQ_U8, 2 + axes, x, U8(10, 20, 30));
  harness_input(h, DQ_F32, SCALAR, FLOATS(0.5f));
  harness_input(h, DQ_U8, SCALAR, U8(10));
  harness_input(h, DQ_I8, 2 + axes, w, I8(2, -4));
  harness_input(h, DQ_F32, DIMS(2), FLOATS(1, 0.25f));
  harness_input(h, DQ_I8, DIMS(2), I8(0, 0));
  harness_input(h, DQ_F32, SCALAR, FLOATS(1));
  harness_input(h, DQ_U8, SCALAR, U8(100));
}

static void test_qlinear_conv(void **state) {
  (void)state;
  for (int axes = 1; axes <= 3; axes++) {
    harness h;
    const int64_t y[] = {1, 2, 3, 1, 1};
    open_q_conv(&h, "", "QLinearConv", axes);
    harness_gives(&h, DQ_U8, 2 + axes, y, DOUBLES(100, 110, 120, 100, 95, 90));
    assert_int_equal(h.op.row->macs(&h.op), 6);
    // 0.5 and 10.5 are ties and go to even numbers
    harness_input(&h, DQ_I32, DIMS(2), I32(1, 8));
    harness_gives(&h, DQ_U8, 2 + axes, y, DOUBLES(100, 110, 120, 101, 96, 91));
    harness_close(&h);
  }
}

static void test_q_conv_bounds(void **state) {
  (void)state;
  harness h;
  open_q_conv(&h, "dq", "QConv", 2);
  harness_gives(&h, DQ_U8, DIMS(1, 2, 3, 1), DOUBLES(100, 110, 120, 100, 95, 90));
  dq_node_set_int(h.graph, h.node, "clamp_low", 96);
  dq_node_set_int(h.graph, h.node, "clamp_high", 115);
  harness_gives(&h, DQ_U8, DIMS(1, 2, 3, 1), DOUBLES(100, 110, 115, 100, 96, 96));
  dq_node_set_int(h.graph, h.node, "clamp_low", -1);
  assert_int_equal(harness_run(&h), DQ_BAD_INPUT);
  assert_non_null(strstr(h.error.message, "bounds -1 and 115"));
  harness_close(&h);
}

static void test_conv_integer(void **state) {
  (void)state;
  for (int axes = 1; axes <= 3; axes++) {
    harness h;
    const int64_t x[] = {1, 1, 3, 1, 1}, w[] = {2, 1, 2, 1, 1}, y[] = {1, 2, 2, 1, 1};
    harness_open(&h, "", "ConvInteger", 13);
    harness_input(&h, DQ_U8, 2 + axes, x, U8(1, 2, 3));
    harness_input(&h, DQ_U8, 2 + axes, w, U8(1, 2, 3, 4));
    harness_gives(&h, DQ_I32, 2 + axes, y, DOUBLES(5, 8, 11, 18));
    harness_input(&h, DQ_U8, SCALAR, U8(1));
    harness_gives(&h, DQ_I32, 2 + axes, y, DOUBLES(2, 5, 4, 11));
    harness_input(&h, DQ_U8, DIMS(2), U8(1, 2));
    harness_gives(&h, DQ_I32, 2 + axes, y, DOUBLES(1, 2, 2, 5));
    harness_close(&h);
  }
}

static void test_qlinear_conv_refuses(void **state) {
  (void)state;
  harness h;
  open_q_conv(&h, "", "QLinearConv", 2);
  harness_input(&h, DQ_F32, DIMS(2), NULL);
  harness_refuses(&h, DQ_BAD_INPUT, "input 8 is of type float32");
  harness_close(&h);
  open_q_conv(&h, "", "QLinearConv", 2);
  h.inputs[4] = dq_tensor_new(h.graph->arena, DQ_F32, DIMS(3));
  assert_int_equal(harness_run(&h), DQ_BAD_INPUT);
  assert_non_null(strstr(h.error.message, "input 4 has shape 3, expected one element or 2"));
  harness_close(&h);
  open_q_conv(&h, "", "QLinearConv", 2);
  h.inputs[2] = dq_tensor_new(h.graph->arena, DQ_I8, SCALAR);
  assert_int_equal(harness_run(&h), DQ_BAD_INPUT);
  assert_non_null(strstr(h.error.message, "input 2 is of type int8"));
  harness_close(&h);
}

static void test_matmul_integer(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "MatMulInteger", 13);
  harness_input(&h, DQ_U8, DIMS(2, 2), U8(1, 2, 3, 4));
  harness_input(&h, DQ_I8, DIMS(2, 2), I8(1, -1, 2, 5));
  harness_gives(&h, DQ_I32, DIMS(2, 2), DOUBLES(5, 9, 11, 17));
  harness_input(&h, DQ_U8, DIMS(2), U8(1, 3)); // rows of A become 0 1 and 0 1
  harness_gives(&h, DQ_I32, DIMS(2, 2), DOUBLES(2, 5, 2, 5));
  harness_input(&h, DQ_I8, DIMS(2), I8(1, 2)); // columns of B become 0 1 and -3 3
  harness_gives(&h, DQ_I32, DIMS(2, 2), DOUBLES(1, 3, 1, 3));
  assert_int_equal(h.op.row->macs(&h.op), 8);
  harness_close(&h);
}

// Two products, with parameters that are single, per row and column, and per matrix.
static void test_qlinear_matmul(void **state) {
  (void)state;
  for (int form = 0; form < 3; form++) {
    harness h;
    harness_open(&h, "", "QLinearMatMul", 21);
    const int64_t rows[] = {2, 2, 1}, columns[] = {2, 1, 2};
    int rank = form == 2 ? 3 : form;
    const int64_t *a = form == 2 ? rows : rows + 1, *b = form == 2 ? columns : columns + 2;
    float a_scale[] = {0.5f, 0.5f, 0.5f, 0.5f}, b_scale[] = {2, 4, 2, 8}, y_scale[] = {1, 2, 1, 1};
    uint8_t zeros[] = {1, 1, 1, 1}, y_zero[] = {7, 9, 7, 7};
    harness_input(&h, DQ_U8, DIMS(2, 2, 1), U8(1, 2, 3, 4)); // 0 1 2 3
    harness_input(&h, DQ_F32, rank, a, a_scale);
    harness_input(&h, DQ_U8, rank, a, zeros);
    harness_input(&h, DQ_I8, DIMS(2, 1, 2), I8(1, 2, 3, 4));
    harness_input(&h, DQ_F32, rank, b, b_scale);
    harness_input(&h, DQ_I8, SCALAR, I8(0));
    harness_input(&h, DQ_F32, rank, a, y_scale);
    harness_input(&h, DQ_U8, rank, a, y_zero);
    const double expected[][8] = {
        {7, 7, 8, 9, 13, 15, 16, 19}, {7, 7, 9.5, 11, 13, 23, 13.5, 21}, {7, 7, 9.5, 11, 13, 39, 16, 55}};
    double rounded[8];
    // Ties go to even before the zero point, which is odd, is added.
    for (int i = 0; i < 8; i++) rounded[i] = nearbyint(expected[form][i] - 1) + 1;
    harness_gives(&h, DQ_U8, DIMS(2, 2, 2), rounded);
    harness_close(&h);
  }
}

static void test_q_gemm(void **state) {
  (void)state;
  for (int transposed = 0; transposed < 2; transposed++) {
    harness h;
    harness_open(&h, "dq", "QGemm", 13);
    harness_input(&h, DQ_U8, DIMS(1, 3), U8(1, 2, 3));
    harness_input(&h, DQ_F32, SCALAR, FLOATS(1));
    harness_input(&h, DQ_U8, SCALAR, U8(0));
    if (transposed) harness_input(&h, DQ_I8, DIMS(2, 3), I8(1, 2, 3, -1, -2, -3));
    else harness_input(&h, DQ_I8, DIMS(3, 2), I8(1, -1, 2, -2, 3, -3));
    harness_input(&h, DQ_F32, DIMS(2), FLOATS(1, 0.5f));
    harness_input(&h, DQ_I8, SCALAR, I8(0));
    harness_input(&h, DQ_F32, SCALAR, FLOATS(1));
    harness_input(&h, DQ_I8, SCALAR, I8(0));
    harness_input(&h, DQ_I32, DIMS(2), I32(100, -2));
    dq_node_set_int(h.graph, h.node, "transB", transposed);
    harness_gives(&h, DQ_I8, DIMS(1, 2), DOUBLES(114, -8));
    assert_int_equal(h.op.row->macs(&h.op), 6);
    dq_node_set_int(h.graph, h.node, "clamp_low", 0);
    dq_node_set_int(h.graph, h.node, "clamp_high", 50);
    harness_gives(&h, DQ_I8, DIMS(1, 2), DOUBLES(50, 0));
    harness_close(&h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_qlinear_conv),   cmocka_unit_test(test_q_conv_bounds),
      cmocka_unit_test(test_conv_integer),   cmocka_unit_test(test_qlinear_conv_refuses),
      cmocka_unit_test(test_matmul_integer), cmocka_unit_test(test_qlinear_matmul),
      cmocka_unit_test(test_q_gemm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
