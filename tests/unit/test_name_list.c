// Numbers by name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/graph/name_list.h"

// Of a name that stands there several times the least number is found, in whatever order they were added.
static void least_numbers(void **state) {
  (void)state;
  static const char *const names[] = {"b", "a", "c", "a", "", "b", "a"};
  dq_arena *arena = dq_arena_new(NULL);
  dq_name_list list, none = {0};
  assert_true(dq_name_list_new(&list, 7, arena));
  for (int i = 6; i >= 0; i--) dq_name_list_add(&list, names[i], i);
  dq_name_list_sort(&list);
  assert_int_equal(dq_name_list_find(&list, "a"), 1);
  assert_int_equal(dq_name_list_find(&list, "b"), 0);
  assert_int_equal(dq_name_list_find(&list, "c"), 2);
  assert_int_equal(dq_name_list_find(&list, ""), 4);
  assert_int_equal(dq_name_list_find(&list, "aa"), -1);
  assert_int_equal(dq_name_list_find(&list, "d"), -1);
  assert_int_equal(dq_name_list_find(&none, "a"), -1);
  dq_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(least_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
