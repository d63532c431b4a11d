// Adaptive rounding of small layers worked by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/linalg/linalg.h"
#include "quant/numeric/rounding.h"

static const dq_context context = {0};

// Two inputs that are always equal: w = (0.4, 0.4) in steps of 1 gives 0.8 x. Each rounded to the nearest it
// gives 0; rounded together 1 x, which is closer. The input that is rounded last makes up for the other.
static void together_is_better_than_each(void **state) {
  (void)state;
  const double gram[] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, weights[] = {0.4, 0.4};
  const float scale = 1;
  int8_t elements[] = {0, 0};
  dq_rounding_task task = {.type = &dq_weight_type_int8,
                           .outputs = 1,
                           .inputs = 2,
                           .gram = gram,
                           .weights = weights,
                           .scales = &scale,
                           .elements = elements};
  dq_error error;
  assert_int_equal(dq_round_adaptive(&task, &context, &error), DQ_OK);
  assert_int_equal(elements[0], 1);
  assert_int_equal(elements[1], 0);
}

// Two inputs of which the first counts little, w = (100, 60) in steps of 1 with safe pairs: rounded to the nearest
// pair that is one, (68, 60). The rule holds: 68 has no room above, and 128 - 68 = 60 leaves the second none either.
static void pairs_stay_safe(void **state) {
  (void)state;
  const double gram[] = {1, 0, 0, 0, 100, 0, 0, 0, 1}, weights[] = {100, 60};
  const float scale = 1;
  const dq_block_rule pairs = DQ_PAIR_RULE;
  const dq_taps taps = {1, 2, 2, 1, 2, 1};
  int8_t elements[] = {70, 58};
  dq_rounding_task task = {.type = &dq_weight_type_int8,
                           .outputs = 1,
                           .inputs = 2,
                           .gram = gram,
                           .weights = weights,
                           .scales = &scale,
                           .elements = elements,
                           .rule = &pairs,
                           .taps = &taps};
  dq_error error;
  assert_int_equal(dq_round_adaptive(&task, &context, &error), DQ_OK);
  assert_true(dq_block_allowed(&pairs, elements, 2));
  assert_int_equal(elements[0] + elements[1], 128);
  task.rule = NULL;
  assert_int_equal(dq_round_adaptive(&task, &context, &error), DQ_OK);
  assert_int_equal(elements[0], 100);
  assert_int_equal(elements[1], 60);
}

// Inputs that never change: the bias takes all of it, 0.5 + 0.4 * 2 + 0.4 * 3 = 2.5, or brings the mean to
// that of the float network, 5.
static void the_bias_takes_the_mean(void **state) {
  (void)state;
  const double gram[] = {16, 24, 8, 24, 36, 12, 8, 12, 4}, weights[] = {0.4, 0.4};
  const double responses[] = {40, 60, 20};
  const float scale = 1;
  int8_t elements[] = {0, 0};
  double bias = 0.5;
  dq_rounding_task task = {.type = &dq_weight_type_int8,
                           .outputs = 1,
                           .inputs = 2,
                           .gram = gram,
                           .weights = weights,
                           .scales = &scale,
                           .elements = elements,
                           .bias = &bias};
  dq_error error;
  assert_int_equal(dq_round_adaptive(&task, &context, &error), DQ_OK);
  assert_int_equal(elements[0], 0);
  assert_int_equal(elements[1], 0);
  assert_float_equal(bias, 2.5, 1e-12);
  task.responses = responses;
  assert_int_equal(dq_round_adaptive(&task, &context, &error), DQ_OK);
  assert_float_equal(bias, 5, 1e-12);
}

// Inputs -1 and 1 for which the float network has -0.5 and 0.5: a weight of 1 is drawn to
// 1 - 0.5 / (1 + 0.3) = 0.6154, 62 steps of 0.01.
static void follows_the_float_network(void **state) {
  (void)state;
  const double gram[] = {2, 0, 0, 2}, weights[] = {1}, responses[] = {1, 0};
  const float scale = 0.01f;
  int8_t elements[] = {100};
  double bias = 0;
  dq_rounding_task task = {.type = &dq_weight_type_int8,
                           .outputs = 1,
                           .inputs = 1,
                           .gram = gram,
                           .responses = responses,
                           .weights = weights,
                           .scales = &scale,
                           .elements = elements,
                           .bias = &bias};
  dq_error error;
  assert_int_equal(dq_round_adaptive(&task, &context, &error), DQ_OK);
  assert_int_equal(elements[0], 100); // its mean alone
  task.refit = true;
  assert_int_equal(dq_round_adaptive(&task, &context, &error), DQ_OK);
  assert_int_equal(elements[0], 62);
  assert_float_equal(bias, 0, 1e-12);
}

