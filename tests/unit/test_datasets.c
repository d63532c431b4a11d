// Specifications of data: good ones give the pictures, broken ones a status and the place.
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
#include "datasets/npy.h"
#include "datasets/synth.h"
#include "tests/unit/data_folder.h"

static void preprocessing_fields(void **state) {
  (void)state;
  static const char *const wrong[][2] = {{"std=0", "std"},
                                         {"std=1:0:1", "channel 1"},
                                         {"scale=nan", "scale"},
                                         {"mean=1:2", "mean"},
                                         {"resize=x", "resize"},
                                         {"crop=0", "crop"},
                                         {"fit=bend", "fit"},
                                         {"colour=rgb", "colour"},
                                         {"filter=nearest", "filter"},
                                         {"resize", "resize"},
                                         {"mean=1e300,std=1e-300", "float32"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    folder_refuses((dq_data_options){.spec = "good.txt", .preprocess = wrong[i][0]}, DQ_USAGE, wrong[i][1]);
  folder_refuses((dq_data_options){.spec = "good.txt", .preset = "imagnet"}, DQ_USAGE, "imagnet");
  folder_refuses((dq_data_options){.spec = "good.txt", .preset = "lgg"}, DQ_USAGE, "norm=FILE");
  folder_refuses((dq_data_options){.spec = "good.txt"}, DQ_USAGE, "preset");
  for (int i = 0; dq_preset_name(i); i++) { // what is stored with a model reads back the same
    dq_data *data, *again;
    dq_data_options options = {.spec = "synth:shapes", .preset = dq_preset_name(i)};
    if (!strcmp(options.preset, "lgg")) continue;
    assert_int_equal(folder_open(&data, options), DQ_OK);
    options = (dq_data_options){.spec = "synth:shapes", .preprocess = dq_data_preprocess_text(data)};
    assert_int_equal(folder_open(&again, options), DQ_OK);
    assert_string_equal(dq_data_preprocess_text(data), dq_data_preprocess_text(again));
    dq_data_free(data);
    dq_data_free(again);
  }
}

static void letterbox(void **state) {
  (void)state;
  dq_data *data;
  dq_sample_info info;
  float values[3 * 4 * 4];
  folder_put_text("one.txt", "a.ppm 0\n"); // 2x1 pixels
  assert_int_equal(folder_open(&data, (dq_data_options){.spec = "one.txt", .preset = "yolox"}), DQ_OK);
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 3, 4, 4}}, &folder_error), DQ_OK);
  assert_int_equal(dq_data_read(data, 0, values, &info, &folder_error), DQ_OK);
  assert_true(values[3] == 0x40 && values[32 + 3] == 0xff); // blue first
  assert_true(values[8] == 114 && values[47] == 114);
  assert_true(info.view.scale_x == 1 && info.view.scale_y == 2 && info.view.offset_y == 0);
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 4, 4, 4}}, &folder_error), DQ_BAD_INPUT);
  dq_data_free(data);
}

// 2x2 pixels of red, green, blue, row by row.
static void channels_last(void **state) {
  (void)state;
  dq_data *data;
  float values[12], padded[4 * 4 * 3];
  folder_put("four.ppm", "P6 2 2 255\n\1\2\3\4\5\6\7\10\11\12\13\14", 23);
  folder_put_text("four.txt", "four.ppm 0\n");
  assert_int_equal(folder_open(&data, (dq_data_options){.spec = "four.txt", .preprocess = "fit=stretch"}), DQ_OK);
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 2, 2, 3}}, &folder_error), DQ_OK);
  assert_int_equal(dq_data_read(data, 0, values, NULL, &folder_error), DQ_OK);
  for (int i = 0; i < 12; i++) assert_true(values[i] == (float)(i + 1));
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 3, 2, 2}}, &folder_error), DQ_OK);
  assert_int_equal(dq_data_read(data, 0, values, NULL, &folder_error), DQ_OK);
  for (int i = 0; i < 12; i++) assert_true(values[i] == (float)(i % 4 * 3 + i / 4 + 1));
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 7, 7, 5}}, &folder_error), DQ_BAD_INPUT);
  assert_string_equal(folder_error.message,
                      "pictures have 1 or 3 channels, NxCxHxW or NxHxWxC, the model's input is Nx7x7x5");
  dq_data_free(data);
  // 2x1 pixels in the corner, twice as large, in 4x4: blue, green, red.
  folder_put_text("one.txt", "a.ppm 0\n");
  assert_int_equal(folder_open(&data, (dq_data_options){.spec = "one.txt", .preset = "yolox"}), DQ_OK);
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 4, 4, 3}}, &folder_error), DQ_OK);
  assert_int_equal(dq_data_read(data, 0, padded, NULL, &folder_error), DQ_OK);
  assert_true(padded[9] == 0x40 && padded[10] == 0x80 && padded[11] == 0xff);
  assert_true(padded[24] == 114 && padded[47] == 114);
  dq_data_free(data);
}

