// The choice among algorithms for convolutions, the errors of Winograd's filtering, and bytes at all distances.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/cpu.h"
#include "lib/base/random.h"
#include "lib/kernels/array/array.h"
#include "lib/kernels/conv/conv.h"
#include "lib/kernels/reference/reference.h"

static dq_conv_parameters three_by_three(int64_t in, int64_t out, int64_t side) {
  return (dq_conv_parameters){.batch = 1,
                              .groups = 1,
                              .in_channels = in,
                              .out_channels = out,
                              .in_height = side,
                              .in_width = side,
                              .kernel_height = 3,
                              .kernel_width = 3,
                              .stride_height = 1,
                              .stride_width = 1,
                              .dilation_height = 1,
                              .dilation_width = 1,
                              .pad_top = 1,
                              .pad_left = 1,
                              .pad_bottom = 1,
                              .pad_right = 1,
                              .out_height = side,
                              .out_width = side};
}

static dq_conv_plan plan_of(dq_conv_parameters parameters, dq_conv_choice choice) {
  dq_conv_plan plan;
  parameters.algorithm = choice;
  assert_int_equal(dq_conv_f32_plan(&parameters, 0, &plan, NULL), DQ_OK);
  return plan;
}

static void chosen(dq_conv_parameters parameters, dq_conv_choice choice, const char *name) {
  dq_conv_plan plan = plan_of(parameters, choice);
  assert_string_equal(dq_conv_algorithm_name(&plan), name);
}

static void only_auto_takes_other_bits(void **state) {
  (void)state;
  chosen(three_by_three(64, 64, 56), DQ_CONV_SAME_BITS, "bands");
  chosen(three_by_three(64, 64, 56), DQ_CONV_AUTO, "winograd");
  assert_true(dq_conv_same_bits(DQ_CONV_SAME_BITS));
  assert_false(dq_conv_same_bits(DQ_CONV_AUTO));
  assert_false(dq_conv_same_bits(DQ_CONV_winograd));
  assert_true(dq_conv_same_bits(DQ_CONV_im2row));
}

// In 8 bits sums are exact whatever the order, so that nothing is lost by the fewer products.
static void bytes_take_the_fastest_of_all(void **state) {
  (void)state;
  dq_conv_plan plan;
  dq_conv_int8_parameters q = {.shape = three_by_three(64, 64, 56), .weight_signed = true};
  q.shape.algorithm = DQ_CONV_SAME_BITS;
  assert_int_equal(dq_conv_int8_plan(&q, 0, &plan, NULL), DQ_OK);
  assert_string_equal(dq_conv_algorithm_name(&plan), "winograd");
  q.shape.tuning.algorithm = DQ_CONV_tiles; // measured to be faster
  assert_int_equal(dq_conv_int8_plan(&q, 0, &plan, NULL), DQ_OK);
  assert_string_equal(dq_conv_algorithm_name(&plan), "tiles");
}

// Values and sums of half of the plane for each of two threads would take 278 MB.
static void bands_of_large_planes_are_bounded(void **state) {
  (void)state;
  dq_conv_plan plan = plan_of(three_by_three(128, 64, 400), DQ_CONV_winograd);
  assert_string_equal(dq_conv_algorithm_name(&plan), "winograd");
  assert_in_range(dq_conv_scratch_bytes(&plan, 2), 1, 100 << 20);
}

static void what_does_not_fit_counts_as_auto(void **state) {
  (void)state;
  dq_conv_parameters strided = three_by_three(64, 64, 56);
  strided.stride_height = strided.stride_width = 2;
  strided.out_height = strided.out_width = 28;
  chosen(strided, DQ_CONV_winograd, "bands");
  chosen(strided, DQ_CONV_mcmk, "mcmk");
  dq_conv_parameters depthwise = three_by_three(64, 64, 56);
  depthwise.groups = 64;
  chosen(depthwise, DQ_CONV_winograd, "window");
  // 64/9 (in + 8) 2^-24 passes 0.01 from 23585 channels on: too inexact even with the smaller tiles.
  chosen(three_by_three(23584, 1, 4), DQ_CONV_winograd, "winograd");
  chosen(three_by_three(23585, 1, 4), DQ_CONV_winograd, "tiles");
}

