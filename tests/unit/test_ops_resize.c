// Resize and Upsample: coordinates, roundings, sizes, what is refused; TopK and NonMaxSuppression.
#include <math.h>
#include <string.h>

#include "tests/unit/operator_harness.h"

// The scales input of an open Resize whose roi is left out.
static void open_resize(harness *h, const char *mode, int count, const float *elements, const float *scale) {
  harness_open(h, "", "Resize", 19);
  harness_input(h, DQ_F32, 1, (int64_t[]){count}, elements);
  harness_skip(h);
  if (scale) harness_input(h, DQ_F32, DIMS(1), scale);
  dq_node_set_string(h->graph, h->node, "mode", mode);
}

static void test_nearest_doubles(void **state) {
  (void)state;
  harness h;
  open_resize(&h, "nearest", 3, FLOATS(1, 2, 3), FLOATS(2));
  harness_gives(&h, DQ_F32, DIMS(6), DOUBLES(1, 1, 2, 2, 3, 3));
  dq_node_set_string(h.graph, h.node, "coordinate_transformation_mode", "asymmetric");
  dq_node_set_string(h.graph, h.node, "nearest_mode", "ceil");
  harness_gives(&h, DQ_F32, DIMS(6), DOUBLES(1, 2, 2, 3, 3, 3));
  dq_node_set_string(h.graph, h.node, "nearest_mode", "round");
  harness_refuses(&h, DQ_BAD_INPUT, "'nearest_mode' is 'round'");
  harness_close(&h);
}

// An open nearest Resize of `from` elements 0, 1, 2, ... to `to`, and which of them it takes.
static void assert_picks(int from, int to, const char *coordinates, const char *rounding, const double *picks) {
  harness h;
  float elements[64];
  for (int i = 0; i < from; i++) elements[i] = (float)i;
  open_resize(&h, "nearest", from, elements, NULL);
  harness_skip(&h);
  harness_input(&h, DQ_I64, DIMS(1), (int64_t[]){to});
  dq_node_set_string(h.graph, h.node, "coordinate_transformation_mode", coordinates);
  dq_node_set_string(h.graph, h.node, "nearest_mode", rounding);
  harness_gives(&h, DQ_F32, DIMS(to), picks);
  harness_close(&h);
}

// Positions that are halves, or within the rounding of float32 of one: what ONNX Runtime 1.32 takes.
static void test_nearest_at_ties(void **state) {
  (void)state;
  assert_picks(7, 2, "asymmetric", "round_prefer_ceil", DOUBLES(0, 4));
  assert_picks(7, 2, "asymmetric", "round_prefer_floor", DOUBLES(0, 3));
  assert_picks(14, 1, "half_pixel", "round_prefer_ceil", DOUBLES(7));
  assert_picks(14, 1, "half_pixel", "round_prefer_floor", DOUBLES(6));
  assert_picks(7, 8, "asymmetric", "round_prefer_ceil", DOUBLES(0, 1, 2, 3, 4, 4, 5, 6));
  assert_picks(14, 19, "half_pixel", "round_prefer_floor",
               DOUBLES(0, 1, 1, 2, 3, 4, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12, 12, 13));
  assert_picks(14, 19, "half_pixel_symmetric", "round_prefer_floor",
               DOUBLES(0, 1, 1, 2, 3, 4, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12, 12, 13));
  assert_picks(4, 8, "align_corners", "round_prefer_ceil", DOUBLES(0, 0, 1, 1, 2, 2, 3, 3));
}

static void test_linear(void **state) {
  (void)state;
  harness h;
  open_resize(&h, "linear", 2, FLOATS(0, 4), FLOATS(2));
  harness_gives(&h, DQ_F32, DIMS(4), DOUBLES(0, 1, 3, 4));
  dq_node_set_string(h.graph, h.node, "coordinate_transformation_mode", "asymmetric");
  harness_gives(&h, DQ_F32, DIMS(4), DOUBLES(0, 2, 4, 4));
  harness_close(&h);
}

static void test_sizes_and_integers(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "Resize", 13);
  harness_input(&h, DQ_U8, DIMS(1, 1, 1, 2), (uint8_t[]){1, 4});
  harness_skip(&h);
  harness_skip(&h);
  harness_input(&h, DQ_I64, DIMS(4), (int64_t[]){1, 1, 2, 4});
  dq_node_set_string(h.graph, h.node, "mode", "linear"); // 1.75 and 3.25 round to 2 and 3
  harness_gives(&h, DQ_U8, DIMS(1, 1, 2, 4), DOUBLES(1, 2, 3, 4, 1, 2, 3, 4));
  h.inputs[3]->data = NULL;
  assert_int_equal(harness_infer(&h), DQ_OK);
  assert_int_equal(h.output->rank, -1);
  harness_close(&h);
}