static void layouts(void **state) {
  (void)state;
  static const struct {
    int64_t dims[4];
    bool last;
  } cases[] = {{{1, 224, 224, 3}, true}, {{1, 28, 28, 1}, true}, {{-1, -1, -1, 3}, true}, {{1, 3, 224, 224}, false},
               {{1, 3, 3, 3}, false},    {{1, 1, 28, 1}, false}, {{1, 7, 7, 5}, false},   {{-1, -1, -1, -1}, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_true(dq_channels_last(4, cases[i].dims) == cases[i].last);
  assert_false(dq_channels_last(2, (int64_t[]){1, 784, 1, 1}));
}

static void records(void **state) {
  (void)state;
  dq_data *data;
  uint8_t bytes[2 * 3073] = {9, 50};
  bytes[3073] = 10;
  folder_put("bad.bin", bytes, 3000);
  folder_refuses((dq_data_options){.spec = "cifar10:bad.bin"}, DQ_BAD_INPUT, "3000 bytes");
  folder_put("bad.bin", bytes, sizeof bytes);
  folder_refuses((dq_data_options){.spec = "cifar10:bad.bin"}, DQ_BAD_INPUT, "record 1: label 10");
  folder_put("good.bin", bytes, 3073);
  assert_int_equal(folder_open(&data, (dq_data_options){.spec = "cifar10:good.bin,good.bin"}), DQ_OK);
  assert_int_equal(dq_data_count(data), 2);
  float values[3072];
  dq_sample_info info;
  assert_int_equal(dq_data_read(data, 1, values, NULL, &folder_error), DQ_BAD_INPUT); // no shape yet
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 3, 32, 32}}, &folder_error), DQ_OK);
  assert_int_equal(dq_data_read(data, 1, values, &info, &folder_error), DQ_OK);
  assert_true(info.label == 9 && values[0] == 50);
  dq_data_free(data);
  folder_put("images", "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x01\x07\x08", 18);
  folder_put("labels", "\0\0\x08\x01\0\0\0\x01\x05", 9);
  folder_refuses((dq_data_options){.spec = "mnist:images,labels"}, DQ_BAD_INPUT, "1 labels for 2 pictures");
  folder_put("images", "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x01\x07", 17);
  folder_refuses((dq_data_options){.spec = "mnist:images"}, DQ_BAD_INPUT, "expected 2");
  folder_put("images", "\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x07", 17);
  folder_refuses((dq_data_options){.spec = "mnist:images"}, DQ_BAD_INPUT, "overflows");
}

