// Balanced rounding to float16: a case by hand, and what holds for every weight.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/half.h"
#include "lib/base/random.h"
#include "quant/amp/amp.h"

enum { CHANNELS = 4, LAYERS = 3, PIXELS = 32 };

static dq_value *image(dq_graph *graph, const char *name) {
  dq_value *value = dq_graph_add_value(graph, name);
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 4, dq_dimension);
  static const int64_t size[] = {1, CHANNELS, PIXELS, PIXELS};
  for (int i = 0; i < 4; i++) dims[i].size = size[i];
  value->dims = dims, value->type = DQ_F32, value->rank = 4;
  return value;
}

static dq_tensor *tensor(dq_graph *graph, int rank, const int64_t *dims, const float *elements) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, rank, dims);
  memcpy(tensor->data, elements, (size_t)dq_tensor_count(tensor) * sizeof(float));
  return tensor;
}

// x -> Conv 1x1, Relu, Conv 1x1, Relu, ... with initializers w0, b0, w1, ...
static dq_graph *network(int layers, const float *weights, const float *biases) {
  dq_graph *graph = dq_graph_new(0);
  graph->ir_version = 7;
  dq_graph_set_opset(graph, "", 13, NULL);
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  dq_value *value = graph->inputs[0] = image(graph, "x");
  for (int l = 0; l < layers; l++) {
    char name[4] = {'w', (char)('0' + l)};
    dq_value *inputs[3] = {value};
    inputs[1] =
        dq_graph_add_constant(graph, name, tensor(graph, 4, (int64_t[]){CHANNELS, CHANNELS, 1, 1}, weights + 16 * l));
    name[0] = 'b';
    if (biases) inputs[2] = dq_graph_add_constant(graph, name, tensor(graph, 1, (int64_t[]){CHANNELS}, biases + 4 * l));
    name[0] = 'c';
    dq_value *sum = dq_graph_add_value(graph, name);
    dq_graph_add_node(graph, graph->node_count, "Conv", name, biases ? 3 : 2, inputs, 1, &sum);
    name[0] = 'r';
    value = l + 1 < layers ? dq_graph_add_value(graph, name) : image(graph, "y");
    dq_graph_add_node(graph, graph->node_count, "Relu", name, 1, &sum, 1, &value);
  }
  graph->outputs[0] = value;
  graph->inputs[0]->is_input = graph->outputs[0]->is_output = true;
  graph->input_count = graph->output_count = 1;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  return graph;
}

static dq_amp_report convert(dq_graph *graph, bool nearest, const dq_context *context) {
  dq_amp_options options = {.nearest = nearest};
  dq_amp_report report;
  assert_int_equal(dq_amp_convert(graph, &options, &report, context, NULL), DQ_OK);
  return report;
}

static const uint16_t *halves(const dq_graph *graph, const char *name) {
  const dq_tensor *constant = dq_graph_find(graph, name)->constant;
  assert_int_equal(constant->type, DQ_F16);
  return constant->data;
}

// All weights 1 + 0.4 u with u = 2^-10, the distance of neighbours. In units of u, normal noise (m 0, v 1, energy 4)
// makes nearest 4 * 0.16 / 4; uniform noise (m 127.5, v 5418.75, energy 510^2 + 4 v) makes it (1.6^2 m^2 + 0.64 v)
// over that energy: 0.16 each, 0.32 together. One turned: 0.84 / 4 and (0.6^2 m^2 + 0.84 v) / energy, 0.247 together;
// two: 0.289. So one is, in every output channel the first of equals or one whose noise helps.
static void by_hand(void **state) {
  (void)state;
  float weights[16];
  for (int i = 0; i < 16; i++) weights[i] = 1 + 0.4f * 0x1p-10f;
  const dq_context context = {0};
  dq_graph *graph = network(1, weights, NULL);
  dq_amp_report report = convert(graph, false, &context);
  assert_true(report.probed);
  assert_int_equal(report.not_nearest, 4);
  const uint16_t *found = halves(graph, "w0");
  for (int o = 0; o < 4; o++) {
    int sum = 0;
    for (int i = 0; i < 4; i++) sum += found[4 * o + i] - 0x3c00;
    assert_int_equal(sum, 1);
  }
  dq_graph_free(graph);
  graph = network(1, weights, NULL);
  report = convert(graph, true, &context);
  assert_false(report.probed);
  assert_int_equal(report.not_nearest, 0);
  for (int i = 0; i < 16; i++) assert_int_equal(halves(graph, "w0")[i], 0x3c00);
  dq_graph_free(graph);
}

