// Noise through the network as it is and through one with float16 weights, all side by side: normal noise of
// deviation 1, as a network with normalized input expects, and bytes of pictures, uniform from 0 to the largest
// input. What is compared is float32 arithmetic on both sides: the difference is the weights' rounding alone.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/half.h"
#include "lib/base/random.h"
#include "lib/eval/eval.h"
#include "lib/graph/saturation.h"
#include "lib/session/session.h"
#include "quant/amp/amp_internal.h"

struct dq_amp_probe {
  dq_graph *graphs[2]; // as it is; with float16 weights
  dq_session sessions[2][DQ_AMP_PROBES];
};

static dq_plan *plan_of(const dq_amp_probe *probe, bool half, int kind) { return probe->sessions[half][kind].plan; }

// Inputs as they were found to be, whatever the user asked and the model left open.
static bool fix_inputs(const dq_amp_job *job, dq_graph *copy) {
  for (int i = 0; i < copy->input_count; i++) {
    const dq_value *known = dq_graph_find(job->graph, copy->inputs[i]->name);
    const dq_tensor *tensor = &job->tensors[known->index];
    dq_dimension *dims = DQ_NEW_ARRAY(copy->arena, tensor->rank, dq_dimension);
    if (!dims || tensor->rank < 0) return false;
    for (int d = 0; d < tensor->rank; d++) dims[d].size = tensor->dims[d];
    copy->inputs[i]->dims = dims;
    copy->inputs[i]->rank = tensor->rank;
    copy->inputs[i]->type = tensor->type;
  }
  return true;
}

static dq_tensor *rounded_copy(dq_graph *copy, const dq_tensor *from) {
  dq_tensor *to = dq_tensor_new(copy->arena, DQ_F32, from->rank, from->dims);
  for (int64_t i = 0; to && i < dq_tensor_count(from); i++)
    ((float *)to->data)[i] = dq_round_to_half(((const float *)from->data)[i]);
  return to;
}

static bool round_constant(dq_graph *copy, dq_value *value, const dq_tensor *constant) {
  dq_tensor *rounded = rounded_copy(copy, constant);
  const dq_attribute attribute = {.name = "value", .type = DQ_ATTRIBUTE_TENSOR, .tensor = rounded};
  if (!rounded) return false;
  if (value->constant) return dq_graph_set_constant(copy, value, rounded);
  return dq_node_copy_attribute(copy, value->producer, &attribute);
}

// Takes an initializer to be an input, whose elements come later.
static bool open_constant(dq_graph *copy, dq_value *value) {
  const dq_tensor *tensor = value->constant;
  dq_graph_remove_constant(copy, value);
  return dq_graph_add_input(copy, value, tensor);
}

static bool make_half(const dq_amp_job *job, dq_graph *copy, const bool *open) {
  for (int v = 0; v < job->value_count; v++) {
    const dq_value *value = job->graph->values[v];
    const dq_tensor *constant = dq_amp_constant(job, value);
    if (!constant || !value->user_count || dq_amp_read_as_float(job, value)) continue;
    dq_value *here = dq_graph_find(copy, value->name);
    if (!(open[v] ? open_constant(copy, here) : round_constant(copy, here, constant))) return false;
  }
  return true;
}

static void fill_input(dq_tensor *tensor, int kind, const dq_amp_job *job) {
  dq_random random = dq_random_start(job->context ? job->context->seed : 0, (uint64_t)kind);
  double input_max = job->options->input_max;
  float scale = (float)(input_max > 0 ? input_max : DQ_AMP_INPUT_MAX);
  memset(tensor->data, 0, dq_tensor_bytes(tensor));
  for (int64_t i = 0; tensor->type == DQ_F32 && i < dq_tensor_count(tensor); i++)
    ((float *)tensor->data)[i] = kind ? scale * dq_random_float(&random) : dq_random_normal(&random);
}

// A session in which every node runs as it stands, with noise in its inputs. `taps` may be NULL.
static dq_status open_session(dq_session *session, const dq_amp_job *job, const dq_graph *graph, int kind,
                              const char *const *taps, dq_error *error) {
  dq_session_options options = {.taps = taps, .tap_count = taps ? graph->value_count : 0, .plain = true};
  DQ_TRY(dq_session_open(session, graph, &options, job->context, error));
  for (int i = 0; i < dq_plan_input_count(session->plan); i++) fill_input(dq_plan_input(session->plan, i), kind, job);
  return DQ_OK;
}

static dq_status open_sessions(dq_amp_probe *probe, const dq_amp_job *job, dq_error *error) {
  for (int half = 0; half < 2; half++)
    for (int kind = 0; kind < DQ_AMP_PROBES; kind++) {
      DQ_TRY(open_session(&probe->sessions[half][kind], job, probe->graphs[half], kind, NULL, error));
      if (dq_plan_step_count(plan_of(probe, half, kind)) != dq_plan_step_count(plan_of(probe, false, 0)))
        return dq_fail(error, DQ_UNSUPPORTED, "weights are computed from others");
    }
  return DQ_OK;
}