// Two pictures of 3 x 2 pixels, one row after the other, with labels.
static void idx_files(void **state) {
  (void)state;
  dq_data *data;
  dq_sample_info info;
  float values[6];
  folder_put("images", "\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03\1\2\3\4\5\6\x0b\x0c\x0d\x0e\x0f\xff", 28);
  folder_put("labels", "\0\0\x08\x01\0\0\0\x02\x0c\x05", 10); // the first one has the largest class
  for (int labels = 0; labels < 2; labels++) {
    dq_data_options options = {.spec = labels ? "mnist:images,labels" : "mnist:images", .preset = "mnist"};
    assert_int_equal(folder_open(&data, options), DQ_OK);
    assert_int_equal(dq_data_count(data), 2);
    assert_int_equal(dq_data_classes(data), labels ? 13 : 0); // more than ten digits
    assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 1, 2, 3}}, &folder_error), DQ_OK);
    for (int picture = 0; picture < 2; picture++) {
      info.label = -7;
      assert_int_equal(dq_data_read(data, picture, values, &info, &folder_error), DQ_OK);
      for (int i = 0; i < 6; i++) assert_true(values[i] == (float)(picture && i == 5 ? 255 : picture ? 11 + i : 1 + i));
      if (labels) assert_int_equal(info.label, picture ? 5 : 12);
      assert_string_equal(info.name, picture ? "images#1" : "images#0");
    }
    dq_data_free(data);
  }
  folder_refuses((dq_data_options){.spec = "mnist:images,labels,labels"}, DQ_USAGE, "3 files, expected IMAGES,LABELS");
  folder_refuses((dq_data_options){.spec = "mnist:labels"}, DQ_BAD_INPUT,
                 "labels: not an idx file of bytes with 3 dimensions");
  folder_refuses((dq_data_options){.spec = "mnist:images,images"}, DQ_BAD_INPUT,
                 "images: not an idx file of bytes with 1 dimensions");
  folder_put("images", "\0\0\x08\x03\0\0\0\x01\0\1\0\1\0\0\0\0", 16);
  folder_refuses((dq_data_options){.spec = "mnist:images"}, DQ_BAD_INPUT, "images: pictures of 0x65537 pixels");
  folder_put("images", "\x1f\x8b\x08\0", 4);
  folder_refuses((dq_data_options){.spec = "mnist:images"}, DQ_BAD_INPUT, "not an idx file");
  assert_string_equal(folder_error.hint, "it is compressed: gunzip it first");
}

static void put_npy(const char *name, int version, const char *header, size_t elements) {
  uint8_t bytes[256] = "\x93NUMPY";
  size_t length = strlen(header), prefix = version == 1 ? 10 : 12;
  bytes[6] = (uint8_t)version;
  bytes[8] = (uint8_t)length;
  memcpy(bytes + prefix, header, length);
  folder_put(name, bytes, prefix + length + elements);
}

static void npy_headers(void **state) {
  (void)state;
  dq_arena *arena = dq_arena_new(0);
  dq_tensor *tensor;
  static const char *const good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\n";
  for (int version = 1; version <= 3; version++) {
    put_npy("x.npy", version, good, 8);
    assert_int_equal(dq_npy_read(&tensor, "x.npy", arena, &folder_error), DQ_OK);
    assert_true(tensor->rank == 2 && tensor->dims[1] == 2 && tensor->type == DQ_F32);
  }
  put_npy("x.npy", 1, good, 7);
  assert_int_equal(dq_npy_read(&tensor, "x.npy", arena, &folder_error), DQ_BAD_INPUT);
  static const struct {
    const char *header, *message;
  } wrong[] = {{"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", ""},
               {"{'descr': '>f4', 'fortran_order': False, 'shape': (1, 2), }", ""},
               {"{'descr': '|O', 'fortran_order': False, 'shape': (1, 2), }", ""},
               {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 2), }", ""},
               {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, -2), }", ""},
               {"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999, 2), }", ""},
               {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", ""},
               {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2", ""},
               {"{descr: '<f4', 'fortran_order': False, 'shape': (1, 2), }", "expected a quoted text"},
               {"{'descr': '<f4', 'fortran", "expected a closing quote"},
               {"{'descr': '', 'fortran_order': False, 'shape': (1, 2)}", ""},
               {"{'descr': '<f4'}", ""},
               {"{", ""},
               {"", ""},
               {"nonsense", ""}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    put_npy("x.npy", 1, wrong[i].header, 8);
    assert_int_equal(dq_npy_read(&tensor, "x.npy", arena, &folder_error), DQ_BAD_INPUT);
    assert_non_null(strstr(folder_error.message, wrong[i].message));
  }
  put_npy("x.npy", 4, good, 8);
  assert_int_equal(dq_npy_read(&tensor, "x.npy", arena, &folder_error), DQ_BAD_INPUT);
  dq_arena_free(arena);
}

