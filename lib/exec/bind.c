// Binding a schedule to this machine: kernels chosen, constants packed, memory allocated; and packing again.
#include <inttypes.h>

#include "lib/base/clock.h"
#include "lib/exec/plan_internal.h"
#include "lib/exec/spent.h"
#include "lib/graph/patterns.h"
#include "lib/kernels/conv/conv.h"

static const dq_conv_setting *setting_of(const dq_binding *binding, const dq_node *node) {
  for (int i = binding ? binding->convolution_count : 0; i > 0; i--) {
    const dq_conv_setting *setting = &binding->convolutions[i - 1];
    if (!setting->pattern || dq_pattern_fits(setting->pattern, node)) return setting;
  }
  return NULL;
}

static dq_status make_steps(dq_plan *plan, const dq_binding *binding, dq_error *error) {
  plan->step_count = dq_schedule_step_count(plan->schedule);
  plan->steps = DQ_NEW_ARRAY(plan->arena, plan->step_count, dq_step);
  if (!plan->steps) return dq_fail_memory(error, (size_t)plan->step_count * sizeof *plan->steps);
  for (int s = 0; s < plan->step_count; s++) {
    const dq_schedule_step *from = dq_schedule_step_at(plan->schedule, s);
    const dq_conv_setting *setting = setting_of(binding, from->node);
    dq_step *step = &plan->steps[s];
    if (setting) step->algorithm = setting->algorithm, step->named = setting->pattern != NULL;
    step->op = (dq_op){.node = from->node, .error = error};
    DQ_TRY(dq_op_connect(&step->op, plan->tensors, plan->arena));
  }
  return DQ_OK;
}

// Types and shapes with the elements that are known, which tell steps what is constant. `known` is by value index and
// holds elements that were computed from constants anew; NULL: those of the schedule.
static void load_tensors(dq_plan *plan, const dq_tensor *known) {
  for (int v = 0; v < plan->graph->value_count; v++) {
    const dq_tensor *constant = plan->graph->values[v]->constant;
    plan->tensors[v] = known ? known[v] : *dq_schedule_tensor(plan->schedule, v);
    if (constant) plan->tensors[v].data = constant->data;
  }
}

void dq_plan_place_values(dq_plan *plan) {
  for (int v = 0; v < plan->graph->value_count; v++) {
    const dq_place *place = dq_schedule_place(plan->schedule, v);
    if (place->storage == DQ_STORED_BLOCK) plan->tensors[v].data = (char *)plan->block + place->offset;
  }
}

// How each step is computed: as the binding says, or the wisdom of the context.
static void choose(dq_plan *plan, const dq_binding *binding) {
  char run[DQ_RUN_TEXT];
  int others = 0;
  for (int s = 0; s < plan->step_count; s++) {
    dq_step *step = &plan->steps[s];
    if (binding && binding->choices) {
      step->choice = binding->choices[s];
      continue;
    }
    if (!plan->context->wisdom || !dq_plan_step_run(plan, s, run)) continue;
    const dq_record *record = dq_wisdom_find(plan->context->wisdom, run);
    if (record && !record->withdrawn) step->choice = record->choice;
    others += !dq_choice_is_usual(&step->choice);
  }
  if (others && !(binding && binding->places))
    dq_message(plan->context, DQ_DETAIL, "%d of %d steps have another choice than the usual one, by wisdom", others,
               plan->step_count);
}

// The op as it is before dq_op_prepare.
static void reset_op(const dq_plan *plan, int s, dq_error *error) {
  const dq_schedule_step *from = dq_schedule_step_at(plan->schedule, s);
  dq_step *step = &plan->steps[s];
  const int *choice = step->choice.values;
  dq_op *op = &step->op;
  *op = (dq_op){
      .context = choice[DQ_KNOB_OF_THREADS] ? &plan->alone : plan->context,
      .node = from->node,
      .row = from->row,
      .version = from->version,
      .input_count = op->input_count,
      .inputs = op->inputs,
      .output_count = op->output_count,
      .outputs = op->outputs,
      .convolution = {.algorithm = step->algorithm,
                      .tuning = {choice[DQ_KNOB_OF_ALGORITHM], choice[DQ_KNOB_OF_COLUMNS], choice[DQ_KNOB_OF_DEPTH]}},
      .error = error};
}

// The last panel of weights of each convolution is multiplied while the first one of the next is prefetched.
static void link_convolutions(const dq_plan *plan) {
  const void *next = NULL;
  for (int s = plan->step_count - 1; s >= 0; s--) {
    const dq_op_convolution *convolution = &plan->steps[s].op.convolution;
    if (!convolution->plan) continue;
    dq_conv_set_next(convolution->plan, next);
    next = convolution->weights;
  }
}

