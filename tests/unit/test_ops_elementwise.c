// Elementwise operators: broadcasting, integer edges, half precision, casts, threads.
#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/unit/operator_harness.h"

static void unary(const char *name, int type, int count, const double *in, int out_type, const double *out,
                  double tolerance) {
  harness run;
  harness_open(&run, "", name, 22);
  harness_numbers(&run, 0, type, DIMS(count), in);
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, out_type, DIMS(count), out, tolerance);
  harness_close(&run);
}

static void binary(const char *name, int type, int count, const double *a, const double *b, int out_type,
                   const double *out) {
  harness run;
  harness_open(&run, "", name, 22);
  harness_numbers(&run, 0, type, DIMS(count), a);
  harness_numbers(&run, 1, type, DIMS(count), b);
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, out_type, DIMS(count), out, 0);
  harness_close(&run);
}

static void broadcasts(void **state) {
  (void)state;
  harness run;
  harness_open(&run, "", "Sub", 14);
  harness_numbers(&run, 0, DQ_F32, DIMS(2, 1, 3), DOUBLES(1, 2, 3, 4, 5, 6));
  harness_numbers(&run, 1, DQ_F32, DIMS(2, 1), DOUBLES(10, 20));
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_F32, DIMS(2, 2, 3), DOUBLES(-9, -8, -7, -19, -18, -17, -6, -5, -4, -16, -15, -14), 0);
  harness_close(&run);

  harness_open(&run, "", "Add", 14); // a zero dimension with a one: nothing to do
  harness_numbers(&run, 0, DQ_F32, DIMS(1, 3), DOUBLES(1, 2, 3));
  harness_numbers(&run, 1, DQ_F32, DIMS(0, 1), NULL);
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_F32, DIMS(0, 3), NULL, 0);
  harness_close(&run);

  harness_open(&run, "", "Mul", 14); // scalars
  harness_numbers(&run, 0, DQ_I64, 0, NULL, DOUBLES(6));
  harness_numbers(&run, 1, DQ_I64, 0, NULL, DOUBLES(7));
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_I64, 0, NULL, DOUBLES(42), 0);
  harness_close(&run);

  harness_open(&run, "", "Where", 16);
  harness_numbers(&run, 0, DQ_BOOL, DIMS(2, 1), DOUBLES(1, 0));
  harness_numbers(&run, 1, DQ_F16, DIMS(2), DOUBLES(1, 2));
  harness_numbers(&run, 2, DQ_F16, 0, NULL, DOUBLES(-3));
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_F16, DIMS(2, 2), DOUBLES(1, 2, -3, -3), 0);
  harness_close(&run);
}

static void rejects(void **state) {
  (void)state;
  harness run;
  harness_open(&run, "", "Add", 14);
  harness_numbers(&run, 0, DQ_F32, DIMS(3), NULL);
  harness_numbers(&run, 1, DQ_F32, DIMS(2), NULL);
  assert_int_equal(harness_prepare(&run), DQ_BAD_INPUT);
  harness_numbers(&run, 1, DQ_I32, DIMS(3), NULL);
  assert_int_equal(harness_prepare(&run), DQ_BAD_INPUT);
  harness_close(&run);
  harness_open(&run, "", "PRelu", 16); // the slope must not widen the input
  harness_numbers(&run, 0, DQ_F32, DIMS(1, 3), NULL);
  harness_numbers(&run, 1, DQ_F32, DIMS(2, 3), NULL);
  assert_int_equal(harness_prepare(&run), DQ_BAD_INPUT);
  assert_non_null(strstr(run.error.message, "do not broadcast to the shape of input 0"));
  harness_close(&run);
  harness_open(&run, "", "Neg", 13);
  harness_numbers(&run, 0, DQ_U8, DIMS(3), NULL);
  assert_int_equal(harness_prepare(&run), DQ_UNSUPPORTED);
  harness_close(&run);
}

