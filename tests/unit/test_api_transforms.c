// The public interface: float16, INT8, Tucker-2, retraining. Includes dq.h alone.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/api_harness.h"

static void float16(void **state) {
  (void)state;
  dq_model *model = api_load();
  const char *const deny[] = {"conv*", NULL};
  dq_model_amp_options options;
  dq_model_amp_defaults(&options, sizeof options);
  options.half_io = 1;
  options.deny_nodes = deny;
  dq_model_amp_facts facts = {.size = sizeof facts};
  assert_int_equal(dq_model_amp(model, &options, &facts, &api_failure), DQ_CODE_OK);
  assert_true(facts.half_nodes > 0 && facts.half_nodes < facts.nodes && facts.casts > 0);
  assert_true(facts.outputs_sqnr > 50 && facts.outputs_sqnr < 90 && facts.outputs_agreement == 100); // on noise
  dq_model_amp_row row = {.size = sizeof row};
  assert_true(dq_model_amp_at(model, 0, &row));
  assert_string_equal(row.name, "conv1");
  assert_int_equal(row.half, 0);
  dq_network *network;
  dq_array input;
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=2");
  assert_int_equal(dq_network_open(&network, model, NULL, &api_failure), DQ_CODE_OK);
  assert_true(dq_network_input(network, 0, &input));
  assert_int_equal(input.type, 10);
  assert_int_equal(dq_network_read(network, dataset, 0, 0, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_network_run(network, &api_failure), DQ_CODE_OK);
  dq_network_close(network);
  dq_dataset_close(dataset);
  dq_model_free(model);
}

static void put_npy(const char *path, const char *type, const char *shape, size_t bytes, int byte) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  char header[119] = "";
  snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
  fwrite("\x93NUMPY\x01\0\x76\0", 1, 10, file);
  fprintf(file, "%-117s\n", header);
  for (size_t i = 0; i < bytes; i++) fputc(byte, file);
  fclose(file);
}

// Two pictures whose bytes are all the same, as float32 numbers, both of class 0.
static dq_dataset *labelled_arrays(int byte) {
  char folder[] = "/tmp/test_api_XXXXXX", x[64], y[64], spec[160];
  assert_non_null(mkdtemp(folder));
  snprintf(x, sizeof x, "%s/x.npy", folder);
  snprintf(y, sizeof y, "%s/y.npy", folder);
  snprintf(spec, sizeof spec, "npy:%s,%s", x, y);
  put_npy(x, "<f4", "2, 3, 8, 8", 2 * 3 * 8 * 8 * 4, byte);
  put_npy(y, "|u1", "2,", 2, 0);
  dq_dataset *dataset = api_pictures(spec);
  unlink(x); // mapped
  unlink(y);
  rmdir(folder);
  return dataset;
}

static void int8_compared(void **state) {
  (void)state;
  dq_model *model = api_load(), *reference = api_load();
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=4");
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  options.method = "guess";
  api_expect(dq_model_int8(model, dataset, &options, NULL, &api_failure), DQ_CODE_USAGE, "guess");
  options.method = "minmax";
  dq_model_int8_facts facts = {.size = sizeof facts};
  assert_int_equal(dq_model_int8(model, dataset, &options, &facts, &api_failure), DQ_CODE_OK);
  assert_int_equal(facts.pictures, 4);
  dq_model_int8_row row = {.size = sizeof row};
  for (int i = 0; i < facts.operators; i++) assert_true(dq_model_int8_at(model, i, &row));
  dq_model_tucker_row other = {.size = sizeof other};
  assert_false(dq_model_tucker_at(model, 0, &other));
  api_expect(dq_model_tucker_save_ranks(model, "/nowhere/x", &api_failure), DQ_CODE_USAGE, "");
  dq_model_compare_facts compared = {.size = sizeof compared};
  assert_int_equal(dq_model_compare(model, reference, dataset, NULL, &compared, &api_failure), DQ_CODE_OK);
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
  api_expect(dq_model_accuracy(model, dataset, &task, &accuracy, &api_failure), DQ_CODE_BAD_INPUT, "8 classes");
  dq_dataset_close(dataset);
  dataset = labelled_arrays(0);
  assert_int_equal(dq_model_accuracy(model, dataset, &task, &accuracy, &api_failure), DQ_CODE_OK);
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
  dq_model *model = api_load(), *again = api_load();
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=4"),
             *others = api_pictures("synth:shapes,size=8,count=3");
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  api_expect(dq_model_int8(model, NULL, &options, NULL, &api_failure), DQ_CODE_USAGE, "neither");
  options.save_table = path;
  options.bias_correction = DQ_CHOICE_ON;
  dq_model_int8_facts facts = {.size = sizeof facts}, same = {.size = sizeof same};
  assert_int_equal(dq_model_int8(model, dataset, &options, &facts, &api_failure), DQ_CODE_OK);
  assert_string_equal(facts.method, "percentile");
  assert_true(facts.bias_corrected);
  dq_model_int8_defaults(&options, sizeof options);
  options.use_table = path;
  api_expect(dq_model_int8(again, others, &options, NULL, &api_failure), DQ_CODE_BAD_INPUT, path);
  assert_int_equal(dq_model_int8(again, NULL, &options, &same, &api_failure), DQ_CODE_OK);
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
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=24");
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  options.rounding = "adaptive";
  for (int s = 0; s < 2; s++) {
    dq_model *model = api_load();
    options.sums = s ? DQ_SUMS_INT16 : DQ_SUMS_PAIRS;
    dq_model_int8_facts facts = {.size = sizeof facts};
    assert_int_equal(dq_model_int8(model, dataset, &options, &facts, &api_failure), DQ_CODE_OK);
    assert_true(facts.rounded > 0);
    dq_model_free(model);
  }
  dq_dataset_close(dataset);
}

