// Operators of com.microsoft on 8-bit numbers: cases by hand, and what is refused.
#include "lib/ops/integer/qlinear.h"
#include "tests/unit/operator_harness.h"

#define U8(...)                                                                                                        \
  (uint8_t[]) { __VA_ARGS__ }
#define I8(...)                                                                                                        \
  (int8_t[]) { __VA_ARGS__ }
#define I32(...)                                                                                                       \
  (int32_t[]) { __VA_ARGS__ }
#define SCALAR 0, NULL

static void step_u8(harness *h, float scale, uint8_t zero_point) {
  harness_input(h, DQ_F32, SCALAR, &scale);
  harness_input(h, DQ_U8, SCALAR, &zero_point);
}

// Two operands, 0.5 (q - 10) and 0.25 (q - 4), and a result in steps of 1 around 100.
static void open_binary(harness *h, const char *op_type) {
  harness_open(h, "com.microsoft", op_type, 13);
  harness_input(h, DQ_U8, DIMS(1, 3), U8(12, 10, 30));
  step_u8(h, 0.5f, 10);
  harness_input(h, DQ_U8, DIMS(1, 1), U8(10));
  step_u8(h, 0.25f, 4);
  step_u8(h, 1, 100);
}

static void sums_and_products(void **state) {
  (void)state;
  harness h;
  open_binary(&h, "QLinearAdd"); // 1, 0, 10 plus 1.5: ties to even
  harness_gives(&h, DQ_U8, DIMS(1, 3), DOUBLES(102, 102, 112));
  harness_close(&h);
  open_binary(&h, "QLinearMul");
  harness_gives(&h, DQ_U8, DIMS(1, 3), DOUBLES(102, 100, 115));
  harness_close(&h);
}

static void concatenation(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "com.microsoft", "QLinearConcat", 13);
  step_u8(&h, 1, 100);
  harness_input(&h, DQ_U8, DIMS(1, 2), U8(12, 30));
  step_u8(&h, 0.5f, 10);
  harness_input(&h, DQ_U8, DIMS(1, 1), U8(8));
  step_u8(&h, 0.25f, 4);
  harness_refuses(&h, DQ_BAD_INPUT, "attribute 'axis' is missing");
  dq_node_set_int(h.graph, h.node, "axis", 1);
  assert_int_equal(dq_qlinear_operands(dq_qlinear_of("Concat"), h.node), 2);
  harness_gives(&h, DQ_U8, DIMS(1, 3), DOUBLES(101, 110, 101));
  harness_close(&h);
}

static void one_operand(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "com.microsoft", "QLinearGlobalAveragePool", 13);
  harness_input(&h, DQ_U8, DIMS(1, 1, 2, 2), U8(10, 12, 14, 20)); // mean of 0, 1, 2, 5 is 2
  step_u8(&h, 0.5f, 10);
  step_u8(&h, 0.25f, 3);
  harness_gives(&h, DQ_U8, DIMS(1, 1, 1, 1), DOUBLES(11));
  dq_node_set_int(h.graph, h.node, "channels_last", 1);
  harness_refuses(&h, DQ_UNSUPPORTED, "channels_last");
  harness_close(&h);
  harness_open(&h, "com.microsoft", "QLinearLeakyRelu", 13); // zero points left out: 0, and the input's type
  harness_input(&h, DQ_I8, DIMS(1, 2), I8(-40, 8));
  harness_input(&h, DQ_F32, SCALAR, FLOATS(0.5f));
  harness_skip(&h);
  harness_input(&h, DQ_F32, SCALAR, FLOATS(0.5f));
  dq_node_set_float(h.graph, h.node, "alpha", 0.25f);
  harness_gives(&h, DQ_I8, DIMS(1, 2), DOUBLES(-10, 8));
  harness_close(&h);
  harness_open(&h, "com.microsoft", "QLinearSigmoid", 13);
  harness_input(&h, DQ_F32, DIMS(1, 2), NULL);
  step_u8(&h, 0.5f, 10);
  step_u8(&h, 0.25f, 3);
  harness_refuses(&h, DQ_BAD_INPUT, "input 0 is of type float32");
  harness_close(&h);
}

// (2 3) - 1 times (1 -2) transposed, plus 4, by 0.5: (1 - 4 + 4) / 2 rounds to 0, over zero point 7.
static void matrix_product(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "com.microsoft", "QGemm", 13);
  harness_input(&h, DQ_U8, DIMS(1, 2), U8(2, 3));
  step_u8(&h, 1, 1);
  harness_input(&h, DQ_I8, DIMS(1, 2), I8(1, -2));
  harness_input(&h, DQ_F32, SCALAR, FLOATS(0.5f));
  harness_input(&h, DQ_I8, SCALAR, I8(0));
  harness_input(&h, DQ_I32, DIMS(1), I32(4));
  step_u8(&h, 1, 7);
  dq_node_set_int(h.graph, h.node, "transB", 1);
  harness_gives(&h, DQ_U8, DIMS(1, 1), DOUBLES(7));
  dq_node_set_float(h.graph, h.node, "alpha", 2);
  harness_refuses(&h, DQ_UNSUPPORTED, "attribute 'alpha'");
  harness_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_and_products),
      cmocka_unit_test(concatenation),
      cmocka_unit_test(one_operand),
      cmocka_unit_test(matrix_product),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
