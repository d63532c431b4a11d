// Operators that move elements: shapes from their parameters, values, what is refused.
#include <string.h>

#include "tests/unit/operator_harness.h"

static const float six[] = {0, 1, 2, 3, 4, 5};

static void ints(harness *h, int64_t count, const int64_t *values) { harness_input(h, DQ_I64, 1, &count, values); }
#define INTS(h, ...) ints(h, (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})

static void open_six(harness *h, const char *op_type, int opset) {
  harness_open(h, "", op_type, opset);
  harness_input(h, DQ_F32, DIMS(2, 3), six);
}

static void test_reshape(void **state) {
  (void)state;
  harness h;
  open_six(&h, "Reshape", 14);
  INTS(&h, 0, -1, 1);
  harness_gives(&h, DQ_F32, DIMS(2, 3, 1), DOUBLES(0, 1, 2, 3, 4, 5));
  h.inputs[1]->data = NULL;
  assert_int_equal(harness_infer(&h), DQ_OK);
  assert_int_equal(h.output->rank, -1);
  harness_close(&h);
  open_six(&h, "Reshape", 5); // the first version with the shape as an input
  INTS(&h, 3, -1);
  harness_gives(&h, DQ_F32, DIMS(3, 2), DOUBLES(0, 1, 2, 3, 4, 5));
  harness_close(&h);
  static const struct {
    int64_t shape[3];
    const char *words;
  } cases[] = {{{4, 2, 1}, "asks for 8 elements, the input has 6"},
               {{-1, -1, 1}, "shape holds -1 at 1"},
               {{2, 3, 0}, "has 0 at 2"},
               {{-2, 3, 1}, "shape holds -2"},
               {{INT64_MAX, INT64_MAX, 1}, "overflows"},
               {{4, -1, 1}, "asks for 4 elements"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    open_six(&h, "Reshape", 14);
    ints(&h, 3, cases[i].shape);
    harness_refuses(&h, DQ_BAD_INPUT, cases[i].words);
    harness_close(&h);
  }
}

// Of opset 14 on a 0 may stand for a dimension of 0 instead of the input's.
static void zeros_of_reshape(void **state) {
  (void)state;
  for (int64_t allowed = 0; allowed < 2; allowed++) {
    harness h;
    harness_open(&h, "", "Reshape", 14);
    harness_input(&h, DQ_F32, DIMS(2, 0), NULL);
    dq_node_set_int(h.graph, h.node, "allowzero", allowed);
    INTS(&h, 0, 3);
    if (allowed) harness_gives(&h, DQ_F32, DIMS(0, 3), DOUBLES(0));
    else harness_refuses(&h, DQ_BAD_INPUT, "asks for 6 elements, the input has 0");
    harness_close(&h);
  }
}

static void test_squeeze_and_unsqueeze(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "Squeeze", 13);
  harness_input(&h, DQ_F32, DIMS(1, 2, 1), six);
  harness_gives(&h, DQ_F32, DIMS(2), DOUBLES(0, 1));
  INTS(&h, -1);
  harness_gives(&h, DQ_F32, DIMS(1, 2), DOUBLES(0, 1));
  ((int64_t *)h.inputs[1]->data)[0] = 1;
  harness_refuses(&h, DQ_BAD_INPUT, "axis 1 has size 2");
  harness_close(&h);
  harness_open(&h, "", "Unsqueeze", 11);
  harness_input(&h, DQ_F32, 0, NULL, six);
  dq_node_set_ints(h.graph, h.node, "axes", (int64_t[]){-1, 0}, 2);
  harness_gives(&h, DQ_F32, DIMS(1, 1), DOUBLES(0));
  dq_node_set_ints(h.graph, h.node, "axes", (int64_t[]){0, -2}, 2);
  harness_refuses(&h, DQ_BAD_INPUT, "axis 0 is given twice");
  harness_close(&h);
}

static void test_transpose(void **state) {
  (void)state;
  harness h;
  open_six(&h, "Transpose", 13);
  harness_gives(&h, DQ_F32, DIMS(3, 2), DOUBLES(0, 3, 1, 4, 2, 5));
  dq_node_set_ints(h.graph, h.node, "perm", (int64_t[]){0, 0}, 2);
  harness_refuses(&h, DQ_BAD_INPUT, "perm holds 0 at 1");
  harness_close(&h);
}