static void test_bad_scales(void **state) {
  (void)state;
  const float scales[] = {0, -1, NAN, INFINITY, 1e30f};
  for (int i = 0; i < 5; i++) {
    harness h;
    open_resize(&h, "nearest", 3, FLOATS(1, 2, 3), &scales[i]);
    harness_refuses(&h, DQ_BAD_INPUT, "for a dimension of 3");
    harness_close(&h);
  }
  harness h;
  open_resize(&h, "nearest", 3, FLOATS(1, 2, 3), NULL);
  harness_refuses(&h, DQ_BAD_INPUT, "neither scales nor sizes");
  harness_close(&h);
}

static void test_upsample_attribute(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "Upsample", 7);
  harness_input(&h, DQ_F32, DIMS(2), FLOATS(1, 2));
  dq_attribute scales = {.name = "scales", .type = DQ_ATTRIBUTE_FLOATS, .floats = FLOATS(2), .count = 1};
  dq_node_copy_attribute(h.graph, h.node, &scales);
  harness_gives(&h, DQ_F32, DIMS(4), DOUBLES(1, 1, 2, 2));
  harness_close(&h);
}

static void test_top_k_with_nan(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "TopK", 11);
  harness_input(&h, DQ_F32, DIMS(5), FLOATS(1, NAN, -0.0f, 0, 7));
  harness_input(&h, DQ_I64, DIMS(1), (int64_t[]){3});
  dq_node_set_int(h.graph, h.node, "largest", 0);
  h.output_count = 2;
  assert_int_equal(harness_run(&h), DQ_OK);
  harness_gave(&h, 0, DQ_F32, DIMS(3), DOUBLES(0, 0, 1), 0); // zeros are equal, the lower index first
  harness_gave(&h, 1, DQ_I64, DIMS(3), DOUBLES(2, 3, 0), 0);
  dq_node_set_int(h.graph, h.node, "largest", 1); // what is not a number is larger than any
  assert_int_equal(harness_run(&h), DQ_OK);
  harness_gave(&h, 0, DQ_F32, DIMS(3), DOUBLES(NAN, 7, 1), 0);
  harness_gave(&h, 1, DQ_I64, DIMS(3), DOUBLES(1, 4, 0), 0);
  h.outputs[0] = NULL; // only where they are
  assert_int_equal(harness_run(&h), DQ_OK);
  harness_gave(&h, 1, DQ_I64, DIMS(3), DOUBLES(1, 4, 0), 0);
  harness_close(&h);
}

// Enough rows for both threads: of each column of 101 numbers, in an order without neighbours, the 60 largest.
static void test_top_k_in_threads(void **state) {
  (void)state;
  enum { SIZE = 101, COLUMNS = 700, K = 60 };
  static double values[K * COLUMNS], indices[K * COLUMNS];
  harness h;
  harness_open(&h, "", "TopK", 11);
  dq_tensor *x = harness_input(&h, DQ_I32, DIMS(SIZE, COLUMNS), NULL);
  harness_input(&h, DQ_I64, DIMS(1), (int64_t[]){K});
  dq_node_set_int(h.graph, h.node, "axis", 0);
  for (int c = 0; c < COLUMNS; c++)
    for (int i = 0; i < SIZE; i++) { // 37 has no factor in common with 101: each column holds 0 to 100
      int value = (i * 37 + c) % SIZE, rank = SIZE - 1 - value;
      ((int32_t *)x->data)[i * COLUMNS + c] = value + c;
      if (rank < K) values[rank * COLUMNS + c] = value + c, indices[rank * COLUMNS + c] = i;
    }
  h.output_count = 2;
  assert_int_equal(harness_run(&h), DQ_OK);
  harness_gave(&h, 0, DQ_I32, DIMS(K, COLUMNS), values, 0);
  harness_gave(&h, 1, DQ_I64, DIMS(K, COLUMNS), indices, 0);
  harness_close(&h);
}

static void test_non_max_suppression(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "NonMaxSuppression", 11);
  harness_input(&h, DQ_F32, DIMS(1, 3, 4), FLOATS(0, 0, 1, 1, 1, 1, 0, 0.1f, 5, 5, 6, 6));
  harness_input(&h, DQ_F32, DIMS(1, 1, 3), FLOATS(0.5f, 0.9f, 0.1f));
  harness_input(&h, DQ_I64, DIMS(1), (int64_t[]){10});
  harness_input(&h, DQ_F32, DIMS(1), FLOATS(0.5f));
  harness_gives(&h, DQ_I64, DIMS(2, 3), DOUBLES(0, 0, 1, 0, 0, 2));
  harness_input(&h, DQ_F32, DIMS(1), FLOATS(0.2f));
  harness_gives(&h, DQ_I64, DIMS(1, 3), DOUBLES(0, 0, 1));
  harness_close(&h);
}

