// Ranges in front of functions that do not need all of their argument: which function follows, and both sides of each
// bound.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "quant/numeric/activation_range.h"
#include "tests/unit/small_network.h"
#include "tests/unit/picture_counts.h"

// A value that a node makes.
static dq_value *made(network *it, const char *name) {
  network_node(it, "Tanh", network_value(it, "x"), NULL, NULL, network_value(it, name));
  return network_value(it, name);
}

static dq_value *slopes_of(network *it, const char *name, dq_dtype type, int rank, const int64_t *dims, float first,
                           float step) {
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, type, rank, dims);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, (double)(first + step * (float)i));
  return dq_graph_add_constant(it->graph, name, tensor);
}

static void the_function_that_follows(void **state) {
  network *it = *state;
  dq_value *a = made(it, "a"), *b = made(it, "b"), *c = made(it, "c"), *d = made(it, "d"), *e = made(it, "e");
  dq_value *f = made(it, "f");
  network_node(it, "Sigmoid", a, NULL, NULL, network_value(it, "a1"));
  network_node(it, "Tanh", network_value(it, "a1"), NULL, NULL, network_value(it, "a2"));
  // x Sigmoid(x), in both orders, of the operands and of the readers
  network_node(it, "Sigmoid", b, NULL, NULL, network_value(it, "b1"));
  network_node(it, "Mul", b, network_value(it, "b1"), NULL, network_value(it, "b2"));
  network_node(it, "Mul", network_value(it, "c1"), c, NULL, network_value(it, "c2"));
  network_node(it, "Sigmoid", c, NULL, NULL, network_value(it, "c1"));
  // the product has another operand; another operator; Sigmoid and a third reader; Sigmoid beside an output
  network_node(it, "Sigmoid", d, NULL, NULL, network_value(it, "d1"));
  network_node(it, "Mul", d, network_value(it, "a1"), NULL, network_value(it, "d2"));
  network_node(it, "Sigmoid", e, NULL, NULL, network_value(it, "e1"));
  network_node(it, "Add", e, network_value(it, "e1"), NULL, network_value(it, "e2"));
  network_node(it, "Sigmoid", f, NULL, NULL, network_value(it, "f1"));
  network_node(it, "Mul", f, network_value(it, "f1"), NULL, network_value(it, "f2"));
  network_node(it, "Tanh", f, NULL, NULL, network_value(it, "f3"));
  network_node(it, "Sigmoid", network_value(it, "a2"), NULL, NULL, network_value(it, "y"));
  network_node(it, "Sigmoid", network_value(it, "y"), NULL, NULL, network_value(it, "z"));
  network_finish(it); // x is the input, y the output
  assert_int_equal(dq_follower_of(a), DQ_FOLLOWER_SIGMOID);
  assert_int_equal(dq_follower_of(network_value(it, "a1")), DQ_FOLLOWER_NONE); // Tanh and a product
  assert_int_equal(dq_follower_of(network_value(it, "a2")), DQ_FOLLOWER_SIGMOID);
  assert_int_equal(dq_follower_of(network_value(it, "z")), DQ_FOLLOWER_NONE); // nothing
  assert_int_equal(dq_follower_of(b), DQ_FOLLOWER_SILU);
  assert_int_equal(dq_follower_of(c), DQ_FOLLOWER_SILU);
  assert_int_equal(dq_follower_of(d), DQ_FOLLOWER_NONE);
  assert_int_equal(dq_follower_of(e), DQ_FOLLOWER_NONE);
  assert_int_equal(dq_follower_of(f), DQ_FOLLOWER_NONE);
  assert_int_equal(dq_follower_of(network_value(it, "y")), DQ_FOLLOWER_NONE); // everybody sees an output
  a->is_captured = true;
  assert_int_equal(dq_follower_of(a), DQ_FOLLOWER_NONE);
}

// The depth d of a step is where x Sigmoid(x) is -step: the inverse is exact to 100 / 2^40. Beyond the bounds of the
// search, 1.2784645 and 100, the nearer bound is given.
static void depths(void **state) {
  (void)state;
  for (double depth = 1.5; depth < 90; depth *= 1.3)
    assert_true(fabs(dq_silu_depth(depth / (1 + exp(depth))) - depth) < 1e-6 * depth);
  assert_true(fabs(dq_silu_depth(1) - 1.2784645) < 1e-9);
  assert_true(dq_silu_depth(1e-300) == 100);
}

