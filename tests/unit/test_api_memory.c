// Data and elements in the memory of the program: datasets of arrays, and runs that read and write memory of the
// program. Each block has exactly the bytes that it needs, so that AddressSanitizer sees one that is passed.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/random.h"
#include "tests/unit/api_harness.h"

// ---- Runs ----

enum { MOST = 16 }; // inputs or outputs of a model

static void fill(dq_array *array, dq_random *random) {
  float *values = array->data;
  if (array->type != 1) memset(array->data, 1, array->bytes);
  for (uint64_t i = 0; array->type == 1 && i < array->bytes / sizeof *values; i++) values[i] = dq_random_normal(random);
}

static void *copy_of(const dq_array *array) {
  void *copy = malloc(array->bytes ? array->bytes : 1);
  assert_non_null(copy);
  return memcpy(copy, array->data, array->bytes);
}

// A run on memory of the program gives the outputs of a usual one, leaves the inputs as they are, and the network as it
// was: another usual run gives the same.
static void compare_runs(dq_network *network) {
  const int inputs = dq_network_inputs(network), outputs = dq_network_outputs(network);
  dq_array array;
  void *given[MOST], *kept[MOST], *expected[MOST], *received[MOST] = {0};
  assert_true(inputs <= MOST && outputs <= MOST);
  for (int o = 0; o < outputs; o++) {
    dq_network_output(network, o, &array);
    expected[o] = copy_of(&array);
    received[o] = malloc(array.bytes ? array.bytes : 1);
  }
  for (int i = 0; i < inputs; i++) {
    dq_network_input(network, i, &array);
    given[i] = copy_of(&array), kept[i] = copy_of(&array);
    memset(array.data, 0, array.bytes); // an output may lie there
  }
  assert_int_equal(dq_network_run_on(network, (const void *const *)given, received, &api_failure), DQ_CODE_OK);
  for (int i = 0; i < inputs; i++) {
    dq_network_input(network, i, &array);
    assert_memory_equal(given[i], kept[i], array.bytes);
    memcpy(array.data, kept[i], array.bytes);
    free(given[i]), free(kept[i]);
  }
  assert_int_equal(dq_network_run(network, &api_failure), DQ_CODE_OK);
  for (int o = 0; o < outputs; o++) {
    dq_network_output(network, o, &array);
    assert_memory_equal(received[o], expected[o], array.bytes);
    assert_memory_equal(array.data, expected[o], array.bytes);
    free(expected[o]), free(received[o]);
  }
}

// The shape of an output that is known after a run alone: there can be no memory for it before.
static void refuse_output(dq_network *network, int index) {
  float memory;
  void *outputs[MOST] = {0};
  outputs[index] = &memory;
  api_expect(dq_network_run_on(network, NULL, outputs, &api_failure), DQ_CODE_USAGE, "depends on elements");
}

// 1: the runs were compared; 0: the model cannot be run as it is, or has an output whose shape depends on elements.
static int compare_model(const char *path, int plain, int fast) {
  dq_model *model;
  dq_network *network = NULL;
  dq_network_options options;
  dq_array array;
  int compared = 0;
  if (dq_model_load(&model, api_engine, path, &api_failure)) return 0;
  dq_network_defaults(&options, sizeof options);
  options.plain = plain;
  options.fast = fast;
  options.batch = 3;
  const dq_code code = dq_network_open(&network, model, &options, &api_failure);
  int open = -1;
  for (int o = 0; !code && dq_network_output(network, o, &array); o++)
    if (array.rank < 0) open = o;
  if (open >= 0) refuse_output(network, open);
  if (!code && open < 0) {
    dq_random random = dq_random_start(1, 0);
    for (int i = 0; dq_network_input(network, i, &array); i++) fill(&array, &random);
    compared = dq_network_run(network, &api_failure) == DQ_CODE_OK;
    if (compared) compare_runs(network);
  }
  dq_network_close(network);
  dq_model_free(model);
  return compared;
}

static void runs_of_all_models(void **state) {
  (void)state;
  char folder[4096], path[8192];
  int compared = 0;
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(api_small, '/') - api_small), api_small);
  DIR *models = opendir(folder);
  if (!models) skip();
  for (struct dirent *entry; (entry = readdir(models));) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (strstr(path, ".onnx"))
      compared += compare_model(path, 0, 0) + compare_model(path, 1, 0) + compare_model(path, 0, 1);
  }
  closedir(models);
  print_message("%d networks\n", compared);
  assert_true(compared >= 60);
}

