// Lists and folders of pictures: good ones give the pictures, broken ones a status and the place.
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

static void list_lines(void **state) {
  (void)state;
  dq_data *data;
  float values[12];
  dq_sample_info info;
  assert_int_equal(folder_open(&data, (dq_data_options){.spec = "good.txt", .preset = "vww"}), DQ_OK);
  assert_int_equal(dq_data_count(data), 3);
  assert_int_equal(dq_data_classes(data), 4);
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 3, 2, 2}}, &folder_error), DQ_OK);
  assert_int_equal(dq_data_read(data, 1, values, &info, &folder_error), DQ_OK);
  assert_string_equal(info.name, "grey b.pgm");
  assert_int_equal(info.label, 1);
  assert_true(values[3] == 40.0f / 255 && values[11] == 40.0f / 255);
  assert_int_equal(dq_data_read(data, 3, values, &info, &folder_error), DQ_BAD_INPUT);
  dq_data_free(data);
  folder_put_text("bare.txt", "a.ppm\ngrey b.pgm\n");
  assert_int_equal(folder_open(&data, (dq_data_options){.spec = "bare.txt", .preset = "vww"}), DQ_OK);
  assert_int_equal(dq_data_labelled(data), DQ_LABEL_NONE);
  dq_data_free(data);
}

// A .txt file is a list of boxes, a picture is a mask, and all labels of a list are of one kind.
static void labels_in_files(void **state) {
  (void)state;
  static const struct {
    const char *list;
    dq_label_kind kind;
  } lists[] = {{"a.ppm boxes.txt\ngrey b.pgm\tboxes.txt\n", DQ_LABEL_BOXES}, {"a.ppm a.ppm\n", DQ_LABEL_MASK}};
  folder_put_text("boxes.txt", "0 0.5 0.5 1 1\n");
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    dq_data *data;
    folder_put_text("labels.txt", lists[i].list);
    assert_int_equal(folder_open(&data, (dq_data_options){.spec = "labels.txt", .preset = "vww"}), DQ_OK);
    assert_int_equal(dq_data_labelled(data), lists[i].kind);
    dq_data_free(data);
  }
}

// Of several pictures that are read together the message names the one that broke after the list was opened, wherever
// it stands.
static void broken_pictures_of_several(void **state) {
  (void)state;
  static const char *const lists[] = {"late.ppm\na.ppm\na.ppm\na.ppm\n", "a.ppm\nlate.ppm\na.ppm\na.ppm\n",
                                      "a.ppm\na.ppm\na.ppm\nlate.ppm\n"};
  float values[36];
  for (int64_t first = 0; first < 2; first++)
    for (size_t i = first ? 1 : 0; i < 3; i++) {
      dq_data *data;
      folder_put_text("several.txt", lists[i]);
      folder_put("late.ppm", "P6 2 1 255\n\0\0\0\xff\x80\x40", 17);
      assert_int_equal(folder_open(&data, (dq_data_options){.spec = "several.txt", .preset = "vww"}), DQ_OK);
      assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 3, 2, 2}}, &folder_error), DQ_OK);
      folder_put_text("late.ppm", "rubbish");
      assert_int_equal(dq_data_read_batch(data, first, 3, values, NULL, &folder_error),
                       i < 2 || first ? DQ_BAD_INPUT : DQ_OK);
      if (i < 2 || first) assert_non_null(strstr(folder_error.message, "late.ppm"));
      dq_data_free(data);
    }
}

static void broken_lists(void **state) {
  (void)state;
  static const char *const lists[][2] = {{"a.ppm 1\nmissing.ppm 2\n", "line 2"},
                                         {"a.ppm -1\n", "line 1"},
                                         {"a.ppm 99999999999999999999\n", "line 1"},
                                         {"a.ppm two\n", "line 1"},
                                         {"a.ppm 1\na.ppm\n", "line 2: the label is missing"},
                                         {"a.ppm mask.png\n", "mask.png"},
                                         {"\n\n", "no pictures"},
                                         {"", "no pictures"}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    folder_put_text("list.txt", lists[i][0]);
    folder_refuses((dq_data_options){.spec = "list.txt", .preset = "vww"}, DQ_BAD_INPUT, lists[i][1]);
  }
  folder_refuses((dq_data_options){.spec = "none.txt", .preset = "vww"}, DQ_SYSTEM, "none.txt");
}

static void broken_pictures(void **state) {
  (void)state;
  dq_data *data;
  folder_put_text("some.txt", "a.ppm 1\nbroken.jpg 1\nempty.png 1\nbomb.png 0\ngrey b.pgm 0\n");
  folder_warnings = 0;
  assert_int_equal(folder_open(&data, (dq_data_options){.spec = "some.txt", .preset = "vww"}), DQ_OK);
  assert_int_equal(dq_data_count(data), 2);
  assert_int_equal(dq_data_skipped(data), 3);
  assert_int_equal(folder_warnings, 4);
  assert_string_equal(folder_last_warning, "3 of 5 pictures skipped");
  dq_data_free(data);
  folder_refuses((dq_data_options){.spec = "some.txt", .preset = "vww", .strict = true}, DQ_BAD_INPUT, "broken.jpg");
  folder_put_text("some.txt", "bomb.png 0\n");
  folder_refuses((dq_data_options){.spec = "some.txt", .preset = "vww", .strict = true}, DQ_BAD_INPUT, "50000x50000");
  folder_refuses((dq_data_options){.spec = "some.txt", .preset = "vww"}, DQ_BAD_INPUT, "no pictures that can be read");
}