static void large_tiles_up_to_where_they_are_exact_enough(void **state) {
  (void)state;
  // 256 (in + 18) 2^-24 passes 0.01 from 638 channels on.
  assert_int_equal(plan_of(three_by_three(637, 14, 64), DQ_CONV_winograd).winograd.size, 4);
  assert_int_equal(plan_of(three_by_three(638, 14, 64), DQ_CONV_winograd).winograd.size, 2);
}

// ---- Errors ----
typedef struct errors {
  double worst, relative; // largest difference over the bound's unit; rms of differences over rms of results
} errors;

static double exact(const dq_conv_parameters *p, const float *x, const float *w, int64_t y, int64_t column) {
  double sum = 0;
  for (int64_t c = 0; c < p->in_channels; c++)
    for (int64_t ky = 0; ky < 3; ky++)
      for (int64_t kx = 0; kx < 3; kx++) {
        int64_t row = y + ky - 1, at = column + kx - 1;
        if (row < 0 || row >= p->in_height || at < 0 || at >= p->in_width) continue;
        sum += (double)x[(c * p->in_height + row) * p->in_width + at] * w[(c * 3 + ky) * 3 + kx];
      }
  return sum;
}

static void *room(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
  assert_non_null(memory);
  return memory;
}

static errors errors_of(dq_conv_parameters p, bool extreme) {
  p.algorithm = DQ_CONV_winograd;
  int64_t inputs = p.in_channels * p.in_height * p.in_width, outputs = p.out_height * p.out_width;
  int64_t weights = p.in_channels * 9;
  float *x = room((size_t)inputs * 4), *w = room((size_t)weights * 4), *y = room((size_t)outputs * 4);
  dq_random random = {7};
  for (int64_t i = 0; i < inputs; i++) x[i] = 2 * dq_random_float(&random) - 1;
  for (int64_t i = 0; i < weights; i++) w[i] = 2 * dq_random_float(&random) - 1;
  for (int64_t i = 0; extreme && i < inputs; i++) x[i] = x[i] < 0 ? -1.0f : 1.0f;
  dq_conv_plan plan = plan_of(p, DQ_CONV_winograd);
  void *packed = room(dq_conv_packed_bytes(&plan)), *scratch = room(dq_conv_scratch_bytes(&plan, 1));
  memset(scratch, 0, dq_conv_scratch_bytes(&plan, 1));
  dq_conv_f32_pack(&plan, w, NULL, packed);
  dq_conv_f32_run(&plan, packed, x, NULL, y, scratch, NULL);
  errors result = {0, 0};
  double sum = 0, squares = 0, wrong = 0;
  for (int64_t i = 0; i < weights; i++) sum += fabs((double)w[i]);
  for (int64_t i = 0; i < outputs; i++) {
    double truth = exact(&p, x, w, i / p.out_width, i % p.out_width), error = fabs((double)y[i] - truth);
    result.worst = fmax(result.worst, error / sum); // |x| <= 1
    squares += truth * truth;
    wrong += error * error;
  }
  result.relative = sqrt(wrong / squares);
  free(x), free(w), free(y), free(packed), free(scratch);
  return result;
}

// docs/NUMERICS.md: worst errors are far below the bound, and usual ones below 2e-6 of the results.
static void errors_stay_below_the_bound(void **state) {
  (void)state;
  const int64_t channels[] = {1, 16, 128, 512};
  for (int i = 0; i < 8; i++) {
    int64_t in = channels[i / 2], side = in > 100 ? 8 : 20;
    dq_conv_parameters p = three_by_three(in, 1, side);
    dq_conv_plan plan = plan_of(p, DQ_CONV_winograd);
    double growth = plan.winograd.size == 2 ? 64.0 / 9 : 256, operations = plan.winograd.size == 2 ? 8 : 18;
    errors found = errors_of(p, i % 2);
    assert_true(found.worst <= growth * ((double)in + operations) * 0x1p-24);
    assert_true(found.worst <= DQ_WINOGRAD_ERROR);
    assert_true(found.relative < 2e-6);
  }
}