static void integer_edges(void **state) {
  (void)state;
  binary("Div", DQ_I32, 5, DOUBLES(7, -7, 5, INT32_MIN, 9), DOUBLES(2, 2, 0, -1, -1), DQ_I32,
         DOUBLES(3, -3, 0, INT32_MIN, -9));
  binary("Mod", DQ_I8, 5, DOUBLES(7, -7, 7, -128, 5), DOUBLES(3, 3, -3, -1, 0), DQ_I8, DOUBLES(1, 2, -2, 0, 0));
  binary("Add", DQ_U8, 2, DOUBLES(250, 3), DOUBLES(10, 4), DQ_U8, DOUBLES(4, 7));
  binary("Mul", DQ_I16, 2, DOUBLES(32767, -5), DOUBLES(32767, 3), DQ_I16, DOUBLES(1, -15));
  binary("Pow", DQ_I64, 5, DOUBLES(3, -1, 2, 0, 7), DOUBLES(39, -3, -1, 0, 2), DQ_I64,
         DOUBLES(4052555153018976267.0, -1, 0, 1, 49));
  unary("Abs", DQ_I8, 3, DOUBLES(-128, -1, 5), DQ_I8, DOUBLES(-128, 1, 5), 0);
  harness run;
  harness_open(&run, "", "BitShift", 11);
  dq_node_set_string(run.graph, run.node, "direction", "LEFT");
  harness_numbers(&run, 0, DQ_U16, DIMS(3), DOUBLES(1, 0x8001, 7));
  harness_numbers(&run, 1, DQ_U16, DIMS(3), DOUBLES(15, 1, 16));
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_U16, DIMS(3), DOUBLES(0x8000, 2, 0), 0);
  harness_close(&run);
}

// Of equal numbers Max and Min take the one behind, so that the sign of a zero is the same on every machine, and NaN
// wins from both sides.
static void equal_numbers_and_nan(void **state) {
  (void)state;
  static const char *const names[] = {"Max", "Min"};
  static const int types[] = {DQ_F32, DQ_F64};
  static const double largest[] = {-0.0, 0.0, 2, 2, NAN, NAN}, smallest[] = {-0.0, 0.0, -1, -1, NAN, NAN};
  for (int i = 0; i < 4; i++) {
    harness run;
    harness_open(&run, "", names[i / 2], 13);
    harness_numbers(&run, 0, types[i % 2], DIMS(6), DOUBLES(0.0, -0.0, 2, -1, NAN, 3));
    harness_numbers(&run, 1, types[i % 2], DIMS(6), DOUBLES(-0.0, 0.0, -1, 2, 3, NAN));
    assert_int_equal(harness_prepare(&run), DQ_OK);
    harness_gave(&run, 0, types[i % 2], DIMS(6), i / 2 ? smallest : largest, 0);
    assert_true(signbit(dq_tensor_get(run.outputs[0], 0)) && !signbit(dq_tensor_get(run.outputs[0], 1)));
    harness_close(&run);
  }
}

// From version 28 on: to the right the sign stays, whatever is shifted out.
static void shifts_of_signed_numbers(void **state) {
  (void)state;
  static const char *const directions[] = {"LEFT", "RIGHT"};
  static const double expected[2][5] = {{-2, -128, 0, 0, 0}, {-1, 0, -1, 0, -1}};
  for (int i = 0; i < 2; i++) {
    harness run;
    harness_open(&run, "", "BitShift", 28);
    dq_node_set_string(run.graph, run.node, "direction", directions[i]);
    harness_numbers(&run, 0, DQ_I8, DIMS(5), DOUBLES(-1, 1, -5, 100, -128));
    harness_numbers(&run, 1, DQ_I8, DIMS(5), DOUBLES(1, 7, 8, -1, 127));
    assert_int_equal(harness_prepare(&run), DQ_OK);
    harness_gave(&run, 0, DQ_I8, DIMS(5), expected[i], 0);
    harness_close(&run);
  }
}

