// data.yaml of YOLO: which pictures, boxes and names it means, and what of it is broken.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "datasets/datasets.h"
#include "tests/unit/data_folder.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const dq_data_options plain = {.spec = "yolo:set/data.yaml", .preset = "vww"};

// set/images/val has a.ppm and b.ppm, of which a has boxes, set/images/train c.ppm, with boxes of two objects.
static int enter(void **state) {
  static const char *const folders[] = {"set",        "set/images",     "set/images/val",  "set/images/train",
                                        "set/labels", "set/labels/val", "set/labels/train"};
  static const char *const pictures[] = {"set/images/val/a.ppm", "set/images/val/b.ppm", "set/images/train/c.ppm"};
  if (folder_enter(state)) return -1;
  for (size_t i = 0; i < COUNT(folders); i++) mkdir(folders[i], 0777);
  for (size_t i = 0; i < COUNT(pictures); i++) folder_put(pictures[i], "P6 2 1 255\n\0\0\0\xff\x80\x40", 17);
  folder_put_text("set/labels/val/a.txt", "1 0.5 0.5 1 1\n");
  folder_put_text("set/labels/train/c.txt", "0 0.5 0.5 1 1\n1 0.5 0.5 1 1\n");
  folder_put_text("set/val.txt", "./images/val/b.ppm\r\n\nimages/val/a.ppm\n");
  return 0;
}

// The objects of all pictures, as digits: "10" for a picture with one and a picture with none.
static void counts_of(const char *text, const char *spec, const char *counts) {
  dq_data *data;
  dq_data_options options = plain;
  char found[16] = "";
  options.spec = spec;
  folder_put_text("set/data.yaml", text);
  if (folder_open(&data, options) != DQ_OK) fail_msg("%s: %s", text, folder_error.message);
  assert_int_equal(dq_data_labelled(data), DQ_LABEL_BOXES);
  assert_int_equal(dq_data_classes(data), 2);
  for (int64_t i = 0; i < dq_data_count(data); i++) {
    dq_sample_info info;
    dq_objects objects;
    assert_int_equal(dq_data_read(data, i, NULL, &info, &folder_error), DQ_OK);
    assert_int_equal(dq_sample_objects(&objects, &info, NULL, &folder_error), DQ_OK);
    snprintf(found + strlen(found), sizeof found - strlen(found), "%d", (int)objects.count);
    dq_objects_free(&objects);
  }
  assert_string_equal(found, counts);
  if (strstr(text, "names")) assert_string_equal(dq_data_class_name(data, 1), "dog");
  dq_data_free(data);
}

static void splits(void **state) {
  (void)state;
  static const char both[] = "train: images/train\nval: images/val\nnames: [cat, dog]\n";
  counts_of(both, plain.spec, "10");
  counts_of(both, "yolo:set/data.yaml,split=train", "2");
  counts_of("path: .\nval: val.txt\nnames: {1: dog, 0: cat}\nnc: 2\n", plain.spec, "01"); // in the order of the list
  counts_of("path: elsewhere\nval: [images/val, images/train]\nnc: 2\n", plain.spec, "102");
  counts_of("path: images\nval: val\nnames:\n- cat\n- dog\n", plain.spec, "10");
  counts_of("val: ../images/val\nnames: [cat, dog]\n", plain.spec, "10"); // nothing is at images/val
}

static void broken_files(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {{"", "no map, expected names, train and val"},
               {"- a\n", "no map, expected names, train and val"},
               {"a: [\n", "line 2: "},
               {"a: b: c\n", "line 1: "},
               {"val: images/val\n", "no 'names', expected those of the classes"},
               {"names: cat\n", "'names' is neither a list nor a map"},
               {"names: []\n", "'names' has 0 classes, expected 1 to 65536"},
               {"names: {0: cat, 2: dog}\n", "name 1 in 'names' is missing"},
               {"names: [cat, [dog]]\n", "name 1 in 'names' is missing"},
               {"names: [cat]\nnc: 2\n", "'nc' is 2, 'names' has 1, expected the same number"},
               {"nc: two\n", "'nc' is not a number of classes"},
               {"nc: 0\n", "'nc' is not a number of classes"},
               {"nc: 2\ntrain: images/train\n", "no 'val'"},
               {"nc: 2\nval: {a: b}\n", "'val' is not a path or a list of paths"},
               {"nc: 2\nval: [images/val, [a]]\n", "'val' is not a path or a list of paths"},
               {"nc: 2\nval: images/none\n", "'val' is set/images/none, where nothing is"},
               {"nc: 2\nval: bad.txt\n", "set/bad.txt: line 2: no picture 'set/images/none.ppm'"}};
  folder_put_text("set/bad.txt", "images/val/a.ppm\nimages/none.ppm\n");
  for (size_t i = 0; i < COUNT(cases); i++) {
    folder_put_text("set/data.yaml", cases[i].text);
    folder_refuses(plain, DQ_BAD_INPUT, cases[i].message);
    if (strncmp(folder_error.message, "set/data.yaml: ", 15)) fail_msg("no file in '%s'", folder_error.message);
  }
  dq_data_options options = plain;
  options.spec = "yolo:set/data.yaml,split=all";
  folder_refuses(options, DQ_USAGE, "split is 'all', expected train, val or test");
  options = plain, options.labels = "good.txt";
  folder_refuses(options, DQ_USAGE, "leave --labels out");
  options = plain, options.spec = "yolo:none.yaml";
  folder_refuses(options, DQ_SYSTEM, "none.yaml");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(splits), cmocka_unit_test(broken_files)};
  return cmocka_run_group_tests(tests, enter, folder_leave);
}
