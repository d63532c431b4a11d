// Boxes and scores of two detectors compared, by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/decode/anchor_text.h"
#include "lib/decode/head.h"
#include "lib/verdict/detection_error.h"
#include "lib/verdict/output_error.h"

// One cell, one anchor, one class. In float every sigmoid is 1/2: score 1/4, box 16x16. The other says class
// ln 3, 3/4, score 3/8, and doubles the width: the boxes overlap by 1/2. Noise (1/8)^2 + (1/4 (1 - 1/2))^2.
static void one_candidate(void **state) {
  (void)state;
  dq_anchor_head head = {.anchor_count = 1, .anchors = {{16, 16}}, .classes = 1, .scale = 1};
  dq_box boxes[2];
  double scores[2], signal, noise;
  const dq_detector detector = {.decoder = {.head = &dq_head_yolo,
                                            .roles = 1,
                                            .elements = {6},
                                            .anchors = &head,
                                            .levels = {{1, 1}},
                                            .input_height = 32,
                                            .input_width = 32,
                                            .classes = 1,
                                            .candidates = 1},
                                .candidate_room = 1};
  dq_detection_error detection = {.outputs = 1, .detectors = {detector, detector}};
  for (int i = 0; i < 2; i++)
    detection.detectors[i].candidates = (dq_candidates){.boxes = &boxes[i], .scores = &scores[i]};
  float exact[6] = {0}, other[6] = {0, 0, logf(2), 0, 0, logf(3)};
  dq_tensor tensors[2] = {{.type = DQ_F32, .rank = 4, .dims = {1, 6, 1, 1}, .data = exact},
                          {.type = DQ_F32, .rank = 4, .dims = {1, 6, 1, 1}, .data = other}};
  const dq_tensor *first = &tensors[0], *second = &tensors[1];
  dq_error error;
  assert_int_equal(dq_detection_error_compare(&detection, &first, &second, &signal, &noise, &error), DQ_OK);
  assert_float_equal(signal, 1 / 16.0, 1e-6);
  assert_float_equal(noise, 1 / 32.0, 1e-6);
  exact[4] = other[4] = -20; // no object: neither counts
  assert_int_equal(dq_detection_error_compare(&detection, &first, &second, &signal, &noise, &error), DQ_OK);
  assert_true(signal == 0 && noise == 0);
  for (int i = 0; i < 6; i++) { // the sigmoid of infinity is a score of 1, the one of NaN is below every bound
    other[i] = i % 2 ? INFINITY : NAN;
    assert_int_equal(dq_detection_error_compare(&detection, &first, &second, &signal, &noise, &error), DQ_OK);
    assert_true(noise == INFINITY);
    other[i] = exact[i];
  }
  assert_int_equal(dq_detection_error_compare(&detection, &first, &second, &signal, &noise, &error), DQ_OK);
  assert_true(noise == 0);
}