// Options that are out of their range, or do not go together, before the model is touched.
static void int8_refused(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=4");
  dq_model_int8_options plain, options;
  dq_model_int8_defaults(&plain, sizeof plain);
#define REFUSED(field, wrong, word)                                                                                    \
  options = plain, options.field = wrong;                                                                              \
  api_expect(dq_model_int8(model, dataset, &options, NULL, &api_failure), DQ_CODE_USAGE, word)
  REFUSED(method, "abacus", "unknown method 'abacus', expected one of ");
  REFUSED(rounding, "abacus", "unknown rounding 'abacus', expected one of nearest, adaptive");
  REFUSED(percentile, 49, "50 to 100");
  REFUSED(percentile, NAN, "50 to 100");
  REFUSED(max_drop, 101, "max_drop");
  REFUSED(max_drop, NAN, "max_drop");
  REFUSED(time_limit, -1, "time_limit");
  REFUSED(form, (dq_form)2, "form is 2");
  REFUSED(range_search, (dq_choice)3, "range_search is 3");
  plain.save_table = "/nowhere/t";
  REFUSED(table_format, "abacus", "abacus");
  plain.save_table = NULL;
  REFUSED(decode, "abacus", "abacus");
  plain.max_drop = 1;
  REFUSED(precision, "p.json", "at most one");
  REFUSED(use_table, "t.json", "at most one");
  plain.max_drop = -1;
  REFUSED(table_format, "dq", "save_table");
  plain.use_table = "t.json";
  REFUSED(method, "minmax", "use_table is given with method");
  REFUSED(percentile, 99, "use_table is given with percentile");
  REFUSED(equalize, DQ_CHOICE_ON, "use_table is given with equalize");
  REFUSED(bias_correction, DQ_CHOICE_OFF, "use_table is given with bias_correction");
  REFUSED(bias_absorption, DQ_CHOICE_ON, "use_table is given with bias_absorption");
  REFUSED(range_search, DQ_CHOICE_ON, "use_table is given with range_search");
  REFUSED(rounding, "adaptive", "use_table is given with rounding");
  plain.use_table = NULL, plain.method = "minmax";
  REFUSED(percentile, 99, "not of 'minmax'");
#undef REFUSED
  plain.percentile = 0;
  assert_int_equal(dq_model_int8(model, dataset, &plain, NULL, &api_failure), DQ_CODE_OK);
  plain.method = NULL;
  dq_model_free(model);
#define TAKEN(field, value)                                                                                            \
  model = api_load();                                                                                                  \
  options = plain, options.field = value;                                                                              \
  if (options.max_drop >= 0) options.task = "none";                                                                    \
  assert_int_equal(dq_model_int8(model, dataset, &options, NULL, &api_failure), DQ_CODE_OK);                           \
  dq_model_free(model)
  TAKEN(percentile, 50); // the ends of a range belong to it
  TAKEN(percentile, 100);
  TAKEN(max_drop, 0);
  TAKEN(max_drop, 100);
  TAKEN(time_limit, 1e9);
#undef TAKEN
  dq_dataset_close(dataset);
}

