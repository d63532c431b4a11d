// Concatenation without copies: an input lies where its part of the result is, and what makes it writes it
// there. The axis must have nothing but ones in front of it; nothing may be written in place while another
// value in the same memory is still needed; and the most bytes alive at once must not grow, as the whole
// result then has its memory from its first part on.
#include "lib/exec/plan_internal.h"

// Whether the inputs of a step lie one behind another in its output.
static bool is_join(const dq_op *op) {
  const dq_tensor *output = op->outputs[0];
  if (!(op->row->flags & DQ_OP_JOIN) || output->rank < 1) return false;
  int64_t axis = dq_node_int(op->node, "axis", 1);
  if (axis < 0) axis += output->rank;
  return axis < output->rank && dq_tensor_product(output, 0, (int)axis) == 1;
}

static bool alive(const dq_place *place, int step) { return place->first <= step && step <= place->last; }

// Whether the live bytes stay below the peak when `part` lies in `whole`; then they are made so. live is by
// step + 1.
static bool keeps_peak(const dq_place *whole, const dq_place *part, size_t peak, size_t *live) {
  int first = whole->first < part->first ? whole->first : part->first;
  int last = whole->last > part->last ? whole->last : part->last;
  for (int pass = 0; pass < 2; pass++)
    for (int step = first; step <= last; step++) {
      size_t bytes = live[step + 1];
      if (!alive(whole, step)) bytes += whole->bytes;
      if (alive(part, step)) bytes -= part->bytes;
      if (bytes > peak) return false;
      if (pass) live[step + 1] = bytes;
    }
  return true;
}

static bool may_join(const dq_plan *plan, int step, const dq_place *whole, int value) {
  const dq_place *part = &plan->places[plan->places[value].root];
  if (!plan->places[value].planned || part == whole || part->joined >= 0 || part->first < 0) return false;
  bool over = part->last <= step; // nothing happens to it behind
  return over || (!part->in_place && !whole->in_place);
}

static void join_inputs(dq_plan *plan, int step, size_t peak, size_t *live) {
  const dq_op *op = &plan->steps[step].op;
  int output = op->node->outputs[0]->index;
  dq_place *whole = &plan->places[output];
  if (!whole->planned || whole->root != output || !is_join(op)) return;
  size_t shift = 0;
  for (int i = 0; i < op->input_count; i++) {
    int value = op->node->inputs[i]->index;
    dq_place *part = &plan->places[plan->places[value].root];
    if (may_join(plan, step, whole, value) && keeps_peak(whole, part, peak, live)) {
      part->joined = output;
      part->shift = shift;
      if (part->first < whole->first) whole->first = part->first;
      if (part->last > whole->last) whole->last = part->last;
    }
    shift += dq_tensor_bytes(op->inputs[i]);
  }
}

void dq_plan_join(dq_plan *plan, size_t *live) {
  size_t peak = 0;
  for (int v = 0; v < plan->graph->value_count; v++) {
    const dq_place *place = &plan->places[v];
    for (int step = place->first; place->planned && place->root == v && step <= place->last; step++) {
      live[step + 1] += place->bytes;
      if (live[step + 1] > peak) peak = live[step + 1];
    }
  }
  for (int step = 0; step < plan->step_count; step++)
    if (plan->steps[step].op.output_count && plan->steps[step].op.outputs[0]) join_inputs(plan, step, peak, live);
}
