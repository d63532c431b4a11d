// The public interface: NULL where a function needs a pointer is a failure of the argument with its name, or 0 where
// the function has no code. tests/api/check compares the functions of this file with those of dq.h.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/api_harness.h"

static char some[8]; // stands for a handle that is not looked at because another argument is NULL
#define ENGINE ((dq_engine *)some)
#define DATASET ((dq_dataset *)some)
#define MODEL ((dq_model *)some)
#define NETWORK ((dq_network *)some)
#define QUEUE ((dq_queue *)some)

static void refused(dq_code code, const char *function, const char *argument) {
  char expected[128];
  snprintf(expected, sizeof expected, "%.*s: the argument '%s' is NULL", (int)strcspn(function, "("), function,
           argument);
  if (strcmp(api_failure.message, expected))
    fail_msg("%s: '%s', expected '%s'", function, api_failure.message, expected);
  assert_int_equal(code, DQ_CODE_USAGE);
  assert_int_equal(api_failure.code, DQ_CODE_USAGE);
  api_failure = (dq_failure){0};
}
#define REFUSED(argument, call) refused(call, #call, argument)

static void arguments_of_handles(void **state) {
  (void)state;
  dq_failure *f = &api_failure;
  dq_dataset *dataset = DATASET;
  dq_model *model = MODEL;
  REFUSED("engine", dq_engine_open(NULL, NULL, f));
  REFUSED("dataset", dq_dataset_open(NULL, ENGINE, "synth:shapes", NULL, f));
  REFUSED("engine", dq_dataset_open(&dataset, NULL, "synth:shapes", NULL, f));
  assert_null(dataset);
  REFUSED("spec", dq_dataset_open(&dataset, api_engine, NULL, NULL, f));
  const dq_array array = {0};
  REFUSED("dataset", dq_dataset_of_arrays(NULL, ENGINE, &array, 1, NULL, NULL, f));
  REFUSED("engine", dq_dataset_of_arrays(&dataset, NULL, &array, 1, NULL, NULL, f));
  REFUSED("arrays", dq_dataset_of_arrays(&dataset, api_engine, NULL, 1, NULL, NULL, f));
  REFUSED("model", dq_model_load(NULL, ENGINE, "x.onnx", f));
  REFUSED("engine", dq_model_load(&model, NULL, "x.onnx", f));
  assert_null(model);
  REFUSED("path", dq_model_load(&model, api_engine, NULL, f));
  REFUSED("model", dq_model_load_bytes(NULL, ENGINE, "x", 1, NULL, f));
  REFUSED("engine", dq_model_load_bytes(&model, NULL, "x", 1, NULL, f));
  REFUSED("bytes", dq_model_load_bytes(&model, api_engine, NULL, 1, NULL, f));
  REFUSED("bytes", dq_model_load_bytes(&model, api_engine, NULL, 0, NULL, f));
  api_expect(dq_model_load_bytes(&model, api_engine, "x", SIZE_MAX, NULL, f), DQ_CODE_USAGE, "count is");
  REFUSED("model", dq_model_save(NULL, "/nowhere/x.onnx", f));
  REFUSED("path", dq_model_save(MODEL, NULL, f));
  // Without a place for the failure there is the code alone.
  assert_int_equal(dq_engine_open(NULL, NULL, NULL), DQ_CODE_USAGE);
  assert_int_equal(dq_model_load(&model, NULL, NULL, NULL), DQ_CODE_USAGE);
}

static void arguments_of_transforms(void **state) {
  (void)state;
  dq_failure *f = &api_failure;
  REFUSED("model", dq_model_cost(NULL, NULL, NULL, f));
  REFUSED("model", dq_model_accuracy(NULL, DATASET, NULL, NULL, f));
  REFUSED("dataset", dq_model_accuracy(MODEL, NULL, NULL, NULL, f));
  REFUSED("model", dq_model_compare(NULL, MODEL, DATASET, NULL, NULL, f));
  REFUSED("reference", dq_model_compare(MODEL, NULL, DATASET, NULL, NULL, f));
  REFUSED("dataset", dq_model_compare(MODEL, MODEL, NULL, NULL, NULL, f));
  REFUSED("model", dq_model_amp(NULL, NULL, NULL, f));
  REFUSED("model", dq_model_int8(NULL, DATASET, NULL, NULL, f));
  REFUSED("model", dq_model_mix(NULL, DATASET, NULL, NULL, f));
  REFUSED("dataset", dq_model_mix(MODEL, NULL, NULL, NULL, f));
  REFUSED("model", dq_model_tucker(NULL, NULL, NULL, f));
  REFUSED("model", dq_model_tucker_save_ranks(NULL, "/nowhere/x", f));
  REFUSED("path", dq_model_tucker_save_ranks(MODEL, NULL, f));
  REFUSED("model", dq_model_train(NULL, NULL, NULL, f));
  REFUSED("model", dq_model_retrain(NULL, "x.onnx", NULL, f));
  REFUSED("path", dq_model_retrain(MODEL, NULL, NULL, f));
  REFUSED("model", dq_model_tune(NULL, NULL, NULL, f));
  REFUSED("model", dq_model_source(NULL, NULL, NULL, f));
}

