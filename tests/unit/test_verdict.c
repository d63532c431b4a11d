// What is lost at outputs, whether that is too much, and how it is told.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/verdict/noise.h"
#include "lib/verdict/verdict.h"
#include "tests/unit/small_network.h"

// Boxes of 35 dB and scores of `sqnr` in one output; `equal` of 100 classes in another of 30 dB.
static dq_verdict make(dq_verdict_part parts[3], double sqnr, int64_t equal) {
  parts[0] = (dq_verdict_part){.output = "out", .first = 0, .channels = 4, .sqnr = 35, .others = {34, 36}};
  parts[1] =
      (dq_verdict_part){.output = "out", .first = 4, .channels = 80, .sqnr = sqnr, .others = {sqnr - 2, sqnr + 1}};
  parts[2] = (dq_verdict_part){.output = "class",
                               .function = "Softmax",
                               .channels = 5,
                               .whole = true,
                               .sqnr = 30,
                               .others = {29, 31},
                               .answers = {.kind = DQ_ANSWER_CLASS, .axis = 1, .answers = 100, .equal = equal},
                               .kept = {(double)equal - 6, fmin((double)equal + 2, 100)}};
  return (dq_verdict){.parts = parts, .count = 3, .pictures = 16, .data = DQ_VERDICT_OTHER_PICTURES};
}

static void the_lowest_part_counts(void **state) {
  (void)state;
  dq_verdict_part parts[3];
  dq_verdict verdict = make(parts, 12, 97), none = {0};
  assert_true(dq_verdict_sqnr(&verdict) == 12 && dq_verdict_agreement(&verdict) == 97);
  assert_true(isnan(dq_verdict_sqnr(&none)) && isnan(dq_verdict_agreement(&none)));
  assert_false(dq_verdict_is_ruinous(&none) || dq_verdict_is_doubtful(&none));
}

// 0.5 dB of deviation: 12 dB, 10 to 13, become 12 - sqrt(2^2 + 0.98^2) and 12 + sqrt(1^2 + 0.98^2).
static void networks_in_the_place_of_the_file(void **state) {
  (void)state;
  dq_verdict_part parts[3];
  dq_verdict verdict = make(parts, 12, 97);
  parts[0].sqnr = INFINITY, parts[0].others = (dq_interval){INFINITY, INFINITY};
  parts[2].others = dq_no_interval;
  dq_verdict_of_stand_in(&verdict);
  assert_true(fabs(parts[1].others.low - 9.7728) < 1e-3 && fabs(parts[1].others.high - 13.4001) < 1e-3);
  assert_true(parts[0].others.low == INFINITY && isnan(parts[2].others.low));
  assert_true(parts[1].sqnr == 12 && parts[2].kept.low == 91);
}

static void the_lowest_output_of_sequences_counts(void **state) {
  (void)state;
  dq_verdict_part parts[3];
  dq_verdict verdict = make(parts, 30, 50);
  assert_true(isnan(dq_verdict_sequences(&verdict)));
  parts[0].answers = (dq_answers){.kind = DQ_ANSWER_SEQUENCE, .axis = 2, .answers = 16, .equal = 15};
  parts[1].answers = (dq_answers){.kind = DQ_ANSWER_SEQUENCE, .axis = 2, .answers = 16, .equal = 12};
  assert_true(fabs(dq_verdict_sequences(&verdict) - 75) < 1e-9);
  assert_true(dq_verdict_loses_sequences(&verdict));
  parts[0].answers.equal = parts[1].answers.equal = 16;
  assert_false(dq_verdict_loses_sequences(&verdict));
}

static void what_is_ruinous(void **state) {
  static const struct {
    double sqnr;
    int64_t equal;
    bool ruinous, doubtful;
  } cases[] = {{10, 90, false, true},  {9.9, 100, true, true}, {19.9, 90, false, true},
               {19.9, 89, true, true}, {20, 50, false, false}, {-INFINITY, 100, true, true}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_verdict_part parts[3];
    dq_verdict verdict = make(parts, cases[i].sqnr, cases[i].equal);
    assert_int_equal(dq_verdict_is_ruinous(&verdict), cases[i].ruinous);
    assert_int_equal(dq_verdict_is_doubtful(&verdict), cases[i].doubtful);
  }
}

