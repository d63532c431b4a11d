// What trials remember of the range search: the ranges of one setting are not those of another.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "quant/int8/facts.h"

static void searched_ranges_are_those_of_their_setting(void **state) {
  (void)state;
  static const dq_int8_input nothing = {0};
  dq_value_choice choices[] = {{.slot = 1, .range = {-1, 2}}, {.slot = -1}, {.slot = 0, .range = {0, 3}}};
  dq_observed observed = {0};
  dq_error error = {0};
  dq_int8_job job = {.in = &nothing,
                     .setting = {.method = dq_observer_find("mse"), .margins = true},
                     .error = &error,
                     .arena = dq_arena_new(NULL),
                     .choices = choices,
                     .value_count = 3,
                     .observed = &observed};
  assert_int_equal(dq_observed_open(&observed, DQ_EQUALIZE_NONE, false, false, NULL, &error), DQ_OK);
  assert_null(dq_int8_searched_ranges(&job));
  assert_int_equal(dq_int8_store_searched_ranges(&job, 2), DQ_OK);
  const dq_range_pair *ranges = dq_int8_searched_ranges(&job);
  assert_non_null(ranges);
  assert_true(ranges[0].low == 0 && ranges[0].high == 3 && ranges[1].low == -1 && ranges[1].high == 2);

  job.setting.margins = false;
  assert_null(dq_int8_searched_ranges(&job));
  job.setting.margins = true, job.setting.method = dq_observer_find("minmax");
  assert_null(dq_int8_searched_ranges(&job));
  job.setting.method = dq_observer_find("mse");
  assert_ptr_equal(dq_int8_searched_ranges(&job), ranges);
  dq_observed_close(&observed);
  dq_arena_free(job.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(searched_ranges_are_those_of_their_setting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
