// The argument of a function at the end of a network is found through what only moves elements; trials of dq-int8
// compare it in place of probabilities.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/graph/saturation.h"
#include "lib/verdict/evaluator.h"
#include "quant/int8/stages.h"
#include "tests/unit/small_network.h"

static const char *const softmax[] = {"Softmax", NULL};

// x -> a -Softmax-> p -Transpose-> y
static void build(network *it) {
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, 4, 3, 1);
  dq_node *made = network_node(it, "Softmax", network_value(it, "a"), NULL, NULL, network_value(it, "p"));
  dq_node_set_int(it->graph, made, "axis", 1);
  dq_node *moved = network_node(it, "Transpose", network_value(it, "p"), NULL, NULL, network_value(it, "y"));
  dq_node_set_ints(it->graph, moved, "perm", (int64_t[]){0, 1, 3, 2}, 4);
  network_finish(it);
}

static void arguments_are_found_through_moves(void **state) {
  static const char *const sigmoid[] = {"Sigmoid", "Tanh", NULL};
  network *it = *state;
  build(it);
  assert_ptr_equal(dq_before_function(network_value(it, "y"), softmax), network_value(it, "a"));
  assert_ptr_equal(dq_before_function(network_value(it, "p"), softmax), network_value(it, "a"));
  assert_null(dq_before_function(network_value(it, "a"), softmax));
  assert_null(dq_before_function(network_value(it, "x"), softmax));
  assert_null(dq_before_function(network_value(it, "y"), sigmoid));
}

// An argument that is an output already keeps its place, and the result its own.
static void arguments_become_outputs(void **state) {
  static const char *const sigmoid[] = {"Sigmoid", NULL};
  network *it = *state;
  build(it);
  dq_show_arguments(it->graph, sigmoid);
  assert_ptr_equal(it->graph->outputs[0], network_value(it, "y"));
  dq_show_arguments(it->graph, dq_saturating_functions);
  assert_ptr_equal(it->graph->outputs[0], network_value(it, "a"));
  assert_true(network_value(it, "a")->is_output && !network_value(it, "y")->is_output);
  dq_value *both[] = {network_value(it, "a"), network_value(it, "y")};
  it->graph->outputs = both, it->graph->output_count = 2;
  both[1]->is_output = true;
  dq_show_arguments(it->graph, dq_saturating_functions);
  assert_true(it->graph->outputs[1] == both[1] && both[1]->is_output);
}

// As a network with outputs in float16 has it.
static void a_cast_only_converts(void **state) {
  network *it = *state;
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, 4, 3, 1);
  network_node(it, "Softmax", network_value(it, "a"), NULL, NULL, network_value(it, "p"));
  dq_node *cast = network_node(it, "Cast", network_value(it, "p"), NULL, NULL, network_value(it, "y"));
  dq_node_set_int(it->graph, cast, "to", DQ_F32);
  network_finish(it);
  assert_ptr_equal(dq_before_function(network_value(it, "y"), softmax), network_value(it, "a"));
}

static void an_input_is_no_argument(void **state) {
  network *it = *state;
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_node(it, "Softmax", network_value(it, "x"), NULL, NULL, network_value(it, "y"));
  network_finish(it);
  assert_null(dq_before_function(network_value(it, "y"), softmax));
}

// A network is compared with itself: the error is none where it is looked at, in front of the Softmax. With logits that
// are twice as large the noise is that of 1 to 2: 0 dB; probabilities that both round to 0 and 1 would show none.
static void trials_compare_the_argument_of_the_last_softmax(void **state) {
  network *it = *state;
  build(it);
  const dq_evaluator_options options = {
      .graph = it->graph, .shapes = &no_shapes, .data = it->data, .pictures = PICTURES};
  dq_error error;
  dq_evaluator evaluator;
  double noise[PICTURES];
  dq_score score = {.noise = noise};
  assert_int_equal(dq_evaluator_open(&evaluator, &options, &it->context, it->arena, &error), DQ_OK);
  assert_string_equal(evaluator.what.names[0], "a");
  assert_int_equal(dq_evaluate(&evaluator, it->graph, &score, &error), DQ_OK);
  assert_true(score.decibels == 100);
  dq_graph *doubled = dq_graph_copy(it->graph);
  dq_node *conv = dq_graph_find(doubled, "a")->producer;
  for (int i = 1; i < 3; i++) {
    const dq_tensor *constant = conv->inputs[i]->constant;
    for (int64_t k = 0; k < dq_tensor_count(constant); k++) ((float *)constant->data)[k] *= 2;
  }
  assert_int_equal(dq_evaluate(&evaluator, doubled, &score, &error), DQ_OK);
  assert_true(score.decibels > -1e-6 && score.decibels < 1e-6);
  dq_evaluator_close(&evaluator);
  dq_graph_free(doubled);
}

