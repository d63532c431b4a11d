#include "decomp/tucker/tucker_clock.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/sizes.h"
#include "lib/measure/bench.h"

enum { WARM_UP = 3, ROUNDS = 31, FEWEST_ROUNDS = 7 };
static const double LONGEST = 0.5; // seconds for a layer, once the fewest rounds are done

// ---- Networks of one layer ----

// Elements are drawn by fill_weights.
static dq_value *add_weight(dq_graph *graph, int64_t out, int64_t in, int64_t height, int64_t width) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 4, (int64_t[]){out, in, height, width});
  return tensor ? dq_graph_add_constant(graph, "weight", tensor) : NULL;
}

// A convolution behind `from`; NULL without memory. `like`: attributes are copied from it.
static dq_value *add_conv(dq_graph *graph, dq_value *from, dq_value *weight, const dq_node *like, int64_t group) {
  dq_value *to = from && weight ? dq_graph_fresh_value(graph, "value") : NULL;
  const char *op = like ? like->op_type : "Conv";
  dq_node *node =
      to ? dq_graph_add_node(graph, graph->node_count, op, "", 2, (dq_value *[]){from, weight}, 1, &to) : NULL;
  if (!node) return NULL;
  for (int i = 0; like && i < like->attribute_count; i++)
    if (!dq_node_copy_attribute(graph, node, &like->attributes[i])) return NULL;
  if (!like && group > 1 && !dq_node_set_int(graph, node, "group", group)) return NULL;
  return to;
}

static dq_value *add_input(dq_graph *graph, const int64_t shape[4]) {
  dq_value *value = dq_graph_add_value(graph, "x");
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 4, dq_dimension);
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  if (!value || !dims || !graph->inputs || !graph->outputs) return NULL;
  for (int i = 0; i < 4; i++) dims[i].size = shape[i];
  value->type = DQ_F32, value->rank = 4, value->dims = dims, value->is_input = true;
  graph->inputs[0] = value, graph->input_count = 1;
  return value;
}

// The layer itself, or its core: `out` x `in` channels with the layer's kernel and attributes.
static dq_value *add_kernel(dq_graph *graph, const dq_tucker_job *job, dq_value *from, int64_t out, int64_t in) {
  const int64_t *dims = job->layer->dims;
  int64_t first = job->transposed ? in : out, second = job->transposed ? out : in;
  return add_conv(graph, from, add_weight(graph, first, second, dims[2], dims[3]), job->node, job->layer->group);
}

// The layer at these ranks; the channels of a group: no factor there.
static dq_value *add_layer(dq_graph *graph, const dq_tucker_job *job, dq_ranks ranks) {
  const int64_t *dims = job->layer->dims, group = job->layer->group;
  bool square = job->hosvd.square;
  dq_value *at = add_input(graph, job->input_dims);
  if (ranks.out == 0) return add_kernel(graph, job, at, dims[0], dims[1]);
  if (ranks.in < dims[1] || square)
    at = add_conv(graph, at, add_weight(graph, group * ranks.in, dims[1], 1, 1), NULL, group);
  at = add_kernel(graph, job, at, group * ranks.out, ranks.in);
  if (group * ranks.out < dims[0] || square)
    at = add_conv(graph, at, add_weight(graph, dims[0], ranks.out, 1, 1), NULL, group);
  return at;
}

static void fill_weights(dq_graph *graph, uint64_t seed) {
  for (int w = 0; w < graph->initializer_count; w++) {
    dq_tensor *tensor = graph->initializers[w]->constant;
    dq_random random = dq_random_start(seed, 1);
    for (int64_t i = 0; i < dq_tensor_count(tensor); i++)
      ((float *)tensor->data)[i] = 0.01f * dq_random_normal(&random);
  }
}