// What NumPy reads: a tuple of one element has a comma behind it, and elements begin at a multiple of 64 bytes.
static void npy_headers_written(void **state) {
  (void)state;
  static const struct {
    int type, rank;
    const char *header;
  } cases[] = {{DQ_F32, 0, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
               {DQ_U8, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }"},
               {DQ_I64, 2, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }"},
               {DQ_F16, 3, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3, 5), }"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_arena *arena = dq_arena_new(0);
    dq_tensor *tensor = dq_tensor_new(arena, cases[i].type, cases[i].rank, (int64_t[]){2, 3, 5});
    assert_int_equal(dq_npy_write("x.npy", tensor, &folder_error), DQ_OK);
    char bytes[512], expected[128];
    FILE *file = fopen("x.npy", "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 128 + dq_tensor_bytes(tensor));
    fclose(file);
    snprintf(expected, sizeof expected, "%-117s", cases[i].header);
    assert_memory_equal(bytes, "\x93NUMPY\1\0\x76", 10);
    assert_memory_equal(bytes + 10, expected, 117);
    assert_int_equal(bytes[127], '\n');
    dq_arena_free(arena);
  }
}

static void npy_arrays(void **state) {
  (void)state;
  dq_data *data;
  dq_arena *arena = dq_arena_new(0);
  int64_t dims[4] = {2, 1, 1, 3}, two = 2;
  dq_tensor *values = dq_tensor_new(arena, DQ_F64, 4, dims);
  dq_tensor *labels = dq_tensor_new(arena, DQ_I32, 1, &two);
  for (int i = 0; i < 6; i++) dq_tensor_set(values, i, 0.5 * i);
  dq_tensor_set(labels, 1, 4);
  assert_int_equal(dq_npy_write("v.npy", values, &folder_error), DQ_OK);
  assert_int_equal(dq_npy_write("l.npy", labels, &folder_error), DQ_OK);
  assert_int_equal(folder_open(&data, (dq_data_options){.spec = "npy:v.npy,l.npy"}), DQ_OK);
  assert_int_equal(dq_data_classes(data), 5);
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 1, 3, 1}}, &folder_error), DQ_BAD_INPUT);
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 1, 1, 3}}, &folder_error), DQ_OK);
  float read[6];
  dq_sample_info infos[2];
  assert_int_equal(dq_data_read_batch(data, 0, 2, read, infos, &folder_error), DQ_OK);
  assert_true(read[5] == 2.5f && infos[1].label == 4);
  dq_data_free(data);
  dq_arena_free(arena);
}

// One picture, brought to one channel of a size.
static dq_data *open_one(const char *picture, const char *preprocess, int height, int width) {
  dq_data *data;
  const dq_tensor input = {.rank = 4, .dims = {1, 1, height, width}};
  folder_put_text("list.txt", picture);
  assert_int_equal(folder_open(&data, (dq_data_options){.spec = "list.txt", .preprocess = preprocess}), DQ_OK);
  assert_int_equal(dq_data_set_shape(data, &input, &folder_error), DQ_OK);
  return data;
}

// Where a picture of 8 x 4 or 7 x 4 pixels lies: shares of the input for the picture's sides, and its place in shares
// of the input. fit=crop takes the shorter side, 4, to 3, the larger side of the input: 6 x 3, of which 3 x 2 are
// taken.
static void placements(void **state) {
  (void)state;
  static const struct {
    const char *preprocess, *picture;
    int64_t height, width;
    dq_view view;
  } cases[] = {{"fit=crop,resize=2", "8.pgm", 2, 3, {.scale_x = 3 / 6., .scale_y = 2 / 3., .offset_x = -1 / 3.}},
               {"fit=crop,resize=5", "8.pgm", 3, 2, {.scale_x = 2 / 10., .scale_y = 3 / 5., -4 / 2., -1 / 3.}},
               {"fit=crop,resize=5", "5.pgm", 2, 2, {.scale_x = 2 / 12., .scale_y = 2 / 5., -5 / 2., -1 / 2.}}, // 12.5
               {"fit=crop,resize=3", "5.pgm", 3, 2, {.scale_x = 2 / 8., .scale_y = 1, -3 / 2.}},                // 7.5
               {"fit=letterbox", "8.pgm", 6, 4, {.scale_x = 1, .scale_y = 3, .offset_y = 2 / 6.}},
               {"fit=letterbox", "8.pgm", 2, 7, {.scale_x = 7 / 4., .scale_y = 1, .offset_x = 1 / 7.}},
               {"fit=letterbox-corner", "8.pgm", 2, 7, {.scale_x = 7 / 4., .scale_y = 1}},
               {"fit=line", "8.pgm", 2, 5, {.scale_x = 5 / 4., .scale_y = 1}},
               {"fit=line", "8.pgm", 2, 4, {.scale_x = 1, .scale_y = 1}},
               {"fit=line", "8.pgm", 2, 3, {.scale_x = 1, .scale_y = 1}},
               {"fit=line", "7.pgm", 2, 5, {.scale_x = 5 / 4., .scale_y = 1}},
               {"fit=stretch", "8.pgm", 2, 5, {.scale_x = 1, .scale_y = 1}}};
  uint8_t bytes[11 + 32] = "P5 8 4 255\n";
  folder_put("8.pgm", bytes, sizeof bytes);
  bytes[3] = '7';
  folder_put("7.pgm", bytes, sizeof bytes - 4);
  folder_put("5.pgm", "P5 5 2 255\n\0\0\0\0\0\0\0\0\0", 11 + 10);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_data *data = open_one(cases[i].picture, cases[i].preprocess, cases[i].height, cases[i].width);
    dq_sample_info info;
    float values[64];
    assert_int_equal(dq_data_read(data, 0, values, &info, &folder_error), DQ_OK);
    const dq_view *view = &cases[i].view, *found = &info.view;
    double distance = fabs(found->scale_x - view->scale_x) + fabs(found->scale_y - view->scale_y) +
                      fabs(found->offset_x - view->offset_x) + fabs(found->offset_y - view->offset_y);
    if (!(distance < 1e-9))
      fail_msg("case %zu: %g %g %g %g", i, found->scale_x, found->scale_y, found->offset_x, found->offset_y);
    dq_data_free(data);
  }
}

