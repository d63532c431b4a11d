// The overflow audit: an example by hand, proofs that hold and are attained.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/base/sizes.h"
#include "lib/audit/audit.h"
#include "lib/kernels/audit/audit_state.h"
#include "lib/kernels/audit/conv_audit.h"
#include "lib/kernels/table/kernel_table.h"
#include "tests/unit/square_convolution.h"

static const unsigned cpus[] = {0, DQ_CPU_AVX2, DQ_CPU_AVX2 | DQ_CPU_AVX512, ~0u};
enum { CPUS = sizeof cpus / sizeof *cpus };

static void run_audit(const dq_conv_int8_parameters *q, const void *weights, const int32_t *bias, bool raw,
                      unsigned cpu, const void *input, dq_audit_counts *counts) {
  dq_arena *arena = dq_arena_new(0);
  dq_audit *made;
  assert_int_equal(dq_audit_new(&made, q, weights, bias, raw, cpu & dq_cpu_detect(), arena, NULL), DQ_OK);
  void *scratch = aligned_alloc(64, dq_round_up(dq_audit_scratch_bytes(made, 1), 64));
  dq_audit_run(made, input, counts, scratch, NULL);
  free(scratch);
  dq_arena_free(arena);
}

// Two windows of two planes by hand, on every instruction set present: the planes alone are read and counted.
static void windows_of_two_planes(void **state) {
  (void)state;
  enum { PLANES = 2, WINDOWS = 2, BOUNDS = 3, STRIDE = 32, VECTOR = DQ_AUDIT_VECTOR, UNTOUCHED = 77 };
  _Alignas(64) uint8_t planes[(PLANES + 1) * VECTOR], masks[DQ_AUDIT_WINDOWS * VECTOR] = {0};
  _Alignas(64) uint8_t bounds[STRIDE] = {1, 50, 200};
  for (int i = 0; i < (PLANES + 1) * VECTOR; i++) planes[i] = (uint8_t)(i < VECTOR ? 100 : 200);
  memset(masks, 1, VECTOR);     // the first window is the whole plane,
  memset(masks + VECTOR, 1, 3); // the second its first three numbers
  static const uint32_t expected[PLANES][WINDOWS][BOUNDS] = {{{VECTOR, VECTOR, 0}, {3, 3, 0}},
                                                             {{VECTOR, VECTOR, VECTOR}, {3, 3, 3}}};
  for (int i = 0; i < CPUS; i++) {
    _Alignas(64) uint32_t counts[(PLANES + 1) * WINDOWS * STRIDE];
    for (size_t k = 0; k < DQ_COUNT(counts); k++) counts[k] = UNTOUCHED;
    const dq_audit_windows windows = {planes, masks, PLANES, VECTOR, 1, WINDOWS, bounds, BOUNDS, STRIDE, counts};
    DQ_KERNEL_FUNCTION(audit_windows, cpus[i] & dq_cpu_detect())(&windows);
    for (int p = 0; p < PLANES; p++)
      for (int w = 0; w < WINDOWS; w++)
        assert_memory_equal(counts + (p * WINDOWS + w) * STRIDE, expected[p][w], sizeof expected[p][w]);
    for (size_t k = PLANES * WINDOWS * STRIDE; k < DQ_COUNT(counts); k++) assert_int_equal(counts[k], UNTOUCHED);
  }
}

// Counters of bytes take what is more than they hold to wider ones: planes of so many vectors, all numbers of which
// reach the first bound, and the last one the second.
static void counters_that_are_full(void **state) {
  (void)state;
  static const int64_t lengths[] = {1, 126, 127, 128, 129, 254, 255, 256, 257, 382, 509, 510, 511, 600};
  enum { MOST = 600, VECTOR = DQ_AUDIT_VECTOR, STRIDE = 32, WINDOWS = DQ_AUDIT_WINDOWS };
  uint8_t *numbers = aligned_alloc(64, MOST * VECTOR), *masks = aligned_alloc(64, MOST * WINDOWS * VECTOR);
  assert_true(numbers && masks);
  memset(numbers, 200, MOST * VECTOR);
  memset(masks, 1, MOST * WINDOWS * VECTOR);
  _Alignas(64) uint8_t bounds[STRIDE] = {200, 201};
  for (size_t i = 0; i < CPUS * DQ_COUNT(lengths); i++) {
    _Alignas(64) uint32_t reached[STRIDE], counts[WINDOWS * STRIDE];
    const unsigned cpu = cpus[i % CPUS] & dq_cpu_detect();
    const int64_t vectors = lengths[i / CPUS];
    numbers[vectors * VECTOR - 1] = 201;
    DQ_KERNEL_FUNCTION(audit_reached, cpu)(&(dq_audit_reached){numbers, vectors, bounds, 2, reached});
    DQ_KERNEL_FUNCTION(audit_windows, cpu)
    (&(dq_audit_windows){numbers, masks, 1, MOST * VECTOR, vectors, WINDOWS, bounds, 2, STRIDE, counts});
    numbers[vectors * VECTOR - 1] = 200;
    assert_true(reached[0] == vectors * VECTOR && reached[1] == 1);
    for (int w = 0; w < WINDOWS; w++)
      assert_true(counts[w * STRIDE] == vectors * VECTOR && counts[w * STRIDE + 1] == 1);
  }
  free(numbers), free(masks);
}

