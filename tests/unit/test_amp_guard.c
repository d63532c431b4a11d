// Bounds without data, by hand, and what the guard makes of them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/half.h"
#include "quant/amp/amp.h"
#include "quant/amp/amp_bounds.h"

static const dq_context context = {0};

static dq_value *image(dq_graph *graph, const char *name, int64_t channels) {
  dq_value *value = dq_graph_add_value(graph, name);
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 4, dq_dimension);
  static const int64_t size[] = {1, 0, 4, 4};
  for (int i = 0; i < 4; i++) dims[i].size = i == 1 ? channels : size[i];
  value->dims = dims, value->type = DQ_F32, value->rank = 4;
  return value;
}

static dq_value *constant(dq_graph *graph, const char *name, int rank, const int64_t *dims, const float *elements) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, rank, dims);
  memcpy(tensor->data, elements, (size_t)dq_tensor_count(tensor) * sizeof(float));
  return dq_graph_add_constant(graph, name, tensor);
}

// x (2 channels) -> Conv 1x1 with weights 2, -1 and bias 0.5 -> Relu r -> BatchNormalization y.
static dq_graph *network(const float *weights) {
  dq_graph *graph = dq_graph_new(0);
  graph->ir_version = 7;
  dq_graph_set_opset(graph, "", 13, NULL);
  dq_value *x = image(graph, "x", 2), *c = dq_graph_add_value(graph, "c"), *r = dq_graph_add_value(graph, "r");
  dq_value *y = image(graph, "y", 1);
  static const int64_t one = 1;
  dq_value *conv[] = {x, constant(graph, "w", 4, (int64_t[]){1, 2, 1, 1}, weights),
                      constant(graph, "b", 1, &one, (float[]){0.5f})};
  dq_value *norm[] = {r, constant(graph, "gamma", 1, &one, (float[]){-2}),
                      constant(graph, "beta", 1, &one, (float[]){3}), constant(graph, "mean", 1, &one, (float[]){1}),
                      constant(graph, "variance", 1, &one, (float[]){4})};
  dq_graph_add_node(graph, 0, "Conv", "c", 3, conv, 1, &c);
  dq_graph_add_node(graph, 1, "Relu", "r", 1, &c, 1, &r);
  dq_node *last = dq_graph_add_node(graph, 2, "BatchNormalization", "y", 5, norm, 1, &y);
  dq_node_set_float(graph, last, "epsilon", 0);
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  (graph->inputs[0] = x)->is_input = true;
  (graph->outputs[0] = y)->is_output = true;
  graph->input_count = graph->output_count = 1;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  return graph;
}

static dq_bound bound_of(dq_graph *graph, dq_tensor *tensors, dq_bound *bounds, int n) {
  dq_bound_node in = {graph->nodes[n], tensors, bounds, graph->arena};
  dq_bound *output = &bounds[graph->nodes[n]->outputs[0]->index];
  assert_int_equal(dq_bound_output(&in, output), DQ_OK);
  assert_int_equal(output->channels, 1);
  return *output;
}

static void near(double value, double expected) { assert_true(fabs(value - expected) <= 1e-3 * fabs(expected)); }

static void by_hand(void **state) {
  (void)state;
  dq_graph *graph = network((float[]){2, -1});
  dq_tensor *tensors;
  assert_int_equal(dq_infer(graph, NULL, DQ_INFER_ALL, &context, graph->arena, &tensors, NULL), DQ_OK);
  dq_bound *bounds = DQ_NEW_ARRAY(graph->arena, graph->value_count, dq_bound);
  dq_bound *x = &bounds[graph->inputs[0]->index];
  assert_int_equal(dq_bound_range(-6, 6, graph->arena, x), DQ_OK);
  near(x->channel[0].deviation, 12 / sqrt(12));
  dq_channel_bound c = bound_of(graph, tensors, bounds, 0).channel[0];
  near(c.low, -17.5), near(c.high, 18.5), near(c.mean, 0.5), near(c.deviation, sqrt(5 * 12.0)); // (4 + 1) 12
  dq_channel_bound r = bound_of(graph, tensors, bounds, 1).channel[0];
  assert_true(r.low == 0);
  near(r.high, 18.5);
  near(r.mean, 3.3466), near(r.deviation, 4.6923);  // of max(x, 0), x normal with mean 0.5 and deviation sqrt(60)
  dq_bound y = bound_of(graph, tensors, bounds, 2); // -(r - 1) + 3 is in [-14.5, 4]
  near(y.channel[0].low, -14.5), near(y.channel[0].high, 4), near(y.channel[0].mean, 3),
      near(y.channel[0].deviation, 2);
  bool proven;
  near(dq_bound_largest(&y, &proven), 14.5); // 3 + 16 * 2 is more
  assert_true(proven);
  dq_graph_free(graph);
}