static dq_status open_layer(dq_session *session, dq_graph **graph, const dq_tucker_job *job, dq_ranks ranks,
                            const dq_context *context, dq_error *error) {
  *graph = dq_graph_new(0);
  if (!*graph) return dq_fail_memory(error, sizeof(dq_graph *));
  DQ_TRY(dq_graph_set_opset(*graph, "", 13, error));
  dq_value *output = add_layer(*graph, job, ranks);
  if (!output) return dq_fail_memory(error, sizeof(dq_value));
  fill_weights(*graph, context->seed);
  output->is_output = true;
  (*graph)->outputs[0] = output, (*graph)->output_count = 1;
  DQ_TRY(dq_graph_index(*graph, false, error));
  DQ_TRY(dq_session_open(session, *graph, NULL, context, error));
  dq_tensor *input = dq_plan_input(session->plan, 0);
  dq_random random = dq_random_start(context->seed, 2);
  for (int64_t i = 0; i < dq_tensor_count(input); i++) ((float *)input->data)[i] = dq_random_float(&random) - 0.5f;
  return DQ_OK;
}

// ---- Time ----

static dq_status time_run(dq_session *session, double *seconds, dq_error *error) {
  int64_t start = dq_nanoseconds();
  dq_status status = dq_plan_run(session->plan, error);
  *seconds = 1e-9 * (double)(dq_nanoseconds() - start);
  *seconds = *seconds > 1e-9 ? *seconds : 1e-9;
  return status;
}

static dq_status time_both(dq_tucker_layer *layer, dq_session sessions[2], dq_error *error) {
  double times[2][ROUNDS], spent = 0, skipped;
  int rounds = 0;
  for (int round = -WARM_UP; round < 0; round++)
    for (int i = 0; i < 2; i++) DQ_TRY(time_run(&sessions[i], &skipped, error));
  for (; rounds < FEWEST_ROUNDS || (rounds < ROUNDS && spent < LONGEST); rounds++)
    for (int i = 0; i < 2; i++) {
      DQ_TRY(time_run(&sessions[i], &times[i][rounds], error));
      spent += times[i][rounds];
    }
  dq_spread spread[2];
  dq_time_ratio ratio;
  for (int i = 0; i < 2; i++) DQ_TRY(dq_spread_of(&spread[i], times[i], rounds, error));
  DQ_TRY(dq_time_ratio_of(&ratio, times[1], times[0], rounds, error));
  layer->time_before = spread[0].median;
  layer->time_after = spread[1].median;
  layer->time_ratio = ratio.median;
  layer->time_most = ratio.high;
  return DQ_OK;
}

dq_status dq_tucker_clock(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error) {
  static const dq_context plain = {0};
  const dq_context *context = options->context ? options->context : &plain;
  dq_tucker_layer *layer = job->layer;
  job->timed = layer->ranks;
  layer->time_before = layer->time_after = layer->time_ratio = layer->time_most = 0;
  if (job->input_dims[0] < 1) return DQ_OK;
  dq_session sessions[2] = {0};
  dq_graph *graphs[2] = {0};
  const dq_ranks ranks[2] = {{0, 0}, layer->ranks};
  dq_status status = DQ_OK;
  for (int i = 0; status == DQ_OK && i < 2; i++)
    status = open_layer(&sessions[i], &graphs[i], job, ranks[i], context, error);
  if (status == DQ_OK) status = time_both(layer, sessions, error);
  for (int i = 0; i < 2; i++) {
    dq_session_close(&sessions[i]);
    dq_graph_free(graphs[i]);
  }
  return status;
}

dq_status dq_tucker_clock_all(dq_tucker_job *jobs, int count, const dq_tucker_options *options, int *left,
                              dq_error *error) {
  *left = 0;
  for (int i = 0; i < count; i++) {
    dq_tucker_layer *layer = jobs[i].layer;
    bool whole = !jobs[i].hosvd.square && layer->ranks.out == layer->dims[0] / dq_max_i64(layer->group, 1) &&
                 layer->ranks.in == layer->dims[1];
    bool known = jobs[i].timed.out == layer->ranks.out && jobs[i].timed.in == layer->ranks.in;
    if (layer->reason[0] || whole || known) continue;
    DQ_TRY(dq_check_stop(options->context, error));
    DQ_TRY(dq_tucker_clock(&jobs[i], options, error));
    dq_progress(options->context, "timing layers", i + 1, count);
    if (layer->time_most < 1) continue; // also when it could not be measured
    snprintf(layer->reason, sizeof layer->reason, "not faster: %.2f (up to %.2f) times the time at ranks %lld and %lld",
             layer->time_ratio, layer->time_most, (long long)layer->ranks.out, (long long)layer->ranks.in);
    jobs[i].refused = true;
    ++*left;
  }
  return DQ_OK;
}