// Half of the maxima are lost: that ruins nothing and is not told, and is a figure only where there are no answers.
static void guessed_answers(void **state) {
  (void)state;
  dq_verdict_part parts[3];
  char text[400];
  dq_verdict verdict = make(parts, 12, 50);
  parts[2].answers.guessed = true;
  assert_false(dq_verdict_is_ruinous(&verdict));
  assert_true(dq_verdict_agreement(&verdict) == 50);
  assert_null(strstr(dq_verdict_text(&verdict, text, sizeof text), "maxima"));
  parts[0].answers = (dq_answers){.kind = DQ_ANSWER_CLASS, .axis = 1, .answers = 100, .equal = 89};
  assert_true(dq_verdict_is_ruinous(&verdict) && dq_verdict_agreement(&verdict) == 89);
  assert_non_null(strstr(dq_verdict_text(&verdict, text, sizeof text), "89 % of the classes"));
}

static void check(const dq_verdict *verdict, double sqnr, double agreement, dq_status expected, const char *message) {
  const dq_verdict_bounds bounds = {sqnr, agreement, "--min-sqnr", "--min-agreement"};
  dq_error error = {0};
  assert_int_equal(dq_verdict_check(verdict, &bounds, "m.onnx", &error), expected);
  assert_int_equal(dq_verdict_holds(verdict, &bounds), expected == DQ_OK);
  if (expected != DQ_OK) assert_string_equal(error.message, message);
}

static void conditions(void **state) {
  (void)state;
  dq_verdict_part parts[3];
  dq_verdict verdict = make(parts, 12, 97), none = {0};
  check(&verdict, -INFINITY, -INFINITY, DQ_OK, NULL);
  check(&none, -INFINITY, -INFINITY, DQ_OK, NULL);
  check(&verdict, 10, 91, DQ_OK, NULL); // the lower ends
  check(
      &verdict, 10.5, -INFINITY, DQ_CONDITION,
      "m.onnx: channels 4 to 83 of output 'out' have an SQNR of 12 dB on 16 pictures, but its 95 % interval begins at "
      "10 dB: 10.5 dB (--min-sqnr) are not sure on others; some 29 pictures would tell"); // 16 (2 / 1.5)^2
  check(&verdict, -INFINITY, 95, DQ_CONDITION,
        "m.onnx: output 'class' keeps 97 % of its classes on 16 pictures, but its 95 % interval begins at 91 %: 95 % "
        "(--min-agreement) are not sure on others; some 144 pictures would tell"); // 16 (6 / 2)^2
  parts[2].answers.equal = 100;
  check(&verdict, -INFINITY, 95, DQ_CONDITION,
        "m.onnx: output 'class' keeps 100 % of its classes on 16 pictures, but its 95 % interval begins at 91 %: 95 % "
        "(--min-agreement) are not sure on others; some 73 pictures would tell"); // 95 / 5 of 1.96^2
  check(&verdict, -INFINITY, 100, DQ_CONDITION,
        "m.onnx: output 'class' keeps 100 % of its classes on 16 pictures, but its 95 % interval begins at 91 %: 100 % "
        "(--min-agreement) are not sure on others; no number of pictures makes all answers sure");
  parts[2].answers.equal = 97;
  parts[1].others = dq_no_interval, verdict.pictures = 1;
  check(
      &verdict, 10.5, -INFINITY, DQ_CONDITION,
      "m.onnx: channels 4 to 83 of output 'out' have an SQNR of 12 dB on 1 picture, but a single picture tells nothing "
      "of others: 10.5 dB (--min-sqnr) are not sure on others; more pictures are needed to tell");
  verdict.pictures = 16, verdict.data = DQ_VERDICT_GIVEN_PICTURES; // which are measured themselves
  check(&verdict, 12, 97, DQ_OK, NULL);
  check(&verdict, 12.5, -INFINITY, DQ_CONDITION,
        "m.onnx: channels 4 to 83 of output 'out' have an SQNR of 12 dB, less than 12.5 dB (--min-sqnr)");
  check(&verdict, -INFINITY, 98, DQ_CONDITION,
        "m.onnx: output 'class' keeps 97 % of its classes, less than 98 % (--min-agreement)");
  verdict.parts[1].sqnr = -INFINITY, verdict.broken = 3;
  check(&verdict, -INFINITY, -INFINITY, DQ_CONDITION,
        "m.onnx: channels 4 to 83 of output 'out' have NaN or infinity where the float model has none, on 3 of 16 "
        "pictures");
  verdict.parts[1].sqnr = 12, verdict.broken = 0;
  check(&none, 1, -INFINITY, DQ_UNSUPPORTED, "m.onnx: no output could be compared, which --min-sqnr needs");
  verdict.count = 2;
  check(&verdict, -INFINITY, 50, DQ_UNSUPPORTED,
        "m.onnx: no output stands for classes, sequences, points, a mask or known boxes, which --min-agreement needs");
}

