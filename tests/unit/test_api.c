// The public interface: handles, options and results of other versions, failures. Includes dq.h alone.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/dq.h"

static dq_engine *engine;
static dq_failure failure;
static const char *small;
static int notices;

static void count_message(void *user, dq_notice notice, const char *text) {
  (void)notice;
  assert_true(user == &notices && *text);
  notices++;
}

// The models lie beside the tests: build/tests/unit/test_api and build/models.
static int enter(void **state) {
  static char path[4096];
  (void)state;
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 40);
  if (length <= 0) return -1;
  path[length] = 0;
  for (int i = 0; i < 3; i++) *strrchr(path, '/') = 0;
  strcat(path, "/models/small.onnx");
  small = path;
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.threads = 2;
  options.message = count_message;
  options.user = &notices;
  return dq_engine_open(&engine, &options, &failure) != DQ_CODE_OK;
}

static int leave(void **state) {
  (void)state;
  dq_engine_close(engine);
  return 0;
}

static dq_model *load(void) {
  dq_model *model;
  if (access(small, R_OK)) {
    print_message("SKIP %s is not there\n", small);
    skip();
  }
  assert_int_equal(dq_model_load(&model, engine, small, &failure), DQ_CODE_OK);
  return model;
}

static dq_dataset *pictures(const char *spec) {
  dq_dataset *dataset;
  assert_int_equal(dq_dataset_open(&dataset, engine, spec, NULL, &failure), DQ_CODE_OK);
  return dataset;
}

static void expect(dq_code code, dq_code expected, const char *word) {
  assert_int_equal(code, expected);
  assert_int_equal(failure.code, expected);
  assert_non_null(strstr(failure.message, word));
}

static void failures(void **state) {
  (void)state;
  dq_model *model = (dq_model *)1;
  expect(dq_model_load(&model, engine, "/nowhere", &failure), DQ_CODE_SYSTEM, "/nowhere");
  assert_null(model);
  assert_int_equal(dq_model_load(&model, engine, "/nowhere", NULL), DQ_CODE_SYSTEM);
  expect(dq_model_load_bytes(&model, engine, "\xff\xff", 2, NULL, &failure), DQ_CODE_BAD_INPUT, "");
  assert_null(model);
  dq_dataset *dataset = (dq_dataset *)1;
  expect(dq_dataset_open(&dataset, engine, "pb:/nowhere", NULL, &failure), DQ_CODE_SYSTEM,
         "/nowhere");
  assert_null(dataset);
  dq_engine *other;
  dq_engine_options options;
  dq_engine_defaults(&options, sizeof options);
  options.instructions = "abacus";
  expect(dq_engine_open(&other, &options, &failure), DQ_CODE_USAGE, "abacus");
  assert_null(other);
  dq_model_free(NULL);
  dq_dataset_close(NULL);
  dq_network_close(NULL);
  dq_engine_close(NULL);
}

static void shares_of_macs(void **state) {
  (void)state;
  dq_model *model = load();
  const double wrong[] = {-0.5, 1, 1.5};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    dq_model_tucker_options options;
    dq_model_tucker_defaults(&options, sizeof options);
    options.macs = wrong[i];
    expect(dq_model_tucker(model, &options, NULL, &failure), DQ_CODE_USAGE, "expected above 0 and below 1");
  }
  dq_model_free(model);
}

// Options and results of an older or a newer program.
static void sizes(void **state) {
  (void)state;
  dq_model *model = load();
  dq_model_tucker_options options;
  memset(&options, 0x55, sizeof options);
  dq_model_tucker_defaults(&options, offsetof(dq_model_tucker_options, macs));
  assert_int_equal(options.size, offsetof(dq_model_tucker_options, macs));
  assert_true(options.ratio == 0 && options.macs != 0); // what lies behind is not touched
  options.ratio = 0.5;
  dq_model_tucker_facts facts = {.size = offsetof(dq_model_tucker_facts, macs_before),
                                 .macs_before = 77};
  assert_int_equal(dq_model_tucker(model, &options, &facts, &failure), DQ_CODE_OK);
  assert_int_equal(facts.convolutions, 3);
  assert_int_equal(facts.macs_before, 77);
  struct {
    dq_model_tucker_options known;
    int64_t later;
  } newer = {.later = 0};
  dq_model_tucker_defaults(&newer.known, sizeof newer);
  newer.known.ratio = 2;
  expect(dq_model_tucker(model, &newer.known, NULL, &failure), DQ_CODE_USAGE, "");
  newer.later = 1;
  expect(dq_model_tucker(model, &newer.known, NULL, &failure), DQ_CODE_USAGE, "later version");
  memset(&options, 0, sizeof options);
  expect(dq_model_tucker(model, &options, NULL, &failure), DQ_CODE_USAGE, "_defaults");
  facts.size = 0;
  expect(dq_model_tucker(model, NULL, &facts, &failure), DQ_CODE_USAGE, "size");
  expect(dq_model_tucker(model, NULL, NULL, &failure), DQ_CODE_USAGE, "expected one");
  // None of these touched the model.
  dq_model_cost_facts cost = {.size = sizeof cost};
  assert_int_equal(dq_model_cost(model, NULL, &cost, &failure), DQ_CODE_OK);
  dq_model_free(model);
}