// Functions against the C library's in double.
static void functions(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double (*function)(double x);
    double from; // three arguments, 0.25 apart
  } cases[] = {{"Sin", sin, -1},       {"Cos", cos, -1},     {"Tan", tan, -1},     {"Asin", asin, -0.5},
               {"Acos", acos, -0.5},   {"Atan", atan, -2},   {"Sinh", sinh, -1},   {"Cosh", cosh, -1},
               {"Tanh", tanh, -1},     {"Asinh", asinh, -2}, {"Acosh", acosh, 1},  {"Atanh", atanh, -0.5},
               {"Exp", exp, -1},       {"Log", log, 0.5},    {"Sqrt", sqrt, 0.25}, {"Erf", erf, -0.5},
               {"Floor", floor, -0.5}, {"Ceil", ceil, -0.5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double x[3], y[3];
    for (int k = 0; k < 3; k++) x[k] = cases[i].from + 0.25 * k, y[k] = cases[i].function(x[k]);
    unary(cases[i].name, DQ_F32, 3, x, DQ_F32, y, 1e-6);
    unary(cases[i].name, DQ_F64, 3, x, DQ_F64, y, 1e-6);
  }
}

static void signs_and_logic(void **state) {
  (void)state;
  unary("Sign", DQ_F32, 4, DOUBLES(-2.5, 0, 3, NAN), DQ_F32, DOUBLES(-1, 0, 1, NAN), 0);
  unary("Sign", DQ_I8, 3, DOUBLES(-128, 0, 7), DQ_I8, DOUBLES(-1, 0, 1), 0);
  unary("Sign", DQ_U16, 2, DOUBLES(0, 65535), DQ_U16, DOUBLES(0, 1), 0);
  unary("Abs", DQ_U8, 2, DOUBLES(0, 255), DQ_U8, DOUBLES(0, 255), 0);
  unary("Neg", DQ_I16, 3, DOUBLES(5, -7, -32768), DQ_I16, DOUBLES(-5, 7, -32768), 0);
  unary("IsNaN", DQ_F32, 3, DOUBLES(NAN, INFINITY, 0), DQ_BOOL, DOUBLES(1, 0, 0), 0);
  unary("Not", DQ_BOOL, 2, DOUBLES(1, 0), DQ_BOOL, DOUBLES(0, 1), 0);
  unary("BitwiseNot", DQ_I8, 2, DOUBLES(0, 5), DQ_I8, DOUBLES(-1, -6), 0);
  unary("BitwiseNot", DQ_U8, 2, DOUBLES(0, 5), DQ_U8, DOUBLES(255, 250), 0);
  binary("And", DQ_BOOL, 4, DOUBLES(0, 0, 1, 1), DOUBLES(0, 1, 0, 1), DQ_BOOL, DOUBLES(0, 0, 0, 1));
  binary("Or", DQ_BOOL, 4, DOUBLES(0, 0, 1, 1), DOUBLES(0, 1, 0, 1), DQ_BOOL, DOUBLES(0, 1, 1, 1));
  binary("Xor", DQ_BOOL, 4, DOUBLES(0, 0, 1, 1), DOUBLES(0, 1, 0, 1), DQ_BOOL, DOUBLES(0, 1, 1, 0));
  binary("Equal", DQ_BOOL, 4, DOUBLES(0, 0, 1, 1), DOUBLES(0, 1, 0, 1), DQ_BOOL, DOUBLES(1, 0, 0, 1));
  binary("BitwiseAnd", DQ_I32, 2, DOUBLES(12, -1), DOUBLES(10, 7), DQ_I32, DOUBLES(8, 7));
  binary("BitwiseOr", DQ_U8, 2, DOUBLES(12, 0), DOUBLES(10, 7), DQ_U8, DOUBLES(14, 7));
  binary("BitwiseXor", DQ_U64, 2, DOUBLES(12, 5), DOUBLES(10, 5), DQ_U64, DOUBLES(6, 0));
}

// x below, equal to and above y; what is not a number is none of it.
static void comparisons(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double expected[4];
  } cases[] = {{"Less", {1, 0, 0, 0}},
               {"LessOrEqual", {1, 1, 0, 0}},
               {"Greater", {0, 0, 1, 0}},
               {"GreaterOrEqual", {0, 1, 1, 0}},
               {"Equal", {0, 1, 0, 0}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    binary(cases[i].name, DQ_F32, 4, DOUBLES(-1, 2, 3, NAN), DOUBLES(0, 2, -3, NAN), DQ_BOOL, cases[i].expected);
    binary(cases[i].name, DQ_F64, 4, DOUBLES(-1, 2, 3, NAN), DOUBLES(0, 2, -3, 1), DQ_BOOL, cases[i].expected);
    binary(cases[i].name, DQ_I8, 3, DOUBLES(-128, 2, 3), DOUBLES(127, 2, -3), DQ_BOOL, cases[i].expected);
    binary(cases[i].name, DQ_U8, 3, DOUBLES(1, 2, 200), DOUBLES(255, 2, 100), DQ_BOOL, cases[i].expected);
    binary(cases[i].name, DQ_U64, 3, DOUBLES(1, 2, 0x1p63), DOUBLES(0x1p63, 2, 1), DQ_BOOL, cases[i].expected);
  }
}

