// Ranges by the error of what reads the value.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/int8/int8.h"
#include "tests/unit/small_network.h"

// x -1x1-> h = (x0, 8 x1) -Relu-> m -1x1-> y, where every channel of x holds k / 63, k in 0...63. y reads x0, and x1
// with `weight`.
static void build(network *it, float weight) {
  const float step = 1.0f / 63;
  network_steps(it, (float[]){0, 0, 0}, (float[]){step, step, step}, (int[]){63, 63, 63});
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "h", 3, 2, 1, 1);
  network_node(it, "Relu", network_value(it, "h"), NULL, NULL, network_value(it, "m"));
  network_conv(it, network_value(it, "m"), "y", 2, 4, 1, 1);
  network_finish(it);
  float *first = dq_graph_find(it->graph, "h_w")->constant->data,
        *second = dq_graph_find(it->graph, "y_w")->constant->data;
  memcpy(first, (float[]){1, 0, 0, 0, 8, 0}, 6 * sizeof *first);
  memset(dq_graph_find(it->graph, "h_b")->constant->data, 0, 2 * sizeof *first);
  for (int o = 0; o < 4; o++) second[2 * o] = 1, second[2 * o + 1] = weight;
}

static dq_int8_report quantize(network *it, dq_choose search) {
  dq_int8_options options = dq_int8_defaults();
  options.equalize = options.bias_correction = options.bias_absorption = DQ_CHOOSE_OFF;
  options.range_search = search;
  dq_int8_report report;
  dq_error error;
  dq_graph *copy = dq_graph_copy(it->graph);
  if (dq_int8_apply(copy, it->data, &options, &report, &it->context, &error) != DQ_OK) fail_msg("%s", error.message);
  const dq_calibration_table_range *found = dq_calibration_table_find(&report.table, "m");
  dq_calibration_table_range *own = dq_arena_copy(it->arena, found, sizeof *found);
  report.table.ranges = own, report.table.count = 1;
  dq_graph_free(copy);
  return report;
}

// What y does not read may be cut off: half the range leaves half the step to x0.
static void what_is_not_read_is_cut(void **state) {
  network *it = *state;
  build(it, 0);
  dq_int8_report plain = quantize(it, DQ_CHOOSE_OFF), searched = quantize(it, DQ_CHOOSE_ON);
  assert_int_equal(plain.searched, 0);
  assert_true(isnan(plain.range_search_gain));
  assert_int_equal(searched.searched, 1);
  assert_true(searched.range_search_gain > 0);
  assert_true(plain.table.ranges[0].range.high > 7.9f && !plain.table.ranges[0].searched);
  assert_true(searched.table.ranges[0].range.high == 0.5f * plain.table.ranges[0].range.high);
  assert_true(searched.table.ranges[0].searched);
}

// Cutting 8 x1 at 7.2 costs up to 0.8 per value, the finer step gains 0.1 of 0.03.
static void what_is_read_is_not(void **state) {
  network *it = *state;
  build(it, 1);
  dq_int8_report plain = quantize(it, DQ_CHOOSE_OFF), searched = quantize(it, DQ_CHOOSE_ON);
  assert_int_equal(searched.searched, 0);
  assert_true(searched.table.ranges[0].range.high == plain.table.ranges[0].range.high);
}

// x -1x1-> m = 40 x -Sigmoid-> y: half the range of m leaves half the step where the Sigmoid is steep, and 1 - 2e-9 for
// 1 where it is cut off. Who compares arguments of the Sigmoid would find half of them wrong.
static void arguments_of_the_last_function_are_kept(void **state) {
  network *it = *state;
  const float step = 1.0f / 63;
  network_steps(it, (float[]){0, 0, 0}, (float[]){step, step, step}, (int[]){63, 63, 63});
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "m", 3, 4, 1, 1);
  network_node(it, "Sigmoid", network_value(it, "m"), NULL, NULL, network_value(it, "y"));
  network_finish(it);
  float *weight = dq_graph_find(it->graph, "m_w")->constant->data;
  for (int i = 0; i < 12; i++) weight[i] = i % 3 ? 0 : 40;
  memset(dq_graph_find(it->graph, "m_b")->constant->data, 0, 4 * sizeof *weight);
  dq_int8_report plain = quantize(it, DQ_CHOOSE_OFF), searched = quantize(it, DQ_CHOOSE_ON);
  assert_int_equal(searched.searched, 0);
  assert_true(plain.table.ranges[0].range.high > 39);
  assert_true(searched.table.ranges[0].range.high == plain.table.ranges[0].range.high);
}

static void count_trials(void *user, dq_severity severity, const char *text) {
  (void)severity;
  *(int *)user += !strncmp(text, "trial:", 6);
}

// What the search needs beside the network: the wide value and the result behind it once more. Where that is more than
// there is, nothing is tried before it is said.
static void too_little_memory_is_said_first(void **state) {
  network *it = *state;
  const float step[3] = {0.02f, 0.02f, 0.02f};
  int trials;
  network_steps(it, (float[]){0, 0, 0}, step, (int[]){63, 63, 63});
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "m", 3, 4096, 1, 1); // 1 MiB
  network_conv(it, network_value(it, "m"), "y", 4096, 4, 1, 1);
  network_finish(it);
  for (int search = 0; search < 2; search++) {
    dq_int8_options options = dq_int8_defaults();
    options.search_hint = "the caller's own way";
    if (!search) options.range_search = DQ_CHOOSE_OFF;
    dq_budget budget = {.limit = (search ? 56 : 80) << 16};
    it->context.budget = &budget, it->context.message = count_trials, it->context.user = &trials, trials = 0;
    dq_int8_report report;
    dq_error error = {0};
    dq_graph *copy = dq_graph_copy(it->graph);
    assert_int_equal(dq_int8_apply(copy, it->data, &options, &report, &it->context, &error),
                     search ? DQ_SYSTEM : DQ_OK);
    dq_graph_free(copy);
    assert_int_equal(trials > 0, !search);
    if (search) assert_non_null(strstr(error.message, "the range search needs"));
    if (search) assert_string_equal(error.hint, "the caller's own way");
    assert_int_equal(budget.used, 0);
  }
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, network_start, network_end)
  const struct CMUnitTest tests[] = {TEST(what_is_not_read_is_cut), TEST(what_is_read_is_not),
                                     TEST(arguments_of_the_last_function_are_kept),
                                     TEST(too_little_memory_is_said_first)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
