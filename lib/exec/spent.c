#include "lib/exec/spent.h"

#include <stdlib.h>

static int compare_pointers(const void *a, const void *b) {
  uintptr_t x = (uintptr_t) * (const void *const *)a, y = (uintptr_t) * (const void *const *)b;
  return (x > y) - (x < y);
}

static int by_data(const void *a, const void *b) {
  const dq_holder *x = a, *y = b;
  return compare_pointers(&x->data, &y->data);
}

// The first place in an ordered list of `count` pointers, `step` bytes apart, that is not below `data`.
static int first_of(const void *list, int count, size_t step, const void *data) {
  int low = 0, high = count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    const void *const *at = (const void *const *)((const char *)list + (size_t)middle * step);
    if ((uintptr_t)*at < (uintptr_t)data) low = middle + 1;
    else high = middle;
  }
  return low;
}

static void list_holders(dq_spent *spent, const dq_graph *graph) {
  for (int v = 0; v < graph->value_count; v++) {
    dq_tensor *constant = graph->values[v]->constant;
    if (constant && constant->data) spent->holders[spent->holder_count++] = (dq_holder){constant->data, constant};
  }
}

static void list_readings(dq_spent *spent, const dq_plan *plan) {
  for (int s = 0; s < plan->step_count; s++)
    for (int i = 0; i < plan->steps[s].op.input_count; i++) {
      const dq_tensor *input = plan->steps[s].op.inputs[i];
      if (input && input->data) spent->readings[spent->reading_count++] = input->data;
    }
}

dq_status dq_spent_open(dq_spent *spent, const dq_plan *plan, dq_graph *graph, dq_error *error) {
  *spent = (dq_spent){.graph = graph};
  if (!graph) return DQ_OK;
  size_t inputs = 0, values = (size_t)plan->graph->value_count + (size_t)graph->value_count;
  for (int s = 0; s < plan->step_count; s++) inputs += (size_t)plan->steps[s].op.input_count;
  spent->holders = calloc(values + 1, sizeof *spent->holders);
  spent->readings = calloc(inputs + 1, sizeof *spent->readings);
  if (!spent->holders || !spent->readings) return dq_fail_memory(error, values * sizeof *spent->holders);
  list_holders(spent, plan->graph);
  list_holders(spent, graph);
  list_readings(spent, plan);
  qsort(spent->holders, (size_t)spent->holder_count, sizeof *spent->holders, by_data);
  qsort(spent->readings, (size_t)spent->reading_count, sizeof *spent->readings, compare_pointers);
  return DQ_OK;
}

void dq_spent_close(dq_spent *spent) {
  free(spent->holders);
  free(spent->readings);
  *spent = (dq_spent){0};
}

static bool is_read_once(const dq_spent *spent, const void *data) {
  int at = first_of(spent->readings, spent->reading_count, sizeof *spent->readings, data);
  return at + 1 >= spent->reading_count || spent->readings[at + 1] != data;
}

// Both graphs may hold the same elements, or each its own.
static void give_back(const dq_spent *spent, const dq_plan *plan, void *data) {
  for (int h = first_of(spent->holders, spent->holder_count, sizeof *spent->holders, data);
       h < spent->holder_count && spent->holders[h].data == data; h++)
    spent->holders[h].constant->data = NULL;
  dq_arena_release(plan->graph->arena, data);
  dq_arena_release(spent->graph->arena, data);
}

void dq_spent_free(dq_spent *spent, dq_plan *plan, const dq_step *step) {
  for (int i = 0; spent->graph && i < step->op.input_count && step->op.packed >> i; i++) {
    const dq_value *value = step->op.node->inputs[i];
    if (!(step->op.packed >> i & 1) || !value->constant || value->is_output) continue;
    void *data = plan->tensors[value->index].data;
    if (!data || !is_read_once(spent, data)) continue;
    plan->tensors[value->index].data = NULL;
    give_back(spent, plan, data);
  }
}