// Pictures without labels are refused before anything changes: the model is converted afterwards.
static void int8_with_unlabelled_eval(void **state) {
  (void)state;
  char path[] = "/tmp/test_api_XXXXXX", spec[80];
  close(mkstemp(path));
  put_npy(path, "<f4", "2, 3, 8, 8", 2 * 3 * 8 * 8 * 4, 0);
  snprintf(spec, sizeof spec, "npy:%s", path);
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=8"), *unlabelled = api_pictures(spec);
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  options.max_drop = 1, options.eval = unlabelled;
  dq_model *model = api_load();
  api_expect(dq_model_int8(model, dataset, &options, NULL, &api_failure), DQ_CODE_BAD_INPUT, "eval have no labels");
  options.max_drop = -1, options.eval = NULL;
  assert_int_equal(dq_model_int8(model, dataset, &options, NULL, &api_failure), DQ_CODE_OK);
  dq_model_free(model);
  dq_dataset_close(unlabelled), dq_dataset_close(dataset);
  unlink(path);
}

// No layer may change an answer: what stays in float is said, and the model can be used, transformed and freed as any
// other.
static void int8_of_bounded_loss(void **state) {
  (void)state;
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=24");
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  options.max_drop = 0;
  options.task = "none";
  options.method = "entropy";
  dq_model *model = api_load();
  for (int again = 0; again < 2; again++) {
    dq_model_int8_facts facts = {.size = sizeof facts};
    assert_int_equal(dq_model_int8(model, dataset, &options, &facts, &api_failure), DQ_CODE_OK);
    assert_true(facts.held && facts.drop <= 0 && !facts.half_nodes);
    assert_true((facts.left_in_float > 0) == !again);
    assert_true(again ? facts.nothing_to_do : facts.trials > 1);
    dq_model_cost_facts cost = {.size = sizeof cost};
    assert_int_equal(dq_model_cost(model, NULL, &cost, &api_failure), DQ_CODE_OK);
    assert_int_equal(dq_model_save(model, "/dev/null", &api_failure), DQ_CODE_OK);
  }
  dq_model_free(model);
  dq_dataset_close(dataset);
}

static void decomposed(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_model_tucker_options options;
  dq_model_tucker_defaults(&options, sizeof options);
  options.ratio = 0.5;
  dq_model_tucker_facts facts = {.size = sizeof facts};
  assert_int_equal(dq_model_tucker(model, &options, &facts, &api_failure), DQ_CODE_OK);
  assert_int_equal(facts.macs_before, 13824 + 4608 + 73728 + 64);
  assert_true(facts.decomposed >= 1 && facts.macs_after < facts.macs_before);
  assert_true(facts.outputs_sqnr > -5 && facts.outputs_sqnr < 10 && facts.outputs_agreement < 100); // on noise
  dq_model_tucker_row row = {.size = sizeof row};
  assert_true(dq_model_tucker_at(model, 1, &row));
  assert_string_equal(row.name, "depthwise");
  assert_memory_equal(row.dims, ((int64_t[]){8, 1, 3, 3}), sizeof row.dims);
  assert_true(row.reason[0] != 0);
  char ranks[] = "/tmp/test_api_XXXXXX";
  int file = mkstemp(ranks);
  assert_true(file >= 0);
  close(file);
  assert_int_equal(dq_model_tucker_save_ranks(model, ranks, &api_failure), DQ_CODE_OK);
  dq_model *again = api_load();
  dq_model_tucker_facts same = {.size = sizeof same};
  dq_model_tucker_defaults(&options, sizeof options);
  options.ranks = ranks;
  assert_int_equal(dq_model_tucker(again, &options, &same, &api_failure), DQ_CODE_OK);
  assert_int_equal(same.macs_after, facts.macs_after);
  unlink(ranks);
  dq_model_free(again);
  dq_model_free(model);
}

// Where the model leaves its size open, weights count and multiply-accumulates do not.
static void decomposed_without_sizes(void **state) {
  (void)state;
  char path[4096];
  snprintf(path, sizeof path, "%.*s/open_size.onnx", (int)(strrchr(api_small, '/') - api_small), api_small);
  if (access(path, R_OK)) skip();
  dq_model *model;
  assert_int_equal(dq_model_load(&model, api_engine, path, &api_failure), DQ_CODE_OK);
  dq_model_tucker_options options;
  dq_model_tucker_defaults(&options, sizeof options);
  options.ratio = 0.5;
  assert_int_equal(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_OK);
  dq_model_tucker_row row = {.size = sizeof row};
  assert_true(dq_model_tucker_at(model, 0, &row));
  assert_string_equal(row.name, "conv1");
  assert_memory_equal(row.dims, ((int64_t[]){8, 3, 3, 3}), sizeof row.dims);
  assert_int_equal(row.rank_out, 4);
  assert_int_equal(row.rank_in, 2);
  assert_int_equal(row.macs_before, -1);
  assert_int_equal(row.macs_after, -1);
  assert_int_equal(row.parameters_before, 8 * 3 * 3 * 3 + 8);
  assert_int_equal(row.parameters_after, 3 * 2 + 4 * 2 * 3 * 3 + 8 * 4 + 8);
  assert_false(dq_model_tucker_at(model, -1, &row));
  dq_model_free(model);
}