// The remainder has the divisor's sign, or, by fmod, the dividend's.
static void remainders(void **state) {
  (void)state;
  for (int fmod = 0; fmod < 2; fmod++) {
    const int types[] = {DQ_F32, DQ_F64, DQ_I32, DQ_I8};
    for (int t = 0; t < 4; t++) {
      if (!fmod && t < 2) continue; // of floats it is fmod
      harness run;
      harness_open(&run, "", "Mod", 13);
      dq_node_set_int(run.graph, run.node, "fmod", fmod);
      harness_numbers(&run, 0, types[t], DIMS(5), DOUBLES(7, -7, 7, -7, 6));
      harness_numbers(&run, 1, types[t], DIMS(5), DOUBLES(3, 3, -3, -3, 3));
      assert_int_equal(harness_prepare(&run), DQ_OK);
      harness_gave(&run, 0, types[t], DIMS(5), fmod ? DOUBLES(1, -1, 1, -1, 0) : DOUBLES(1, 2, -2, -1, 0), 0);
      harness_close(&run);
    }
  }
  binary("Mod", DQ_U8, 3, DOUBLES(200, 7, 7), DOUBLES(7, 7, 0), DQ_U8, DOUBLES(4, 0, 0));
  binary("Div", DQ_U8, 3, DOUBLES(200, 7, 7), DOUBLES(7, 7, 0), DQ_U8, DOUBLES(28, 1, 0));
  binary("Pow", DQ_F32, 4, DOUBLES(2, 4, -2, 0), DOUBLES(10, 0.5, 3, 0), DQ_F32, DOUBLES(1024, 2, -8, 1));
  binary("Pow", DQ_I32, 3, DOUBLES(3, -2, 10), DOUBLES(4, 3, 0), DQ_I32, DOUBLES(81, -8, 1));
}

// Powers of 2, -1 and 1/2 are the nearest numbers, whether the exponent is one number or one for each element.
static void powers_that_are_exact(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  static const double exponents[] = {2, -1, 0.5};
  static double a[COUNT], b[COUNT], out[COUNT];
  for (int e = 0; e < 3; e++) {
    for (int i = 0; i < COUNT; i++) {
      a[i] = (float)(1 + i * 0.000737), b[i] = exponents[e];
      out[i] = (float)(e == 0 ? a[i] * a[i] : e == 1 ? 1 / a[i] : sqrt(a[i]));
    }
    binary("Pow", DQ_F32, COUNT, a, b, DQ_F32, out);
    harness run;
    harness_open(&run, "", "Pow", 13);
    harness_numbers(&run, 0, DQ_F32, DIMS(COUNT), a);
    harness_numbers(&run, 1, DQ_F32, DIMS(1), b);
    assert_int_equal(harness_prepare(&run), DQ_OK);
    harness_gave(&run, 0, DQ_F32, DIMS(COUNT), out, 0);
    harness_close(&run);
  }
  binary("Pow", DQ_F32, 6, DOUBLES(-INFINITY, -0.0, -INFINITY, -0.0, INFINITY, 0), DOUBLES(0.5, 0.5, -1, -1, 0.5, -1),
         DQ_F32, DOUBLES(INFINITY, 0, -0.0, -INFINITY, INFINITY, INFINITY));
}