dq_status dq_amp_probe_open(dq_amp_probe **result, const dq_amp_job *job, const bool *open, dq_error *error) {
  static const char *const saturating[] = {"Softmax", "Sigmoid", "HardSigmoid", "Tanh", NULL};
  dq_amp_probe *probe = *result = calloc(1, sizeof *probe);
  if (!probe) return dq_fail_memory(error, sizeof *probe);
  for (int half = 0; half < 2; half++) {
    dq_graph *copy = probe->graphs[half] = dq_graph_copy(job->graph);
    if (!copy || !fix_inputs(job, copy) || (half && !make_half(job, copy, open))) return dq_fail_memory(error, 0);
    dq_show_arguments(copy, saturating); // noise saturates them: nothing is left of an error behind them
    DQ_TRY(dq_graph_index(copy, true, error));
  }
  return open_sessions(probe, job, error);
}

void dq_amp_probe_close(dq_amp_probe *probe) {
  for (int half = 0; probe && half < 2; half++) {
    for (int kind = 0; kind < DQ_AMP_PROBES; kind++) dq_session_close(&probe->sessions[half][kind]);
    dq_graph_free(probe->graphs[half]);
  }
  free(probe);
}

typedef struct seen {
  const dq_amp_job *job;
  double *largest;
} seen;

static dq_status on_value(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  (void)error;
  const seen *to = user;
  const dq_value *known = dq_graph_find(to->job->graph, value->name);
  if (tensor->type != DQ_F32 || !known) return DQ_OK;
  double *largest = &to->largest[known->index];
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) {
    double magnitude = fabs((double)((const float *)tensor->data)[i]);
    if (!(magnitude <= *largest)) *largest = isnan(magnitude) ? INFINITY : magnitude;
  }
  return DQ_OK;
}

static dq_status look(const dq_amp_job *job, const dq_graph *copy, int kind, const char *const *names, seen *to,
                      dq_error *error) {
  dq_session session;
  DQ_TRY(open_session(&session, job, copy, kind, names, error));
  dq_plan_set_tap(session.plan, on_value, to);
  dq_status status = dq_plan_run(session.plan, error);
  dq_session_close(&session);
  return status;
}

dq_status dq_amp_probe_largest(const dq_amp_job *job, double *largest, dq_error *error) {
  seen to = {job, largest};
  for (int v = 0; v < job->value_count; v++) largest[v] = -1;
  dq_graph *copy = dq_graph_copy(job->graph);
  dq_status status = copy && fix_inputs(job, copy) ? dq_graph_index(copy, true, error) : dq_fail_memory(error, 0);
  const char **names = status == DQ_OK ? DQ_NEW_ARRAY(copy->arena, copy->value_count, const char *) : NULL;
  if (status == DQ_OK && !names) status = dq_fail_memory(error, 0);
  for (int v = 0; names && v < copy->value_count; v++) names[v] = copy->values[v]->name;
  for (int kind = 0; status == DQ_OK && kind < DQ_AMP_PROBES; kind++) status = look(job, copy, kind, names, &to, error);
  dq_graph_free(copy);
  return status;
}

int dq_amp_probe_steps(const dq_amp_probe *probe) { return dq_plan_step_count(plan_of(probe, false, 0)); }
const dq_node *dq_amp_probe_node(const dq_amp_probe *probe, int step) {
  return dq_plan_step(plan_of(probe, false, 0), step, NULL);
}

dq_status dq_amp_probe_run(dq_amp_probe *probe, int step, dq_error *error) {
  for (int half = 0; half < 2; half++)
    for (int kind = 0; kind < DQ_AMP_PROBES; kind++)
      DQ_TRY(dq_plan_run_steps(plan_of(probe, half, kind), step, step + 1, error));
  return DQ_OK;
}

const dq_tensor *dq_amp_probe_value(const dq_amp_probe *probe, int kind, bool half, const char *name) {
  return dq_plan_value(plan_of(probe, half, kind), name);
}

void dq_amp_probe_set(dq_amp_probe *probe, const char *name, const float *elements) {
  for (int kind = 0; kind < DQ_AMP_PROBES; kind++) {
    const dq_tensor *tensor = dq_plan_value(plan_of(probe, true, kind), name);
    memcpy(tensor->data, elements, dq_tensor_bytes(tensor));
  }
}

double dq_amp_probe_sqnr(const dq_amp_probe *probe) {
  double shares = 0;
  int measured = 0;
  for (int kind = 0; kind < DQ_AMP_PROBES; kind++) {
    double signal = 0, noise = 0;
    for (int o = 0; o < dq_plan_output_count(plan_of(probe, false, kind)); o++) {
      if (!dq_plan_output_fixed(plan_of(probe, false, kind), o)) continue;
      const dq_tensor *exact = dq_plan_output(plan_of(probe, false, kind), o),
                      *half = dq_plan_output(plan_of(probe, true, kind), o);
      for (int64_t i = 0; exact->type == DQ_F32 && i < dq_tensor_count(exact); i++) {
        double x = (double)((const float *)exact->data)[i], y = (double)((const float *)half->data)[i];
        signal += dq_squared_signal(x), noise += dq_squared_error(x, y);
      }
    }
    if (!(signal > 0)) continue;
    shares += noise / signal;
    measured++;
  }
  return measured ? 10 * log10(measured / shares) : NAN;
}