// Functions whose results lie in a range say so of inputs that nothing is known of: anywhere in it.
static void ranges_of_functions(void **state) {
  (void)state;
  static const struct {
    const char *op_type;
    double low, high; // 1 above the other: nothing is known
  } cases[] = {{"Sigmoid", 0, 1}, {"HardSigmoid", 0, 1}, {"Softmax", 0, 1}, {"Hardmax", 0, 1},
               {"Tanh", -1, 1},   {"Softsign", -1, 1},   {"Erf", -1, 1},    {"Sign", -1, 1},
               {"Relu", 1, 0},    {"Elu", 1, 0},         {"Softplus", 1, 0}};
  dq_graph *graph = network((float[]){2, -1});
  dq_tensor *tensors;
  assert_int_equal(dq_infer(graph, NULL, DQ_INFER_ALL, &context, graph->arena, &tensors, NULL), DQ_OK);
  dq_bound *bounds = DQ_NEW_ARRAY(graph->arena, graph->value_count, dq_bound);
  dq_node *node = graph->nodes[1];
  dq_bound_node in = {node, tensors, bounds, graph->arena};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_bound output = {0};
    node->op_type = cases[i].op_type;
    assert_int_equal(dq_bound_output(&in, &output), DQ_OK);
    bool known = cases[i].low < cases[i].high;
    assert_int_equal(output.channels, known);
    if (!known) continue;
    const dq_channel_bound *m = output.channel;
    assert_true(m->low == cases[i].low && m->high == cases[i].high);
    assert_true(m->mean == (m->low + m->high) / 2 && m->deviation == (m->high - m->low) / 2);
  }
  node->op_type = "Clip"; // of opset 6
  dq_node_set_float(graph, node, "min", -2);
  dq_node_set_float(graph, node, "max", 6);
  dq_bound output = {0};
  assert_int_equal(dq_bound_output(&in, &output), DQ_OK);
  assert_int_equal(output.channels, 1);
  assert_true(output.channel[0].low == -2 && output.channel[0].high == 6);
  dq_graph_free(graph);
}

// x anywhere in -2...4 (mean 1, deviation sqrt 3) and y in 1...3 (mean 2, deviation 1 / sqrt 3).
static void two_values_combined(void **state) {
  (void)state;
  const double sum = sqrt(3) + 1 / sqrt(3);
  const struct {
    const char *op_type;
    dq_channel_bound expected;
  } cases[] = {{"Add", {-1, 7, 3, sum}},
               {"Sub", {-5, 3, -1, sum}},
               {"Mul", {-6, 12, 2, 6}},  // 3 hypot(1, sqrt 3); 4 hypot(2, 1 / sqrt 3) is more
               {"Div", {-2, 4, 0.5, 2}}, // by 1/3...1, mean 1/2, deviation 2/3: 1 hypot(1, sqrt 3)
               {"Max", {-2, 4, 1.5, sqrt(3) + 0.5}},
               {"Min", {-2, 4, 1.5, sqrt(3) + 0.5}}};
  dq_graph *graph = network((float[]){2, -1});
  dq_tensor *tensors;
  assert_int_equal(dq_infer(graph, NULL, DQ_INFER_ALL, &context, graph->arena, &tensors, NULL), DQ_OK);
  dq_bound *bounds = DQ_NEW_ARRAY(graph->arena, graph->value_count, dq_bound);
  dq_node *node = graph->nodes[1];
  dq_value *operands[] = {graph->inputs[0], dq_graph_find(graph, "c")};
  node->inputs = operands, node->input_count = 2;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    node->op_type = cases[i].op_type;
    assert_int_equal(dq_bound_range(-2, 4, graph->arena, &bounds[operands[0]->index]), DQ_OK);
    assert_int_equal(dq_bound_range(1, 3, graph->arena, &bounds[operands[1]->index]), DQ_OK);
    const dq_channel_bound found = bound_of(graph, tensors, bounds, 1).channel[0], *expected = &cases[i].expected;
    near(found.low, expected->low), near(found.high, expected->high);
    near(found.mean, expected->mean), near(found.deviation, expected->deviation);
  }
  node->op_type = "Div"; // by what may be 0
  assert_int_equal(dq_bound_range(0, 3, graph->arena, &bounds[operands[1]->index]), DQ_OK);
  assert_true(isinf(bound_of(graph, tensors, bounds, 1).channel[0].deviation));
  assert_int_equal(dq_bound_range(-3, -1, graph->arena, &bounds[operands[1]->index]), DQ_OK);
  const dq_channel_bound found = bound_of(graph, tensors, bounds, 1).channel[0];
  near(found.low, -4), near(found.high, 2), near(found.mean, -0.5), near(found.deviation, 2);
  dq_graph_free(graph);
}

