// The public interface: every number and text of options that no work can have is a failure of usage that names the
// option, whatever else the options and the data are.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/api_harness.h"

static dq_model *model;
static dq_dataset *unlabelled;

// Two pictures without labels.
static dq_dataset *open_arrays(void) {
  char path[] = "/tmp/test_api_values_XXXXXX", spec[64], header[119];
  static const float zeros[2 * 3 * 8 * 8];
  const int descriptor = mkstemp(path);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
  assert_non_null(file);
  snprintf(header, sizeof header, "%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 8, 8), }");
  fwrite("\x93NUMPY\x01\0\x76\0", 1, 10, file);
  fwrite(header, 1, 118, file);
  fwrite(zeros, 1, sizeof zeros, file);
  fclose(file);
  snprintf(spec, sizeof spec, "npy:%s", path);
  dq_dataset *dataset = api_pictures(spec);
  unlink(path); // mapped
  return dataset;
}

// Options of one kind, and the call that reads them.
typedef union any {
  char bytes[1024];
  dq_engine_options engine;
  dq_dataset_options dataset;
  dq_model_accuracy_options accuracy;
  dq_model_amp_options amp;
  dq_model_int8_options int8;
  dq_model_mix_options mix;
  dq_model_tucker_options tucker;
  dq_model_train_options train;
  dq_model_retrain_options retrain;
  dq_network_options network;
  dq_queue_options queue;
} any;

