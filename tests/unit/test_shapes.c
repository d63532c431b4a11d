// The classifier of datasets/shapes.onnx on pictures made on the spot: its accuracy as documented
// in docs/guide/shapes.md, and that quantization and decomposition keep it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "calib/calib.h"
#include "decomp/tucker/decomp.h"
#include "lib/eval/accuracy.h"
#include "lib/onnx/onnx.h"
#include "quant/int8/int8.h"

#define MODEL "datasets/shapes.onnx"
#define CALIBRATION "synth:shapes,split=calib,count=128"
#define TEST "synth:shapes,split=test,count=1000"

static dq_context context;
static dq_error error;

#define MUST(call)                                                                                                     \
  do {                                                                                                                 \
    if ((call) != DQ_OK) fail_msg("%s", error.message);                                                                \
  } while (0)

static dq_graph *load(void) {
  dq_graph *graph = NULL;
  MUST(dq_onnx_load(&graph, MODEL, &context, &error));
  return graph;
}

static dq_data *open_data(const char *spec) {
  dq_data *data = NULL;
  dq_data_options options = {.spec = spec};
  MUST(dq_data_open(&data, &options, &context, &error));
  return data;
}

// Top-1 in percent; with batches, which the open dimension N allows.
static double accuracy(const dq_graph *graph, const char *spec) {
  dq_data *data = open_data(spec);
  dq_accuracy_options options = {.task = "classify", .batch = 50};
  dq_result result;
  MUST(dq_accuracy_run(&result, graph, data, &options, &context, &error));
  dq_data_free(data);
  assert_string_equal(result.figures[0].key, "top1");
  return result.figures[0].value;
}

static void quantize(dq_graph *graph) {
  dq_data *data = open_data(CALIBRATION);
  dq_int8_options options = {.method = dq_observer_find("percentile"), .percentile = 99.999, .activation_type = DQ_U8};
  dq_int8_report report;
  MUST(dq_int8_apply(graph, data, &options, &report, &context, &error));
  assert_true(report.quantized > 10);
  dq_data_free(data);
}

static void decompose(dq_graph *graph) {
  dq_tucker_options options = {.context = &context, .macs_share = 0.75, .multiple = 1};
  dq_tucker_report report;
  MUST(dq_tucker_apply(graph, &options, &report, &error));
  assert_true(report.decomposed >= 2);
  assert_true(report.model_after.macs * 4 <= report.model_before.macs * 3);
}

static void float_accuracy(void **state) {
  (void)state;
  dq_graph *graph = load();
  double test = accuracy(graph, TEST);
  if (test < 97 || test > 98) fail_msg("accuracy is %.2f %%, expected 97 to 98", test);
  dq_graph_free(graph);
}

static void int8_accuracy(void **state) {
  (void)state;
  dq_graph *graph = load();
  double before = accuracy(graph, TEST);
  quantize(graph);
  double after = accuracy(graph, TEST);
  if (after < before - 1) fail_msg("accuracy fell from %.2f to %.2f %%", before, after);
  dq_graph_free(graph);
}

static void tucker_accuracy(void **state) {
  (void)state;
  dq_graph *graph = load();
  double before = accuracy(graph, TEST);
  decompose(graph);
  double after = accuracy(graph, TEST);
  if (after < before - 3) fail_msg("accuracy fell from %.2f to %.2f %%", before, after);
  quantize(graph);
  double both = accuracy(graph, TEST);
  if (both < after - 1) fail_msg("accuracy fell from %.2f to %.2f %%", after, both);
  dq_graph_free(graph);
}

static int set_up(void **state) {
  (void)state;
  return dq_context_init(&context, 2, ~0u, &error);
}

static int tear_down(void **state) {
  (void)state;
  dq_context_deinit(&context);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(float_accuracy),
      cmocka_unit_test(int8_accuracy),
      cmocka_unit_test(tucker_accuracy),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
