// Operators that pick, put, order and lay out elements by indices, conditions and positions: values by hand from the
// text of the ONNX specification.
#include <math.h>
#include <string.h>

#include "tests/unit/operator_harness.h"

static const float six[] = {0, 1, 2, 3, 4, 5};

static void open_with(harness *h, const char *op_type, int opset, int rank, const int64_t *dims, const float *data) {
  harness_open(h, "", op_type, opset);
  harness_input(h, DQ_F32, rank, dims, data);
}
static void ints(harness *h, int rank, const int64_t *dims, const int64_t *values) {
  harness_input(h, DQ_I64, rank, dims, values);
}
#define INTS(h, ...) ints(h, 1, (int64_t[]){sizeof((int64_t[]){__VA_ARGS__}) / 8}, (int64_t[]){__VA_ARGS__})
#define MATRIX(h, rows, columns, ...) ints(h, DIMS(rows, columns), (int64_t[]){__VA_ARGS__})

static void test_gather_elements(void **state) {
  (void)state;
  harness h;
  open_with(&h, "GatherElements", 13, DIMS(2, 3), six);
  MATRIX(&h, 2, 2, 2, -3, 0, 1);
  dq_node_set_int(h.graph, h.node, "axis", 1);
  harness_gives(&h, DQ_F32, DIMS(2, 2), DOUBLES(2, 0, 3, 4));
  dq_node_set_int(h.graph, h.node, "axis", 0); // a column of its own for each column of the indices
  memcpy(h.inputs[1]->data, (int64_t[]){1, 0, -1, -2}, 32);
  harness_gives(&h, DQ_F32, DIMS(2, 2), DOUBLES(3, 1, 3, 1));
  ((int64_t *)h.inputs[1]->data)[3] = 2;
  assert_int_equal(harness_run(&h), DQ_BAD_INPUT);
  h.inputs[1]->rank = 1, h.inputs[1]->dims[0] = 4;
  harness_refuses(&h, DQ_BAD_INPUT, "the indices have 1 dimensions, the data 2");
  h.inputs[1]->rank = 2, h.inputs[1]->dims[0] = 1, h.inputs[1]->dims[1] = 4;
  harness_refuses(&h, DQ_BAD_INPUT, "dimension 1 of the indices is 4, that of the data 3");
  harness_close(&h);
}

static void test_gather_nd(void **state) {
  (void)state;
  harness h;
  const float eight[] = {0, 1, 2, 3, 4, 5, 6, 7};
  open_with(&h, "GatherND", 13, DIMS(2, 2, 2), eight);
  MATRIX(&h, 2, 2, 0, 1, 1, -2);
  harness_gives(&h, DQ_F32, DIMS(2, 2), DOUBLES(2, 3, 4, 5));
  dq_node_set_int(h.graph, h.node, "batch_dims", 1); // from each matrix one element
  harness_gives(&h, DQ_F32, DIMS(2), DOUBLES(1, 6));
  h.inputs[1]->dims[1] = 1;
  memcpy(h.inputs[1]->data, (int64_t[]){1, 0}, 16); // from each matrix one row
  harness_gives(&h, DQ_F32, DIMS(2, 2), DOUBLES(2, 3, 4, 5));
  dq_node_set_int(h.graph, h.node, "batch_dims", 2);
  harness_refuses(&h, DQ_BAD_INPUT, "batch_dims is 2, expected 0 or more and less than 2");
  harness_close(&h);
  open_with(&h, "GatherND", 13, DIMS(2, 3), six);
  MATRIX(&h, 1, 3, 0, 0, 0);
  harness_refuses(&h, DQ_BAD_INPUT, "index tuples of 3 elements, expected 1 to 2");
  dq_node_set_int(h.graph, h.node, "batch_dims", 1);
  h.inputs[1]->dims[0] = 3, h.inputs[1]->dims[1] = 1;
  harness_refuses(&h, DQ_BAD_INPUT, "batch dimension 0 is 2 in the data and 3 in the indices");
  harness_close(&h);
}

