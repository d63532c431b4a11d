// Equalization is neutral in float, tables come back as they were written, biases are shifted back.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/passes/passes.h"
#include "quant/int8/int8.h"
#include "quant/files/table.h"
#include "tests/unit/small_network.h"

static double spread(const network *it, const char *name) {
  dq_observation what = network_watch(it, &name);
  dq_calibration calibration;
  dq_error error;
  assert_int_equal(dq_calibrate(&calibration, &what, &it->context, &error), DQ_OK);
  double range = (double)(calibration.histograms[0].maximum - calibration.histograms[0].minimum);
  dq_calibration_deinit(&calibration);
  return range;
}

// The network with readers of the SiLU that have a scale per channel.
static void build_depthwise(network *it) {
  network_build(it);
  const char *const readers[] = {"c", "d"};
  for (int r = 0; r < 2; r++) {
    dq_node *reader = network_value(it, readers[r])->producer;
    dq_tensor *weight = dq_tensor_new(it->graph->arena, DQ_F32, 4, (int64_t[]){CHANNELS, 1, 1, 1});
    for (int c = 0; c < CHANNELS; c++) ((float *)weight->data)[c] = (float)(c - 2.5);
    dq_node_set_int(it->graph, reader, "group", CHANNELS);
    assert_true(dq_graph_set_constant(it->graph, reader->inputs[1], weight));
  }
}

static void equalizing_is_neutral(void **state) {
  network *it = *state;
  build_depthwise(it);
  static network_outputs before, after;
  network_run(it, &before);
  dq_observation what = network_watch(it, NULL);
  dq_equalization equalization;
  const dq_restated *restated;
  int count;
  dq_error error;
  assert_int_equal(
      dq_equalize_measure(&equalization, &what, DQ_EQUALIZE_ALL, false, NULL, it->arena, &it->context, &error), DQ_OK);
  assert_int_equal(equalization.count, 3); // a, b and sum
  assert_int_equal(
      dq_equalize_apply(it->graph, &equalization, &no_shapes, it->arena, &restated, &count, &it->context, &error),
      DQ_OK);
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-5);
  assert_true(spread(it, "a_act") > 0);
  int mapped = 0;
  for (int i = 0; i < count; i++) mapped += restated[i].original != NULL;
  assert_int_equal(mapped, 1); // the sigmoid's argument stands for b
}

static void depthwise_scope_takes_depthwise_only(void **state) {
  network *it = *state;
  network_build(it);
  dq_observation what = network_watch(it, NULL);
  dq_equalization equalization;
  dq_error error;
  assert_int_equal(
      dq_equalize_measure(&equalization, &what, DQ_EQUALIZE_DEPTHWISE, false, NULL, it->arena, &it->context, &error),
      DQ_OK);
  assert_int_equal(equalization.count, 1);
  assert_string_equal(equalization.sites[0].value, "a_act");
  float least = INFINITY, most = 0;
  for (int c = 0; c < CHANNELS; c++) {
    least = fminf(least, equalization.sites[0].factors[c]);
    most = fmaxf(most, equalization.sites[0].factors[c]);
  }
  assert_true(least == 1 && most > 16); // the widest channel stays
}

// Where its readers share a scale the gain is not worth a Mul.
static void silu_is_scaled_for_depthwise_only(void **state) {
  network *it = *state;
  network_build(it);
  dq_observation what = network_watch(it, NULL);
  dq_equalization equalization;
  dq_error error;
  assert_int_equal(
      dq_equalize_measure(&equalization, &what, DQ_EQUALIZE_FULL, false, NULL, it->arena, &it->context, &error), DQ_OK);
  assert_int_equal(equalization.count, 2);
  assert_string_equal(equalization.sites[1].value, "sum_act");
}

static void assert_factors(const dq_equalization *a, const dq_equalization *b) {
  assert_true(a->count > 0 && a->count == b->count);
  for (int s = 0; s < a->count; s++) {
    assert_string_equal(a->sites[s].value, b->sites[s].value);
    assert_memory_equal(a->sites[s].factors, b->sites[s].factors, (size_t)a->sites[s].channels * sizeof(float));
  }
}

