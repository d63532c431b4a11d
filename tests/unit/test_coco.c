// Files of COCO: what they say comes out as objects, and what is broken is named with the entry.
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

#include "datasets/datasets.h"
#include "tests/unit/data_folder.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)
#define COUNT(list) (sizeof(list) / sizeof *(list))

// A file of a.ppm, of 2 x 1 pixels, and "grey b.pgm", of 2 x 2, with these annotations.
#define IMAGES                                                                                                         \
  "\"images\": [{\"id\": 9, \"file_name\": \"grey b.pgm\", \"width\": 2, \"height\": 2}, {\"id\": 4, \"file_name\": "  \
  "\"a.ppm\"}]"
#define CATEGORIES "\"categories\": [{\"id\": 7, \"name\": \"dog\"}, {\"id\": 3, \"name\": \"cat\"}]"
#define WITH(annotations)                                                                                              \
  "{\"info\": {\"year\": \"}]\\\"\"}, \"annotations\": [" annotations "], " IMAGES ", " CATEGORIES "}"
#define ANNOTATION(id, more) "{\"id\": " #id ", \"image_id\": 9, \"category_id\": 7, \"bbox\": [0, 1, 2, 1]" more "}"

static const dq_data_options plain = {.spec = ".", .labels = "c.json", .preset = "vww"};

static dq_data *opens(const char *text, dq_data_options options) {
  dq_data *data;
  folder_put_text("c.json", text);
  if (folder_open(&data, options) != DQ_OK) fail_msg("%s", folder_error.message);
  return data;
}

// The objects of a picture, which the test frees.
static dq_objects objects_of(const dq_data *data, int64_t picture) {
  dq_sample_info info;
  dq_objects objects;
  assert_int_equal(dq_data_read(data, picture, NULL, &info, &folder_error), DQ_OK);
  if (dq_sample_objects(&objects, &info, NULL, &folder_error) != DQ_OK) fail_msg("%s", folder_error.message);
  return objects;
}

// Pictures come in the order of their ids, categories are classes in that order, and objects are those of the picture.
static void pictures_and_objects(void **state) {
  (void)state;
  dq_data *data =
      opens(WITH(ANNOTATION(
                1, ", \"iscrowd\": 1, \"area\": 1.5") ", {\"id\": 2, \"image_id\": 4, "
                                                      "\"category_id\": 3, \"bbox\": [0.5, 0, 1.25, 0.5]}, " ANNOTATION(
                                                          0, "")),
            plain);
  dq_sample_info info;
  assert_int_equal(dq_data_count(data), 2);
  assert_int_equal(dq_data_labelled(data), DQ_LABEL_BOXES);
  assert_int_equal(dq_data_classes(data), 2);
  assert_string_equal(dq_data_class_name(data, 0), "cat");
  assert_int_equal(dq_data_read(data, 0, NULL, &info, &folder_error), DQ_OK);
  assert_string_equal(info.name, "a.ppm");
  dq_objects one = objects_of(data, 0), two = objects_of(data, 1);
  assert_true(one.count == 1 && two.count == 2);
  const dq_object *cat = one.items, *crowd = two.items;
  assert_int_equal(cat->class, 0);
  NEAR(cat->left, 0.5), NEAR(cat->right, 1.75), NEAR(cat->bottom, 0.5), NEAR(cat->area, 0.625);
  assert_true(crowd->class == 1 && crowd->crowd && !two.items[1].crowd);
  NEAR(crowd->area, 1.5), NEAR(two.items[1].area, 2), NEAR(crowd->top, 1), NEAR(crowd->height, 1);
  folder_error.message[0] = 0;
  dq_objects_place(&two, 1, DQ_BAD_INPUT, &folder_error);
  assert_string_equal(folder_error.message, "c.json: annotations[2]: ");
  dq_objects_free(&one), dq_objects_free(&two);
  dq_data_free(data);
}

// Categories are classes by their names where a file has these, and the pictures may lie in a folder of their own.
static void names_and_folders(void **state) {
  (void)state;
  dq_data_options options = {.spec = "coco:c.json,images=.", .labels = "names.txt", .preset = "vww"};
  folder_put_text("names.txt", "bird\ncat\nhorse\ndog\n");
  dq_data *data = opens(WITH(ANNOTATION(1, "")), options);
  dq_objects objects = objects_of(data, 1);
  assert_int_equal(objects.items[0].class, 3);
  assert_int_equal(dq_data_classes(data), 4);
  dq_objects_free(&objects);
  dq_data_free(data);
  folder_put_text("names.txt", "bird\ncat\n");
  folder_refuses(options, DQ_BAD_INPUT, "c.json: annotations[0]: category 'dog' is not among the names of the classes");
  options.spec = "coco:c.json,images=missing";
  folder_refuses(options, DQ_USAGE, "images=missing is no folder");
  options.spec = "coco:c.json", options.labels = NULL; // beside the file
  data = opens(WITH(""), options);
  assert_int_equal(dq_data_count(data), 2);
  dq_data_free(data);
}

