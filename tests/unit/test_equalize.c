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
#include "quant/int8.h"
#include "quant/table.h"

enum { CHANNELS = 6, SIDE = 8, PICTURES = 4 };

typedef struct fixture {
  dq_graph *graph;
  dq_arena *arena;
  dq_context context;
  dq_data *data;
  char path[64];
} fixture;

// Uint8 pictures 3xSIDExSIDE in a NumPy file.
static void write_pictures(const char *path) {
  FILE *file = fopen(path, "wb");
  char header[118];
  int length = snprintf(header, sizeof header,
                        "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 3, %d, %d), }",
                        PICTURES, SIDE, SIDE);
  memset(header + length, ' ', sizeof header - (size_t)length);
  header[sizeof header - 1] = '\n';
  fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
  fwrite(header, 1, sizeof header, file);
  dq_random random = {9};
  for (int i = 0; i < PICTURES * 3 * SIDE * SIDE; i++) {
    float value = dq_random_normal(&random);
    fwrite(&value, sizeof value, 1, file);
  }
  fclose(file);
}

static int start(void **state) {
  fixture *it = calloc(1, sizeof *it);
  it->graph = dq_graph_new(0), it->arena = dq_arena_new(0);
  dq_context_init(&it->context, 1, ~0u, NULL);
  snprintf(it->path, sizeof it->path, "/tmp/test_equalize_%d.npy", (int)getpid());
  write_pictures(it->path);
  char spec[80];
  snprintf(spec, sizeof spec, "npy:%s", it->path);
  dq_error error;
  assert_int_equal(dq_data_open(&it->data, &(dq_data_options){.spec = spec}, &it->context, &error),
                   DQ_OK);
  return *state = it, 0;
}

static int end(void **state) {
  fixture *it = *state;
  unlink(it->path);
  dq_data_free(it->data);
  dq_graph_free(it->graph), dq_arena_free(it->arena);
  dq_context_deinit(&it->context);
  return free(it), 0;
}

static dq_value *value(fixture *it, const char *name) {
  return dq_graph_add_value(it->graph, name);
}

// Random numbers; those of output channel `o` are 4^(o mod 5) times as large.
static dq_value *weight(fixture *it, const char *name, int64_t o, int64_t i, int64_t k) {
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, DQ_F32, k ? 4 : 1, (int64_t[]){o, i, k, k});
  dq_random random = {(uint64_t)o * 31 + (uint64_t)i};
  int64_t row = dq_tensor_count(tensor) / o;
  for (int64_t n = 0; n < dq_tensor_count(tensor); n++)
    ((float *)tensor->data)[n] = dq_random_normal(&random) * (float)(1 << 2 * (n / row % 5)) * 0.1f;
  return dq_graph_add_constant(it->graph, name, tensor);
}

static dq_node *node(fixture *it, const char *op_type, dq_value *a, dq_value *b, dq_value *c,
                     dq_value *y) {
  dq_value *inputs[] = {a, b, c};
  return dq_graph_add_node(it->graph, it->graph->node_count, op_type, y->name,
                           c   ? 3
                           : b ? 2
                               : 1,
                           inputs, 1, &y);
}