static void set_defaults(any *options, const char *kind) {
  memset(options, 0, sizeof *options);
#define DEFAULTS(name, function)                                                                                       \
  if (!strcmp(kind, #name)) function(&options->name, sizeof options->name)
  DEFAULTS(engine, dq_engine_defaults);
  DEFAULTS(dataset, dq_dataset_defaults);
  DEFAULTS(accuracy, dq_model_accuracy_defaults);
  DEFAULTS(amp, dq_model_amp_defaults);
  DEFAULTS(int8, dq_model_int8_defaults);
  DEFAULTS(mix, dq_model_mix_defaults);
  DEFAULTS(tucker, dq_model_tucker_defaults);
  DEFAULTS(train, dq_model_train_defaults);
  DEFAULTS(retrain, dq_model_retrain_defaults);
  DEFAULTS(network, dq_network_defaults);
  DEFAULTS(queue, dq_queue_defaults);
  if (!strcmp(kind, "tucker")) options->tucker.ratio = 0.5;
  if (!strcmp(kind, "train")) options->train.data = options->train.validation = unlabelled;
  if (!strcmp(kind, "retrain")) options->retrain.command = "false", options->retrain.original = api_small;
}

static dq_code call(const any *options, const char *kind) {
  dq_failure *f = &api_failure;
  dq_engine *engine;
  dq_dataset *dataset;
  dq_network *network;
  dq_queue *queue;
#define CALLED(name, ...)                                                                                              \
  if (!strcmp(kind, #name)) return __VA_ARGS__
  CALLED(engine, dq_engine_open(&engine, &options->engine, f));
  CALLED(dataset, dq_dataset_open(&dataset, api_engine, "synth:shapes", &options->dataset, f));
  CALLED(accuracy, dq_model_accuracy(model, unlabelled, &options->accuracy, NULL, f));
  CALLED(amp, dq_model_amp(model, &options->amp, NULL, f));
  CALLED(int8, dq_model_int8(model, unlabelled, &options->int8, NULL, f));
  CALLED(mix, dq_model_mix(model, unlabelled, &options->mix, NULL, f));
  CALLED(tucker, dq_model_tucker(model, &options->tucker, NULL, f));
  CALLED(train, dq_model_train(model, &options->train, NULL, f));
  CALLED(retrain, dq_model_retrain(model, "/nowhere/x.onnx", &options->retrain, f));
  CALLED(network, dq_network_open(&network, model, &options->network, f));
  CALLED(queue, dq_queue_open(&queue, api_engine, &options->queue, f));
  fail_msg("no call for %s", kind);
  return DQ_CODE_OK;
}

typedef struct field {
  const char *kind, *name;
  size_t offset;
} field;
#define FIELD(kind, name)                                                                                              \
  { #kind, #name, offsetof(any, kind.name) }

static void refuses(const field *f, const void *value, size_t bytes, const char *text) {
  any options;
  set_defaults(&options, f->kind);
  memcpy(options.bytes + f->offset, value, bytes);
  api_failure = (dq_failure){0};
  const dq_code code = call(&options, f->kind);
  if (code != DQ_CODE_USAGE || !strstr(api_failure.message, f->name))
    fail_msg("%s.%s = %s: code %d: %s", f->kind, f->name, text, code, api_failure.message);
}

static int enter_model(void **state) {
  (void)state;
  model = api_load();
  unlabelled = open_arrays();
  return 0;
}

static int leave_model(void **state) {
  (void)state;
  dq_dataset_close(unlabelled);
  dq_model_free(model);
  return 0;
}

static void numbers_that_are_none(void **state) {
  (void)state;
  static const field reals[] = {
      FIELD(amp, input_max),     FIELD(int8, percentile),    FIELD(int8, max_drop),      FIELD(int8, min_sqnr),
      FIELD(int8, time_limit),   FIELD(int8, min_agreement), FIELD(mix, max_drop),       FIELD(mix, max_time),
      FIELD(mix, time_limit),    FIELD(tucker, ratio),       FIELD(tucker, energy),      FIELD(tucker, macs),
      FIELD(tucker, weaken),     FIELD(tucker, max_drop),    FIELD(tucker, time_limit),  FIELD(train, rate),
      FIELD(train, warmup),      FIELD(train, momentum),     FIELD(train, weight_decay), FIELD(train, label_smoothing),
      FIELD(train, temperature), FIELD(train, feature_loss), FIELD(train, time_limit),   FIELD(retrain, time_limit),
      FIELD(queue, job_time),    FIELD(queue, slice),
  };
  const double nan = (double)NAN;
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) refuses(&reals[i], &nan, sizeof nan, "NaN");
}

static void numbers_that_are_too_small(void **state) {
  (void)state;
  static const field ints[] = {FIELD(engine, threads), FIELD(mix, points), FIELD(retrain, every), FIELD(queue, workers),
                               FIELD(queue, priorities)};
  static const field longs[] = {FIELD(dataset, limit),    FIELD(accuracy, batch),         FIELD(int8, batch),
                                FIELD(mix, batch),        FIELD(tucker, batch),           FIELD(tucker, multiple),
                                FIELD(tucker, fit_limit), FIELD(train, epochs),           FIELD(train, batch),
                                FIELD(train, patience),   FIELD(train, checkpoint_every), FIELD(network, batch)};
  const int less = -1, least = INT32_MIN;
  const int64_t long_less = -1, long_least = INT64_MIN;
  for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
    refuses(&ints[i], &less, sizeof less, "-1");
    refuses(&ints[i], &least, sizeof least, "INT32_MIN");
  }
  for (size_t i = 0; i < sizeof longs / sizeof *longs; i++) {
    refuses(&longs[i], &long_less, sizeof long_less, "-1");
    refuses(&longs[i], &long_least, sizeof long_least, "INT64_MIN");
  }
}

static void values_of_no_enum(void **state) {
  (void)state;
  static const field enums[] = {FIELD(int8, equalize),
                                FIELD(int8, bias_correction),
                                FIELD(int8, bias_absorption),
                                FIELD(int8, range_search),
                                FIELD(int8, sums),
                                FIELD(int8, form),
                                FIELD(train, schedule),
                                FIELD(train, optimizer)};
  const unsigned values[] = {4, 99, UINT32_MAX};
  for (size_t i = 0; i < sizeof enums / sizeof *enums; i++)
    for (int v = 0; v < 3; v++) refuses(&enums[i], &values[v], sizeof values[v], "no row");
}

// Also a task that would not be measured, as the data have no labels.
static void names_of_nothing(void **state) {
  (void)state;
  static const field names[] = {
      FIELD(engine, instructions), FIELD(dataset, preset), FIELD(accuracy, task),
      FIELD(accuracy, decode),     FIELD(int8, task),      FIELD(int8, decode),
      FIELD(int8, method),         FIELD(int8, rounding),  FIELD(mix, task),
      FIELD(mix, decode),          FIELD(tucker, task),    FIELD(tucker, decode),
      FIELD(queue, policy),        FIELD(queue, threads),
  };
  const char *const nonsense = "nonsense";
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    any options;
    set_defaults(&options, names[i].kind);
    memcpy(options.bytes + names[i].offset, &nonsense, sizeof nonsense);
    api_failure = (dq_failure){0};
    const dq_code code = call(&options, names[i].kind);
    if (code != DQ_CODE_USAGE || !strstr(api_failure.message, "nonsense"))
      fail_msg("%s.%s: code %d: %s", names[i].kind, names[i].name, code, api_failure.message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(numbers_that_are_none, enter_model, leave_model),
      cmocka_unit_test_setup_teardown(numbers_that_are_too_small, enter_model, leave_model),
      cmocka_unit_test_setup_teardown(values_of_no_enum, enter_model, leave_model),
      cmocka_unit_test_setup_teardown(names_of_nothing, enter_model, leave_model),
  };
  return cmocka_run_group_tests(tests, api_enter, api_leave);
}
