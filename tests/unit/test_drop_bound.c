// How much accuracy other pictures lose.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/verdict/drop_bound.h"

static void near(double value, double expected, double distance) {
  if (!(fabs(value - expected) <= distance)) print_error("%.6f, expected %.6f\n", value, expected);
  assert_true(fabs(value - expected) <= distance);
}

// Of `pictures` all are right in a part, but for those of the first part that `wrong` tells.
static dq_result result_of(int64_t pictures, int64_t wrong) {
  const double part = (double)pictures / DQ_RESULT_PARTS, others = (double)pictures - part, all = (double)pictures;
  dq_result result = {.task = "classify", .pictures = pictures, .count = 1, .points = 1, .has_parts = true};
  result.figures[0] = (dq_figure){"top-1", "top1", 100 * (all - (double)wrong) / all, "%", 2};
  for (int p = 0; p < DQ_RESULT_PARTS; p++) result.without[p] = p ? 100 * (others - (double)wrong) / others : 100;
  return result;
}

// 10 of 1600 are lost, all in one of 16 parts: 0.625 points. Without this part 0 are, without another one 2/3: the
// standard error is sqrt(15 / 16 (0.625^2 + 15 (2/3 - 0.625)^2)) = 0.625, and Student's t 2.13145 times that.
static void losses_in_one_part(void **state) {
  (void)state;
  const dq_result before = result_of(1600, 0), after = result_of(1600, 10);
  dq_drop_bound bound = dq_drop_bound_of(&before, &after, 1);
  near(bound.high, 0.625 + 1.33216, 1e-4);
  near(bound.pictures, 1600 * (1.33216 / 0.375) * (1.33216 / 0.375), 1);
  bound = dq_drop_bound_of(&before, &after, 0.625);
  assert_true(isinf(bound.pictures));
}

// Where nothing is lost, chance may hide 1 - 0.025^(1/160) = 2.279 % of all pictures, and 1 % as long as there are
// fewer than ln 0.025 / ln 0.99 = 367.
static void nothing_is_lost(void **state) {
  (void)state;
  const dq_result same = result_of(160, 0);
  const dq_drop_bound bound = dq_drop_bound_of(&same, &same, 1);
  near(bound.high, 2.2791, 1e-3);
  near(bound.pictures, 367.04, 0.01);
  near(dq_drop_bound_of(&same, &same, 100).pictures, 1, 0);
  assert_true(isinf(dq_drop_bound_of(&same, &same, 0).pictures));
}

static void agreement(void **state) {
  (void)state;
  dq_result before = {.task = "agreement", .pictures = 16, .count = 1, .points = 1}, after = before;
  before.figures[0] = (dq_figure){"agreement", "agreement", 100, "%", 4};
  after.figures[0] = before.figures[0], after.low = 80.64;
  dq_drop_bound bound = dq_drop_bound_of(&before, &after, 5);
  near(bound.high, 19.36, 1e-9);
  near(bound.pictures, 73, 0); // of which all are kept
  after.figures[0].value = 90, after.low = 70;
  bound = dq_drop_bound_of(&before, &after, 20);
  near(bound.high, 30, 1e-9);
  near(bound.pictures, 64, 1e-9);
  assert_true(isinf(dq_drop_bound_of(&before, &after, 10).pictures));
}

static void figures_without_parts(void **state) {
  (void)state;
  const dq_result with = result_of(160, 0);
  dq_result without = with;
  without.has_parts = false;
  assert_true(isnan(dq_drop_bound_of(&with, &without, 1).high));
  assert_true(isnan(dq_drop_bound_of(&without, &with, 1).high));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(losses_in_one_part), cmocka_unit_test(nothing_is_lost),
                                     cmocka_unit_test(agreement), cmocka_unit_test(figures_without_parts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
