// Plans that read the packed operands of another plan, and the memory that a caller lends to runs.
#include <stdint.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/exec/plan_internal.h"

enum { ALIGNMENT = 64 };

static dq_status share_steps(dq_plan *plan, dq_error *error) {
  plan->steps = DQ_NEW_ARRAY(plan->arena, plan->step_count, dq_step);
  if (!plan->steps) return dq_fail_memory(error, (size_t)plan->step_count * sizeof *plan->steps);
  for (int s = 0; s < plan->step_count; s++) {
    const dq_op *origin = &plan->origin->steps[s].op;
    dq_op *op = &plan->steps[s].op;
    const bool alone = origin->context == &plan->origin->alone;
    *op = (dq_op){.context = alone ? &plan->alone : plan->context, .node = origin->node, .error = error};
    DQ_TRY(dq_op_connect(op, plan->tensors, plan->arena));
    DQ_TRY(dq_op_share(op, origin, plan->arena));
  }
  return DQ_OK;
}

// Values that a run of the origin made while running are unknown again.
static dq_status share_values(dq_plan *plan, dq_error *error) {
  const int count = plan->graph->value_count;
  plan->tensors = DQ_NEW_ARRAY(plan->arena, count, dq_tensor);
  plan->tapped = DQ_NEW_ARRAY(plan->arena, count, bool);
  if (!plan->tensors || !plan->tapped) return dq_fail_memory(error, (size_t)count * sizeof *plan->tensors);
  for (int v = 0; v < count; v++) {
    bool made = dq_schedule_place(plan->schedule, v)->storage == DQ_STORED_RUN;
    plan->tensors[v] = made ? *dq_schedule_tensor(plan->schedule, v) : plan->origin->tensors[v];
  }
  return DQ_OK;
}

dq_status dq_plan_share(dq_plan **result, const dq_plan *origin, const dq_context *context, dq_error *error) {
  *result = NULL;
  dq_arena *arena = dq_context_arena(context);
  dq_plan *plan = arena ? DQ_NEW(arena, dq_plan) : NULL;
  if (!plan) {
    dq_arena_free(arena);
    return dq_fail_memory(error, sizeof *plan);
  }
  *plan = (dq_plan){.arena = arena,
                    .schedule = origin->schedule,
                    .origin = origin,
                    .graph = origin->graph,
                    .context = context,
                    .step_count = origin->step_count,
                    .lent = true,
                    .packing = origin->packing,
                    .workspace_bytes = origin->workspace_bytes,
                    .clock = origin->clock,
                    .alone = *context};
  plan->alone.pool = NULL;
  dq_status status = share_values(plan, error);
  if (status == DQ_OK) status = share_steps(plan, error);
  if (status == DQ_OK) *result = plan;
  else dq_plan_free(plan);
  return status;
}

size_t dq_plan_lent_bytes(const dq_plan *plan) {
  return dq_round_up(dq_schedule_bytes(plan->schedule), ALIGNMENT) + dq_round_up(plan->workspace_bytes, ALIGNMENT);
}

void dq_plan_lend(dq_plan *plan, void *memory) {
  if (plan->block == memory) return;
  plan->block = memory;
  dq_plan_place_values(plan);
  char *workspace = (char *)memory + dq_round_up(dq_schedule_bytes(plan->schedule), ALIGNMENT);
  for (int s = 0; s < plan->step_count; s++) plan->steps[s].op.scratch = workspace;
}

static bool lies_in(const dq_plan *plan, int value, int root) {
  const dq_place *place = dq_schedule_place(plan->schedule, value);
  return place->storage == DQ_STORED_BLOCK && place->root == root;
}

// Moves a root and all that shares its memory to `data`; NULL: to its place in the block.
static void move_root(dq_plan *plan, int root, void *data) {
  if (!data) data = (char *)plan->block + dq_schedule_place(plan->schedule, root)->offset;
  if (plan->tensors[root].data == data) return;
  for (int v = 0; v < plan->graph->value_count; v++)
    if (lies_in(plan, v, root)) plan->tensors[v].data = data;
}

void dq_plan_lend_input(dq_plan *plan, int i, const void *elements) {
  const int input = dq_schedule_input(plan->schedule, i)->index;
  move_root(plan, input, (void *)(uintptr_t)elements); // runs do not write to inputs
}

// Whether the memory of a root is that of values that a step computes, none of which is larger than the output, and no
// part of a concatenation.
static bool may_move(const dq_plan *plan, int root, size_t bytes) {
  const dq_place *place = dq_schedule_place(plan->schedule, root);
  if (place->first < 0 || place->joined >= 0) return false;
  for (int v = 0; v < plan->graph->value_count; v++) {
    if (lies_in(plan, v, root) && dq_tensor_bytes(&plan->tensors[v]) > bytes) return false;
    if (lies_in(plan, v, v) && dq_schedule_place(plan->schedule, v)->joined == root) return false;
  }
  return true;
}

bool dq_plan_lend_output(dq_plan *plan, int i, void *elements) {
  const int output = plan->graph->outputs[i]->index;
  const dq_place *place = dq_schedule_place(plan->schedule, output);
  if (place->storage != DQ_STORED_BLOCK) return false;
  if (elements && !may_move(plan, place->root, dq_tensor_bytes(&plan->tensors[output]))) return false;
  move_root(plan, place->root, elements);
  return true;
}
