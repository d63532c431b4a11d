// A walk through the layers that are rounded, beside runs of both networks from their inputs to each layer.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/session/pair.h"
#include "quant/rounding/rounding_walk.h"
#include "tests/unit/small_network.h"

enum { LAYERS = 5 };

typedef struct summation {
  dq_network_pair pair;
  dq_layer_sums *sums;
  const dq_rounding_layer *layer;
  const dq_context *context;
} summation;

static dq_status add_sums(void *user, int64_t first, int64_t count, const dq_sample_info *infos, dq_error *error) {
  const summation *s = user;
  const dq_tensor *x = dq_plan_output(dq_network_pair_plan(&s->pair, 1), 0);
  const dq_tensor *y = dq_plan_output(dq_network_pair_plan(&s->pair, 0), 0);
  (void)infos;
  assert_int_equal(count, 1);
  return dq_layer_sums_add(s->sums, s->layer, x, y, (int)first, s->context, error);
}

static void sums_from_the_inputs(const network *it, const network *changed, const dq_rounding_layer *layer,
                                 dq_layer_sums *sums, dq_arena *arena) {
  const dq_graph *graphs[] = {it->graph, changed->graph};
  const char *ends[] = {layer->output, layer->input};
  const dq_picture_range range = {.step = 1, .count = PICTURES, .one_by_one = true};
  summation s = {.sums = sums, .layer = layer, .context = &it->context};
  dq_error error;
  assert_int_equal(dq_layer_sums_open(sums, layer, PICTURES, arena, &error), DQ_OK);
  assert_int_equal(dq_network_pair_open(&s.pair, graphs, ends, it->data, &no_shapes, &it->context, &error), DQ_OK);
  assert_int_equal(dq_network_pair_each(&s.pair, &range, add_sums, &s, &error), DQ_OK);
  dq_network_pair_close(&s.pair);
}

// What a product reads as its weight: float32, or int8 behind a DequantizeLinear.
static dq_tensor *elements_of(const dq_rounding_layer *layer) {
  const dq_value *weight = layer->node->inputs[1];
  return weight->producer ? weight->producer->inputs[0]->constant : weight->constant;
}

static void change(const dq_rounding_layer *layer) {
  dq_tensor *elements = elements_of(layer);
  for (int64_t i = 0; i < dq_tensor_count(elements); i++)
    if (elements->type == DQ_I8) ((int8_t *)elements->data)[i]++;
    else ((float *)elements->data)[i] *= 1.1f;
}

static int list_layers(const dq_graph *graph, dq_rounding_layer layers[LAYERS + 1]) {
  int count = 0;
  for (int n = 0; n < graph->node_count; n++) count += dq_rounding_layer_of(&layers[count], graph->nodes[n]);
  return count;
}

// Walks through the layers, of which each changes when its sums have been compared with those of runs from the inputs.
static void walk_and_compare(network *it, const network *changed, const dq_rounding_layer *layers, int count) {
  dq_rounding_walk walk;
  dq_error error;
  const dq_rounding_walk_input input = {.exact = it->graph,
                                        .quantized = changed->graph,
                                        .weight_type = &dq_weight_type_int8,
                                        .layers = layers,
                                        .count = count,
                                        .data = it->data,
                                        .pictures = PICTURES,
                                        .shapes = &no_shapes};
  assert_int_equal(dq_rounding_walk_open(&walk, &input, &it->context, &error), DQ_OK);
  assert_int_equal(walk.pictures, PICTURES);
  for (int l = 0; l < count; l++) {
    const dq_rounding_layer *layer = &layers[l];
    dq_layer_sums here, wanted;
    assert_true(dq_rounding_walk_reaches(&walk, layer));
    assert_true(!l || dq_rounding_walk_step(&walk, layer - 1) < dq_rounding_walk_step(&walk, layer));
    assert_int_equal(dq_layer_sums_open(&here, layer, PICTURES, it->arena, &error), DQ_OK);
    assert_int_equal(dq_rounding_walk_sum(&walk, layer, &here, &it->context, &error), DQ_OK);
    sums_from_the_inputs(it, changed, layer, &wanted, it->arena);
    size_t n = (size_t)layer->inputs + 1, groups = (size_t)layer->groups;
    assert_memory_equal(here.grams, wanted.grams, groups * n * n * sizeof(double));
    assert_memory_equal(here.responses, wanted.responses, groups * (size_t)layer->outputs * n * sizeof(double));
    change(layer);
    assert_int_equal(dq_rounding_walk_changed(&walk, layer, &error), DQ_OK);
  }
  assert_false(dq_rounding_walk_reaches(&walk, &layers[0]));
  dq_rounding_walk_close(&walk);
}

