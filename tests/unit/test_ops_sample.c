// Operators that read a picture between its elements: GridSample, AffineGrid, RoiAlign, DeformConv. Values by hand.
#include <math.h>
#include <string.h>

#include "tests/unit/operator_harness.h"

static const float nine[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}; // 3 y + x

static void sampled(const char *mode, const char *padding, int align, float x, float y, double expected) {
  harness h;
  harness_open(&h, "", "GridSample", 16);
  harness_input(&h, DQ_F32, DIMS(1, 1, 3, 3), nine);
  harness_input(&h, DQ_F32, DIMS(1, 1, 1, 2), FLOATS(x, y));
  dq_node_set_string(h.graph, h.node, "mode", mode);
  dq_node_set_string(h.graph, h.node, "padding_mode", padding);
  dq_node_set_int(h.graph, h.node, "align_corners", align);
  harness_is_near(&h, DIMS(1, 1, 1, 1), &expected, 1e-6);
  harness_close(&h);
}

// With aligned corners the grid's -1, 0, 1 are columns 0, 1, 2; without, -2/3, 0, 2/3 are.
static void test_grid_sample(void **state) {
  (void)state;
  sampled("bilinear", "zeros", 1, 0, 0, 4);
  sampled("bilinear", "zeros", 1, 0.5f, 0, 4.5);
  sampled("bilinear", "zeros", 1, -0.5f, 0.5f, 5); // 3 * 1.5 + 0.5
  sampled("bilinear", "zeros", 1, 1.5f, 0, 2.5);   // half of column 2, half of nothing
  sampled("bilinear", "border", 1, 1.5f, 0, 5);
  sampled("bilinear", "border", 1, -7, 9, 6);
  sampled("bilinear", "reflection", 1, 1.5f, 0, 4.5);
  sampled("bilinear", "reflection", 1, -2, 0, 4);     // -1 is 1
  sampled("bilinear", "reflection", 1, 4.5f, 0, 4.5); // 5.5: over 2 it is -1.5, over 0 it is 1.5
  sampled("bilinear", "zeros", 1, -2, 0, 0);
  sampled("bilinear", "zeros", 1, NAN, 0, 0);
  sampled("bilinear", "zeros", 0, 1, 0, 2.5); // column 2.5
  sampled("bilinear", "border", 0, 1, 0, 5);
  sampled("bilinear", "zeros", 0, 2 / 3.f, -2 / 3.f, 2);
  sampled("bilinear", "reflection", 0, 1.4f, 0, 4.9); // column 3.1, 0.6 behind the edge at 2.5
  sampled("nearest", "zeros", 1, 0.4f, -1, 1);
  sampled("nearest", "zeros", 1, 0.5f, -1, 2); // 1.5: halves go to the even one
  sampled("nearest", "zeros", 1, 1.6f, 0, 0);
  sampled("nearest", "border", 1, 1.6f, 0, 5);
  sampled("nearest", "reflection", 1, 2.1f, 1, 7); // 3.1, the third, is the first
  // 1.5 lies between columns 0 to 3 of the row 3 4 5: weights -3/32, 19/32, 19/32, -3/32.
  sampled("bicubic", "zeros", 1, 0.5f, 0, 5.0625);
  sampled("bicubic", "border", 1, 0.5f, 0, 4.59375);
  sampled("bicubic", "reflection", 1, 0.5f, 0, 4.6875);
  sampled("bicubic", "zeros", 1, 0, 0, 4);
}

// From 2^23 on float32 has no place half an element behind the last one: the place is the element after it, which
// belongs to the next row already.
static void test_grid_sample_of_a_long_axis(void **state) {
  (void)state;
  enum { LENGTH = (1 << 23) + 2 };
  static const char *const modes[] = {"nearest", "bilinear", "bicubic"}, *const paddings[] = {"reflection", "border"};
  harness h;
  harness_open(&h, "", "GridSample", 16);
  float *rows = harness_input(&h, DQ_F32, DIMS(1, 1, 2, LENGTH), NULL)->data;
  for (int64_t i = 0; i < LENGTH; i++) rows[i] = 1, rows[LENGTH + i] = 2;
  harness_input(&h, DQ_F32, DIMS(1, 1, 4, 2), FLOATS(-1, -0.5f, 1, -0.5f, -1, 0.5f, 1, 0.5f));
  dq_node_set_int(h.graph, h.node, "align_corners", 0); // rows 0 and 1 are -1/2 and 1/2
  for (int m = 0; m < 3; m++)
    for (int p = 0; p < 2; p++) {
      dq_node_set_string(h.graph, h.node, "mode", modes[m]);
      dq_node_set_string(h.graph, h.node, "padding_mode", paddings[p]);
      harness_is_near(&h, DIMS(1, 1, 1, 4), DOUBLES(1, 1, 2, 2), 0);
    }
  harness_close(&h);
}