static void narrow_ranges(void **state) {
  (void)state;
  const float reach = logf(509);
  const struct {
    dq_follower follower;
    dq_range_pair given, expected;
  } cases[] = {
      {DQ_FOLLOWER_NONE, {-40, 30}, {-40, 30}},
      {DQ_FOLLOWER_SIGMOID, {-40, 30}, {-reach, reach}},
      {DQ_FOLLOWER_SIGMOID, {-6.2f, 6.3f}, {-6.2f, reach}},
      {DQ_FOLLOWER_SIGMOID, {-6.3f, 6.2f}, {-reach, 6.2f}},
      {DQ_FOLLOWER_SILU, {-40, 0}, {-40, 0}}, // there is no step to compare with
      {DQ_FOLLOWER_SILU, {-40, -1}, {-40, -1}},
      {DQ_FOLLOWER_SILU, {-1, 20}, {-1, 20}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_range_pair got = dq_narrow_range(cases[i].given, cases[i].follower);
    assert_true(fabsf(got.low - cases[i].expected.low) < 2e-6f);
    assert_true(fabsf(got.high - cases[i].expected.high) < 2e-6f);
  }
  // 5 Sigmoid(-5) = 0.033464: a 255th of 8.5333
  dq_range_pair got = dq_narrow_range((dq_range_pair){-40, 255 * 5 / (1 + expf(5))}, DQ_FOLLOWER_SILU);
  assert_true(fabsf(got.low + 5) < 1e-4f);
  got = dq_narrow_range((dq_range_pair){-40, 0.001f}, DQ_FOLLOWER_SILU); // a small positive end counts
  assert_true(fabsf(got.low + (float)dq_silu_depth((double)0.001f / 255)) < 1e-5f && got.low > -20);
}

static void slopes(void **state) {
  network *it = *state;
  const struct {
    const char *name;
    int rank;
    int64_t dims[4];
    dq_dtype type;
    double first, third, all; // of channels 0 and 2, and of channel -1
  } cases[] = {{"each", 3, {4, 1, 1}, DQ_F32, 0.25, 0.75, 1},
               {"one", 1, {1}, DQ_F32, 0.25, 0.25, 0.25},
               {"scalar", 0, {0}, DQ_F32, 0.25, 0.25, 0.25},
               {"two", 1, {2}, DQ_F32, 0.25, 1, 0.5},          // channel 2 has none
               {"places", 3, {1, 4, 1}, DQ_F32, 1, 1, 1},      // other slopes along an axis of pixels
               {"pictures", 4, {4, 1, 1, 1}, DQ_F32, 1, 1, 1}, // of pictures
               {"halves", 1, {1}, DQ_F16, 1, 1, 1}};           // not float32
  enum { COUNT = sizeof cases / sizeof *cases };
  dq_value *before[COUNT];
  for (int i = 0; i < COUNT; i++) {
    char name[2] = {(char)('A' + i), 0}, after[3] = {(char)('A' + i), '2', 0};
    before[i] = made(it, name);
    network_node(it, "PRelu", before[i],
                 slopes_of(it, cases[i].name, cases[i].type, cases[i].rank, cases[i].dims, 0.25f, 0.25f), NULL,
                 network_value(it, after));
  }
  dq_value *leaky = made(it, "leaky"), *shared = made(it, "shared");
  dq_node *node = network_node(it, "LeakyRelu", leaky, NULL, NULL, network_value(it, "leaky2"));
  dq_node_set_float(it->graph, node, "alpha", -0.125f);
  node = network_node(it, "LeakyRelu", made(it, "steep"), NULL, NULL, network_value(it, "steep2"));
  dq_node_set_float(it->graph, node, "alpha", 3);
  network_node(it, "LeakyRelu", made(it, "usual"), NULL, NULL, network_value(it, "usual2"));
  network_node(it, "Relu", shared, NULL, NULL, network_value(it, "shared2"));
  network_node(it, "Relu", shared, NULL, NULL, network_value(it, "shared3"));
  network_node(it, "PRelu", made(it, "other"), made(it, "computed"), NULL, network_value(it, "p"));
  network_node(it, "Relu", made(it, "simple"), NULL, NULL, network_value(it, "y"));
  network_node(it, "Relu", network_value(it, "y"), NULL, NULL, network_value(it, "z"));
  network_finish(it);
  for (int i = 0; i < COUNT; i++) {
    assert_true(dq_slope_below(before[i], 0) == cases[i].first);
    assert_true(dq_slope_below(before[i], 2) == cases[i].third);
    assert_true(dq_slope_below(before[i], -1) == cases[i].all);
  }
  assert_true(dq_slope_below(leaky, 0) == 0.125);
  assert_true(dq_slope_below(network_value(it, "steep"), 0) == 1);
  assert_true(dq_slope_below(network_value(it, "usual"), 5) == (double)0.01f);
  assert_true(dq_slope_below(shared, 0) == 1);
  assert_true(dq_slope_below(network_value(it, "computed"), 0) == 1); // it is the slope
  assert_true(dq_slope_below(network_value(it, "other"), 0) == 1);    // its slopes are not known
  assert_true(dq_slope_below(network_value(it, "simple"), 0) == 1);   // a Relu has a range of its own
  assert_true(dq_slope_below(network_value(it, "y"), 0) == 1);        // everybody sees an output
}

// Ends that already begin at 0, or end there, are left alone, and so is a slope of 1.
static void ranges_without_a_part_below_zero(void **state) {
  (void)state;
  dq_histogram histogram;
  const float values[] = {1, 1, 1, 1, -1};
  dq_histogram_init(&histogram, NULL);
  add_values(&histogram, values, 5);
  const dq_range_pair given[] = {{0, 1}, {0.5f, 1}, {-1, 0}, {-1, -0.5f}};
  for (int i = 0; i < 4; i++) {
    dq_range_pair got = dq_rectified_range(&histogram, given[i], 0.1);
    assert_true(got.low == given[i].low && got.high == given[i].high);
  }
  // Four of five at 1: with a slope s the squared error of the end -l is, in units of 1 / (12 255^2),
  // (1 + l)^2 4 + s^2 780300 (1 - l)^2, least at l = (s^2 780300 - 4) / (s^2 780300 + 4), for s = 0.01 at 0.9024 of
  // the 64ths 58, for s = 0.004 at 0.5147: 33, for s = 0.003 at 0.2742: 17 and 18 are nearest, 17.55.
  assert_true(dq_rectified_range(&histogram, (dq_range_pair){-1, 1}, 0.01).low == -58.0f / 64);
  assert_true(dq_rectified_range(&histogram, (dq_range_pair){-1, 1}, 0.004).low == -33.0f / 64);
  assert_true(dq_rectified_range(&histogram, (dq_range_pair){-1, 1}, 0.003).low == -18.0f / 64);
  dq_histogram_deinit(&histogram);
}

static void elements_of_a_softmax(void **state) {
  network *it = *state;
  dq_node *plain = network_node(it, "Softmax", network_value(it, "x"), NULL, NULL, network_value(it, "a"));
  dq_node *second = network_node(it, "Softmax", network_value(it, "x"), NULL, NULL, network_value(it, "b"));
  dq_node *behind = network_node(it, "Softmax", network_value(it, "x"), NULL, NULL, network_value(it, "c"));
  dq_node *relu = network_node(it, "Relu", network_value(it, "x"), NULL, NULL, network_value(it, "y"));
  dq_node_set_int(it->graph, second, "axis", 2);
  dq_node_set_int(it->graph, behind, "axis", -3);
  const dq_tensor *result = dq_tensor_new(it->graph->arena, DQ_F32, 4, (int64_t[]){2, 3, 5, 7});
  assert_int_equal(dq_softmax_length(NULL, result, 13), 1);
  assert_int_equal(dq_softmax_length(relu, result, 13), 1);
  assert_int_equal(dq_softmax_length(plain, result, 12), 105);
  assert_int_equal(dq_softmax_length(plain, result, 13), 7);
  assert_int_equal(dq_softmax_length(second, result, 12), 35);
  assert_int_equal(dq_softmax_length(second, result, 13), 5);
  assert_int_equal(dq_softmax_length(behind, result, 12), 105);
  assert_int_equal(dq_softmax_length(behind, result, 13), 3);
  // 255 steps at most for a high of 1, 128 for each element
  assert_true(dq_softmax_high(1, 1) == (float)(255 / 128.125));
  assert_true(dq_softmax_high(1, 2) == (float)(255 / 255.125));
  assert_true(dq_softmax_high(0.999f, 1000) == (float)(255 / 255.125));
}

#define WITH_NETWORK(test) cmocka_unit_test_setup_teardown(test, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_NETWORK(the_function_that_follows), cmocka_unit_test(depths),
      cmocka_unit_test(narrow_ranges),         WITH_NETWORK(slopes),
      WITH_NETWORK(elements_of_a_softmax),     cmocka_unit_test(ranges_without_a_part_below_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