// A retraining command is refused, fails, and succeeds: the file is as it was, as it was, and the model again.
static void retrained(void **state) {
  (void)state;
  dq_model *model = api_load();
  char path[] = "/tmp/test_api_XXXXXX", copy[] = "/tmp/test_api_XXXXXX";
  int file = mkstemp(path), other = mkstemp(copy);
  assert_true(file >= 0 && other >= 0);
  close(file), close(other);
  dq_model_retrain_options options;
  dq_model_retrain_defaults(&options, sizeof options);
  api_expect(dq_model_retrain(model, path, &options, &api_failure), DQ_CODE_USAGE, "command is missing");
  options.command = "false";
  api_expect(dq_model_retrain(model, path, &options, &api_failure), DQ_CODE_USAGE, "original is missing");
  options.original = api_small;
  api_expect(dq_model_retrain(model, path, &options, &api_failure), DQ_CODE_USAGE, "not transformed");
  assert_int_equal(dq_model_amp(model, NULL, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_model_save(model, path, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_model_save(model, copy, &api_failure), DQ_CODE_OK);
  api_expect(dq_model_retrain(model, "-", &options, &api_failure), DQ_CODE_USAGE, "not standard output");
  options.time_limit = -1;
  api_expect(dq_model_retrain(model, path, &options, &api_failure), DQ_CODE_USAGE, "time_limit");
  options.time_limit = 60;
  api_expect(dq_model_retrain(model, path, &options, &api_failure), DQ_CODE_CONDITION, "exit status 1");
  api_assert_same_files(path, copy);
  options.command = "cp \"$DQ_ORIGINAL\" \"$DQ_OUTPUT\""; // another precision
  api_expect(dq_model_retrain(model, path, &options, &api_failure), DQ_CODE_CONDITION, "expected float16");
  api_assert_same_files(path, copy);
  options.every = 1;
  api_expect(dq_model_retrain(model, path, &options, &api_failure), DQ_CODE_USAGE, "no decomposition");
  options.every = -1;
  api_expect(dq_model_retrain(model, path, &options, &api_failure), DQ_CODE_USAGE, "every is -1");
  options.every = 0;
  options.command = "cp \"$DQ_MODEL\" \"$DQ_OUTPUT\"";
  assert_int_equal(dq_model_retrain(model, path, &options, &api_failure), DQ_CODE_OK);
  api_assert_same_files(path, copy);
  unlink(path), unlink(copy);
  dq_model_free(model);
}

// Values near an input of 8-bit pictures fit; `loud` has values that do not, unless the guard keeps them in float32.
static void float16_checked(void **state) {
  (void)state;
  char path[4096];
  snprintf(path, sizeof path, "%.*s/loud.onnx", (int)(strrchr(api_small, '/') - api_small), api_small);
  if (access(path, R_OK)) skip();
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=5");
  for (int unguarded = 0; unguarded < 2; unguarded++) {
    dq_model *model;
    dq_model_amp_options options;
    dq_model_amp_defaults(&options, sizeof options);
    options.check = dataset;
    options.unguarded = unguarded;
    dq_model_amp_facts facts = {.size = sizeof facts};
    assert_int_equal(dq_model_load(&model, api_engine, path, &api_failure), DQ_CODE_OK);
    const dq_code code = dq_model_amp(model, &options, &facts, &api_failure);
    if (unguarded) api_expect(code, DQ_CODE_CONDITION, "2 layers in float16 have values beyond 65504");
    else assert_int_equal(code, DQ_CODE_OK);
    assert_int_equal(facts.pictures, 5);
    assert_true(unguarded ? facts.overflowed > 0 && facts.guarded == 0 : facts.overflowed == 0 && facts.guarded > 0);
    dq_model_amp_range range = {.size = sizeof range};
    int i = 0, overflowed = 0;
    for (; dq_model_amp_range_at(model, i, &range); i++) {
      assert_true(*range.name && *range.op_type && range.elements % 5 == 0);
      overflowed += range.overflow > 0;
    }
    assert_true(i == facts.checked && overflowed == facts.overflowed);
    assert_false(dq_model_amp_range_at(model, -1, &range));
    dq_model_free(model);
  }
  dq_dataset_close(dataset);
}

// The first value that is checked, the input, counts like the others.
static void float16_of_large_inputs(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_model_amp_options options;
  dq_model_amp_defaults(&options, sizeof options);
  options.check = labelled_arrays(0x4f); // 3.5e9
  options.unguarded = 1;
  dq_model_amp_facts facts = {.size = sizeof facts};
  dq_model_amp_range range = {.size = sizeof range};
  api_expect(dq_model_amp(model, &options, &facts, &api_failure), DQ_CODE_CONDITION, "values beyond 65504");
  int overflowed = 0;
  for (int i = 0; dq_model_amp_range_at(model, i, &range); i++) {
    assert_true(i > 0 || range.overflow == 2 * 3 * 8 * 8);
    overflowed += range.overflow > 0;
  }
  assert_int_equal(facts.overflowed, overflowed);
  assert_true(facts.outputs_sqnr == -INFINITY && facts.outputs_agreement == 0); // on these pictures
  dq_dataset_close((dq_dataset *)options.check);
  dq_model_free(model);
}

// What a search for ranks wants, and what it answers: at a bound of 100 points only ranks are the limit.
static void decomposed_by_search(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_dataset *arrays = labelled_arrays(0);
  dq_model_tucker_options options;
  dq_model_tucker_facts facts = {.size = sizeof facts};
  dq_model_tucker_defaults(&options, sizeof options);
  options.max_drop = 0;
  api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "without data");
  options.data = arrays, options.ratio = 0.5;
  api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "expected one");
  options.ratio = 0, options.max_drop = 101;
  api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "max_drop is 101");
  options.max_drop = -1, options.ratio = 0.5, options.time_limit = 1;
  api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "time_limit is given without");
  options.ratio = 0, options.max_drop = 100, options.task = "classify";
  assert_int_equal(dq_model_tucker(model, &options, &facts, &api_failure), DQ_CODE_OK);
  assert_true(facts.decomposed > 0 && facts.trials > 1 && facts.drop <= 100);
  assert_true(facts.macs_after < facts.macs_before);
  dq_model_free(model);
  model = api_load();
  options.time_limit = 1e-9; // over before the first trial: the model stays as it is
  assert_int_equal(dq_model_tucker(model, &options, &facts, &api_failure), DQ_CODE_OK);
  assert_true(facts.stopped && !facts.decomposed && !facts.trials);
  dq_dataset_close(arrays);
  dq_model_free(model);
}

