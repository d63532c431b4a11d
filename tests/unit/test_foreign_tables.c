// Calibration tables of other programs: ranges of all magnitudes come back from each format, and lines by hand.
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

#include "quant/files/table.h"

enum { POWERS = 60 };

static char path[] = "/tmp/test_tables_XXXXXX";
static dq_arena *arena;

static int start(void **state) {
  (void)state;
  arena = dq_arena_new(NULL);
  int file = mkstemp(path);
  return file < 0 || !arena ? -1 : close(file);
}
static int end(void **state) {
  (void)state;
  dq_arena_free(arena);
  return unlink(path);
}

// The larger end of each range is kept, to a float32 of a scale of 127 steps; onnxruntime keeps both ends.
static void every_magnitude(void **state) {
  (void)state;
  static const char *const files[] = {"a.cache", "a.table", "calibration.json"};
  dq_calibration_table_range ranges[POWERS];
  char names[POWERS][16];
  for (int i = 0; i < POWERS; i++) {
    const float largest = (float)ldexp(1.3, i - POWERS / 2);
    snprintf(names[i], sizeof names[i], "v/%d:0", i);
    ranges[i] =
        (dq_calibration_table_range){names[i], {i % 2 ? -largest : -largest / 3, i % 2 ? 0 : largest}, false, 0};
  }
  const dq_calibration_table table = {.ranges = ranges, .count = POWERS};
  for (int f = 0; f < 3; f++) {
    dq_error error = {0};
    dq_calibration_table read;
    assert_int_equal(dq_calibration_table_export(&table, dq_calibration_table_format_for(files[f]), path, &error),
                     DQ_OK);
    if (dq_calibration_table_load(&read, path, arena, &error) != DQ_OK) fail_msg("%s", error.message);
    assert_true(read.foreign && read.symmetric == (f < 2));
    assert_int_equal(read.count, POWERS);
    for (int i = 0; i < POWERS; i++) {
      const dq_calibration_table_range *range = dq_calibration_table_find(&read, names[i]);
      assert_non_null(range);
      const double largest = ldexp(1.3, i - POWERS / 2);
      const double low = f < 2 ? -largest : ranges[i].range.low, high = f < 2 ? largest : ranges[i].range.high;
      if (fabs(range->range.low - low) > 1e-6 * largest || fabs(range->range.high - high) > 1e-6 * largest)
        fail_msg("%s: %s: %g to %g, not %g to %g", files[f], names[i], range->range.low, range->range.high, low, high);
    }
  }
}

typedef struct line_case {
  const char *text;
  double largest;    // of value "v"; 0: refused
  const char *words; // of the message behind the path; NULL: none
} line_case;

static const line_case cases[] = {
    {"v 127\n", 1, NULL},
    {"v 0.5\n", 254, NULL},
    {"v 1e-30\n", 127e30, NULL},
    {"v 254  \r\n", 0.5, NULL},
    {"v_param_0 1 2 3\nv 63.5\n", 2, NULL},
    {"w 1\nv inf\n", 0, ": line 2: value 'v': the range has no width"},
    {"v -1\n", 0, ": line 1: value 'v': the scale is not finite"},
    {"v -0.5\n", 0, ": line 1: value 'v': the scale is not finite"},
    {"v nan\n", 0, ": line 1: value 'v': the scale is not finite"},
    {"v 0\n", 0, ": line 1: value 'v': the scale is not finite"},
    {"v 127\nv 127\n", 0, ": line 2: value 'v' stands there twice"},
    {"v 127 x\n", 0, ": line 1: "},
    {"TRT-8600-EntropyCalibration2\nv: 3f800000\n", 127, NULL},
    {"TRT-8600-EntropyCalibration2\nu:0: 3f800000\nv:   3C010204\n", 1, NULL},
    {"TRT-8600-EntropyCalibration2\nv: 3c01020\n", 0, ": line 2: expected 'name: ' and 8 hexadecimal digits"},
    {"TRT-8600-EntropyCalibration2\nv: 3c0102045\n", 0, ": line 2: expected 'name: ' and 8 hexadecimal digits"},
    {"TRT-8600-EntropyCalibration2\nv: 3c01020g\n", 0, ": line 2: expected 'name: ' and 8 hexadecimal digits"},
    {"TRT-8600-EntropyCalibration2\nv\n", 0, ": line 2: expected 'name: ' and 8 hexadecimal digits"},
    {"TRT-8600-EntropyCalibration2\nv: 7fc00000\n", 0, ": line 2: value 'v': the scale is not finite"},
    {"TRT-8600-EntropyCalibration2\nv: 00000000\n", 0, ": line 2: value 'v': the range has no width"},
    {"TRT-8600-EntropyCalibration2\nv: bf800000\n", 0, ": line 2: value 'v': the range has no width"},
    {"TRT-8600-EntropyCalibration2\n", 0, ": no value with its range is in the file, expected one or more"},
};

static void lines_by_hand(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const line_case *it = &cases[i];
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(it->text, file);
    fclose(file);
    dq_error error = {0};
    dq_calibration_table table;
    dq_status status = dq_calibration_table_load(&table, path, arena, &error);
    if (status != (it->words ? DQ_BAD_INPUT : DQ_OK)) fail_msg("'%s': status %d: %s", it->text, status, error.message);
    if (it->words) {
      assert_memory_equal(error.message, path, strlen(path));
      if (strncmp(error.message + strlen(path), it->words, strlen(it->words)))
        fail_msg("%s: %s", it->text, error.message);
      continue;
    }
    const dq_calibration_table_range *range = dq_calibration_table_find(&table, "v");
    assert_non_null(range);
    if (fabs(range->range.high - it->largest) > 1e-6 * it->largest || range->range.low != -range->range.high)
      fail_msg("'%s': %g to %g", it->text, range->range.low, range->range.high);
  }
}

// A range of a value that the table has stays, one of a value that it lacks is added with a name of its own.
static void ranges_of_others(void **state) {
  (void)state;
  char name[] = "c";
  dq_calibration_table_range own[] = {{.value = "a", .range = {0, 1}}, {.value = "b", .range = {-1, 2}}};
  dq_calibration_table_range others[] = {{.value = "b", .range = {-8, 8}}, {.value = name, .range = {-3, 4}}};
  dq_calibration_table table = {.ranges = own, .count = 2};
  const dq_calibration_table found = {.ranges = others, .count = 2}, nothing = {0};
  dq_error error;
  assert_int_equal(dq_calibration_table_add(&table, &nothing, arena, &error), DQ_OK);
  assert_ptr_equal(table.ranges, own);
  assert_int_equal(dq_calibration_table_add(&table, &found, arena, &error), DQ_OK);
  name[0] = 'x';
  assert_int_equal(table.count, 3);
  assert_true(dq_calibration_table_find(&table, "b")->range.high == 2);
  assert_true(dq_calibration_table_find(&table, "c")->range.low == -3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_magnitude), cmocka_unit_test(lines_by_hand),
                                     cmocka_unit_test(ranges_of_others)};
  return cmocka_run_group_tests(tests, start, end);
}