// n elements of mean 0 and deviation 1 are sqrt(n) at most, times 3, and 4 more.
static void normalized_values(void **state) {
  (void)state;
  dq_graph *graph = network((float[]){2, -1});
  const int64_t two = 2;
  dq_value *operands[] = {graph->inputs[0], constant(graph, "scale", 1, &two, (float[]){2, -3}),
                          constant(graph, "shift", 1, &two, (float[]){1, -4})};
  dq_tensor *tensors;
  assert_int_equal(dq_infer(graph, NULL, DQ_INFER_ALL, &context, graph->arena, &tensors, NULL), DQ_OK);
  dq_bound *bounds = DQ_NEW_ARRAY(graph->arena, graph->value_count, dq_bound);
  dq_node *node = graph->nodes[1];
  node->inputs = operands, node->input_count = 3;
  const char *const names[] = {"LayerNormalization", "InstanceNormalization", "GroupNormalization"};
  const double reach = sqrt((double)dq_tensor_count(&tensors[operands[0]->index]));
  for (int i = 0; i < 3; i++) {
    node->op_type = names[i];
    dq_channel_bound m = bound_of(graph, tensors, bounds, 1).channel[0];
    near(m.low, -3 * reach - 4), near(m.high, 3 * reach + 4), near(m.deviation, 7);
    assert_true(m.mean == 0);
  }
  dq_graph_free(graph);
}

static dq_amp_report apply(dq_graph *graph, const dq_amp_options *options) {
  dq_amp_report report;
  assert_int_equal(dq_amp_apply(graph, options, &report, &context, NULL), DQ_OK);
  return report;
}

static void decisions(void **state) {
  (void)state;
  dq_amp_options options = {0};
  dq_graph *graph = network((float[]){2, -1});
  dq_amp_report report = apply(graph, &options);
  assert_int_equal(report.halves, 3);
  assert_int_equal(report.guarded, 0);
  assert_int_equal(report.proven + report.estimated, 4);
  dq_graph_free(graph);
  graph = network((float[]){300, -100}); // (300 + 100) 255 + 0.5 = 102000.5 at most
  report = apply(graph, &options);
  assert_false(report.nodes[0].half || report.nodes[1].half);
  assert_non_null(strstr(report.nodes[0].reason, "may reach 1e+05 (bound)"));
  dq_graph_free(graph);
  options.input_max = 1;
  graph = network((float[]){300, -100});
  assert_int_equal(apply(graph, &options).guarded, 0);
  dq_graph_free(graph);
  options = (dq_amp_options){.unguarded = true};
  graph = network((float[]){300, -100});
  assert_int_equal(apply(graph, &options).halves, 3);
  dq_graph_free(graph);
}

// 1024 channels that are all x0 - x1, added up with weights 8 and -8 in turns: 0, whatever x, but as they are taken for
// independent the deviation is 8 sqrt(1024) that of one.
static void estimates_that_run_away(void **state) {
  (void)state;
  dq_graph *graph = network((float[]){1, 1});
  dq_value *x = graph->inputs[0];
  dq_node *const old[] = {graph->nodes[0], graph->nodes[1], graph->nodes[2]};
  for (int n = 0; n < 3; n++) dq_graph_remove_node(graph, old[n]);
  const dq_channel_bound wide[] = {{-INFINITY, INFINITY, 40, 5000}, {-INFINITY, INFINITY, 1, 2}, {0, 1000, 900, 5000}};
  dq_bound bound = {3, dq_arena_copy(graph->arena, wide, sizeof wide)};
  dq_bound_limit(&bound, 50); // 40 + 16 * 5000 and 900 + ... are more than 16 * 50, 1 + 16 * 2 is not
  near(bound.channel[0].deviation, 50), assert_true(bound.channel[0].mean == 0);
  near(bound.channel[1].deviation, 2);
  assert_true(bound.channel[2].deviation == 0); // an interval that ends at the mean
  static float all_equal[1024 * 2], in_turns[1024];
  for (int i = 0; i < 1024; i++) all_equal[2 * i] = 1, all_equal[2 * i + 1] = -1, in_turns[i] = i % 2 ? -8 : 8;
  dq_value *many = dq_graph_add_value(graph, "many"), *sum = dq_graph_find(graph, "y");
  dq_value *first[] = {x, constant(graph, "first", 4, (int64_t[]){1024, 2, 1, 1}, all_equal)};
  dq_value *second[] = {many, constant(graph, "second", 4, (int64_t[]){1, 1024, 1, 1}, in_turns)};
  dq_graph_add_node(graph, 0, "Conv", "first", 2, first, 1, &many);
  dq_graph_add_node(graph, 1, "Conv", "second", 2, second, 1, &sum);
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_amp_options options = {0};
  dq_amp_report report = apply(graph, &options);
  assert_int_equal(report.guarded, 0);
  assert_int_equal(report.halves, 2);
  dq_graph_free(graph);
}