// What was seen on the first pictures is kept, also of values that a caller in between does not need.
static void a_memory_observes_what_it_lacks(void **state) {
  network *it = *state;
  network_build(it);
  dq_equalize_memory *memory = dq_equalize_memory_new(it->arena);
  dq_equalization first, some, all, fresh;
  dq_error error;
  dq_observation what = network_watch(it, NULL);
  const int64_t pictures = what.pictures;
  assert_true(pictures > 2);
  assert_int_equal(dq_equalize_measure(&fresh, &what, DQ_EQUALIZE_FULL, false, NULL, it->arena, &it->context, &error),
                   DQ_OK);
  what.pictures = 1;
  assert_int_equal(dq_equalize_measure(&first, &what, DQ_EQUALIZE_FULL, false, memory, it->arena, &it->context, &error),
                   DQ_OK);
  what.pictures = pictures - 1;
  assert_int_equal(
      dq_equalize_measure(&some, &what, DQ_EQUALIZE_DEPTHWISE, false, memory, it->arena, &it->context, &error), DQ_OK);
  what.pictures = pictures;
  assert_int_equal(dq_equalize_measure(&all, &what, DQ_EQUALIZE_FULL, false, memory, it->arena, &it->context, &error),
                   DQ_OK);
  assert_true(memcmp(first.sites[0].factors, fresh.sites[0].factors, CHANNELS * sizeof(float)) != 0);
  assert_factors(&all, &fresh);
}

static void count_pictures(void *user, const char *what, int64_t done, int64_t total) {
  (void)what, (void)total;
  if (done > 0) ++*(int *)user;
}

static dq_status ignore(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  (void)user, (void)slot, (void)tensor, (void)error;
  return DQ_OK;
}

// A run of others, of the pictures first to first + pictures - 1, in which the memory observes.
static void run_of_others(network *it, dq_equalize_memory *memory, int64_t first, int64_t pictures) {
  dq_observation what = network_watch(it, NULL);
  dq_listener listener;
  dq_error error;
  what.count = 0, what.first = first, what.pictures = pictures;
  assert_int_equal(dq_equalize_watch(memory, &listener, &what, &it->context, &error), DQ_OK);
  assert_true(listener.count > 0);
  what.also = &listener;
  assert_int_equal(dq_observe(&what, ignore, NULL, &it->context, &error), DQ_OK);
  dq_equalize_watched(memory, &listener, &what);
}

// The last pictures are seen in the run of others, then the first ones: only those between are run for the factors,
// which are those of one run over all of them.
static void a_memory_observes_in_runs_of_others(void **state) {
  network *it = *state;
  network_build(it);
  dq_equalize_memory *memory = dq_equalize_memory_new(it->arena);
  dq_equalization some, all, fresh;
  dq_error error;
  int run = 0;
  dq_observation what = network_watch(it, NULL);
  const int64_t pictures = what.pictures;
  assert_true(pictures > 3);
  assert_int_equal(dq_equalize_measure(&fresh, &what, DQ_EQUALIZE_FULL, false, NULL, it->arena, &it->context, &error),
                   DQ_OK);
  run_of_others(it, memory, pictures - 2, 2);
  run_of_others(it, memory, 0, 1);
  dq_context counting = it->context;
  counting.progress = count_pictures, counting.user = &run;
  what.pictures = 1;
  assert_int_equal(dq_equalize_measure(&some, &what, DQ_EQUALIZE_FULL, false, memory, it->arena, &counting, &error),
                   DQ_OK);
  assert_int_equal(run, 0);
  what.pictures = pictures;
  assert_int_equal(dq_equalize_measure(&all, &what, DQ_EQUALIZE_FULL, false, memory, it->arena, &counting, &error),
                   DQ_OK);
  assert_int_equal(run, pictures - 3);
  assert_true(memcmp(some.sites[0].factors, fresh.sites[0].factors, CHANNELS * sizeof(float)) != 0);
  assert_factors(&all, &fresh);
}

static void outputs_are_never_scaled(void **state) {
  network *it = *state;
  network_build(it);
  dq_value *act = network_value(it, "a_act");
  act->is_output = true;
  dq_observation what = network_watch(it, NULL);
  dq_equalization equalization;
  dq_error error;
  assert_int_equal(
      dq_equalize_measure(&equalization, &what, DQ_EQUALIZE_DEPTHWISE, false, NULL, it->arena, &it->context, &error),
      DQ_OK);
  assert_int_equal(equalization.count, 0);
}

