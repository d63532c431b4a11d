// Weights of products by how wide their sums may become.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/int8/int8.h"
#include "quant/numeric/product_weight.h"
#include "tests/unit/small_network.h"

static void set_weights(network *it, const char *name, const float *row, int64_t count) {
  dq_value *weight = dq_graph_find(it->graph, name);
  float *to = weight->constant->data;
  for (int64_t i = 0; i < dq_tensor_count(weight->constant); i++) to[i] = row[i % count];
}

// 70000 weights of 127 reach 70000 * 127 * 255 = 2266950000, above 2147483647.
static void deep_sums_are_kept_in_int32(void **state) {
  network *it = *state;
  enum { DEPTH = 70000 };
  dq_tensor *w = dq_tensor_new(it->graph->arena, DQ_F32, 2, (int64_t[]){DEPTH, 2});
  for (int64_t i = 0; i < 2 * DEPTH; i++) ((float *)w->data)[i] = 1;
  dq_value *weight = dq_graph_add_constant(it->graph, "w", w);
  dq_node *product = network_node(it, "MatMul", network_value(it, "x"), weight, NULL, network_value(it, "y"));
  float least[2] = {0, 0};
  const dq_product_weight wanted = {.type = &dq_weight_type_int8,
                                    .node = product,
                                    .axis = 1,
                                    .least = least,
                                    .input = {1, 0, DQ_U8},
                                    .accumulator.rule = DQ_ACCUMULATE_INT32};
  dq_quantized_weight result;
  dq_weight_sums sums;
  dq_error error;
  assert_int_equal(dq_quantize_product_weight(&wanted, &result, &sums, it->arena, &error), DQ_OK);
  int8_t q = ((const int8_t *)result.elements->data)[0];
  assert_int_equal(q, 119); // 127 / (2266950000 / 2147483647 * 1.01)
  assert_true((int64_t)q * 255 * DEPTH <= INT32_MAX);
}

// Sums of 27 products, of which numbers 4, 5 and 6 have weights of 127, 100 and 100: blocks of six fit int16, those of
// four do not, as 4 to 7 are one of them. A table that rounds so keeps what the weights had.
static void rounding_keeps_the_longest_block(void **state) {
  network *it = *state;
  enum { DEPTH = 27 };
  float row[DEPTH] = {[10] = 1.27f, [19] = 1.0f, [2] = 1.0f}; // in memory: the channel, then the place in the window
  dq_error error;
  dq_int8_report report;
  dq_int8_options options = {.method = dq_observer_find("minmax"),
                             .activation_type = DQ_U8,
                             .equalize = DQ_CHOOSE_OFF,
                             .bias_correction = DQ_CHOOSE_OFF,
                             .accumulator = DQ_ACCUMULATE_INT16};
  network_build(it);
  set_weights(it, "a_w", row, DEPTH);
  dq_graph *again = dq_graph_copy(it->graph);
  assert_int_equal(dq_int8_apply(it->graph, it->data, &options, &report, &it->context, &error), DQ_OK);
  int64_t block = 0;
  for (int l = 0; l < report.count; l++)
    if (!strcmp(report.layers[l].name, "a")) block = report.layers[l].int16_block;
  assert_int_equal(block, 6);
  static int8_t offsets[DEPTH * CHANNELS]; // of a rounding that changes nothing
  static double bias[CHANNELS];
  dq_rounded_layer rounded = {"a", DEPTH * CHANNELS, offsets, CHANNELS, bias};
  dq_calibration_table table = report.table;
  table.rounding = (dq_rounding){&rounded, 1};
  options.table = &table;
  if (dq_int8_apply(again, NULL, &options, &report, &it->context, &error) != DQ_OK) fail_msg("%s", error.message);
  dq_graph_free(again);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)
  const struct CMUnitTest tests[] = {TEST(deep_sums_are_kept_in_int32), TEST(rounding_keeps_the_longest_block)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
