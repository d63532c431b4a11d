// Windows and pools: geometry, hand-computed values, what is refused, any number of threads.
#include <math.h>
#include <string.h>

#include "lib/base/random.h"
#include "tests/unit/operator_harness.h"

static void open_pool(harness *h, const char *op_type, int64_t kernel, int opset) {
  harness_open(h, "", op_type, opset);
  dq_node_set_ints(h->graph, h->node, "kernel_shape", (int64_t[]){kernel, kernel}, 2);
}

static void set_all(harness *h, const char *name, int64_t value, int count) {
  dq_node_set_ints(h->graph, h->node, name, (int64_t[]){value, value, value, value}, count);
}

static const float nine[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static void test_max_pool_pads_and_ceil(void **state) {
  (void)state;
  harness h;
  open_pool(&h, "MaxPool", 2, 12);
  harness_input(&h, DQ_F32, DIMS(1, 1, 3, 3), nine);
  set_all(&h, "strides", 2, 2);
  harness_gives(&h, DQ_F32, DIMS(1, 1, 1, 1), DOUBLES(5));
  dq_node_set_int(h.graph, h.node, "ceil_mode", 1);
  harness_gives(&h, DQ_F32, DIMS(1, 1, 2, 2), DOUBLES(5, 6, 8, 9));
  dq_node_set_int(h.graph, h.node, "ceil_mode", 0);
  set_all(&h, "pads", 1, 4);
  harness_gives(&h, DQ_F32, DIMS(1, 1, 2, 2), DOUBLES(1, 3, 7, 9));
  harness_close(&h);
}

static void test_max_pool_of_negative_integers(void **state) {
  (void)state;
  harness h;
  open_pool(&h, "MaxPool", 2, 12);
  harness_input(&h, DQ_I8, DIMS(1, 1, 2, 2), (int8_t[]){-5, -6, -7, -8});
  set_all(&h, "pads", 1, 4);
  harness_gives(&h, DQ_I8, DIMS(1, 1, 3, 3), DOUBLES(-5, -5, -6, -5, -5, -6, -7, -7, -8));
  harness_close(&h);
}

// The same bytes with and without sign, behind one column of padding: by the kernel (stride 2), by the loops (stride
// 3), and with indices.
static void test_max_pool_of_bytes(void **state) {
  (void)state;
  static const uint8_t bytes[] = {0x81, 0x55, 0xff, 0x7f, 0x80}; // -127 85 -1 127 -128, or 129 85 255 127 128
  static const double expected[2][2][3] = {{{-127, 85, 127}, {129, 255, 128}}, {{-127, 127}, {129, 255}}};
  for (int stride = 2; stride <= 3; stride++)
    for (int type = 0; type < 2; type++)
      for (int outputs = 1; outputs <= 2; outputs++) {
        harness h;
        harness_open(&h, "", "MaxPool", 12);
        dq_node_set_ints(h.graph, h.node, "kernel_shape", (int64_t[]){1, 2}, 2);
        dq_node_set_ints(h.graph, h.node, "strides", (int64_t[]){1, stride}, 2);
        dq_node_set_ints(h.graph, h.node, "pads", (int64_t[]){0, 1, 0, 0}, 4);
        harness_input(&h, type ? DQ_U8 : DQ_I8, DIMS(1, 1, 1, 5), bytes);
        h.output_count = outputs;
        assert_int_equal(harness_run(&h), DQ_OK);
        harness_gave(&h, 0, type ? DQ_U8 : DQ_I8, DIMS(1, 1, 1, stride == 2 ? 3 : 2), expected[stride - 2][type], 0);
        harness_close(&h);
      }
}

// Where the largest lie, counted through all planes; of equals it is the first.
static void test_max_pool_indices(void **state) {
  (void)state;
  static const int types[] = {DQ_F32, DQ_F64, DQ_I8, DQ_U8};
  for (int t = 0; t < 4; t++) {
    harness h;
    open_pool(&h, "MaxPool", 2, 12);
    dq_tensor *x = harness_input(&h, types[t], DIMS(1, 2, 2, 3), NULL);
    const double values[] = {1, 5, 5, 9, 2, 3, 7, 7, 7, 7, 7, 8};
    for (int i = 0; i < 12; i++) dq_tensor_set(x, i, values[i]);
    harness_gives(&h, types[t], DIMS(1, 2, 1, 2), DOUBLES(9, 5, 7, 8)); // without indices
    h.output_count = 2;
    assert_int_equal(harness_run(&h), DQ_OK);
    harness_gave(&h, 0, types[t], DIMS(1, 2, 1, 2), DOUBLES(9, 5, 7, 8), 0);
    harness_gave(&h, 1, DQ_I64, DIMS(1, 2, 1, 2), DOUBLES(3, 1, 6, 11), 0);
    dq_node_set_int(h.graph, h.node, "storage_order", 1); // columns after each other
    assert_int_equal(harness_run(&h), DQ_OK);
    harness_gave(&h, 1, DQ_I64, DIMS(1, 2, 1, 2), DOUBLES(1, 2, 6, 11), 0);
    dq_node_set_int(h.graph, h.node, "storage_order", 0);
    set_all(&h, "strides", 2, 2);
    set_all(&h, "pads", 1, 4);
    assert_int_equal(harness_run(&h), DQ_OK);
    harness_gave(&h, 0, types[t], DIMS(1, 2, 2, 2), DOUBLES(1, 5, 9, 3, 7, 7, 7, 8), 0);
    harness_gave(&h, 1, DQ_I64, DIMS(1, 2, 2, 2), DOUBLES(0, 1, 3, 5, 6, 7, 9, 11), 0);
    harness_close(&h);
  }
}

// Roots of the sums of powers; padding adds nothing.
static void test_lp_pool(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++)
    for (int p = 0; p < 4; p++) { // 0: the default, 2
      harness h;
      open_pool(&h, "LpPool", 2, 18);
      dq_tensor *x = harness_input(&h, wide ? DQ_F64 : DQ_F32, DIMS(1, 1, 2, 3), NULL);
      const double values[] = {1, -2, 3, -4, 5, -6};
      for (int i = 0; i < 6; i++) dq_tensor_set(x, i, values[i]);
      if (p) dq_node_set_int(h.graph, h.node, "p", p);
      const double sums[4][2] = {{46, 74}, {12, 16}, {46, 74}, {1 + 8 + 64 + 125, 8 + 27 + 125 + 216}};
      const double root = p ? p : 2, expected[] = {pow(sums[p][0], 1 / root), pow(sums[p][1], 1 / root)};
      harness_is_near(&h, DIMS(1, 1, 1, 2), expected, 1e-5);
      set_all(&h, "pads", 1, 4);
      set_all(&h, "strides", 2, 2);
      harness_is_near(
          &h, DIMS(1, 1, 2, 2),
          DOUBLES(1, pow(pow(2, root) + pow(3, root), 1 / root), 4, pow(pow(5, root) + pow(6, root), 1 / root)), 1e-5);
      dq_node_set_int(h.graph, h.node, "p", 0);
      harness_refuses(&h, DQ_BAD_INPUT, "attribute 'p' is 0, expected 1 or more");
      harness_close(&h);
    }
}