static void conv(fixture *it, dq_value *x, const char *y, int64_t from, int64_t to, int64_t k,
                 int64_t group) {
  char name[40];
  snprintf(name, sizeof name, "%s_w", y);
  dq_value *w = weight(it, name, to, from / group, k);
  snprintf(name, sizeof name, "%s_b", y);
  dq_node *made = node(it, "Conv", x, w, weight(it, name, to, 1, 0), value(it, y));
  int64_t pad = k / 2;
  dq_node_set_ints(it->graph, made, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
  dq_node_set_int(it->graph, made, "group", group);
}

static void declare(fixture *it, dq_value *x, int64_t channels) {
  dq_dimension *dims = DQ_NEW_ARRAY(it->graph->arena, 4, dq_dimension);
  dims[0].size = 1, dims[1].size = channels, dims[2].size = dims[3].size = SIDE;
  x->type = DQ_F32, x->rank = 4, x->dims = dims;
}

// x -> a -LeakyRelu-> depthwise b -> SiLU -> c (1x1) + d (1x1 of b's SiLU) -> Relu -> y (1x1)
static void build(fixture *it) {
  dq_graph *graph = it->graph;
  dq_value *x = value(it, "x");
  dq_graph_set_opset(graph, "", 13, NULL);
  conv(it, x, "a", 3, CHANNELS, 3, 1);
  dq_node *leaky = node(it, "LeakyRelu", value(it, "a"), NULL, NULL, value(it, "a_act"));
  dq_node_set_float(graph, leaky, "alpha", 0.1f);
  conv(it, value(it, "a_act"), "b", CHANNELS, CHANNELS, 3, CHANNELS);
  node(it, "Sigmoid", value(it, "b"), NULL, NULL, value(it, "b_gate"));
  node(it, "Mul", value(it, "b"), value(it, "b_gate"), NULL, value(it, "b_act"));
  conv(it, value(it, "b_act"), "c", CHANNELS, CHANNELS, 1, 1);
  conv(it, value(it, "b_act"), "d", CHANNELS, CHANNELS, 1, 1);
  node(it, "Add", value(it, "c"), value(it, "d"), NULL, value(it, "sum"));
  node(it, "Relu", value(it, "sum"), NULL, NULL, value(it, "sum_act"));
  conv(it, value(it, "sum_act"), "y", CHANNELS, 4, 1, 1);
  declare(it, x, 3);
  declare(it, value(it, "y"), 4);
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->inputs[0] = x, graph->outputs[0] = value(it, "y");
  graph->input_count = graph->output_count = 1;
  x->is_input = value(it, "y")->is_output = true;
  dq_error error;
  assert_int_equal(dq_graph_index(graph, true, &error), DQ_OK);
}

static const dq_shape_request no_shapes;

typedef struct outputs {
  float values[PICTURES][4 * SIDE * SIDE];
  int next;
} outputs;

static dq_status keep(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  (void)slot, (void)error;
  outputs *all = user;
  memcpy(all->values[all->next++], tensor->data, dq_tensor_bytes(tensor));
  return DQ_OK;
}

static dq_observation watch(const fixture *it, const char *const *names) {
  return (dq_observation){it->graph, &no_shapes, names, 1, it->data, 0, PICTURES, "watching"};
}

static void run(const fixture *it, outputs *all) {
  static const char *const names[] = {"y"};
  dq_observation what = watch(it, names);
  dq_error error;
  all->next = 0;
  assert_int_equal(dq_observe(&what, keep, all, &it->context, &error), DQ_OK);
  assert_int_equal(all->next, PICTURES);
}

static double spread(const fixture *it, const char *name) {
  dq_observation what = watch(it, &name);
  dq_calibration calibration;
  dq_error error;
  assert_int_equal(dq_calibrate(&calibration, &what, &it->context, &error), DQ_OK);
  double range = (double)(calibration.histograms[0].maximum - calibration.histograms[0].minimum);
  dq_calibration_deinit(&calibration);
  return range;
}

static void equalizing_is_neutral(void **state) {
  fixture *it = *state;
  build(it);
  static outputs before, after;
  run(it, &before);
  dq_observation what = watch(it, NULL);
  dq_equalization equalization;
  const dq_restated *restated;
  int count;
  dq_error error;
  assert_int_equal(
      dq_equalize_measure(&equalization, &what, DQ_EQUALIZE_ALL, it->arena, &it->context, &error),
      DQ_OK);
  assert_int_equal(equalization.count, 3); // a, b and sum
  assert_int_equal(dq_equalize_apply(it->graph, &equalization, &no_shapes, it->arena, &restated,
                                     &count, &it->context, &error),
                   DQ_OK);
  run(it, &after);
  double range = 0, largest = 0;
  for (int p = 0; p < PICTURES; p++)
    for (int i = 0; i < 4 * SIDE * SIDE; i++) {
      range = fmax(range, fabs((double)before.values[p][i]));
      largest = fmax(largest, fabs((double)(before.values[p][i] - after.values[p][i])));
    }
  assert_true(range > 0 && largest <= 1e-5 * range);
  assert_true(spread(it, "a_act") > 0);
  int mapped = 0;
  for (int i = 0; i < count; i++) mapped += restated[i].original != NULL;
  assert_int_equal(mapped, 1); // the sigmoid's argument stands for b
}

static void depthwise_scope_takes_depthwise_only(void **state) {
  fixture *it = *state;
  build(it);
  dq_observation what = watch(it, NULL);
  dq_equalization equalization;
  dq_error error;
  assert_int_equal(dq_equalize_measure(&equalization, &what, DQ_EQUALIZE_DEPTHWISE, it->arena,
                                       &it->context, &error),
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

static void outputs_are_never_scaled(void **state) {
  fixture *it = *state;
  build(it);
  dq_value *act = value(it, "a_act");
  act->is_output = true;
  dq_observation what = watch(it, NULL);
  dq_equalization equalization;
  dq_error error;
  assert_int_equal(dq_equalize_measure(&equalization, &what, DQ_EQUALIZE_DEPTHWISE, it->arena,
                                       &it->context, &error),
                   DQ_OK);
  assert_int_equal(equalization.count, 0);
}

static void unknown_sites_are_refused(void **state) {
  fixture *it = *state;
  build(it);
  const float factors[CHANNELS] = {1, 1, 1, 1, 1, 1};
  const dq_equalize_site sites[] = {{"nobody", CHANNELS, factors},
                                    {"a_act", CHANNELS - 1, factors}};
  for (int s = 0; s < 2; s++) {
    dq_equalization equalization = {&sites[s], 1};
    const dq_restated *restated;
    int count;
    dq_error error;
    assert_int_equal(dq_equalize_apply(it->graph, &equalization, &no_shapes, it->arena, &restated,
                                       &count, &it->context, &error),
                     DQ_BAD_INPUT);
    assert_non_null(strstr(error.message, sites[s].value));
  }
}

static void bias_shift_by_hand(void **state) {
  fixture *it = *state;
  dq_tensor *w = dq_tensor_new(it->graph->arena, DQ_F32, 4, (int64_t[]){2, 2, 1, 1});
  memcpy(w->data, (float[]){1.2f, 2.4f, -0.4f, 3}, 16);
  dq_node *made = node(it, "Conv", value(it, "x"), dq_graph_add_constant(it->graph, "w", w), NULL,
                       value(it, "y"));
  dq_channel_means means = {"x", 2, (double[]){10, 100}};
  double shift[2];
  assert_true(dq_bias_shift(made, &means, (int8_t[]){1, 2, 0, 2}, (float[]){1, 1.5f}, 2, shift));
  assert_true(fabs(shift[0] - (0.2 * 10 + 0.4 * 100)) < 1e-4);
  assert_true(fabs(shift[1] - (-0.4 * 10 + 0 * 100)) < 1e-4);
  means.channels = 3;
  assert_false(dq_bias_shift(made, &means, (int8_t[]){1, 2, 0, 2}, (float[]){1, 1}, 2, shift));
}

// ---- Tables ----

static void table_comes_back(void **state) {
  fixture *it = *state;
  dq_calibration_table_range ranges[] = {{"a", {-1.1f, 2.3f}}, {"dead", {0, 0}}};
  const float factors[] = {0.1f, 3};
  const dq_equalize_site site = {"a", 2, factors};
  const double numbers[] = {1.0 / 3};
  const dq_channel_means mean = {"x", 1, numbers};
  dq_calibration_table table = {.model = 1,
                                .data = ~0ull,
                                .method = "mse",
                                .preprocess = "p=1",
                                .pictures = 7,
                                .ranges = ranges,
                                .count = 2,
                                .equalization = {&site, 1},
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
  assert_true(back.means.values[0].means[0] == 1.0 / 3);
  uint64_t other = 5;
  assert_int_equal(dq_calibration_table_check(&back, "f", 1, NULL, &error), DQ_OK);
  assert_int_equal(dq_calibration_table_check(&back, "f", 2, NULL, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "0000000000000001"));
  assert_non_null(strstr(error.message, "0000000000000002"));
  assert_int_equal(dq_calibration_table_check(&back, "f", 1, &other, &error), DQ_BAD_INPUT);
}

static void bad_tables_are_refused(void **state) {
  fixture *it = *state;
  static const struct {
    const char *values, *named;
  } cases[] = {
      {"{}", "no values"},
      {"{\"a\": {\"low\": 1, \"high\": 0}}", "'a'"},
      {"{\"a\": {\"low\": 1, \"high\": 1}}", "'a'"},
      {"{\"a\": {\"low\": 0, \"high\": 1e300}}", "'a'"},
      {"{\"a\": {\"low\": 0, \"high\": \"nan\"}}", "'a'"},
      {"{\"a\": {\"low\": 0}}", "'a'"},
      {"{\"a\": 5}", "'a'"},
      {"{\"a\": {\"low\": NaN, \"high\": 1}}", "line 1"},
      {"7", "no values"},
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
  fixture *it = *state;
  build(it);
  dq_graph *again = dq_graph_copy(it->graph);
  dq_int8_options options = {.method = dq_observer_find("percentile"),
                             .percentile = 99.999,
                             .equalize = DQ_CHOOSE_ON,
                             .bias_correction = DQ_CHOOSE_ON,
                             .activation_type = DQ_U8};
  dq_int8_report report, second;
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, it->data, &options, &report, &it->context, &error),
                   DQ_OK);
  assert_true(report.equalized > 0 && report.bias_corrected && report.quantized > 0);
  options.table = &report.table;
  assert_int_equal(dq_int8_apply(again, NULL, &options, &second, &it->context, &error), DQ_OK);
  static outputs one, two;
  run(it, &one);
  dq_graph *first = it->graph;
  it->graph = again;
  run(it, &two);
  it->graph = first;
  assert_memory_equal(one.values, two.values, sizeof one.values);
  dq_graph_free(again);
}

static void missing_values_are_named(void **state) {
  fixture *it = *state;
  build(it);
  dq_calibration_table table = {.method = "mse", .preprocess = ""};
  dq_int8_options options = {
      .method = dq_observer_find("mse"), .table = &table, .activation_type = DQ_U8};
  dq_int8_report report;
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, NULL, &options, &report, &it->context, &error),
                   DQ_BAD_INPUT);
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
  fixture *it = *state;
  dq_calibration_table_range range = {"data", {-0.99633786f, 0.5f}};
  dq_calibration_table table = {.ranges = &range, .count = 1};
  dq_error error;
  assert_int_equal(dq_calibration_table_export(&table, dq_calibration_table_format_for("a.cache"),
                                               it->path, &error),
                   DQ_OK);
  char text[100] = {0};
  FILE *file = fopen(it->path, "r");
  assert_true(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  assert_non_null(strstr(text, "\ndata: 3c0089"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(equalizing_is_neutral),
      TEST(depthwise_scope_takes_depthwise_only),
      TEST(outputs_are_never_scaled),
      TEST(unknown_sites_are_refused),
      TEST(bias_shift_by_hand),
      TEST(table_comes_back),
      TEST(bad_tables_are_refused),
      TEST(replaying_gives_the_same_graph),
      TEST(missing_values_are_named),
      TEST(formats_go_by_file_name),
      TEST(tensorrt_scales_are_hexadecimal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
