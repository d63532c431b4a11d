// What one layer alone costs, worked by hand on a convolution of two weights.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/search/sensitivity.h"

// Two pictures of two channels and one point: (1, 1) and (0.5, 0), or, as "two:wide", (0.9, 100) and (0.31, 100).
static dq_status open_two(void **state, const char *argument, int64_t *count, int *inputs, const dq_context *context,
                          dq_error *error) {
  (void)context, (void)error;
  static const float pictures[2][2][2] = {{{1, 1}, {0.5f, 0}}, {{0.9f, 100}, {0.31f, 100}}};
  *(const void **)state = pictures[!strcmp(argument, "wide")];
  *count = 2, *inputs = 1;
  return DQ_OK;
}

static dq_status read_two(const void *state, int input, int64_t index, float *values, int64_t elements,
                          dq_sample_info *info, dq_error *error) {
  (void)input, (void)elements, (void)error;
  const float(*pictures)[2] = state;
  if (values) memcpy(values, pictures[index], sizeof *pictures);
  if (info) *info = (dq_sample_info){.label = -1};
  return DQ_OK;
}

static void close_two(void *state) { (void)state; }

// y = x0 + factor x1; `copies`: of h, which a convolution copies x to.
static dq_graph *make_graph(float factor, bool copies) {
  dq_graph *graph = dq_graph_new(0);
  dq_graph_set_opset(graph, "", 13, NULL);
  dq_value *x = dq_graph_add_value(graph, "x"), *y = dq_graph_add_value(graph, "y");
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 4, dq_dimension);
  for (int i = 0; i < 4; i++) dims[i].size = i == 1 ? 2 : 1;
  x->type = DQ_F32, x->rank = 4, x->dims = dims, x->is_input = true;
  dq_tensor *w = dq_tensor_new(graph->arena, DQ_F32, 4, (int64_t[]){1, 2, 1, 1});
  ((float *)w->data)[0] = 1, ((float *)w->data)[1] = factor;
  dq_value *inputs[] = {x, dq_graph_add_constant(graph, "w", w)};
  dq_graph_add_node(graph, 0, "Conv", "conv", 2, inputs, 1, &y);
  if (copies) {
    dq_tensor *one = dq_tensor_new(graph->arena, DQ_F32, 4, (int64_t[]){2, 2, 1, 1});
    ((float *)one->data)[0] = ((float *)one->data)[3] = 1;
    dq_value *h = dq_graph_add_value(graph, "h"), *of_copy[] = {x, dq_graph_add_constant(graph, "one", one)};
    graph->nodes[0]->inputs[0] = h;
    dq_graph_add_node(graph, 0, "Conv", "copy", 2, of_copy, 1, &h);
  }
  y->is_output = true;
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x), graph->input_count = 1;
  graph->outputs = dq_arena_copy(graph->arena, &y, sizeof y), graph->output_count = 1;
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  return graph;
}

static double decibels(double signal, double noise) { return 10 * log10(signal / noise); }

static dq_data *open_data(const char *spec, const dq_context *context) {
  static const dq_data_source source = {.prefix = "two:", .open = open_two, .read = read_two, .close = close_two};
  const dq_data_options open = {.spec = spec, .sources = &source, .source_count = 1};
  dq_data *data;
  assert_int_equal(dq_data_open(&data, &open, context, NULL), DQ_OK);
  return data;
}

// y is 1.3 and 0.5. The weight 0.3 is 38.1 steps of 1/127 and becomes 38: 0.2992, so 1.3 becomes 1.2992 and
// 0.5 stays. The result has the range 0 to 1.3: 0.5 is 98.08 steps of 1.3 / 255 and becomes 98. The input
// has the range 0 to 1: 0.5 is 127.5 steps and becomes 128, an even number.
static void one_convolution(void **state) {
  (void)state;
  dq_context context;
  dq_context_init(&context, 1, ~0u, NULL);
  dq_error error = {0};
  dq_data *data = open_data("two:", &context);
  dq_graph *graph = make_graph(0.3f, false);
  dq_arena *arena = dq_arena_new(0);
  dq_int8_options int8 = dq_int8_defaults();
  int8.method = dq_observer_find("minmax");
  dq_sensitivity_options options = {.int8 = &int8};
  dq_sensitivity found;
  assert_int_equal(dq_sensitivity_measure(&found, graph, data, &options, &context, arena, &error), DQ_OK);
  assert_int_equal(found.count, 2);
  assert_int_equal(found.pictures, 2);
  assert_false(found.labelled);
  const dq_sensitivity_layer *input = &found.layers[0], *conv = &found.layers[1];
  assert_string_equal(input->label, "x");
  assert_string_equal(conv->label, "conv");
  assert_int_equal(conv->macs, 2);
  assert_int_equal(conv->weight_bytes, 8);
  double signal = 1.3 * 1.3 + 0.5 * 0.5, of_weight = 0.3 - 38 / 127.0, of_result = 0.5 - 98 * 1.3 / 255;
  double of_input = 0.5 - 128 / 255.0, shrunk = 1 + 38 / 127.0; // 254.85 steps of the result: 255, which is 1.3
  assert_float_equal(shrunk, 1.2992, 1e-4);
  assert_float_equal(dq_comparison_sqnr(&conv->weights.outputs), decibels(signal, of_weight * of_weight), 0.01);
  assert_float_equal(dq_comparison_sqnr(&conv->activations.outputs), decibels(signal, of_result * of_result), 0.01);
  assert_float_equal(dq_comparison_sqnr(&conv->both.outputs), decibels(signal, of_result * of_result), 0.01);
  assert_float_equal(dq_comparison_sqnr(&input->both.outputs), decibels(signal, of_input * of_input), 0.01);
  // The mean of 0 on the first picture and of the noise over the signal of the second.
  assert_float_equal(input->both.relative_noise, of_input * of_input / (0.5 * 0.5) / 2, 1e-8);
  dq_arena_free(arena);
  dq_graph_free(graph);
  dq_data_free(data);
  dq_context_deinit(&context);
}