static void unknown_sites_are_refused(void **state) {
  network *it = *state;
  network_build(it);
  const float factors[CHANNELS] = {1, 1, 1, 1, 1, 1};
  const dq_equalize_site sites[] = {{"nobody", CHANNELS, factors}, {"a_act", CHANNELS - 1, factors}};
  for (int s = 0; s < 2; s++) {
    dq_equalization equalization = {&sites[s], 1};
    const dq_restated *restated;
    int count;
    dq_error error;
    assert_int_equal(
        dq_equalize_apply(it->graph, &equalization, &no_shapes, it->arena, &restated, &count, &it->context, &error),
        DQ_BAD_INPUT);
    assert_non_null(strstr(error.message, sites[s].value));
  }
}

static void bias_shift_by_hand(void **state) {
  network *it = *state;
  dq_tensor *w = dq_tensor_new(it->graph->arena, DQ_F32, 4, (int64_t[]){2, 2, 1, 1});
  memcpy(w->data, (float[]){1.2f, 2.4f, -0.4f, 3}, 16);
  dq_node *made = network_node(it, "Conv", network_value(it, "x"), dq_graph_add_constant(it->graph, "w", w), NULL,
                               network_value(it, "y"));
  dq_channel_means means = {"x", 2, (double[]){10, 100}};
  double shift[2];
  assert_true(dq_bias_shift(made, &means, (int8_t[]){1, 2, 0, 2}, (float[]){1, 1.5f}, 2, shift));
  assert_true(fabs(shift[0] - (0.2 * 10 + 0.4 * 100)) < 1e-4);
  assert_true(fabs(shift[1] - (-0.4 * 10 + 0 * 100)) < 1e-4);
  means.channels = 3;
  assert_false(dq_bias_shift(made, &means, (int8_t[]){1, 2, 0, 2}, (float[]){1, 1}, 2, shift));
}

// A value that both ask for goes to both.
static void means_come_with_histograms(void **state) {
  network *it = *state;
  network_build(it);
  const char *names[] = {"a_act"};
  dq_observation what = network_watch(it, names);
  dq_input_means alone, together;
  dq_mean_sums *sums;
  dq_listener listener;
  dq_calibration calibration;
  dq_error error;
  assert_int_equal(dq_input_means_measure(&alone, &what, it->arena, &it->context, &error), DQ_OK);
  assert_int_equal(dq_input_means_open(&sums, &listener, it->graph, it->arena, &it->context, &error), DQ_OK);
  what.also = &listener;
  assert_int_equal(dq_calibrate(&calibration, &what, &it->context, &error), DQ_OK);
  assert_int_equal(dq_input_means_finish(&together, sums, &error), DQ_OK);
  assert_true(alone.count > 1);
  assert_true(calibration.histograms[0].count > 0);
  dq_calibration_deinit(&calibration);
  assert_int_equal(together.count, alone.count);
  for (int i = 0; i < alone.count; i++) {
    assert_string_equal(together.values[i].value, alone.values[i].value);
    assert_int_equal(together.values[i].channels, alone.values[i].channels);
    for (int64_t c = 0; c < alone.values[i].channels; c++)
      assert_true(together.values[i].means[c] == alone.values[i].means[c]);
  }
}

// ---- Tables ----