static void test_scatter_elements(void **state) {
  (void)state;
  harness h;
  open_with(&h, "ScatterElements", 18, DIMS(2, 3), six);
  MATRIX(&h, 2, 2, 1, -3, 2, 0);
  harness_input(&h, DQ_F32, DIMS(2, 2), FLOATS(10, 20, 30, 40));
  dq_node_set_int(h.graph, h.node, "axis", 1);
  harness_gives(&h, DQ_F32, DIMS(2, 3), DOUBLES(20, 10, 2, 40, 4, 30));
  static const struct {
    const char *reduction;
    double expected[6]; // (0, 1) then (0, 0), (1, 2) then (1, 0)
  } cases[] = {{"none", {20, 10, 2, 40, 4, 30}},
               {"add", {20, 11, 2, 43, 4, 35}},
               {"mul", {0, 10, 2, 120, 4, 150}},
               {"max", {20, 10, 2, 40, 4, 30}},
               {"min", {0, 1, 2, 3, 4, 5}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_node_set_string(h.graph, h.node, "reduction", cases[i].reduction);
    harness_gives(&h, DQ_F32, DIMS(2, 3), cases[i].expected);
  }
  dq_node_set_string(h.graph, h.node, "reduction", "mean");
  harness_refuses(&h, DQ_BAD_INPUT, "reduction is 'mean'");
  dq_node_set_string(h.graph, h.node, "reduction", "max");
  dq_node_set_int(h.graph, h.node, "axis", 0);
  memcpy(h.inputs[1]->data, (int64_t[]){1, 0, 1, 1}, 32);
  harness_gives(&h, DQ_F32, DIMS(2, 3), DOUBLES(0, 20, 2, 30, 40, 5));
  h.inputs[2]->dims[1] = 1;
  harness_refuses(&h, DQ_BAD_INPUT, "the same shape and the 2 dimensions");
  harness_close(&h);
}

// Numbers of 8 bits wrap; those of 64 without a sign are compared as such.
static void test_scatter_of_integers(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "ScatterND", 18);
  harness_input(&h, DQ_U8, DIMS(2, 2), (uint8_t[]){250, 3, 4, 5});
  MATRIX(&h, 2, 1, 0, 0);
  harness_input(&h, DQ_U8, DIMS(2, 2), (uint8_t[]){10, 1, 20, 2});
  dq_node_set_string(h.graph, h.node, "reduction", "add");
  harness_gives(&h, DQ_U8, DIMS(2, 2), DOUBLES(24, 6, 4, 5));
  dq_node_set_string(h.graph, h.node, "reduction", "mul");
  harness_gives(&h, DQ_U8, DIMS(2, 2), DOUBLES(250 * 200 % 256, 6, 4, 5));
  dq_node_set_string(h.graph, h.node, "reduction", "min");
  harness_gives(&h, DQ_U8, DIMS(2, 2), DOUBLES(10, 1, 4, 5));
  h.inputs[2]->dims[1] = 1;
  harness_refuses(&h, DQ_BAD_INPUT, "updates of shape 2x1 do not fit");
  harness_close(&h);
  harness_open(&h, "", "ScatterND", 18);
  harness_input(&h, DQ_U64, DIMS(2), (uint64_t[]){UINT64_C(1) << 63, 1});
  MATRIX(&h, 2, 1, 0, 1);
  harness_input(&h, DQ_U64, DIMS(2), (uint64_t[]){1, UINT64_C(1) << 63});
  dq_node_set_string(h.graph, h.node, "reduction", "max");
  harness_gives(&h, DQ_U64, DIMS(2), DOUBLES(0x1p63, 0x1p63));
  dq_node_set_string(h.graph, h.node, "reduction", "min");
  harness_gives(&h, DQ_U64, DIMS(2), DOUBLES(1, 1));
  h.inputs[2]->type = DQ_I64;
  harness_refuses(&h, DQ_BAD_INPUT, "the updates are int64, the data uint64");
  harness_close(&h);
}

static void test_compress(void **state) {
  (void)state;
  harness h;
  open_with(&h, "Compress", 11, DIMS(2, 3), six);
  harness_input(&h, DQ_BOOL, DIMS(3), (uint8_t[]){1, 0, 1});
  dq_node_set_int(h.graph, h.node, "axis", -1);
  harness_gives(&h, DQ_F32, DIMS(2, 2), DOUBLES(0, 2, 3, 5));
  h.inputs[1]->dims[0] = 2; // what the condition does not name is left out
  harness_gives(&h, DQ_F32, DIMS(2, 1), DOUBLES(0, 3));
  dq_node_set_int(h.graph, h.node, "axis", 0);
  harness_gives(&h, DQ_F32, DIMS(1, 3), DOUBLES(0, 1, 2));
  h.inputs[1]->dims[0] = 3;
  harness_refuses(&h, DQ_BAD_INPUT, "no vector of at most 2 bool elements");
  harness_close(&h);
  open_with(&h, "Compress", 11, DIMS(2, 3), six);
  harness_input(&h, DQ_BOOL, DIMS(5), (uint8_t[]){0, 1, 0, 0, 1});
  harness_gives(&h, DQ_F32, DIMS(2), DOUBLES(1, 4));
  harness_close(&h);
}