static void test_grid_sample_in_three_dimensions(void **state) {
  (void)state;
  harness h;
  float volumes[4 * 8]; // two pictures of two channels, 2 x 2 x 2
  for (int i = 0; i < 32; i++) volumes[i] = (float)(i % 8 + i / 8 * 100);
  harness_open(&h, "", "GridSample", 20);
  harness_input(&h, DQ_F32, DIMS(2, 2, 2, 2, 2), volumes);
  harness_input(&h, DQ_F32, DIMS(2, 1, 1, 2, 3), FLOATS(1, -1, -1, 0, 0, 0, -1, -1, 1, -1, 1, 0.5f));
  dq_node_set_int(h.graph, h.node, "align_corners", 1);
  harness_gives(&h, DQ_F32, DIMS(2, 2, 1, 1, 2), DOUBLES(1, 3.5, 101, 103.5, 204, 205, 304, 305));
  dq_node_set_string(h.graph, h.node, "mode", "cubic");
  harness_refuses(&h, DQ_UNSUPPORTED, "mode cubic needs an input of 4 dimensions");
  dq_node_set_string(h.graph, h.node, "mode", "area");
  harness_refuses(&h, DQ_BAD_INPUT, "attribute 'mode' is 'area'");
  dq_node_set_string(h.graph, h.node, "mode", "nearest");
  h.inputs[1]->dims[4] = 2;
  harness_refuses(&h, DQ_BAD_INPUT, "a grid of shape 2x1x1x2x2 does not fit an input of shape 2x2x2x2x2");
  harness_close(&h);
}

static void test_affine_grid(void **state) {
  (void)state;
  harness h;
  harness_open(&h, "", "AffineGrid", 20);
  harness_input(&h, DQ_F32, DIMS(1, 2, 3), FLOATS(1, 2, 3, 4, 5, 6)); // x + 2 y + 3, 4 x + 5 y + 6
  harness_input(&h, DQ_I64, DIMS(4), (int64_t[]){1, 7, 2, 3});
  dq_node_set_int(h.graph, h.node, "align_corners", 1); // x of -1, 0, 1, y of -1, 1
  harness_gives(&h, DQ_F32, DIMS(1, 2, 3, 2), DOUBLES(0, -3, 1, 1, 2, 5, 4, 7, 5, 11, 6, 15));
  dq_node_set_int(h.graph, h.node, "align_corners", 0); // x of -2/3, 0, 2/3, y of -1/2, 1/2
  harness_is_near(&h, DIMS(1, 2, 3, 2),
                  DOUBLES(4 / 3., 5 / 6., 2, 3.5, 8 / 3., 37 / 6., 10 / 3., 35 / 6., 4, 8.5, 14 / 3., 67 / 6.), 2e-6);
  ((int64_t *)h.inputs[1]->data)[0] = 2;
  harness_refuses(&h, DQ_BAD_INPUT, "theta is not N x 2 x 3 or N x 3 x 4");
  harness_close(&h);
  harness_open(&h, "", "AffineGrid", 20); // two maps of three dimensions: the same, and all axes exchanged
  harness_input(&h, DQ_F64, DIMS(2, 3, 4),
                DOUBLES(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 10, 1, 0, 0, 0));
  harness_input(&h, DQ_I64, DIMS(5), (int64_t[]){2, 1, 1, 2, 1});
  harness_gives(&h, DQ_F64, DIMS(2, 1, 2, 1, 3), DOUBLES(0, -0.5, 0, 0, 0.5, 0, 0, 9.5, 0, 0, 10.5, 0));
  dq_node_set_int(h.graph, h.node, "align_corners", 1); // an axis of one element is at -1
  harness_gives(&h, DQ_F64, DIMS(2, 1, 2, 1, 3), DOUBLES(-1, -1, -1, -1, 1, -1, -1, 9, -1, -1, 11, -1));
  harness_close(&h);
}

