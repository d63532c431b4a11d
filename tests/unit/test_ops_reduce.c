// Reductions, softmax, normalizations and quantization by hand-worked values.
#include <math.h>

#include "tests/unit/operator_harness.h"

static const double COUNTED[24] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                   13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};

static void reduce_over(const char *name, int type, int axes, const double *axis, int out_rank, const int64_t *dims,
                        const double *out) {
  harness run;
  harness_open(&run, "", name, 20);
  dq_node_set_int(run.graph, run.node, "keepdims", 0);
  harness_numbers(&run, 0, type, DIMS(2, 3, 4), COUNTED);
  harness_numbers(&run, 1, DQ_I64, DIMS(axes), axis);
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, type, out_rank, dims, out, 1e-5);
  harness_close(&run);
}

static void reductions(void **state) {
  (void)state;
  reduce_over("ReduceSum", DQ_F32, 2, DOUBLES(0, -1), DIMS(3), DOUBLES(68, 100, 132));
  reduce_over("ReduceMean", DQ_I32, 1, DOUBLES(1), DIMS(2, 4), DOUBLES(5, 6, 7, 8, 17, 18, 19, 20));
  reduce_over("ReduceMax", DQ_U64, 1, DOUBLES(-3), DIMS(3, 4), DOUBLES(13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24));
  reduce_over("ReduceMin", DQ_F16, 0, NULL, 0, NULL, DOUBLES(1));
  reduce_over("ReduceSumSquare", DQ_F64, 2, DOUBLES(1, 2), DIMS(2), DOUBLES(650, 4250));
}

static void empty_sets(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double value;
  } cases[] = {{"ReduceSum", 0},
               {"ReduceProd", 1},
               {"ReduceMax", -INFINITY},
               {"ReduceMin", INFINITY},
               {"ReduceLogSum", -INFINITY},
               {"ReduceL2", 0},
               {"ReduceLogSumExp", -INFINITY}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    harness run;
    harness_open(&run, "", cases[k].name, 20);
    harness_numbers(&run, 0, DQ_F32, DIMS(2, 0), NULL);
    harness_numbers(&run, 1, DQ_I64, DIMS(1), DOUBLES(1));
    assert_int_equal(harness_prepare(&run), DQ_OK);
    harness_gave(&run, 0, DQ_F32, DIMS(2, 1), DOUBLES(cases[k].value, cases[k].value), 0);
    harness_close(&run);
  }
  for (int type = DQ_I32; type; type = type == DQ_I32   ? DQ_I64
                                       : type == DQ_I64 ? DQ_U64
                                                        : 0) { // 0 / 0 of whole numbers
    harness run;
    harness_open(&run, "", "ReduceMean", 20);
    harness_numbers(&run, 0, type, DIMS(2, 0), NULL);
    harness_numbers(&run, 1, DQ_I64, DIMS(1), DOUBLES(1));
    assert_int_equal(harness_prepare(&run), DQ_OK);
    harness_gave(&run, 0, type, DIMS(2, 1), DOUBLES(0, 0), 0);
    harness_close(&run);
  }
}

static void arguments(void **state) {
  (void)state;
  harness run;
  harness_open(&run, "", "ArgMax", 13);
  dq_node_set_int(run.graph, run.node, "axis", -1);
  dq_node_set_int(run.graph, run.node, "select_last_index", 1);
  harness_numbers(&run, 0, DQ_U64, DIMS(2, 3), DOUBLES(5, 9e18, 1, 7, 2, 7));
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_I64, DIMS(2, 1), DOUBLES(1, 2), 0);
  harness_close(&run);
  harness_open(&run, "", "ArgMin", 13);
  harness_numbers(&run, 0, DQ_F32, DIMS(0, 3), NULL);
  assert_int_equal(harness_prepare(&run), DQ_BAD_INPUT);
  harness_close(&run);
}