// Which of two boxes stay at a bound of the overlap, as a share of the area of both together.
static void keeps(const float boxes[8], float bound, bool centered, bool both) {
  harness h;
  harness_open(&h, "", "NonMaxSuppression", 11);
  dq_node_set_int(h.graph, h.node, "center_point_box", centered);
  harness_input(&h, DQ_F32, DIMS(1, 2, 4), boxes);
  harness_input(&h, DQ_F32, DIMS(1, 1, 2), FLOATS(0.5f, 0.9f));
  harness_input(&h, DQ_I64, DIMS(1), (int64_t[]){10});
  harness_input(&h, DQ_F32, DIMS(1), &bound);
  harness_gives(&h, DQ_I64, DIMS(both ? 2 : 1, 3), DOUBLES(0, 0, 1, 0, 0, 0));
  harness_close(&h);
}

// Squares of 2 x 2 away from the origin. Shifted by 1 along one axis they share 2 of 4 + 4 - 2: a third; along both
// axes 1 of 7. Further apart on either axis, or on both, they share nothing, even where distances are multiplied.
static void test_overlap_of_boxes(void **state) {
  (void)state;
  static const struct {
    float first[4], second[4];
    float share; // of the area of both
  } cases[] = {{{2, 5, 4, 7}, {3, 5, 5, 7}, 1 / 3.0f}, {{2, 5, 4, 7}, {2, 6, 4, 8}, 1 / 3.0f},
               {{2, 5, 4, 7}, {3, 6, 5, 8}, 1 / 7.0f}, {{2, 5, 4, 7}, {5, 5, 7, 7}, 0},
               {{2, 5, 4, 7}, {2, 8, 4, 10}, 0},       {{2, 5, 4, 7}, {6, 9, 8, 11}, 0},
               {{2, 5, 4, 7}, {5, 8, 3, 6}, 1 / 7.0f}, {{2, 5, 4, 7}, {3, 6, 3, 6}, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const float *a = cases[i].first, *b = cases[i].second, share = cases[i].share;
    float corners[8], centers[8];
    for (int k = 0; k < 4; k++) corners[k] = a[k], corners[4 + k] = b[k];
    for (int k = 0; k < 8; k++) {
      const float *box = corners + k / 4 * 4;
      centers[k] = k % 4 < 2 ? (box[k % 4] + box[k % 4 + 2]) / 2 : box[k % 4] - box[k % 4 - 2];
    }
    for (int centered = 0; centered < 2; centered++) {
      keeps(centered ? centers : corners, share + 0.01f, centered, true);
      keeps(centered ? centers : corners, share > 0 ? share - 0.01f : 0, centered, share == 0);
    }
  }
}

// Of three boxes apart: how many of a class stay, which scores are too low, and a score that is no number.
static void test_limits_of_suppression(void **state) {
  (void)state;
  static const float boxes[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, scores[] = {0.5f, NAN, 0.75f};
  harness h;
  harness_open(&h, "", "NonMaxSuppression", 11);
  harness_input(&h, DQ_F32, DIMS(1, 3, 4), boxes);
  harness_input(&h, DQ_F32, DIMS(1, 1, 3), scores);
  harness_gives(&h, DQ_I64, DIMS(0, 3), NULL); // without a number of boxes none is wanted
  dq_tensor *most = harness_input(&h, DQ_I64, DIMS(1), (int64_t[]){2});
  harness_gives(&h, DQ_I64, DIMS(2, 3), DOUBLES(0, 0, 2, 0, 0, 0));
  *(int64_t *)most->data = 1;
  harness_gives(&h, DQ_I64, DIMS(1, 3), DOUBLES(0, 0, 2));
  *(int64_t *)most->data = 2;
  dq_tensor *overlap = harness_input(&h, DQ_F32, DIMS(1), FLOATS(1));
  dq_tensor *lowest = harness_input(&h, DQ_F32, DIMS(1), FLOATS(0.5f));
  harness_gives(&h, DQ_I64, DIMS(1, 3), DOUBLES(0, 0, 2)); // above it, not at it
  *(float *)lowest->data = 0.25f;
  harness_gives(&h, DQ_I64, DIMS(2, 3), DOUBLES(0, 0, 2, 0, 0, 0));
  static const float wrong[] = {-0.5f, 1.5f};
  for (int i = 0; i < 2; i++) {
    *(float *)overlap->data = wrong[i];
    harness_refuses(&h, DQ_BAD_INPUT, "expected 0 to 1");
  }
  harness_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nearest_doubles),
      cmocka_unit_test(test_nearest_at_ties),
      cmocka_unit_test(test_linear),
      cmocka_unit_test(test_sizes_and_integers),
      cmocka_unit_test(test_bad_scales),
      cmocka_unit_test(test_upsample_attribute),
      cmocka_unit_test(test_top_k_with_nan),
      cmocka_unit_test(test_top_k_in_threads),
      cmocka_unit_test(test_non_max_suppression),
      cmocka_unit_test(test_overlap_of_boxes),
      cmocka_unit_test(test_limits_of_suppression),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