// Variances of 100 and, as sums of large means cancel, of -2: a hundredth of their mean is too little damping, a tenth
// is enough. Inputs that do not depend on each other are rounded to the nearest each. Variances that no damping makes
// positive are an error.
static void more_damping_where_sums_cancel(void **state) {
  (void)state;
  double gram[] = {100, 0, 0, 0, -2, 0, 0, 0, 1};
  const double weights[] = {0.6, 1.3};
  const float scale = 1;
  int8_t elements[] = {1, 1};
  dq_rounding_task task = {.type = &dq_weight_type_int8,
                           .outputs = 1,
                           .inputs = 2,
                           .gram = gram,
                           .weights = weights,
                           .scales = &scale,
                           .elements = elements};
  dq_error error;
  assert_int_equal(dq_round_adaptive(&task, &context, &error), DQ_OK);
  assert_true(elements[0] == 1 && elements[1] == 1);
  gram[4] = -99;
  assert_int_equal(dq_round_adaptive(&task, &context, &error), DQ_BAD_INPUT);
}

// (4 2 / 2 5) = R^T R with R = (2 1 / 0 2), and (4 2 / 2 5) (1, 2) = (8, 12).
static void factor_by_hand(void **state) {
  (void)state;
  double a[] = {4, 2, 0, 5}, x[] = {8, 12}, singular[] = {1, 1, 1, 1};
  dq_error error;
  assert_int_equal(dq_factor_symmetric(2, a, &error), DQ_OK);
  const double expected[] = {2, 1, 1, 2};
  for (int i = 0; i < 4; i++) assert_float_equal(a[i], expected[i], 1e-15);
  dq_solve_factored(2, a, x);
  assert_float_equal(x[0], 1, 1e-15);
  assert_float_equal(x[1], 2, 1e-15);
  assert_int_equal(dq_factor_symmetric(2, singular, &error), DQ_BAD_INPUT);
}

enum { OUTPUTS = 3, INPUTS = 8 };

// Weights within +-64, whose pairs are all safe, each rounded to the nearest.
static void fill_weights(double *weights, int8_t *elements) {
  dq_random random = dq_random_start(5, 0);
  for (int i = 0; i < OUTPUTS * INPUTS; i++) {
    weights[i] = 128 * ((double)dq_random_float(&random) - 0.5);
    elements[i] = (int8_t)nearbyint(weights[i]);
  }
}

// Of 20 samples of inputs that depend on each other.
static void fill_gram(double *gram) {
  dq_random random = dq_random_start(6, 0);
  for (int s = 0; s < 20; s++) {
    double x[INPUTS + 1] = {[INPUTS] = 1};
    for (int i = 0; i < INPUTS; i++) x[i] = (double)dq_random_normal(&random) + (i ? x[i - 1] : 1);
    for (int i = 0; i <= INPUTS; i++)
      for (int j = 0; j <= INPUTS; j++) gram[i * (INPUTS + 1) + j] += x[i] * x[j];
  }
}

// What every row of the table keeps: the rule on blocks, the reach, and the mean of the sums by the bias.
static void every_method_keeps_the_rules(void **state) {
  (void)state;
  double weights[OUTPUTS * INPUTS], gram[(INPUTS + 1) * (INPUTS + 1)] = {0};
  int8_t nearest[OUTPUTS * INPUTS], elements[OUTPUTS * INPUTS];
  const float scales[OUTPUTS] = {1, 1, 1};
  const dq_block_rule pairs = DQ_PAIR_RULE;
  const dq_taps taps = {OUTPUTS, INPUTS, INPUTS, 1, INPUTS, 1};
  int methods = 0;
  fill_weights(weights, nearest), fill_gram(gram);
  for (int m = 0; dq_rounding_method_at(m); m++) {
    const dq_rounding_method *method = dq_rounding_method_at(m);
    assert_ptr_equal(dq_rounding_method_find(method->name), method);
    assert_true(method->help[0] && (m > 0) == !dq_rounds_to_nearest(method));
    if (dq_rounds_to_nearest(method)) continue;
    double bias[OUTPUTS] = {1, 2, 3};
    memcpy(elements, nearest, sizeof elements);
    dq_rounding_task task = {.type = &dq_weight_type_int8,
                             .outputs = OUTPUTS,
                             .inputs = INPUTS,
                             .gram = gram,
                             .weights = weights,
                             .scales = scales,
                             .elements = elements,
                             .rule = &pairs,
                             .taps = &taps,
                             .bias = bias};
    dq_error error;
    assert_int_equal(method->round(&task, &context, &error), DQ_OK);
    assert_true(dq_blocks_allowed(&taps, elements, &pairs));
    for (int o = 0; o < OUTPUTS; o++) {
      double shift = bias[o] - (o + 1);
      for (int i = 0; i < INPUTS; i++) {
        assert_true(abs(elements[o * INPUTS + i] - nearest[o * INPUTS + i]) <= DQ_ROUNDING_REACH);
        shift += (elements[o * INPUTS + i] - weights[o * INPUTS + i]) * gram[i * (INPUTS + 1) + INPUTS] / 20;
      }
      assert_true(fabs(shift) < 1e-9);
    }
    methods++;
  }
  assert_true(methods > 0);
  assert_null(dq_rounding_method_find("abacus"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method_keeps_the_rules),
      cmocka_unit_test(together_is_better_than_each),
      cmocka_unit_test(pairs_stay_safe),
      cmocka_unit_test(the_bias_takes_the_mean),
      cmocka_unit_test(follows_the_float_network),
      cmocka_unit_test(more_damping_where_sums_cancel),
      cmocka_unit_test(factor_by_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
