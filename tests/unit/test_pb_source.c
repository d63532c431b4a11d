// The data kind pb: tensors in folders become samples; what does not fit is named.
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
#include "lib/onnx/onnx.h"
#include "lib/onnx/pb_source.h"

static char folder[] = "/tmp/test_pb_source_XXXXXX";
static dq_error error;

static void put_tensor(const char *path, int type, int rank, const int64_t *dims, double first) {
  dq_arena *arena = dq_arena_new(0);
  dq_tensor *tensor = dq_tensor_new(arena, type, rank, dims);
  assert_non_null(tensor);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, first + (double)i);
  assert_int_equal(dq_onnx_write_tensor(path, "x", tensor, &error), DQ_OK);
  dq_arena_free(arena);
}

static void put_text(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static int enter(void **state) {
  (void)state;
  return !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}

static int leave(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return chdir("/") || system(command);
}

static dq_status open_limited(dq_data **data, const char *spec, int64_t limit, size_t memory) {
  dq_data_options options = {.spec = spec, .limit = limit, .sources = &dq_pb_source, .source_count = 1};
  static dq_budget budget;
  static dq_context context;
  budget = (dq_budget){.limit = memory};
  context = (dq_context){.budget = &budget};
  return dq_data_open(data, &options, &context, &error);
}

static void expect_failure(const char *spec, dq_status status, const char *word) {
  dq_data *data;
  assert_int_equal(open_limited(&data, spec, 0, 0), status);
  assert_null(data);
  assert_non_null(strstr(error.message, word));
}

static void folders_of_sets(void **state) {
  (void)state;
  mkdir("sets", 0700);
  // Ordered by number, not by name; other folders do not count.
  static const char *const names[] = {"test_data_set_0", "test_data_set_2", "test_data_set_10", "test_data_set_x",
                                      "other"};
  for (int i = 0; i < 5; i++) {
    char path[100];
    snprintf(path, sizeof path, "sets/%s", names[i]);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "sets/%s/input_0.pb", names[i]);
    int64_t dims[] = {i == 1 ? 2 : 1, 3, 2, 1};
    put_tensor(path, i == 2 ? DQ_U8 : DQ_F32, 4, dims, 10 * i);
  }
  dq_data *data;
  assert_int_equal(open_limited(&data, "pb:sets", 0, 0), DQ_OK);
  assert_int_equal(dq_data_count(data), 4);
  float values[6];
  dq_sample_info info;
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 3, 2, 1}}, &error), DQ_OK);
  static const float firsts[] = {0, 10, 16, 20};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(dq_data_read(data, i, values, &info, &error), DQ_OK);
    assert_true(values[0] == firsts[i] && values[5] == firsts[i] + 5);
    assert_int_equal(info.label, -1);
  }
  assert_string_equal(info.name, "test_data_set_10/input_0.pb");
  assert_int_equal(dq_data_read(data, 2, NULL, &info, &error), DQ_OK);
  assert_string_equal(info.name, "test_data_set_2/input_0.pb#1");
  assert_int_equal(dq_data_read(data, 4, values, &info, &error), DQ_BAD_INPUT);
  // Another number of elements than the model wants.
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 3, 2, 2}}, &error), DQ_OK);
  assert_int_equal(dq_data_read(data, 0, values, &info, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "1x3x2x1"));
  dq_data_free(data);
  assert_int_equal(open_limited(&data, "pb:sets", 3, 0), DQ_OK);
  assert_int_equal(dq_data_count(data), 3);
  dq_data_free(data);
}

static void one_folder(void **state) {
  (void)state;
  mkdir("one", 0700);
  put_tensor("one/input_0.pb", DQ_F32, 2, (int64_t[]){3, 4}, 1);
  put_tensor("one/output_0.pb", DQ_F32, 2, (int64_t[]){3, 4}, 1);
  dq_data *data;
  float values[4];
  assert_int_equal(open_limited(&data, "pb:one", 0, 0), DQ_OK);
  assert_int_equal(dq_data_count(data), 3);
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 4, 1, 1}}, &error), DQ_OK);
  assert_int_equal(dq_data_read(data, 2, values, NULL, &error), DQ_OK);
  assert_true(values[0] == 9 && values[3] == 12);
  dq_data_free(data);
}

static void one_element(void **state) {
  (void)state;
  mkdir("single", 0700);
  put_tensor("single/input_0.pb", DQ_F32, 1, (int64_t[]){1}, 7);
  dq_data *data;
  assert_int_equal(open_limited(&data, "pb:single", 0, 0), DQ_OK);
  assert_int_equal(dq_data_count(data), 1);
  dq_data_free(data);
}

static void failures(void **state) {
  (void)state;
  expect_failure("pb:", DQ_USAGE, "pb:DIR");
  expect_failure("pb:nowhere", DQ_SYSTEM, "nowhere");
  mkdir("empty", 0700);
  expect_failure("pb:empty", DQ_SYSTEM, "empty/input_0.pb");
  mkdir("broken", 0700);
  put_text("broken/input_0.pb", "\x08\x04not a tensor");
  expect_failure("pb:broken", DQ_BAD_INPUT, "broken/input_0.pb");
  mkdir("scalar", 0700);
  put_tensor("scalar/input_0.pb", DQ_F32, 0, NULL, 1);
  expect_failure("pb:scalar", DQ_BAD_INPUT, "scalar");
  mkdir("two", 0700);
  put_tensor("two/input_0.pb", DQ_F32, 1, (int64_t[]){2}, 1);
  put_tensor("two/input_1.pb", DQ_F32, 2, (int64_t[]){2, 0}, 1);
  expect_failure("pb:two", DQ_BAD_INPUT, "two/input_1.pb: empty");
  mkdir("large", 0700);
  put_tensor("large/input_0.pb", DQ_F32, 2, (int64_t[]){1, 1 << 18}, 1);
  dq_data *data;
  assert_int_not_equal(open_limited(&data, "pb:large", 0, 1 << 16), DQ_OK);
  assert_null(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(folders_of_sets), cmocka_unit_test(one_folder),
                                     cmocka_unit_test(one_element), cmocka_unit_test(failures)};
  return cmocka_run_group_tests(tests, enter, leave);
}
