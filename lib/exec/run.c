// Running a plan.
#include <string.h>

#include "lib/base/clock.h"
#include "lib/exec/plan_internal.h"

static dq_status deliver(const dq_plan *plan, const dq_value *value, dq_error *error) {
  if (!value || !plan->tap || !plan->tapped[value->index]) return DQ_OK;
  return plan->tap(plan->tap_user, value, &plan->tensors[value->index], error);
}

// Shapes and memory of a step whose shapes depend on elements.
static dq_status open_dynamic(dq_plan *plan, dq_step *step) {
  dq_op *op = &step->op;
  DQ_TRY(dq_op_infer(op));
  for (int i = 0; i < op->output_count; i++) {
    dq_tensor *output = op->outputs[i];
    if (!output) continue;
    if (output->rank < 0)
      return dq_fail(op->error, DQ_UNSUPPORTED, "%s: the shape of output %d cannot be inferred", op->node->name, i);
    size_t bytes = dq_tensor_bytes(output);
    DQ_TRY(dq_check_memory(plan->context, bytes, "a value", op->error));
    if (!(output->data = dq_arena_alloc(plan->run_arena, bytes))) return dq_fail_memory(op->error, bytes);
  }
  return DQ_OK;
}

static bool is_dynamic(const dq_plan *plan, int s) { return dq_schedule_step_at(plan->schedule, s)->dynamic; }

static dq_status run_step(dq_plan *plan, int s, dq_error *error) {
  dq_step *step = &plan->steps[s];
  dq_op *op = &step->op;
  op->error = error;
  int64_t start = plan->timing ? plan->clock() : 0;
  if (is_dynamic(plan, s)) DQ_TRY(open_dynamic(plan, step));
  DQ_TRY(dq_op_run(op));
  if (plan->timing) step->nanoseconds = plan->clock() - start;
  for (int i = 0; i < op->output_count; i++) DQ_TRY(deliver(plan, op->node->outputs[i], error));
  return DQ_OK;
}

static dq_status open_run_arena(dq_plan *plan, dq_error *error) {
  bool dynamic = false;
  for (int s = 0; s < plan->step_count; s++) dynamic |= is_dynamic(plan, s);
  if (!dynamic) return DQ_OK;
  dq_arena_free(plan->run_arena);
  plan->run_arena = dq_context_arena(plan->context);
  return plan->run_arena ? DQ_OK : dq_fail_memory(error, 0);
}

// What is there before the first step.
static dq_status deliver_known(const dq_plan *plan, dq_error *error) {
  for (int i = 0; i < dq_plan_input_count(plan); i++)
    DQ_TRY(deliver(plan, dq_schedule_input(plan->schedule, i), error));
  for (int v = 0; plan->tap && v < plan->graph->value_count; v++)
    if (dq_schedule_place(plan->schedule, v)->storage == DQ_STORED_SCHEDULE)
      DQ_TRY(deliver(plan, plan->graph->values[v], error));
  return DQ_OK;
}

dq_status dq_plan_run_steps(dq_plan *plan, int from, int end, dq_error *error) {
  if (!plan->packing)
    return dq_fail(error, DQ_USAGE, "packing the changed constants failed: the plan does not run until that succeeds");
  if (plan->lent && !plan->block) return dq_fail(error, DQ_USAGE, "the plan was lent no memory to run in");
  if (from == 0) {
    DQ_TRY(open_run_arena(plan, error));
    DQ_TRY(deliver_known(plan, error));
  }
  for (int s = from; s < end; s++) {
    DQ_TRY(dq_check_stop(plan->context, error));
    DQ_TRY(run_step(plan, s, error));
  }
  return DQ_OK;
}

dq_status dq_plan_run(dq_plan *plan, dq_error *error) { return dq_plan_run_steps(plan, 0, plan->step_count, error); }

size_t dq_plan_state_bytes(const dq_plan *plan) { return dq_schedule_bytes(plan->schedule); }

void dq_plan_save(const dq_plan *plan, void *state) {
  if (dq_plan_state_bytes(plan)) memcpy(state, plan->block, dq_plan_state_bytes(plan));
}

void dq_plan_restore(dq_plan *plan, const void *state) {
  if (dq_plan_state_bytes(plan)) memcpy(plan->block, state, dq_plan_state_bytes(plan));
}