static void test_one_hot(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "OneHot", 11);
  INTS(&h, 1, -1, 3);
  INTS(&h, 3);
  harness_input(&h, DQ_F32, DIMS(2), FLOATS(2, 5)); // off, on
  harness_gives(&h, DQ_F32, DIMS(3, 3), DOUBLES(2, 5, 2, 2, 2, 5, 2, 2, 2));
  dq_node_set_int(h.graph, h.node, "axis", 0);
  harness_gives(&h, DQ_F32, DIMS(3, 3), DOUBLES(2, 2, 2, 5, 2, 2, 2, 5, 2));
  h.inputs[0]->rank = 2, h.inputs[0]->dims[0] = 1, h.inputs[0]->dims[1] = 3;
  dq_node_set_int(h.graph, h.node, "axis", 1); // in the middle
  harness_gives(&h, DQ_F32, DIMS(1, 3, 3), DOUBLES(2, 2, 2, 5, 2, 2, 2, 5, 2));
  ((int64_t *)h.inputs[1]->data)[0] = -1;
  harness_refuses(&h, DQ_BAD_INPUT, "depth is -1");
  h.inputs[2]->dims[0] = 1;
  harness_refuses(&h, DQ_BAD_INPUT, "values has shape 1, expected 2");
  harness_close(&h);
}

static void test_unique(void **state) {
  (void)state;
  harness h;
  open_with(&h, "Unique", 11, DIMS(6), FLOATS(2, 1, 1, 3, 4, 3));
  h.output_count = 4;
  assert_int_equal(harness_run(&h), DQ_OK);
  harness_gave(&h, 0, DQ_F32, DIMS(4), DOUBLES(1, 2, 3, 4), 0);
  harness_gave(&h, 1, DQ_I64, DIMS(4), DOUBLES(1, 0, 3, 4), 0);       // where each is first
  harness_gave(&h, 2, DQ_I64, DIMS(6), DOUBLES(1, 0, 0, 2, 3, 2), 0); // which of them each element is
  harness_gave(&h, 3, DQ_I64, DIMS(4), DOUBLES(2, 1, 2, 1), 0);
  dq_node_set_int(h.graph, h.node, "sorted", 0);
  assert_int_equal(harness_run(&h), DQ_OK);
  harness_gave(&h, 0, DQ_F32, DIMS(4), DOUBLES(2, 1, 3, 4), 0);
  harness_gave(&h, 1, DQ_I64, DIMS(4), DOUBLES(0, 1, 3, 4), 0);
  harness_gave(&h, 2, DQ_I64, DIMS(6), DOUBLES(0, 1, 1, 2, 3, 2), 0);
  harness_gave(&h, 3, DQ_I64, DIMS(4), DOUBLES(1, 2, 2, 1), 0);
  harness_close(&h);
  harness_open(&h, "", "Unique", 11); // columns of two matrices
  harness_input(&h, DQ_I32, DIMS(2, 3, 1), (int32_t[]){5, -1, 5, 7, 2, 7});
  h.output_count = 4;
  dq_node_set_int(h.graph, h.node, "axis", 1);
  assert_int_equal(harness_run(&h), DQ_OK);
  harness_gave(&h, 0, DQ_I32, DIMS(2, 2, 1), DOUBLES(-1, 5, 2, 7), 0);
  harness_gave(&h, 1, DQ_I64, DIMS(2), DOUBLES(1, 0), 0);
  harness_gave(&h, 2, DQ_I64, DIMS(3), DOUBLES(1, 0, 1), 0);
  harness_gave(&h, 3, DQ_I64, DIMS(2), DOUBLES(1, 2), 0);
  ((int32_t *)h.inputs[0]->data)[5] = 8; // now the last differs in the second matrix
  assert_int_equal(harness_run(&h), DQ_OK);
  harness_gave(&h, 0, DQ_I32, DIMS(2, 3, 1), DOUBLES(-1, 5, 5, 2, 7, 8), 0);
  harness_close(&h);
  open_with(&h, "Unique", 11, DIMS(4), FLOATS(NAN, 1, NAN, -1)); // all that is not a number is last
  harness_gives(&h, DQ_F32, DIMS(3), DOUBLES(-1, 1, NAN));
  harness_close(&h);
}

