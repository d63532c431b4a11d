// Files of Pascal VOC: what they say comes out as objects, and what is broken is named with the object.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "datasets/datasets.h"
#include "tests/unit/data_folder.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)
#define COUNT(list) (sizeof(list) / sizeof *(list))
#define BOX(x1, y1, x2, y2)                                                                                            \
  "<bndbox><xmin>" #x1 "</xmin><ymin>" #y1 "</ymin><xmax>" #x2 "</xmax><ymax>" #y2 "</ymax></bndbox>"
#define OBJECT(name, more) "<object><name>" name "</name>" more "</object>"
#define FILE_OF(objects) "<annotation><size><width>2</width></size>" objects "</annotation>"

static const dq_data_options plain = {.spec = "voc", .preset = "vww"};

static dq_objects objects_of(const dq_data *data, int64_t picture) {
  dq_sample_info info;
  dq_objects objects;
  assert_int_equal(dq_data_read(data, picture, NULL, &info, &folder_error), DQ_OK);
  if (dq_sample_objects(&objects, &info, NULL, &folder_error) != DQ_OK) fail_msg("%s", folder_error.message);
  return objects;
}

static int enter(void **state) {
  if (folder_enter(state)) return -1;
  mkdir("voc", 0777), mkdir("voc/JPEGImages", 0777), mkdir("voc/Annotations", 0777);
  folder_put("voc/JPEGImages/a.ppm", "P6 2 1 255\n\0\0\0\xff\x80\x40", 17);
  folder_put("voc/JPEGImages/b.ppm", "P6 2 1 255\n\0\0\0\xff\x80\x40", 17);
  folder_put("voc/JPEGImages/c.ppm", "P6 2 1 255\n\0\0\0\xff\x80\x40", 17);
  return 0;
}

// Pixels count from 1 with both corners inside; parts of objects and other elements are left alone; names are classes
// in sorted order, and a picture without a file has no objects.
static void files_of_objects(void **state) {
  (void)state;
  dq_data *data;
  folder_put_text("voc/Annotations/a.xml",
                  "<?xml version=\"1.0\"?>\n" FILE_OF(
                      OBJECT(" dog\n", "<part><name>head</name>" BOX(1, 1, 9, 9) "</part><pose>Left</pose>" BOX(
                                           1, 2, 4, 6) "<difficult>1</difficult>") OBJECT("cat", BOX(2.5, 1, 3.5, 1))));
  folder_put_text("voc/Annotations/b.xml", FILE_OF(OBJECT("ant", BOX(1, 1, 1, 1) "<difficult>0</difficult>")));
  if (folder_open(&data, plain) != DQ_OK) fail_msg("%s", folder_error.message);
  assert_int_equal(dq_data_labelled(data), DQ_LABEL_BOXES);
  assert_int_equal(dq_data_classes(data), 3);
  assert_string_equal(dq_data_class_name(data, 0), "ant");
  assert_string_equal(dq_data_class_name(data, 2), "dog");
  dq_objects a = objects_of(data, 0), b = objects_of(data, 1), c = objects_of(data, 2);
  assert_true(a.count == 2 && b.count == 1 && c.count == 0);
  const dq_object *dog = &a.items[0], *cat = &a.items[1];
  assert_true(dog->class == 2 && dog->difficult && dog->keeps && !dog->crowd);
  NEAR(dog->left, 0), NEAR(dog->top, 1), NEAR(dog->right, 4), NEAR(dog->bottom, 6);
  NEAR(dog->width, 4), NEAR(dog->height, 5), NEAR(dog->area, 20);
  assert_true(cat->class == 1 && !cat->difficult);
  NEAR(cat->left, 1.5), NEAR(cat->width, 2), NEAR(cat->height, 1);
  assert_true(b.items[0].class == 0 && !b.items[0].difficult);
  folder_error.message[0] = 0;
  dq_objects_place(&a, 1, DQ_BAD_INPUT, &folder_error);
  assert_string_equal(folder_error.message, "voc/Annotations/a.xml: object 2: ");
  dq_objects_free(&a), dq_objects_free(&b), dq_objects_free(&c);
  dq_data_free(data);
}

// A file of names tells the classes; a list and a folder of labels take XML files as well.
static void other_ways(void **state) {
  (void)state;
  dq_data *data;
  dq_data_options options = plain;
  folder_put_text("voc/Annotations/a.xml", FILE_OF(OBJECT("dog", BOX(1, 1, 1, 1))));
  folder_put_text("voc/Annotations/b.xml", FILE_OF(""));
  folder_put_text("names.txt", "zebra\ndog\n");
  options.labels = "names.txt";
  if (folder_open(&data, options) != DQ_OK) fail_msg("%s", folder_error.message);
  dq_objects objects = objects_of(data, 0);
  assert_int_equal(objects.items[0].class, 1);
  dq_objects_free(&objects);
  dq_data_free(data);
  folder_put_text("names.txt", "zebra\n");
  folder_refuses(options, DQ_BAD_INPUT, "voc/Annotations/a.xml: object 1: class 'dog' is not among the names");
  options.spec = "voc/JPEGImages", options.labels = "voc/Annotations";
  if (folder_open(&data, options) != DQ_OK) fail_msg("%s", folder_error.message);
  assert_string_equal(dq_data_class_name(data, 0), "dog");
  dq_data_free(data);
  folder_put_text("voc/list.txt", "JPEGImages/b.ppm Annotations/a.xml\nJPEGImages/a.ppm Annotations/b.xml\n");
  if (folder_open(&data, (dq_data_options){.spec = "voc/list.txt", .preset = "vww"}) != DQ_OK)
    fail_msg("%s", folder_error.message);
  objects = objects_of(data, 0);
  assert_int_equal(objects.count, 1);
  dq_objects_free(&objects);
  dq_data_free(data);
  folder_put_text("voc/Annotations/b.txt", "0 0.5 0.5 1 1\n");
  unlink("voc/Annotations/b.xml");
  folder_refuses(plain, DQ_BAD_INPUT, "boxes in two forms, expected one");
  unlink("voc/Annotations/b.txt");
}