static void costs(void **state) {
  (void)state;
  dq_model *model = load();
  dq_model_cost_facts facts = {.size = sizeof facts};
  dq_model_cost_row row = {.size = sizeof row};
  assert_int_equal(dq_model_save(model, "/dev/null", &failure), DQ_CODE_OK);
  assert_int_equal(dq_model_cost_at(model, 0, &row), 0);
  assert_int_equal(dq_model_cost(model, NULL, &facts, &failure), DQ_CODE_OK);
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
  expect(dq_model_cost(model, wrong, &facts, &failure), DQ_CODE_BAD_INPUT, "x");
  dq_model_free(model);
}

static void running(void **state) {
  (void)state;
  dq_model *model = load();
  dq_dataset *dataset = pictures("synth:shapes,size=8,count=3");
  assert_int_equal(dq_dataset_count(dataset), 3);
  assert_int_equal(dq_dataset_skipped(dataset), 0);
  dq_network_options options;
  dq_network_defaults(&options, sizeof options);
  options.batch = 2;
  dq_network *network;
  assert_int_equal(dq_network_open(&network, model, &options, &failure), DQ_CODE_OK);
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
    assert_int_equal(dq_network_read(network, dataset, 1, item, &sample, &failure), DQ_CODE_OK);
  assert_true(sample.label >= 0 && *sample.name);
  assert_int_equal(dq_network_run(network, &failure), DQ_CODE_OK);
  assert_true(dq_network_output(network, 0, &output));
  assert_int_equal(output.bytes, 2 * 4 * 4);
  assert_memory_equal(output.data, (char *)output.data + 16, 16);
  expect(dq_network_read(network, dataset, 1, 2, NULL, &failure), DQ_CODE_USAGE, "place 2");
  expect(dq_network_read(network, dataset, 3, 0, NULL, &failure), DQ_CODE_USAGE, "picture 3");
  expect(dq_model_amp(model, NULL, NULL, &failure), DQ_CODE_USAGE, "networks");
  dq_engine_stop(engine, 1);
  expect(dq_network_run(network, &failure), DQ_CODE_CANCELLED, "interrupted");
  dq_engine_stop(engine, 0);
  assert_int_equal(dq_network_run(network, &failure), DQ_CODE_OK);
  dq_network_close(network);
  dq_dataset_close(dataset);
  dq_model_free(model);
}

static void float16(void **state) {
  (void)state;
  dq_model *model = load();
  const char *const deny[] = {"conv*", NULL};
  dq_model_amp_options options;
  dq_model_amp_defaults(&options, sizeof options);
  options.half_io = 1;
  options.deny_nodes = deny;
  dq_model_amp_facts facts = {.size = sizeof facts};
  assert_int_equal(dq_model_amp(model, &options, &facts, &failure), DQ_CODE_OK);
  assert_true(facts.half_nodes > 0 && facts.half_nodes < facts.nodes && facts.casts > 0);
  dq_model_amp_row row = {.size = sizeof row};
  assert_true(dq_model_amp_at(model, 0, &row));
  assert_string_equal(row.name, "conv1");
  assert_int_equal(row.half, 0);
  dq_network *network;
  dq_array input;
  dq_dataset *dataset = pictures("synth:shapes,size=8,count=2");
  assert_int_equal(dq_network_open(&network, model, NULL, &failure), DQ_CODE_OK);
  assert_true(dq_network_input(network, 0, &input));
  assert_int_equal(input.type, 10);
  assert_int_equal(dq_network_read(network, dataset, 0, 0, NULL, &failure), DQ_CODE_OK);
  assert_int_equal(dq_network_run(network, &failure), DQ_CODE_OK);
  dq_network_close(network);
  dq_dataset_close(dataset);
  dq_model_free(model);
}

