// Making a plan.
#include "lib/exec/plan.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/exec/spent.h"
#include "lib/graph/patterns.h"

static dq_status make_steps(dq_plan *plan, dq_error *error) {
  const dq_graph *graph = plan->graph;
  dq_node **order = DQ_NEW_ARRAY(plan->arena, graph->node_count, dq_node *);
  plan->steps = DQ_NEW_ARRAY(plan->arena, graph->node_count, dq_step);
  if (!order || !plan->steps) return dq_fail_memory(error, 0);
  DQ_TRY(dq_graph_order(graph, order, error));
  for (int n = 0; n < graph->node_count; n++) {
    dq_step *step = &plan->steps[plan->step_count];
    DQ_TRY(dq_op_bind(&step->op, graph, order[n], plan->tensors, plan->context, plan->arena, error));
    bool computed = true; // already, while inferring
    for (int i = 0; i < step->op.output_count; i++) {
      const dq_tensor *output = step->op.outputs[i];
      if (!output) continue;
      computed &= output->data != NULL;
      step->dynamic |= output->rank < 0;
    }
    if (!computed) plan->step_count++;
  }
  return DQ_OK;
}

static dq_status find_inputs(dq_plan *plan, dq_error *error) {
  const dq_graph *graph = plan->graph;
  plan->inputs = DQ_NEW_ARRAY(plan->arena, graph->input_count, const dq_value *);
  if (!plan->inputs) return dq_fail_memory(error, 0);
  for (int i = 0; i < graph->input_count; i++)
    if (!graph->inputs[i]->constant) plan->inputs[plan->input_count++] = graph->inputs[i];
  return DQ_OK;
}

static dq_status check_types(const dq_plan *plan, dq_error *error) {
  for (int i = 0; i < plan->input_count; i++) {
    const dq_tensor *tensor = &plan->tensors[plan->inputs[i]->index];
    if (!dq_dtype_computable(tensor->type))
      return dq_fail(error, DQ_UNSUPPORTED, "input '%s' has elements of type %s, which is not supported",
                     plan->inputs[i]->name, dq_dtype_name(tensor->type));
  }
  for (int s = 0; s < plan->step_count; s++) {
    const dq_node *node = plan->steps[s].op.node;
    for (int i = 0; i < node->input_count; i++) {
      const dq_value *input = node->inputs[i];
      if (input && input->constant && !input->constant->data)
        return dq_fail(error, DQ_UNSUPPORTED, "tensor '%s' has elements of type %s, which is not supported",
                       input->name, dq_dtype_name(input->constant->type));
    }
  }
  return DQ_OK;
}

dq_status dq_conv_settings_check(const dq_conv_setting *settings, int count, const dq_graph *const *graphs,
                                 int graph_count, dq_error *error) {
  for (int i = 0; i < count; i++)
    DQ_TRY(dq_patterns_check("conv", &settings[i].pattern, 1, graphs, graph_count, error));
  return DQ_OK;
}

static const dq_conv_setting *setting_of(const dq_plan_options *options, const dq_node *node) {
  for (int i = options ? options->convolution_count : 0; i > 0; i--) {
    const dq_conv_setting *setting = &options->convolutions[i - 1];
    if (!setting->pattern || dq_pattern_fits(setting->pattern, node)) return setting;
  }
  return NULL;
}

// Layers whose own setting does not fit are named, those of a setting for all are counted.
static dq_status prepare_step(dq_plan *plan, dq_step *step, const dq_plan_options *options, int *misfits) {
  const dq_conv_setting *setting = setting_of(options, step->op.node);
  step->op.algorithm = setting ? setting->algorithm : 0;
  DQ_TRY(dq_op_prepare(&step->op, plan->arena));
  if (!step->op.misfit) return DQ_OK;
  if (!setting->pattern) ++*misfits;
  else
    dq_message(plan->context, DQ_NOTE, "node '%s': the algorithm asked for does not fit, '%s' is used",
               step->op.node->name, step->op.computed_by);
  return DQ_OK;
}

static dq_status prepare_steps(dq_plan *plan, const dq_plan_options *options, dq_spent *spent, dq_error *error) {
  double start = dq_seconds();
  size_t before = dq_arena_bytes(plan->arena);
  int convolutions = 0, misfits = 0;
  for (int s = 0; s < plan->step_count; s++) {
    dq_step *step = &plan->steps[s];
    step->op.error = error;
    for (int i = 0; i < step->op.input_count; i++) // shapes of dynamic inputs are not final
      step->dynamic |= step->op.inputs[i] && step->op.inputs[i]->rank < 0;
    if (step->dynamic) continue;
    DQ_TRY(prepare_step(plan, step, options, &misfits));
    dq_spent_give_back(spent, plan, step);
    convolutions += step->op.computed_by != NULL;
    if (step->op.scratch_bytes > plan->scratch_bytes) plan->scratch_bytes = step->op.scratch_bytes;
  }
  plan->packed_bytes = dq_arena_bytes(plan->arena) - before;
  plan->packing_time = dq_seconds() - start;
  if (misfits)
    dq_message(plan->context, DQ_NOTE,
               "%d of %d convolutions do not fit the algorithm asked for and are computed as by auto", misfits,
               convolutions);
  return DQ_OK;
}

