#include "tests/unit/plan_harness.h"

#include <stdlib.h>

#include "lib/base/random.h"

dq_context context;

int context_start(void **state) {
  (void)state;
  return dq_context_init(&context, 2, ~0u, NULL) == DQ_OK ? 0 : -1;
}

int context_end(void **state) {
  (void)state;
  dq_context_deinit(&context);
  return 0;
}

dq_value *shaped(dq_graph *graph, const char *name, int rank, const int64_t *dims) {
  dq_value *value = dq_graph_add_value(graph, name);
  dq_dimension *own = DQ_NEW_ARRAY(graph->arena, rank, dq_dimension);
  for (int i = 0; i < rank; i++) own[i].size = dims[i];
  value->type = DQ_F32, value->rank = rank, value->dims = own;
  return value;
}

void interface(dq_graph *graph, dq_value *input, dq_value *output) {
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  (graph->inputs[0] = input)->is_input = true;
  (graph->outputs[0] = output)->is_output = true;
  graph->input_count = graph->output_count = 1;
}

dq_value *integers(dq_graph *graph, const char *name, int type, int rank, const int64_t *dims, double value) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, type, rank, dims);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, value);
  dq_value *integer = dq_graph_add_value(graph, name);
  assert_true(dq_graph_set_constant(graph, integer, tensor));
  return integer;
}

dq_node *add(dq_graph *graph, const char *op, int count, dq_value **inputs, const char *to) {
  dq_value *output = dq_graph_add_value(graph, to);
  return dq_graph_add_node(graph, graph->node_count, op, to, count, inputs, 1, &output);
}

dq_graph *new_graph(void) {
  dq_graph *graph = dq_graph_new(0);
  assert_non_null(graph);
  graph->ir_version = 7;
  assert_int_equal(dq_graph_set_opset(graph, "", 13, NULL), DQ_OK);
  return graph;
}

dq_value *constant(dq_graph *graph, const char *name, int rank, const int64_t *dims, const float *values) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, rank, dims);
  memcpy(tensor->data, values, dq_tensor_bytes(tensor));
  return dq_graph_add_constant(graph, name, tensor);
}

dq_status keep_value(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  (void)error, (void)value;
  record *kept = user;
  size_t bytes = dq_tensor_bytes(tensor);
  kept->values[kept->count] = malloc(bytes);
  memcpy(kept->values[kept->count++], tensor->data, bytes);
  return DQ_OK;
}

void fill(dq_tensor *tensor, uint64_t seed) {
  dq_random random = {seed};
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) ((float *)tensor->data)[i] = dq_random_normal(&random);
}

dq_tensor *run_plan(dq_plan *plan, dq_arena *arena, uint64_t seed) {
  dq_error error = {0};
  fill(dq_plan_input(plan, 0), seed);
  if (dq_plan_run(plan, &error) != DQ_OK) fail_msg("%s", error.message);
  const dq_tensor *output = dq_plan_output(plan, 0);
  dq_tensor *copy = dq_arena_copy(arena, output, sizeof *output);
  copy->data = dq_arena_copy(arena, output->data, dq_tensor_bytes(output));
  return copy;
}

void same_bits(const dq_tensor *a, const dq_tensor *b) {
  assert_true(dq_tensor_same_shape(a, b));
  assert_memory_equal(a->data, b->data, dq_tensor_bytes(a));
}

dq_tensor *session_run(const dq_graph *graph, const dq_session_options *options, const dq_context *with,
                       dq_arena *arena, record *taps) {
  dq_session session;
  dq_error error = {0};
  if (dq_session_open(&session, graph, options, with, &error) != DQ_OK) fail_msg("%s", error.message);
  if (taps) dq_plan_set_tap(session.plan, keep_value, taps);
  dq_tensor *output = run_plan(session.plan, arena, 7);
  dq_session_close(&session);
  return output;
}