static void random_floats(float *elements, int count, uint64_t seed) {
  dq_random random = {seed};
  for (int i = 0; i < count; i++) elements[i] = dq_random_normal(&random);
}

// What a Softmax saturated by noise leaves of an error is nothing: the figure is that of the network without it.
static void before_saturation(void **state) {
  (void)state;
  float weights[16 * LAYERS], biases[4 * LAYERS];
  random_floats(weights, 16 * LAYERS, 1), random_floats(biases, 4 * LAYERS, 2);
  for (int i = 16 * (LAYERS - 1); i < 16 * LAYERS; i++) weights[i] *= 1000;
  const dq_context one = {0};
  dq_graph *plain = network(LAYERS, weights, biases);
  double expected = convert(plain, false, &one).noise_sqnr;
  dq_graph_free(plain);
  const char *const ends[] = {"Softmax", "Sigmoid"};
  for (int i = 0; i < 2; i++) {
    dq_graph *graph = network(LAYERS, weights, biases);
    dq_value *y = graph->outputs[0], *p = image(graph, "p"), *q = image(graph, "q");
    dq_node *made = dq_graph_add_node(graph, graph->node_count, ends[i], "end", 1, &y, 1, &p);
    if (!i) dq_node_set_int(graph, made, "axis", 1);
    dq_graph_add_node(graph, graph->node_count, "Identity", "copy", 1, &p, 1, &q);
    y->is_output = false, q->is_output = true, graph->outputs[0] = q;
    assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
    assert_true(fabs(convert(graph, false, &one).noise_sqnr - expected) < 1e-9);
    dq_graph_free(graph);
  }
}

// The other neighbour at most, whatever is turned; exact ones stay; equal at any number of threads.
static void neighbours(void **state) {
  (void)state;
  float weights[16 * LAYERS], biases[4 * LAYERS];
  random_floats(weights, 16 * LAYERS, 1), random_floats(biases, 4 * LAYERS, 2);
  weights[3] = 0.5f, weights[20] = 0, biases[1] = 0x1.8p-24f; // exact, nothing, between the least two
  dq_context one = {0}, three = {0};
  assert_int_equal(dq_context_init(&three, 3, ~0u, NULL), DQ_OK);
  dq_graph *a = network(LAYERS, weights, biases), *b = network(LAYERS, weights, biases);
  dq_amp_report report = convert(a, false, &one);
  convert(b, false, &three);
  assert_true(report.not_nearest > 0 && report.not_nearest < report.weights);
  assert_true(report.noise_sqnr > 50);
  for (int l = 0; l < LAYERS; l++)
    for (int kind = 0; kind < 2; kind++) {
      char name[] = {kind ? 'b' : 'w', (char)('0' + l), 0};
      int count = kind ? 4 : 16;
      const float *exact = kind ? biases + 4 * l : weights + 16 * l;
      const uint16_t *found = halves(a, name);
      assert_memory_equal(found, halves(b, name), (size_t)count * 2);
      for (int i = 0; i < count; i++) {
        float x = exact[i], half = dq_half_to_float(found[i]);
        uint16_t nearest = dq_float_to_half(x);
        if (found[i] != nearest) { // on the other side of x, next to the nearest
          assert_true((half > x) == (dq_half_to_float(nearest) < x) && dq_half_to_float(nearest) != x);
          assert_int_equal(abs((int)found[i] - (int)nearest), 1);
        }
        assert_true((found[i] & 0x7fff) || x == 0);
      }
    }
  dq_graph_free(a), dq_graph_free(b);
  dq_context_deinit(&three);
}

// An operator that nobody can run: nearest.
static void not_run(void **state) {
  (void)state;
  float weights[16];
  random_floats(weights, 16, 3);
  const dq_context context = {0};
  dq_graph *graph = network(1, weights, NULL);
  graph->nodes[1]->op_type = "Mystery";
  dq_amp_report report = convert(graph, false, &context);
  assert_false(report.probed);
  assert_int_equal(report.not_nearest, 0);
  for (int i = 0; i < 16; i++) assert_int_equal(halves(graph, "w0")[i], dq_float_to_half(weights[i]));
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(before_saturation),
                                     cmocka_unit_test(neighbours), cmocka_unit_test(not_run)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