static void test_average_divides_by_what_it_saw(void **state) {
  (void)state;
  harness h;
  open_pool(&h, "AveragePool", 2, 19);
  harness_input(&h, DQ_F32, DIMS(1, 1, 3, 3), nine);
  set_all(&h, "strides", 2, 2);
  set_all(&h, "pads", 1, 4);
  harness_gives(&h, DQ_F32, DIMS(1, 1, 2, 2), DOUBLES(1, 2.5, 5.5, 7));
  dq_node_set_int(h.graph, h.node, "count_include_pad", 1);
  harness_gives(&h, DQ_F32, DIMS(1, 1, 2, 2), DOUBLES(0.25, 1.25, 2.75, 7));
  harness_close(&h);
}

static void test_same_padding_puts_the_odd_element(void **state) {
  (void)state;
  harness h;
  open_pool(&h, "MaxPool", 2, 12);
  harness_input(&h, DQ_F32, DIMS(1, 1, 3, 3), nine);
  dq_node_set_string(h.graph, h.node, "auto_pad", "SAME_UPPER");
  harness_gives(&h, DQ_F32, DIMS(1, 1, 3, 3), DOUBLES(5, 6, 6, 8, 9, 9, 8, 9, 9));
  dq_node_set_string(h.graph, h.node, "auto_pad", "SAME_LOWER");
  harness_gives(&h, DQ_F32, DIMS(1, 1, 3, 3), DOUBLES(1, 2, 3, 4, 5, 6, 7, 8, 9));
  harness_close(&h);
}