static void test_reverse_sequence(void **state) {
  (void)state;
  harness h;
  open_with(&h, "ReverseSequence", 10, DIMS(3, 2), six); // time x batch
  INTS(&h, 2, 3);
  harness_gives(&h, DQ_F32, DIMS(3, 2), DOUBLES(2, 5, 0, 3, 4, 1));
  ((int64_t *)h.inputs[1]->data)[0] = 4;
  assert_int_equal(harness_run(&h), DQ_BAD_INPUT);
  assert_non_null(strstr(h.error.message, "sequence length 4, expected 0 to 3"));
  ((int64_t *)h.inputs[1]->data)[0] = -1;
  assert_int_equal(harness_run(&h), DQ_BAD_INPUT);
  assert_non_null(strstr(h.error.message, "sequence length -1, expected 0 to 3"));
  h.inputs[1]->dims[0] = 1;
  harness_refuses(&h, DQ_BAD_INPUT, "no vector of 2 int64 elements");
  harness_close(&h);
  open_with(&h, "ReverseSequence", 10, DIMS(2, 3, 1), six); // batch x time
  INTS(&h, 3, 0);
  dq_node_set_int(h.graph, h.node, "batch_axis", 0);
  harness_refuses(&h, DQ_BAD_INPUT, "batch_axis is 0 and time_axis 0");
  dq_node_set_int(h.graph, h.node, "time_axis", 1);
  harness_gives(&h, DQ_F32, DIMS(2, 3, 1), DOUBLES(2, 1, 0, 3, 4, 5));
  harness_close(&h);
}

