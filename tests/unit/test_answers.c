// Answers that two networks share, counted by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/verdict/answers.h"
#include "tests/unit/small_network.h"

static dq_tensor shape_of(int rank, const int64_t *dims) {
  dq_tensor shape = {.type = DQ_F32, .rank = rank};
  memcpy(shape.dims, dims, (size_t)rank * sizeof *dims);
  return shape;
}

static void check(dq_answers kind, int rank, const int64_t *dims, const float *exact, const float *other,
                  int64_t answers, int64_t equal) {
  dq_tensor shape = shape_of(rank, dims);
  dq_error error;
  assert_int_equal(dq_answers_add(&kind, &shape, exact, other, &error), DQ_OK);
  assert_int_equal(kind.answers, answers);
  assert_int_equal(kind.equal, equal);
}

static const dq_answers classes = {.kind = DQ_ANSWER_CLASS, .axis = 1}, points = {.kind = DQ_ANSWER_POINT, .axis = 1},
                        last = {.kind = DQ_ANSWER_POINT, .axis = 3}, mask = {.kind = DQ_ANSWER_MASK, .threshold = 0.5F},
                        single = {.kind = DQ_ANSWER_CLASS, .axis = 1, .threshold = 0.5F},
                        sequence = {.kind = DQ_ANSWER_SEQUENCE, .axis = 2};

// Three points of two channels: 1, 0, 0 (the first of equal ones) against 1, 1, 1.
static void classes_of_points(void **state) {
  (void)state;
  check(points, 4, (int64_t[]){1, 2, 1, 3}, (float[]){1, 5, 3, 2, 4, 3}, (float[]){1, 5, 2, 2, 6, 3}, 3, 1);
  check(last, 4, (int64_t[]){1, 1, 3, 2}, (float[]){1, 2, 5, 4, 3, 3}, (float[]){1, 2, 5, 6, 2, 3}, 3, 1);
}

static void class_of_a_picture(void **state) {
  (void)state;
  check(classes, 2, (int64_t[]){1, 3}, (float[]){1, 2, 3}, (float[]){5, 2, 9}, 1, 1);
  check(single, 2, (int64_t[]){2, 1}, (float[]){0.4f, 0.6f}, (float[]){0.6f, 0.9f}, 2, 1);
}

// Above 0.5: 0, 1, 0, 1 against 1, 1, 0, 0: one of three.
static void overlap_of_masks(void **state) {
  (void)state;
  check(mask, 4, (int64_t[]){1, 1, 2, 2}, (float[]){0.4f, 0.6f, 0.5f, 1}, (float[]){0.6f, 0.7f, 0.2f, 0.4f}, 3, 1);
}

// Arguments of a Sigmoid: above 0 are where its results are above 0.5. Labels 1, 0, 1 against 1, 1, 0; yes against no.
static void arguments_of_a_sigmoid(void **state) {
  (void)state;
  const dq_answers labels = {.kind = DQ_ANSWER_SCORE}, yes = {.kind = DQ_ANSWER_CLASS, .axis = 1};
  check(labels, 2, (int64_t[]){1, 3}, (float[]){0.1f, -0.2f, 4}, (float[]){0.4f, 0.3f, -1}, 3, 1);
  check(yes, 2, (int64_t[]){2, 1}, (float[]){0.1f, -2}, (float[]){-0.1f, -3}, 2, 1);
}

// Steps 0 0 1 1 0 2 0 read "1 2" without the blank 0. 0 1 0 0 2 2 0 reads the same; 0 1 0 1 2 0 0 reads "1 1 2".
static void sequences_without_blanks(void **state) {
  (void)state;
  static const int steps[3][7] = {{0, 0, 1, 1, 0, 2, 0}, {0, 1, 0, 0, 2, 2, 0}, {0, 1, 0, 1, 2, 0, 0}};
  float scores[3][21] = {{0}};
  for (int i = 0; i < 3; i++)
    for (int s = 0; s < 7; s++) scores[i][3 * s + steps[i][s]] = 1;
  check(sequence, 3, (int64_t[]){1, 7, 3}, scores[0], scores[1], 1, 1);
  check(sequence, 3, (int64_t[]){1, 7, 3}, scores[0], scores[2], 1, 0);
  check(sequence, 2, (int64_t[]){7, 3}, scores[0], scores[1], 1, 1); // steps of one picture
  check(sequence, 2, (int64_t[]){7, 3}, scores[0], scores[2], 1, 0);
  scores[1][20] = NAN; // no answer, and in no other place
  check(sequence, 3, (int64_t[]){1, 7, 3}, scores[0], scores[1], 1, 0);
}