static void arguments_of_runs(void **state) {
  (void)state;
  dq_failure *f = &api_failure;
  dq_network *network = NETWORK;
  dq_queue *queue = QUEUE;
  dq_request *request = (dq_request *)some;
  int number;
  REFUSED("network", dq_network_open(NULL, MODEL, NULL, f));
  REFUSED("model", dq_network_open(&network, NULL, NULL, f));
  assert_null(network);
  REFUSED("network", dq_network_read(NULL, DATASET, 0, 0, NULL, f));
  REFUSED("dataset", dq_network_read(NETWORK, NULL, 0, 0, NULL, f));
  REFUSED("network", dq_network_run(NULL, f));
  REFUSED("network", dq_network_run_on(NULL, NULL, NULL, f));
  REFUSED("queue", dq_queue_open(NULL, ENGINE, NULL, f));
  REFUSED("engine", dq_queue_open(&queue, NULL, NULL, f));
  assert_null(queue);
  REFUSED("queue", dq_queue_add(NULL, MODEL, NULL, &number, f));
  REFUSED("model", dq_queue_add(QUEUE, NULL, NULL, &number, f));
  REFUSED("network", dq_queue_add(QUEUE, MODEL, NULL, NULL, f));
  REFUSED("request", dq_request_open(NULL, QUEUE, 0, f));
  REFUSED("queue", dq_request_open(&request, NULL, 0, f));
  assert_null(request);
  REFUSED("request", dq_request_submit(NULL, NULL, f));
  REFUSED("request", dq_request_result(NULL, NULL, f));
}

// Functions without a code: nothing happens, and there is nothing.
static void functions_without_a_code(void **state) {
  (void)state;
  dq_array array = {.rank = 7};
  assert_non_null(dq_version());
  dq_engine_close(NULL);
  dq_engine_stop(NULL, 1);
  dq_dataset_close(NULL);
  dq_model_free(NULL);
  dq_network_close(NULL);
  dq_queue_close(NULL);
  dq_request_close(NULL);
  assert_int_equal(dq_dataset_count(NULL), 0);
  assert_int_equal(dq_dataset_skipped(NULL), 0);
  assert_null(dq_dataset_class_name(NULL, 0));
  assert_int_equal(dq_model_input_count(NULL), 0);
  assert_null(dq_model_input_name(NULL, 0));
  assert_int_equal(dq_model_cost_at(NULL, 0, NULL), 0);
  assert_int_equal(dq_model_compare_at(NULL, 0, NULL), 0);
  assert_int_equal(dq_model_amp_at(NULL, 0, NULL), 0);
  assert_int_equal(dq_model_amp_range_at(NULL, 0, NULL), 0);
  assert_int_equal(dq_model_int8_at(NULL, 0, NULL), 0);
  assert_int_equal(dq_model_mix_at(NULL, 0, NULL), 0);
  assert_int_equal(dq_model_tucker_at(NULL, 0, NULL), 0);
  assert_int_equal(dq_model_train_at(NULL, 0, NULL), 0);
  assert_int_equal(dq_model_tune_at(NULL, 0, NULL), 0);
  assert_int_equal(dq_network_inputs(NULL), 0);
  assert_int_equal(dq_network_outputs(NULL), 0);
  assert_int_equal(dq_network_input(NULL, 0, &array), 0);
  assert_int_equal(dq_network_output(NULL, 0, &array), 0);
  assert_int_equal(dq_request_input(NULL, 0, &array), 0);
  assert_int_equal(dq_request_output(NULL, 0, &array), 0);
  assert_int_equal(array.rank, 7);
  assert_int_equal(dq_request_wait(NULL, -1), 1); // or a loop would never end
  assert_int_equal(dq_request_cancel(NULL), 0);
}

static void defaults_of_nothing(void **state) {
  (void)state;
  const size_t size = sizeof(dq_model_int8_options);
  dq_engine_defaults(NULL, size);
  dq_dataset_defaults(NULL, size);
  dq_model_accuracy_defaults(NULL, size);
  dq_model_compare_defaults(NULL, size);
  dq_model_amp_defaults(NULL, size);
  dq_model_int8_defaults(NULL, size);
  dq_model_mix_defaults(NULL, size);
  dq_model_tucker_defaults(NULL, size);
  dq_model_train_defaults(NULL, size);
  dq_model_retrain_defaults(NULL, size);
  dq_model_tune_defaults(NULL, size);
  dq_model_source_defaults(NULL, size);
  dq_network_defaults(NULL, size);
  dq_queue_defaults(NULL, size);
  dq_request_defaults(NULL, size);
}

// Rows and arrays may be NULL: the answer says whether there is one.
static void nowhere_to_write(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_network *network;
  dq_queue *queue;
  dq_request *request;
  int number;
  assert_int_equal(dq_network_open(&network, model, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_network_input(network, 0, NULL), 1);
  assert_int_equal(dq_network_input(network, 1, NULL), 0);
  assert_int_equal(dq_network_output(network, 0, NULL), 1);
  dq_network_close(network);
  assert_int_equal(dq_queue_open(&queue, api_engine, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_queue_add(queue, model, NULL, &number, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_request_open(&request, queue, number, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_request_input(request, 0, NULL), 1);
  assert_int_equal(dq_request_output(request, 0, NULL), 1);
  assert_int_equal(dq_request_wait(request, (double)NAN), 1);
  dq_request_close(request);
  dq_queue_close(queue);
  assert_int_equal(dq_model_cost(model, NULL, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_model_cost_at(model, 0, NULL), 1);
  dq_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arguments_of_handles), cmocka_unit_test(arguments_of_transforms),
      cmocka_unit_test(arguments_of_runs),    cmocka_unit_test(functions_without_a_code),
      cmocka_unit_test(defaults_of_nothing),  cmocka_unit_test(nowhere_to_write),
  };
  return cmocka_run_group_tests(tests, api_enter, api_leave);
}
