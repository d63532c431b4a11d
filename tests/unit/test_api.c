// The public interface: handles, options and results of other versions, failures, threads. Includes dq.h alone.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/api_harness.h"

static void failures(void **state) {
  (void)state;
  dq_model *model = (dq_model *)1;
  api_expect(dq_model_load(&model, api_engine, "/nowhere", &api_failure), DQ_CODE_SYSTEM, "/nowhere");
  assert_null(model);
  assert_int_equal(dq_model_load(&model, api_engine, "/nowhere", NULL), DQ_CODE_SYSTEM);
  api_expect(dq_model_load_bytes(&model, api_engine, "\xff\xff", 2, NULL, &api_failure), DQ_CODE_BAD_INPUT, "");
  assert_null(model);
  dq_dataset *dataset = (dq_dataset *)1;
  api_expect(dq_dataset_open(&dataset, api_engine, "pb:/nowhere", NULL, &api_failure), DQ_CODE_SYSTEM, "/nowhere");
  assert_null(dataset);
  dq_engine *other;
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.instructions = "abacus";
  api_expect(dq_engine_open(&other, &options, &api_failure), DQ_CODE_USAGE, "abacus");
  assert_null(other);
  dq_model_free(NULL);
  dq_dataset_close(NULL);
  dq_network_close(NULL);
  dq_engine_close(NULL);
}

static void shares_of_macs(void **state) {
  (void)state;
  dq_model *model = api_load();
  const double wrong[] = {-0.5, 1, 1.5};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    dq_model_tucker_options options;
    dq_model_tucker_defaults(&options, sizeof options);
    options.macs = wrong[i];
    api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "expected above 0 and below 1");
  }
  dq_model_free(model);
}

// Options and results of an older or a newer program.
static void sizes(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_model_tucker_options options;
  memset(&options, 0x55, sizeof options);
  dq_model_tucker_defaults(&options, offsetof(dq_model_tucker_options, macs));
  assert_int_equal(options.size, offsetof(dq_model_tucker_options, macs));
  assert_true(options.ratio == 0 && options.macs != 0); // what lies behind is not touched
  options.ratio = 0.5;
  dq_model_tucker_facts facts = {.size = offsetof(dq_model_tucker_facts, macs_before), .macs_before = 77};
  assert_int_equal(dq_model_tucker(model, &options, &facts, &api_failure), DQ_CODE_OK);
  assert_int_equal(facts.convolutions, 3);
  assert_int_equal(facts.macs_before, 77);
  struct {
    dq_model_tucker_options known;
    int64_t later;
  } newer = {.later = 0};
  dq_model_tucker_defaults(&newer.known, sizeof newer);
  newer.known.ratio = 2;
  api_expect(dq_model_tucker(model, &newer.known, NULL, &api_failure), DQ_CODE_USAGE, "");
  newer.later = 1;
  api_expect(dq_model_tucker(model, &newer.known, NULL, &api_failure), DQ_CODE_USAGE, "later version");
  memset(&options, 0, sizeof options);
  api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "_defaults");
  facts.size = 0;
  api_expect(dq_model_tucker(model, NULL, &facts, &api_failure), DQ_CODE_USAGE, "size");
  api_expect(dq_model_tucker(model, NULL, NULL, &api_failure), DQ_CODE_USAGE, "expected one");
  // None of these touched the model.
  dq_model_cost_facts cost = {.size = sizeof cost};
  assert_int_equal(dq_model_cost(model, NULL, &cost, &api_failure), DQ_CODE_OK);
  dq_model_free(model);
}