static void double_constants(dq_graph *graph, const char *const names[2]) {
  for (int i = 0; i < 2; i++) {
    const dq_tensor *constant = dq_graph_find(graph, names[i])->constant;
    for (int64_t k = 0; k < dq_tensor_count(constant); k++) ((float *)constant->data)[k] *= 2;
  }
}

static dq_value *constant(network *it, const char *name, int rank, const int64_t *dims) {
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, DQ_F32, rank, dims);
  for (int64_t k = 0; k < dq_tensor_count(tensor); k++) ((float *)tensor->data)[k] = (float)(k % 7) - 3;
  return dq_graph_add_constant(it->graph, name, tensor);
}

// x -> r -Flatten-> f (192 numbers) -MatMul-> m -Add-> y (4 numbers)
static void build_classifier(network *it) {
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_node(it, "Relu", network_value(it, "x"), NULL, NULL, network_value(it, "r"));
  network_node(it, "Flatten", network_value(it, "r"), NULL, NULL, network_value(it, "f"));
  network_node(it, "MatMul", network_value(it, "f"), constant(it, "w", 2, (int64_t[]){3 * SIDE * SIDE, 4}), NULL,
               network_value(it, "m"));
  network_node(it, "Add", network_value(it, "m"), constant(it, "b", 1, (int64_t[]){4}), NULL, network_value(it, "y"));
  network_finish(it);
  it->graph->outputs[0]->rank = -1;
}

// A form with the last weights and biases doubled has 0 dB at the outputs and equal features, which count as 100 dB:
// the mean of both is 50. The noise of a picture is that of 1 to 2, a share of 1, and the features add none.
static void features_beside_few_outputs(void **state) {
  network *it = *state;
  build_classifier(it);
  for (int features = 0; features < 2; features++) {
    const dq_evaluator_options options = {
        .graph = it->graph, .shapes = &no_shapes, .data = it->data, .pictures = PICTURES, .features = features};
    dq_error error;
    dq_evaluator evaluator;
    double noise[PICTURES], plain[PICTURES];
    dq_score score = {.noise = noise, .plain_noise = plain};
    assert_int_equal(dq_evaluator_open(&evaluator, &options, &it->context, it->arena, &error), DQ_OK);
    assert_int_equal(evaluator.what.count, 1 + features);
    assert_string_equal(evaluator.what.names[0], "y");
    if (features) assert_string_equal(evaluator.what.names[1], "f");
    dq_graph *doubled = dq_graph_copy(it->graph);
    double_constants(doubled, (const char *const[]){"w", "b"});
    assert_int_equal(dq_evaluate(&evaluator, doubled, &score, &error), DQ_OK);
    assert_float_equal(score.decibels, features ? 50 : 0, 1e-6);
    assert_float_equal(score.plain_decibels, 0, 1e-6);
    for (int p = 0; p < PICTURES; p++) assert_true(fabs(noise[p] - 1) < 1e-9 && fabs(plain[p] - 1) < 1e-9);
    double_constants(doubled, (const char *const[]){"w", "b"}); // four times: the noise of 1 to 4 is 9, 9.54 dB above
    assert_int_equal(dq_evaluate(&evaluator, doubled, &score, &error), DQ_OK);
    assert_float_equal(score.plain_decibels, -9.5424251, 1e-6);
    dq_evaluator_close(&evaluator);
    dq_graph_free(doubled);
  }
}

// Pictures: judged on, ranges from at most 40.
static void trials_are_judged_on_other_pictures(void **state) {
  static const int64_t cases[][3] = {{1, 1, 1},    {2, 1, 1},    {5, 3, 2},    {32, 16, 16},
                                     {47, 24, 23}, {63, 24, 39}, {64, 24, 40}, {500, 24, 40}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(dq_evaluated_pictures(cases[i][0]), cases[i][1]);
    assert_int_equal(dq_trial_pictures(cases[i][0], 40), cases[i][2]);
  }
}