static void test_bad_windows(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int64_t value;
    int count;
    const char *words;
  } cases[] = {{"strides", 0, 2, "'strides' holds 0"},
               {"dilations", 0, 2, "'dilations' holds 0"},
               {"pads", -1, 4, "'pads' holds -1"},
               {"pads", 1, 2, "'pads' has 2 elements, expected 4"},
               {"kernel_shape", 0, 2, "'kernel_shape' holds 0"},
               {"kernel_shape", 4, 2, "covers 4, more than the 3 elements"},
               {"kernel_shape", 2, 3, "'kernel_shape' has 3 elements, expected 2"},
               {"dilations", 3, 2, "covers 4, more than the 3 elements"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    harness h;
    open_pool(&h, "MaxPool", 2, 12);
    harness_input(&h, DQ_F32, DIMS(1, 1, 3, 3), nine);
    set_all(&h, cases[i].name, cases[i].value, cases[i].count);
    harness_refuses(&h, DQ_BAD_INPUT, cases[i].words);
    harness_close(&h);
  }
}

static void test_pads_beside_auto_pad(void **state) {
  (void)state;
  harness h;
  open_pool(&h, "MaxPool", 2, 12);
  harness_input(&h, DQ_F32, DIMS(1, 1, 3, 3), nine);
  dq_node_set_string(h.graph, h.node, "auto_pad", "SAME_UPPER");
  set_all(&h, "pads", 1, 4);
  harness_refuses(&h, DQ_BAD_INPUT, "both 'auto_pad' SAME_UPPER and 'pads'");
  dq_node_set_string(h.graph, h.node, "auto_pad", "SAME");
  harness_refuses(&h, DQ_BAD_INPUT, "auto_pad is 'SAME'");
  harness_close(&h);
}

// float16 runs through float32 and lands on the same maxima; two threads give what one gives.
static void test_threads_and_half(void **state) {
  (void)state;
  static float elements[16 * 64 * 64];
  dq_random random = {1};
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) elements[i] = dq_random_float(&random);
  harness h;
  open_pool(&h, "AveragePool", 3, 19);
  harness_input(&h, DQ_F32, DIMS(1, 16, 64, 64), elements);
  assert_int_equal(harness_run(&h), DQ_OK);
  dq_tensor first = *h.output;
  dq_pool *pool = h.context.pool;
  h.context.pool = NULL;
  assert_int_equal(harness_run(&h), DQ_OK);
  h.context.pool = pool;
  assert_memory_equal(first.data, h.output->data, dq_tensor_bytes(&first));
  harness_close(&h);
  // Rows 1 2 -2, NaN -1 -inf, -0 0 -3 in windows of 2 by 2: a NaN is passed over, of two zeros the first stays.
  harness_open(&h, "", "MaxPool", 12);
  dq_node_set_ints(h.graph, h.node, "kernel_shape", (int64_t[]){2, 2}, 2);
  harness_input(&h, DQ_F16, DIMS(1, 1, 3, 3),
                (uint16_t[]){0x3c00, 0x4000, 0xc000, 0x7e00, 0xbc00, 0xfc00, 0x8000, 0, 0xc200});
  harness_gives(&h, DQ_F16, DIMS(1, 1, 2, 2), DOUBLES(2, 2, 0, 0));
  harness_close(&h);
  harness_open(&h, "", "GlobalMaxPool", 13);
  harness_input(&h, DQ_F16, DIMS(1, 1, 2, 2), (uint16_t[]){0x3c00, 0x4000, 0xc000, 0}); // 1 2 -2 0
  harness_gives(&h, DQ_F16, DIMS(1, 1, 1, 1), DOUBLES(2));
  harness_close(&h);
}

static void test_global_average(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "GlobalAveragePool", 13);
  harness_input(&h, DQ_F32, DIMS(1, 2, 3, 1), FLOATS(1, 2, 3, 10, 20, 60));
  harness_gives(&h, DQ_F32, DIMS(1, 2, 1, 1), DOUBLES(2, 30));
  harness_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_max_pool_pads_and_ceil),
      cmocka_unit_test(test_max_pool_of_negative_integers),
      cmocka_unit_test(test_max_pool_of_bytes),
      cmocka_unit_test(test_max_pool_indices),
      cmocka_unit_test(test_lp_pool),
      cmocka_unit_test(test_average_divides_by_what_it_saw),
      cmocka_unit_test(test_same_padding_puts_the_odd_element),
      cmocka_unit_test(test_bad_windows),
      cmocka_unit_test(test_pads_beside_auto_pad),
      cmocka_unit_test(test_threads_and_half),
      cmocka_unit_test(test_global_average),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