static void test_trilu(void **state) {
  (void)state;
  static const struct {
    int upper;
    int64_t k;
    double expected[6];
  } cases[] = {{1, 0, {1, 2, 3, 0, 5, 6}}, {1, 1, {0, 2, 3, 0, 0, 6}},         {1, -1, {1, 2, 3, 4, 5, 6}},
               {1, 3, {0, 0, 0, 0, 0, 0}}, {1, INT64_MAX, {0, 0, 0, 0, 0, 0}}, {0, 0, {1, 0, 0, 4, 5, 0}},
               {0, 1, {1, 2, 0, 4, 5, 6}}, {0, -1, {0, 0, 0, 4, 0, 0}},        {0, -2, {0, 0, 0, 0, 0, 0}},
               {0, 2, {1, 2, 3, 4, 5, 6}}, {0, INT64_MIN, {0, 0, 0, 0, 0, 0}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    harness h;
    open_with(&h, "Trilu", 14, DIMS(2, 2, 3), FLOATS(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
    if (cases[i].k) ints(&h, 0, NULL, &cases[i].k);
    dq_node_set_int(h.graph, h.node, "upper", cases[i].upper);
    double both[12];
    memcpy(both, cases[i].expected, 48), memcpy(both + 6, cases[i].expected, 48);
    harness_gives(&h, DQ_F32, DIMS(2, 2, 3), both);
    h.inputs[0]->rank = 1;
    harness_refuses(&h, DQ_BAD_INPUT, "the input has 1 dimensions");
    harness_close(&h);
  }
}

static void test_center_crop_pad(void **state) {
  (void)state;
  harness h;
  open_with(&h, "CenterCropPad", 18, DIMS(2, 3), six);
  INTS(&h, 3, 1); // the odd row goes to the end
  harness_gives(&h, DQ_F32, DIMS(3, 1), DOUBLES(1, 4, 0));
  memcpy(h.inputs[1]->data, (int64_t[]){1, 6}, 16);
  harness_gives(&h, DQ_F32, DIMS(1, 6), DOUBLES(0, 0, 1, 2, 0, 0));
  dq_node_set_ints(h.graph, h.node, "axes", (int64_t[]){-1}, 1);
  harness_refuses(&h, DQ_BAD_INPUT, "shape has 2 elements, expected 1");
  h.inputs[1]->dims[0] = 1;
  ((int64_t *)h.inputs[1]->data)[0] = 2;
  harness_gives(&h, DQ_F32, DIMS(2, 2), DOUBLES(0, 1, 3, 4));
  harness_close(&h);
}

static void test_max_unpool(void **state) {
  (void)state;
  harness h;
  open_with(&h, "MaxUnpool", 11, DIMS(1, 1, 2, 2), FLOATS(1, 2, 3, 4));
  ints(&h, DIMS(1, 1, 2, 2), (int64_t[]){5, 7, 13, 15}); // in 4 x 4
  dq_node_set_ints(h.graph, h.node, "kernel_shape", (int64_t[]){2, 2}, 2);
  dq_node_set_ints(h.graph, h.node, "strides", (int64_t[]){2, 2}, 2);
  harness_gives(&h, DQ_F32, DIMS(1, 1, 4, 4), DOUBLES(0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4));
  INTS(&h, 1, 1, 5, 5); // the indices count in 4 x 4 all the same
  harness_gives(&h, DQ_F32, DIMS(1, 1, 5, 5),
                DOUBLES(0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0));
  h.inputs[2]->dims[0] = 3;
  harness_refuses(&h, DQ_BAD_INPUT, "output_shape has 3 elements, expected 4");
  h.node->input_count = 2;
  ((int64_t *)h.inputs[1]->data)[3] = 16;
  assert_int_equal(harness_run(&h), DQ_BAD_INPUT);
  assert_string_equal(h.error.message, "node 'n': index 16 lies outside the output");
  harness_close(&h);
}

static void test_col2im(void **state) {
  (void)state;
  harness h;
  // Blocks of 1 x 2 over 1 x 4: three places, neighbours overlap in one element.
  open_with(&h, "Col2Im", 18, DIMS(1, 2, 3), FLOATS(1, 2, 3, 10, 20, 30));
  INTS(&h, 1, 4);
  INTS(&h, 1, 2);
  harness_gives(&h, DQ_F32, DIMS(1, 1, 1, 4), DOUBLES(1, 12, 23, 30));
  h.inputs[0]->dims[2] = 2; // [1 2; 3 10], at 0 and 2
  dq_node_set_ints(h.graph, h.node, "strides", (int64_t[]){1, 2}, 2);
  harness_gives(&h, DQ_F32, DIMS(1, 1, 1, 4), DOUBLES(1, 3, 2, 10));
  dq_node_set_ints(h.graph, h.node, "strides", (int64_t[]){1, 1}, 2);
  dq_node_set_ints(h.graph, h.node, "dilations", (int64_t[]){1, 2}, 2); // elements 0 and 2, then 1 and 3
  harness_gives(&h, DQ_F32, DIMS(1, 1, 1, 4), DOUBLES(1, 2, 3, 10));
  harness_close(&h);
  open_with(&h, "Col2Im", 18, DIMS(1, 2, 4), FLOATS(1, 2, 3, 4, 10, 20, 30, 40));
  INTS(&h, 1, 4);
  INTS(&h, 1, 2);
  dq_node_set_ints(h.graph, h.node, "dilations", (int64_t[]){1, 2}, 2);
  dq_node_set_ints(h.graph, h.node, "pads", (int64_t[]){0, 1, 0, 1}, 4); // -1 and 1, 0 and 2, 1 and 3, 2 and 4
  harness_gives(&h, DQ_F32, DIMS(1, 1, 1, 4), DOUBLES(2, 13, 24, 30));
  h.inputs[0]->dims[2] = 3;
  harness_refuses(&h, DQ_BAD_INPUT, "the columns are not N x (channels x 2) x 4");
  ((int64_t *)h.inputs[1]->data)[1] = 0;
  harness_refuses(&h, DQ_BAD_INPUT, "a block of 2 does not fit a picture of 0");
  h.inputs[2]->dims[0] = 1;
  harness_refuses(&h, DQ_BAD_INPUT, "image_shape has 2 elements, block_shape 1");
  harness_close(&h);
  // Two channels of 2 x 2 blocks on 2 x 3, two pictures.
  float columns[2 * 8 * 2];
  for (int i = 0; i < 32; i++) columns[i] = (float)(i + 1);
  open_with(&h, "Col2Im", 18, DIMS(2, 8, 2), columns);
  INTS(&h, 2, 3);
  INTS(&h, 2, 2);
  harness_gives(&h, DQ_F32, DIMS(2, 2, 2, 3),
                DOUBLES(1, 2 + 3, 4, 5, 6 + 7, 8, 9, 10 + 11, 12, 13, 14 + 15, 16, 17, 18 + 19, 20, 21, 22 + 23, 24, 25,
                        26 + 27, 28, 29, 30 + 31, 32));
  harness_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gather_elements),
      cmocka_unit_test(test_gather_nd),
      cmocka_unit_test(test_scatter_elements),
      cmocka_unit_test(test_scatter_of_integers),
      cmocka_unit_test(test_compress),
      cmocka_unit_test(test_one_hot),
      cmocka_unit_test(test_unique),
      cmocka_unit_test(test_reverse_sequence),
      cmocka_unit_test(test_trilu),
      cmocka_unit_test(test_center_crop_pad),
      cmocka_unit_test(test_max_unpool),
      cmocka_unit_test(test_col2im),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