// Every permutation of five axes against the definition, in elements of every size.
static void test_transpose_all(void **state) {
  (void)state;
  static uint64_t elements[2 * 3 * 17 * 5 * 19];
  const int64_t dims[5] = {2, 3, 17, 5, 19};
  static const int types[] = {DQ_U8, DQ_F16, DQ_F32, DQ_I64};
  for (size_t i = 0; i < sizeof elements; i++) ((uint8_t *)elements)[i] = (uint8_t)(i * 37 % 251);
  for (int code = 0; code < 120; code++) {
    int64_t perm[5], left[5] = {0, 1, 2, 3, 4};
    for (int i = 0, rest = code; i < 5; i++) {
      int pick = rest % (5 - i);
      rest /= 5 - i;
      perm[i] = left[pick];
      memmove(left + pick, left + pick + 1, (size_t)(4 - pick) * sizeof *left);
    }
    harness h;
    harness_open(&h, "", "Transpose", 13);
    dq_tensor *input = harness_input(&h, types[code % 4], 5, dims, elements);
    dq_node_set_ints(h.graph, h.node, "perm", perm, 5);
    assert_int_equal(harness_run(&h), DQ_OK);
    size_t size = dq_dtype_size(input->type);
    for (int64_t o = 0; o < dq_tensor_count(input); o++) {
      int64_t at[5], rest = o, from = 0;
      for (int i = 4; i >= 0; i--) {
        at[perm[i]] = rest % dims[perm[i]];
        rest /= dims[perm[i]];
      }
      for (int i = 0; i < 5; i++) from = from * dims[i] + at[i];
      assert_memory_equal((char *)h.output->data + (size_t)o * size, (char *)input->data + (size_t)from * size, size);
    }
    harness_close(&h);
  }
}

static void test_concat(void **state) {
  (void)state;
  harness h;
  open_six(&h, "Concat", 13);
  harness_input(&h, DQ_F32, DIMS(2, 0), NULL);
  harness_input(&h, DQ_F32, DIMS(2, 1), FLOATS(8, 9));
  dq_node_set_int(h.graph, h.node, "axis", -1);
  harness_gives(&h, DQ_F32, DIMS(2, 4), DOUBLES(0, 1, 2, 8, 3, 4, 5, 9));
  dq_node_set_int(h.graph, h.node, "axis", 0);
  harness_refuses(&h, DQ_BAD_INPUT, "input 1 of shape 2x0 does not fit");
  harness_close(&h);
}

static void test_split(void **state) {
  (void)state;
  harness h;
  float ten[10];
  for (int i = 0; i < 10; i++) ten[i] = (float)i;
  harness_open(&h, "", "Split", 13);
  harness_input(&h, DQ_F32, DIMS(2, 5), ten);
  INTS(&h, 1, 0, 3, 1);
  dq_node_set_int(h.graph, h.node, "axis", -1);
  h.output_count = 4;
  h.outputs[3] = NULL; // nobody asks for it
  assert_int_equal(harness_run(&h), DQ_OK);
  harness_gave(&h, 0, DQ_F32, DIMS(2, 1), DOUBLES(0, 5), 0);
  harness_gave(&h, 1, DQ_F32, DIMS(2, 0), NULL, 0);
  harness_gave(&h, 2, DQ_F32, DIMS(2, 3), DOUBLES(1, 2, 3, 6, 7, 8), 0);
  memcpy(h.inputs[1]->data, (int64_t[]){1, 0, 3, 2}, 32);
  harness_refuses(&h, DQ_BAD_INPUT, "part 3 of 2 exceeds the 5 elements");
  memcpy(h.inputs[1]->data, (int64_t[]){1, 0, 3, 0}, 32);
  harness_refuses(&h, DQ_BAD_INPUT, "the parts add up to 4 of 5 elements");
  h.inputs[1]->dims[0] = 3;
  harness_refuses(&h, DQ_BAD_INPUT, "split has 3 elements, the node 4 outputs");
  harness_close(&h);
  harness_open(&h, "", "Split", 18); // the last part is the smaller one
  harness_input(&h, DQ_F32, DIMS(5, 2), ten);
  h.output_count = 3;
  dq_node_set_int(h.graph, h.node, "num_outputs", 3);
  assert_int_equal(harness_run(&h), DQ_OK);
  harness_gave(&h, 0, DQ_F32, DIMS(2, 2), DOUBLES(0, 1, 2, 3), 0);
  harness_gave(&h, 1, DQ_F32, DIMS(2, 2), DOUBLES(4, 5, 6, 7), 0);
  harness_gave(&h, 2, DQ_F32, DIMS(1, 2), DOUBLES(8, 9), 0);
  dq_node_set_int(h.graph, h.node, "num_outputs", 2);
  harness_refuses(&h, DQ_BAD_INPUT, "num_outputs is 2, the node has 3 outputs");
  harness_close(&h);
}