// Lists with NULL stand for the memory of the network.
static void runs_on_some_memory(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_network *network;
  dq_array x, y;
  assert_int_equal(dq_network_open(&network, model, NULL, &api_failure), DQ_CODE_OK);
  assert_true(dq_network_input(network, 0, &x) && dq_network_output(network, 0, &y));
  dq_random random = dq_random_start(2, 0);
  fill(&x, &random);
  assert_int_equal(dq_network_run(network, &api_failure), DQ_CODE_OK);
  void *expected = copy_of(&y), *received = calloc(1, y.bytes), *nowhere = NULL;
  assert_int_equal(dq_network_run_on(network, NULL, NULL, &api_failure), DQ_CODE_OK);
  assert_memory_equal(y.data, expected, y.bytes);
  assert_int_equal(dq_network_run_on(network, (const void *const[]){NULL}, &received, &api_failure), DQ_CODE_OK);
  assert_memory_equal(received, expected, y.bytes);
  void *given = copy_of(&x);
  memset(x.data, 0, x.bytes);
  assert_int_equal(dq_network_run_on(network, (const void *const[]){given}, &nowhere, &api_failure), DQ_CODE_OK);
  assert_memory_equal(y.data, expected, y.bytes);
  dq_engine_stop(api_engine, 1);
  api_expect(dq_network_run_on(network, NULL, NULL, &api_failure), DQ_CODE_CANCELLED, "");
  dq_engine_stop(api_engine, 0);
  free(expected), free(received), free(given);
  dq_network_close(network);
  dq_model_free(model);
}

// ---- Data ----

enum { PICTURES = 6, SIDE = 8, PICTURE = 3 * SIDE * SIDE };

static dq_array array_of(const char *name, int type, void *data, uint64_t bytes, int rank, const int64_t *dims) {
  dq_array array = {.name = name, .type = type, .rank = rank, .data = data, .bytes = bytes};
  memcpy(array.dims, dims, (size_t)rank * sizeof *dims);
  return array;
}