// Those that judge come last. Of 8 pictures the others are taken as 0, 1/2, 1/4 and 3/4 of the way.
static void pictures_of_trials_take_turns(void **state) {
  static const struct {
    int64_t pictures, order[8];
  } cases[] = {{1, {0}}, {2, {0, 1}}, {5, {1, 3, 0, 2, 4}}, {8, {0, 4, 2, 6, 1, 3, 5, 7}}};
  enum { MANY = 100, JUDGES = 24, TRIAL = 40, QUARTER = MANY / 4 };
  int64_t order[MANY], judging[4] = {0}, ranging[4] = {0};
  bool seen[MANY] = {false};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_trial_order(order, cases[i].pictures);
    for (int64_t p = 0; p < cases[i].pictures; p++) assert_int_equal(order[p], cases[i].order[p]);
  }
  dq_trial_order(order, MANY);
  for (int i = 0; i < MANY; i++) {
    assert_true(order[i] >= 0 && order[i] < MANY && !seen[order[i]]);
    seen[order[i]] = true;
    if (i >= MANY - JUDGES) judging[order[i] / QUARTER]++;
    else if (i < TRIAL) ranging[order[i] / QUARTER]++;
  }
  for (int q = 0; q < 4; q++) {
    assert_int_equal(judging[q], JUDGES / 4);
    assert_in_range(ranging[q], TRIAL / 4 - 2, TRIAL / 4 + 2);
  }
}

// The other way round those that judge come first, then others, then the ones that judge now: at most half of all.
static void pictures_of_trials_swapped(void **state) {
  static const struct {
    int64_t pictures, judges, order[8];
  } cases[] = {{1, 0, {0}}, {2, 1, {1, 0}}, {5, 2, {0, 2, 4, 1, 3}}, {8, 4, {1, 3, 5, 7, 0, 4, 2, 6}}};
  enum { MANY = 100 };
  int64_t order[MANY], trial[MANY];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_swapped_order(order, cases[i].pictures);
    assert_int_equal(dq_swapped_pictures(cases[i].pictures), cases[i].judges);
    for (int64_t p = 0; p < cases[i].pictures; p++) assert_int_equal(order[p], cases[i].order[p]);
  }
  dq_swapped_order(order, MANY);
  dq_trial_order(trial, MANY);
  assert_int_equal(dq_swapped_pictures(MANY), 50);
  assert_int_equal(dq_swapped_pictures(1000), 64);
  for (int i = 0; i < 24; i++) assert_int_equal(order[i], trial[76 + i]);
  for (int i = 0; i < 26; i++) assert_int_equal(order[24 + i], trial[50 + i]);
  for (int i = 0; i < 50; i++) assert_int_equal(order[50 + i], trial[i]);
}

// A detector of two heads, compared with itself: each head of each picture is compared with its own, so that no
// prediction has moved.
static void heads_of_a_detector(void **state) {
  static const char decode[] = "[{\"name\": \"y\", \"classes\": 1, \"anchors\": [[2, 2]], \"scale_x_y\": 1},"
                               " {\"name\": \"z\", \"classes\": 1, \"anchors\": [[4, 4]], \"scale_x_y\": 1}]";
  network *it = *state;
  dq_graph *graph = it->graph;
  network_steps(it, (const float[]){0, 0, 0}, (const float[]){0.01f, 0.01f, 0.01f}, (const int[]){50, 60, 70});
  dq_graph_set_opset(graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "y", 3, 6, 3, 1);
  network_conv(it, network_value(it, "x"), "z", 3, 6, 3, 1);
  network_finish(it);
  dq_value *heads[] = {network_value(it, "y"), network_value(it, "z")};
  heads[0]->rank = -1, heads[1]->is_output = true;
  graph->outputs = heads, graph->output_count = 2;
  dq_error error;
  assert_int_equal(dq_graph_set_property(graph, "decode", decode, &error), DQ_OK);
  const dq_evaluator_options options = {.graph = graph, .shapes = &no_shapes, .data = it->data, .pictures = PICTURES};
  dq_evaluator evaluator;
  double noise[PICTURES];
  dq_score score = {.noise = noise};
  assert_int_equal(dq_evaluator_open(&evaluator, &options, &it->context, it->arena, &error), DQ_OK);
  assert_true(evaluator.detects);
  assert_int_equal(dq_evaluate(&evaluator, graph, &score, &error), DQ_OK);
  for (int p = 0; p < PICTURES; p++) {
    assert_true(evaluator.signal[p] > 0);
    assert_true(evaluator.moved[p] < 1e-12 * evaluator.signal[p]); // overlaps are rounded
  }
  dq_evaluator_close(&evaluator);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(arguments_are_found_through_moves),
      TEST(arguments_become_outputs),
      TEST(a_cast_only_converts),
      TEST(an_input_is_no_argument),
      TEST(trials_compare_the_argument_of_the_last_softmax),
      TEST(features_beside_few_outputs),
      TEST(heads_of_a_detector),
      TEST(trials_are_judged_on_other_pictures),
      TEST(pictures_of_trials_take_turns),
      TEST(pictures_of_trials_swapped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