// A channel that is NaN or infinite in the second alone: no answer of its point counts, whichever channel is highest.
// NaN in both: the other channels decide. Nothing but NaN in both is no answer either.
static void not_finite(void **state) {
  (void)state;
  const int64_t vector[] = {1, 3};
  check(classes, 2, vector, (float[]){1, 2, 3}, (float[]){NAN, 2, 3}, 1, 0);
  check(classes, 2, vector, (float[]){1, 2, 3}, (float[]){1, 2, INFINITY}, 1, 0);
  check(classes, 2, vector, (float[]){1, 2, 3}, (float[]){-INFINITY, 2, 3}, 1, 0);
  check(classes, 2, vector, (float[]){NAN, 2, 3}, (float[]){NAN, 2, 3}, 1, 1);
  check(classes, 2, (int64_t[]){1, 2}, (float[]){NAN, NAN}, (float[]){NAN, NAN}, 1, 0);
  check(mask, 4, (int64_t[]){1, 1, 1, 3}, (float[]){0.6f, 0.4f, 0.7f}, (float[]){INFINITY, NAN, 0.7f}, 3, 1);
  // One channel of a map is infinite: 100 % of nothing.
  check(points, 4, (int64_t[]){1, 2, 1, 2}, (float[]){1, 2, 5, 6}, (float[]){1, 2, INFINITY, INFINITY}, 2, 0);
}

static void agreement_in_percent(void **state) {
  (void)state;
  const dq_answers some = {.kind = DQ_ANSWER_CLASS, .answers = 8, .equal = 7}, none = {0};
  assert_true(dq_answers_agreement(&some) == 87.5 && dq_answers_agreement(&none) == 100);
  const dq_answers guess = {.kind = DQ_ANSWER_CLASS, .guessed = true};
  assert_string_equal(dq_answers_name(&sequence), "sequences");
  assert_string_equal(dq_answers_name(&guess), "maxima");
}

// x -> a -`function` along `axis`-> y, whose answers are asked for with the shape `dims` of a and y.
static dq_answers answers_behind(network *it, const char *function, int64_t axis, int outputs, int rank,
                                 const int64_t *dims) {
  dq_tensor tensors[8] = {0};
  network_conv(it, network_value(it, "x"), "a", 3, 4, 3, 1);
  dq_node *node = network_node(it, function, network_value(it, "a"), NULL, NULL, network_value(it, "y"));
  if (axis) dq_node_set_int(it->graph, node, "axis", axis);
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_finish(it);
  const int count = it->graph->output_count;
  it->graph->output_count = outputs;
  dq_tensor shape = shape_of(rank, dims);
  const dq_value *y = network_value(it, "y");
  assert_true(y->index < 8);
  tensors[network_value(it, "x")->index] = shape_of(4, (int64_t[]){1, 3, 8, 8});
  tensors[network_value(it, "a")->index] = tensors[y->index] = shape;
  const dq_answers answers = dq_answers_of(it->graph, y, tensors, y);
  it->graph->output_count = count;
  return answers;
}

#define KIND(title, function, along, outputs, expected, expected_axis, ...)                                            \
  static void title(void **state) {                                                                                    \
    const int64_t dims[] = {__VA_ARGS__};                                                                              \
    const dq_answers answers = answers_behind(*state, function, along, outputs, sizeof dims / sizeof *dims, dims);     \
    assert_int_equal(answers.kind, expected);                                                                          \
    if (expected) assert_int_equal(answers.axis, expected_axis);                                                       \
  }