// A picture of 4 y + x, and one of 100 more; one region of the second.
static void open_regions(harness *h, const float *region, const char *mode, const char *pixel, int samples) {
  float pictures[32];
  for (int i = 0; i < 32; i++) pictures[i] = (float)(i % 16 + i / 16 * 100);
  harness_open(h, "", "RoiAlign", 16);
  harness_input(h, DQ_F32, DIMS(2, 1, 4, 4), pictures);
  harness_input(h, DQ_F32, DIMS(1, 4), region);
  harness_input(h, DQ_I64, DIMS(1), (int64_t[]){1});
  dq_node_set_string(h->graph, h->node, "mode", mode);
  dq_node_set_string(h->graph, h->node, "coordinate_transformation_mode", pixel);
  dq_node_set_int(h->graph, h->node, "sampling_ratio", samples);
}
static void pooled(const float *region, const char *mode, const char *pixel, int samples, double expected) {
  harness h;
  open_regions(&h, region, mode, pixel, samples);
  harness_is_near(&h, DIMS(1, 1, 1, 1), &expected, 1e-5);
  harness_close(&h);
}

static void test_roi_align(void **state) {
  (void)state;
  const char *whole = "output_half_pixel", *half = "half_pixel"; // regions begin at elements, or half before
  pooled(FLOATS(0, 0, 2, 2), "avg", whole, 1, 105);
  pooled(FLOATS(0, 0, 2, 2), "avg", half, 1, 102.5);
  pooled(FLOATS(0, 0, 2, 2), "avg", whole, 2, 105);
  pooled(FLOATS(3, 2, 5, 4), "avg", whole, 1, 115); // at (3, 4): the edge holds on for one element
  pooled(FLOATS(5, 5, 7, 7), "avg", whole, 1, 0);
  pooled(FLOATS(-3, 0, -1, 2), "avg", whole, 1, 0);
  pooled(FLOATS(-2, 0, 0, 2), "avg", whole, 1, 104); // at (1, -1)
  pooled(FLOATS(0, 0, 1, 1), "avg", whole, 1, 102.5);
  pooled(FLOATS(0, 0, 1, 1), "max", whole, 1, 105 / 4.); // the largest of the four weighted elements
  pooled(FLOATS(0, 0, 4, 2), "avg", whole, 0,
         105.875); // 4 x 2 samples: x of 0.5, 1.5, 2.5 and 3 for 3.5; y of 0.5, 1.5
  pooled(FLOATS(0, 0, 4, 2), "max", whole, 0, 0.5 * 111); // at (1.5, 3), between 107 and 111
  pooled(FLOATS(1, 1, 1, 1), "avg", whole, 0, 107.5);     // at least 1 x 1
  pooled(FLOATS(1, 1, 1, 1), "avg", half, 0, 0);          // nothing
  harness h;
  open_regions(&h, FLOATS(0, 0, 4, 8), "avg", whole, 1);
  dq_node_set_int(h.graph, h.node, "output_height", 2);
  dq_node_set_int(h.graph, h.node, "output_width", 3);
  dq_node_set_float(h.graph, h.node, "spatial_scale", 0.5f); // 2 wide, 4 high: y of 1, 3; x of 1/3, 1, 5/3
  harness_is_near(&h, DIMS(1, 1, 2, 3), DOUBLES(104 + 1 / 3., 105, 105 + 2 / 3., 112 + 1 / 3., 113, 113 + 2 / 3.),
                  3e-5);
  ((int64_t *)h.inputs[2]->data)[0] = 2;
  assert_int_equal(harness_run(&h), DQ_BAD_INPUT);
  assert_string_equal(h.error.message, "node 'n': batch index 2, expected 0 to 1");
  dq_node_set_int(h.graph, h.node, "output_width", 0);
  harness_refuses(&h, DQ_BAD_INPUT, "output 2x0 with sampling ratio 1");
  dq_node_set_string(h.graph, h.node, "mode", "sum");
  harness_refuses(&h, DQ_BAD_INPUT, "mode is 'sum', expected avg or max");
  harness_close(&h);
}

// Two channels of 3 y + x, the second ten times it, by windows of 2 x 2 ones, two groups and two groups of offsets.
static void open_deformed(harness *h, float *offsets, const float *mask, const float *bias) {
  float input[18], ones[8];
  for (int i = 0; i < 18; i++) input[i] = (float)(i % 9 * (i < 9 ? 1 : 10));
  for (int i = 0; i < 8; i++) ones[i] = 1;
  harness_open(h, "", "DeformConv", 19);
  harness_input(h, DQ_F32, DIMS(1, 2, 3, 3), input);
  harness_input(h, DQ_F32, DIMS(2, 1, 2, 2), ones);
  harness_input(h, DQ_F32, DIMS(1, 16, 2, 2), offsets); // [group][tap][y, x][place]
  if (bias) harness_input(h, DQ_F32, DIMS(2), bias);
  else harness_skip(h);
  if (mask) harness_input(h, DQ_F32, DIMS(1, 8, 2, 2), mask);
  dq_node_set_int(h->graph, h->node, "group", 2);
  dq_node_set_int(h->graph, h->node, "offset_group", 2);
}

