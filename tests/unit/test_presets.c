// Presets: the pixels that they make, computed by hand; numbers written as quotients; what is remembered of them.
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

static char folder[] = "/tmp/test_presets_XXXXXX";
static dq_error error;
static const dq_context context;

static void put(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(name, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

static int enter(void **state) {
  (void)state;
  if (!mkdtemp(folder) || chdir(folder)) return -1;
  put("four.ppm", "P6 2 2 255\n\0\1\2\3\4\5\6\7\10\377\376\375", 23); // 0 1 2, 3 4 5 / 6 7 8, 255 254 253
  put("four.txt", "four.ppm 0\n", 11);
  return 0;
}

static int leave(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return chdir("/") || system(command);
}

// A white picture of that size, as the list white.txt.
static void put_white(int width, int height) {
  char text[1000];
  int head = snprintf(text, sizeof text, "P5 %d %d 255\n", width, height);
  memset(text + head, 255, (size_t)(width * height));
  put("white.pgm", text, (size_t)(head + width * height));
  put("white.txt", "white.pgm 0\n", 12);
}

static dq_status open_data(dq_data **data, const char *list, const char *preset, const char *preprocess) {
  dq_data_options options = {.spec = list, .preset = preset, .preprocess = preprocess};
  return dq_data_open(data, &options, &context, &error);
}

// The picture of the list as 3 x height x width.
static void read_picture(const char *list, const char *preset, const char *preprocess, int height, int width,
                         float *values) {
  dq_data *data;
  assert_int_equal(open_data(&data, list, preset, preprocess), DQ_OK);
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 3, height, width}}, &error), DQ_OK);
  assert_int_equal(dq_data_read(data, 0, values, NULL, &error), DQ_OK);
  dq_data_free(data);
}

static void near(float value, double expected) { assert_true(fabs((double)value - expected) < 1e-6); }

static void yolo(void **state) {
  (void)state;
  float values[3 * 2 * 6], old[3 * 2 * 6];
  read_picture("four.txt", "yolo", NULL, 2, 6, values); // two columns of 114 on both sides
  near(values[0], 114 / 255.0);
  near(values[1], 114 / 255.0);
  near(values[2], 0);
  near(values[3], 3 / 255.0);
  near(values[4], 114 / 255.0);
  near(values[6 + 3], 1); // red of the last pixel
  near(values[24 + 6 + 3], 253 / 255.0);
  near(values[24 + 6 + 5], 114 / 255.0);
  read_picture("four.txt", "yolov8", NULL, 2, 6, old); // the name that the row had before
  assert_memory_equal(old, values, sizeof old);
}

// The size of a picture in a letterbox is rounded, halves to the even number; its place is rounded down.
static void letterboxes_round(void **state) {
  (void)state;
  static const struct {
    int width, height, columns, rows, first_column, first_row, last_column, last_row;
  } cases[] = {{3, 4, 6, 6, 1, 0, 4, 5},   // 4.5 x 6: 4 columns behind 1
               {3, 4, 8, 2, 3, 0, 4, 1},   // 1.5 x 2: 2 columns behind 3
               {8, 7, 4, 8, 0, 2, 3, 5},   // 4 x 3.5: 4 rows behind 2
               {10, 5, 5, 6, 0, 2, 4, 3}}; // 5 x 2.5: 2 rows behind 2
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    float values[3 * 48];
    put_white(cases[i].width, cases[i].height);
    read_picture("white.txt", "yolo", NULL, cases[i].rows, cases[i].columns, values);
    for (int y = 0; y < cases[i].rows; y++)
      for (int x = 0; x < cases[i].columns; x++) {
        const bool inside = x >= cases[i].first_column && x <= cases[i].last_column && y >= cases[i].first_row &&
                            y <= cases[i].last_row;
        near(values[y * cases[i].columns + x], inside ? 1 : 114 / 255.0);
      }
  }
}