static void other_reductions(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int type;
    double expected[2]; // of (1, -2, 3) and (4, 5, -6)
  } cases[] = {{"ReduceL1", DQ_F32, {6, 15}},
               {"ReduceL1", DQ_I32, {6, 15}},
               {"ReduceL2", DQ_F64, {3.7416573867739413, 8.774964387392123}},
               {"ReduceProd", DQ_F32, {-6, -120}},
               {"ReduceProd", DQ_I64, {-6, -120}},
               {"ReduceMin", DQ_I8, {-2, -6}},
               {"ReduceMin", DQ_F64, {-2, -6}},
               {"ReduceMax", DQ_I32, {3, 5}},
               {"ReduceSumSquare", DQ_I32, {14, 77}},
               {"ReduceSum", DQ_I64, {2, 3}},
               {"ReduceMean", DQ_F32, {2 / 3., 1}},
               {"ReduceLogSum", DQ_F64, {0.6931471805599453, 1.0986122886681098}}, // ln 2, ln 3
               {"ReduceLogSumExp",
                DQ_F64,
                {3.132845248231872, 5.313273671560141}}}; // 3 + ln(1 + e^-2 + e^-5), 5 + ln(1 + e^-1 + e^-11)
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    harness run;
    harness_open(&run, "", cases[i].name, 20);
    harness_numbers(&run, 0, cases[i].type, DIMS(2, 3), DOUBLES(1, -2, 3, 4, 5, -6));
    harness_numbers(&run, 1, DQ_I64, DIMS(1), DOUBLES(-1));
    assert_int_equal(harness_prepare(&run), DQ_OK);
    harness_gave(&run, 0, cases[i].type, DIMS(2, 1), cases[i].expected, 1e-6);
    harness_close(&run);
  }
}

// ---- Sets of more elements than are converted at a time (256) ----

enum { LONG = 600, LONG_SETS = 6, LONG_COUNT = LONG * LONG_SETS };

// Element i of 6 sets of 600. A ramp lets only the last elements be the largest; no two sets are equal.
static double long_value(int set, int i) { return (i * 37 + set * 5) % 11 - 3 + i / 50 + set; }

typedef double long_reference(const double *values);
static double long_sum(const double *values) {
  double sum = 0;
  for (int i = 0; i < LONG; i++) sum += values[i];
  return sum;
}
static double long_mean(const double *values) { return long_sum(values) / LONG; }
static double long_log_sum(const double *values) { return log(long_sum(values)); }
static double long_l1(const double *values) {
  double sum = 0;
  for (int i = 0; i < LONG; i++) sum += fabs(values[i]);
  return sum;
}
static double long_square(const double *values) {
  double sum = 0;
  for (int i = 0; i < LONG; i++) sum += values[i] * values[i];
  return sum;
}
static double long_l2(const double *values) { return sqrt(long_square(values)); }
static double long_log_sum_exp(const double *values) {
  double sum = 0;
  for (int i = 0; i < LONG; i++) sum += exp(values[i]);
  return log(sum);
}
static double long_last(const double *values) { // of largest elements
  int best = 0;
  for (int i = 0; i < LONG; i++)
    if (values[i] >= values[best]) best = i;
  return best;
}
static double long_max(const double *values) { return values[(int)long_last(values)]; }
static double long_min(const double *values) {
  double least = values[0];
  for (int i = 0; i < LONG; i++) least = fmin(least, values[i]);
  return least;
}
static double long_product(const double *values) { // of elements that are 1 but for a few
  double product = 1;
  for (int i = 0; i < LONG; i++) product *= values[i];
  return product;
}

// Reduces sets that lie along axis 1 (their elements side by side, or 3 apart), or along the axes 0 and 2.
static void long_reduction(const char *name, int type, int form, bool falls, long_reference *reference) {
  const int64_t dims[3][3] = {{6, LONG, 1}, {2, LONG, 3}, {2, 6, LONG / 2}};
  static double values[LONG_COUNT];
  double expected[LONG_SETS], axes[2] = {form == 2 ? 0 : 1, 2};
  bool whole = type != DQ_F32 && type != DQ_F64;
  for (int set = 0; set < LONG_SETS; set++) {
    double elements[LONG];
    for (int i = 0; i < LONG; i++) {
      double value = falls ? -long_value(set, i) : long_value(set, i);
      if (reference == long_product) value = i % 110 == 103 ? 2 + set % 2 : 1;
      elements[i] = value;
      int at = form == 0   ? set * LONG + i
               : form == 1 ? (set / 3 * LONG + i) * 3 + set % 3
                           : (i / (LONG / 2) * 6 + set) * (LONG / 2) + i % (LONG / 2);
      values[at] = value;
    }
    expected[set] = whole ? trunc(reference(elements)) : reference(elements);
  }
  harness run;
  bool arg = name[0] == 'A';
  harness_open(&run, "", name, arg ? 13 : 20);
  if (arg) dq_node_set_int(run.graph, run.node, "axis", 1);
  if (arg) dq_node_set_int(run.graph, run.node, "select_last_index", 1);
  harness_numbers(&run, 0, type, 3, dims[form], values);
  if (!arg) harness_numbers(&run, 1, DQ_I64, DIMS(form == 2 ? 2 : 1), axes);
  assert_int_equal(harness_prepare(&run), DQ_OK);
  const int64_t out[3][3] = {{6, 1, 1}, {2, 1, 3}, {1, 6, 1}};
  harness_gave(&run, 0, arg ? DQ_I64 : type, 3, out[form], expected, whole || arg ? 0 : 1e-3);
  harness_close(&run);
}