// Whole numbers are exact: 16 of ones in 4 x 4, windows of ones, corners see 4, edges 6, the middle 9.
static void ones(void **state) {
  (void)state;
  dq_conv_parameters p = three_by_three(1, 1, 4);
  dq_conv_plan plan = plan_of(p, DQ_CONV_winograd);
  float x[16], w[9], y[16];
  for (int i = 0; i < 16; i++) x[i] = 1;
  for (int i = 0; i < 9; i++) w[i] = 1;
  void *packed = room(dq_conv_packed_bytes(&plan)), *scratch = room(dq_conv_scratch_bytes(&plan, 1));
  memset(scratch, 0, dq_conv_scratch_bytes(&plan, 1));
  dq_conv_f32_pack(&plan, w, NULL, packed);
  dq_conv_f32_run(&plan, packed, x, NULL, y, scratch, NULL);
  const float expected[16] = {4, 6, 6, 4, 6, 9, 9, 6, 6, 9, 9, 6, 4, 6, 6, 4};
  for (int i = 0; i < 16; i++) assert_true(fabsf(y[i] - expected[i]) < 1e-5f);
  free(packed), free(scratch);
}

// What follows a convolution gives the bits of steps of their own, whatever the algorithm.
static void tails_as_steps_of_their_own(void **state) {
  (void)state;
  enum { SIDE = 7, CHANNELS = 5, OUTPUTS = CHANNELS * SIDE * SIDE };
  float x[OUTPUTS], w[CHANNELS * CHANNELS * 9], addend[OUTPUTS], plain[OUTPUTS], ended[OUTPUTS];
  dq_random random = {11};
  for (int i = 0; i < OUTPUTS; i++) x[i] = dq_random_normal(&random), addend[i] = dq_random_normal(&random);
  for (int i = 0; i < CHANNELS * CHANNELS * 9; i++) w[i] = dq_random_normal(&random);
  const dq_activation leaky = {.kind = DQ_ACTIVATION_LEAKY, .alpha = 0.25f};
  for (int choice = 0; choice < DQ_CONV_CHOICES; choice++) {
    dq_conv_parameters p = three_by_three(CHANNELS, CHANNELS, SIDE);
    for (int ends = 0; ends < 2; ends++) {
      if (ends) p.activation.kind = DQ_ACTIVATION_SILU, p.adds = true, p.sum_activation = leaky;
      dq_conv_plan plan = plan_of(p, (dq_conv_choice)choice);
      void *packed = room(dq_conv_packed_bytes(&plan)), *scratch = room(dq_conv_scratch_bytes(&plan, 1));
      memset(scratch, 0, dq_conv_scratch_bytes(&plan, 1));
      dq_conv_f32_pack(&plan, w, NULL, packed);
      dq_conv_f32_run(&plan, packed, x, addend, ends ? ended : plain, scratch, NULL);
      free(packed), free(scratch);
    }
    for (int i = 0; i < OUTPUTS; i++) {
      float sigmoid;
      dq_sigmoid_f32(0, &plain[i], &sigmoid, 1);
      float sum = plain[i] * sigmoid + addend[i];
      assert_true(ended[i] == (sum < 0 ? 0.25f * sum : sum));
    }
  }
}

// ---- Winograd's filtering of bytes ----
// A convolution of 116 channels whose weights add up to `total`, by the sign; with inputs of 255 an output in the
// middle is 255 * total. Returns the size of the tiles, 0 where another algorithm is taken; sums are those of plain
// loops.
static int tiles_of_weights(int total) {
  enum { CHANNELS = 116, SIDE = 16, WEIGHTS = CHANNELS * 9, INPUTS = CHANNELS * SIDE * SIDE };
  static int8_t w[WEIGHTS];
  static uint8_t x[INPUTS];
  int left = total;
  for (int i = 0; i < WEIGHTS; i++) {
    w[i] = (int8_t)(left > 127 ? 127 : left < -127 ? -127 : left);
    left -= w[i];
  }
  assert_int_equal(left, 0);
  memset(x, 255, sizeof x);
  dq_conv_int8_parameters q = {.shape = three_by_three(CHANNELS, 1, SIDE), .weight_signed = true, .weights = w};
  q.shape.algorithm = DQ_CONV_winograd;
  dq_conv_plan plan;
  assert_int_equal(dq_conv_int8_plan(&q, 0, &plan, NULL), DQ_OK);
  int32_t sums[SIDE * SIDE], expected[SIDE * SIDE];
  void *packed = room(dq_conv_packed_bytes(&plan)), *scratch = room(dq_conv_scratch_bytes(&plan, 1));
  memset(scratch, 0, dq_conv_scratch_bytes(&plan, 1));
  dq_conv_int8_pack(&plan, w, packed);
  dq_conv_int8_run(&plan, packed, x, sums, NULL, scratch, NULL);
  dq_conv_int8_reference(&q, w, x, expected, NULL);
  assert_int_equal(expected[SIDE * SIDE / 2 + SIDE / 2], 255 * total);
  assert_memory_equal(sums, expected, sizeof sums);
  free(packed), free(scratch);
  return strcmp(dq_conv_algorithm_name(&plan), "winograd") ? 0 : plan.winograd.size;
}