static void table_comes_back(void **state) {
  network *it = *state;
  dq_calibration_table_range ranges[] = {{"a", {-1.1f, 2.3f}, true, 0}, {"dead", {0, 0}, false, 0}};
  const float factors[] = {0.1f, 3};
  const dq_equalize_site site = {"a", 2, factors};
  const double numbers[] = {1.0 / 3};
  const dq_channel_means mean = {"x", 1, numbers}, amount = {"a", 2, (double[]){0, 0.7}};
  dq_calibration_table table = {.model = 1,
                                .data = ~0ull,
                                .method = "mse",
                                .preprocess = "p=1",
                                .pictures = 7,
                                .ranges = ranges,
                                .count = 2,
                                .equalization = {&site, 1},
                                .levels = {"x", 2, (double[]){1, 1.0 / 3}, (double[]){0, -0.1}, true, {0, 0}},
                                .absorption = {&amount, 1},
                                .means = {&mean, 1}},
                       back;
  dq_error error;
  assert_int_equal(dq_calibration_table_save(&table, it->path, &error), DQ_OK);
  assert_int_equal(dq_calibration_table_load(&back, it->path, it->arena, &error), DQ_OK);
  assert_true(back.model == table.model && back.data == table.data && back.pictures == 7);
  assert_string_equal(back.method, "mse");
  assert_string_equal(back.preprocess, "p=1");
  assert_int_equal(back.count, 2);
  assert_true(dq_calibration_table_find(&back, "a")->range.low == -1.1f &&
              dq_calibration_table_find(&back, "a")->range.high == 2.3f);
  assert_null(dq_calibration_table_find(&back, "b"));
  assert_true(back.equalization.sites[0].factors[0] == 0.1f);
  assert_true(dq_calibration_table_find(&back, "a")->searched && !dq_calibration_table_find(&back, "dead")->searched);
  assert_true(back.absorption.count == 1 && back.absorption.values[0].means[1] == 0.7);
  assert_true(back.means.values[0].means[0] == 1.0 / 3);
  assert_true(back.levels.channels == 2 && back.levels.factors[1] == 1.0 / 3 && back.levels.shifts[1] == -0.1);
  assert_true(!strcmp(back.levels.input, "x") && back.levels.padded_first);
  uint64_t other = 5;
  assert_int_equal(dq_calibration_table_check(&back, "f", 1, NULL, &error), DQ_OK);
  assert_int_equal(dq_calibration_table_check(&back, "f", 2, NULL, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "0000000000000001"));
  assert_non_null(strstr(error.message, "0000000000000002"));
  assert_int_equal(dq_calibration_table_check(&back, "f", 1, &other, &error), DQ_BAD_INPUT);
}

static void bad_tables_are_refused(void **state) {
  network *it = *state;
  static const struct {
    const char *values, *named;
  } cases[] = {
      {"{}", "'values' has no value"},
      {"{\"a\": {\"low\": 1, \"high\": 0}}", "'a'"},
      {"{\"a\": {\"low\": 1, \"high\": 1}}", "'a'"},
      {"{\"a\": {\"low\": 0, \"high\": 1e300}}", "'a'"},
      {"{\"a\": {\"low\": 0, \"high\": \"nan\"}}", "'a'"},
      {"{\"a\": {\"low\": 0}}", "'a'"},
      {"{\"a\": 5}", "'a'"},
      {"{\"a\": {\"low\": NaN, \"high\": 1}}", "line 1"},
      {"7", "'values' has no value"},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    FILE *file = fopen(it->path, "w");
    fprintf(file,
            "{\"schema\": \"dq-calibration\", \"version\": 1, \"model\": \"0000000000000001\", "
            "\"data\": \"0000000000000002\", \"values\": %s}",
            cases[c].values);
    fclose(file);
    dq_calibration_table table;
    dq_error error;
    assert_int_equal(dq_calibration_table_load(&table, it->path, it->arena, &error), DQ_BAD_INPUT);
    assert_non_null(strstr(error.message, cases[c].named));
  }
}

static void replaying_gives_the_same_graph(void **state) {
  network *it = *state;
  network_build(it);
  dq_graph *again = dq_graph_copy(it->graph);
  dq_int8_options options = {.method = dq_observer_find("percentile"),
                             .percentile = 99.999,
                             .equalize = DQ_CHOOSE_ON,
                             .bias_correction = DQ_CHOOSE_ON,
                             .activation_type = DQ_U8};
  dq_int8_report report, second;
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, it->data, &options, &report, &it->context, &error), DQ_OK);
  assert_true(report.equalized > 0 && report.bias_corrected && report.quantized > 0);
  options.table = &report.table;
  assert_int_equal(dq_int8_apply(again, NULL, &options, &second, &it->context, &error), DQ_OK);
  static network_outputs one, two;
  network_run(it, &one);
  dq_graph *first = it->graph;
  it->graph = again;
  network_run(it, &two);
  it->graph = first;
  assert_memory_equal(one.values, two.values, sizeof one.values);
  dq_graph_free(again);
}

typedef struct work_done {
  int trials, judged; // trials that were reported, pictures that judged
} work_done;

static void count_trials(void *user, dq_severity severity, const char *text) {
  (void)severity;
  if (!strncmp(text, "trial: ", 7)) ((work_done *)user)->trials++;
}