static void long_sets(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool falls; // elements fall, so that the smallest is among the last
    long_reference *reference;
  } cases[] = {{"ReduceSum", false, long_sum},
               {"ReduceMean", false, long_mean},
               {"ReduceL1", true, long_l1},
               {"ReduceL2", false, long_l2},
               {"ReduceSumSquare", true, long_square},
               {"ReduceLogSum", false, long_log_sum},
               {"ReduceMax", false, long_max},
               {"ReduceMin", true, long_min},
               {"ReduceProd", false, long_product},
               {"ReduceLogSumExp", false, long_log_sum_exp}};
  const int types[] = {DQ_F32, DQ_F64, DQ_I32, DQ_I64};
  for (int form = 0; form < 3; form++)
    for (int t = 0; t < 4; t++) {
      for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        long_reduction(cases[i].name, types[t], form, cases[i].falls, cases[i].reference);
      if (form == 2) continue; // one axis only
      long_reduction("ArgMax", types[t], form, false, long_last);
    }
}

static void running_sums(void **state) {
  (void)state;
  static const struct {
    int exclusive, reverse;
    double axis, expected[6];
  } cases[] = {{0, 0, 1, {1, 3, 6, 4, 9, 15}},
               {1, 0, -1, {0, 1, 3, 0, 4, 9}},
               {0, 1, 1, {6, 5, 3, 15, 11, 6}},
               {1, 1, 1, {5, 3, 0, 11, 6, 0}},
               {0, 0, 0, {1, 2, 3, 5, 7, 9}}};
  const int types[] = {DQ_F32, DQ_F64, DQ_I32, DQ_I64};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int t = 0; t < 4; t++) {
      harness run;
      harness_open(&run, "", "CumSum", 14);
      dq_node_set_int(run.graph, run.node, "exclusive", cases[i].exclusive);
      dq_node_set_int(run.graph, run.node, "reverse", cases[i].reverse);
      harness_numbers(&run, 0, types[t], DIMS(2, 3), COUNTED);
      harness_numbers(&run, 1, DQ_I64, 0, NULL, &cases[i].axis);
      assert_int_equal(harness_prepare(&run), DQ_OK);
      harness_gave(&run, 0, types[t], DIMS(2, 3), cases[i].expected, 0);
      harness_close(&run);
    }
}

// -1 to 4 widened to hold 0, in 255 steps; numbers of one sign, and zeros alone.
static void dynamic_quantization(void **state) {
  (void)state;
  static const struct {
    double x[3], y[3], scale, zero_point;
  } cases[] = {{{-1, 0, 4}, {0, 51, 255}, 5 / 255., 51},
               {{1, 2.5, 4}, {64, 159, 255}, 4 / 255., 0},
               {{-4, -2.5, -1}, {0, 96, 191}, 4 / 255., 255},
               {{0, 0, 0}, {0, 0, 0}, 1, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    harness run;
    harness_open(&run, "", "DynamicQuantizeLinear", 11);
    run.output_count = 3;
    harness_numbers(&run, 0, DQ_F32, DIMS(3), cases[i].x);
    assert_int_equal(harness_prepare(&run), DQ_OK);
    harness_gave(&run, 0, DQ_U8, DIMS(3), cases[i].y, 0);
    harness_gave(&run, 1, DQ_F32, 0, NULL, &cases[i].scale, 1e-9);
    harness_gave(&run, 2, DQ_U8, 0, NULL, &cases[i].zero_point, 0);
    harness_close(&run);
  }
}

static void softmax_versions(void **state) {
  (void)state;
  for (int opset = 11; opset <= 13; opset += 2) {
    harness run;
    harness_open(&run, "", "Softmax", opset);
    harness_numbers(&run, 0, DQ_F32, DIMS(1, 2, 2), DOUBLES(1000, 1000, 1000, 1000));
    assert_int_equal(harness_prepare(&run), DQ_OK);
    double each = opset < 13 ? 0.25 : 0.5; // before 13 the two last dimensions are one
    harness_gave(&run, 0, DQ_F32, DIMS(1, 2, 2), DOUBLES(each, each, each, each), 1e-7);
    harness_close(&run);
  }
}

static void normalizations(void **state) {
  (void)state;
  harness run;
  harness_open(&run, "", "BatchNormalization", 9);
  dq_node_set_float(run.graph, run.node, "epsilon", 0);
  harness_numbers(&run, 0, DQ_F32, DIMS(1, 2, 2), DOUBLES(1, 2, 3, 4));
  harness_numbers(&run, 1, DQ_F32, DIMS(2), DOUBLES(1, 2));
  harness_numbers(&run, 2, DQ_F32, DIMS(2), DOUBLES(0, 10));
  harness_numbers(&run, 3, DQ_F32, DIMS(2), DOUBLES(1, 3));
  harness_numbers(&run, 4, DQ_F32, DIMS(2), DOUBLES(4, 1));
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_F32, DIMS(1, 2, 2), DOUBLES(0, 0.5, 10, 12), 1e-6);
  harness_numbers(&run, 4, DQ_F32, DIMS(3), NULL);
  assert_int_equal(harness_prepare(&run), DQ_BAD_INPUT);
  harness_close(&run);
  harness_open(&run, "", "LayerNormalization", 17);
  dq_node_set_float(run.graph, run.node, "epsilon", 0);
  harness_numbers(&run, 0, DQ_F32, DIMS(2, 2), DOUBLES(1, 3, 10, 30));
  harness_numbers(&run, 1, DQ_F32, 0, NULL, DOUBLES(2)); // a scale that broadcasts
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_F32, DIMS(2, 2), DOUBLES(-2, 2, -2, 2), 1e-6);
  harness_close(&run);
}