// 255 * 131586 = 33554430 is the largest multiple of 255 below 2^25: times 64 it fits int32, and one weight more does
// not.
static void bytes_in_large_tiles_up_to_where_they_fit(void **state) {
  (void)state;
  assert_int_equal(tiles_of_weights(131586), 4);
  assert_int_equal(tiles_of_weights(131587), 2);
  assert_int_equal(tiles_of_weights(-131586), 4);
  assert_int_equal(tiles_of_weights(-131587), 2);
}

// Weights that are not known count as the largest: of int8 128 * 255 * 9 * channels <= 2^25 - 1 up to 114 channels.
static void bytes_without_weights_count_as_the_largest(void **state) {
  (void)state;
  for (int64_t channels = 114; channels <= 115; channels++) {
    dq_conv_int8_parameters q = {.shape = three_by_three(channels, 14, 64), .weight_signed = true};
    q.shape.algorithm = DQ_CONV_winograd;
    dq_conv_plan plan;
    assert_int_equal(dq_conv_int8_plan(&q, 0, &plan, NULL), DQ_OK);
    assert_string_equal(dq_conv_algorithm_name(&plan), "winograd");
    assert_int_equal(plan.winograd.size, channels == 114 ? 4 : 2);
  }
}

// A weight takes a byte where its zero point is the natural one, and two where it is not; the room of a thread stays
// below that of second-level caches, whatever the channels and the plane.
static void bytes_take_little_memory(void **state) {
  (void)state;
  enum { SPARE = 4096, ROOM = 1 << 20 };
  const int64_t shapes[][3] = {{16, 64, 56}, {64, 512, 14}, {128, 128, 56}, {32, 32, 112}};
  for (int i = 0; i < 4; i++)
    for (int32_t zero = 0; zero < 2; zero++) {
      dq_conv_int8_parameters q = {.shape = three_by_three(shapes[i][0], shapes[i][1], shapes[i][2])};
      q.weight_signed = true, q.weight_zero_points = &zero, q.weight_zero_point_count = 1;
      q.shape.algorithm = DQ_CONV_winograd;
      dq_conv_plan plan;
      assert_int_equal(dq_conv_int8_plan(&q, 0, &plan, NULL), DQ_OK);
      assert_string_equal(dq_conv_algorithm_name(&plan), "winograd");
      size_t weights = (size_t)(9 * shapes[i][0] * shapes[i][1]) * (zero ? 2 : 1);
      assert_in_range(dq_conv_packed_bytes(&plan), weights, weights + SPARE);
      assert_in_range(dq_conv_scratch_bytes(&plan, 1), 1, ROOM);
    }
}

// ---- Bytes, output channels side by side ----
static const char *name_of_bytes(dq_conv_parameters shape, unsigned cpu) {
  dq_conv_plan plan;
  dq_conv_int8_parameters q = {.shape = shape, .weight_signed = true};
  assert_int_equal(dq_conv_int8_plan(&q, cpu, &plan, NULL), DQ_OK);
  return dq_conv_algorithm_name(&plan);
}

