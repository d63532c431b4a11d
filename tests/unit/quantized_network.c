#include "tests/unit/quantized_network.h"

#include <stdio.h>

float random_float(network *n, float low, float high) { return low + (high - low) * dq_random_float(&n->random); }

dq_value *fresh(network *n, const char *base) {
  char name[64];
  snprintf(name, sizeof name, "%s%d", base, n->values++);
  return dq_graph_add_value(n->graph, name);
}

dq_value *floats(network *n, int rank, const int64_t *dims, float low, float high) {
  dq_tensor *tensor = dq_tensor_new(n->graph->arena, DQ_F32, rank, dims);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) ((float *)tensor->data)[i] = random_float(n, low, high);
  return dq_graph_add_constant(n->graph, "floats", tensor);
}

dq_value *number(network *n, float x) {
  return dq_graph_add_constant(n->graph, "number", dq_tensor_scalar_f32(n->graph->arena, x));
}

dq_value *ints(network *n, int64_t count, const int64_t *values) {
  dq_tensor *tensor = dq_tensor_new(n->graph->arena, DQ_I64, 1, &count);
  memcpy(tensor->data, values, dq_tensor_bytes(tensor));
  return dq_graph_add_constant(n->graph, "ints", tensor);
}

dq_value *node_of(network *n, const char *op_type, int count, dq_value **inputs) {
  dq_value *output = fresh(n, op_type);
  assert_non_null(dq_graph_add_node(n->graph, n->graph->node_count, op_type, output->name, count, inputs, 1, &output));
  return output;
}
dq_node *last_node(network *n) { return n->graph->nodes[n->graph->node_count - 1]; }

affine parameters(network *n, float scale, int type, int zero_point) {
  return (affine){number(n, scale),
                  dq_graph_add_constant(n->graph, "zero", dq_tensor_scalar_i8(n->graph->arena, type, zero_point))};
}
affine random_parameters(network *n) {
  bool is_signed = dq_random_below(&n->random, 2);
  int zero = (int)dq_random_below(&n->random, 256) - (is_signed ? 128 : 0);
  return parameters(n, random_float(n, 0.01f, 0.05f), is_signed ? DQ_I8 : DQ_U8, zero);
}

dq_value *input_with(network *n, affine p, int rank, const int64_t *dims) {
  dq_graph *graph = n->graph;
  dq_value *value = fresh(n, "x");
  dq_dimension *own = DQ_NEW_ARRAY(graph->arena, rank, dq_dimension);
  for (int i = 0; i < rank; i++) own[i].size = dims[i];
  value->type = p.zero_point->constant->type, value->rank = rank, value->dims = own, value->is_input = true;
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, graph->input_count + 1, dq_value *);
  for (int i = 0; i < graph->input_count; i++) inputs[i] = graph->inputs[i];
  inputs[graph->input_count++] = value;
  graph->inputs = inputs;
  return NODE(n, "DequantizeLinear", value, p.scale, p.zero_point);
}
dq_value *input(network *n, int rank, const int64_t *dims) { return input_with(n, random_parameters(n), rank, dims); }
dq_value *picture(network *n) { return input(n, 4, (int64_t[]){2, 6, 7, 9}); }

void output(network *n, dq_value *value) {
  dq_graph *graph = n->graph;
  dq_value **outputs = DQ_NEW_ARRAY(graph->arena, graph->output_count + 1, dq_value *);
  for (int i = 0; i < graph->output_count; i++) outputs[i] = graph->outputs[i];
  outputs[graph->output_count++] = value;
  graph->outputs = outputs;
  value->is_output = true;
}
void quantized_with(network *n, dq_value *value, affine p) {
  output(n, NODE(n, "QuantizeLinear", value, p.scale, p.zero_point));
}
void quantized(network *n, dq_value *value) { quantized_with(n, value, random_parameters(n)); }

dq_context contexts[WAYS];

static dq_status look(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  (void)user, (void)value, (void)tensor, (void)error;
  return DQ_OK;
}

