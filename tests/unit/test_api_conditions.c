// Conditions that do not hold: a transform returns DQ_CODE_CONDITION where its command ends with 1, and the program has
// the facts and the converted model.
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/onnx/onnx.h"
#include "tests/unit/api_harness.h"
#include "tests/unit/plan_harness.h"

static const int64_t image[4] = {2, 4, 5, 5}, filters[4] = {8, 4, 3, 3};
enum { FILTER = 4 * 3 * 3 };

// Eight filters of positive weights, each with the sum `total`.
static void fill_filters(float *weights, double total) {
  uint32_t state = 1;
  for (int f = 0; f < filters[0]; f++, weights += FILTER) {
    double parts[FILTER], sum = 0;
    for (int i = 0; i < FILTER; i++) sum += parts[i] = (double)((state = state * 1664525u + 1013904223u) >> 16);
    for (int i = 0; i < FILTER; i++) weights[i] = (float)(total * (parts[i] / sum));
  }
}

// y = Conv(Clip(x, 1, 1)): all elements are about `total`, whatever x is.
static dq_model *load_sums(double total) {
  static const float ones[1] = {1};
  static float weights[8 * FILTER];
  char path[] = "/tmp/test_api_XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  fill_filters(weights, total);
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, image), *bound = constant(graph, "bound", 0, NULL, ones);
  dq_value *clipped = add(graph, "Clip", 3, (dq_value *[]){x, bound, bound}, "clipped")->outputs[0];
  dq_value *weight = constant(graph, "w", 4, filters, weights);
  interface(graph, x, add(graph, "Conv", 2, (dq_value *[]){clipped, weight}, "y")->outputs[0]);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  assert_int_equal(dq_onnx_save(graph, path, NULL), DQ_OK);
  dq_graph_free(graph);
  dq_model *model;
  assert_int_equal(dq_model_load(&model, api_engine, path, &api_failure), DQ_CODE_OK);
  unlink(path); // mapped
  return model;
}

// The model can be used as any other.
static void assert_usable(dq_model *model) {
  dq_model_cost_facts cost = {.size = sizeof cost};
  assert_int_equal(dq_model_cost(model, NULL, &cost, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_model_save(model, "/dev/null", &api_failure), DQ_CODE_OK);
}

// Sums of 1e6 are infinite in float16.
static void float16_with_infinite_outputs(void **state) {
  (void)state;
  dq_model *model = load_sums(1e6);
  dq_model_amp_options options;
  dq_model_amp_facts facts = {.size = sizeof facts};
  dq_model_amp_defaults(&options, sizeof options);
  options.unguarded = 1;
  api_expect(dq_model_amp(model, &options, &facts, &api_failure), DQ_CODE_CONDITION,
             "the converted model: output 'y' has NaN or infinity where the float model has none, on every sample");
  assert_true(facts.half_nodes > 0 && facts.outputs_sqnr == -INFINITY);
  assert_usable(model);
  dq_model_free(model);
}

// Sums of 3.3e38 leave float32 where a decomposition makes one of them a twentieth larger.
static void decomposition_with_infinite_outputs(void **state) {
  (void)state;
  dq_model *model = load_sums(3.3e38);
  dq_model_tucker_options options;
  dq_model_tucker_facts facts = {.size = sizeof facts};
  dq_model_tucker_defaults(&options, sizeof options);
  options.ratio = 0.5, options.force = 1;
  api_expect(dq_model_tucker(model, &options, &facts, &api_failure), DQ_CODE_CONDITION,
             "the converted model: output 'y' has NaN or infinity where the float model has none");
  assert_true(facts.decomposed == 1 && facts.outputs_sqnr == -INFINITY);
  assert_usable(model);
  dq_model_free(model);
}

// Bounds that are not reached, of the outputs and of answers.
static void int8_below_bounds(void **state) {
  (void)state;
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=24");
  dq_model_int8_options options;
  for (int drop = 0; drop < 2; drop++) {
    dq_model_int8_defaults(&options, sizeof options);
    options.method = "entropy", options.all_int8 = 1;
    if (drop) options.max_drop = 0, options.per_tensor = 1, options.task = "none", options.time_limit = 1e-9;
    else options.min_sqnr = 100;
    dq_model *model = api_load();
    dq_model_int8_facts facts = {.size = sizeof facts};
    api_expect(dq_model_int8(model, dataset, &options, &facts, &api_failure), DQ_CODE_CONDITION,
               drop ? "points, more than 0 (max_drop)" : "less than 100 dB (min_sqnr)");
    assert_true(!facts.held && facts.quantized > 0);
    assert_usable(model);
    dq_model_free(model);
  }
  dq_dataset_close(dataset);
}

// Bounds that are reached, and those of a model that is quantized already, which is not compared.
static void int8_within_bounds(void **state) {
  (void)state;
  dq_dataset *dataset = api_pictures("synth:shapes,size=8,count=4");
  dq_model_int8_options options;
  dq_model_int8_defaults(&options, sizeof options);
  options.min_agreement = 50, options.all_int8 = 1;
  dq_model *model = api_load();
  dq_model_int8_facts facts = {.size = sizeof facts};
  assert_int_equal(dq_model_int8(model, dataset, &options, &facts, &api_failure), DQ_CODE_OK);
  assert_true(facts.held && facts.quantized > 0);
  // what is quantized already is not compared, and holds every bound
  options.min_sqnr = 100;
  assert_int_equal(dq_model_int8(model, dataset, &options, &facts, &api_failure), DQ_CODE_OK);
  assert_true(facts.held && facts.nothing_to_do);
  dq_model_free(model);
  dq_dataset_close(dataset);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(float16_with_infinite_outputs),
      cmocka_unit_test(decomposition_with_infinite_outputs),
      cmocka_unit_test(int8_below_bounds),
      cmocka_unit_test(int8_within_bounds),
  };
  return cmocka_run_group_tests(tests, api_enter, api_leave);
}