static void costs(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_model_cost_facts facts = {.size = sizeof facts};
  dq_model_cost_row row = {.size = sizeof row};
  assert_int_equal(dq_model_save(model, "/dev/null", &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_model_cost_at(model, 0, &row), 0);
  assert_int_equal(dq_model_cost(model, NULL, &facts, &api_failure), DQ_CODE_OK);
  // conv1 8x8x8x3x9, depthwise 8x8x8x9, conv2 8x8x16x8x9, head 16x4
  assert_int_equal(facts.macs, 13824 + 4608 + 73728 + 64);
  int64_t macs = 0;
  int i = 0;
  for (; dq_model_cost_at(model, i, &row); i++) macs += row.macs;
  assert_int_equal(i, facts.nodes);
  assert_int_equal(macs, facts.macs);
  assert_int_equal(dq_model_cost_at(model, -1, &row), 0);
  assert_int_equal(dq_model_input_count(model), 1);
  assert_string_equal(dq_model_input_name(model, 0), "x");
  assert_null(dq_model_input_name(model, 1));
  const char *const wrong[] = {"x=1,3,8", NULL};
  api_expect(dq_model_cost(model, wrong, &facts, &api_failure), DQ_CODE_BAD_INPUT, "x");
  dq_model_free(model);
}

static void running(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=3");
  assert_int_equal(dq_dataset_count(dataset), 3);
  assert_int_equal(dq_dataset_skipped(dataset), 0);
  dq_network_options options;
  dq_network_defaults(&options, sizeof options);
  options.batch = 2;
  dq_network *network;
  assert_int_equal(dq_network_open(&network, model, &options, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_network_inputs(network), 1);
  assert_int_equal(dq_network_outputs(network), 1);
  dq_array input, output;
  assert_true(dq_network_input(network, 0, &input));
  assert_false(dq_network_input(network, 1, &input));
  assert_string_equal(input.type_name, "float32");
  assert_true(input.rank == 4 && input.dims[0] == 2 && input.dims[3] == 8);
  assert_int_equal(input.bytes, 2 * 3 * 8 * 8 * 4);
  dq_sample sample = {.size = sizeof sample};
  // The same picture at both places gives the same answer.
  for (int item = 0; item < 2; item++)
    assert_int_equal(dq_network_read(network, dataset, 1, item, &sample, &api_failure), DQ_CODE_OK);
  assert_true(sample.label >= 0 && *sample.name);
  assert_int_equal(dq_network_run(network, &api_failure), DQ_CODE_OK);
  assert_true(dq_network_output(network, 0, &output));
  assert_int_equal(output.bytes, 2 * 4 * 4);
  assert_memory_equal(output.data, (char *)output.data + 16, 16);
  api_expect(dq_network_read(network, dataset, 1, 2, NULL, &api_failure), DQ_CODE_USAGE, "item is 2, expected 0 to 1");
  api_expect(dq_network_read(network, dataset, 3, 0, NULL, &api_failure), DQ_CODE_USAGE, "index is 3, expected 0 to ");
  api_expect(dq_model_amp(model, NULL, NULL, &api_failure), DQ_CODE_USAGE, "networks");
  dq_engine_stop(api_engine, 1);
  api_expect(dq_network_run(network, &api_failure), DQ_CODE_CANCELLED, "interrupted");
  dq_engine_stop(api_engine, 0);
  assert_int_equal(dq_network_run(network, &api_failure), DQ_CODE_OK);
  dq_network_close(network);
  dq_dataset_close(dataset);
  dq_model_free(model);
}

static float half_value(uint16_t half) {
  int exponent = half >> 10 & 31, mantissa = half & 1023;
  float size = ldexpf((float)(exponent ? 1024 + mantissa : mantissa), (exponent ? exponent : 1) - 25);
  return half >> 15 ? -size : size;
}

// A network whose input is float16 gets the elements of each picture rounded, at its place in the batch.
static void pictures_in_float16(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=3");
  dq_network_options options;
  dq_model_amp_options amp;
  dq_array exact, half;
  dq_network *network, *rounded;
  dq_network_defaults(&options, sizeof options);
  dq_model_amp_defaults(&amp, sizeof amp);
  options.batch = 2, amp.half_io = 1;
  assert_int_equal(dq_network_open(&network, model, &options, &api_failure), DQ_CODE_OK);
  dq_model *converted = api_load();
  assert_int_equal(dq_model_amp(converted, &amp, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_network_open(&rounded, converted, &options, &api_failure), DQ_CODE_OK);
  for (int item = 0; item < 2; item++) {
    assert_int_equal(dq_network_read(network, dataset, 2 * item, item, NULL, &api_failure), DQ_CODE_OK);
    assert_int_equal(dq_network_read(rounded, dataset, 2 * item, item, NULL, &api_failure), DQ_CODE_OK);
  }
  assert_true(dq_network_input(network, 0, &exact) && dq_network_input(rounded, 0, &half));
  assert_string_equal(half.type_name, "float16");
  assert_int_equal(exact.bytes, 2 * half.bytes);
  for (size_t i = 0; i < half.bytes / 2; i++) {
    float x = ((const float *)exact.data)[i], y = half_value(((const uint16_t *)half.data)[i]);
    if (!(fabsf(x - y) <= 0x1p-11f * fabsf(x))) fail_msg("element %zu: %g, expected %g", i, (double)y, (double)x);
  }
  dq_network_close(network);
  dq_network_close(rounded);
  dq_dataset_close(dataset);
  dq_model_free(model);
  dq_model_free(converted);
}

// places.onnx, beside small.onnx, ends in a NonZero: the shape of its output is known behind a run.
static void outputs_of_unknown_shape(void **state) {
  (void)state;
  char path[1024];
  const char *slash = strrchr(api_small, '/');
  snprintf(path, sizeof path, "%.*s/places.onnx", slash ? (int)(slash - api_small) : 1, slash ? api_small : ".");
  if (access(path, R_OK)) skip();
  dq_model *model;
  dq_network *network;
  dq_array output = {.rank = 7};
  assert_int_equal(dq_model_load(&model, api_engine, path, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_network_open(&network, model, NULL, &api_failure), DQ_CODE_OK);
  assert_true(dq_network_output(network, 0, &output));
  assert_int_equal(output.rank, -1);
  assert_null(output.data);
  assert_int_equal(output.bytes, 0);
  assert_int_equal(dq_network_run(network, &api_failure), DQ_CODE_OK);
  assert_true(dq_network_output(network, 0, &output));
  assert_true(output.rank >= 0);
  dq_network_close(network);
  dq_model_free(model);
}

static void *stop_engine(void *argument) {
  dq_engine_stop(api_engine, 1);
  return argument;
}

// Nothing but the stop itself is between the two threads; ThreadSanitizer sees whether it is enough.
static void stopped_by_another_thread(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_network *network;
  pthread_t other;
  assert_int_equal(dq_network_open(&network, model, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(pthread_create(&other, NULL, stop_engine, NULL), 0);
  dq_code code = DQ_CODE_OK;
  while (code == DQ_CODE_OK) code = dq_network_run(network, &api_failure);
  api_expect(code, DQ_CODE_CANCELLED, "interrupted");
  assert_int_equal(pthread_join(other, NULL), 0);
  dq_engine_stop(api_engine, 0);
  assert_int_equal(dq_network_run(network, &api_failure), DQ_CODE_OK);
  dq_network_close(network);
  dq_model_free(model);
}

enum { USERS = 3 };
typedef struct user {
  char path[64];
  dq_code code;
  dq_failure failure;
  pthread_t thread;
} user;

static dq_code convert(dq_engine *own, const char *path, dq_failure *failed) {
  dq_model *model = NULL;
  dq_dataset *dataset = NULL;
  dq_model_tucker_options options;
  dq_model_tucker_defaults(&options, sizeof options);
  options.ratio = 0.5;
  dq_code code = dq_dataset_open(&dataset, own, "synth:shapes,size=8,count=4", NULL, failed);
  if (!code) code = dq_model_load(&model, own, api_small, failed);
  if (!code) code = dq_model_tucker(model, &options, NULL, failed);
  if (!code) code = dq_model_int8(model, dataset, NULL, NULL, failed);
  if (!code) code = dq_model_save(model, path, failed);
  dq_dataset_close(dataset);
  dq_model_free(model);
  return code;
}

static void *use_library(void *argument) {
  user *u = argument;
  dq_engine *own;
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.threads = 2;
  u->code = dq_engine_open(&own, &options, &u->failure);
  for (int i = 0; !u->code && i < 3; i++) u->code = convert(own, u->path, &u->failure);
  dq_engine_close(own);
  return NULL;
}

// Engines are independent: threads that each have one get what a single thread gets.
static void engines_of_several_threads(void **state) {
  (void)state;
  char folder[] = "/tmp/test_api_XXXXXX", whole[64];
  assert_non_null(mkdtemp(folder));
  dq_model_free(api_load()); // or skip
  snprintf(whole, sizeof whole, "%s/whole.onnx", folder);
  assert_int_equal(convert(api_engine, whole, &api_failure), DQ_CODE_OK);
  user users[USERS] = {0};
  for (int i = 0; i < USERS; i++) {
    snprintf(users[i].path, sizeof users[i].path, "%s/%d.onnx", folder, i);
    assert_int_equal(pthread_create(&users[i].thread, NULL, use_library, &users[i]), 0);
  }
  for (int i = 0; i < USERS; i++) {
    assert_int_equal(pthread_join(users[i].thread, NULL), 0);
    assert_string_equal(users[i].failure.message, "");
    assert_int_equal(users[i].code, DQ_CODE_OK);
    api_assert_same_files(users[i].path, whole);
    unlink(users[i].path);
  }
  unlink(whole);
  rmdir(folder);
}

// Transforms that fail after work was done: a weight is NaN, no node has a name, there are too few pictures for a
// batch, a table cannot be written.
static void fail_to_transform(dq_model *small, dq_model *nan_weight) {
  dq_dataset *pictures = api_pictures("synth:shapes,size=8,count=3");
  dq_model_tucker_options tucker;
  dq_model_tucker_defaults(&tucker, sizeof tucker);
  tucker.energy = 0.9;
  api_expect(dq_model_tucker(nan_weight, &tucker, NULL, &api_failure), DQ_CODE_BAD_INPUT, "conv2.weight");
  dq_model_amp_options amp;
  dq_model_amp_defaults(&amp, sizeof amp);
  amp.deny_nodes = (const char *const[]){"nobody", NULL};
  api_expect(dq_model_amp(small, &amp, NULL, &api_failure), DQ_CODE_USAGE, "nobody");
  dq_model_train_options training;
  dq_model_train_defaults(&training, sizeof training);
  training.data = training.validation = pictures;
  api_expect(dq_model_train(small, &training, NULL, &api_failure), DQ_CODE_BAD_INPUT, "64 pictures");
  dq_model_int8_options int8;
  dq_model_int8_defaults(&int8, sizeof int8);
  int8.save_table = "/nowhere/table";
  api_expect(dq_model_int8(small, pictures, &int8, NULL, &api_failure), DQ_CODE_SYSTEM, "/nowhere/table");
  dq_dataset_close(pictures);
}

// A transform that fails leaves the model as it was, and no rows.
static void failed_transforms(void **state) {
  (void)state;
  char folder[] = "/tmp/test_api_XXXXXX", path[4096], files[4][64];
  snprintf(path, sizeof path, "%.*s/nan_weight.onnx", (int)(strrchr(api_small, '/') - api_small), api_small);
  dq_model *models[2] = {api_load(), NULL};
  assert_non_null(mkdtemp(folder));
  assert_int_equal(dq_model_load(&models[1], api_engine, path, &api_failure), DQ_CODE_OK);
  for (int i = 0; i < 4; i++) {
    snprintf(files[i], sizeof files[i], "%s/%d.onnx", folder, i);
    if (i == 2) fail_to_transform(models[0], models[1]);
    assert_int_equal(dq_model_save(models[i % 2], files[i], &api_failure), DQ_CODE_OK);
  }
  for (int i = 0; i < 2; i++) {
    api_assert_same_files(files[i], files[i + 2]);
    assert_false(dq_model_int8_at(models[i], 0, NULL) || dq_model_tucker_at(models[i], 0, NULL));
    dq_model_free(models[i]);
  }
  for (int i = 0; i < 4; i++) unlink(files[i]);
  rmdir(folder);
}

// A size that no struct can have is one that nobody set.
static void sizes_that_are_none(void **state) {
  (void)state;
  static union {
    dq_model_cost_facts facts;
    dq_engine_options options;
    char bytes[65537];
  } large;
  static const struct {
    size_t size;
    dq_code code;
  } cases[] = {{0, DQ_CODE_USAGE},
               {sizeof(size_t) - 1, DQ_CODE_USAGE},
               {sizeof(size_t), DQ_CODE_OK},
               {65536, DQ_CODE_OK},
               {65537, DQ_CODE_USAGE}};
  dq_model *model = api_load();
  for (int i = 0; i < 5; i++) {
    large.facts = (dq_model_cost_facts){.size = cases[i].size};
    assert_int_equal(dq_model_cost(model, NULL, &large.facts, &api_failure), cases[i].code);
    memset(&large, 0, sizeof large);
    large.options.size = cases[i].size;
    dq_engine *engine = NULL;
    assert_int_equal(dq_engine_open(&engine, &large.options, &api_failure), cases[i].code);
    dq_engine_close(engine);
  }
  dq_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_that_are_none),
                                     cmocka_unit_test(failures),
                                     cmocka_unit_test(shares_of_macs),
                                     cmocka_unit_test(sizes),
                                     cmocka_unit_test(costs),
                                     cmocka_unit_test(running),
                                     cmocka_unit_test(pictures_in_float16),
                                     cmocka_unit_test(outputs_of_unknown_shape),
                                     cmocka_unit_test(stopped_by_another_thread),
                                     cmocka_unit_test(engines_of_several_threads),
                                     cmocka_unit_test(failed_transforms)};
  return cmocka_run_group_tests(tests, api_enter, api_leave);
}