KIND(softmax_of_a_vector, "Softmax", 0, 1, DQ_ANSWER_CLASS, 1, 1, 5)
KIND(softmax_of_steps, "Softmax", 2, 1, DQ_ANSWER_SEQUENCE, 2, 1, 40, 97)
KIND(softmax_of_points, "Softmax", 1, 2, DQ_ANSWER_POINT, 1, 1, 4, 8, 8)
KIND(softmax_along_the_last, "Softmax", -1, 2, DQ_ANSWER_POINT, 3, 1, 8, 8, 4)
KIND(softmax_along_another, "Softmax", 2, 1, DQ_ANSWER_NONE, 0, 1, 4, 8, 8)
KIND(sigmoid_of_one, "Sigmoid", 0, 1, DQ_ANSWER_CLASS, 1, 1, 1)
KIND(sigmoid_of_a_map, "Sigmoid", 0, 1, DQ_ANSWER_MASK, 1, 1, 1, 8, 8)
KIND(sigmoid_of_labels, "Sigmoid", 0, 2, DQ_ANSWER_SCORE, 1, 1, 5)
KIND(sigmoid_of_frames, "Sigmoid", 0, 1, DQ_ANSWER_SCORE, 1, 1, 172, 88)
KIND(sigmoid_of_one_map_of_rows, "HardSigmoid", 0, 1, DQ_ANSWER_SCORE, 1, 1, 1, 64)
KIND(a_picture_of_a_picture, "Relu", 0, 1, DQ_ANSWER_POINT, 1, 1, 3, 16, 16)
KIND(one_number, "Relu", 0, 1, DQ_ANSWER_NONE, 0, 1, 1)
KIND(a_vector, "Relu", 0, 3, DQ_ANSWER_CLASS, 1, 2, 7, 1, 1)
KIND(the_only_map, "Relu", 0, 1, DQ_ANSWER_POINT, 1, 1, 4, 8, 8)
KIND(one_of_three_heads, "Relu", 0, 3, DQ_ANSWER_NONE, 0, 1, 255, 8, 8)
KIND(scores_of_a_detector, "Sigmoid", 0, 1, DQ_ANSWER_SCORE, 1, 1, 84, 8400)
KIND(boxes_of_a_detector, "Relu", 0, 1, DQ_ANSWER_NONE, 0, 1, 4, 8400)

static dq_score_look look_at(const float *numbers, int64_t answers, int64_t width, int times) {
  dq_tensor tensor = shape_of(2, (int64_t[]){answers, width});
  dq_score_look look = {0}, merged = {0};
  tensor.data = (void *)(uintptr_t)numbers;
  for (int t = 0; t < times; t++)
    for (int64_t n = 0; n < answers; n++) {
      dq_score_look one = {0};
      dq_score_look_add(&one, &tensor, n * width, width, 1);
      dq_score_look_merge(&merged, &one);
      dq_score_look_add(&look, &tensor, n * width, width, 1);
    }
  assert_true(merged.answers == look.answers && merged.first == look.first && merged.varies == look.varies);
  assert_true(merged.share == look.share);
  return look;
}

// ln 2 above the other one is a share of 2 in 3 of two classes, where 1/2 + 1/8 is asked for; ln 1.5 is 3 in 5. Of
// three classes 1/3 + 1/6 is asked for: ln 2 above two others is 2 in 4. The highest at one place is none of 8 answers,
// but may be of 7. NaN is left out.
static void numbers_that_look_like_scores(void **state) {
  (void)state;
  const float clear[] = {0, 0.6931472f, 1.6931472f, 1}, narrow[] = {0, 0.4054651f, 1.4054651f, 1};
  const float three[] = {0, 0.69314724f, 0, 1, 0, 1.7f}, same[] = {0, 5}, broken[] = {NAN, 1, 0, INFINITY, 0, 9};
  dq_score_look look = look_at(clear, 2, 2, 4);
  assert_true(look.answers == 8 && look.varies && fabs(look.share - 8 * 2 / 3.0) < 1e-6);
  assert_true(dq_score_look_is_classes(&look, 2));
  look = look_at(narrow, 2, 2, 4);
  assert_false(dq_score_look_is_classes(&look, 2));
  look = look_at(three, 2, 3, 1);
  assert_true(dq_score_look_is_classes(&look, 3));
  look = look_at(same, 1, 2, 7);
  assert_true(!look.varies && dq_score_look_is_classes(&look, 2));
  look = look_at(same, 1, 2, 8);
  assert_false(dq_score_look_is_classes(&look, 2));
  look = look_at(broken, 3, 2, 1);
  assert_int_equal(look.answers, 1);
  assert_false(dq_score_look_is_classes(&(dq_score_look){0}, 2));
}