static void folders(void **state) {
  (void)state;
  dq_data *data;
  dq_sample_info info;
  assert_int_equal(mkdir("tree", 0755) | mkdir("tree/zebra", 0755) | mkdir("tree/ant", 0755), 0);
  folder_refuses((dq_data_options){.spec = "tree", .preset = "vww"}, DQ_BAD_INPUT, "no pictures");
  folder_put("tree/zebra/1.pgm", "P5 1 1 255\n\x0a", 12);
  folder_put("tree/ant/1.pgm", "P5 1 1 255\n\x0b", 12);
  folder_put("tree/ant/2.pgm", "P5 1 1 255\n\x0c", 12);
  assert_int_equal(folder_open(&data, (dq_data_options){.spec = "tree", .preset = "vww", .limit = 2}), DQ_OK);
  assert_int_equal(dq_data_count(data), 2); // spread over three: the first and the second
  assert_true(dq_data_classes_exact(data));
  assert_string_equal(dq_data_class_name(data, 1), "zebra");
  assert_int_equal(dq_data_read(data, 1, NULL, &info, &folder_error), DQ_OK);
  assert_string_equal(info.name, "ant/2.pgm");
  dq_data_free(data);
}

// Names of classes beside class folders: by the folders' names, in any order, or in the folders' order.
static void names_of_class_folders(void **state) {
  (void)state;
  dq_data *data;
  dq_sample_info info;
  dq_data_options options = {.spec = "named", .preset = "vww", .labels = "names.txt"};
  assert_int_equal(mkdir("named", 0755) | mkdir("named/unsafe", 0755) | mkdir("named/safe", 0755), 0);
  folder_put("named/safe/1.pgm", "P5 1 1 255\n\x0a", 12);
  folder_put("named/unsafe/2.pgm", "P5 1 1 255\n\x0b", 12);
  folder_put_text("names.txt", "unsafe\r\nother\r\nsafe\r\n"); // the model's order, with a class that no folder has
  assert_int_equal(folder_open(&data, options), DQ_OK);
  assert_false(dq_data_classes_exact(data));
  assert_int_equal(dq_data_classes(data), 3);
  assert_int_equal(dq_data_read(data, 0, NULL, &info, &folder_error), DQ_OK);
  assert_string_equal(info.name, "safe/1.pgm");
  assert_int_equal(info.label, 2);
  assert_string_equal(dq_data_class_name(data, 2), "safe");
  dq_data_free(data);
  folder_put_text("names.txt", "harmless picture\nharmful one\n"); // two folders, two names
  assert_int_equal(folder_open(&data, options), DQ_OK);
  assert_true(dq_data_classes_exact(data));
  assert_int_equal(dq_data_read(data, 1, NULL, &info, &folder_error), DQ_OK);
  assert_string_equal(info.name, "unsafe/2.pgm");
  assert_string_equal(dq_data_class_name(data, info.label), "harmful one");
  dq_data_free(data);
  folder_put_text("names.txt", "safe\nunsave\n"); // one fits, so that the other is a slip
  folder_refuses(options, DQ_BAD_INPUT, "names.txt: 2 names for 2 class folders, 'unsafe' is not among them");
  folder_put_text("names.txt", "a\nb\nc\n");
  folder_refuses(options, DQ_BAD_INPUT, "names.txt: 3 names for 2 class folders, 'safe' is not among them");
  folder_put_text("names.txt", "\n");
  folder_refuses(options, DQ_BAD_INPUT, "names.txt");
  folder_put_text("names.txt", "");
  folder_refuses(options, DQ_BAD_INPUT, "names.txt: empty");
  folder_put_text("names.txt", "safe/1.pgm 7\n"); // still a list
  assert_int_equal(folder_open(&data, options), DQ_OK);
  assert_int_equal(dq_data_classes(data), 8);
  dq_data_free(data);
  folder_put_text("names.txt", "safe/9.pgm 7\n");
  folder_refuses(options, DQ_BAD_INPUT, "no picture 'named/safe/9.pgm'");
  folder_put_text("names.txt",
                  "tench, Tinca tinca\ngoldfish\n"); // pictures without labels: names for what a model answers
  options.spec = "named/safe";
  assert_int_equal(folder_open(&data, options), DQ_OK);
  assert_int_equal(dq_data_labelled(data), DQ_LABEL_NONE);
  assert_string_equal(dq_data_class_name(data, 0), "tench, Tinca tinca");
  dq_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(list_lines),
                                     cmocka_unit_test(labels_in_files),
                                     cmocka_unit_test(broken_pictures_of_several),
                                     cmocka_unit_test(broken_lists),
                                     cmocka_unit_test(broken_pictures),
                                     cmocka_unit_test(folders),
                                     cmocka_unit_test(names_of_class_folders)};
  return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
