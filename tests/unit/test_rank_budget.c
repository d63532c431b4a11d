// Ranks of all layers under a bound on multiply-accumulates, where some ranks lose nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "decomp/tucker/decomp.h"
#include "tests/unit/small_network.h"

// Sets the elements of all filters but the first of the convolution that computes y to 0.
static void prune(const network *it) {
  const dq_tensor *weight = dq_graph_find(it->graph, "y")->producer->inputs[1]->constant;
  int64_t count = dq_tensor_count(weight), filter = count / weight->dims[0];
  memset((float *)weight->data + filter, 0, (size_t)(count - filter) * sizeof(float));
}

// The share of its multiply-accumulates that the network keeps under the bound. *lost is the error of the weight of the
// convolution that computes y.
static double kept_share(const network *it, double share, double *lost) {
  const dq_tucker_options options = {.macs_share = share, .multiple = 1, .context = &it->context};
  dq_tucker_report report;
  dq_error error;
  assert_int_equal(dq_tucker_apply(it->graph, &options, &report, &error), DQ_OK);
  *lost = report.layers[report.count - 1].error;
  return (double)report.model_after.macs / (double)report.model_before.macs;
}

static void start_network(network *it, int64_t between) {
  dq_value *x = network_value(it, "x");
  assert_int_equal(dq_graph_set_opset(it->graph, "", 13, NULL), DQ_OK);
  if (between) {
    network_conv(it, x, "a", 3, between, 3, 1);
    x = network_value(it, "a");
  }
  network_conv(it, x, "y", between ? between : 3, 4, 3, 1);
  network_finish(it);
}

// The true ranks save more than the bound asks for; higher ones would add arbitrary directions to filters of zeros.
static void pruned_filters(void **state) {
  double lost;
  start_network(*state, 8);
  prune(*state);
  assert_true(kept_share(*state, 0.9, &lost) <= 0.6);
  assert_true(lost < 1e-6);
}

// Two of 16 filters are zeros, and all read the sum of channels i, i + 4, i + 8 and i + 12: with a factor of the inputs
// alone the layer costs less than with its true ranks of both modes.
static void pruned_filters_that_cost_more_at_their_rank(void **state) {
  network *it = *state;
  dq_value *x = network_value(it, "x");
  assert_int_equal(dq_graph_set_opset(it->graph, "", 13, NULL), DQ_OK);
  network_conv(it, x, "a", 3, 16, 3, 1);
  network_conv(it, network_value(it, "a"), "y", 16, 16, 3, 1);
  network_finish(it);
  const dq_tensor *weight = dq_graph_find(it->graph, "y")->producer->inputs[1]->constant;
  float *elements = weight->data;
  for (int64_t i = 0; i < 16 * 16 * 9; i++)
    elements[i] = i < 14 * 16 * 9 ? elements[i / (16 * 9) * (16 * 9) + i % (4 * 9)] : 0;
  const dq_tucker_options options = {.macs_share = 0.42, .multiple = 1, .context = &it->context};
  dq_tucker_report report;
  assert_int_equal(dq_tucker_apply(it->graph, &options, &report, NULL), DQ_OK);
  const dq_tucker_layer *layer = &report.layers[report.count - 1];
  assert_int_equal(layer->ranks.in, 4);
  assert_int_equal(layer->ranks.out, 16); // 9 * 4 * 16 products, 9 * 4 * 14 + 14 * 16 with a factor
  assert_true(layer->error < 1e-6);
}

static void pruned_filters_of_few_channels(void **state) {
  double lost;
  start_network(*state, 0);
  prune(*state);
  assert_true(kept_share(*state, 0.6, &lost) <= 0.6);
  assert_true(lost < 1e-6);
}

static void few_channels_as_a_last_resort(void **state) {
  double lost;
  start_network(*state, 0);
  assert_true(kept_share(*state, 0.6, &lost) <= 0.6);
  assert_true(lost > 1e-6);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(pruned_filters),
      TEST(pruned_filters_that_cost_more_at_their_rank),
      TEST(pruned_filters_of_few_channels),
      TEST(few_channels_as_a_last_resort),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