// Counts by every instruction set present, which must be those of the definitions.
static dq_audit_counts audit(const dq_conv_int8_parameters *q, const void *weights, const int32_t *bias,
                             const void *input) {
  dq_audit_counts expected = DQ_AUDIT_NOTHING;
  dq_audit_reference(q, weights, bias, true, input, &expected);
  for (int i = 0; i < CPUS; i++) {
    dq_audit_counts found = DQ_AUDIT_NOTHING;
    run_audit(q, weights, bias, true, cpus[i], input, &found);
    assert_memory_equal(&expected, &found, sizeof found);
  }
  return expected;
}

// Sums of -1000 to 24500 with a bias that just fits, and one that does not, to either side. The sums alone always do.
static void bias_leaves_int32(void **state) {
  (void)state;
  const int8_t weight = 100;
  const int32_t biases[] = {INT32_MAX - 24500, INT32_MIN + 1000, INT32_MAX - 24499, INT32_MIN + 999};
  dq_conv_int8_parameters q = {.shape = square_convolution(1, 1), .weight_signed = true, .input_zero_point = 10};
  for (int i = 0; i < 4; i++) {
    dq_audit_proof proof;
    dq_audit_prove(&q, &weight, &biases[i], &proof);
    assert_true(proof.lowest == -1000 && proof.highest == 24500);
    dq_audit_layer layer = {.channels = 1, .proofs = &proof, .worst = proof, .can32 = dq_audit_can_leave_int32(&proof)};
    int64_t pictures;
    for (int channel = -1; channel < 1; channel++)
      assert_int_equal(dq_audit_verdict32(&layer, channel, &pictures), i < 2 ? DQ_AUDIT_CANNOT : DQ_AUDIT_DID_NOT);
    assert_int_equal(dq_audit_verdict16(&layer, -1, &pictures), DQ_AUDIT_CANNOT); // of sums without bias
  }
}