static void sentences(void **state) {
  (void)state;
  char text[600];
  dq_verdict_part parts[3];
  dq_verdict verdict = make(parts, 12, 97);
  assert_string_equal(
      dq_verdict_text(&verdict, text, sizeof text),
      "On 16 pictures that nothing was fitted to, channels 4 to 83 of output 'out' have the lowest SQNR, "
      "12.0 dB (95 % interval 10.0 to 13.0). 97 % of the classes (95 % interval 91 to 99) are those of the float "
      "model.");
  verdict.parts += 2, verdict.count = verdict.pictures = 1, verdict.data = DQ_VERDICT_FITTED_PICTURES;
  assert_string_equal(dq_verdict_text(&verdict, text, sizeof text),
                      "On 1 picture that the conversion was fitted to, the argument of the Softmax of output 'class' "
                      "has an SQNR of 30.0 dB. 97 % of the classes are those of the float model.");
  verdict.parts[0].answers.kind = DQ_ANSWER_NONE, verdict.pictures = 8, verdict.data = DQ_VERDICT_NOISE;
  verdict.parts[0].function = NULL;
  assert_string_equal(dq_verdict_text(&verdict, text, sizeof text),
                      "On 8 samples of noise output 'class' has an SQNR of 30.0 dB.");
  verdict.parts[0].sqnr = INFINITY;
  assert_string_equal(dq_verdict_text(&verdict, text, sizeof text),
                      "On 8 samples of noise output 'class' is equal to that of the float model.");
  verdict.parts[0].sqnr = -INFINITY, verdict.broken = 1, verdict.pictures = 1;
  assert_string_equal(
      dq_verdict_text(&verdict, text, sizeof text),
      "On 1 sample of noise output 'class' has NaN or infinity where the float model has none, on every "
      "sample.");
}

// Makes the numbers of all channels of `y` as large as others', and all so large that the highest is clear.
static void level_last(dq_graph *graph) {
  const dq_node *last = dq_graph_find(graph, "y")->producer;
  for (int i = 1; i < 3; i++) {
    const dq_tensor *constant = last->inputs[i]->constant;
    for (int64_t k = 0; k < dq_tensor_count(constant); k++) {
      const int64_t row = k / (dq_tensor_count(constant) / constant->dims[0]);
      ((float *)constant->data)[k] *= i == 2 ? 0 : 40 / (float)(1 << 2 * row);
    }
  }
}