// 4 x 2 pixels: columns 0 and 3 are outside of the window of 2 x 2.
static void classifiers(void **state) {
  (void)state;
  float values[12], square[12];
  put("wide.ppm", "P6 4 2 255\n\1\2\3\11\12\13\21\22\23\1\2\3\1\2\3\31\32\33\41\42\43\1\2\3", 35);
  put("wide.txt", "wide.ppm 0\n", 11);
  read_picture("wide.txt", "yolo-cls", NULL, 2, 2, values);
  near(values[0], 9 / 255.0);
  near(values[3], 33 / 255.0);
  near(values[4 + 1], 18 / 255.0);
  near(values[8 + 2], 27 / 255.0);
  read_picture("wide.txt", "clip", NULL, 2, 2, values);
  near(values[0], (9 / 255.0 - 0.48145466) / 0.26862954);
  near(values[4 + 1], (18 / 255.0 - 0.4578275) / 0.26130258);
  near(values[8 + 3], (35 / 255.0 - 0.40821073) / 0.27577711);
  read_picture("wide.txt", "mobilevit", "resize=2", 2, 2, values); // blue first
  near(values[0], 11 / 255.0);
  near(values[4 + 3], 34 / 255.0);
  near(values[8 + 1], 17 / 255.0);
  put_white(5, 3);
  read_picture("white.txt", "mobilevit", NULL, 2, 2, square);
  for (int i = 0; i < 12; i++) near(square[i], 1);
}

static void detectors(void **state) {
  (void)state;
  float values[3 * 2 * 4], stretched[3 * 2 * 4];
  read_picture("four.txt", "rtdetr", NULL, 2, 2, values);
  near(values[0], 0);
  near(values[4 + 3], 254 / 255.0);
  near(values[8], 2 / 255.0);
  read_picture("four.txt", "rtdetr", NULL, 2, 4, values);
  read_picture("four.txt", "vww", NULL, 2, 4, stretched);
  assert_memory_equal(values, stretched, sizeof values);
  read_picture("four.txt", "retinaface", NULL, 2, 4, values); // top left, the mean behind it becomes 0
  near(values[0], 2 - 104);
  near(values[8 + 1], 4 - 117);
  near(values[16 + 4 + 1], 255 - 123);
  for (int c = 0; c < 3; c++)
    for (int y = 0; y < 2; y++) assert_true(values[c * 8 + y * 4 + 2] == 0 && values[c * 8 + y * 4 + 3] == 0);
}

// The size of an input that leaves its sizes open.
static void open_size(const char *preset, const char *preprocess, const char *list, int height, int width) {
  dq_data *data;
  int channels, rows = 0, columns = 0;
  assert_int_equal(open_data(&data, list, preset, preprocess), DQ_OK);
  assert_int_equal(dq_data_natural_shape(data, &channels, &rows, &columns), height > 0);
  dq_data_free(data);
  if (height == 0) return;
  assert_int_equal(rows, height);
  assert_int_equal(columns, width);
}

static void open_sizes(void **state) {
  (void)state;
  put_white(30, 20);
  open_size("imagenet", NULL, "white.txt", 20, 30);                // that of the pictures
  open_size("yolo", NULL, "white.txt", 32, 32);                    // the next multiples
  open_size("yolo", "longest=15,multiple=4", "white.txt", 12, 16); // 15 x 10
  open_size("yolo", "longest=0,multiple=1", "white.txt", 20, 30);
  open_size("ppocr-det", "multiple=8", "white.txt", 16, 32);            // 2.5 and 3.75 multiples: 2 and 4
  open_size("ppocr-det", "multiple=8,longest=20", "white.txt", 16, 16); // 20 x 13: 2.5 and 1.6 multiples
  open_size("ppocr-det", "crop=9", "white.txt", 9, 9);
  open_size("ppocr-rec", NULL, "white.txt", 48, 320);
  put("both.txt", "white.pgm 0\nfour.ppm 0\n", 23); // 30 x 20 and 2 x 2: 16 x 11 on average
  open_size("imagenet", NULL, "both.txt", 0, 0);
  open_size("yolo", NULL, "both.txt", 640, 640);
  open_size("ppocr-det", NULL, "both.txt", 672, 960); // 960 * 11 / 16 = 660: 20.6 multiples
  open_size("ppocr-det", "longest=1,multiple=1", "both.txt", 1, 1);
  open_size("ppocr-det", "longest=65536,multiple=65536", "both.txt", 65536, 65536);
}

