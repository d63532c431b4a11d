#include "lib/session/observe.h"

#include <stdlib.h>

#include "lib/base/half.h"
#include "lib/session/batch.h"

typedef struct observation_job {
  const dq_observation *what;
  const int *slot;        // by value index of the session's graph: which name, -1 for none
  const dq_tensor *alone; // by value index of the observed graph: as one picture gives it; NULL: pictures run alone
  const dq_runner *runner;
  const dq_context *context;
  dq_observe_function on_value;
  void *user;
} observation_job;

static dq_status deliver_batch(const observation_job *job, int slot, const dq_tensor *tensor, dq_error *error) {
  const char *name = job->what->names[slot];
  const dq_tensor *alone = &job->alone[dq_graph_find(job->what->graph, name)->index];
  for (int64_t p = 0; p < job->runner->count; p++) {
    dq_tensor one;
    DQ_TRY(dq_batch_part(&one, tensor, alone, job->runner->batch, p, name, error));
    DQ_TRY(job->on_value(job->user, slot, &one, error));
  }
  return DQ_OK;
}

static dq_status deliver_floats(const observation_job *job, int slot, const dq_tensor *tensor, dq_error *error) {
  return job->alone ? deliver_batch(job, slot, tensor, error) : job->on_value(job->user, slot, tensor, error);
}

static dq_status deliver_halves(const observation_job *job, int slot, const dq_tensor *tensor, dq_error *error) {
  int64_t count = dq_tensor_count(tensor);
  size_t bytes = (size_t)count * sizeof(float);
  float *elements = dq_context_alloc(job->context, bytes);
  if (!elements) return dq_fail_memory(error, bytes);
  for (int64_t i = 0; i < count; i++) elements[i] = dq_half_to_float(((const uint16_t *)tensor->data)[i]);
  dq_tensor floats = *tensor;
  floats.type = DQ_F32, floats.data = elements;
  dq_status status = deliver_floats(job, slot, &floats, error);
  dq_budget_free(elements);
  return status;
}

static dq_status deliver(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  const observation_job *job = user;
  int slot = job->slot[value->index];
  if (slot < 0) return DQ_OK;
  if (tensor->type == DQ_F16 && job->what->halves) return deliver_halves(job, slot, tensor, error);
  if (tensor->type == DQ_F32) return deliver_floats(job, slot, tensor, error);
  return dq_fail(error, DQ_BAD_INPUT, "value '%s' is of type %s, expected float32%s", value->name,
                 dq_dtype_name(tensor->type), job->what->halves ? " or float16" : "");
}

static int *make_slots(const dq_graph *graph, const char *const *names, int count) {
  int *slot = malloc(((size_t)graph->value_count + 1) * sizeof *slot);
  for (int i = 0; slot && i < graph->value_count; i++) slot[i] = -1;
  for (int i = 0; slot && i < count; i++) slot[dq_graph_find(graph, names[i])->index] = i;
  return slot;
}

static dq_status run(observation_job *job, dq_runner *runner, const dq_context *context, dq_error *error) {
  const dq_observation *what = job->what;
  // Only where the batch is what was wished for. A model that fixes its batch sees one picture in all places of it, so
  // that every value is of one picture.
  bool together = what->batch > 1 && runner->batch == what->batch;
  const dq_picture_range range = {what->first, 1, what->pictures, .one_by_one = !together, .doing = what->doing};
  dq_arena *arena = dq_context_arena(context);
  dq_tensor *alone = NULL;
  dq_status status = arena ? DQ_OK : dq_fail_memory(error, 0);
  if (status == DQ_OK && together)
    status = dq_infer_alone(what->graph, what->shapes, what->data, context, arena, &alone, error);
  job->alone = alone;
  job->runner = runner;
  dq_plan_set_tap(runner->session.plan, deliver, job);
  if (status == DQ_OK) status = dq_runner_each(runner, &range, NULL, NULL, error);
  dq_arena_free(arena);
  return status;
}

dq_status dq_observe(const dq_observation *what, dq_observe_function on_value, void *user, const dq_context *context,
                     dq_error *error) {
  dq_runner_options options = {.session = {.shapes = *what->shapes, .taps = what->names, .tap_count = what->count},
                               .batch = what->batch};
  dq_runner runner;
  DQ_TRY(dq_runner_open(&runner, what->graph, what->data, &options, context, error));
  int *slot = make_slots(runner.session.copy, what->names, what->count);
  observation_job job = {.what = what, .slot = slot, .context = context, .on_value = on_value, .user = user};
  dq_status status = slot ? run(&job, &runner, context, error) : dq_fail_memory(error, 0);
  free(slot);
  dq_runner_close(&runner);
  return status;
}
