// Settings files: what is no settings file, and the lines on which keys stand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/settings/settings_file.h"

static char path[] = "/tmp/test_settings_XXXXXX";

static int start(void **state) {
  (void)state;
  int file = mkstemp(path);
  return file < 0 ? -1 : close(file);
}
static int end(void **state) {
  (void)state;
  return unlink(path);
}

static dq_status open_text(dq_settings_file *settings, const char *text, dq_error *error) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  return dq_settings_open(settings, path, "dq.sample", 2, error);
}

static void lines_of_keys(void **state) {
  (void)state;
  dq_settings_file settings;
  assert_int_equal(
      open_text(&settings,
                "{\"schema\": \"dq.sample\",\n\"version\" : 2,\n\"note\": \"late\",\n\"list\": [\"list\",\n"
                "\"inner\"], \"lat\": 1,\n\"late\"\t:\n0,\n\"e\":\"\"}",
                NULL),
      DQ_OK);
  static const struct {
    const char *key;
    int line;
  } cases[] = {{"schema", 1}, {"version", 2}, {"note", 3},  {"list", 4},      {"lat", 5},
               {"late", 6},   {"e", 8},       {"inner", 0}, {"dq.sample", 0}, {"nowhere", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(dq_settings_line(&settings, cases[i].key), cases[i].line);
  dq_error error = {0};
  char text[200];
  assert_int_equal(dq_settings_fail(&settings, "late", "no such layer", " anywhere", &error), DQ_BAD_INPUT);
  snprintf(text, sizeof text, "%s: line 6: no such layer 'late' anywhere", path);
  assert_string_equal(error.message, text);
  assert_int_equal(dq_settings_fail(&settings, "nowhere", "no such layer", "", &error), DQ_BAD_INPUT);
  snprintf(text, sizeof text, "%s: no such layer 'nowhere'", path);
  assert_string_equal(error.message, text);
  dq_settings_close(&settings);
}

static void refused(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"{\"schema\": \"other\", \"version\": 2}", ": schema is 'other', expected 'dq.sample'"},
      {"{\"version\": 2}", ": schema is '', expected 'dq.sample'"},
      {"{\"schema\": \"dq.sample\", \"version\": 3}", ": version is 3, expected 2"},
      {"{\"schema\": \"dq.sample\",\n \"version\": 2, \"version\": 2}", ": line 2: "},
      {"", ": line 1: "},
      {"[1,\n2,\n", ": line 3: "}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_settings_file settings;
    dq_error error = {0};
    assert_int_equal(open_text(&settings, cases[i][0], &error), DQ_BAD_INPUT);
    assert_memory_equal(error.message, path, strlen(path));
    if (strncmp(error.message + strlen(path), cases[i][1], strlen(cases[i][1]))) fail_msg("%s", error.message);
  }
}

// What is saved is read again.
static void saved(void **state) {
  (void)state;
  dq_settings_file settings;
  dq_error error = {0};
  assert_int_equal(
      dq_settings_save(json_pack("{sssisf}", "schema", "dq.sample", "version", 2, "half", 0.5), path, &error), DQ_OK);
  assert_int_equal(dq_settings_open(&settings, path, "dq.sample", 2, &error), DQ_OK);
  assert_true(json_real_value(json_object_get(settings.root, "half")) == 0.5);
  assert_int_equal(settings.file.data[settings.file.size - 1], '\n');
  assert_int_equal(dq_settings_line(&settings, "half"), 4);
  dq_settings_close(&settings);
  assert_null(settings.root);
  assert_int_equal(dq_settings_save(NULL, path, &error), DQ_SYSTEM);
  assert_int_equal(dq_settings_save(json_object(), "/nowhere/settings", &error), DQ_SYSTEM);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lines_of_keys), cmocka_unit_test(refused),
                                     cmocka_unit_test(saved)};
  return cmocka_run_group_tests(tests, start, end);
}