// Channels 2, 0, 2 in 300 places, bias 12, factor 3 / 3: divisors 16^beta, 20^beta, 16^beta.
static void local_response(void **state) {
  (void)state;
  enum { PLACES = 300 };
  const float powers[] = {0.75f, 1};
  for (int wide = 0; wide < 2; wide++)
    for (int k = 0; k < 2; k++) {
      double input[3 * PLACES], expected[3 * PLACES];
      for (int i = 0; i < 3 * PLACES; i++) {
        input[i] = i / PLACES == 1 ? 0 : 2;
        expected[i] = input[i] / (k ? 16 : 8);
      }
      harness run;
      harness_open(&run, "", "LRN", 13);
      dq_node_set_int(run.graph, run.node, "size", 3);
      dq_node_set_float(run.graph, run.node, "alpha", 3);
      dq_node_set_float(run.graph, run.node, "beta", powers[k]);
      dq_node_set_float(run.graph, run.node, "bias", 12);
      harness_numbers(&run, 0, wide ? DQ_F64 : DQ_F32, DIMS(1, 3, PLACES), input);
      assert_int_equal(harness_prepare(&run), DQ_OK);
      harness_gave(&run, 0, wide ? DQ_F64 : DQ_F32, DIMS(1, 3, PLACES), expected, 1e-6);
      harness_close(&run);
    }
}

static void quantizing(void **state) {
  (void)state;
  harness run;
  harness_open(&run, "", "QuantizeLinear", 13); // per channel, halves to even, saturation
  harness_numbers(&run, 0, DQ_F32, DIMS(2, 3), DOUBLES(0.5, 1.5, 1000, -1, 1, NAN));
  harness_numbers(&run, 1, DQ_F32, DIMS(2), DOUBLES(1, 0.25));
  harness_numbers(&run, 2, DQ_I8, DIMS(2), DOUBLES(1, -1));
  dq_node_set_int(run.graph, run.node, "axis", 0);
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_I8, DIMS(2, 3), DOUBLES(1, 3, 127, -5, 3, -128), 0);
  harness_close(&run);
  harness_open(&run, "", "DequantizeLinear", 21); // blocks of two along axis 1
  harness_numbers(&run, 0, DQ_I16, DIMS(1, 3), DOUBLES(300, -2, 7));
  harness_numbers(&run, 1, DQ_F32, DIMS(1, 2), DOUBLES(0.5, 2));
  dq_node_set_int(run.graph, run.node, "block_size", 2);
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_F32, DIMS(1, 3), DOUBLES(150, -1, 14), 0);
  harness_close(&run);
  harness_open(&run, "", "DequantizeLinear", 13); // scales that do not fit the axis
  harness_numbers(&run, 0, DQ_I8, DIMS(1, 3), NULL);
  harness_numbers(&run, 1, DQ_F32, DIMS(2), NULL);
  assert_int_equal(harness_prepare(&run), DQ_BAD_INPUT);
  harness_close(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reductions),       cmocka_unit_test(empty_sets),     cmocka_unit_test(arguments),
      cmocka_unit_test(other_reductions), cmocka_unit_test(running_sums),   cmocka_unit_test(dynamic_quantization),
      cmocka_unit_test(softmax_versions), cmocka_unit_test(normalizations), cmocka_unit_test(local_response),
      cmocka_unit_test(quantizing),       cmocka_unit_test(long_sets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