static void picodet(void **state) {
  (void)state;
  float values[12];
  read_picture("four.txt", "picodet", NULL, 2, 2, values);
  near(values[0], (0 - 0.485) / 0.229);
  near(values[3], (1 - 0.485) / 0.229);
  near(values[4 + 1], (4 / 255.0 - 0.456) / 0.224);
  near(values[8 + 2], (8 / 255.0 - 0.406) / 0.225);
}

static void ppocr(void **state) {
  (void)state;
  float values[3 * 4 * 8];
  read_picture("four.txt", "ppocr-det", NULL, 2, 2, values); // blue first, with the constants in that order
  near(values[0], (2 / 255.0 - 0.485) / 0.229);
  near(values[4 + 3], (254 / 255.0 - 0.456) / 0.224);
  near(values[8 + 3], (1 - 0.406) / 0.225);
  read_picture("four.txt", "ppocr-rec", NULL, 2, 4, values);
  near(values[0], 2 / 127.5 - 1);
  near(values[4 + 1], 253 / 127.5 - 1);
  assert_true(values[2] == 0 && values[3] == 0 && values[4 + 2] == 0 && values[23] == 0);
}

// 5 x 3 pixels in 4 x 8: ceil(4 * 5 / 3) = 7 columns; 9 x 2 in 4 x 8: 18 columns, which are pressed into 8.
static void lines_of_text(void **state) {
  (void)state;
  float values[3 * 4 * 8];
  put_white(5, 3);
  read_picture("white.txt", "ppocr-rec", NULL, 4, 8, values);
  assert_true(values[6] == 1 && values[7] == 0 && values[31 - 1] == 1 && values[31] == 0);
  put_white(9, 2);
  read_picture("white.txt", "ppocr-rec", NULL, 4, 8, values);
  for (int i = 0; i < 96; i++) assert_true(values[i] == 1);
}

static void quotients(void **state) {
  (void)state;
  float values[12], preset[12];
  read_picture("four.txt", NULL, "scale=1/255,mean=1/2,std=1/4:1/2:-2/1", 2, 2, values);
  near(values[0], -2);
  near(values[3], 2);
  near(values[4], 2 * (1 / 255.0 - 0.5));
  near(values[8], (2 / 255.0 - 0.5) / -2);
  read_picture("four.txt", NULL, "scale=1/255", 2, 2, values);
  read_picture("four.txt", "darknet", NULL, 2, 2, preset);
  assert_memory_equal(values, preset, sizeof values);
  static const char *const wrong[] = {"scale=1/0",  "scale=1/",  "scale=/255",         "scale=1/2/3", "mean=1/2:1",
                                      "std=0/5",    "pad=256",   "scale=1e308/1e-308", "pad=-1",      "pad=255/0",
                                      "pad=1:2",    "pad=1:2:",  "pad=1:2:256",        "longest=-1",  "longest=65537",
                                      "multiple=0", "multiple=", "multiple=65537"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    dq_data *data;
    assert_int_equal(open_data(&data, "four.txt", NULL, wrong[i]), DQ_USAGE);
    dq_data_free(data);
  }
  static const char *const ends[] = {"pad=0",     "pad=255",       "pad=0:255:1/2", "resize=0",       "crop=1",
                                     "longest=0", "longest=65536", "multiple=1",    "multiple=65536", "crop=65536"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    dq_data *data;
    assert_int_equal(open_data(&data, "four.txt", NULL, ends[i]), DQ_OK);
    dq_data_free(data);
  }
}