// Where black pictures lie in the model's input, the rest of which is 9: sizes, and half of an odd rest, are rounded
// down.
static void windows_of_odd_rests(void **state) {
  (void)state;
  static const struct {
    const char *preprocess, *picture;
    int height, width, top, left, rows, columns;
  } cases[] = {{"fit=letterbox,pad=9", "wide.pgm", 5, 5, 1, 0, 2, 5}, // 8 x 4: 2.5 rows, a rest of 3
               {"fit=letterbox,pad=9", "high.pgm", 5, 5, 0, 1, 5, 2},
               {"fit=letterbox,pad=9", "wide.pgm", 7, 7, 1, 0, 4, 7}, // 3.5 rows, to the even number
               {"fit=letterbox,pad=9", "high.pgm", 7, 7, 0, 1, 7, 4},
               {"fit=letterbox,pad=9", "wide.pgm", 4, 5, 1, 0, 2, 5},
               {"fit=letterbox,pad=9", "wide.pgm", 4, 9, 0, 0, 4, 8}, // a rest of 1
               {"fit=letterbox,pad=9", "high.pgm", 9, 4, 0, 0, 8, 4},
               {"fit=letterbox,pad=9", "high.pgm", 8, 7, 0, 1, 8, 4},
               {"fit=letterbox,pad=9", "wide.pgm", 3, 1, 1, 0, 1, 1}, // 0.5 rows: at least one
               {"fit=letterbox,pad=9", "high.pgm", 1, 4, 0, 1, 1, 1},
               {"fit=letterbox-corner,pad=9", "wide.pgm", 5, 5, 0, 0, 2, 5},
               {"fit=letterbox-corner,pad=9", "high.pgm", 5, 5, 0, 0, 5, 2},
               {"fit=line,pad=9", "high.pgm", 3, 4, 0, 0, 3, 2}, // 1.5 columns, rounded up
               {"fit=line,pad=9", "high.pgm", 4, 4, 0, 0, 4, 2},
               {"fit=line,pad=9", "wide.pgm", 3, 7, 0, 0, 3, 6},
               {"fit=line,pad=9", "wide.pgm", 3, 5, 0, 0, 3, 5}};
  uint8_t wide[11 + 32] = "P5 8 4 255\n", high[11 + 32] = "P5 4 8 255\n";
  folder_put("wide.pgm", wide, sizeof wide);
  folder_put("high.pgm", high, sizeof high);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_data *data = open_one(cases[i].picture, cases[i].preprocess, cases[i].height, cases[i].width);
    float values[64];
    assert_int_equal(dq_data_read(data, 0, values, NULL, &folder_error), DQ_OK);
    for (int y = 0; y < cases[i].height; y++)
      for (int x = 0; x < cases[i].width; x++) {
        bool inside = y >= cases[i].top && y < cases[i].top + cases[i].rows && x >= cases[i].left &&
                      x < cases[i].left + cases[i].columns;
        if (values[y * cases[i].width + x] != (inside ? 0 : 9)) fail_msg("case %zu: row %d, column %d", i, y, x);
      }
    dq_data_free(data);
  }
}