static void put_npy(const char *path, const char *type, const char *shape, size_t bytes) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  char header[119] = "";
  snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type,
           shape);
  fwrite("\x93NUMPY\x01\0\x76\0", 1, 10, file);
  fprintf(file, "%-117s\n", header);
  for (size_t i = 0; i < bytes; i++) fputc(0, file);
  fclose(file);
}

// Two pictures of zeros, both of class 0.
static dq_dataset *labelled_arrays(void) {
  char folder[] = "/tmp/test_api_XXXXXX", x[64], y[64], spec[160];
  assert_non_null(mkdtemp(folder));
  snprintf(x, sizeof x, "%s/x.npy", folder);
  snprintf(y, sizeof y, "%s/y.npy", folder);
  snprintf(spec, sizeof spec, "npy:%s,%s", x, y);
  put_npy(x, "<f4", "2, 3, 8, 8", 2 * 3 * 8 * 8 * 4);
  put_npy(y, "|u1", "2,", 2);
  dq_dataset *dataset = pictures(spec);
  unlink(x); // mapped
  unlink(y);
  rmdir(folder);
  return dataset;
}

static void int8_compared(void **state) {
  (void)state;
  dq_model *model = load(), *reference = load();
  dq_dataset *dataset = pictures("synth:shapes,size=8,count=4");
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  options.method = "guess";
  expect(dq_model_int8(model, dataset, &options, NULL, &failure), DQ_CODE_USAGE, "guess");
  options.method = "minmax";
  dq_model_int8_facts facts = {.size = sizeof facts};
  assert_int_equal(dq_model_int8(model, dataset, &options, &facts, &failure), DQ_CODE_OK);
  assert_int_equal(facts.pictures, 4);
  dq_model_int8_row row = {.size = sizeof row};
  for (int i = 0; i < facts.operators; i++) assert_true(dq_model_int8_at(model, i, &row));
  dq_model_tucker_row other = {.size = sizeof other};
  assert_false(dq_model_tucker_at(model, 0, &other));
  expect(dq_model_tucker_save_ranks(model, "/nowhere/x", &failure), DQ_CODE_USAGE, "");
  dq_model_compare_facts compared = {.size = sizeof compared};
  assert_int_equal(dq_model_compare(model, reference, dataset, NULL, &compared, &failure),
                   DQ_CODE_OK);
  assert_true(compared.outputs == 1 && compared.pictures == 4);
  dq_model_compare_row distance = {.size = sizeof distance};
  assert_true(dq_model_compare_at(model, 0, &distance));
  assert_string_equal(distance.value, "y");
  assert_true(distance.sqnr > 10 && isfinite(distance.sqnr) && distance.agreement >= 0);
  assert_false(dq_model_compare_at(model, compared.outputs + compared.layers, &distance));
  dq_model_accuracy_facts accuracy = {.size = sizeof accuracy};
  dq_model_accuracy_options task;
  dq_model_accuracy_defaults(&task, sizeof task);
  task.task = "classify";
  expect(dq_model_accuracy(model, dataset, &task, &accuracy, &failure), DQ_CODE_BAD_INPUT,
         "8 classes");
  dq_dataset_close(dataset);
  dataset = labelled_arrays();
  assert_int_equal(dq_model_accuracy(model, dataset, &task, &accuracy, &failure), DQ_CODE_OK);
  assert_int_equal(accuracy.pictures, 2);
  assert_string_equal(accuracy.figures[0].key, "top1");
  dq_dataset_close(dataset);
  dq_model_free(reference);
  dq_model_free(model);
}

