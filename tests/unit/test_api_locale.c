// The public interface in a program with a decimal comma and Turkish letters: files, options and messages are those of
// the locale "C", and the program keeps its locale. All tests of the public interface run in this locale; here are the
// numbers that no other test writes or reads.
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/api_harness.h"

static char folder[] = "/tmp/test_api_locale_XXXXXX";

static char *place(char *path, const char *name) {
  snprintf(path, 128, "%s/%s", folder, name);
  return path;
}

static int enter(void **state) { return !mkdtemp(folder) || api_enter(state); }

static int leave(void **state) {
  char command[160];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command) || api_leave(state);
}

static dq_model *load(const char *path) {
  dq_model *model;
  assert_int_equal(dq_model_load(&model, api_engine, path, &api_failure), DQ_CODE_OK);
  return model;
}

static dq_dataset *shapes(const char *preprocess) {
  dq_dataset *dataset;
  dq_dataset_options options;
  dq_dataset_defaults(&options, sizeof options);
  options.preprocess = preprocess;
  const dq_code code = dq_dataset_open(&dataset, api_engine, "synth:shapes,count=16", &options, &api_failure);
  if (code) fail_msg("%s", api_failure.message);
  return dataset;
}

// Makes a table and a model whose preprocessing has fractions.
static void quantize(const char *format, const char *name) {
  char table[128], output[128], file[64];
  snprintf(file, sizeof file, "%s.%s.table", name, format);
  dq_model *model = load("datasets/shapes.onnx");
  dq_dataset *dataset = shapes("scale=0.0123");
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  options.method = "minmax", options.range_search = DQ_CHOICE_OFF, options.bias_correction = DQ_CHOICE_OFF;
  options.equalize = options.bias_absorption = DQ_CHOICE_OFF;
  options.save_table = place(table, file), options.table_format = format;
  if (dq_model_int8(model, dataset, &options, NULL, &api_failure)) fail_msg("%s: %s", format, api_failure.message);
  snprintf(file, sizeof file, "%s.%s.onnx", name, format);
  assert_int_equal(dq_model_save(model, place(output, file), &api_failure), DQ_CODE_OK);
  dq_dataset_close(dataset);
  dq_model_free(model);
}

static const char *const formats[] = {"dq", "tensorrt", "onnxruntime", "ncnn"};

static void in_plain_locale(void) { setlocale(LC_ALL, "C"); }

static void in_strange_locale(void) {
  setlocale(LC_ALL, "tr_TR.ISO-8859-9");
  if (!api_has_locale()) skip();
}

static void tables_and_models_have_the_same_bytes(void **state) {
  (void)state;
  char one[128], other[128];
  in_strange_locale();
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    in_plain_locale();
    quantize(formats[i], "plain");
    in_strange_locale();
    quantize(formats[i], "strange");
    static const char *const ends[] = {"table", "onnx"};
    for (int e = 0; e < 2; e++) {
      snprintf(one, sizeof one, "%s/plain.%s.%s", folder, formats[i], ends[e]);
      snprintf(other, sizeof other, "%s/strange.%s.%s", folder, formats[i], ends[e]);
      api_assert_same_files(one, other);
    }
  }
}

// Tables that a command wrote, and the preprocessing that a model remembers.
static void files_of_commands_are_read(void **state) {
  (void)state;
  char path[128], name[64];
  in_strange_locale();
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    in_plain_locale();
    quantize(formats[i], "read");
    in_strange_locale();
    snprintf(name, sizeof name, "read.%s.table", formats[i]);
    dq_model *model = load("datasets/shapes.onnx");
    dq_model_int8_options options;
    dq_model_int8_defaults(&options, sizeof options);
    options.use_table = place(path, name), options.force = 1;
    if (dq_model_int8(model, NULL, &options, NULL, &api_failure)) fail_msg("%s: %s", name, api_failure.message);
    dq_model_free(model);
  }
  dq_model *model = load(place(path, "read.dq.onnx"));
  dq_dataset *dataset;
  dq_dataset_options options;
  dq_dataset_defaults(&options, sizeof options);
  options.model = model;
  assert_int_equal(dq_dataset_open(&dataset, api_engine, "synth:shapes,count=4", &options, &api_failure), DQ_CODE_OK);
  dq_dataset_close(dataset);
  dq_model_free(model);
}