static dq_status prepare_steps(dq_plan *plan, dq_spent *spent, dq_error *error) {
  double start = dq_seconds();
  size_t before = dq_arena_bytes(plan->packing);
  plan->workspace_bytes = 0;
  for (int s = 0; s < plan->step_count; s++) {
    reset_op(plan, s, error);
    if (dq_schedule_step_at(plan->schedule, s)->dynamic) continue; // shapes are not final
    dq_op *op = &plan->steps[s].op;
    DQ_TRY(dq_op_prepare(op, plan->packing));
    if (spent) dq_spent_free(spent, plan, &plan->steps[s]);
    if (op->scratch_bytes > plan->workspace_bytes) plan->workspace_bytes = op->scratch_bytes;
  }
  link_convolutions(plan);
  plan->packed_bytes = dq_arena_bytes(plan->packing) - before;
  plan->packing_time = dq_seconds() - start;
  return DQ_OK;
}

static dq_status pack_and_give_back(dq_plan *plan, dq_graph *owner, dq_error *error) {
  dq_spent spent;
  dq_status status = dq_spent_open(&spent, plan, owner, error);
  if (status == DQ_OK) status = prepare_steps(plan, &spent, error);
  dq_spent_close(&spent);
  return status;
}

// Layers whose own setting does not fit are named, those of a setting for all are counted.
static void report_misfits(const dq_plan *plan) {
  int convolutions = 0, misfits = 0;
  for (int s = 0; s < plan->step_count; s++) {
    const dq_op *op = &plan->steps[s].op;
    convolutions += op->convolution.computed_by != NULL;
    if (!op->convolution.misfit) continue;
    if (!plan->steps[s].named) misfits++;
    else
      dq_message(plan->context, DQ_NOTE,
                 "node '%s': the algorithm that was asked for does not fit the convolution, '%s' is used",
                 op->node->name, op->convolution.computed_by);
  }
  if (misfits)
    dq_message(plan->context, DQ_NOTE,
               "%d of %d convolutions do not fit the algorithm asked for and are computed as by auto", misfits,
               convolutions);
}

// The block, which stays for as long as the plan does, unless it is there already, and the workspace.
static dq_status allocate(dq_plan *plan, dq_error *error) {
  if (plan->lent) return DQ_OK;
  size_t block = plan->block ? 0 : dq_schedule_bytes(plan->schedule);
  DQ_TRY(dq_check_memory(plan->context, block + plan->workspace_bytes, "running the network", error));
  if (!plan->block) plan->block = dq_arena_alloc(plan->arena, block);
  void *workspace = dq_arena_alloc(plan->packing, plan->workspace_bytes + 4096); // large blocks are aligned
  if (!plan->block || !workspace) return dq_fail_memory(error, block + plan->workspace_bytes);
  for (int s = 0; s < plan->step_count; s++) plan->steps[s].op.scratch = workspace;
  return DQ_OK;
}

static dq_status bind(dq_plan *plan, const dq_binding *binding, dq_error *error) {
  int values = plan->graph->value_count;
  plan->tensors = DQ_NEW_ARRAY(plan->arena, values, dq_tensor);
  plan->tapped = DQ_NEW_ARRAY(plan->arena, values, bool);
  plan->packing = dq_context_arena(plan->context);
  if (binding && plan->packing) dq_arena_scatter(plan->packing, binding->places);
  if (!plan->tensors || !plan->tapped || !plan->packing)
    return dq_fail_memory(error, (size_t)values * sizeof *plan->tensors);
  plan->lent = binding && binding->lent;
  DQ_TRY(make_steps(plan, binding, error));
  load_tensors(plan, NULL);
  choose(plan, binding);
  DQ_TRY(pack_and_give_back(plan, binding ? binding->spent : NULL, error));
  if (!binding || !binding->places) report_misfits(plan);
  DQ_TRY(allocate(plan, error));
  if (!plan->lent) dq_plan_place_values(plan);
  dq_arena_scatter(plan->arena, NULL); // binding->places may be gone when a run allocates
  dq_arena_scatter(plan->packing, NULL);
  return DQ_OK;
}

dq_status dq_plan_bind(dq_plan **result, const dq_schedule *schedule, const dq_binding *binding,
                       const dq_context *context, dq_error *error) {
  *result = NULL;
  dq_arena *arena = dq_context_arena(context);
  if (binding && arena) dq_arena_scatter(arena, binding->places);
  dq_plan *plan = arena ? DQ_NEW(arena, dq_plan) : NULL;
  if (!plan) {
    dq_arena_free(arena);
    return dq_fail_memory(error, sizeof *plan);
  }
  *plan = (dq_plan){.arena = arena, .schedule = schedule, .graph = dq_schedule_graph(schedule), .context = context};
  plan->clock = dq_nanoseconds;
  plan->alone = *context;
  plan->alone.pool = NULL;
  dq_status status = bind(plan, binding, error);
  if (status == DQ_OK) *result = plan;
  else dq_plan_free(plan);
  return status;
}