static void remembered_as_typed(void **state) {
  (void)state;
  static const char *const typed[][3] = {{"imagenet", NULL, "imagenet"},
                                         {NULL, "scale=1/255,mean=0.5", "scale=1/255,mean=0.5"},
                                         {"tf", "fit=stretch,pad=7", "tf,fit=stretch,pad=7"},
                                         {NULL, "tf,fit=stretch", "tf,fit=stretch"},
                                         {"tf,fit=stretch", "pad=1", "tf,fit=stretch,pad=1"}};
  for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
    dq_data *data, *again;
    float first[12], second[12];
    read_picture("four.txt", typed[i][0], typed[i][1], 2, 2, first);
    read_picture("four.txt", NULL, typed[i][2], 2, 2, second);
    assert_memory_equal(first, second, sizeof first);
    assert_int_equal(open_data(&data, "four.txt", typed[i][0], typed[i][1]), DQ_OK);
    assert_string_equal(dq_data_preprocess_text(data), typed[i][2]);
    assert_int_equal(open_data(&again, "four.txt", NULL, dq_data_preprocess_text(data)), DQ_OK);
    dq_data_free(data);
    dq_data_free(again);
  }
  dq_data *data;
  assert_int_equal(open_data(&data, "four.txt", "tf", "vww,fit=stretch"), DQ_USAGE); // one name
  dq_data_free(data);
}

// A path is this machine's own.
static void paths_are_not_remembered(void **state) {
  (void)state;
  dq_data *data;
  put("norm.csv", "patient,p10,p99,mean_r,mean_g,mean_b,std_r,std_g,std_b\nthe,0,255,0,0,0,1,1,1\n", 77);
  put("the_1.ppm", "P6 1 1 255\n\0\1\2", 14);
  put("the.txt", "the_1.ppm 0\n", 12);
  assert_int_equal(open_data(&data, "the.txt", "lgg", "norm=norm.csv,pad=3"), DQ_OK);
  assert_string_equal(dq_data_preprocess_text(data), "lgg,norm=,pad=3");
  dq_data_free(data);
  assert_int_equal(open_data(&data, "the.txt", NULL, "lgg,norm=,pad=3"), DQ_OK); // norm.csv beside the list
  dq_data_free(data);
}

// The largest of both ends of all channels, in whichever order the channels are.
static void reach(void **state) {
  static const struct {
    const char *preset, *preprocess;
    double reach;
  } cases[] = {{"imagenet", NULL, (1 - 0.406) / 0.225},
               {"ppocr-det", NULL, (1 - 0.406) / 0.225},
               {"raw01", NULL, 1},
               {"tf", NULL, 1},
               {"imagenet-caffe", NULL, 255 - 104},
               {"yolox", NULL, 255},
               {NULL, NULL, 255},
               {NULL, "scale=2,mean=0:600:0", 600},
               {"vww", "std=1:1:-0.25", 4},
               {"lgg", NULL, 0}};
  (void)state;
  dq_arena *arena = dq_arena_new(NULL);
  double found;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(dq_preprocess_reach(&found, cases[i].preset, cases[i].preprocess, arena, NULL), DQ_OK);
    assert_true(fabs(found - cases[i].reach) < 1e-9);
  }
  assert_int_equal(dq_preprocess_reach(&found, "nonsense", NULL, arena, NULL), DQ_USAGE);
  dq_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(yolo),      cmocka_unit_test(letterboxes_round),   cmocka_unit_test(classifiers),
      cmocka_unit_test(detectors), cmocka_unit_test(open_sizes),          cmocka_unit_test(picodet),
      cmocka_unit_test(ppocr),     cmocka_unit_test(lines_of_text),       cmocka_unit_test(quotients),
      cmocka_unit_test(reach),     cmocka_unit_test(remembered_as_typed), cmocka_unit_test(paths_are_not_remembered),
  };
  return cmocka_run_group_tests(tests, enter, leave);
}