// Columns 0, 16, 32, ... of a picture that is cut to its middle: half of an odd rest is rounded down, and the longer
// side in front of that half to even. Pictures keep their size, so that the numbers stay.
static void middles_of_odd_rests(void **state) {
  (void)state;
  static const struct {
    const char *preprocess;
    int height, width, first;                        // first: the number of the first pixel
  } cases[] = {{"fit=crop,resize=1", 4, 4, 32},      // of 8: from 2 on
               {"fit=crop,resize=4", 4, 3, 32},      // a rest of 5: from 2 on
               {"fit=crop,resize=4", 4, 1, 48},      // of 7: from 3 on
               {"fit=crop,resize=4", 3, 4, 32},      // above: a rest of 1, from 0 on
               {"fit=crop,resize=4", 1, 4, 32 + 1}}; // of 3: from 1 on
  uint8_t bytes[11 + 32] = "P5 8 4 255\n";
  for (int i = 0; i < 32; i++) bytes[11 + i] = (uint8_t)(i % 8 * 16 + i / 8);
  folder_put("middle.pgm", bytes, sizeof bytes);
  folder_put_text("list.txt", "middle.pgm");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_data *data;
    float values[64];
    assert_int_equal(folder_open(&data, (dq_data_options){.spec = "list.txt", .preprocess = cases[i].preprocess}),
                     DQ_OK);
    const dq_tensor input = {.rank = 4, .dims = {1, 1, cases[i].height, cases[i].width}};
    assert_int_equal(dq_data_set_shape(data, &input, &folder_error), DQ_OK);
    assert_int_equal(dq_data_read(data, 0, values, NULL, &folder_error), DQ_OK);
    if (values[0] != (float)cases[i].first) fail_msg("case %zu: %g", i, (double)values[0]);
    dq_data_free(data);
  }
}