static void test_slice(void **state) {
  (void)state;
  harness h;
  open_six(&h, "Slice", 13);
  INTS(&h, -1, 0);
  INTS(&h, INT64_MIN, INT64_MAX);
  INTS(&h, 1, 0);
  INTS(&h, -2, 1);
  harness_gives(&h, DQ_F32, DIMS(2, 2), DOUBLES(2, 0, 5, 3));
  ((int64_t *)h.inputs[4]->data)[0] = INT64_MIN;
  harness_gives(&h, DQ_F32, DIMS(2, 1), DOUBLES(2, 5));
  ((int64_t *)h.inputs[4]->data)[0] = 0;
  harness_refuses(&h, DQ_BAD_INPUT, "the step along axis 1 is 0");
  harness_close(&h);
}

// Columns at equal distances are one run, which is copied in parts of 64 KB.
static void test_long_slices(void **state) {
  (void)state;
  enum { ROWS = 700, COLUMNS = 258 }; // COLUMNS: a multiple of each step
  static const int types[] = {DQ_U8, DQ_I16, DQ_F32, DQ_I64};
  static double elements[ROWS * COLUMNS], expected[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; i++) elements[i] = (7 * i + i / 251) % 251;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int step = 1; step <= 3; step++) {
      harness h;
      harness_open(&h, "", "Slice", 13);
      harness_numbers(&h, 0, types[t], DIMS(ROWS, COLUMNS), elements);
      INTS(&h, step - 1);
      INTS(&h, COLUMNS);
      INTS(&h, 1);
      INTS(&h, step);
      for (int i = 0; i < ROWS * COLUMNS / step; i++) expected[i] = elements[i * step + step - 1];
      harness_gives(&h, types[t], DIMS(ROWS, COLUMNS / step), expected);
      harness_close(&h);
    }
}

// Matrices larger than the squares that are turned in registers, of any 4 bytes: 2139095041 are those of a signalling
// NaN.
static void test_large_transpositions(void **state) {
  (void)state;
  enum { MATRICES = 2, ROWS = 37, COLUMNS = 301 };
  static const int types[] = {DQ_F32, DQ_I32, DQ_U8};
  static double elements[MATRICES * ROWS * COLUMNS], expected[MATRICES * ROWS * COLUMNS];
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    for (int i = 0; i < MATRICES * ROWS * COLUMNS; i++) {
      int matrix = i / (ROWS * COLUMNS), row = i / COLUMNS % ROWS, column = i % COLUMNS;
      elements[i] = types[t] == DQ_I32 ? 2139095041 - i : (7 * i + i / 251) % 251;
      expected[(matrix * COLUMNS + column) * ROWS + row] = elements[i];
    }
    harness h;
    harness_open(&h, "", "Transpose", 13);
    harness_numbers(&h, 0, types[t], DIMS(MATRICES, ROWS, COLUMNS), elements);
    dq_node_set_ints(h.graph, h.node, "perm", (int64_t[]){0, 2, 1}, 3);
    harness_gives(&h, types[t], DIMS(MATRICES, COLUMNS, ROWS), expected);
    harness_close(&h);
  }
}

static void test_gather_refuses_indices_outside(void **state) {
  (void)state;
  harness h;
  open_six(&h, "Gather", 13);
  INTS(&h, -1, 0);
  dq_node_set_int(h.graph, h.node, "axis", 1);
  harness_gives(&h, DQ_F32, DIMS(2, 2), DOUBLES(2, 0, 5, 3));
  ((int64_t *)h.inputs[1]->data)[0] = 3;
  assert_int_equal(harness_run(&h), DQ_BAD_INPUT);
  assert_non_null(strstr(h.error.message, "index 3 is outside a dimension of 3"));
  harness_close(&h);
}