dq_status dq_plan_new(dq_plan **plan, const dq_graph *graph, const dq_shape_request *request, const dq_binding *binding,
                      const dq_context *context, dq_error *error) {
  dq_schedule *schedule;
  *plan = NULL;
  DQ_TRY(dq_schedule_new(&schedule, graph, request, context, error));
  dq_status status = dq_plan_bind(plan, schedule, binding, context, error);
  if (status == DQ_OK) (*plan)->own = schedule;
  else dq_schedule_free(schedule);
  return status;
}

// ---- Packing again ----

// The shapes of the inputs that the schedule was made for.
static dq_status request_of(const dq_schedule *schedule, dq_arena *arena, dq_shape_request *request, dq_error *error) {
  int count = dq_schedule_input_count(schedule);
  dq_input_shape *shapes = DQ_NEW_ARRAY(arena, count, dq_input_shape);
  if (!shapes) return dq_fail_memory(error, (size_t)count * sizeof *shapes);
  for (int i = 0; i < count; i++) {
    const dq_value *input = dq_schedule_input(schedule, i);
    const dq_tensor *tensor = dq_schedule_tensor(schedule, input->index);
    shapes[i] = (dq_input_shape){.name = input->name, .rank = tensor->rank};
    for (int d = 0; d < tensor->rank; d++) shapes[i].dims[d] = tensor->dims[d];
  }
  *request = (dq_shape_request){.inputs = shapes, .input_count = count};
  return DQ_OK;
}

// Everything is as the schedule has it: types and shapes, and which elements are known.
static dq_status check_known(const dq_schedule *schedule, const dq_tensor *known, dq_error *error) {
  const dq_graph *graph = dq_schedule_graph(schedule);
  for (int v = 0; v < graph->value_count; v++) {
    const dq_tensor *before = dq_schedule_tensor(schedule, v), *now = &known[v];
    bool same = before->type == now->type && dq_tensor_same_shape(before, now);
    if (same && (now->data || !before->data)) continue;
    char expected[DQ_SHAPE_TEXT], found[DQ_SHAPE_TEXT];
    return dq_fail(error, DQ_BAD_INPUT,
                   "value '%s': the changed constants make it %s of shape %s, the plan is for %s of shape %s",
                   graph->values[v]->name, dq_dtype_name(now->type), dq_tensor_shape_text(now, found, sizeof found),
                   dq_dtype_name(before->type), dq_tensor_shape_text(before, expected, sizeof expected));
  }
  return DQ_OK;
}

// A plan that was allowed to may have given elements back, this one or another.
static dq_status check_elements(const dq_graph *graph, dq_error *error) {
  for (int v = 0; v < graph->value_count; v++) {
    const dq_value *value = graph->values[v];
    if (!value->constant || value->constant->data || !value->user_count) continue;
    return dq_fail(error, DQ_USAGE,
                   "the elements of '%s' were freed when the plan was bound: the plan cannot be packed again",
                   value->name);
  }
  return DQ_OK;
}

// What follows from the constants as they are now, in `arena`.
static dq_status infer_again(const dq_plan *plan, dq_arena *arena, dq_tensor **known, dq_error *error) {
  dq_context quiet = *plan->context; // what is to be warned of was told while scheduling
  quiet.message = NULL;
  dq_shape_request request;
  DQ_TRY(request_of(plan->schedule, arena, &request, error));
  DQ_TRY(dq_infer(plan->graph, &request, DQ_INFER_ALL, &quiet, arena, known, error));
  return check_known(plan->schedule, *known, error);
}

static dq_status pack_again(dq_plan *plan, const dq_tensor *known, dq_error *error) {
  load_tensors(plan, known);
  dq_status status = prepare_steps(plan, NULL, error);
  if (status == DQ_OK) status = allocate(plan, error);
  if (plan->lent) plan->block = NULL; // the workspace has another size perhaps: memory is lent anew
  else dq_plan_place_values(plan);
  if (status == DQ_OK) return DQ_OK;
  dq_arena_free(plan->packing);
  plan->packing = NULL;
  return status;
}

dq_status dq_plan_repack(dq_plan *plan, dq_error *error) {
  DQ_TRY(check_elements(plan->graph, error));
  dq_arena *arena = dq_context_arena(plan->context);
  dq_tensor *known;
  dq_status status = arena ? infer_again(plan, arena, &known, error) : dq_fail_memory(error, 0);
  if (status != DQ_OK) {
    dq_arena_free(arena);
    return status;
  }
  dq_arena_free(plan->packing);
  plan->packing = arena;
  return pack_again(plan, known, error);
}