static dq_status allocate(dq_plan *plan, dq_error *error) {
  DQ_TRY(dq_check_memory(plan->context, plan->block_bytes + plan->scratch_bytes, "running the network", error));
  plan->block = dq_arena_alloc(plan->arena, plan->block_bytes);
  plan->scratch = dq_arena_alloc(plan->arena, plan->scratch_bytes + 4096); // large blocks are aligned
  if (!plan->block || !plan->scratch) return dq_fail_memory(error, plan->block_bytes + plan->scratch_bytes);
  for (int v = 0; v < plan->graph->value_count; v++)
    if (plan->places[v].planned)
      plan->tensors[v].data = (char *)plan->block + plan->places[plan->places[v].root].offset;
  for (int s = 0; s < plan->step_count; s++) plan->steps[s].op.scratch = plan->scratch;
  return DQ_OK;
}

static dq_status fill_plan(dq_plan *plan, const dq_plan_options *options, dq_error *error) {
  int values = plan->graph->value_count;
  DQ_TRY(dq_infer(plan->graph, options ? &options->shapes : NULL, DQ_INFER_ALL, plan->context, plan->arena,
                  &plan->tensors, error));
  plan->places = DQ_NEW_ARRAY(plan->arena, values, dq_place);
  plan->tapped = DQ_NEW_ARRAY(plan->arena, values, bool);
  if (!plan->places || !plan->tapped) return dq_fail_memory(error, 0);
  DQ_TRY(make_steps(plan, error));
  DQ_TRY(find_inputs(plan, error));
  DQ_TRY(check_types(plan, error));
  dq_spent spent;
  dq_status status = dq_spent_open(&spent, plan, options ? options->spent : NULL, error);
  if (status == DQ_OK) status = prepare_steps(plan, options, &spent, error);
  dq_spent_close(&spent);
  DQ_TRY(status);
  DQ_TRY(dq_plan_places(plan, error));
  return allocate(plan, error);
}

dq_status dq_plan_new(dq_plan **result, const dq_graph *graph, const dq_plan_options *options,
                      const dq_context *context, dq_error *error) {
  *result = NULL;
  dq_arena *arena = dq_context_arena(context);
  dq_plan *plan = arena ? DQ_NEW(arena, dq_plan) : NULL;
  if (!plan) {
    dq_arena_free(arena);
    return dq_fail_memory(error, sizeof *plan);
  }
  *plan = (dq_plan){.arena = arena, .graph = graph, .context = context};
  dq_status status = fill_plan(plan, options, error);
  if (status == DQ_OK) *result = plan;
  else dq_plan_free(plan);
  return status;
}

void dq_plan_free(dq_plan *plan) {
  if (!plan) return;
  dq_arena_free(plan->run_arena);
  dq_arena_free(plan->arena); // the plan itself lives in it
}

int dq_plan_input_count(const dq_plan *plan) { return plan->input_count; }
dq_tensor *dq_plan_input(dq_plan *plan, int i) { return &plan->tensors[plan->inputs[i]->index]; }
const char *dq_plan_input_name(const dq_plan *plan, int i) { return plan->inputs[i]->name; }

int dq_plan_output_count(const dq_plan *plan) { return plan->graph->output_count; }
const dq_tensor *dq_plan_output(const dq_plan *plan, int i) { return &plan->tensors[plan->graph->outputs[i]->index]; }
const char *dq_plan_output_name(const dq_plan *plan, int i) { return plan->graph->outputs[i]->name; }
bool dq_plan_output_fixed(const dq_plan *plan, int i) {
  const dq_value *value = plan->graph->outputs[i];
  const dq_place *place = &plan->places[value->index];
  return place->planned || place->computed || !value->producer;
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
  return (dq_plan_memory){plan->block_bytes, plan->live_bytes, plan->packed_bytes, plan->scratch_bytes};
}

int dq_plan_step_count(const dq_plan *plan) { return plan->step_count; }
const dq_node *dq_plan_step(const dq_plan *plan, int i, int64_t *nanoseconds) {
  if (nanoseconds) *nanoseconds = plan->steps[i].nanoseconds;
  return plan->steps[i].op.node;
}
void dq_plan_set_timing(dq_plan *plan, bool on) { plan->timing = on; }
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
  return input && (input->type == DQ_U8 || input->type == DQ_I8);
}
double dq_plan_packing_time(const dq_plan *plan) { return plan->packing_time; }
const char *dq_plan_step_algorithm(const dq_plan *plan, int i) { return plan->steps[i].op.computed_by; }
