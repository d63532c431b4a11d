// What an error in the answers of a layer does to the outputs of the network, measured: the layer
// alone gets the weight of a decomposition and the outputs are compared with the original's. Errors
// of several layers then add up as if they were independent.
#include <math.h>
#include <stdlib.h>

#include "decomp/fit/responses.h"
#include "decomp/tucker/judge.h"
#include "decomp/tucker/tucker_data.h"

enum { PICTURES = 32 };

// Gives a node of a copy another weight and bias.
static dq_status replace(dq_graph *copy, dq_node *node, dq_tensor *weight, dq_tensor *bias, dq_error *error) {
  dq_value **inputs = DQ_NEW_ARRAY(copy->arena, 3, dq_value *);
  if (!inputs) return dq_fail_memory(error, 3 * sizeof *inputs);
  inputs[0] = node->inputs[0];
  inputs[1] = dq_graph_add_constant(copy, "trial_weight", weight);
  inputs[2] = dq_graph_add_constant(copy, "trial_bias", bias);
  if (!inputs[1] || !inputs[2]) return dq_fail_memory(error, sizeof(dq_value));
  node->inputs = inputs;
  node->input_count = 3;
  return dq_graph_index(copy, false, error);
}

static dq_status measure_gain(const dq_judge *judge, const dq_tucker_data *data, dq_tucker_job *job, dq_error *error) {
  dq_graph *copy = dq_graph_copy(data->original);
  if (!copy) return dq_fail_memory(error, sizeof(dq_graph *));
  double noise = 0;
  dq_node *node = copy->nodes[job->node->index];
  dq_status status = job->matrix ? dq_tucker_matrix_replace(copy, node, job->dense, job->shift, error)
                                 : replace(copy, node, job->dense, job->shift, error);
  if (status == DQ_OK) status = dq_judge_noise(judge, copy, &noise, error);
  dq_graph_free(copy);
  job->gain = noise / fmax(job->tried, 1e-9);
  return status;
}

// The pictures that trials are not fitted to; a single picture is all there is.
static dq_status first_half(dq_data **view, const dq_tucker_data *data, dq_error *error) {
  const int64_t pictures = dq_tucker_data_pictures(data->options);
  int64_t *order = malloc((size_t)pictures * sizeof *order), count = 0;
  if (!order) return dq_fail_memory(error, (size_t)pictures * sizeof *order);
  for (int64_t i = 0; i < pictures; i++)
    if (pictures == 1 || !dq_response_half(i)) order[count++] = i;
  dq_status status = dq_data_view(view, data->options->data, order, count, error);
  free(order);
  return status;
}

dq_status dq_tucker_gains(dq_tucker_data *data, dq_error *error) {
  static const dq_context plain = {0};
  const dq_tucker_options *options = data->options;
  const dq_context *context = options->context ? options->context : &plain;
  dq_judge *judge = NULL;
  dq_data *first = NULL;
  DQ_TRY(first_half(&first, data, error));
  dq_status status = dq_judge_open(&judge, data->original, first, PICTURES, options->shapes, context, error);
  for (int i = 0; status == DQ_OK && i < data->count; i++) {
    if (!data->jobs[i].layer->reason[0]) status = measure_gain(judge, data, &data->jobs[i], error);
    dq_progress(context, "what errors do to the outputs", i + 1, data->count);
  }
  dq_judge_free(judge);
  dq_data_free(first);
  return status;
}