// Quantizes small.onnx on the data, which are closed, and writes it to `path`.
static void quantize_on(dq_dataset *dataset, const char *path) {
  dq_model *model = api_load();
  assert_int_equal(dq_model_int8(model, dataset, NULL, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_model_save(model, path, &api_failure), DQ_CODE_OK);
  dq_model_free(model);
  dq_dataset_close(dataset);
}

static void write_npy(const char *path, const char *descr, const char *shape, const void *data, size_t bytes) {
  char header[128];
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
  fprintf(file, "\x93NUMPY\x01%c%c%c%-117s\n", 0, 118, 0, header);
  assert_int_equal(fwrite(data, 1, bytes, file), bytes);
  fclose(file);
}

// Arrays in memory give the files that the same arrays in .npy files give: numbers, and pictures with a preprocessing.
static void arrays_as_files(void **state) {
  (void)state;
  char folder[] = "/tmp/test_api_XXXXXX", npy[64], spec[80], files[2][64];
  float *values = malloc(PICTURES * PICTURE * sizeof *values);
  uint8_t *pixels = malloc(PICTURES * PICTURE);
  dq_random random = dq_random_start(3, 0);
  dq_dataset *dataset;
  dq_dataset_options options;
  assert_non_null(mkdtemp(folder));
  for (int i = 0; i < PICTURES * PICTURE; i++)
    values[i] = dq_random_normal(&random), pixels[i] = (uint8_t)dq_random_below(&random, 256);
  dq_dataset_defaults(&options, sizeof options);
  snprintf(npy, sizeof npy, "%s/x.npy", folder);
  snprintf(spec, sizeof spec, "npy:%s", npy);
  for (int i = 0; i < 2; i++) snprintf(files[i], sizeof files[i], "%s/%d.onnx", folder, i);
  for (int kind = 0; kind < 2; kind++) {
    void *data = kind ? (void *)pixels : (void *)values;
    const uint64_t bytes = PICTURES * PICTURE * (kind ? 1 : sizeof *values);
    const int64_t dims[2][4] = {{PICTURES, 3, SIDE, SIDE}, {PICTURES, SIDE, SIDE, 3}};
    const dq_array array = array_of(kind ? "x" : NULL, kind ? 2 : 1, data, bytes, 4, dims[kind]);
    write_npy(npy, kind ? "|u1" : "<f4", kind ? "(6, 8, 8, 3)" : "(6, 3, 8, 8)", data, bytes);
    options.preset = kind ? "raw01" : NULL;
    assert_int_equal(dq_dataset_open(&dataset, api_engine, spec, &options, &api_failure), DQ_CODE_OK);
    quantize_on(dataset, files[0]);
    assert_int_equal(dq_dataset_of_arrays(&dataset, api_engine, &array, 1, NULL, &options, &api_failure), DQ_CODE_OK);
    assert_int_equal(dq_dataset_count(dataset), PICTURES);
    quantize_on(dataset, files[1]);
    api_assert_same_files(files[0], files[1]);
  }
  unlink(npy), unlink(files[0]), unlink(files[1]);
  rmdir(folder);
  free(values), free(pixels);
}

// Labels in memory are those of samples, and a limit takes the first ones.
static void labels_in_memory(void **state) {
  (void)state;
  float values[4] = {1, 2, 3, 4};
  int64_t numbers[4] = {2, 0, 1, 2};
  const dq_array array = array_of(NULL, 1, values, sizeof values, 2, (int64_t[]){4, 1});
  dq_array labels = array_of(NULL, 7, numbers, sizeof numbers, 1, (int64_t[]){4});
  dq_dataset *dataset;
  dq_dataset_options options;
  dq_dataset_defaults(&options, sizeof options);
  options.limit = 3;
  assert_int_equal(dq_dataset_of_arrays(&dataset, api_engine, &array, 1, &labels, &options, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_dataset_count(dataset), 3);
  dq_dataset_close(dataset);
  numbers[1] = -1;
  api_expect(dq_dataset_of_arrays(&dataset, api_engine, &array, 1, &labels, NULL, &api_failure), DQ_CODE_BAD_INPUT,
             "labels: label -1 of picture 1");
  labels.dims[0] = 3, labels.bytes = 24;
  api_expect(dq_dataset_of_arrays(&dataset, api_engine, &array, 1, &labels, NULL, &api_failure), DQ_CODE_BAD_INPUT,
             "3 labels for 4 pictures");
  assert_null(dataset);
  options.labels = "names.txt";
  api_expect(dq_dataset_of_arrays(&dataset, api_engine, &array, 1, &labels, &options, &api_failure), DQ_CODE_USAGE,
             "labels are given twice");
}

static void arrays_that_are_refused(void **state) {
  (void)state;
  float values[6] = {0};
  dq_dataset *dataset;
  const dq_array good = array_of("x", 1, values, sizeof values, 2, (int64_t[]){3, 2});
#define REFUSED(change, count, code, word)                                                                             \
  do {                                                                                                                 \
    dq_array bad[2] = {good, good};                                                                                    \
    bad[1].name = "y";                                                                                                 \
    change;                                                                                                            \
    api_expect(dq_dataset_of_arrays(&dataset, api_engine, bad, count, NULL, NULL, &api_failure), code, word);          \
    assert_null(dataset);                                                                                              \
  } while (0)
  REFUSED(bad[0].type = 8, 1, DQ_CODE_USAGE, "elements of type 8 are no numbers");
  REFUSED(bad[0].rank = 0, 1, DQ_CODE_USAGE, "0 dimensions, expected 1 to 8");
  REFUSED(bad[0].rank = 9, 1, DQ_CODE_USAGE, "9 dimensions, expected 1 to 8");
  REFUSED(bad[0].dims[0] = 0, 1, DQ_CODE_USAGE, "dimension 0 is 0, expected 1 or more");
  REFUSED(bad[0].dims[1] = INT64_MAX, 1, DQ_CODE_USAGE, "dimension 1");
  REFUSED(bad[0].bytes = 20, 1, DQ_CODE_USAGE, "x: 20 bytes, expected 6 elements of 4 bytes");
  REFUSED(bad[0].data = NULL, 1, DQ_CODE_USAGE, "x: 0 bytes");
  REFUSED(bad[1].name = NULL, 2, DQ_CODE_USAGE, "array 1 of 2 has no name");
  REFUSED(bad[1].name = "x", 2, DQ_CODE_USAGE, "data for input 'x' are given twice");
  REFUSED((bad[1].dims[0] = 2, bad[1].bytes = 16), 2, DQ_CODE_BAD_INPUT, "input 'x' has 3 samples (array)");
  REFUSED((void)0, 0, DQ_CODE_USAGE, "0 arrays, expected 1 to 4096");
#undef REFUSED
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(runs_of_all_models), cmocka_unit_test(runs_on_some_memory),
                                     cmocka_unit_test(arrays_as_files), cmocka_unit_test(labels_in_memory),
                                     cmocka_unit_test(arrays_that_are_refused)};
  return cmocka_run_group_tests(tests, api_enter, api_leave);
}