// A network against itself has no noise; with the weights of its last product doubled, 0 dB. Ten samples take two
// rounds, and all of them count.
static void networks_are_compared(void **state) {
  network *it = *state;
  dq_verdict verdict;
  dq_error error;
  dq_data *noise = NULL;
  network_build(it);
  assert_int_equal(dq_noise_open(&noise, it->graph, 7, 0, &it->context, &error), DQ_OK);
  const dq_evaluator_options options = {
      .graph = it->graph, .shapes = &no_shapes, .data = it->data, .pictures = PICTURES};
  assert_int_equal(dq_verdict_measure(&verdict, it->graph, &options, &it->context, it->arena, &error), DQ_OK);
  assert_true(verdict.count > 0 && verdict.pictures == PICTURES && dq_verdict_sqnr(&verdict) == INFINITY);
  assert_true(verdict.parts[0].answers.guessed); // small numbers that tell no class
  level_last(it->graph);
  assert_int_equal(dq_verdict_measure(&verdict, it->graph, &options, &it->context, it->arena, &error), DQ_OK);
  assert_false(verdict.parts[0].answers.guessed);
  assert_int_equal(verdict.parts[0].answers.kind, DQ_ANSWER_POINT);
  assert_int_equal(verdict.parts[0].answers.answers, PICTURES * SIDE * SIDE);
  assert_int_equal(verdict.parts[0].answers.equal, PICTURES * SIDE * SIDE);
  dq_graph *doubled = dq_graph_copy(it->graph);
  dq_node *last = dq_graph_find(doubled, "y")->producer;
  for (int i = 1; i < 3; i++) {
    const dq_tensor *constant = last->inputs[i]->constant; // of the original too
    dq_tensor *twice = dq_tensor_new(it->arena, DQ_F32, constant->rank, constant->dims);
    for (int64_t k = 0; k < dq_tensor_count(twice); k++)
      ((float *)twice->data)[k] = 2 * ((const float *)constant->data)[k];
    last->inputs[i]->constant = twice;
  }
  dq_evaluator_options on_noise = options;
  on_noise.data = noise, on_noise.pictures = dq_data_count(noise);
  assert_int_equal(on_noise.pictures, 8);
  assert_int_equal(dq_verdict_measure(&verdict, doubled, &on_noise, &it->context, it->arena, &error), DQ_OK);
  for (int i = 0; i < verdict.count; i++) assert_true(fabs(verdict.parts[i].sqnr) < 1e-5);
  assert_int_equal(verdict.parts[0].answers.equal, 8 * SIDE * SIDE); // the highest stays the highest
  dq_data_free(noise);
  dq_graph_free(doubled);
}

static dq_evaluator_options judged_on(const network *it, dq_data *data) {
  return (dq_evaluator_options){.graph = it->graph, .shapes = &no_shapes, .data = data};
}

// An output in float16 is compared with that in float32, and the other way round.
static void halves_are_compared(void **state) {
  network *it = *state;
  dq_verdict verdict;
  dq_error error;
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "y", 3, 4, 3, 1);
  network_finish(it);
  level_last(it->graph);
  dq_graph *half = dq_graph_copy(it->graph);
  dq_value *y = dq_graph_find(half, "y"), *wide = dq_graph_add_value(half, "wide");
  y->producer->outputs[0] = wide;
  dq_node *cast = dq_graph_add_node(half, half->node_count, "Cast", "cast", 1, &wide, 1, &y);
  dq_node_set_int(half, cast, "to", DQ_F16);
  y->type = DQ_F16;
  assert_int_equal(dq_graph_index(half, true, &error), DQ_OK);
  dq_evaluator_options options = judged_on(it, it->data);
  assert_int_equal(
      dq_verdict_conclude(&verdict, DQ_VERDICT_FITTED_PICTURES, half, &options, &it->context, it->arena, &error),
      DQ_OK);
  double sqnr = dq_verdict_sqnr(&verdict);
  assert_true(sqnr > 50 && sqnr < 90 && verdict.pictures == PICTURES);
  assert_int_equal(verdict.data, DQ_VERDICT_FITTED_PICTURES);
  assert_int_equal(verdict.parts[0].answers.kind, DQ_ANSWER_POINT);
  options.graph = half;
  assert_int_equal(
      dq_verdict_conclude(&verdict, DQ_VERDICT_OTHER_PICTURES, it->graph, &options, &it->context, it->arena, &error),
      DQ_OK);
  assert_true(fabs(dq_verdict_sqnr(&verdict) - sqnr) < 1);
  assert_int_equal(verdict.parts[0].answers.kind, DQ_ANSWER_POINT);
  dq_node_set_int(half, cast, "to", DQ_F64);
  y->type = DQ_F64;
  assert_int_equal(
      dq_verdict_conclude(&verdict, DQ_VERDICT_OTHER_PICTURES, it->graph, &options, &it->context, it->arena, &error),
      DQ_OK);
  assert_true(verdict.count == 1 && isinf(dq_verdict_sqnr(&verdict)));
  dq_graph_free(half);
}