// Rules of ranks exclude each other; data, refinement and matrices are taken.
static void decomposed_on_data(void **state) {
  (void)state;
  dq_model *model = api_load();
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=8");
  dq_model_tucker_options options;
  dq_model_tucker_defaults(&options, sizeof options);
  options.vbmf = 1;
  options.ratio = 0.5;
  api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "expected one");
  options.ratio = 0;
  options.weaken = 2;
  api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "");
  options.vbmf = 0, options.ratio = 0.5;
  api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "without vbmf");
  options.weaken = 0, options.never_slower = 1, options.force = 1;
  api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "never_slower");
  options.never_slower = 0, options.ratio = 0, options.ranks = "ranks.json";
  api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "ranks is given with force");
  options.force = 0, options.multiple = 8;
  api_expect(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_USAGE, "ranks is given with multiple");
  options.ranks = NULL, options.ratio = 0.5, options.multiple = 1, options.force = 1;
  options.data = options.eval = dataset, options.matrices = 1;
  assert_int_equal(dq_model_tucker(model, &options, NULL, &api_failure), DQ_CODE_OK);
  dq_model_tucker_row row = {.size = sizeof row};
  int fitted = 0;
  for (int i = 0; dq_model_tucker_at(model, i, &row); i++)
    if (!*row.reason) fitted += row.response_error > 0 && row.response_error < 1;
  assert_true(fitted > 0);
  dq_dataset_close(dataset);
  dq_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(float16),
                                     cmocka_unit_test(int8_compared),
                                     cmocka_unit_test(int8_by_table),
                                     cmocka_unit_test(adaptive_rounding),
                                     cmocka_unit_test(int8_refused),
                                     cmocka_unit_test(int8_with_unlabelled_eval),
                                     cmocka_unit_test(int8_of_bounded_loss),
                                     cmocka_unit_test(decomposed),
                                     cmocka_unit_test(decomposed_without_sizes),
                                     cmocka_unit_test(decomposed_by_search),
                                     cmocka_unit_test(retrained),
                                     cmocka_unit_test(float16_checked),
                                     cmocka_unit_test(float16_of_large_inputs),
                                     cmocka_unit_test(decomposed_on_data)};
  return cmocka_run_group_tests(tests, api_enter, api_leave);
}