static void test_deform_conv(void **state) {
  (void)state;
  harness h;
  float offsets[64] = {0}, mask[32];
  open_deformed(&h, offsets, NULL, FLOATS(1000, 2000)); // a convolution
  harness_gives(&h, DQ_F32, DIMS(1, 2, 2, 2), DOUBLES(1008, 1012, 1020, 1024, 2080, 2120, 2200, 2240));
  harness_close(&h);
  for (int place = 0; place < 4; place++) {
    offsets[place] = 0.5f;               // group 0, tap 0: half a row down, 1.5 more
    offsets[32 + 4 * 6 + 4 + place] = 1; // group 1, tap 3: a column to the right
  }
  open_deformed(&h, offsets, NULL, NULL);
  harness_gives(&h, DQ_F32, DIMS(1, 2, 2, 2),
                DOUBLES(9.5, 13.5, 21.5, 25.5, 80 + 10, 120 - 50, 200 + 10, 240 - 80)); // outside is nothing
  harness_close(&h);
  for (int i = 0; i < 32; i++) mask[i] = i / 4 == 1 ? 0 : i / 4 == 7 ? 0.5f : 1; // group 0, tap 1; group 1, tap 3
  open_deformed(&h, offsets, mask, NULL);
  harness_gives(&h, DQ_F32, DIMS(1, 2, 2, 2),
                DOUBLES(9.5 - 1, 13.5 - 2, 21.5 - 4, 25.5 - 5, 40 + 25, 70, 130 + 40, 160));
  dq_node_set_int(h.graph, h.node, "offset_group", 1);
  harness_refuses(&h, DQ_BAD_INPUT, "offsets of shape 1x16x2x2 do not fit");
  h.inputs[2]->dims[1] = 8;
  harness_refuses(&h, DQ_BAD_INPUT, "a mask of shape 1x8x2x2 does not fit");
  h.inputs[4]->dims[1] = 4; // both channels by the offsets of group 0
  harness_gives(&h, DQ_F32, DIMS(1, 2, 2, 2),
                DOUBLES(9.5 - 1, 13.5 - 2, 21.5 - 4, 25.5 - 5, 95 - 10, 135 - 20, 215 - 40, 255 - 50));
  dq_node_set_int(h.graph, h.node, "offset_group", 0);
  harness_refuses(&h, DQ_BAD_INPUT, "2 groups and 0 offset groups do not fit each other");
  dq_node_set_int(h.graph, h.node, "offset_group", 1);
  dq_node_set_int(h.graph, h.node, "group", 1);
  harness_refuses(&h, DQ_BAD_INPUT, "2 input and 2 output channels, a weight with 1 input channels, 1 groups");
  harness_close(&h);
}

// Strides, dilations and pads move the taps before the offsets do.
static void test_deform_conv_windows(void **state) {
  (void)state;
  harness h;
  float offsets[8 * 4] = {0};
  harness_open(&h, "", "DeformConv", 19);
  harness_input(&h, DQ_F32, DIMS(1, 1, 3, 3), nine);
  harness_input(&h, DQ_F32, DIMS(1, 1, 2, 2), FLOATS(1, 10, 100, 1000));
  harness_input(&h, DQ_F32, DIMS(1, 8, 2, 2), offsets);
  dq_node_set_ints(h.graph, h.node, "strides", (int64_t[]){2, 1}, 2);
  dq_node_set_ints(h.graph, h.node, "dilations", (int64_t[]){2, 1}, 2);
  dq_node_set_ints(h.graph, h.node, "pads", (int64_t[]){1, 0, 1, 0}, 4); // rows -1 and 1, then 1 and 3
  harness_gives(&h, DQ_F32, DIMS(1, 1, 2, 2), DOUBLES(300 + 4000, 400 + 5000, 3 + 40, 4 + 50));
  harness_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_grid_sample),
      cmocka_unit_test(test_grid_sample_in_three_dimensions),
      cmocka_unit_test(test_affine_grid),
      cmocka_unit_test(test_roi_align),
      cmocka_unit_test(test_deform_conv),
      cmocka_unit_test(test_deform_conv_windows),
      cmocka_unit_test(test_grid_sample_of_a_long_axis),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
