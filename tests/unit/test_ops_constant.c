// Operators that make tensors: Constant, ConstantOfShape, Range, EyeLike.
#include <math.h>
#include <string.h>

#include "tests/unit/operator_harness.h"

static void attribute(harness *h, dq_attribute made) {
  h->node->attributes = dq_arena_copy(h->graph->arena, &made, sizeof made);
  h->node->attribute_count = 1;
}

static void test_constant(void **state) {
  (void)state;
  harness h;
  float floats[] = {1.5f, -2};
  int64_t ints[] = {7, -8, INT64_MAX};
  uint8_t bytes[] = {1, 2, 3, 4};
  dq_tensor matrix = {DQ_U8, 2, {2, 2}, bytes};
  harness_open(&h, "", "Constant", 13);
  harness_refuses(&h, DQ_UNSUPPORTED, "Constant without one of the value attributes known");
  attribute(&h, (dq_attribute){.name = "value_float", .type = DQ_ATTRIBUTE_FLOAT, .f = 2.5f});
  harness_gives(&h, DQ_F32, 0, NULL, DOUBLES(2.5));
  attribute(&h, (dq_attribute){.name = "value_int", .type = DQ_ATTRIBUTE_INT, .i = -3});
  harness_gives(&h, DQ_I64, 0, NULL, DOUBLES(-3));
  attribute(&h, (dq_attribute){.name = "value_floats", .type = DQ_ATTRIBUTE_FLOATS, .floats = floats, .count = 2});
  harness_gives(&h, DQ_F32, DIMS(2), DOUBLES(1.5, -2));
  attribute(&h, (dq_attribute){.name = "value_ints", .type = DQ_ATTRIBUTE_INTS, .ints = ints, .count = 3});
  harness_gives(&h, DQ_I64, DIMS(3), DOUBLES(7, -8, 0x1p63));
  attribute(&h, (dq_attribute){.name = "value", .type = DQ_ATTRIBUTE_TENSOR, .tensor = &matrix});
  harness_gives(&h, DQ_U8, DIMS(2, 2), DOUBLES(1, 2, 3, 4));
  attribute(&h, (dq_attribute){.name = "value_string", .type = DQ_ATTRIBUTE_STRING, .s = "text"});
  assert_int_equal(harness_run(&h), DQ_UNSUPPORTED);
  harness_close(&h);
}

static void test_constant_of_shape(void **state) {
  (void)state;
  harness h;
  int16_t seven[] = {7, 8};
  dq_tensor value = {DQ_I16, 1, {1}, seven};
  harness_open(&h, "", "ConstantOfShape", 9);
  harness_input(&h, DQ_I64, DIMS(2), (int64_t[]){2, 3});
  harness_gives(&h, DQ_F32, DIMS(2, 3), DOUBLES(0, 0, 0, 0, 0, 0));
  attribute(&h, (dq_attribute){.name = "value", .type = DQ_ATTRIBUTE_TENSOR, .tensor = &value});
  harness_gives(&h, DQ_I16, DIMS(2, 3), DOUBLES(7, 7, 7, 7, 7, 7));
  ((int64_t *)h.inputs[0]->data)[0] = 0;
  harness_gives(&h, DQ_I16, DIMS(0, 3), NULL);
  h.inputs[0]->dims[0] = 0;
  harness_gives(&h, DQ_I16, 0, NULL, DOUBLES(7));
  value.dims[0] = 2;
  harness_refuses(&h, DQ_BAD_INPUT, "attribute 'value' has 2 elements, expected 1");
  harness_close(&h);
}

static void test_range(void **state) {
  (void)state;
  static const struct {
    int type;
    double start, limit, delta;
    int64_t count;
    double first[4];
  } cases[] = {{DQ_I64, 3, 9, 3, 2, {3, 6}},       {DQ_I64, 3, 10, 3, 3, {3, 6, 9}},
               {DQ_I32, 10, 4, -2, 3, {10, 8, 6}}, {DQ_I32, 10, 3, -2, 4, {10, 8, 6, 4}},
               {DQ_I16, 5, 5, 1, 0, {0}},          {DQ_I16, 5, 9, -1, 0, {0}},
               {DQ_F32, 1, 2, 0.5, 2, {1, 1.5}},   {DQ_F64, 1, 2.25, 0.5, 3, {1, 1.5, 2}},
               {DQ_F32, 0, -1, 0.5, 0, {0}},       {DQ_F64, 0, -1, -0.25, 4, {0, -0.25, -0.5, -0.75}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    harness h;
    harness_open(&h, "", "Range", 11);
    const double given[] = {cases[i].start, cases[i].limit, cases[i].delta};
    for (int k = 0; k < 3; k++) dq_tensor_set(harness_input(&h, cases[i].type, 0, NULL, NULL), 0, given[k]);
    harness_gives(&h, cases[i].type, 1, &cases[i].count, cases[i].first);
    dq_tensor_set(h.inputs[2], 0, 0);
    harness_refuses(&h, DQ_BAD_INPUT,
                    DQ_BIT(cases[i].type) & DQ_TYPES_FLOAT ? "give no number of elements" : "the delta of Range is 0");
    h.inputs[1]->type = DQ_I64 + DQ_I32 - cases[i].type;
    harness_refuses(&h, DQ_BAD_INPUT, "not three scalars of one type");
    harness_close(&h);
  }
}

static void test_eye_like(void **state) {
  (void)state;
  static const struct {
    int64_t k;
    double expected[6];
  } cases[] = {{0, {1, 0, 0, 0, 1, 0}},  {1, {0, 1, 0, 0, 0, 1}},
               {2, {0, 0, 1, 0, 0, 0}},  {3, {0}},
               {-1, {0, 0, 0, 1, 0, 0}}, {-2, {0}},
               {INT64_MAX, {0}},         {INT64_MIN, {0}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    harness h;
    harness_open(&h, "", "EyeLike", 9);
    harness_input(&h, DQ_I32, DIMS(2, 3), NULL);
    dq_node_set_int(h.graph, h.node, "k", cases[i].k);
    harness_gives(&h, DQ_I32, DIMS(2, 3), cases[i].expected);
    dq_node_set_int(h.graph, h.node, "dtype", DQ_F16);
    harness_gives(&h, DQ_F16, DIMS(2, 3), cases[i].expected);
    dq_node_set_int(h.graph, h.node, "dtype", DQ_STRING);
    assert_int_equal(harness_run(&h), DQ_UNSUPPORTED);
    dq_node_set_int(h.graph, h.node, "dtype", 0);
    harness_refuses(&h, DQ_BAD_INPUT, "attribute 'dtype' is 0");
    h.inputs[0]->rank = 1;
    harness_refuses(&h, DQ_BAD_INPUT, "the input has 1 dimensions, expected 2");
    harness_close(&h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_constant), cmocka_unit_test(test_constant_of_shape),
                                     cmocka_unit_test(test_range), cmocka_unit_test(test_eye_like)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