// Of three operands, the second of which repeats.
static void several_operands(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double expected[4];
  } cases[] = {{"Sum", {12, 23, 14, 25}},
               {"Mean", {4, 23 / 3., 14 / 3., 25 / 3.}},
               {"Max", {10, 20, 10, 20}},
               {"Min", {1, 1, 1, 1}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    harness run;
    harness_open(&run, "", cases[i].name, 13);
    harness_numbers(&run, 0, DQ_F64, DIMS(2, 2), DOUBLES(1, 2, 3, 4));
    harness_numbers(&run, 1, DQ_F64, DIMS(2), DOUBLES(10, 20));
    harness_numbers(&run, 2, DQ_F64, 0, NULL, DOUBLES(1));
    assert_int_equal(harness_prepare(&run), DQ_OK);
    harness_gave(&run, 0, DQ_F64, DIMS(2, 2), cases[i].expected, 1e-12);
    harness_close(&run);
  }
  binary("Max", DQ_I8, 2, DOUBLES(-128, 5), DOUBLES(127, -5), DQ_I8, DOUBLES(127, 5));
  binary("Min", DQ_U8, 2, DOUBLES(200, 5), DOUBLES(100, 6), DQ_U8, DOUBLES(100, 5));
  unary("Sum", DQ_F32, 2, DOUBLES(1.5, -2), DQ_F32, DOUBLES(1.5, -2), 0); // alone
}

static void special_numbers(void **state) {
  (void)state;
  unary("Round", DQ_F32, 5, DOUBLES(0.5, 1.5, 2.5, -0.5, -1.5), DQ_F32, DOUBLES(0, 2, 2, 0, -2), 0);
  unary("Sigmoid", DQ_F32, 4, DOUBLES(0, 100, -200, NAN), DQ_F32, DOUBLES(0.5, 1, 0, NAN), 0);
  unary("Exp", DQ_F32, 4, DOUBLES(0, INFINITY, -INFINITY, NAN), DQ_F32, DOUBLES(1, INFINITY, 0, NAN), 0);
  unary("Relu", DQ_F16, 3, DOUBLES(-1, 2.5, NAN), DQ_F16, DOUBLES(0, 2.5, NAN), 0);
  unary("IsInf", DQ_F32, 4, DOUBLES(INFINITY, -INFINITY, NAN, 1), DQ_BOOL, DOUBLES(1, 1, 0, 0), 0);
  unary("Softplus", DQ_F32, 2, DOUBLES(200, -200), DQ_F32, DOUBLES(200, 0), 1e-30);
  binary("Max", DQ_F32, 3, DOUBLES(NAN, 1, 2), DOUBLES(1, NAN, 3), DQ_F32, DOUBLES(NAN, NAN, 3));
}

// The polynomial against the double function over the whole range, subnormals by absolute error.
static void exponential_is_accurate(void **state) {
  (void)state;
  enum { COUNT = 100000 };
  harness run;
  harness_open(&run, "", "Exp", 13);
  float *in = harness_numbers(&run, 0, DQ_F32, DIMS(COUNT), NULL)->data;
  for (int i = 0; i < COUNT; i++) in[i] = -104.0f + 192.7f * (float)i / COUNT;
  assert_int_equal(harness_prepare(&run), DQ_OK);
  const float *out = run.outputs[0]->data;
  double worst = 0;
  for (int i = 0; i < COUNT; i++) {
    double expected = exp((double)in[i]);
    double difference = fabs((double)out[i] - expected);
    if (expected < (double)FLT_MIN) assert_true(difference <= 0x1p-148);
    else worst = fmax(worst, difference / expected);
  }
  assert_true(worst < 2.5e-7);
  harness_close(&run);
}

static void clip_bounds(void **state) {
  (void)state;
  harness run;
  harness_open(&run, "", "Clip", 13);
  harness_numbers(&run, 0, DQ_U8, DIMS(4), DOUBLES(0, 3, 200, 255));
  harness_numbers(&run, 2, DQ_U8, 0, NULL, DOUBLES(199)); // min is left out
  run.node->inputs[1] = NULL;
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_U8, DIMS(4), DOUBLES(0, 3, 199, 199), 0);
  harness_close(&run);
  harness_open(&run, "", "Clip", 7);
  dq_node_set_float(run.graph, run.node, "min", -1.5f);
  harness_numbers(&run, 0, DQ_F32, DIMS(2), DOUBLES(-3, 1e30));
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, DQ_F32, DIMS(2), DOUBLES(-1.5, (double)1e30f), 0);
  harness_close(&run);
}

