// The input quantized on its input grid.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "quant/rewrite/levels.h"
#include "tests/unit/small_network.h"

static void build_reader(network *it, bool padded) {
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "y", 3, 4, 3, 1);
  if (!padded) dq_node_remove_attribute(it->graph->nodes[0], "pads");
  network_finish(it);
}

static dq_input_levels measure(const network *it) {
  dq_observation what = network_watch(it, NULL);
  dq_input_levels levels;
  dq_error error;
  if (dq_levels_measure(&levels, &what, it->arena, &error) != DQ_OK) fail_msg("%s", error.message);
  return levels;
}

// (p - 1) / 2, p / 4 and (p - 7) / 2 for p in 0...255: steps 0.5, 0.25, 0.5; the second channel is doubled.
// In steps of 0.5 they begin at -1, 0 and -7: 0 to 255 more is -7...255, 263 levels. Padded by a node of its
// own all begin at the mean, -8/3 -> -3, so the range is -1.5...126.
static void three_channels_by_hand(void **state) {
  network *it = *state;
  network_steps(it, (float[]){-0.5f, 0, -3.5f}, (float[]){0.5f, 0.25f, 0.5f}, (int[]){255, 255, 255});
  build_reader(it, true);
  dq_input_levels levels = measure(it);
  assert_non_null(levels.input);
  assert_true(levels.padded_first);
  const double factors[] = {1, 2, 1}, shifts[] = {-1, -1.5, 2};
  for (int c = 0; c < 3; c++) {
    assert_true(fabs(levels.factors[c] - factors[c]) < 1e-6);
    assert_true(fabs(levels.shifts[c] - shifts[c]) < 1e-5);
  }
  assert_true(levels.range.low == -1.5f && levels.range.high == 126.0f);
}

// (p - 127.5) / 127.5: 0 lies between two levels. Half a step down, -1 is 128 steps below 0.
static void half_a_step(void **state) {
  network *it = *state;
  const float step = 2.0f / 255;
  network_steps(it, (float[]){-1, -1, -1}, (float[]){step, step, step}, (int[]){255, 255, 255});
  build_reader(it, true);
  dq_input_levels levels = measure(it);
  assert_false(levels.padded_first);
  for (int c = 0; c < 3; c++) {
    assert_true(levels.factors[c] == 1);
    assert_true(fabs(levels.shifts[c] + (double)step / 2) < 1e-6);
  }
  assert_true(fabsf(levels.range.low + 128 * step) < 1e-5f && fabsf(levels.range.high - 127 * step) < 1e-5f);
}

// Fewer levels than 256: what is over goes to both ends, (255 - 200) / 2 = 27 below.
static void nothing_to_change(void **state) {
  network *it = *state;
  network_steps(it, (float[]){0, 0, 0}, (float[]){1, 1, 1}, (int[]){200, 200, 200});
  build_reader(it, true);
  dq_input_levels levels = measure(it);
  dq_value *value;
  assert_true(levels.range.low == -27.0f && levels.range.high == 228.0f);
  assert_int_equal(dq_levels_apply(it->graph, &levels, &value, NULL), DQ_OK);
  assert_string_equal(value->name, "x");
  assert_int_equal(it->graph->node_count, 1);
}

static void random_values_have_no_levels(void **state) {
  network *it = *state; // the pictures of the small network are random numbers
  build_reader(it, true);
  assert_null(measure(it).input);
}

// Black and white: what lies between may come.
static void few_levels_are_none(void **state) {
  network_steps(*state, (float[]){0, 0, 0}, (float[]){255, 255, 255}, (int[]){1, 1, 1});
  build_reader(*state, true);
  assert_null(measure(*state).input);
}

// Levels 0, 1 and `last` steps: from 126.5 steps on, which count as 126, up to 255; others lie beside the grid as well.
static void lengths_of_ladders(void **state) {
  static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3, 8, 8), }";
  static const struct {
    float last;
    bool good;
  } cases[] = {{126.4f, false}, {126.5f, true}, {255, true},   {255.4f, true},
               {256, false},    {200.5f, true}, {1e30f, false}};
  float values[PICTURES * 3 * SIDE * SIDE];
  build_reader(*state, true);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const float levels[] = {0, 1, cases[i].last};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) values[k] = levels[k % 3];
    network_pictures(*state, header, values, sizeof values);
    if (!measure(*state).input == cases[i].good) fail_msg("%g steps", (double)cases[i].last);
  }
}