// Classes 0 and 1, boxes a and b far apart. In float: a is of class 0 with 0.9, b of class 1 with 0.3, and a box above
// a with 0.8 that suppression takes out. The other keeps a, moved to an overlap of 1/2, gives b a score of 0.2, which
// is enough to be found, and has a box of class 1 at a with 0.6 that nothing in float stands for: 3 answers of float
// and other together with a box of theirs, 2 + 1 + 1 = 4 in all.
static void boxes_as_answers(void **state) {
  (void)state;
  enum { CANDIDATES = 3 };
  dq_box boxes[2][CANDIDATES] = {{{0, 0, 4, 4}, {0, 0, 4, 5}, {20, 20, 24, 24}},
                                 {{0, 0, 4, 2}, {0, 0, 4, 4}, {20, 20, 24, 24}}};
  dq_box near[CANDIDATES];
  double scores[2][2 * CANDIDATES] = {{0.9, 0, 0.8, 0, 0, 0.3}, {0.9, 0, 0, 0.6, 0, 0.2}}, near_scores[CANDIDATES];
  int64_t candidates[CANDIDATES], kept[CANDIDATES];
  dq_detection_error detection = {0};
  for (int i = 0; i < 2; i++)
    detection.detectors[i] = (dq_detector){.decoder = {.classes = 2, .candidates = CANDIDATES},
                                           .candidate_count = CANDIDATES,
                                           .candidates = {.boxes = boxes[i], .scores = scores[i]},
                                           .near = near,
                                           .near_scores = near_scores,
                                           .near_candidates = candidates,
                                           .kept = kept};
  dq_answers answers = {.kind = DQ_ANSWER_BOX};
  dq_error error;
  assert_int_equal(dq_detection_error_add_answers(&detection, &answers, &error), DQ_OK);
  assert_int_equal(answers.answers, 4);
  assert_int_equal(answers.equal, 3);
  scores[1][5] = 0.125; // too low to be found: it must be above
  answers.answers = answers.equal = 0;
  assert_int_equal(dq_detection_error_add_answers(&detection, &answers, &error), DQ_OK);
  assert_int_equal(answers.answers, 4);
  assert_int_equal(answers.equal, 2);
  scores[0][5] = 0.25; // no answer: it must be above
  answers.answers = answers.equal = 0;
  assert_int_equal(dq_detection_error_add_answers(&detection, &answers, &error), DQ_OK);
  assert_int_equal(answers.answers, 3);
  for (int i = 0; i < 2; i++) free(detection.detectors[i].found);
}

// An input of 32x64 has 32 + 8 + 2 cells at strides 8, 16 and 32: the output is YOLOX's, wherever the channels of the
// input are. One of 41 rows is not.
static void detectors_by_shape(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    const int rows = 41 + i % 2, last = i / 2;
    dq_graph *graph = dq_graph_new(0);
    dq_arena *arena = dq_arena_new(0);
    dq_value *x = dq_graph_add_value(graph, "x"), *y = dq_graph_add_value(graph, "y");
    dq_graph_add_node(graph, 0, "Identity", "node", 1, &x, 1, &y);
    x->is_input = y->is_output = true;
    graph->inputs = &x, graph->outputs = &y, graph->input_count = graph->output_count = 1;
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    dq_tensor tensors[2];
    tensors[x->index] =
        (dq_tensor){.type = DQ_F32, .rank = 4, .dims = {1, last ? 32 : 3, last ? 64 : 32, last ? 3 : 64}};
    tensors[y->index] = (dq_tensor){.type = DQ_F32, .rank = 3, .dims = {1, rows, 6}};
    dq_detection_error detection;
    bool found;
    dq_error error;
    assert_int_equal(dq_detection_error_open(&detection, &found, graph, tensors, NULL, NULL, &error), DQ_OK);
    assert_int_equal(found, rows == 42);
    if (found) {
      assert_int_equal(detection.detectors[0].decoder.classes, 1);
      assert_true(detection.detectors[0].decoder.input_height == 32 &&
                  detection.detectors[0].decoder.input_width == 64);
    }
    dq_detection_error_close(&detection);
    dq_arena_free(arena);
    dq_graph_free(graph);
  }
}

// ln 2 and ln 8: their mean is ln 4.
static void ratios_by_picture(void **state) {
  (void)state;
  assert_float_equal(dq_noise_ratio((double[]){2, 8}, (double[]){1, 1}, 2), log(4), 1e-6);
  assert_float_equal(dq_noise_ratio((double[]){0, 0}, (double[]){0, 0}, 2), 0, 0);
  const double one[] = {INFINITY, 8}, other[] = {2, INFINITY}, none[] = {1, 4};
  assert_true(dq_noise_ratio(one, none, 2) == INFINITY && dq_noise_ratio(none, one, 2) == -INFINITY);
  assert_float_equal(dq_noise_ratio(one, (double[]){INFINITY, 4}, 2), log(2), 1e-6);
  assert_float_equal(dq_noise_ratio(one, other, 2), 0, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_candidate),
      cmocka_unit_test(boxes_as_answers),
      cmocka_unit_test(detectors_by_shape),
      cmocka_unit_test(ratios_by_picture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
