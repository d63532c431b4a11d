// The fp32 functions that the executor and the C of dq-cc compute themselves: their bits, recorded, and their errors.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lib/kernels/reference/function_wide.h"

static double softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
// Where e^-x is beyond the largest float the result is 0.
static double sigmoid(double x) { return 1 / (1 + (double)(float)exp(-x)); }

// The digest is of the results for every 4099th pattern of bits, from all exponents and both signs; NaN counts as one
// pattern. Errors are in units in the last place, against the function of the C library in double.
static const struct {
  const char *name;
  float (*own)(float x);
  double (*wide)(double x);
  double error;
  uint64_t digest;
} functions[] = {
    {"exp", dq_exp_one, exp, 2, 0xb045eb2a6b5b60c5},
    {"sigmoid", dq_sigmoid_one, sigmoid, 3, 0x132141357ccad2d0},
    {"tanh", dq_tanh_one, tanh, 2, 0xb37ee8530de132d0},
    {"expm1", dq_expm1_one, expm1, 2, 0x4b6f368ba05edaaa},
    {"softplus", dq_softplus_one, softplus, 4, 0x3062beb2f840f75f},
    {"erf", dq_erf_one, erf, 2, 0x8a5737dd07a82e08},
    {"tan", dq_tan_one, tan, 0.5001, 0x032d1d117c382a98},
    {"asin", dq_asin_one, asin, 0.5001, 0xbd450314d5987b63},
    {"acos", dq_acos_one, acos, 0.5001, 0x58752c4715886fcd},
    {"atan", dq_atan_one, atan, 0.5001, 0xd2033d2624e9cf34},
    {"sinh", dq_sinh_one, sinh, 0.5001, 0xc468ab2b82f38ae0},
    {"cosh", dq_cosh_one, cosh, 0.5001, 0x187feb080d3fe061},
    {"asinh", dq_asinh_one, asinh, 0.5001, 0x728d97b5b89e47bd},
    {"acosh", dq_acosh_one, acosh, 0.5001, 0x56816834f27fcc7a},
    {"atanh", dq_atanh_one, atanh, 0.5001, 0xcff36a8c3854f230},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions, STRIDE = 4099 };

// How far a result is from the exact one, in units in the last place of a float.
static double error_of(float found, double exact) {
  float nearest = (float)exact;
  if (isnan(nearest) || isnan(found)) return isnan(nearest) && isnan(found) ? 0 : INFINITY;
  if (isinf(nearest) || isinf(found) || exact == 0) return found == nearest ? 0 : INFINITY;
  double magnitude = fabs((double)nearest);
  return fabs((double)found - exact) / ((double)nextafterf(fabsf(nearest), INFINITY) - magnitude);
}

static void bits_are_those_recorded(void **state) {
  (void)state;
  for (int f = 0; f < FUNCTIONS; f++) {
    uint64_t digest = 0xcbf29ce484222325; // FNV-1a
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE) {
      float result = functions[f].own(dq_bits_float((uint32_t)bits));
      digest = (digest ^ (isnan(result) ? 0x7fc00000 : dq_float_bits(result))) * 0x100000001b3;
    }
    if (digest != functions[f].digest) print_error("%s: 0x%016llx\n", functions[f].name, (unsigned long long)digest);
    assert_int_equal(digest, functions[f].digest);
  }
}

static void errors_are_small(void **state) {
  (void)state;
  for (int f = 0; f < FUNCTIONS; f++)
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 16 * STRIDE) {
      float x = dq_bits_float((uint32_t)bits);
      double error = error_of(functions[f].own(x), functions[f].wide((double)x));
      if (error > functions[f].error) print_error("%s(%a): %g\n", functions[f].name, (double)x, error);
      assert_true(error <= functions[f].error);
    }
}

static void signs_of_zeros(void **state) {
  (void)state;
  float (*const odd[])(float) = {dq_expm1_one, dq_erf_one,  dq_tan_one,   dq_asin_one,
                                 dq_atan_one,  dq_sinh_one, dq_asinh_one, dq_atanh_one};
  for (size_t f = 0; f < sizeof odd / sizeof *odd; f++) {
    assert_int_equal(dq_float_bits(odd[f](0.0f)), 0);
    assert_int_equal(dq_float_bits(odd[f](-0.0f)), 0x80000000u);
  }
}

// tan of the float that lies nearest to a multiple of pi / 2, and of the largest one.
static void tangent_of_large_numbers(void **state) {
  (void)state;
  assert_true(error_of(dq_tan_one(0x1.34d9ap+102f), tan(0x1.34d9ap+102)) <= 0.51);
  assert_true(error_of(dq_tan_one(0x1.fffffep+127f), tan(0x1.fffffep+127)) <= 0.51);
  assert_true(error_of(dq_tan_one(0x1.921fb6p+0f), tan(0x1.921fb6p+0)) <= 0.51);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bits_are_those_recorded),
      cmocka_unit_test(errors_are_small),
      cmocka_unit_test(signs_of_zeros),
      cmocka_unit_test(tangent_of_large_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