// Arrays of bytes are pictures when they have 1 or 3 channels, first or last, and sides that a picture can have; others
// are numbers, which no preprocessing changes: here it doubles them.
static void npy_pictures(void **state) {
  (void)state;
  static const struct {
    int rank;
    int64_t dims[5], shape[4]; // the model's input
    bool picture, last;
  } cases[] = {{4, {2, 3, 2, 5}, {1, 3, 2, 5}, true, false},
               {4, {2, 2, 5, 3}, {1, 3, 2, 5}, true, true},
               {4, {2, 1, 2, 5}, {1, 1, 2, 5}, true, false},
               {4, {2, 2, 5, 1}, {1, 1, 2, 5}, true, true},
               {4, {2, 3, 5, 1}, {1, 3, 5, 1}, true, false},
               {3, {2, 2, 5}, {1, 1, 2, 5}, true, false},
               {3, {2, 3, 1}, {1, 1, 3, 1}, true, false},
               {4, {2, 2, 5, 2}, {1, 2, 5, 2}, false, false},
               {4, {2, 4, 5, 4}, {1, 4, 5, 4}, false, false},
               {2, {2, 3}, {1, 3, 1, 1}, false, false},
               {4, {1, 1, 1, 65536}, {1, 1, 1, 65536}, true, false},
               {4, {1, 1, 65537, 1}, {1, 1, 65537, 1}, false, false},
               {4, {1, 1, 65536, 1}, {1, 1, 65536, 1}, true, false},
               {4, {1, 1, 1, 65537}, {1, 1, 1, 65537}, false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_arena *arena = dq_arena_new(0);
    dq_data *data;
    dq_tensor *bytes = dq_tensor_new(arena, DQ_U8, cases[i].rank, cases[i].dims);
    const int64_t all = dq_tensor_count(bytes), count = all / bytes->dims[0], first = all - count;
    for (int64_t k = 0; k < all; k++) ((uint8_t *)bytes->data)[k] = (uint8_t)(k % 100);
    float *values = DQ_NEW_ARRAY(arena, count, float);
    assert_int_equal(dq_npy_write("p.npy", bytes, &folder_error), DQ_OK);
    assert_int_equal(folder_open(&data, (dq_data_options){.spec = "npy:p.npy", .preprocess = "fit=stretch,scale=2"}),
                     DQ_OK);
    dq_tensor input = {.rank = 4};
    memcpy(input.dims, cases[i].shape, sizeof cases[i].shape);
    assert_int_equal(dq_data_set_shape(data, &input, &folder_error), DQ_OK);
    assert_int_equal(dq_data_read(data, bytes->dims[0] - 1, values, NULL, &folder_error), DQ_OK);
    const int64_t channels = input.dims[1], plane = count / channels;
    for (int64_t k = 0; k < count; k++) {
      const int64_t at = first + (cases[i].last ? k % plane * channels + k / plane : k);
      if (values[k] != (float)(at % 100 * (cases[i].picture ? 2 : 1))) fail_msg("case %zu: element %d", i, (int)k);
    }
    dq_data_free(data);
    dq_arena_free(arena);
  }
}

static void npy_labels(void **state) {
  (void)state;
  dq_arena *arena = dq_arena_new(0);
  const double wrong[] = {-1, INT32_MAX};
  dq_tensor *values = dq_tensor_new(arena, DQ_F32, 2, (int64_t[]){2, 3});
  dq_tensor *labels = dq_tensor_new(arena, DQ_I64, 1, (int64_t[]){2});
  assert_int_equal(dq_npy_write("v.npy", values, &folder_error), DQ_OK);
  for (int i = 0; i < 2; i++) {
    dq_tensor_set(labels, 1, wrong[i]);
    assert_int_equal(dq_npy_write("l.npy", labels, &folder_error), DQ_OK);
    folder_refuses((dq_data_options){.spec = "npy:v.npy,l.npy"}, DQ_BAD_INPUT, i ? "2147483647" : "-1 of picture 1");
  }
  dq_arena_free(arena);
}

static void generated_shapes(void **state) {
  (void)state;
  uint8_t train[32 * 32 * 3], test[32 * 32 * 3], again[32 * 32 * 3];
  dq_synth synth = {.seed = 0, .split = DQ_SPLIT_TRAIN, .size = 32, .channels = 3, .noise = 50};
  assert_int_equal(dq_synth_picture(&synth, 11, train), 3);
  assert_int_equal(dq_synth_picture(&synth, 11, again), 3);
  assert_memory_equal(train, again, sizeof train);
  synth.split = DQ_SPLIT_TEST;
  dq_synth_picture(&synth, 11, test);
  assert_true(memcmp(train, test, sizeof train) != 0);
  uint64_t hash = UINT64_C(0xcbf29ce484222325); // FNV-1a: the same bytes on every machine, two pictures of each class
  for (int64_t index = 0; index < 2 * DQ_SYNTH_CLASSES; index++) {
    assert_int_equal(dq_synth_picture(&synth, index, test), index % DQ_SYNTH_CLASSES);
    for (size_t i = 0; i < sizeof test; i++) hash = (hash ^ test[i]) * UINT64_C(0x100000001b3);
  }
  assert_int_equal(hash, UINT64_C(0x797014252aa4e33c));
  folder_refuses((dq_data_options){.spec = "synth:faces"}, DQ_USAGE, "faces");
  folder_refuses((dq_data_options){.spec = "synth:shapes,size=4"}, DQ_USAGE, "size");
  folder_refuses((dq_data_options){.spec = "synth:shapes,split=all"}, DQ_USAGE, "split");
  folder_refuses((dq_data_options){.spec = "pb:folder"}, DQ_UNSUPPORTED, "pb:");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(preprocessing_fields),
                                     cmocka_unit_test(channels_last),
                                     cmocka_unit_test(layouts),
                                     cmocka_unit_test(letterbox),
                                     cmocka_unit_test(records),
                                     cmocka_unit_test(idx_files),
                                     cmocka_unit_test(npy_headers),
                                     cmocka_unit_test(npy_headers_written),
                                     cmocka_unit_test(npy_arrays),
                                     cmocka_unit_test(placements),
                                     cmocka_unit_test(windows_of_odd_rests),
                                     cmocka_unit_test(middles_of_odd_rests),
                                     cmocka_unit_test(npy_pictures),
                                     cmocka_unit_test(npy_labels),
                                     cmocka_unit_test(generated_shapes)};
  return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
