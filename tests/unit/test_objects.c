// True objects of pictures: what files say comes out as boxes in pixels, and what is broken names the place.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "datasets/objects/objects.h"
#include "tests/unit/data_folder.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

// A line of a text file is a centre and a size, relative to the picture.
static void lines_of_boxes(void **state) {
  (void)state;
  dq_objects objects;
  dq_error error;
  folder_put_text("boxes.txt", "\r\n3 0.5 0.5 0.25 0.5\r\n\n0 0.1 0.25 0.2 0.5 \n");
  const dq_object_file file = {.path = "boxes.txt", .width = 200, .height = 100};
  assert_int_equal(dq_objects_read(&objects, &file, NULL, &error), DQ_OK);
  assert_int_equal(objects.count, 2);
  const dq_object *first = &objects.items[0], *second = &objects.items[1];
  assert_int_equal(first->class, 3);
  NEAR(first->left, 75), NEAR(first->top, 25), NEAR(first->right, 125), NEAR(first->bottom, 75);
  NEAR(first->width, 50), NEAR(first->height, 50), NEAR(first->area, 2500);
  assert_false(first->crowd || first->difficult || first->polygons || first->mask || first->keypoints);
  assert_int_equal(second->class, 0);
  NEAR(second->left, 0), NEAR(second->bottom, 50);
  error.message[0] = 0;
  assert_int_equal(dq_objects_place(&objects, 1, DQ_BAD_INPUT, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "boxes.txt: line 4: ");
  dq_objects_free(&objects);
  dq_objects_free(&objects); // nothing is left
}

// A picture without a file has no objects; a file that is not there, or a class that is none, is a failure.
static void files_that_are_not_there(void **state) {
  (void)state;
  dq_objects objects;
  dq_error error;
  dq_object_file file = {.width = 1, .height = 1};
  assert_int_equal(dq_objects_read(&objects, &file, NULL, &error), DQ_OK);
  assert_int_equal(objects.count, 0);
  dq_objects_free(&objects);
  file.path = "missing.txt";
  assert_int_equal(dq_objects_read(&objects, &file, NULL, &error), DQ_SYSTEM);
  folder_put_text("boxes.txt", "1e300 0.5 0.5 0.25 0.5\n");
  file.path = "boxes.txt";
  assert_int_equal(dq_objects_read(&objects, &file, NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "boxes.txt: line 1: class 1e+300, expected at most 2147483647");
  dq_budget budget = {.limit = 1000};
  folder_put_text("boxes.txt", "1 0.5 0.5 0.25 0.5\n");
  assert_int_equal(dq_objects_read(&objects, &file, &budget, &error), DQ_SYSTEM);
  assert_int_equal(budget.used, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lines_of_boxes), cmocka_unit_test(files_that_are_not_there)};
  return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