// Polygons, a mask in both forms, and keypoints. The text "021O" packs 0, 2, 1 and 1 less than the 2 before that.
#define POLYGONS ", \"segmentation\": [[0, 1, 2, 1, 2.5, 2], [0, 0, 1, 0, 1, 1, 0, 1]]"
#define KEYPOINTS ", \"segmentation\": [], \"keypoints\": [1, 0.5, 2, 0, 0, 0]"
#define MASK(counts) ", \"segmentation\": {\"size\": [2, 2], \"counts\": " counts "}"
#define FOUR ANNOTATION(1, POLYGONS) "," ANNOTATION(2, MASK("[0, 1, 3]")) "," ANNOTATION(3, MASK("\"021O\""))
static void outlines_and_keypoints(void **state) {
  (void)state;
  dq_data *data = opens(WITH(FOUR "," ANNOTATION(4, KEYPOINTS)), plain);
  dq_objects objects = objects_of(data, 1);
  const dq_object *o = objects.items;
  assert_true(o[0].polygon_count == 2 && o[0].polygons[0].count == 3 && o[0].polygons[1].count == 4);
  NEAR(o[0].polygons[0].points[4], 2.5);
  assert_true(o[1].mask->width == 2 && o[1].mask->count == 3 && o[1].mask->lengths[2] == 3);
  const uint32_t packed[] = {0, 2, 1, 1};
  assert_int_equal(o[2].mask->count, 4);
  assert_memory_equal(o[2].mask->lengths, packed, sizeof packed);
  assert_true(o[3].keypoint_count == 2 && !o[3].polygon_count && !o[3].mask);
  assert_true(o[3].keypoints[0].visibility == 2 && o[3].keypoints[1].visibility == 0);
  NEAR(o[3].keypoints[0].y, 0.5);
  dq_objects_free(&objects);
  dq_data_free(data);
}

// Packed lengths above 15 have two characters and more: 100, 1000, 20, 960 less than 1000, 20 more than 20.
static void packed_lengths(void **state) {
  (void)state;
  static const char text[] = "{" IMAGES ", " CATEGORIES ", \"annotations\": [{\"id\": 1, \"image_id\": 4, "
                             "\"category_id\": 3, \"bbox\": [0, 0, 1, 1], \"segmentation\": {\"size\": [30, 40], "
                             "\"counts\": \"T3Xo0d0PROd0\"}}]}";
  const uint32_t lengths[] = {100, 1000, 20, 40, 40};
  dq_data *data = opens(text, plain);
  dq_objects objects = objects_of(data, 0);
  const dq_runs *mask = objects.items[0].mask;
  assert_true(mask->count == 5 && mask->width == 40 && mask->height == 30);
  assert_memory_equal(mask->lengths, lengths, sizeof lengths);
  dq_objects_free(&objects);
  dq_data_free(data);
}

