#include "decomp/tucker/tucker_clock.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/base/sizes.h"
#include "lib/measure/timed_blocks.h"
#include "lib/measure/feed.h"

enum { WARM_UP = 3, ROUNDS = 32, BLOCKS = 16, FEWEST_BLOCKS = 7 }; // fewer than 7 have no level of 97 %
static const double LONGEST = 0.5;                                 // seconds for a layer, once the fewest are done

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
  return dq_session_open(session, *graph, NULL, context, error);
}

// ---- Time ----

static dq_status set_times(dq_tucker_layer *layer, const dq_timed_plan plans[2], const dq_blocks *made,
                           dq_error *error) {
  dq_spread spread[2];
  dq_time_ratio ratio;
  for (int i = 0; i < 2; i++) DQ_TRY(dq_spread_of(&spread[i], plans[i].times, made->rounds, error));
  DQ_TRY(dq_block_ratio_of(&ratio, plans[1].least, plans[0].least, made->count, error));
  layer->time_before = spread[0].median;
  layer->time_after = spread[1].median;
  layer->time_ratio = ratio.median;
  layer->time_most = ratio.high;
  return DQ_OK;
}

static dq_status time_both(dq_tucker_layer *layer, dq_session sessions[2], const dq_context *context, dq_arena *arena,
                           dq_error *error) {
  const dq_block_options options = {
      .rounds = ROUNDS, .warmup = WARM_UP, .blocks = BLOCKS, .fewest = FEWEST_BLOCKS, .time_limit = LONGEST};
  double times[2][ROUNDS];
  dq_timed_plan plans[2];
  dq_blocks made;
  for (int i = 0; i < 2; i++) {
    dq_tensor **inputs;
    DQ_TRY(dq_feed_make(&inputs, sessions[i].plan, context, arena, error));
    plans[i] = (dq_timed_plan){.session = &sessions[i], .inputs = inputs, .times = times[i]};
  }
  DQ_TRY(dq_blocks_run(&made, plans, 2, &options, context, arena, error));
  return set_times(layer, plans, &made, error);
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
  dq_arena *arena = dq_context_arena(context);
  dq_status status = arena ? DQ_OK : dq_fail_memory(error, 0);
  for (int i = 0; status == DQ_OK && i < 2; i++)
    status = open_layer(&sessions[i], &graphs[i], job, ranks[i], context, error);
  if (status == DQ_OK) status = time_both(layer, sessions, context, arena, error);
  for (int i = 0; i < 2; i++) {
    dq_session_close(&sessions[i]);
    dq_graph_free(graphs[i]);
  }
  dq_arena_free(arena);
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
