// Plans: what they hold.
#include <string.h>

#include "lib/exec/plan_internal.h"
#include "lib/graph/patterns.h"

dq_status dq_conv_settings_check(const dq_conv_setting *settings, int count, const dq_graph *const *graphs,
                                 int graph_count, dq_error *error) {
  for (int i = 0; i < count; i++)
    DQ_TRY(dq_patterns_check("conv", &settings[i].pattern, 1, graphs, graph_count, error));
  return DQ_OK;
}

void dq_plan_free(dq_plan *plan) {
  if (!plan) return;
  dq_arena_free(plan->run_arena);
  if (!plan->origin) dq_arena_free(plan->packing);
  dq_schedule_free(plan->own);
  dq_arena_free(plan->arena); // the plan itself lives in it
}

const dq_schedule *dq_plan_schedule(const dq_plan *plan) { return plan->schedule; }

int dq_plan_input_count(const dq_plan *plan) { return dq_schedule_input_count(plan->schedule); }
dq_tensor *dq_plan_input(dq_plan *plan, int i) { return &plan->tensors[dq_schedule_input(plan->schedule, i)->index]; }
const char *dq_plan_input_name(const dq_plan *plan, int i) { return dq_schedule_input(plan->schedule, i)->name; }

int dq_plan_output_count(const dq_plan *plan) { return plan->graph->output_count; }
const dq_tensor *dq_plan_output(const dq_plan *plan, int i) { return &plan->tensors[plan->graph->outputs[i]->index]; }
const char *dq_plan_output_name(const dq_plan *plan, int i) { return plan->graph->outputs[i]->name; }
bool dq_plan_output_fixed(const dq_plan *plan, int i) {
  const dq_value *value = plan->graph->outputs[i];
  return dq_schedule_place(plan->schedule, value->index)->storage != DQ_STORED_RUN;
}

const dq_tensor *dq_plan_value(const dq_plan *plan, const char *name) {
  const dq_value *value = dq_graph_find(plan->graph, name);
  return value ? &plan->tensors[value->index] : NULL;
}

bool dq_plan_tap(dq_plan *plan, const char *name) {
  const dq_value *value = dq_graph_find(plan->graph, name);
  if (value) plan->tapped[value->index] = true;
  return value != NULL;
}

void dq_plan_set_tap(dq_plan *plan, dq_tap tap, void *user) {
  plan->tap = tap;
  plan->tap_user = user;
}

dq_plan_memory dq_plan_memory_of(const dq_plan *plan) {
  return (dq_plan_memory){.packed = plan->packed_bytes, .workspace = plan->workspace_bytes};
}

int dq_plan_step_count(const dq_plan *plan) { return plan->step_count; }

int dq_plan_step_of(const dq_plan *plan, const char *value) {
  for (int s = 0; s < plan->step_count; s++) {
    const dq_node *node = plan->steps[s].op.node;
    for (int o = 0; o < node->output_count; o++)
      if (node->outputs[o] && !strcmp(node->outputs[o]->name, value)) return s;
  }
  return -1;
}
const dq_node *dq_plan_step(const dq_plan *plan, int i, int64_t *nanoseconds) {
  if (nanoseconds) *nanoseconds = plan->steps[i].nanoseconds;
  return plan->steps[i].op.node;
}
void dq_plan_set_timing(dq_plan *plan, bool on) { plan->timing = on; }
void dq_plan_set_clock(dq_plan *plan, int64_t (*clock)(void)) { plan->clock = clock; }
int64_t dq_plan_step_bytes(const dq_plan *plan, int i) {
  const dq_op *op = &plan->steps[i].op;
  size_t bytes = 0;
  for (int k = 0; k < op->input_count; k++)
    if (op->inputs[k] && op->inputs[k]->rank >= 0) bytes += dq_tensor_bytes(op->inputs[k]);
  for (int k = 0; k < op->output_count; k++)
    if (op->outputs[k] && op->outputs[k]->rank >= 0) bytes += dq_tensor_bytes(op->outputs[k]);
  return (int64_t)bytes;
}
bool dq_plan_step_integer(const dq_plan *plan, int i) {
  const dq_tensor *input = dq_op_input(&plan->steps[i].op, 0);
  return input && dq_dtype_is_8_bit(input->type);
}
double dq_plan_packing_time(const dq_plan *plan) { return plan->packing_time; }
const char *dq_plan_step_algorithm(const dq_plan *plan, int i) { return plan->steps[i].op.convolution.computed_by; }