// The ends of int32 themselves are not left, without a bias, with one of either sign and with one that only helps.
static void ends_of_int32(void **state) {
  (void)state;
  static const struct {
    int64_t lowest, highest, bias;
    bool leaves;
  } cases[] = {{INT32_MIN, INT32_MAX, 0, false},
               {INT32_MIN, (int64_t)INT32_MAX + 1, 0, true},
               {(int64_t)INT32_MIN - 1, INT32_MAX, 0, true},
               {INT32_MIN, INT32_MAX - 1, 1, false},
               {INT32_MIN, INT32_MAX, 1, true},
               {INT32_MIN + 1, INT32_MAX, -1, false},
               {INT32_MIN, INT32_MAX, -1, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const dq_audit_proof proof = {.lowest = cases[i].lowest, .highest = cases[i].highest, .bias = cases[i].bias};
    assert_int_equal(dq_audit_can_leave_int32(&proof), cases[i].leaves);
  }
}

// Each channel is judged by its own proof and its own pictures, the layer by the worst of them and by those of all.
static void verdicts_by_channel(void **state) {
  (void)state;
  dq_audit_proof proofs[] = {{.lowest = -32768, .highest = 32767}, // stays within all
                             {.highest = INT64_C(1) << 31, .pair = true},
                             {.lowest = -32769}}; // leaves int16 alone
  dq_audit_channel seen[] = {
      {.pictures16 = 0}, {.pictures16 = 4, .pictures32 = 2, .pictures_pair = 1}, {.pictures16 = 3}};
  dq_audit_layer layer = {.channels = 3,
                          .proofs = proofs,
                          .can16 = 2,
                          .can32 = 1,
                          .can_pair = 1,
                          .can_pair_any_order = 1,
                          .worst = {.lowest = -32769, .highest = INT64_C(1) << 31, .pair = true}};
  const dq_audit_verdict no = DQ_AUDIT_CANNOT, can = DQ_AUDIT_DID_NOT, did = DQ_AUDIT_OVERFLOWED;
  const struct {
    dq_audit_verdict (*of)(const dq_audit_layer *layer, int64_t channel, int64_t *pictures);
    dq_audit_verdict proven[4], found[4]; // of the layer, then of the channels
    int64_t pictures[4];
  } cases[] = {{dq_audit_verdict16, {can, no, can, can}, {did, no, did, did}, {7, 0, 4, 3}},
               {dq_audit_verdict32, {can, no, can, no}, {did, no, did, no}, {2, 0, 2, 0}},
               {dq_audit_verdict_pair, {can, no, can, no}, {did, no, did, no}, {1, 0, 1, 0}}};
  for (int data = 0; data < 2; data++) {
    if (data)
      layer.seen = seen, layer.shares[DQ_AUDIT_RUNNING16].pictures = 7, layer.pictures32 = 2,
      layer.shares[DQ_AUDIT_PAIR].pictures = 1;
    for (int i = 0; i < 3; i++)
      for (int64_t channel = -1; channel < 3; channel++) {
        int64_t pictures = -1;
        assert_int_equal(cases[i].of(&layer, channel, &pictures),
                         (data ? cases[i].found : cases[i].proven)[channel + 1]);
        assert_int_equal(pictures, data ? cases[i].pictures[channel + 1] : 0);
      }
  }
}

// docs/NUMERICS.md, "Overflow audit": the same numbers.
static void example_by_hand(void **state) {
  (void)state;
  const uint8_t input[] = {250, 200, 210, 10};
  const int8_t weights[] = {100, 90, -100, 127};
  const int32_t bias = 15000;
  dq_conv_int8_parameters q = {.shape = square_convolution(1, 2), .weight_signed = true, .input_zero_point = 10};
  dq_audit_counts counts = audit(&q, weights, &bias, input);
  assert_int_equal(counts.product, 3);
  assert_int_equal(counts.product_raw, 4);
  assert_int_equal(counts.sum16, 0);
  assert_int_equal(counts.running16, 1);
  assert_int_equal(counts.bias16, 1);
  assert_int_equal(counts.sum32 + counts.running32 + counts.bias32, 0);
  assert_int_equal(counts.pair, 1);
  assert_int_equal(counts.lowest, 21100);
  assert_int_equal(counts.highest, 21100);
  assert_int_equal(dq_audit_bits(21100, 21100), 16);
  dq_audit_proof proof;
  dq_audit_prove(&q, weights, &bias, &proof);
  assert_int_equal(proof.highest, 78665);
  assert_int_equal(proof.lowest, -27670);
  assert_int_equal(dq_audit_bits(proof.lowest, proof.highest), 18);
  assert_true(proof.pair && proof.pair_any_order);
}

static void order_decides_pairs(void **state) {
  (void)state;
  const int8_t apart[] = {100, -5, 90, -6}, beside[] = {100, 28, -100, -29};
  dq_conv_int8_parameters q = {.shape = square_convolution(4, 1), .weight_signed = true};
  dq_audit_proof proof;
  dq_audit_prove(&q, apart, NULL, &proof);
  assert_true(!proof.pair && proof.pair_any_order);
  dq_audit_prove(&q, beside, NULL, &proof); // 128 * 255 fits, -129 * 255 does not
  assert_true(proof.pair);
  const int8_t last_that_fit[] = {100, 28, -100, -28};
  dq_audit_prove(&q, last_that_fit, NULL, &proof);
  assert_true(!proof.pair && !proof.pair_any_order);
}

// Saturating additions that clip 32003 above and as much below end as the exact ones do.
static void clipped_on_both_sides(void **state) {
  (void)state;
  const uint8_t input[] = {255, 255, 255, 255, 255, 3, 2, 0};
  const int8_t weights[] = {127, 127, -127, -127, -127, -127, -1, 0};
  dq_conv_int8_parameters q = {.shape = square_convolution(8, 1), .weight_signed = true};
  dq_audit_counts counts = audit(&q, weights, NULL, input);
  assert_int_equal(counts.lowest, INT16_MIN);
  assert_int_equal(counts.running16, 1);
  assert_int_equal(counts.sum16, 0);
  // The largest int16 is reached and never passed.
  const uint8_t exact[] = {255, 129, 1, 1, 0, 0, 0, 0};
  const int8_t reaching[] = {127, 2, 1, 123, 0, 0, 0, 0};
  counts = audit(&q, reaching, NULL, exact);
  assert_int_equal(counts.highest, INT16_MAX);
  assert_int_equal(counts.running16, 0);
}

// Sums that leave int16 within 32 taps and come back, at their end only, or come near: 8 channels of 64 taps, and the
// same with inputs on both sides of their zero point.
static void leave_and_come_back(void **state) {
  (void)state;
  enum { CHANNELS = 8, DEPTH = 64 };
  static const int8_t begin[CHANNELS][DEPTH] = {
      {[0] = -50, [32] = 125, 125, -125, -60},      // -10000; 15000, 40000; 3000
      {[0] = -50, [32] = 125, -125, 125, -125},     // what rises alone leads to 40000, no prefix does
      {[0] = -100, -100, 100, 100},                 // -40000 within the first 32
      {[0] = 100, 100, [32] = -100, -100},          // 40000 at their end
      {[0] = 127, 36, [40] = 1},                    // 32600, 32800 at the end of all
      {[0] = -127, -36, [31] = -1, [63] = 1},       // -32800 at the end of the first 32
      {[0] = 127, 36, [33] = -127, -36, -127, -36}, // 32600 to -32600
  };
  const uint64_t running[CHANNELS] = {1, 0, 1, 1, 1, 1, 0, 0}, whole[CHANNELS] = {0, 0, 0, 0, 1, 0, 0, 0};
  for (int round = 0; round < 2; round++) {
    uint8_t input[DEPTH];
    for (int i = 0; i < DEPTH; i++) input[i] = (uint8_t)(round && i % 3 ? 10 * (i % 7) : 200);
    dq_conv_int8_parameters q = {
        .shape = square_convolution(DEPTH, 1), .weight_signed = true, .input_zero_point = 40 * round};
    q.shape.out_channels = CHANNELS;
    dq_audit_counts expected[CHANNELS];
    for (int o = 0; o < CHANNELS; o++) expected[o] = DQ_AUDIT_NOTHING;
    dq_audit_reference(&q, begin, NULL, false, input, expected);
    for (int o = 0; o < CHANNELS && !round; o++) {
      assert_int_equal(expected[o].running16, running[o]);
      assert_int_equal(expected[o].sum16, whole[o]);
    }
    for (int i = 0; i < CPUS; i++) {
      dq_audit_counts found[CHANNELS];
      for (int o = 0; o < CHANNELS; o++) found[o] = DQ_AUDIT_NOTHING;
      run_audit(&q, begin, NULL, false, cpus[i], input, found);
      assert_memory_equal(expected, found, sizeof found);
    }
  }
}

static void wide_sums(void **state) {
  (void)state;
  enum { DEPTH = 70000 };
  uint8_t *input = malloc(DEPTH);
  int8_t *weights = malloc(DEPTH);
  memset(input, 255, DEPTH);
  memset(weights, 127, DEPTH);
  dq_conv_int8_parameters q = {.shape = square_convolution(DEPTH, 1), .weight_signed = true};
  dq_audit_counts counts = audit(&q, weights, NULL, input);
  assert_int_equal(counts.highest, (int64_t)DEPTH * 255 * 127);
  assert_int_equal(counts.sum32, 1);
  assert_int_equal(counts.running32, 1);
  assert_int_equal(counts.pair, DEPTH / 2);
  free(input);
  free(weights);
}

// Random inputs stay within the proof, and the input chosen against the weights reaches it.
static void proofs_are_attained(void **state) {
  (void)state;
  enum { DEPTH = 37 };
  dq_random random = {.state = 7};
  for (int round = 0; round < 60; round++) {
    dq_conv_int8_parameters q = {
        .shape = square_convolution(DEPTH, 1), .weight_signed = true, .input_signed = round % 2};
    int low = q.input_signed ? -128 : 0;
    q.input_zero_point = low + (int)(dq_random_next(&random) % 256);
    int8_t weights[DEPTH];
    uint8_t input[DEPTH], most[DEPTH], least[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
      weights[i] = (int8_t)(dq_random_next(&random) % 256);
      input[i] = (uint8_t)(dq_random_next(&random) % 256);
      most[i] = (uint8_t)(weights[i] > 0 ? low + 255 : low);
      least[i] = (uint8_t)(weights[i] > 0 ? low : low + 255);
    }
    dq_audit_proof proof;
    dq_audit_prove(&q, weights, NULL, &proof);
    dq_audit_counts counts = audit(&q, weights, NULL, input);
    assert_true(counts.lowest >= proof.lowest && counts.highest <= proof.highest);
    assert_int_equal(audit(&q, weights, NULL, most).highest, proof.highest);
    assert_int_equal(audit(&q, weights, NULL, least).lowest, proof.lowest);
    bool saturates = audit(&q, weights, NULL, most).pair || audit(&q, weights, NULL, least).pair;
    assert_int_equal(saturates, proof.pair);
  }
}

// x in -10..245: four weights of 40 reach 39200, three 29400; with 33 four reach 32340 and five 40425.
static void longest_block_by_hand(void **state) {
  (void)state;
  int8_t weights[12];
  dq_conv_int8_parameters q = {.shape = square_convolution(12, 1), .weight_signed = true, .input_zero_point = 10};
  memset(weights, 40, sizeof weights);
  assert_int_equal(dq_audit_longest_block(&q, weights), 3);
  memset(weights, 33, sizeof weights);
  assert_int_equal(dq_audit_longest_block(&q, weights), 4);
  memset(weights, 1, sizeof weights);
  assert_int_equal(dq_audit_longest_block(&q, weights), 12);
  weights[5] = weights[6] = 127; // 62230: blocks of 6 part them, longer ones do not
  assert_int_equal(dq_audit_longest_block(&q, weights), 6);
}

static void bits(void **state) {
  (void)state;
  assert_int_equal(dq_audit_bits(0, 0), 1);
  assert_int_equal(dq_audit_bits(-1, 0), 1);
  assert_int_equal(dq_audit_bits(0, 1), 2);
  assert_int_equal(dq_audit_bits(-128, 127), 8);
  assert_int_equal(dq_audit_bits(-129, 0), 9);
  assert_int_equal(dq_audit_bits(0, 128), 9);
  assert_int_equal(dq_audit_bits(INT16_MIN, INT16_MAX), 16);
  assert_int_equal(dq_audit_bits(INT64_MIN, INT64_MAX), 64);
}

// The largest share of sums outside int16 and of saturated pairs in percent; what was not counted is no overflow.
static void worst_share(void **state) {
  (void)state;
  dq_audit_layer layers[2] = {{.channels = 1}, {.channels = 1}};
  dq_audit_report report = {.layers = layers};
  assert_true(dq_audit_worst_share(&report) == 0);
  report.layer_count = 2;
  assert_true(dq_audit_worst_share(&report) == 0); // proofs without pictures
  layers[0].shares[DQ_AUDIT_SUM16] = (dq_audit_share){.count = 0, .of = 50};
  layers[1].shares[DQ_AUDIT_PAIR] = (dq_audit_share){.count = 0, .of = 8};
  assert_true(dq_audit_worst_share(&report) == 0);
  layers[0].shares[DQ_AUDIT_SUM16].count = 1;
  layers[0].shares[DQ_AUDIT_SUM32] = (dq_audit_share){.count = 50, .of = 50}; // no part of the condition
  assert_true(dq_audit_worst_share(&report) == 2);
  layers[1].shares[DQ_AUDIT_PAIR].count = 2;
  assert_true(dq_audit_worst_share(&report) == 25);
}

// 217 * 151 = 32767 is the largest int16; -32768 = 256 * -128 the smallest.
static void sums_at_the_ends_of_int16(void **state) {
  (void)state;
  int64_t positive[] = {151, 0}, negative[] = {0, -128};
  const dq_audit audit = {.positive = positive, .negative = negative};
  dq_audit_run_state run = {.a = &audit, .highest = 217};
  assert_false(dq_audit_can_leave_int16(&run, 0));
  run.highest = 218;
  assert_true(dq_audit_can_leave_int16(&run, 0));
  run.highest = 256;
  assert_false(dq_audit_can_leave_int16(&run, 1));
  run.highest = 257;
  assert_true(dq_audit_can_leave_int16(&run, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_at_the_ends_of_int16),
      cmocka_unit_test(windows_of_two_planes),
      cmocka_unit_test(counters_that_are_full),
      cmocka_unit_test(bias_leaves_int32),
      cmocka_unit_test(ends_of_int32),
      cmocka_unit_test(verdicts_by_channel),
      cmocka_unit_test(example_by_hand),
      cmocka_unit_test(order_decides_pairs),
      cmocka_unit_test(clipped_on_both_sides),
      cmocka_unit_test(wide_sums),
      cmocka_unit_test(proofs_are_attained),
      cmocka_unit_test(longest_block_by_hand),
      cmocka_unit_test(leave_and_come_back),
      cmocka_unit_test(bits),
      cmocka_unit_test(worst_share),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
