// Several networks at once through the public interface.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/api_internal.h"
#include "lib/base/clock.h"
#include "lib/multi/multi.h"

typedef struct queue_network {
  dq_model *model;
  dq_session session;
} queue_network;

struct dq_queue {
  dq_engine *engine;
  dq_multi *multi;
  dq_job_threads threads;
  queue_network **networks; // each stays where it is
  int count;
};

struct dq_request {
  dq_multi_request *request;
  const queue_network *network;
  dq_arena *arena;   // of inputs
  dq_tensor *inputs; // with elements
};

// ---- Queues ----

static const dq_queue_options queue_defaults = {.job_time = 0.001, .slice = 0.01, .priorities = 2};

void dq_queue_defaults(dq_queue_options *options, size_t size) {
  dq_api_set_defaults(options, size, &queue_defaults, sizeof *options);
}

static dq_status fail_policy(const char *name, dq_error *error) {
  char names[256] = "";
  for (int i = 0; dq_job_policy_at(i); i++) {
    const size_t at = strlen(names);
    snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", dq_job_policy_at(i)->name);
  }
  return dq_fail(error, DQ_USAGE, "policy is '%.100s', expected one of %s", name, names);
}

static dq_status open_queue(dq_queue *queue, dq_engine *engine, const dq_queue_options *options, dq_error *error) {
  dq_queue_options given = queue_defaults;
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  if (given.workers < 0 || given.workers > 1024)
    return dq_fail(error, DQ_USAGE, "workers is %d, expected 0 to 1024", given.workers);
  if (!(given.job_time > 0) || !isfinite(given.job_time))
    return dq_fail(error, DQ_USAGE, "job_time is %g, expected a time above 0", given.job_time);
  if (!(given.slice >= 0) || !(given.slice <= 1e6))
    return dq_fail(error, DQ_USAGE, "slice is %g, expected 0 to 1e6 seconds", given.slice);
  if (given.priorities < 1 || given.priorities > 1024)
    return dq_fail(error, DQ_USAGE, "priorities is %d, expected 1 to 1024", given.priorities);
  int policy = dq_job_policy_find(given.policy ? given.policy : "fifo");
  if (policy < 0) return fail_policy(given.policy, error);
  int threads = dq_job_threads_find(given.threads ? given.threads : "one");
  if (threads < 0) return dq_fail(error, DQ_USAGE, "threads is '%.100s', expected one, all or auto", given.threads);
  queue->threads = (dq_job_threads)threads;
  dq_multi_options settings = {.workers = given.workers ? given.workers : dq_pool_threads(engine->context.pool),
                               .policy = dq_job_policy_at(policy),
                               .job_time = given.job_time,
                               .slice = given.slice,
                               .priorities = given.priorities};
  queue->engine = engine;
  return dq_multi_open(&queue->multi, &settings, &engine->context, error);
}

dq_code dq_queue_open(dq_queue **queue, dq_engine *engine, const dq_queue_options *options, dq_failure *failure) {
  dq_call call;
  dq_queue *made = NULL;
  dq_status status = DQ_ENTER(&call, {"queue", queue}, {"engine", engine});
  if (queue) *queue = NULL;
  if (status == DQ_OK && !(made = calloc(1, sizeof *made))) status = dq_fail_memory(&call.error, sizeof *made);
  if (status == DQ_OK) status = open_queue(made, engine, options, &call.error);
  if (status == DQ_OK) *queue = made;
  else free(made);
  return dq_api_leave(&call, status, failure);
}

void dq_queue_close(dq_queue *queue) {
  if (!queue) return;
  dq_multi_close(queue->multi);
  for (int i = 0; i < queue->count; i++) {
    dq_session_close(&queue->networks[i]->session);
    queue->networks[i]->model->networks--;
    free(queue->networks[i]);
  }
  free(queue->networks);
  free(queue);
}

static dq_status open_network(queue_network *network, dq_queue *queue, const dq_network_options *options,
                              dq_arena *arena, dq_error *error) {
  dq_session_options settings;
  int64_t batch;
  DQ_TRY(dq_api_session(&settings, &batch, network->model, options, arena, error));
  settings.lent = true;
  const dq_graph *graph = network->model->graph;
  const dq_context *context = dq_multi_context(queue->multi, queue->threads != DQ_THREADS_ONE);
  DQ_TRY(dq_session_open(&network->session, graph, &settings, context, error));
  return dq_multi_add(queue->multi, &network->session, queue->threads, error);
}

// Adds the network as the last one of the queue. A failure leaves the queue as it was.
static dq_status add_network(dq_queue *queue, dq_model *model, const dq_network_options *options, dq_arena *arena,
                             dq_error *error) {
  queue_network **networks = realloc(queue->networks, ((size_t)queue->count + 1) * sizeof *networks);
  if (!networks) return dq_fail_memory(error, ((size_t)queue->count + 1) * sizeof *networks);
  queue->networks = networks;
  queue_network *added = calloc(1, sizeof *added);
  if (!added) return dq_fail_memory(error, sizeof *added);
  added->model = model;
  const dq_status status = open_network(added, queue, options, arena, error);
  if (status == DQ_OK) {
    model->networks++;
    queue->networks[queue->count++] = added;
  } else {
    dq_session_close(&added->session);
    free(added);
  }
  return status;
}

