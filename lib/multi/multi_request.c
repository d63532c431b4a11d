// Requests: their memory, and what a worker does for one.
#include <string.h>

#include "lib/base/clock.h"
#include "lib/multi/multi_internal.h"

static const dq_multi_network *network_of(const dq_multi_request *request) {
  return &request->multi->networks[request->network];
}

// ---- Memory ----

// What dq_budget_realloc may grow later stands for an output whose shape is not known yet.
static dq_status open_outputs(dq_multi_request *request, const dq_plan *plan, dq_error *error) {
  for (int i = 0; i < dq_plan_output_count(plan); i++) {
    dq_tensor *copy = &request->outputs[i];
    *copy = *dq_plan_output(plan, i);
    size_t bytes = dq_plan_output_fixed(plan, i) ? dq_tensor_bytes(copy) : 0;
    if (!dq_plan_output_fixed(plan, i)) copy->rank = -1;
    copy->data = dq_context_alloc(&request->multi->running, bytes + 1);
    if (!copy->data) return dq_fail_memory(error, bytes);
  }
  return DQ_OK;
}

dq_status dq_multi_request_open(dq_multi_request **result, dq_multi *multi, int network, dq_error *error) {
  *result = NULL;
  const dq_plan *plan = multi->networks[network].session->plan;
  const size_t inputs = (size_t)dq_plan_input_count(plan), outputs = (size_t)dq_plan_output_count(plan);
  dq_multi_request *request = dq_context_alloc(&multi->running, sizeof *request);
  if (!request) return dq_fail_memory(error, sizeof *request);
  *request = (dq_multi_request){.network = network, .multi = multi, .deadline = INT64_MAX, .task = {.place = -1}};
  request->inputs = dq_context_alloc(&multi->running, (inputs + 1) * sizeof *request->inputs);
  request->outputs = dq_context_alloc(&multi->running, (outputs + 1) * sizeof *request->outputs);
  dq_status status = request->inputs && request->outputs ? DQ_OK : dq_fail_memory(error, sizeof *request);
  if (status == DQ_OK) status = open_outputs(request, plan, error);
  if (status == DQ_OK) *result = request;
  else dq_multi_request_close(request);
  return status;
}

void dq_multi_request_close(dq_multi_request *request) {
  if (!request) return;
  int outputs = dq_plan_output_count(network_of(request)->session->plan);
  for (int i = 0; request->outputs && i < outputs; i++) dq_budget_free(request->outputs[i].data);
  dq_budget_free(request->outputs);
  dq_budget_free(request->inputs);
  dq_budget_free(request);
}

// ---- What a worker does ----

static dq_status begin(dq_multi_request *request) {
  if (!request->lane) DQ_TRY(dq_multi_open_lane(&request->lane, request->multi, network_of(request), &request->error));
  dq_plan *plan = request->lane->plan;
  dq_plan_lend(plan, request->frame);
  for (int i = 0; i < dq_plan_input_count(plan); i++)
    dq_plan_lend_input(plan, i, request->prepare ? NULL : request->inputs[i]);
  return DQ_OK;
}

static dq_status copy_outputs(dq_multi_request *request) {
  const dq_plan *plan = request->lane->plan;
  for (int i = 0; i < dq_plan_output_count(plan); i++) {
    const dq_tensor *output = dq_plan_output(plan, i);
    size_t bytes = dq_tensor_bytes(output);
    void *data = request->outputs[i].data;
    if (!dq_plan_output_fixed(plan, i) && !(data = dq_budget_realloc(data, bytes + 1)))
      return dq_fail_memory(&request->error, bytes);
    request->outputs[i] = *output;
    request->outputs[i].data = data;
    if (bytes) memcpy(data, output->data, bytes);
  }
  return DQ_OK;
}

static dq_status run_steps(dq_multi_request *request, int worker) {
  const dq_job *job = &network_of(request)->jobs[request->job];
  dq_multi_lane *lane = request->lane;
  if (lane->context.pool) dq_pool_set_caller(lane->context.pool, lane->caller = worker);
  dq_status status = dq_plan_run_steps(lane->plan, job->from, job->end, &request->error);
  request->helping += atomic_exchange(&lane->helping, 0);
  return status;
}

bool dq_multi_run_job(dq_multi_request *request, int worker) {
  const bool prepares = request->job == DQ_JOB_PREPARE, first = prepares || (!request->prepare && !request->job);
  dq_status status = first ? begin(request) : DQ_OK;
  if (status == DQ_OK && prepares) status = request->prepare(request->user, request->lane->plan, &request->error);
  if (status == DQ_OK && !prepares) status = run_steps(request, worker);
  bool last = ++request->job == network_of(request)->job_count;
  if (status == DQ_OK && last) status = copy_outputs(request);
  request->status = status;
  return last || status != DQ_OK;
}