// What a table holds is enough to make the same model again, without data.
static void int8_by_table(void **state) {
  (void)state;
  char path[] = "/tmp/test_api_XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  dq_model *model = load(), *again = load();
  dq_dataset *dataset = pictures("synth:shapes,size=8,count=4"),
             *others = pictures("synth:shapes,size=8,count=3");
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  expect(dq_model_int8(model, NULL, &options, NULL, &failure), DQ_CODE_USAGE, "neither");
  options.save_table = path;
  options.bias_correction = DQ_CHOICE_ON;
  dq_model_int8_facts facts = {.size = sizeof facts}, same = {.size = sizeof same};
  assert_int_equal(dq_model_int8(model, dataset, &options, &facts, &failure), DQ_CODE_OK);
  assert_string_equal(facts.method, "percentile");
  assert_true(facts.bias_corrected);
  dq_model_int8_defaults(&options, sizeof options);
  options.use_table = path;
  expect(dq_model_int8(again, others, &options, NULL, &failure), DQ_CODE_BAD_INPUT, path);
  assert_int_equal(dq_model_int8(again, NULL, &options, &same, &failure), DQ_CODE_OK);
  assert_int_equal(same.quantized, facts.quantized);
  dq_model_int8_row one = {.size = sizeof one}, two = {.size = sizeof two};
  for (int i = 0; dq_model_int8_at(model, i, &one); i++) {
    assert_true(dq_model_int8_at(again, i, &two));
    assert_true(one.scale == two.scale && one.zero_point == two.zero_point);
  }
  unlink(path);
  dq_dataset_close(others);
  dq_dataset_close(dataset);
  dq_model_free(again);
  dq_model_free(model);
}

static void adaptive_rounding(void **state) {
  (void)state;
  dq_dataset *dataset = pictures("synth:shapes,size=8,count=24");
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  options.adaptive = 1;
  for (int s = 0; s < 2; s++) {
    dq_model *model = load();
    options.sums = s ? DQ_SUMS_INT16 : DQ_SUMS_PAIRS;
    dq_model_int8_facts facts = {.size = sizeof facts};
    assert_int_equal(dq_model_int8(model, dataset, &options, &facts, &failure), DQ_CODE_OK);
    assert_true(facts.rounded > 0);
    dq_model_free(model);
  }
  dq_dataset_close(dataset);
}

static void decomposed(void **state) {
  (void)state;
  dq_model *model = load();
  dq_model_tucker_options options;
  dq_model_tucker_defaults(&options, sizeof options);
  options.ratio = 0.5;
  dq_model_tucker_facts facts = {.size = sizeof facts};
  assert_int_equal(dq_model_tucker(model, &options, &facts, &failure), DQ_CODE_OK);
  assert_int_equal(facts.macs_before, 13824 + 4608 + 73728 + 64);
  assert_true(facts.decomposed >= 1 && facts.macs_after < facts.macs_before);
  dq_model_tucker_row row = {.size = sizeof row};
  assert_true(dq_model_tucker_at(model, 1, &row));
  assert_string_equal(row.name, "depthwise");
  assert_true(row.reason[0] != 0);
  char ranks[] = "/tmp/test_api_XXXXXX";
  int file = mkstemp(ranks);
  assert_true(file >= 0);
  close(file);
  assert_int_equal(dq_model_tucker_save_ranks(model, ranks, &failure), DQ_CODE_OK);
  dq_model *again = load();
  dq_model_tucker_facts same = {.size = sizeof same};
  dq_model_tucker_defaults(&options, sizeof options);
  options.ranks = ranks;
  assert_int_equal(dq_model_tucker(again, &options, &same, &failure), DQ_CODE_OK);
  assert_int_equal(same.macs_after, facts.macs_after);
  unlink(ranks);
  dq_model_free(again);
  dq_model_free(model);
}

// A transform that fails half way leaves a model that is good for nothing, and says so.
static void broken(void **state) {
  (void)state;
  char path[4096];
  snprintf(path, sizeof path, "%.*s/nan_weight.onnx", (int)(strrchr(small, '/') - small), small);
  dq_model *model;
  if (access(path, R_OK)) skip();
  assert_int_equal(dq_model_load(&model, engine, path, &failure), DQ_CODE_OK);
  dq_model_tucker_options options;
  dq_model_tucker_defaults(&options, sizeof options);
  options.energy = 0.9;
  expect(dq_model_tucker(model, &options, NULL, &failure), DQ_CODE_BAD_INPUT, "conv2.weight");
  expect(dq_model_save(model, "/nowhere/x", &failure), DQ_CODE_USAGE, "freed");
  expect(dq_model_cost(model, NULL, NULL, &failure), DQ_CODE_USAGE, "freed");
  dq_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(failures),      cmocka_unit_test(shares_of_macs), cmocka_unit_test(sizes),      cmocka_unit_test(costs),
      cmocka_unit_test(running),       cmocka_unit_test(float16),    cmocka_unit_test(int8_compared),
      cmocka_unit_test(int8_by_table), cmocka_unit_test(adaptive_rounding),
      cmocka_unit_test(decomposed),    cmocka_unit_test(broken)};
  return cmocka_run_group_tests(tests, enter, leave);
}
