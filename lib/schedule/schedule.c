// Making a schedule, and what it tells.
#include "lib/schedule/schedule_internal.h"

// Whether all its outputs are known already, from constants and shapes.
static bool is_computed(const dq_schedule *schedule, const dq_node *node) {
  bool computed = true;
  for (int i = 0; i < node->output_count; i++)
    computed &= !node->outputs[i] || schedule->tensors[node->outputs[i]->index].data != NULL;
  return computed;
}

static bool any_unknown(const dq_schedule *schedule, dq_value *const *values, int count) {
  bool unknown = false;
  for (int i = 0; i < count; i++) unknown |= values[i] && schedule->tensors[values[i]->index].rank < 0;
  return unknown;
}

static dq_status make_steps(dq_schedule *schedule, dq_error *error) {
  const dq_graph *graph = schedule->graph;
  dq_node **order = DQ_NEW_ARRAY(schedule->arena, graph->node_count, dq_node *);
  schedule->steps = DQ_NEW_ARRAY(schedule->arena, graph->node_count, dq_schedule_step);
  if (!order || !schedule->steps) return dq_fail_memory(error, 0);
  DQ_TRY(dq_graph_order(graph, order, error));
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = order[n];
    if (is_computed(schedule, node)) continue;
    dq_schedule_step *step = &schedule->steps[schedule->step_count++];
    step->node = node;
    // What is to be warned of was told while inferring.
    DQ_TRY(dq_operator_resolve(graph, node, NULL, &step->row, &step->version, error));
    step->dynamic = any_unknown(schedule, node->outputs, node->output_count) ||
                    any_unknown(schedule, node->inputs, node->input_count);
  }
  return DQ_OK;
}

static dq_status find_inputs(dq_schedule *schedule, dq_error *error) {
  const dq_graph *graph = schedule->graph;
  schedule->inputs = DQ_NEW_ARRAY(schedule->arena, graph->input_count, const dq_value *);
  if (!schedule->inputs) return dq_fail_memory(error, 0);
  for (int i = 0; i < graph->input_count; i++)
    if (!graph->inputs[i]->constant) schedule->inputs[schedule->input_count++] = graph->inputs[i];
  return DQ_OK;
}

static dq_status check_types(const dq_schedule *schedule, dq_error *error) {
  for (int i = 0; i < schedule->input_count; i++) {
    const dq_tensor *tensor = &schedule->tensors[schedule->inputs[i]->index];
    if (!dq_dtype_computable(tensor->type))
      return dq_fail(error, DQ_UNSUPPORTED, "input '%s' has elements of type %s, which is not supported",
                     schedule->inputs[i]->name, dq_dtype_name(tensor->type));
  }
  for (int s = 0; s < schedule->step_count; s++) {
    const dq_node *node = schedule->steps[s].node;
    for (int i = 0; i < node->input_count; i++) {
      const dq_value *input = node->inputs[i];
      if (input && input->constant && !input->constant->data)
        return dq_fail(error, DQ_UNSUPPORTED, "tensor '%s' has elements of type %s, which is not supported",
                       input->name, dq_dtype_name(input->constant->type));
    }
  }
  return DQ_OK;
}

// Elements of initializers are the graph's, and may change while the schedule stays.
static void find_storage(dq_schedule *schedule) {
  for (int v = 0; v < schedule->graph->value_count; v++) {
    const dq_value *value = schedule->graph->values[v];
    dq_tensor *tensor = &schedule->tensors[v];
    dq_storage *storage = &schedule->places[v].storage;
    if (value->constant) tensor->data = NULL, *storage = DQ_STORED_GRAPH;
    else if (tensor->data) *storage = DQ_STORED_SCHEDULE;
    else if (!value->producer && !value->is_input) *storage = DQ_STORED_NOWHERE;
    else *storage = tensor->rank < 0 ? DQ_STORED_RUN : DQ_STORED_BLOCK;
  }
}

static dq_status fill(dq_schedule *schedule, const dq_shape_request *request, const dq_context *context,
                      dq_error *error) {
  const dq_graph *graph = schedule->graph;
  DQ_TRY(dq_infer(graph, request, DQ_INFER_ALL, context, schedule->arena, &schedule->tensors, error));
  schedule->places = DQ_NEW_ARRAY(schedule->arena, graph->value_count, dq_place);
  if (!schedule->places) return dq_fail_memory(error, (size_t)graph->value_count * sizeof *schedule->places);
  DQ_TRY(make_steps(schedule, error));
  DQ_TRY(find_inputs(schedule, error));
  DQ_TRY(check_types(schedule, error));
  find_storage(schedule);
  return dq_schedule_places(schedule, error);
}

dq_status dq_schedule_new(dq_schedule **result, const dq_graph *graph, const dq_shape_request *request,
                          const dq_context *context, dq_error *error) {
  *result = NULL;
  dq_arena *arena = dq_context_arena(context);
  dq_schedule *schedule = arena ? DQ_NEW(arena, dq_schedule) : NULL;
  if (!schedule) {
    dq_arena_free(arena);
    return dq_fail_memory(error, sizeof *schedule);
  }
  *schedule = (dq_schedule){.arena = arena, .graph = graph};
  dq_status status = fill(schedule, request, context, error);
  if (status == DQ_OK) *result = schedule;
  else dq_schedule_free(schedule);
  return status;
}

void dq_schedule_free(dq_schedule *schedule) {
  if (schedule) dq_arena_free(schedule->arena); // the schedule itself lives in it
}

const dq_graph *dq_schedule_graph(const dq_schedule *schedule) { return schedule->graph; }
int dq_schedule_step_count(const dq_schedule *schedule) { return schedule->step_count; }
const dq_schedule_step *dq_schedule_step_at(const dq_schedule *schedule, int step) { return &schedule->steps[step]; }
int dq_schedule_input_count(const dq_schedule *schedule) { return schedule->input_count; }
const dq_value *dq_schedule_input(const dq_schedule *schedule, int i) { return schedule->inputs[i]; }
const dq_tensor *dq_schedule_tensor(const dq_schedule *schedule, int value) { return &schedule->tensors[value]; }
const dq_place *dq_schedule_place(const dq_schedule *schedule, int value) { return &schedule->places[value]; }
size_t dq_schedule_bytes(const dq_schedule *schedule) { return schedule->block_bytes; }
size_t dq_schedule_live_bytes(const dq_schedule *schedule) { return schedule->live_bytes; }