// A class that came in after the data were opened is no class.
static void files_that_change(void **state) {
  (void)state;
  dq_data *data;
  dq_sample_info info;
  dq_objects objects;
  folder_put_text("voc/Annotations/a.xml", FILE_OF(OBJECT("dog", BOX(1, 1, 1, 1))));
  if (folder_open(&data, plain) != DQ_OK) fail_msg("%s", folder_error.message);
  folder_put_text("voc/Annotations/a.xml", FILE_OF(OBJECT("elk", BOX(1, 1, 1, 1))));
  assert_int_equal(dq_data_read(data, 0, NULL, &info, &folder_error), DQ_OK);
  assert_int_equal(dq_sample_objects(&objects, &info, NULL, &folder_error), DQ_BAD_INPUT);
  assert_non_null(strstr(folder_error.message, "a.xml: object 1: class 'elk' was not there when the data were opened"));
  dq_data_free(data);
}

static void broken_files(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", "line 1: no element found"},
      {"<annotation>\n<object>", "line 2: no element found"},
      {"<annotation></object>", "line 1: mismatched tag"},
      {"<html/>", "the first element is 'html', expected 'annotation'"},
      {"<!DOCTYPE a [<!ENTITY b \"c\">]><annotation>&b;</annotation>", "the type 'a' has declarations of its own"},
      {"<!DOCTYPE a [<!ENTITY % b \"c\">]><annotation/>", "the type 'a' has declarations of its own"},
      {"<annotation>&b;</annotation>", "line 1: undefined entity"},
      {"<annotation><object/></annotation>", "object 1: no 'xmin', expected name and bndbox with xmin, ymin"},
      {FILE_OF(OBJECT("a", BOX(1, 1, 2, 2)) "<object>" BOX(1, 1, 2, 2) "</object>"), "object 2: no 'name'"},
      {FILE_OF(OBJECT("", BOX(1, 1, 2, 2))), "object 1: 'name' is empty"},
      {FILE_OF(OBJECT("a", "<bndbox><xmin>1</xmin></bndbox>")), "object 1: no 'ymin'"},
      {FILE_OF(OBJECT("a", "<xmin>1</xmin>")), "object 1: no 'xmin'"}, // outside of a bndbox
      {FILE_OF(OBJECT("a", BOX(1, one, 2, 2))), "object 1: 'ymin' is 'one', expected a number"},
      {FILE_OF(OBJECT("a", BOX(1, , 2, 2))), "object 1: 'ymin' is '', expected a number"},
      {FILE_OF(OBJECT("a", BOX(1, 2 3, 2, 2))), "object 1: 'ymin' is '2 3', expected a number"},
      {FILE_OF(OBJECT("a", BOX(1, nan, 2, 2))), "object 1: 'ymin' is 'nan', expected a number"},
      {FILE_OF(OBJECT("a", BOX(1, 1e99, 2, 2))), "object 1: 'ymin' is '1e99', expected a number"},
      {FILE_OF(OBJECT("a", BOX(3, 1, 2, 2))), "object 1: the box is from 3, 1 to 2, 2, expected xmin <= xmax"},
      {FILE_OF(OBJECT("a", BOX(1, 3, 2, 2))), "object 1: the box is from 1, 3 to 2, 2"},
      {FILE_OF(OBJECT("a", BOX(1, 1, 2, 2) "<difficult>yes</difficult>")), "object 1: 'difficult' is 'yes'"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    folder_put_text("voc/Annotations/a.xml", cases[i][0]);
    folder_refuses(plain, DQ_BAD_INPUT, cases[i][1]);
    if (strncmp(folder_error.message, "voc/Annotations/a.xml: ", 23)) fail_msg("no file in '%s'", folder_error.message);
  }
}

// Texts, depths and files are bounded.
static void large_files(void **state) {
  (void)state;
  enum { LARGE = (16 << 20) + 1 };
  char *text = malloc(LARGE + 1);
  memset(text, ' ', LARGE);
  folder_put("voc/Annotations/a.xml", text, LARGE);
  folder_refuses(plain, DQ_BAD_INPUT, "a.xml: 16777217 bytes, expected at most 16777216");
  strcpy(text, "<annotation>");
  for (int i = 0; i < 100; i++) strcat(text, "<a>");
  folder_put_text("voc/Annotations/a.xml", text);
  folder_refuses(plain, DQ_BAD_INPUT, "a.xml: elements stand in each other 101 deep");
  strcpy(text, "<annotation><object><name>");
  memset(text + strlen(text), 'x', 256);
  strcpy(strchr(text, 'x') + 256, "</name></object></annotation>");
  folder_put_text("voc/Annotations/a.xml", text);
  folder_refuses(plain, DQ_BAD_INPUT, "a.xml: object 1: 'name' has more than 255 bytes");
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(files_of_objects), cmocka_unit_test(other_ways),
                                     cmocka_unit_test(files_that_change), cmocka_unit_test(broken_files),
                                     cmocka_unit_test(large_files)};
  return cmocka_run_group_tests(tests, enter, folder_leave);
}
