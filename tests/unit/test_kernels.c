// Kernels on cases worked by hand, and what their checks refuse. The comparison of every
// instruction set with the references is dqcheck's.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/kernels/table/kernel_table.h"
#include "lib/base/half.h"
#include "lib/kernels/array/array.h"
#include "lib/kernels/conv/conv.h"
#include "lib/kernels/gemm/gemm_api.h"
#include "tests/unit/square_convolution.h"

// 2x2 kernel over 1x3x3, no padding: every output is the sum of a window weighted 1 2 / 3 4.
static dq_conv_parameters small_conv(void) {
  return (dq_conv_parameters){.batch = 1,
                              .groups = 1,
                              .in_channels = 1,
                              .out_channels = 1,
                              .in_height = 3,
                              .in_width = 3,
                              .kernel_height = 2,
                              .kernel_width = 2,
                              .stride_height = 1,
                              .stride_width = 1,
                              .dilation_height = 1,
                              .dilation_width = 1,
                              .out_height = 2,
                              .out_width = 2};
}

static void *room(size_t bytes) {
  void *pointer = aligned_alloc(DQ_KERNEL_ALIGNMENT, bytes);
  assert_non_null(pointer);
  return pointer;
}

static void run_f32(const dq_conv_parameters *p, unsigned cpu, const float *weights, const float *bias,
                    const float *input, float *output) {
  dq_conv_plan plan;
  assert_int_equal(dq_conv_f32_plan(p, cpu, &plan, NULL), DQ_OK);
  void *packed = room(dq_conv_packed_bytes(&plan)), *scratch = room(dq_conv_scratch_bytes(&plan, 1));
  dq_conv_f32_pack(&plan, weights, bias, packed);
  dq_conv_f32_run(&plan, packed, input, NULL, output, scratch, NULL);
  free(packed);
  free(scratch);
}

