#include "lib/session/observe.h"

#include <stdlib.h>

#include "lib/base/half.h"
#include "lib/base/sizes.h"
#include "lib/session/batch.h"
#include "lib/session/divided.h"

enum { LISTENERS = 1 + DQ_MOST_LISTENERS };

// Which of a listener's names a value has; several may be one value, such as an output and the argument of a Softmax.
typedef struct slot_lists {
  int *first; // by value index of the session's graph: a name, -1 for none
  int *next;  // by name: another name of the same value, -1 for none
} slot_lists;

typedef struct observation_job {
  const dq_observation *what;
  dq_listener listeners[LISTENERS]; // the caller's, then those of what->also and some without names
  slot_lists slots[LISTENERS];
  const dq_tensor *alone; // by value index of the observed graph: as one picture gives it; NULL: pictures run alone
  const dq_runner *runner;
  const dq_context *context;
  dq_divided_loop divided;
} observation_job;

static dq_status pass_on(void *user, int listener, int slot, const dq_tensor *tensor, dq_error *error) {
  const observation_job *job = user;
  return job->listeners[listener].on_value(job->listeners[listener].user, slot, tensor, error);
}

static dq_status deliver_picture(observation_job *job, int listener, int slot, const dq_tensor *tensor,
                                 dq_error *error) {
  const dq_listener *to = &job->listeners[listener];
  dq_tensor measured = *tensor;
  if (to->measure) {
    measured.data = NULL;
    DQ_TRY(to->measure(to->user, slot, tensor, &measured, error));
    if (!measured.data) return DQ_OK;
  }
  return dq_divided_give(&job->divided, listener, slot, &measured, error);
}

static dq_status deliver_batch(observation_job *job, int listener, int slot, const dq_tensor *tensor, dq_error *error) {
  const char *name = job->listeners[listener].names[slot];
  const dq_tensor *alone = &job->alone[dq_graph_find(job->what->graph, name)->index];
  for (int64_t p = 0; p < job->runner->count; p++) {
    dq_tensor one;
    DQ_TRY(dq_batch_part(&one, tensor, alone, job->runner->batch, p, name, error));
    DQ_TRY(deliver_picture(job, listener, slot, &one, error));
  }
  return DQ_OK;
}

static dq_status deliver_floats(observation_job *job, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  for (int i = 0; i < LISTENERS; i++)
    for (int slot = job->slots[i].first[value->index]; slot >= 0; slot = job->slots[i].next[slot])
      DQ_TRY((job->alone ? deliver_batch : deliver_picture)(job, i, slot, tensor, error));
  return DQ_OK;
}

static dq_status deliver_converted(observation_job *job, const dq_value *value, const dq_tensor *tensor,
                                   dq_error *error) {
  int64_t count = dq_tensor_count(tensor);
  size_t bytes = (size_t)count * sizeof(float);
  float *elements = dq_context_alloc(job->context, bytes);
  if (!elements) return dq_fail_memory(error, bytes);
  for (int64_t i = 0; i < count; i++) elements[i] = (float)dq_tensor_get(tensor, i);
  dq_tensor floats = *tensor;
  floats.type = DQ_F32, floats.data = elements;
  dq_status status = deliver_floats(job, value, &floats, error);
  dq_budget_free(elements);
  return status;
}

static dq_status deliver(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  observation_job *job = user;
  bool wanted = false;
  for (int i = 0; i < LISTENERS; i++) wanted |= job->slots[i].first[value->index] >= 0;
  if (!wanted) return DQ_OK;
  bool other = tensor->type == DQ_F16 || tensor->type == DQ_F64;
  if (other && job->what->any_float) return deliver_converted(job, value, tensor, error);
  if (tensor->type == DQ_F32) return deliver_floats(job, value, tensor, error);
  return dq_fail(error, DQ_BAD_INPUT, "value '%s' is of type %s, expected float32%s", value->name,
                 dq_dtype_name(tensor->type), job->what->any_float ? ", float16 or float64" : "");
}

static dq_status make_slots(slot_lists *slots, const dq_graph *graph, const dq_listener *to, dq_error *error) {
  slots->first = malloc(((size_t)graph->value_count + 1) * sizeof *slots->first);
  slots->next = malloc(((size_t)to->count + 1) * sizeof *slots->next);
  if (!slots->first || !slots->next) return dq_fail_memory(error, 0);
  for (int v = 0; v < graph->value_count; v++) slots->first[v] = -1;
  for (int i = to->count - 1; i >= 0; i--) { // the names of a value are called in their order
    int *first = &slots->first[dq_graph_find(graph, to->names[i])->index];
    slots->next[i] = *first;
    *first = i;
  }
  return DQ_OK;
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
  job->divided = (dq_divided_loop){.loop.first = runner, .on_record = pass_on, .user = job};
  status = dq_processes_agree(dq_processes_of(context), status, error);
  if (status == DQ_OK) status = dq_divided_run(&job->divided, &range, error);
  dq_arena_free(arena);
  return status;
}

// The names of all listeners; the caller frees the list. NULL: there is no memory.
static const char **list_taps(const observation_job *job, int *count) {
  int most = 1;
  *count = 0;
  for (int i = 0; i < LISTENERS; i++) most += job->listeners[i].count;
  const char **taps = malloc((size_t)most * sizeof *taps);
  for (int i = 0; taps && i < LISTENERS; i++)
    for (int n = 0; n < job->listeners[i].count; n++) taps[(*count)++] = job->listeners[i].names[n];
  return taps;
}

static dq_status run_for_listeners(observation_job *job, const dq_context *context, dq_error *error) {
  const dq_observation *what = job->what;
  int count;
  const char **taps = list_taps(job, &count);
  if (!taps) return dq_fail_memory(error, 0);
  dq_runner_options options = {.session = {.shapes = *what->shapes, .taps = taps, .tap_count = count},
                               .batch = what->batch};
  dq_runner runner;
  dq_status status = dq_runner_open(&runner, what->graph, what->data, &options, context, error);
  free(taps);
  if (status != DQ_OK) return status;
  for (int i = 0; status == DQ_OK && i < LISTENERS; i++)
    status = make_slots(&job->slots[i], runner.session.copy, &job->listeners[i], error);
  if (status == DQ_OK) status = run(job, &runner, context, error);
  dq_runner_close(&runner);
  return status;
}

dq_status dq_observe(const dq_observation *what, dq_observe_function on_value, void *user, const dq_context *context,
                     dq_error *error) {
  observation_job job = {
      .what = what, .listeners = {{what->names, what->count, on_value, user, what->measure}}, .context = context};
  const dq_listener *next = what->also;
  for (int i = 1; i < LISTENERS && next; i++, next = next->next) job.listeners[i] = *next;
  dq_status status = run_for_listeners(&job, context, error);
  for (int i = 0; i < LISTENERS; i++) free(job.slots[i].first), free(job.slots[i].next);
  return status;
}