static void test_scatter_reduces(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "ScatterND", 18);
  harness_input(&h, DQ_I64, DIMS(3), (int64_t[]){1, INT64_MAX, 5});
  harness_input(&h, DQ_I64, DIMS(3, 1), (int64_t[]){0, 2, -1});
  harness_input(&h, DQ_I64, DIMS(3), (int64_t[]){10, 20, 30});
  dq_node_set_string(h.graph, h.node, "reduction", "add");
  harness_gives(&h, DQ_I64, DIMS(3), DOUBLES(11, (double)INT64_MAX, 55));
  harness_close(&h);
}

static void test_pad(void **state) {
  (void)state;
  harness h;
  open_six(&h, "Pad", 19);
  INTS(&h, 0, 2, 0, -1);
  harness_gives(&h, DQ_F32, DIMS(2, 4), DOUBLES(0, 0, 0, 1, 0, 0, 3, 4));
  dq_node_set_string(h.graph, h.node, "mode", "reflect");
  ((int64_t *)h.inputs[1]->data)[3] = 1;
  harness_gives(&h, DQ_F32, DIMS(2, 6), DOUBLES(2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4));
  dq_node_set_string(h.graph, h.node, "mode", "wrap");
  harness_gives(&h, DQ_F32, DIMS(2, 6), DOUBLES(1, 2, 0, 1, 2, 0, 4, 5, 3, 4, 5, 3));
  ((int64_t *)h.inputs[1]->data)[3] = INT64_MAX;
  harness_refuses(&h, DQ_BAD_INPUT, "do not fit dimension 1 of 3");
  harness_close(&h);
}

static void test_tile_and_expand(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "Tile", 13);
  harness_input(&h, DQ_F32, DIMS(1, 2), six);
  INTS(&h, 2, 2);
  harness_gives(&h, DQ_F32, DIMS(2, 4), DOUBLES(0, 1, 0, 1, 0, 1, 0, 1));
  ((int64_t *)h.inputs[1]->data)[1] = 0;
  harness_gives(&h, DQ_F32, DIMS(2, 0), NULL);
  harness_close(&h);
  harness_open(&h, "", "Expand", 13);
  harness_input(&h, DQ_F32, DIMS(2, 1), six);
  INTS(&h, 2, 1, 2);
  harness_gives(&h, DQ_F32, DIMS(2, 2, 2), DOUBLES(0, 0, 1, 1, 0, 0, 1, 1));
  harness_close(&h);
}

// Two channels of 2x2 pixels, one block: pixels of a channel side by side (CRD), or channels of a pixel (DCR).
static void test_space_to_depth(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "SpaceToDepth", 28);
  harness_input(&h, DQ_F32, DIMS(1, 2, 2, 2), FLOATS(0, 1, 2, 3, 4, 5, 6, 7));
  dq_node_set_int(h.graph, h.node, "blocksize", 2);
  harness_gives(&h, DQ_F32, DIMS(1, 8, 1, 1), DOUBLES(0, 4, 1, 5, 2, 6, 3, 7));
  dq_node_set_string(h.graph, h.node, "mode", "CRD");
  harness_gives(&h, DQ_F32, DIMS(1, 8, 1, 1), DOUBLES(0, 1, 2, 3, 4, 5, 6, 7));
  harness_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reshape),
      cmocka_unit_test(zeros_of_reshape),
      cmocka_unit_test(test_squeeze_and_unsqueeze),
      cmocka_unit_test(test_transpose),
      cmocka_unit_test(test_transpose_all),
      cmocka_unit_test(test_concat),
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_slice),
      cmocka_unit_test(test_long_slices),
      cmocka_unit_test(test_large_transpositions),
      cmocka_unit_test(test_gather_refuses_indices_outside),
      cmocka_unit_test(test_scatter_reduces),
      cmocka_unit_test(test_pad),
      cmocka_unit_test(test_tile_and_expand),
      cmocka_unit_test(test_space_to_depth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