// The candidates of a detector, none of which would be reported: their objects have the score sigmoid(-1000), 0. The
// other form doubles all numbers, which is as much noise as signal: 1 for the boxes and 1 for the scores of all
// pictures together, more of a picture with larger numbers.
static void candidates_that_are_not_reported(void **state) {
  network *it = *state;
  double noise[PICTURES];
  dq_score score = {.noise = noise};
  dq_evaluator evaluator;
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "y", 3, 6, 1, 1);
  network_finish(it);
  dq_value *y = dq_graph_find(it->graph, "y");
  y->rank = 0, y->dims = NULL;
  ((float *)y->producer->inputs[2]->constant->data)[4] = -1000;
  dq_graph *doubled = dq_graph_copy(it->graph);
  dq_value *twice = dq_graph_find(doubled, "y"), *once = dq_graph_add_value(doubled, "once");
  twice->producer->outputs[0] = once;
  dq_graph_add_node(doubled, doubled->node_count, "Add", "add", 2, (dq_value *[]){once, once}, 1, &twice);
  assert_int_equal(dq_graph_index(doubled, true, NULL), DQ_OK);
  dq_evaluator_options options = judged_on(it, it->data);
  options.pictures = PICTURES, options.decode = "yolo:classes=1,anchors=4x4";
  assert_int_equal(dq_evaluator_open(&evaluator, &options, &it->context, it->arena, NULL), DQ_OK);
  assert_true(evaluator.detects);
  assert_int_equal(dq_evaluate(&evaluator, doubled, &score, NULL), DQ_OK);
  double sum = 0, largest = 0;
  for (int p = 0; p < PICTURES; p++) {
    sum += noise[p];
    largest = fmax(largest, noise[p]);
  }
  assert_float_equal(sum / PICTURES, 2, 1e-4);
  assert_true(largest > 2.001);
  assert_float_equal(score.decibels, -10 * log10(2), 1e-3);
  assert_int_equal(dq_evaluate(&evaluator, it->graph, &score, NULL), DQ_OK);
  assert_true(noise[0] == 0 && score.decibels == INFINITY);
  dq_evaluator_close(&evaluator);
  dq_graph_free(doubled);
}

static void notes(void *user, dq_severity severity, const char *text) {
  if (severity == DQ_NOTE) snprintf(user, 200, "%s", text);
}

// Without pictures there are eight samples of noise. A network that cannot be run has no verdict.
static void noise_where_there_is_nothing_else(void **state) {
  network *it = *state;
  dq_verdict verdict;
  dq_error error;
  char note[200] = "";
  network_build(it);
  it->context.user = note, it->context.message = notes;
  dq_evaluator_options options = judged_on(it, NULL);
  assert_int_equal(
      dq_verdict_conclude(&verdict, DQ_VERDICT_OTHER_PICTURES, it->graph, &options, &it->context, it->arena, &error),
      DQ_OK);
  assert_true(verdict.pictures == 8 && verdict.data == DQ_VERDICT_NOISE && dq_verdict_sqnr(&verdict) == INFINITY);
  assert_string_equal(note, "");
  options.pictures = DQ_VERDICT_FEW_SAMPLES;
  assert_int_equal(
      dq_verdict_conclude(&verdict, DQ_VERDICT_OTHER_PICTURES, it->graph, &options, &it->context, it->arena, &error),
      DQ_OK);
  assert_int_equal(verdict.pictures, DQ_VERDICT_FEW_SAMPLES);
  dq_graph *other = dq_graph_copy(it->graph);
  dq_graph_find(other, "y")->producer->op_type = "Unheard";
  assert_int_equal(
      dq_verdict_conclude(&verdict, DQ_VERDICT_OTHER_PICTURES, other, &options, &it->context, it->arena, &error),
      DQ_OK);
  assert_int_equal(verdict.count, 0);
  assert_non_null(strstr(note, "the outputs were not compared on noise: "));
  options.data = it->data; // pictures that are given must run
  assert_int_equal(
      dq_verdict_conclude(&verdict, DQ_VERDICT_OTHER_PICTURES, other, &options, &it->context, it->arena, &error),
      DQ_UNSUPPORTED);
  dq_graph_free(other);
}

static float largest_of_noise(const network *it, double largest, float *sum) {
  float values[3 * SIDE * SIDE], most = 0;
  const dq_tensor shape = {.type = DQ_F32, .rank = 4, .dims = {1, 3, SIDE, SIDE}};
  dq_data *noise;
  dq_error error;
  assert_int_equal(dq_noise_open(&noise, it->graph, 1, largest, &it->context, &error), DQ_OK);
  assert_int_equal(dq_data_set_shape(noise, &shape, &error), DQ_OK);
  assert_int_equal(dq_data_read(noise, 0, values, NULL, &error), DQ_OK);
  for (int i = 0; i < 3 * SIDE * SIDE; i++) most = fmaxf(most, fabsf(values[i])), *sum += values[i] * values[i];
  dq_data_free(noise);
  return most;
}