// Two points of two channels: 5 above 1 in the first, 2 below 4 in the second.
static void looks_at_points(void **state) {
  (void)state;
  const dq_tensor shape = shape_of(4, (int64_t[]){1, 2, 1, 2}), rows = shape_of(4, (int64_t[]){1, 1, 2, 2});
  dq_score_look look = {0}, by_rows = {0};
  dq_answers_look(&points, &shape, (float[]){5, 2, 1, 4}, &look);
  dq_answers_look(&last, &rows, (float[]){5, 1, 2, 4}, &by_rows);
  const double share = 1 / (1 + exp(-4.0)) + 1 / (1 + exp(-2.0));
  assert_true(look.answers == 2 && look.first == 0 && look.varies && fabs(look.share - share) < 1e-12);
  assert_true(by_rows.answers == 2 && by_rows.first == 0 && by_rows.varies && fabs(by_rows.share - share) < 1e-12);
}

static void pictures_are_guessed_for_ever(void **state) {
  const dq_answers picture = answers_behind(*state, "Relu", 0, 1, 4, (int64_t[]){1, 3, 16, 16});
  assert_true(picture.guessed && picture.picture);
}

static void maps_of_more_channels(void **state) {
  const dq_answers map = answers_behind(*state, "Relu", 0, 1, 4, (int64_t[]){1, 4, 16, 16});
  assert_true(map.guessed && !map.picture);
}

static void nothing_to_look_at(void **state) {
  (void)state;
  const int64_t none[] = {1, 0, 2, 2}, empty[] = {0, 2, 2, 2}, few[] = {2};
  const dq_tensor shapes[] = {shape_of(4, none), shape_of(4, empty), shape_of(1, few)};
  dq_score_look look = {0};
  for (int i = 0; i < 3; i++) dq_answers_look(&points, &shapes[i], (float[]){1, 2}, &look);
  assert_int_equal(look.answers, 0);
}

#define KIND_TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes_of_points),
      cmocka_unit_test(class_of_a_picture),
      cmocka_unit_test(overlap_of_masks),
      cmocka_unit_test(arguments_of_a_sigmoid),
      cmocka_unit_test(sequences_without_blanks),
      cmocka_unit_test(not_finite),
      cmocka_unit_test(agreement_in_percent),
      KIND_TEST(softmax_of_a_vector),
      KIND_TEST(softmax_of_steps),
      KIND_TEST(softmax_of_points),
      KIND_TEST(softmax_along_the_last),
      KIND_TEST(softmax_along_another),
      KIND_TEST(sigmoid_of_one),
      KIND_TEST(sigmoid_of_a_map),
      KIND_TEST(one_number),
      KIND_TEST(a_vector),
      KIND_TEST(the_only_map),
      KIND_TEST(one_of_three_heads),
      KIND_TEST(sigmoid_of_labels),
      KIND_TEST(sigmoid_of_frames),
      KIND_TEST(sigmoid_of_one_map_of_rows),
      KIND_TEST(a_picture_of_a_picture),
      KIND_TEST(scores_of_a_detector),
      KIND_TEST(boxes_of_a_detector),
      cmocka_unit_test(numbers_that_look_like_scores),
      cmocka_unit_test(looks_at_points),
      cmocka_unit_test(nothing_to_look_at),
      KIND_TEST(pictures_are_guessed_for_ever),
      KIND_TEST(maps_of_more_channels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
