#include "tests/unit/api_harness.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

dq_engine *api_engine;
dq_failure api_failure;
const char *api_small;
int api_notices;

static void count_message(void *user, dq_notice notice, const char *text) {
  (void)notice;
  assert_true(user == &api_notices && *text);
  api_notices++;
}

bool api_has_locale(void) { return strcmp(localeconv()->decimal_point, ",") == 0; }

static void set_locale(const char *build) {
  char folder[4096 + 16];
  snprintf(folder, sizeof folder, "%s/locale", build);
  setenv("LOCPATH", folder, 1);
  if (!setlocale(LC_ALL, "tr_TR.ISO-8859-9") || !api_has_locale())
    print_message("SKIP the locale tr_TR.ISO-8859-9 is not in %s: the tests run in the locale C\n", folder);
}

// The models lie beside the tests: build/tests/unit/test_api and build/models.
int api_enter(void **state) {
  static char path[4096];
  (void)state;
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 40);
  if (length <= 0) return -1;
  path[length] = 0;
  for (int i = 0; i < 3; i++) *strrchr(path, '/') = 0;
  set_locale(path);
  strcat(path, "/models/small.onnx");
  api_small = path;
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.threads = 2;
  options.message = count_message;
  options.user = &api_notices;
  options.wisdom = ""; // not that of the user
  return dq_engine_open(&api_engine, &options, &api_failure) != DQ_CODE_OK;
}

int api_leave(void **state) {
  (void)state;
  dq_engine_close(api_engine);
  return 0;
}

dq_model *api_load(void) {
  dq_model *model;
  if (access(api_small, R_OK)) {
    print_message("SKIP %s is not there\n", api_small);
    skip();
  }
  assert_int_equal(dq_model_load(&model, api_engine, api_small, &api_failure), DQ_CODE_OK);
  return model;
}

dq_dataset *api_pictures(const char *spec) {
  dq_dataset *dataset;
  assert_int_equal(dq_dataset_open(&dataset, api_engine, spec, NULL, &api_failure), DQ_CODE_OK);
  return dataset;
}

void api_expect(dq_code code, dq_code expected, const char *word) {
  assert_int_equal(code, expected);
  assert_int_equal(api_failure.code, expected);
  assert_non_null(strstr(api_failure.message, word));
}

static size_t read_file(const char *path, char *bytes, size_t most) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t count = fread(bytes, 1, most, file);
  fclose(file);
  return count;
}

void api_assert_same_files(const char *one, const char *other) {
  static char a[1 << 20], b[1 << 20];
  size_t count = read_file(one, a, sizeof a);
  assert_in_range(count, 1, sizeof a - 1);
  assert_int_equal(read_file(other, b, sizeof b), count);
  assert_memory_equal(a, b, count);
}