dq_code dq_queue_add(dq_queue *queue, dq_model *model, const dq_network_options *options, int *network,
                     dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"queue", queue}, {"model", model}, {"network", network});
  dq_arena *arena = dq_arena_new(0);
  if (status == DQ_OK && !arena) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = add_network(queue, model, options, arena, &call.error);
  dq_arena_free(arena);
  if (status == DQ_OK) *network = queue->count - 1;
  return dq_api_leave(&call, status, failure);
}

// ---- Requests ----

static dq_status open_inputs(dq_request *request, dq_error *error) {
  const int count = dq_plan_input_count(request->network->session.plan);
  request->inputs = DQ_NEW_ARRAY(request->arena, count, dq_tensor);
  if (!request->inputs) return dq_fail_memory(error, (size_t)count * sizeof *request->inputs);
  for (int i = 0; i < count; i++) {
    dq_tensor *input = &request->inputs[i];
    *input = *dq_plan_input(request->network->session.plan, i);
    input->data = dq_arena_alloc(request->arena, dq_tensor_bytes(input));
    if (!input->data) return dq_fail_memory(error, dq_tensor_bytes(input));
    request->request->inputs[i] = input->data;
  }
  return DQ_OK;
}

static dq_status open_request(dq_request *request, dq_queue *queue, int network, dq_error *error) {
  if (network < 0 || network >= queue->count)
    return dq_fail(error, DQ_USAGE, "network is %d, the queue has %d", network, queue->count);
  request->network = queue->networks[network];
  request->arena = dq_context_arena(&queue->engine->context);
  if (!request->arena) return dq_fail_memory(error, sizeof *request);
  DQ_TRY(dq_multi_request_open(&request->request, queue->multi, network, error));
  return open_inputs(request, error);
}

dq_code dq_request_open(dq_request **request, dq_queue *queue, int network, dq_failure *failure) {
  dq_call call;
  dq_request *made = NULL;
  dq_status status = DQ_ENTER(&call, {"request", request}, {"queue", queue});
  if (request) *request = NULL;
  if (status == DQ_OK && !(made = calloc(1, sizeof *made))) status = dq_fail_memory(&call.error, sizeof *made);
  if (status == DQ_OK) status = open_request(made, queue, network, &call.error);
  if (status == DQ_OK) *request = made;
  else dq_request_close(made);
  return dq_api_leave(&call, status, failure);
}

void dq_request_close(dq_request *request) {
  if (!request) return;
  if (request->request) {
    dq_multi_cancel(request->request);
    dq_multi_wait(request->request, -1);
  }
  dq_multi_request_close(request->request);
  dq_arena_free(request->arena);
  free(request);
}

int dq_request_input(dq_request *request, int index, dq_array *array) {
  if (!request) return 0;
  const dq_plan *plan = request->network->session.plan;
  if (index < 0 || index >= dq_plan_input_count(plan)) return 0;
  return dq_api_array(&request->inputs[index], dq_plan_input_name(plan, index), array);
}

int dq_request_output(const dq_request *request, int index, dq_array *array) {
  if (!request) return 0;
  const dq_plan *plan = request->network->session.plan;
  if (index < 0 || index >= dq_plan_output_count(plan)) return 0;
  return dq_api_array(&request->request->outputs[index], dq_plan_output_name(plan, index), array);
}

void dq_request_defaults(dq_request_options *options, size_t size) {
  dq_api_set_defaults(options, size, &(dq_request_options){0}, sizeof *options);
}

static dq_status submit(dq_request *request, const dq_request_options *options, dq_error *error) {
  dq_request_options given = {0};
  const double most = 1e9; // seconds, so that the sum below fits
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  if (!(given.deadline >= 0 && given.deadline <= most))
    return dq_fail(error, DQ_USAGE, "deadline is %g, expected 0 to %g seconds", given.deadline, most);
  if (!dq_multi_wait(request->request, 0))
    return dq_fail(error, DQ_USAGE, "the request has not ended yet; wait for it, or open another one");
  request->request->priority = given.priority;
  request->request->deadline = given.deadline > 0 ? dq_nanoseconds() + (int64_t)(1e9 * given.deadline) : INT64_MAX;
  return dq_multi_submit(request->request, error);
}

dq_code dq_request_submit(dq_request *request, const dq_request_options *options, dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"request", request});
  if (status == DQ_OK) status = submit(request, options, &call.error);
  return dq_api_leave(&call, status, failure);
}

int dq_request_wait(dq_request *request, double seconds) {
  return request ? dq_multi_wait(request->request, isnan(seconds) ? 0 : seconds) : 1;
}

int dq_request_cancel(dq_request *request) { return request && dq_multi_cancel(request->request); }

static dq_status read_result(dq_multi_request *from, dq_request_facts *facts, dq_error *error) {
  DQ_TRY(dq_api_check_facts(facts, error));
  if (!dq_multi_is_ended(from)) return dq_fail(error, DQ_USAGE, "the request has not ended, or was never submitted");
  if (from->status != DQ_OK) {
    *error = from->error;
    return from->status;
  }
  const dq_request_facts known = {.seconds = 1e-9 * (double)(from->finish - from->submitted),
                                  .running = 1e-9 * (double)from->running};
  dq_api_copy_results(facts, &known, sizeof known);
  return DQ_OK;
}

dq_code dq_request_result(const dq_request *request, dq_request_facts *facts, dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"request", request});
  if (status == DQ_OK) status = read_result(request->request, facts, &call.error);
  return dq_api_leave(&call, status, failure);
}