// Options with fractions in texts; Turkish has no pair of I and i, which names of files and nodes would feel.
static void options_have_a_decimal_point(void **state) {
  (void)state;
  in_strange_locale();
  dq_dataset_close(shapes("scale=0.5"));
  dq_model *model = load("datasets/shapes.onnx");
  dq_dataset *dataset = shapes(NULL);
  dq_model_train_options train;
  dq_model_train_defaults(&train, sizeof train);
  train.data = train.validation = dataset, train.epochs = 1, train.batch = 16, train.rate = 1e-9;
  train.augment = "colour=0.5", train.keep_last = 1;
  if (dq_model_train(model, &train, NULL, &api_failure)) fail_msg("%s", api_failure.message);
  train.rate = 0, train.warmup = 0.5;
  api_expect(dq_model_train(model, &train, NULL, &api_failure), DQ_CODE_USAGE, "1e-12");
  train.rate = 0.5, train.momentum = 1.5;
  api_expect(dq_model_train(model, &train, NULL, &api_failure), DQ_CODE_USAGE, "momentum is 1.5,");
  dq_dataset_close(dataset);
  dq_model_free(model);
}

// ---- The locale of the program ----

static int callbacks;

// The program formats a number, calls the library, and formats it again.
static void look_at_locale(void) {
  char text[8];
  dq_model *model;
  for (int again = 0; again < 2; again++) {
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
    assert_int_equal(dq_model_load(&model, NULL, NULL, NULL), DQ_CODE_USAGE);
  }
  callbacks++;
}

static void on_message(void *user, dq_notice notice, const char *text) {
  (void)user, (void)notice, (void)text;
  look_at_locale();
}

static void on_progress(void *user, const char *what, int64_t done, int64_t total) {
  (void)user, (void)what, (void)done, (void)total;
  look_at_locale();
}

// Works with callbacks; the table would have a comma if one of them left its locale to the library.
static void work_with_callbacks(void) {
  char table[128];
  dq_engine *engine = api_engine;
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.threads = 2, options.message = on_message, options.progress = on_progress, options.wisdom = "";
  assert_int_equal(dq_engine_open(&api_engine, &options, &api_failure), DQ_CODE_OK);
  callbacks = 0;
  quantize("ncnn", "callbacks");
  assert_true(callbacks > 2);
  FILE *file = fopen(place(table, "callbacks.ncnn.table"), "r");
  assert_non_null(file);
  for (int byte; (byte = fgetc(file)) != EOF;) assert_int_not_equal(byte, ',');
  fclose(file);
  dq_engine_close(api_engine);
  api_engine = engine;
}

static void callbacks_have_the_locale_of_the_program(void **state) {
  (void)state;
  in_strange_locale();
  work_with_callbacks();
  look_at_locale();
  assert_true(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
}

// The program gave a locale to this thread alone.
static void locale_of_a_thread(void **state) {
  (void)state;
  in_strange_locale();
  locale_t own = newlocale(LC_ALL_MASK, "tr_TR.ISO-8859-9", (locale_t)0);
  assert_true(own != (locale_t)0);
  in_plain_locale();
  assert_true(uselocale(own) == LC_GLOBAL_LOCALE);
  work_with_callbacks();
  assert_true(uselocale(LC_GLOBAL_LOCALE) == own);
  freelocale(own);
  in_strange_locale();
}

static locale_t replaced;

static void replace_locale(void *user, dq_notice notice, const char *text) {
  (void)user, (void)notice, (void)text;
  if (!replaced) replaced = newlocale(LC_ALL_MASK, "tr_TR.ISO-8859-9", (locale_t)0);
  uselocale(replaced);
}

// A callback that changes the locale of its thread changes it for what follows the call.
static void callback_changes_the_locale(void **state) {
  (void)state;
  in_strange_locale();
  dq_engine *engine;
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.threads = 1, options.message = replace_locale, options.wisdom = folder; // no file: a warning
  assert_int_equal(dq_engine_open(&engine, &options, &api_failure), DQ_CODE_OK);
  dq_engine_close(engine);
  assert_true(replaced != (locale_t)0);
  assert_true(uselocale(LC_GLOBAL_LOCALE) == replaced);
  freelocale(replaced);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_and_models_have_the_same_bytes),
      cmocka_unit_test(files_of_commands_are_read),
      cmocka_unit_test(options_have_a_decimal_point),
      cmocka_unit_test(callbacks_have_the_locale_of_the_program),
      cmocka_unit_test(locale_of_a_thread),
      cmocka_unit_test(callback_changes_the_locale),
  };
  return cmocka_run_group_tests(tests, enter, leave);
}