// A plane of 7 x 7 fills 49 of the 64 columns of a tile. A 1x1 convolution of few channels turns as many bytes as it
// multiplies words; rows of three outputs are too short for runs.
static void bytes_by_pixels_where_columns_would_be_empty(void **state) {
  (void)state;
  const unsigned cpu = DQ_CPU_AVX2 | DQ_CPU_AVX512 | DQ_CPU_VNNI;
  if (!dq_kernel_find(DQ_OPERATION_u8s8_pixels, cpu)) {
    print_message("skipped: this machine has no VNNI\n");
    skip();
  }
  dq_conv_parameters pointwise = three_by_three(16, 96, 56);
  pointwise.kernel_height = pointwise.kernel_width = 1;
  pointwise.pad_top = pointwise.pad_left = pointwise.pad_bottom = pointwise.pad_right = 0;
  assert_string_equal(name_of_bytes(three_by_three(512, 512, 7), cpu), "pixels");
  assert_string_equal(name_of_bytes(pointwise, cpu), "tiles");
  assert_string_equal(name_of_bytes(three_by_three(512, 512, 3), cpu), "tiles");
  assert_string_equal(name_of_bytes(three_by_three(512, 512, 7), DQ_CPU_AVX2 | DQ_CPU_AVX512), "winograd");
  assert_string_not_equal(name_of_bytes(three_by_three(512, 512, 7), cpu | DQ_CPU_AMX), "pixels");
}

// ---- Depthwise on bytes ----
// One channel of out_width columns and three rows, every input under a window: the sums against the plain loops.
static void same_sums(dq_conv_int8_parameters q) {
  dq_conv_parameters *p = &q.shape;
  uint8_t x[1024], w[64];
  int32_t sums[64], expected[64];
  p->in_width = (p->out_width - 1) * p->stride_width + (p->kernel_width - 1) * p->dilation_width + 1;
  p->in_height = (p->out_height - 1) * p->stride_height + (p->kernel_height - 1) * p->dilation_height + 1;
  assert_true(p->in_width * p->in_height <= 1024 && p->kernel_width * p->kernel_height <= 64);
  for (int i = 0; i < 1024; i++) x[i] = (uint8_t)(i * 37 + i / 256);
  for (int i = 0; i < 64; i++) w[i] = (uint8_t)(i * 11 + 1);
  dq_conv_plan plan;
  assert_int_equal(dq_conv_int8_plan(&q, dq_cpu_detect(), &plan, NULL), DQ_OK);
  void *packed = room(dq_conv_packed_bytes(&plan)), *scratch = room(dq_conv_scratch_bytes(&plan, 1));
  memset(scratch, 0, dq_conv_scratch_bytes(&plan, 1));
  dq_conv_int8_pack(&plan, w, packed);
  dq_conv_int8_run(&plan, packed, x, sums, NULL, scratch, NULL);
  dq_conv_int8_reference(&q, w, x, expected, NULL);
  assert_memory_equal(sums, expected, (size_t)(p->out_width * p->out_height) * 4);
  free(packed), free(scratch);
}

// Whatever the distances between taps, columns and rows: where two rows of outputs fit one vector, and where the
// second lies too far from the first for that.
static void depthwise_bytes_at_all_distances(void **state) {
  (void)state;
  dq_conv_parameters shape = three_by_three(1, 1, 8);
  shape.algorithm = DQ_CONV_slide;
  shape.pad_top = shape.pad_left = shape.pad_bottom = shape.pad_right = 0;
  shape.out_height = 3, shape.kernel_height = 2;
  for (int64_t choice = 0; choice < 2 * 4 * 4 * 3 * 16; choice++) {
    shape.out_width = choice % 2 ? 8 : 5;
    shape.stride_height = choice / 2 % 4 + 1;
    shape.stride_width = choice / 8 % 4 + 1;
    shape.dilation_width = choice / 32 % 3 + 1;
    shape.kernel_width = choice / 96 % 16 + 1;
    same_sums((dq_conv_int8_parameters){.shape = shape, .weight_signed = true, .input_zero_point = 7});
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_auto_takes_other_bits),
      cmocka_unit_test(bytes_take_the_fastest_of_all),
      cmocka_unit_test(bands_of_large_planes_are_bounded),
      cmocka_unit_test(what_does_not_fit_counts_as_auto),
      cmocka_unit_test(large_tiles_up_to_where_they_are_exact_enough),
      cmocka_unit_test(errors_stay_below_the_bound),
      cmocka_unit_test(ones),
      cmocka_unit_test(tails_as_steps_of_their_own),
      cmocka_unit_test(bytes_in_large_tiles_up_to_where_they_fit),
      cmocka_unit_test(bytes_without_weights_count_as_the_largest),
      cmocka_unit_test(bytes_take_little_memory),
      cmocka_unit_test(bytes_by_pixels_where_columns_would_be_empty),
      cmocka_unit_test(depthwise_bytes_at_all_distances),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