// What is broken ends with the file, the entry and what was expected.
static void broken_files(void **state) {
  (void)state;
#define BROKEN(more, message)                                                                                          \
  { WITH(ANNOTATION(1, more)), "annotations[0]: " message }
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "c.json: expected '{'"},
      {"[1]", "c.json: expected '{'"},
      {"{\"images\": [{\"id\": 1", "c.json: a '[' has no end; the file is cut off"},
      {"{\"images\": ", "a value is missing"},
      {"{images: 1}", "expected a name in quotes"},
      {"{\"images\" 1}", "expected ':' behind a name"},
      {"{\"images\": 1 2}", "expected ','"},
      {"{" IMAGES "," CATEGORIES "}", "no array 'annotations', expected the arrays images, categories and annotations"},
      {"{" IMAGES "," IMAGES "}", "'images' is there twice"},
      {WITH("") "x", "something stands behind the last '}'"},
      {WITH("1"), "annotations[0]: '[' or '{' expected"},
      {WITH("[]"), "annotations[0]: not an object"},
      {WITH("{\"id\": 1, \"id\": 2}"), "annotations[0]: duplicate object key"},
      {WITH("{\"id\": tru}"), "annotations[0]: "},
      {WITH("{} {}"), "annotations[1]: expected ','"},
      {WITH("{}"), "annotations[0]: 'image_id' is missing"},
      {WITH("{\"image_id\": \"9\"}"), "annotations[0]: 'image_id' is not a whole number"},
      {WITH("{\"image_id\": 5}"), "annotations[0]: image_id is 5, which no entry of 'images' has"},
      {WITH("{\"image_id\": 9, \"category_id\": 1}"), "category_id is 1, which no entry of 'categories' has"},
      {WITH("{\"image_id\": 9, \"category_id\": 3}"), "'bbox' is not [x, y, width, height]"},
      {WITH("{\"image_id\": 9, \"category_id\": 3, \"bbox\": [1, 2, 3]}"), "'bbox' is not [x, y, width, height]"},
      {WITH("{\"image_id\": 9, \"category_id\": 3, \"bbox\": [1, 2, 3, \"4\"]}"),
       "'bbox' has something else than numbers"},
      {WITH("{\"image_id\": 9, \"category_id\": 3, \"bbox\": [1, 2, 3, 1e30]}"),
       "'bbox' has something else than numbers"},
      {WITH("{\"image_id\": 9, \"category_id\": 3, \"bbox\": [1, 2, 3, 1e999]}"),
       "annotations[0]: real number overflow"},
      {WITH("{\"image_id\": 9, \"category_id\": 3, \"bbox\": [1, 2, -3, 4]}"), "the size -3 x 4, expected 0 and more"},
      {WITH("{\"image_id\": 9, \"category_id\": 3, \"bbox\": [1, 2, 3, -1]}"), "the size 3 x -1, expected 0 and more"},
      {WITH("{\"image_id\": 9, \"category_id\": 3, \"bbox\": [1, 2, 3, 4]}"), "annotations[0]: 'id' is missing"},
      {WITH(ANNOTATION(5, "") "," ANNOTATION(6, "") "," ANNOTATION(5, "")),
       "annotations[2]: id 5 is that of annotations[0], expected ids that differ"},
      BROKEN(", \"area\": -1", "'area' is not a number from 0"),
      BROKEN(", \"area\": \"1\"", "'area' is not a number from 0"),
      BROKEN(", \"iscrowd\": 2", "'iscrowd' is neither 0 nor 1"),
      BROKEN(", \"segmentation\": 1", "'segmentation' is neither an array of polygons nor a mask"),
      BROKEN(", \"segmentation\": [1]", "polygon 0 of 'segmentation' has 0 numbers"),
      BROKEN(", \"segmentation\": [[1, 2, 3, 4], [1, 2, 3]]", "polygon 1 of 'segmentation' has 3 numbers"),
      BROKEN(", \"segmentation\": [[1, null]]", "'segmentation' has something else than numbers"),
      BROKEN(", \"segmentation\": {}", "'size' of the mask is not [height, width]"),
      BROKEN(", \"segmentation\": {\"size\": [2, 3]}", "the mask has 3x2 pixels, its picture 2x2"),
      BROKEN(", \"segmentation\": {\"size\": [0, 2]}", "the mask has 2x0 pixels, expected 1 and more"),
      BROKEN(MASK("1"), "'counts' of the mask is neither a text nor an array"),
      BROKEN(MASK("[1, 4]"), "the runs of the mask have 5 pixels, expected the 4 of 2x2"),
      BROKEN(MASK("[1, 2]"), "the runs of the mask have 3 pixels"),
      BROKEN(MASK("[1, -2]"), "run 1 of 'counts' has -2 pixels"),
      BROKEN(MASK("[1, 4294967296]"), "run 1 of 'counts' has 4294967296 pixels"),
      BROKEN(MASK("[1, 0.5]"), "run 1 of 'counts' is no whole number"),
      BROKEN(MASK("\"1P\""), "run 1 of 'counts' is no packed number"),        // no group follows
      BROKEN(MASK("\"1 \""), "run 1 of 'counts' is no packed number"),        // no group at all
      BROKEN(MASK("\"oooooooo0\""), "run 0 of 'counts' is no packed number"), // more than 40 bits
      BROKEN(MASK("\"O\""), "run 0 of 'counts' has -1 pixels"),
      BROKEN(MASK("\"12\""), "the runs of the mask have 3 pixels"),
      BROKEN(", \"keypoints\": [1, 2]", "'keypoints' is not x, y, visibility"),
      BROKEN(", \"keypoints\": {}", "'keypoints' is not x, y, visibility"),
      BROKEN(", \"keypoints\": [1, 2, 3]", "keypoint 0 has the visibility 3, expected 0, 1 or 2"),
      {"{\"annotations\": [], " CATEGORIES ", \"images\": [{\"id\": 1, \"file_name\": \"a.ppm\"}, {\"id\": 1, "
       "\"file_name\": \"a.ppm\"}]}",
       "images[1]: id 1 is that of images[0]"},
      {"{\"annotations\": [], " CATEGORIES ", \"images\": [{\"id\": 1, \"file_name\": \"\"}]}",
       "images[0]: 'file_name' is not a text with letters"},
      {"{\"annotations\": [], " CATEGORIES ", \"images\": [{\"id\": 1, \"file_name\": \"a.ppm\", \"width\": -2}]}",
       "images[0]: 'width' is -2, expected 1 to"},
      {"{\"annotations\": [], " CATEGORIES ", \"images\": []}", "c.json: 'images' is empty"},
      {"{\"annotations\": [], " CATEGORIES ", \"images\": [{\"id\": 1, \"file_name\": \"b.ppm\"}]}",
       "c.json: none of its 1 pictures is in ., such as 'b.ppm'"},
      {"{\"annotations\": [], " IMAGES ", \"categories\": [{\"id\": 1}]}", "categories[0]: 'name' is not a text"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    folder_put_text("c.json", cases[i].text);
    folder_refuses(plain, DQ_BAD_INPUT, cases[i].message);
    if (strncmp(folder_error.message, "c.json: ", 8)) fail_msg("no file in '%s'", folder_error.message);
  }
}