static void count_judged(void *user, const char *what, int64_t done, int64_t total) {
  (void)total;
  if (done > 0 && strstr(what, "judging")) ((work_done *)user)->judged++;
}

// A trial whose setting changes nothing is not run again: the percentile 100 is that of min-max.
static void trials_of_the_same_network_are_run_once(void **state) {
  network *it = *state;
  network_build(it);
  work_done done = {0};
  dq_context context = it->context;
  context.message = count_trials, context.progress = count_judged, context.user = &done;
  dq_int8_options options = dq_int8_defaults();
  options.equalize = options.bias_absorption = options.range_search = DQ_CHOOSE_OFF;
  options.bias_correction = DQ_CHOOSE_ON;
  options.percentile = 100;
  dq_int8_report report;
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, it->data, &options, &report, &context, &error), DQ_OK);
  const int pictures = (int)report.verdict.pictures;
  assert_true(pictures > 0 && done.trials > 1);
  assert_true(done.judged < pictures * (done.trials + 1)); // and once in float
}

static void missing_values_are_named(void **state) {
  network *it = *state;
  network_build(it);
  dq_calibration_table table = {.method = "mse", .preprocess = ""};
  dq_int8_options options = {.method = dq_observer_find("mse"), .table = &table, .activation_type = DQ_U8};
  dq_int8_report report;
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, NULL, &options, &report, &it->context, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "'x'"));
}

static void formats_go_by_file_name(void **state) {
  (void)state;
  assert_string_equal(dq_calibration_table_format_for("a/b.cache")->name, "tensorrt");
  assert_string_equal(dq_calibration_table_format_for("a/calibration.json")->name, "onnxruntime");
  assert_string_equal(dq_calibration_table_format_for("calibration.json")->name, "onnxruntime");
  assert_string_equal(dq_calibration_table_format_for("x.table")->name, "ncnn");
  assert_string_equal(dq_calibration_table_format_for("calib.json")->name, "dq");
}

// data: 3c008912 is 0.00784518, the scale of absmax 0.996 (TensorRT's documentation).
static void tensorrt_scales_are_hexadecimal(void **state) {
  network *it = *state;
  dq_calibration_table_range range = {"data", {-0.99633786f, 0.5f}, false, 0};
  dq_calibration_table table = {.ranges = &range, .count = 1};
  dq_error error;
  assert_int_equal(dq_calibration_table_export(&table, dq_calibration_table_format_for("a.cache"), it->path, &error),
                   DQ_OK);
  char text[100] = {0};
  FILE *file = fopen(it->path, "r");
  assert_true(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  assert_non_null(strstr(text, "\ndata: 3c0089"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)

// A slice of nothing has no range.
static void values_without_elements_are_named(void **state) {
  network *it = *state;
  dq_graph_set_opset(it->graph, "", 13, NULL);
  dq_tensor *none = dq_tensor_new(it->graph->arena, DQ_I64, 1, (int64_t[]){1});
  *(int64_t *)none->data = 0;
  dq_value *zero = dq_graph_add_constant(it->graph, "zero", none);
  network_conv(it, network_value(it, "x"), "y", 3, 4, 3, 1);
  network_node(it, "Slice", network_value(it, "y"), zero, zero, network_value(it, "s"));
  network_finish(it);
  const char *name = "s";
  dq_observation what = network_watch(it, &name);
  dq_calibration calibration;
  dq_error error;
  assert_int_equal(dq_calibrate(&calibration, &what, &it->context, &error), DQ_UNSUPPORTED);
  assert_string_equal(error.message, "value 's' had no elements on any picture, there is no range to find");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(equalizing_is_neutral),
      TEST(depthwise_scope_takes_depthwise_only),
      TEST(silu_is_scaled_for_depthwise_only),
      TEST(a_memory_observes_what_it_lacks),
      TEST(a_memory_observes_in_runs_of_others),
      TEST(trials_of_the_same_network_are_run_once),
      TEST(outputs_are_never_scaled),
      TEST(unknown_sites_are_refused),
      TEST(bias_shift_by_hand),
      TEST(means_come_with_histograms),
      TEST(table_comes_back),
      TEST(bad_tables_are_refused),
      TEST(replaying_gives_the_same_graph),
      TEST(missing_values_are_named),
      TEST(values_without_elements_are_named),
      TEST(formats_go_by_file_name),
      TEST(tensorrt_scales_are_hexadecimal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