static void check_neutral(network *it) {
  static network_outputs before, after;
  dq_input_levels levels = measure(it);
  dq_value *value;
  dq_error error;
  assert_non_null(levels.input);
  network_run(it, &before);
  if (dq_levels_apply(it->graph, &levels, &value, &error) != DQ_OK) fail_msg("%s", error.message);
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-5);
  const char *name = value->name; // every level lies on the grid of 255 steps
  dq_observation what = network_watch(it, &name);
  dq_calibration calibration;
  assert_int_equal(dq_calibrate(&calibration, &what, &it->context, &error), DQ_OK);
  assert_true(calibration.histograms[0].minimum >= levels.range.low - 1e-4f);
  assert_true(calibration.histograms[0].maximum <= levels.range.high + 1e-4f);
  dq_calibration_deinit(&calibration);
}

static void neutral_in_float(void **state) {
  network_steps(*state, (float[]){-0.5f, 0, -3.5f}, (float[]){0.5f, 0.25f, 0.5f}, (int[]){255, 255, 255});
  build_reader(*state, true);
  check_neutral(*state);
}

static void neutral_without_pads(void **state) {
  network_steps(*state, (float[]){-104, -116.28f, -123.68f}, (float[]){1, 1, 1}, (int[]){255, 255, 255});
  build_reader(*state, false);
  check_neutral(*state);
}

static dq_value *turn(network *it, const int64_t order[4]) {
  dq_node *made = network_node(it, "Transpose", network_value(it, "x"), NULL, NULL, network_value(it, "turned"));
  dq_node_set_ints(it->graph, made, "perm", order, 4);
  return network_value(it, "turned");
}

// p - c - 1 for channel c of p in 0...255 of an input 1 x 8 x 8 x 3: begun at -1, -2 and -3 with steps of 1,
// 258 levels, so one start for all, -2, and shifts -1, 0 and 1.
static void channels_last(void **state) {
  network *it = *state;
  enum { ELEMENTS = PICTURES * SIDE * SIDE * 3 };
  static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8, 8, 3), }";
  static const dq_dimension dims[] = {{.size = 1}, {.size = SIDE}, {.size = SIDE}, {.size = 3}};
  float values[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++) values[i] = (float)(i / 3 - i % 3 - 1);
  network_pictures(it, header, values, sizeof values);
  network_conv(it, turn(it, (int64_t[]){0, 3, 1, 2}), "y", 3, 4, 3, 1);
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_finish(it);
  it->graph->inputs[0]->dims = dims;
  dq_input_levels levels = measure(it);
  assert_string_equal(levels.input, "turned");
  assert_true(levels.padded_first && levels.channels == 3);
  for (int c = 0; c < 3; c++) assert_true(levels.factors[c] == 1 && levels.shifts[c] == c - 1);
  check_neutral(it);
  // Each stands behind what it reads.
  for (int n = 0; n < it->graph->node_count; n++) {
    const dq_node *maker = it->graph->nodes[n]->inputs[0]->producer;
    assert_true(!maker || maker->index < n);
  }
}

static void another_order_has_no_levels(void **state) {
  network *it = *state;
  network_steps(it, (float[]){0, 0, 0}, (float[]){1, 1, 1}, (int[]){255, 255, 255});
  network_conv(it, turn(it, (int64_t[]){0, 1, 3, 2}), "y", 3, 4, 3, 1);
  network_finish(it);
  assert_null(measure(it).input);
}

static void others_inputs_are_refused(void **state) {
  network *it = *state;
  build_reader(it, true);
  dq_input_levels levels = {"y", 3, (double[]){1, 1, 1}, (double[]){0, 0, 0}, false, {0, 255}};
  dq_value *value;
  dq_error error;
  assert_int_equal(dq_levels_apply(it->graph, &levels, &value, &error), DQ_BAD_INPUT);
  levels.input = "x", levels.channels = 2;
  assert_int_equal(dq_levels_apply(it->graph, &levels, &value, &error), DQ_BAD_INPUT);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)
  const struct CMUnitTest tests[] = {TEST(three_channels_by_hand),
                                     TEST(half_a_step),
                                     TEST(nothing_to_change),
                                     TEST(random_values_have_no_levels),
                                     TEST(few_levels_are_none),
                                     TEST(lengths_of_ladders),
                                     TEST(neutral_in_float),
                                     TEST(neutral_without_pads),
                                     TEST(channels_last),
                                     TEST(another_order_has_no_levels),
                                     TEST(others_inputs_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