// Measures a graph on the two pictures, with ranges by minmax, and looks at the layer `label`, then frees all.
static void look_at(dq_graph *graph, const char *label, double sqnr_of_weights) {
  dq_context context;
  dq_context_init(&context, 1, ~0u, NULL);
  dq_data *data = open_data("two:", &context);
  dq_arena *arena = dq_arena_new(0);
  dq_int8_options int8 = dq_int8_defaults();
  int8.method = dq_observer_find("minmax");
  dq_sensitivity found;
  const dq_sensitivity_options options = {.int8 = &int8};
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  assert_int_equal(dq_sensitivity_measure(&found, graph, data, &options, &context, arena, NULL), DQ_OK);
  const dq_sensitivity_layer *layer = found.layers;
  while (strcmp(layer->label, label)) layer++;
  assert_int_equal(layer->weight_bytes, 8);
  assert_float_equal(dq_comparison_sqnr(&layer->weights.outputs), sqnr_of_weights, 0.01);
  dq_arena_free(arena);
  dq_graph_free(graph);
  dq_data_free(data);
  dq_context_deinit(&context);
}

// A Sigmoid behind y: what the weight costs is what it costs at y, 1.3 and 0.5, as above.
static void in_front_of_a_sigmoid(void **state) {
  (void)state;
  dq_graph *graph = make_graph(0.3f, false);
  dq_value *y = graph->outputs[0], *share = dq_graph_add_value(graph, "share");
  dq_graph_add_node(graph, 1, "Sigmoid", "sigmoid", 1, &y, 1, &share);
  y->is_output = false, share->is_output = true, graph->outputs[0] = share;
  const double of_weight = 0.3 - 38 / 127.0;
  look_at(graph, "conv", decibels(1.3 * 1.3 + 0.5 * 0.5, of_weight * of_weight));
}

// A copy of x, its Relu times (1, 0.3), and the sum of both channels: 1.3 and 0.5. The constants have the range 0 to 1:
// 0.3 is 76.5 steps of 1/255 and becomes 76, an even number.
static void constants_of_a_multiplication(void **state) {
  (void)state;
  dq_graph *graph = make_graph(1, true);
  dq_tensor *by = dq_tensor_new(graph->arena, DQ_F32, 4, (int64_t[]){1, 2, 1, 1});
  ((float *)by->data)[0] = 1, ((float *)by->data)[1] = 0.3f;
  dq_value *h = dq_graph_find(graph, "h"), *r = dq_graph_add_value(graph, "r"), *m = dq_graph_add_value(graph, "m"),
           *factors[] = {r, dq_graph_add_constant(graph, "by", by)};
  dq_graph_find(graph, "y")->producer->inputs[0] = m;
  dq_graph_add_node(graph, 1, "Relu", "relu", 1, &h, 1, &r);
  dq_graph_add_node(graph, 2, "Mul", "multiply", 2, factors, 1, &m);
  const double noise = 0.3 - 76 / 255.0;
  look_at(graph, "multiply", decibels(1.3 * 1.3 + 0.5 * 0.5, noise * noise));
}

// y is 0.9 and 0.31. The input and its copy have the range 0 to 100 and round them to 2 and 1 steps of 100 / 255, 0.784
// and 0.392. The result has the range 0 to 0.9: 0.31 is 87.8 steps and becomes 88, 0.3106. That is less than half of
// the noise, so the second convolution is not measured.
static void half_of_the_noise(void **state) {
  (void)state;
  dq_context context;
  dq_context_init(&context, 1, ~0u, NULL);
  dq_data *data = open_data("two:wide", &context);
  dq_graph *graph = make_graph(0, true);
  dq_arena *arena = dq_arena_new(0);
  dq_int8_options int8 = dq_int8_defaults();
  int8.method = dq_observer_find("minmax");
  dq_sensitivity all, most;
  dq_sensitivity_options options = {.int8 = &int8, .ranking = true};
  assert_int_equal(dq_sensitivity_measure(&all, graph, data, &options, &context, arena, NULL), DQ_OK);
  options.share = 0.5;
  assert_int_equal(dq_sensitivity_measure(&most, graph, data, &options, &context, arena, NULL), DQ_OK);
  assert_int_equal(most.count, 3);
  for (int i = 0; i < 2; i++) {
    assert_true(all.layers[i].activations.relative_noise > 0);
    assert_true(most.layers[i].activations.relative_noise == all.layers[i].activations.relative_noise);
  }
  assert_string_equal(most.layers[2].label, "conv");
  assert_true(all.layers[2].activations.relative_noise > 0);
  assert_true(most.layers[2].activations.relative_noise == 0);
  assert_true(most.layers[2].weights.relative_noise == 0);
  dq_arena_free(arena);
  dq_graph_free(graph);
  dq_data_free(data);
  dq_context_deinit(&context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_convolution), cmocka_unit_test(in_front_of_a_sigmoid),
                                     cmocka_unit_test(constants_of_a_multiplication),
                                     cmocka_unit_test(half_of_the_noise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
