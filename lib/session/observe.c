#include "lib/session/observe.h"

#include <stdlib.h>

typedef struct tap_table {
  const int *slot; // by value index of the session's graph: which name, -1 for none
  dq_observe_function on_value;
  void *user;
} tap_table;

static dq_status deliver(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  const tap_table *table = user;
  int slot = table->slot[value->index];
  if (slot < 0) return DQ_OK;
  if (tensor->type != DQ_F32)
    return dq_fail(error, DQ_BAD_INPUT, "value '%s' is of type %s, expected float32", value->name,
                   dq_dtype_name(tensor->type));
  return table->on_value(table->user, slot, tensor, error);
}

static int *make_slots(const dq_graph *graph, const char *const *names, int count) {
  int *slot = malloc(((size_t)graph->value_count + 1) * sizeof *slot);
  for (int i = 0; slot && i < graph->value_count; i++) slot[i] = -1;
  for (int i = 0; slot && i < count; i++) slot[dq_graph_find(graph, names[i])->index] = i;
  return slot;
}

dq_status dq_observe(const dq_observation *what, dq_observe_function on_value, void *user, const dq_context *context,
                     dq_error *error) {
  dq_runner_options options = {.session = {.shapes = *what->shapes, .taps = what->names, .tap_count = what->count}};
  dq_runner runner;
  DQ_TRY(dq_runner_open(&runner, what->graph, what->data, &options, context, error));
  int *slot = make_slots(runner.session.copy, what->names, what->count);
  dq_status status = slot ? DQ_OK : dq_fail_memory(error, 0);
  tap_table table = {slot, on_value, user};
  dq_plan_set_tap(runner.session.plan, deliver, &table);
  // A model that fixes its batch sees one picture in all places of it, so that every value is of one picture.
  const dq_picture_range range = {what->first, 1, what->pictures, .one_by_one = true, .doing = what->doing};
  if (status == DQ_OK) status = dq_runner_each(&runner, &range, NULL, NULL, error);
  free(slot);
  dq_runner_close(&runner);
  return status;
}
