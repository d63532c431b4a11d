// Small things that many files share: rows of tables by their names, orders for sorting, sets that are joined.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lib/base/order.h"
#include "lib/base/sizes.h"
#include "lib/measure/spread.h"
#include "lib/text/find_row.h"
#include "quant/numeric/sets.h"

static void rows_by_name(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double value;
  } rows[] = {{"one", 1}, {"two", 2}, {"two", 3}, {NULL, 0}, {"behind the end", 4}};
  static const char *const words[] = {"", "Relu", "Clip"};
  assert_int_equal(dq_find_row("one", rows, sizeof *rows, DQ_COUNT(rows)), 0);
  assert_int_equal(dq_find_row("two", rows, sizeof *rows, DQ_COUNT(rows)), 1);
  assert_int_equal(dq_find_row("two", rows, sizeof *rows, 1), -1);
  assert_int_equal(dq_find_row("behind the end", rows, sizeof *rows, DQ_COUNT(rows)), -1);
  assert_int_equal(dq_find_row("Clip", words, sizeof *words, DQ_COUNT(words)), 2);
  assert_int_equal(dq_find_row("", words, sizeof *words, DQ_COUNT(words)), 0);
  assert_int_equal(dq_find_row("clip", words, sizeof *words, DQ_COUNT(words)), -1);
  assert_int_equal(dq_find_row("Clip", NULL, sizeof *words, 0), -1);
}

static void orders(void **state) {
  (void)state;
  dq_ranked list[] = {{0.5, 0}, {NAN, 1}, {0.75, 2}, {INFINITY, 3}, {0.75, 4}, {NAN, 5}, {-1, 6}};
  const int64_t ranks[] = {3, 2, 4, 0, 6, 1, 5};
  qsort(list, DQ_COUNT(list), sizeof *list, dq_compare_ranked);
  for (int i = 0; i < DQ_COUNT(list); i++) assert_int_equal(list[i].index, ranks[i]);
  const char *texts[] = {"b", "\xc3\xa4", "ab", "", "B"};
  const char *const sorted[] = {"", "B", "ab", "b", "\xc3\xa4"}; // by bytes: capitals first, umlauts last
  qsort(texts, DQ_COUNT(texts), sizeof *texts, dq_compare_texts);
  for (int i = 0; i < DQ_COUNT(texts); i++) assert_string_equal(texts[i], sorted[i]);
}

static void largest_numbers(void **state) {
  (void)state;
  assert_true(dq_largest((const double[]){-1, NAN, 3, 2}, 4) == 3);
  assert_true(dq_largest((const double[]){-1, -2}, 2) == 0);
  assert_true(dq_largest(NULL, 0) == 0);
}

static void sums_at_the_end(void **state) {
  (void)state;
  assert_true(dq_add_clamped_i64(INT64_MAX - 1, 1) == INT64_MAX);
  assert_true(dq_add_clamped_i64(INT64_MAX, 1) == INT64_MAX);
  assert_true(dq_add_clamped_i64(2, 3) == 5);
}

static void joined_sets(void **state) {
  (void)state;
  int parents[] = {0, 0, 1, 2, 3, 5}; // a chain of 0 to 4, and 5 alone
  assert_int_equal(dq_set_of(parents, 4), 0);
  assert_int_equal(dq_set_of(parents, 5), 5);
  assert_true(parents[4] == 2); // the way is half as long now
  parents[dq_set_of(parents, 5)] = dq_set_of(parents, 3);
  for (int i = 0; i < DQ_COUNT(parents); i++) assert_int_equal(dq_set_of(parents, i), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_by_name), cmocka_unit_test(orders),
                                     cmocka_unit_test(largest_numbers), cmocka_unit_test(sums_at_the_end),
                                     cmocka_unit_test(joined_sets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
