#include "lib/session/observe.h"

#include <stdlib.h>

#include "lib/base/half.h"
#include "lib/session/batch.h"

enum { LISTENERS = 2 };

typedef struct observation_job {
  const dq_observation *what;
  dq_listener listeners[LISTENERS]; // the caller's, and what->also or one without names
  int *slots[LISTENERS];            // by value index of the session's graph: which of the listener's names, -1 for none
  const dq_tensor *alone; // by value index of the observed graph: as one picture gives it; NULL: pictures run alone
  const dq_runner *runner;
  const dq_context *context;
} observation_job;

static dq_status deliver_batch(const observation_job *job, const dq_listener *to, int slot, const dq_tensor *tensor,
                               dq_error *error) {
  const char *name = to->names[slot];
  const dq_tensor *alone = &job->alone[dq_graph_find(job->what->graph, name)->index];
  for (int64_t p = 0; p < job->runner->count; p++) {
    dq_tensor one;
    DQ_TRY(dq_batch_part(&one, tensor, alone, job->runner->batch, p, name, error));
    DQ_TRY(to->on_value(to->user, slot, &one, error));
  }
  return DQ_OK;
}

static dq_status deliver_floats(const observation_job *job, const dq_value *value, const dq_tensor *tensor,
                                dq_error *error) {
  for (int i = 0; i < LISTENERS; i++) {
    const dq_listener *to = &job->listeners[i];
    int slot = job->slots[i][value->index];
    if (slot < 0) continue;
    DQ_TRY(job->alone ? deliver_batch(job, to, slot, tensor, error) : to->on_value(to->user, slot, tensor, error));
  }
  return DQ_OK;
}

static dq_status deliver_halves(const observation_job *job, const dq_value *value, const dq_tensor *tensor,
                                dq_error *error) {
  int64_t count = dq_tensor_count(tensor);
  size_t bytes = (size_t)count * sizeof(float);
  float *elements = dq_context_alloc(job->context, bytes);
  if (!elements) return dq_fail_memory(error, bytes);
  for (int64_t i = 0; i < count; i++) elements[i] = dq_half_to_float(((const uint16_t *)tensor->data)[i]);
  dq_tensor floats = *tensor;
  floats.type = DQ_F32, floats.data = elements;
  dq_status status = deliver_floats(job, value, &floats, error);
  dq_budget_free(elements);
  return status;
}

static dq_status deliver(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  const observation_job *job = user;
  if (job->slots[0][value->index] < 0 && job->slots[1][value->index] < 0) return DQ_OK;
  if (tensor->type == DQ_F16 && job->what->halves) return deliver_halves(job, value, tensor, error);
  if (tensor->type == DQ_F32) return deliver_floats(job, value, tensor, error);
  return dq_fail(error, DQ_BAD_INPUT, "value '%s' is of type %s, expected float32%s", value->name,
                 dq_dtype_name(tensor->type), job->what->halves ? " or float16" : "");
}

static int *make_slots(const dq_graph *graph, const dq_listener *to) {
  int *slot = malloc(((size_t)graph->value_count + 1) * sizeof *slot);
  for (int i = 0; slot && i < graph->value_count; i++) slot[i] = -1;
  for (int i = 0; slot && i < to->count; i++) slot[dq_graph_find(graph, to->names[i])->index] = i;
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

static dq_status run_for_listeners(observation_job *job, const dq_context *context, dq_error *error) {
  const dq_observation *what = job->what;
  const dq_listener *last = &job->listeners[LISTENERS - 1];
  const char **taps = malloc((size_t)(what->count + last->count + 1) * sizeof *taps);
  if (!taps) return dq_fail_memory(error, 0);
  for (int i = 0; i < what->count; i++) taps[i] = what->names[i];
  for (int i = 0; i < last->count; i++) taps[what->count + i] = last->names[i];
  dq_runner_options options = {
      .session = {.shapes = *what->shapes, .taps = taps, .tap_count = what->count + last->count}, .batch = what->batch};
  dq_runner runner;
  dq_status status = dq_runner_open(&runner, what->graph, what->data, &options, context, error);
  free(taps);
  if (status != DQ_OK) return status;
  for (int i = 0; i < LISTENERS; i++) job->slots[i] = make_slots(runner.session.copy, &job->listeners[i]);
  status = job->slots[0] && job->slots[1] ? run(job, &runner, context, error) : dq_fail_memory(error, 0);
  dq_runner_close(&runner);
  return status;
}

dq_status dq_observe(const dq_observation *what, dq_observe_function on_value, void *user, const dq_context *context,
                     dq_error *error) {
  observation_job job = {.what = what, .listeners = {{what->names, what->count, on_value, user}}, .context = context};
  if (what->also) job.listeners[1] = *what->also;
  dq_status status = run_for_listeners(&job, context, error);
  for (int i = 0; i < LISTENERS; i++) free(job.slots[i]);
  return status;
}