// Pictures that are not there are left out, or a failure with `strict`; the annotations of the others are theirs.
static void missing_pictures(void **state) {
  (void)state;
  static const char text[] =
      "{\"images\": [{\"id\": 1, \"file_name\": \"none.ppm\"}, {\"id\": 2, \"file_name\": \"a.ppm\"}], " CATEGORIES
      ", \"annotations\": [{\"id\": 1, \"image_id\": 1, \"category_id\": 3, \"bbox\": [0, 0, 1, 1]}, {\"id\": 2, "
      "\"image_id\": 2, \"category_id\": 7, \"bbox\": [0, 0, 1, 1]}]}";
  dq_data_options options = plain;
  options.limit = 1;
  dq_data *data = opens(text, options);
  assert_int_equal(dq_data_count(data), 1);
  dq_objects objects = objects_of(data, 0);
  assert_true(objects.count == 1 && objects.items[0].class == 1);
  dq_objects_free(&objects);
  dq_data_free(data);
  options.strict = true;
  folder_refuses(options, DQ_BAD_INPUT, "c.json: images[0]: no picture 'none.ppm'");
  options.labels = "missing.json";
  folder_refuses(options, DQ_SYSTEM, "missing.json");
}

// The memory is bounded: an entry has at most 4 MiB, and what is kept is in proportion to the entries.
static void large_entries(void **state) {
  (void)state;
  enum { SIZE = (4 << 20) + 200 };
  char *text = malloc(SIZE + 1000);
  strcpy(text, "{" IMAGES ", " CATEGORIES ", \"annotations\": ["
               "{\"id\": \"");
  size_t length = strlen(text);
  memset(text + length, 'x', SIZE);
  strcpy(text + length + SIZE, "\"}]}");
  folder_put_text("c.json", text);
  free(text);
  folder_refuses(plain, DQ_BAD_INPUT, "expected at most 4194304");
  assert_non_null(strstr(folder_error.message, "c.json: annotations[0]: has 4194"));
}

// A request to stop ends the reading of the file.
static void stopped(void **state) {
  (void)state;
  const atomic_bool stop = true;
  const dq_context context = {.stop = &stop};
  dq_data *data;
  folder_put_text("c.json", WITH(ANNOTATION(1, "")));
  assert_int_equal(dq_data_open(&data, &plain, &context, &folder_error), DQ_CANCELLED);
  assert_non_null(strstr(folder_error.message, "c.json")); // not only the pictures behind it
}

// The hash of a picture changes with its own annotations, and with no others.
static void hashes(void **state) {
  (void)state;
  static const char *const areas[] = {"", ", \"area\": 1"};
  dq_picture_digest digests[2][2];
  for (int i = 0; i < 2; i++) {
    char text[2000];
    snprintf(text, sizeof text,
             "{%s, %s, \"annotations\": [{\"id\": 1, \"image_id\": 9, \"category_id\": 7, \"bbox\": "
             "[0, 0, 1, 1]%s}]}",
             IMAGES, CATEGORIES, areas[i]);
    dq_data *data = opens(text, plain);
    for (int p = 0; p < 2; p++) dq_data_digest(data, p, &digests[i][p]);
    dq_data_free(data);
  }
  assert_true(digests[0][0].label == digests[1][0].label);
  assert_true(digests[0][1].label != digests[1][1].label);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pictures_and_objects),
                                     cmocka_unit_test(names_and_folders),
                                     cmocka_unit_test(outlines_and_keypoints),
                                     cmocka_unit_test(packed_lengths),
                                     cmocka_unit_test(broken_files),
                                     cmocka_unit_test(missing_pictures),
                                     cmocka_unit_test(large_entries),
                                     cmocka_unit_test(stopped),
                                     cmocka_unit_test(hashes)};
  return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