// Files of IR version 3 list initializers among the inputs.
static void initializers_are_given_no_noise(void **state) {
  network *it = *state;
  dq_verdict verdict;
  dq_error error;
  network_build(it);
  dq_value *inputs[2] = {it->graph->inputs[0], dq_graph_find(it->graph, "a_w")};
  inputs[1]->is_input = true;
  it->graph->inputs = dq_arena_copy(it->graph->arena, inputs, sizeof inputs), it->graph->input_count = 2;
  assert_int_equal(dq_graph_index(it->graph, true, &error), DQ_OK);
  dq_evaluator_options options = judged_on(it, NULL);
  assert_int_equal(
      dq_verdict_conclude(&verdict, DQ_VERDICT_OTHER_PICTURES, it->graph, &options, &it->context, it->arena, &error),
      DQ_OK);
  assert_true(verdict.count > 0 && dq_verdict_sqnr(&verdict) == INFINITY);
}

// Noise stays within what inputs are known to reach.
static void noise_of_small_inputs(void **state) {
  network *it = *state;
  float sums[3] = {0};
  network_build(it);
  float whole = largest_of_noise(it, 0, &sums[0]), wide = largest_of_noise(it, 255, &sums[1]);
  assert_true(whole > 2 && whole < 5 && whole == wide && sums[0] == sums[1]);
  assert_true(largest_of_noise(it, 0.5, &sums[2]) <= 0.5f && fabsf(sums[2] / sums[0] * 64 - 1) < 0.01f);
}

// y of twice as many channels must not be read beyond the end of the other.
static void outputs_of_another_size(void **state) {
  network *it = *state;
  dq_verdict verdict;
  dq_error error;
  network_build(it);
  dq_graph *other = dq_graph_copy(it->graph);
  dq_value *y = dq_graph_find(other, "y"), *half = dq_graph_add_value(other, "half");
  y->producer->outputs[0] = half;
  dq_node *join = dq_graph_add_node(other, other->node_count, "Concat", "join", 2, (dq_value *[]){half, half}, 1, &y);
  dq_node_set_int(other, join, "axis", 1);
  y->rank = -1;
  assert_int_equal(dq_graph_index(other, true, &error), DQ_OK);
  dq_evaluator_options options = judged_on(it, it->data);
  assert_int_equal(
      dq_verdict_conclude(&verdict, DQ_VERDICT_OTHER_PICTURES, other, &options, &it->context, it->arena, &error),
      DQ_BAD_INPUT);
  assert_string_equal(error.message, "output 'y' has 512 elements, that of the original has 256");
  options.data = NULL; // on noise the conversion itself is at fault
  assert_int_equal(
      dq_verdict_conclude(&verdict, DQ_VERDICT_OTHER_PICTURES, other, &options, &it->context, it->arena, &error),
      DQ_UNSUPPORTED);
  assert_string_equal(error.message, "the converted network does not run as the float one does: output 'y' has 512 "
                                     "elements, that of the original has 256");
  dq_graph_free(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_lowest_part_counts),
      cmocka_unit_test(networks_in_the_place_of_the_file),
      cmocka_unit_test(the_lowest_output_of_sequences_counts),
      cmocka_unit_test(what_is_ruinous),
      cmocka_unit_test(guessed_answers),
      cmocka_unit_test(conditions),
      cmocka_unit_test(sentences),
      cmocka_unit_test_setup_teardown(networks_are_compared, network_start, network_end),
      cmocka_unit_test_setup_teardown(halves_are_compared, network_start, network_end),
      cmocka_unit_test_setup_teardown(candidates_that_are_not_reported, network_start, network_end),
      cmocka_unit_test_setup_teardown(noise_where_there_is_nothing_else, network_start, network_end),
      cmocka_unit_test_setup_teardown(initializers_are_given_no_noise, network_start, network_end),
      cmocka_unit_test_setup_teardown(noise_of_small_inputs, network_start, network_end),
      cmocka_unit_test_setup_teardown(outputs_of_another_size, network_start, network_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