static void convolution_by_hand(void **state) {
  (void)state;
  const float weights[] = {1, 2, 3, 4}, input[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, bias[] = {-40};
  float output[4];
  dq_conv_parameters p = small_conv();
  for (int native = 0; native < 2; native++) {
    unsigned cpu = native ? dq_cpu_detect() : 0;
    run_f32(&p, cpu, weights, NULL, input, output);
    // 1 + 4 + 12 + 20, 2 + 6 + 15 + 24, 4 + 10 + 21 + 32, 5 + 12 + 24 + 36
    assert_true(output[0] == 37 && output[1] == 47 && output[2] == 67 && output[3] == 77);
    p.activation.kind = DQ_ACTIVATION_RELU;
    run_f32(&p, cpu, weights, bias, input, output);
    assert_true(output[0] == 0 && output[1] == 7 && output[2] == 27 && output[3] == 37);
    p.activation.kind = DQ_ACTIVATION_NONE;
  }
}

// A convolution to one pixel whose inputs are 1, with float16 sums and a bias: over channels with a kernel of 1x1, or
// depthwise with one of size x size.
static float half_sum_of(int channels, int size, const int *at, const float *weights, int count, float bias,
                         unsigned cpu) {
  dq_conv_parameters p = square_convolution(channels, size);
  uint16_t filter[200] = {0}, input[200], output, offset = dq_float_to_half(bias);
  channels *= size * size;
  for (int i = 0; i < channels; i++) input[i] = dq_float_to_half(1);
  for (int i = 0; i < count; i++) filter[at[i]] = dq_float_to_half(weights[i]);
  dq_conv_plan plan;
  assert_int_equal(dq_conv_f16_plan(&p, true, cpu, &plan, NULL), DQ_OK);
  void *packed = aligned_alloc(64, dq_conv_packed_bytes(&plan)),
       *scratch = aligned_alloc(64, dq_conv_scratch_bytes(&plan, 1));
  dq_conv_f16_pack(&plan, filter, &offset, packed);
  dq_conv_f16_run(&plan, packed, input, &output, scratch, NULL);
  free(packed), free(scratch);
  return dq_half_to_float(output);
}
static float half_sum(int channels, const int *at, const float *weights, int count, unsigned cpu) {
  return half_sum_of(channels, 1, at, weights, count, 0, cpu);
}

static void float16_sums_by_hand(void **state) {
  (void)state;
  const float weights[] = {2048, 1, 1};
  for (int native = 0; native < 2; native++) {
    unsigned cpu = native ? dq_cpu_detect() : 0;
    assert_true(half_sum(5, (int[]){0, 2, 4}, weights, 3, cpu) == 2048); // 2049 is a tie, twice
    assert_true(half_sum(4, (int[]){0, 1, 3}, weights, 3, cpu) == 2050);
    assert_true(half_sum(131, (int[]){0, 128, 130}, weights, 3, cpu) == 2050);
    assert_true(half_sum(131, (int[]){0, 124, 126}, weights, 3, cpu) == 2048);
    assert_true(isinf(half_sum(3, (int[]){0, 2}, (float[]){65504, 65504}, 2, cpu)));
    assert_true(half_sum(131, (int[]){0, 2, 130}, (float[]){40000, 25000, -30000}, 3, cpu) == 35008); // 65000 fits
    // Depthwise: one chain over the taps, then the bias.
    assert_true(half_sum_of(1, 3, (int[]){0, 3, 8}, weights, 3, 0, cpu) == 2048);
    assert_true(half_sum_of(1, 3, (int[]){5, 6, 7}, (float[]){1, 1, 2048}, 3, 0, cpu) == 2050);
    assert_true(half_sum_of(1, 5, (int[]){0, 24}, weights, 2, 1, cpu) == 2048);
    assert_true(half_sum_of(1, 5, (int[]){1, 2, 3}, (float[]){40000, 40000, -40000}, 3, 0, cpu) == INFINITY);
  }
}

static void padding_is_the_zero_point(void **state) {
  (void)state;
  // Input equal to its zero point everywhere: all sums are 0, at the borders too.
  dq_conv_int8_parameters q = {.shape = small_conv(), .weight_signed = true, .input_zero_point = 7};
  q.shape.pad_top = q.shape.pad_left = q.shape.pad_bottom = q.shape.pad_right = 1;
  q.shape.out_height = q.shape.out_width = 4;
  const int8_t weights[] = {1, -128, 127, 5};
  uint8_t input[9];
  memset(input, 7, sizeof input);
  for (int native = 0; native < 2; native++) {
    dq_conv_plan plan;
    int32_t output[16];
    assert_int_equal(dq_conv_int8_plan(&q, native ? dq_cpu_detect() : 0, &plan, NULL), DQ_OK);
    void *packed = room(dq_conv_packed_bytes(&plan)), *scratch = room(dq_conv_scratch_bytes(&plan, 1));
    dq_conv_int8_pack(&plan, weights, packed);
    dq_conv_int8_run(&plan, packed, input, output, NULL, scratch, NULL);
    for (int i = 0; i < 16; i++) assert_int_equal(output[i], 0);
    free(packed);
    free(scratch);
  }
}

static void requantization_by_hand(void **state) {
  (void)state;
  // Halves go to the even neighbour before the zero point is added; ends saturate; NaN gives low.
  const int32_t sums[] = {1, 3, 5, -1, -3, 1000, -1000, 4};
  const uint8_t expected[] = {10, 12, 12, 10, 8, 255, 0, 12};
  float half = 0.5f, nan = NAN;
  uint8_t output[8];
  dq_requantization r = {&half, 1, NULL, 10, 0, 255, false};
  for (int native = 0; native < 2; native++) {
    dq_requantize(&r, native ? dq_cpu_detect() : 0, true, 1, 8, sums, 8, output, 8);
    assert_memory_equal(output, expected, 8);
  }
  r.multipliers = &nan;
  r.low = 3;
  dq_requantize(&r, dq_cpu_detect(), true, 1, 8, sums, 8, output, 8);
  for (int i = 0; i < 8; i++) assert_int_equal(output[i], 3);
}

static void quantization_by_hand(void **state) {
  (void)state;
  const float input[] = {0.25f, 0.75f, -0.25f, 1e30f, -INFINITY, NAN, 0.0f, 1.0f};
  const int8_t expected[] = {0, 2, 0, 127, -128, -128, 0, 2};
  int8_t output[8];
  dq_quantize_s8(dq_cpu_detect(), input, 0.5f, 0, output, 8);
  assert_memory_equal(output, expected, 8);
}

static void product_by_hand(void **state) {
  (void)state;
  // [1 2; 3 4] times the transpose of [5 6; 7 8], doubled, plus a row.
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, row[] = {100, 200};
  float out[4];
  dq_gemm_parameters p = {.rows = 2,
                          .columns = 2,
                          .depth = 2,
                          .transpose_b = true,
                          .a_stride = 2,
                          .b_stride = 2,
                          .out_stride = 2,
                          .alpha = 2,
                          .beta = 1,
                          .addend = row,
                          .addend_column_stride = 1};
  assert_int_equal(dq_gemm_check(&p, NULL), DQ_OK);
  for (int native = 0; native < 2; native++) {
    unsigned cpu = native ? dq_cpu_detect() : 0;
    void *scratch = room(dq_gemm_f32_scratch_bytes(&p, cpu, 1));
    dq_gemm_f32(&p, cpu, a, b, NULL, out, scratch, NULL);
    assert_true(out[0] == 134 && out[1] == 246 && out[2] == 178 && out[3] == 306);
    free(scratch);
  }
}

static size_t int8_scratch(int64_t depth, int64_t columns, unsigned cpu) {
  dq_gemm_int8_parameters p = {
      .rows = 64, .columns = columns, .depth = depth, .a_stride = depth, .b_stride = columns, .out_stride = columns};
  return dq_gemm_int8_scratch_bytes(&p, cpu, 1);
}

// Of B scratch holds 192 KiB, or one panel of columns where that is more; sums and products are little at such depths.
static void scratch_of_products_is_bounded(void **state) {
  (void)state;
  for (int native = 0; native < 2; native++) {
    unsigned cpu = native ? dq_cpu_detect() : 0;
    assert_int_equal(int8_scratch(1000000, 4096, cpu), int8_scratch(1000000, 1, cpu));
    assert_in_range(int8_scratch(1024, 1000000, cpu), 96 << 10, 512 << 10);
    dq_gemm_parameters f = {.rows = 64, .columns = 100000, .depth = 100000};
    f.a_stride = f.b_stride = f.out_stride = 100000;
    assert_in_range(dq_gemm_f32_scratch_bytes(&f, cpu, 1), 96 << 10, 512 << 10);
    assert_int_equal(dq_gemm_f32_scratch_bytes(&f, cpu, 3), 3 * dq_gemm_f32_scratch_bytes(&f, cpu, 1));
  }
}

static void refusals(void **state) {
  (void)state;
  dq_error error;
  dq_conv_parameters p = small_conv();
  p.stride_width = 0;
  assert_int_equal(dq_conv_check(&p, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "convolution width stride is 0, expected 1 to 536870911");
  p = small_conv();
  p.kernel_height = 4;
  assert_int_equal(dq_conv_check(&p, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "convolution kernel spans 4, the padded input height is 3");
  p = small_conv();
  p.out_width = 3;
  assert_int_equal(dq_conv_check(&p, &error), DQ_BAD_INPUT);
  p = small_conv();
  p.groups = 2;
  assert_int_equal(dq_conv_check(&p, &error), DQ_BAD_INPUT);
  p = small_conv();
  p.batch = p.in_channels = p.out_channels = 1 << 28;
  p.in_height = p.in_width = 1 << 28;
  assert_int_equal(dq_conv_check(&p, &error), DQ_BAD_INPUT);
  dq_conv_int8_parameters q = {.shape = small_conv(), .input_zero_point = -1};
  dq_conv_plan plan;
  assert_int_equal(dq_conv_int8_plan(&q, 0, &plan, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "zero point of the input is -1, expected 0 to 255");
  dq_gemm_parameters g = {.rows = 2, .columns = 2, .depth = 3, .a_stride = 2, .b_stride = 2, .out_stride = 2};
  assert_int_equal(dq_gemm_check(&g, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "matrix A has rows of 3 elements but a stride of 2");
  const int64_t most = (INT64_C(1) << 53) - 1; // elements of a matrix
  g = (dq_gemm_parameters){.rows = most, .columns = 1, .depth = 1, .a_stride = 1, .b_stride = 1, .out_stride = 1};
  assert_int_equal(dq_gemm_check(&g, &error), DQ_OK);
  g.rows++;
  assert_int_equal(dq_gemm_check(&g, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "matrix product sizes overflow (A is 9007199254740992x1)");
  g.rows = INT64_C(1) << 33, g.a_stride = INT64_C(1) << 33; // elements that fit no int64_t
  assert_int_equal(dq_gemm_check(&g, &error), DQ_BAD_INPUT);
}

// Of the kernels of an operation that a processor can run, the last row of the table is found.
static void last_row_that_fits(void **state) {
  (void)state;
  for (unsigned cpu = 0; cpu < 1u << DQ_CPU_FEATURES; cpu++)
    for (int row = 0; row < dq_kernel_count(); row++) {
      const int operation = dq_kernel_row(row)->operation;
      const dq_kernel *last = NULL;
      for (int i = 0; i < dq_kernel_count(); i++) {
        const dq_kernel *kernel = dq_kernel_row(i);
        const unsigned needed = dq_cpu_with_implied(kernel->feature);
        if (kernel->operation == operation && (cpu & needed) == needed) last = kernel;
      }
      assert_ptr_equal(dq_kernel_find(operation, cpu), last);
    }
}

// The table of LeakyRelu 0.1359 from scale 1, zero point 128 to scale 1/2, zero point 36: 2 (x - 128) + 36, clipped,
// above, 0.2718 (x - 128) + 36 below.
static void leaky_table_as_two_lines(void **state) {
  (void)state;
  enum { BYTES = 256 };
  unsigned cpu = dq_cpu_detect() & DQ_CPU_AVX2;
  uint8_t table[BYTES], found[BYTES];
  for (int x = 0; x < BYTES; x++) {
    double y = x < 128 ? 0.2718 * (x - 128) + 36 : 2.0 * (x - 128) + 36;
    found[x] = (uint8_t)x;
    table[x] = (uint8_t)(y > 255 ? 255 : nearbyint(y));
  }
  dq_ramps ramps;
  if (!dq_ramps_find(cpu, table, &ramps)) {
    assert_false(cpu & DQ_CPU_AVX2); // plain loops look up as quickly
    skip();
  }
  dq_ramps_of(cpu)(&ramps, found, found, BYTES);
  assert_memory_equal(found, table, BYTES);
  assert_int_equal(found[0], 1); // 36 - 34.79
  assert_int_equal(found[130], 40);
  assert_int_equal(found[255], 255);
  table[200] ^= 1; // no line passes this entry and its neighbours
  assert_false(dq_ramps_find(cpu, table, &ramps));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(last_row_that_fits),
      cmocka_unit_test(convolution_by_hand),
      cmocka_unit_test(padding_is_the_zero_point),
      cmocka_unit_test(requantization_by_hand),
      cmocka_unit_test(quantization_by_hand),
      cmocka_unit_test(product_by_hand),
      cmocka_unit_test(float16_sums_by_hand),
      cmocka_unit_test(refusals),
      cmocka_unit_test(scratch_of_products_is_bounded),
      cmocka_unit_test(leaky_table_as_two_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