// x -> Conv -> BatchNormalization: one convolution whose weights are 2 / 1000 of what they were, so that nothing comes
// near 65504. What it says of the result, mean 3 and deviation 2, counts as it did before.
static void batch_norm_folds(void **state) {
  (void)state;
  dq_graph *graph = network((float[]){300, -100});
  dq_node *conv = graph->nodes[0], *norm = graph->nodes[2];
  dq_graph_remove_node(graph, graph->nodes[1]);
  norm->inputs[0] = conv->outputs[0];
  ((float *)norm->inputs[4]->constant->data)[0] = 1e6f;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_amp_options options = {.nearest = true};
  dq_amp_report report = apply(graph, &options);
  assert_int_equal(graph->node_count - report.casts, 1);
  assert_int_equal(report.halves, 1);
  assert_int_equal(report.guarded, 0);
  const dq_tensor *w = graph->nodes[1]->inputs[1]->constant, *b = graph->nodes[1]->inputs[2]->constant;
  assert_true(w->type == DQ_F16 && b->type == DQ_F16);
  assert_int_equal(((const uint16_t *)w->data)[0], dq_float_to_half(-0.6f));               // 300 * -2 / 1000
  assert_int_equal(((const uint16_t *)b->data)[0], dq_float_to_half(3 + 0.5f * 2 / 1000)); // 3 - 2 (0.5 - 1) / 1000
  dq_graph_free(graph);
  dq_bound bound;
  dq_arena *arena = dq_arena_new(0);
  assert_int_equal(dq_bound_range(-100, 100, arena, &bound), DQ_OK);
  float scale = -2, shift = 3;
  const dq_tensor tensors[] = {{.type = DQ_F32, .rank = 1, .dims = {1}, .data = &scale},
                               {.type = DQ_F32, .rank = 1, .dims = {1}, .data = &shift}};
  dq_bound_normalize(&bound, &tensors[0], &tensors[1]);
  near(bound.channel[0].mean, 3), near(bound.channel[0].deviation, 2), near(bound.channel[0].high, 100);
  dq_arena_free(arena);
  // Denied by name it stays, and so does what stands in front of it.
  graph = network((float[]){2, -1});
  dq_graph_remove_node(graph, graph->nodes[1]);
  graph->nodes[2]->inputs[0] = graph->nodes[0]->outputs[0];
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  options = (dq_amp_options){.deny = (const char *const[]){"BatchNormalization"}, .deny_count = 1};
  report = apply(graph, &options);
  assert_int_equal(report.count, 2);
  assert_int_equal(report.halves, 1);
  dq_graph_free(graph);
}

static void weights_too_small(void **state) {
  (void)state;
  dq_amp_options options = {.input_max = 1e4};
  dq_graph *graph = network((float[]){1.5e-7f, -0.9e-7f}); // 2.5 and 1.5 times the least float16
  dq_amp_report report = apply(graph, &options);
  assert_true(report.nodes[0].half); // 0.5 of the bias is all there is
  dq_graph_free(graph);
  options.input_max = 1e7;
  graph = network((float[]){1.5e-7f, -0.9e-7f});
  report = apply(graph, &options);
  assert_false(report.nodes[0].half);
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand),
                                     cmocka_unit_test(ranges_of_functions),
                                     cmocka_unit_test(two_values_combined),
                                     cmocka_unit_test(normalized_values),
                                     cmocka_unit_test(decisions),
                                     cmocka_unit_test(batch_norm_folds),
                                     cmocka_unit_test(weights_too_small),
                                     cmocka_unit_test(estimates_that_run_away)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