void run_network(const network *n, const dq_session_options *options, const dq_context *context, dq_arena *arena,
                 outcome *to) {
  dq_session session;
  dq_error error = {0};
  dq_random random = {5};
  if (dq_session_open(&session, n->graph, options, context, &error) != DQ_OK) fail_msg("%s", error.message);
  dq_plan_set_tap(session.plan, look, NULL);
  for (int i = 0; i < dq_plan_input_count(session.plan); i++) {
    dq_tensor *tensor = dq_plan_input(session.plan, i);
    for (int64_t e = 0; e < dq_tensor_count(tensor); e++)
      ((uint8_t *)tensor->data)[e] = (uint8_t)dq_random_next(&random);
  }
  if (dq_plan_run(session.plan, &error) != DQ_OK) fail_msg("%s", error.message);
  for (int i = 0; i < n->graph->output_count; i++) {
    to->outputs[i] = *dq_plan_output(session.plan, i);
    to->outputs[i].data = dq_arena_copy(arena, to->outputs[i].data, dq_tensor_bytes(&to->outputs[i]));
  }
  to->conversions = to->tables = 0;
  for (int s = 0; s < dq_plan_step_count(session.plan); s++) {
    const char *op_type = dq_plan_step(session.plan, s, NULL)->op_type;
    to->conversions += !strcmp(op_type, "QuantizeLinear") || !strcmp(op_type, "DequantizeLinear");
    to->tables += !strcmp(op_type, "QTable");
  }
  dq_session_close(&session);
}

void expect_same(const network *n, const outcome *a, const outcome *b, const char *what) {
  for (int i = 0; i < n->graph->output_count; i++) {
    const dq_tensor *x = &a->outputs[i], *y = &b->outputs[i];
    assert_true(x->type == y->type && dq_tensor_same_shape(x, y));
    if (memcmp(x->data, y->data, dq_tensor_bytes(x))) fail_msg("%s: output %d differs", what, i);
  }
}

// All values that nodes compute in float.
static int tappable(const network *n, const char **names) {
  int count = 0;
  for (int i = 0; i < n->graph->node_count; i++)
    if (strcmp(n->graph->nodes[i]->op_type, "QuantizeLinear"))
      for (int o = 0; o < n->graph->nodes[i]->output_count; o++) names[count++] = n->graph->nodes[i]->outputs[o]->name;
  return count;
}

void expect_exact(network *n, int conversions, const char *what) {
  assert_int_equal(dq_graph_index(n->graph, false, NULL), DQ_OK);
  dq_arena *arena = dq_arena_new(0);
  outcome expected, found;
  const char *names[128];
  run_network(n, &(dq_session_options){.plain = true}, &contexts[0], arena, &expected);
  for (int way = 0; way < WAYS; way++) {
    run_network(n, NULL, &contexts[way], arena, &found);
    expect_same(n, &expected, &found, what);
    if (found.conversions != conversions)
      fail_msg("%s: %d conversions are left, not %d", what, found.conversions, conversions);
  }
  dq_session_options tapped = {.taps = names, .tap_count = tappable(n, names)};
  run_network(n, &tapped, &contexts[0], arena, &found);
  expect_same(n, &expected, &found, what);
  dq_arena_free(arena);
  dq_graph_free(n->graph);
}

network open_network(uint64_t seed) {
  network n = {.graph = dq_graph_new(0), .random = {seed}};
  n.graph->ir_version = 9;
  assert_int_equal(dq_graph_set_opset(n.graph, "", 20, NULL), DQ_OK);
  return n;
}

void expect_exact_for_seeds(building *build, int conversions, const char *what) {
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    network n = open_network(seed);
    build(&n);
    expect_exact(&n, conversions, what);
  }
}

int contexts_start(void **state) {
  (void)state;
  static const struct {
    const char *cpu;
    int threads;
  } ways[WAYS] = {{"native", 1}, {"c", 2}, {"avx2", 4}, {"avx512", 2}};
  for (int i = 0; i < WAYS; i++) {
    unsigned mask;
    if (dq_cpu_mask_parse(ways[i].cpu, &mask, NULL) != DQ_OK) return -1;
    if (dq_context_init(&contexts[i], ways[i].threads, mask, NULL) != DQ_OK) return -1;
  }
  return 0;
}

int contexts_end(void **state) {
  (void)state;
  for (int i = 0; i < WAYS; i++) dq_context_deinit(&contexts[i]);
  return 0;
}