static void cast(int from, int to, int count, const double *in, const double *out) {
  harness run;
  harness_open(&run, "", "Cast", 19);
  dq_node_set_int(run.graph, run.node, "to", to);
  harness_numbers(&run, 0, from, DIMS(count), in);
  assert_int_equal(harness_prepare(&run), DQ_OK);
  harness_gave(&run, 0, to, DIMS(count), out, 0);
  harness_close(&run);
}

static void casts(void **state) {
  (void)state;
  cast(DQ_F32, DQ_I8, 5, DOUBLES(1.9, -1.9, 300, -300, NAN), DOUBLES(1, -1, 127, -128, 0));
  cast(DQ_F64, DQ_U64, 3, DOUBLES(-1, 1e30, 7), DOUBLES(0, 18446744073709551615.0, 7));
  cast(DQ_I32, DQ_U8, 3, DOUBLES(257, -1, 5), DOUBLES(1, 255, 5));
  cast(DQ_U64, DQ_F32, 1, DOUBLES(18446744073709549568.0), DOUBLES(18446744073709551616.0));
  cast(DQ_F32, DQ_BOOL, 3, DOUBLES(0, -0.5, NAN), DOUBLES(0, 1, 1));
  // 1 + 2^-11 is a tie that rounds down; a bit of 2^-40 more must round up: no double rounding.
  cast(DQ_F64, DQ_F16, 4, DOUBLES(1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 65519.999, 65520),
       DOUBLES(1, 1 + 0x1p-10, 65504, INFINITY));
  cast(DQ_F16, DQ_I64, 2, DOUBLES(-2.5, 1000), DOUBLES(-2, 1000));
  harness run;
  harness_open(&run, "", "Cast", 13);
  dq_node_set_int(run.graph, run.node, "to", DQ_BF16);
  harness_numbers(&run, 0, DQ_F32, DIMS(1), NULL);
  assert_int_equal(harness_prepare(&run), DQ_UNSUPPORTED);
  harness_close(&run);
}

// Rows broken anywhere by spans and threads give what one thread gives.
static void threads_do_not_matter(void **state) {
  (void)state;
  harness runs[2];
  for (int k = 0; k < 2; k++) {
    harness_open(&runs[k], "", "Add", 14);
    dq_context_deinit(&runs[k].context);
    assert_int_equal(dq_context_init(&runs[k].context, k ? 3 : 1, ~0u, &runs[k].error), DQ_OK);
    float *a = harness_numbers(&runs[k], 0, DQ_F32, DIMS(7, 300, 101), NULL)->data;
    float *b = harness_numbers(&runs[k], 1, DQ_F32, DIMS(300, 1), NULL)->data;
    for (int i = 0; i < 7 * 300 * 101; i++) a[i] = (float)i;
    for (int i = 0; i < 300; i++) b[i] = 0.25f * (float)i;
    assert_int_equal(harness_prepare(&runs[k]), DQ_OK);
  }
  const float *out = runs[1].outputs[0]->data;
  assert_memory_equal(out, runs[0].outputs[0]->data, dq_tensor_bytes(runs[0].outputs[0]));
  for (int i = 0; i < 7 * 300 * 101; i++) assert_true(out[i] == (float)i + 0.25f * (float)(i / 101 % 300));
  for (int k = 0; k < 2; k++) harness_close(&runs[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(broadcasts),
                                     cmocka_unit_test(rejects),
                                     cmocka_unit_test(integer_edges),
                                     cmocka_unit_test(equal_numbers_and_nan),
                                     cmocka_unit_test(shifts_of_signed_numbers),
                                     cmocka_unit_test(functions),
                                     cmocka_unit_test(signs_and_logic),
                                     cmocka_unit_test(comparisons),
                                     cmocka_unit_test(remainders),
                                     cmocka_unit_test(powers_that_are_exact),
                                     cmocka_unit_test(several_operands),
                                     cmocka_unit_test(special_numbers),
                                     cmocka_unit_test(clip_bounds),
                                     cmocka_unit_test(exponential_is_accurate),
                                     cmocka_unit_test(casts),
                                     cmocka_unit_test(threads_do_not_matter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
