// What is lost at outputs, whether that is too much, and how it is told.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/verdict/noise.h"
#include "lib/verdict/verdict.h"
#include "tests/unit/small_network.h"

// Boxes of 35 dB and scores of `sqnr` in one output; `equal` of 100 classes in another of 30 dB.
static dq_verdict make(dq_verdict_part parts[3], double sqnr, int64_t equal) {
  parts[0] = (dq_verdict_part){.output = "out", .first = 0, .channels = 4, .sqnr = 35};
  parts[1] = (dq_verdict_part){.output = "out", .first = 4, .channels = 80, .sqnr = sqnr};
  parts[2] = (dq_verdict_part){.output = "class",
                               .before_softmax = true,
                               .channels = 5,
                               .whole = true,
                               .sqnr = 30,
                               .answers = {DQ_ANSWER_CLASS, 1, 100, equal}};
  return (dq_verdict){parts, 3, 16, DQ_VERDICT_OTHER_PICTURES};
}

static void the_lowest_part_counts(void **state) {
  (void)state;
  dq_verdict_part parts[3];
  dq_verdict verdict = make(parts, 12, 97), none = {0};
  assert_true(dq_verdict_sqnr(&verdict) == 12 && dq_verdict_agreement(&verdict) == 97);
  assert_true(isnan(dq_verdict_sqnr(&none)) && isnan(dq_verdict_agreement(&none)));
  assert_false(dq_verdict_is_ruinous(&none));
}

static void what_is_ruinous(void **state) {
  static const struct {
    double sqnr;
    int64_t equal;
    bool ruinous;
  } cases[] = {{10, 90, false},  {9.9, 100, true}, {19.9, 90, false},
               {19.9, 89, true}, {20, 50, false},  {-INFINITY, 100, true}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_verdict_part parts[3];
    dq_verdict verdict = make(parts, cases[i].sqnr, cases[i].equal);
    assert_int_equal(dq_verdict_is_ruinous(&verdict), cases[i].ruinous);
  }
}

static void check(const dq_verdict *verdict, double sqnr, double agreement, dq_status expected, const char *message) {
  const dq_verdict_bounds bounds = {sqnr, agreement};
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
  check(&verdict, 12, 97, DQ_OK, NULL);
  check(&verdict, 12.5, -INFINITY, DQ_CONDITION,
        "m.onnx: channels 4 to 83 of output 'out' has an SQNR of 12 dB, less than 12.5 dB (--min-sqnr)");
  check(&verdict, -INFINITY, 98, DQ_CONDITION,
        "m.onnx: output 'class' keeps 97 % of its classes, less than 98 % (--min-agreement)");
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
      "12.0 dB. 97 % of the classes are those of the float model.");
  verdict.parts += 2, verdict.count = verdict.pictures = 1, verdict.data = DQ_VERDICT_FITTED_PICTURES;
  assert_string_equal(dq_verdict_text(&verdict, text, sizeof text),
                      "On 1 picture that the conversion was fitted to, the argument of the Softmax of output 'class' "
                      "has an SQNR of 30.0 dB. 97 % of the classes are those of the float model.");
  verdict.parts[0].answers.kind = DQ_ANSWER_NONE, verdict.pictures = 8, verdict.data = DQ_VERDICT_NOISE;
  verdict.parts[0].before_softmax = false;
  assert_string_equal(dq_verdict_text(&verdict, text, sizeof text),
                      "On 8 samples of noise output 'class' has an SQNR of 30.0 dB.");
  verdict.parts[0].sqnr = INFINITY;
  assert_string_equal(dq_verdict_text(&verdict, text, sizeof text),
                      "On 8 samples of noise output 'class' is equal to that of the float model.");
}

// A network against itself has no noise; with the weights of its last product doubled, 0 dB. Ten samples take two
// rounds, and all of them count.
static void networks_are_compared(void **state) {
  network *it = *state;
  dq_verdict verdict;
  dq_error error;
  dq_data *noise = NULL;
  network_build(it);
  assert_int_equal(dq_noise_open(&noise, it->graph, 7, &it->context, &error), DQ_OK);
  const dq_evaluator_options options = {
      .graph = it->graph, .shapes = &no_shapes, .data = it->data, .pictures = PICTURES};
  assert_int_equal(dq_verdict_measure(&verdict, it->graph, &options, &it->context, it->arena, &error), DQ_OK);
  assert_true(verdict.count > 0 && verdict.pictures == PICTURES && dq_verdict_sqnr(&verdict) == INFINITY);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_lowest_part_counts),
      cmocka_unit_test(what_is_ruinous),
      cmocka_unit_test(conditions),
      cmocka_unit_test(sentences),
      cmocka_unit_test_setup_teardown(networks_are_compared, network_start, network_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