static void same_sums_as_from_the_inputs(void **state) {
  network *it = *state;
  void *other;
  network_start(&other);
  network *changed = other;
  network_build(it);
  network_build(changed);
  dq_rounding_layer layers[LAYERS + 1];
  assert_int_equal(list_layers(changed->graph, layers), LAYERS);
  walk_and_compare(it, changed, layers, LAYERS);
  network_end(&other);
}

enum { WIDE = 260 }; // WIDE^2 weights are more than what a schedule takes for known

static void build_wide(network *it) {
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, WIDE, 1, 1);
  network_conv(it, network_value(it, "a"), "b", WIDE, WIDE, 1, 1);
  network_conv(it, network_value(it, "b"), "y", WIDE, 4, 1, 1);
  network_finish(it);
}

// Puts int8 elements and a scale for each output channel in the place of the weight of `b`.
static void dequantize_b(network *it) {
  dq_node *b = network_value(it, "b")->producer;
  const dq_tensor *weight = b->inputs[1]->constant;
  dq_tensor *elements = dq_tensor_new(it->graph->arena, DQ_I8, weight->rank, weight->dims);
  dq_tensor *scales = dq_tensor_new(it->graph->arena, DQ_F32, 1, (int64_t[]){WIDE});
  for (int64_t o = 0; o < WIDE; o++) ((float *)scales->data)[o] = 0.01f * (float)(1 + o % 3);
  for (int64_t i = 0; i < dq_tensor_count(elements); i++) ((int8_t *)elements->data)[i] = (int8_t)(i % 200 - 100);
  dq_node *made = network_node(it, "DequantizeLinear", dq_graph_add_constant(it->graph, "b_q", elements),
                               dq_graph_add_constant(it->graph, "b_s", scales), NULL, network_value(it, "b_d"));
  dq_node_set_int(it->graph, made, "axis", 0);
  b->inputs[1] = network_value(it, "b_d");
  dq_error error;
  assert_int_equal(dq_graph_index(it->graph, true, &error), DQ_OK);
}

static void large_weights_change_too(void **state) {
  network *it = *state;
  void *other;
  network_start(&other);
  network *changed = other;
  build_wide(it);
  build_wide(changed);
  dq_rounding_layer layers[LAYERS + 1];
  assert_int_equal(list_layers(changed->graph, layers), 3); // of float weights, as before integers are written
  dequantize_b(changed);
  walk_and_compare(it, changed, layers, 3);
  network_end(&other);
}

// A convolution of a kernel of 2 of one channel over 1, 2, 4, the last place padded: inputs (1, 2), (2, 4), (4, 0) and
// a 1 each, outputs 3, 6, 4.
static void sums_by_hand(void **state) {
  network *it = *state;
  dq_tensor *w = dq_tensor_new(it->graph->arena, DQ_F32, 3, (int64_t[]){1, 1, 2});
  dq_tensor *b = dq_tensor_new(it->graph->arena, DQ_F32, 1, (int64_t[]){1});
  memcpy(w->data, (float[]){1, 1}, 8);
  memset(b->data, 0, 4);
  dq_value *weight = dq_graph_add_constant(it->graph, "w", w), *bias = dq_graph_add_constant(it->graph, "b", b);
  dq_node *node = network_node(it, "Conv", network_value(it, "x"), weight, bias, network_value(it, "y"));
  dq_node_set_ints(it->graph, node, "pads", (int64_t[]){0, 1}, 2);
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_finish(it);
  dq_rounding_layer layer;
  assert_true(dq_rounding_layer_of(&layer, node));
  const dq_tensor input = {.type = DQ_F32, .rank = 3, .dims = {1, 1, 3}, .data = (float[]){1, 2, 4}};
  const dq_tensor output = {.type = DQ_F32, .rank = 3, .dims = {1, 1, 3}, .data = (float[]){3, 6, 4}};
  dq_layer_sums sums;
  dq_error error;
  assert_int_equal(dq_layer_sums_open(&sums, &layer, 1, it->arena, &error), DQ_OK);
  assert_int_equal(dq_layer_sums_add(&sums, &layer, &input, &output, 0, &it->context, &error), DQ_OK);
  const double gram[] = {1 + 4 + 16, 2 + 8, 7, 2 + 8, 4 + 16, 6, 7, 6, 3}, responses[] = {3 + 12 + 16, 6 + 24, 13};
  assert_memory_equal(sums.grams, gram, sizeof gram);
  assert_memory_equal(sums.responses, responses, sizeof responses);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(same_sums_as_from_the_inputs, network_start, network_end),
      cmocka_unit_test_setup_teardown(large_weights_change_too, network_start, network_end),
      cmocka_unit_test_setup_teardown(sums_by_hand, network_start, network_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
