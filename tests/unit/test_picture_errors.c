// Errors by picture: sums of choices of pictures.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/verdict/evaluator.h"

enum { OUTPUTS = 2, CHANNELS = 2 };

// Picture p has signals of 1 and 10 and noises of p and 2 p in output 1.
static void fill(dq_picture_errors *table, int64_t pictures, dq_arena *arena) {
  assert_int_equal(dq_picture_errors_open(table, OUTPUTS, pictures, arena, NULL), DQ_OK);
  for (int64_t p = 0; p < pictures; p++) {
    double signal[CHANNELS] = {1, 10}, noise[CHANNELS] = {(double)p, 2 * (double)p};
    const dq_output_error one = {signal, noise, CHANNELS};
    assert_int_equal(dq_picture_errors_add(table, p, 1, &one, arena, NULL), DQ_OK);
    dq_row_error *row = dq_picture_errors_at(table, p, 1);
    row->answers += 2, row->equal += p % 2;
  }
}

static void check_sum(const dq_picture_errors *table, double signal, double noise, int64_t answers, int64_t equal,
                      dq_arena *arena) {
  dq_row_error sum = {0};
  assert_int_equal(dq_picture_errors_sum(table, 1, &sum, arena, NULL), DQ_OK);
  assert_int_equal(sum.error.channels, CHANNELS);
  assert_true(sum.error.signal[0] == signal && sum.error.noise[1] == noise);
  assert_int_equal(sum.answers, answers);
  assert_int_equal(sum.equal, equal);
}

static void sums_over_pictures(void **state) {
  (void)state;
  dq_arena *arena = dq_arena_new(0);
  dq_picture_errors table;
  dq_row_error nothing = {0};
  fill(&table, 4, arena);
  assert_int_equal(table.rows, 4);
  check_sum(&table, 4, 2 * (0 + 1 + 2 + 3), 8, 2, arena);
  assert_int_equal(dq_picture_errors_sum(&table, 0, &nothing, arena, NULL), DQ_OK); // of which nothing was added
  assert_int_equal(nothing.error.channels, 0);
  dq_picture_errors_clear(&table);
  check_sum(&table, 0, 0, 0, 0, arena);
  dq_arena_free(arena);
}

// Of 1000 pictures number 3 and 515 share a row.
static void many_pictures_share_rows(void **state) {
  (void)state;
  dq_arena *arena = dq_arena_new(0);
  dq_picture_errors table;
  fill(&table, 1000, arena);
  assert_int_equal(table.rows, 512);
  assert_true(dq_picture_errors_at(&table, 3, 1)->error.noise[0] == 3 + 515);
  assert_ptr_equal(dq_picture_errors_at(&table, 515, 1), dq_picture_errors_at(&table, 3, 1));
  check_sum(&table, 1000, 2 * 499500.0, 2000, 500, arena);
  dq_arena_free(arena);
}

static void pictures_are_taken(void **state) {
  (void)state;
  dq_arena *arena = dq_arena_new(0);
  dq_picture_errors from, to, copy;
  fill(&from, 4, arena);
  fill(&to, 2, arena);
  from.is_broken[3] = true;
  assert_int_equal(dq_picture_errors_take(&to, 0, &from, 3, arena, NULL), DQ_OK);
  check_sum(&to, 2, 2 * (3 + 1), 4, 2, arena);
  assert_true(to.is_broken[0] && !to.is_broken[1]);
  assert_int_equal(dq_picture_errors_broken(&to), 1);
  assert_int_equal(dq_picture_errors_copy(&copy, &to, arena, NULL), DQ_OK);
  dq_picture_errors_clear(&to);
  check_sum(&copy, 2, 2 * (3 + 1), 4, 2, arena);
  assert_int_equal(dq_picture_errors_broken(&copy), 1);
  assert_int_equal(dq_picture_errors_broken(&to), 0);
  dq_arena_free(arena);
}

// Channels have 10 log10(4 / 6) and 10 log10(40 / 12) of all pictures; without the last one 3 / 3 and 30 / 6. Output 0
// has no signal. Of a detector the mean noise of the others counts.
static void figures_without_a_picture(void **state) {
  (void)state;
  dq_arena *arena = dq_arena_new(0);
  dq_picture_errors table;
  const double noise[] = {0.1, 0.2, 0.3, 100};
  double decibels;
  fill(&table, 4, arena);
  dq_evaluator evaluator = {.what = {.count = OUTPUTS}};
  assert_int_equal(dq_evaluator_decibels(&evaluator, &table, noise, 3, &decibels, arena, NULL), DQ_OK);
  assert_true(fabs(decibels - 10 * (log10(1) + log10(5)) / 2) < 1e-9);
  evaluator.detects = true;
  assert_int_equal(dq_evaluator_decibels(&evaluator, &table, noise, 3, &decibels, arena, NULL), DQ_OK);
  assert_true(fabs(decibels + 10 * log10(0.2)) < 1e-9);
  dq_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_over_pictures),
      cmocka_unit_test(many_pictures_share_rows),
      cmocka_unit_test(pictures_are_taken),
      cmocka_unit_test(figures_without_a_picture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
