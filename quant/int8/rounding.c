// Rounding of a quantized graph by a method that looks at data, layer after layer.
#include "quant/numeric/rounding.h"

#include <math.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/sizes.h"
#include "lib/eval/eval.h"
#include "lib/session/pair.h"
#include "lib/verdict/output_error.h"
#include "quant/int8/facts.h"
#include "quant/int8/stages.h"
#include "quant/rounding/rounding_walk.h"

const dq_rounded_layer *dq_rounding_find(const dq_rounding *rounding, const char *output) {
  for (int i = 0; i < rounding->count; i++)
    if (!strcmp(rounding->layers[i].output, output)) return &rounding->layers[i];
  return NULL;
}

// ---- What stands in the graph ----

// The integers of a layer as they were inserted, and a copy of them.
typedef struct written {
  const dq_weight_type *type;
  dq_tensor *weight, *bias;              // of that type; int32 or NULL
  const dq_tensor *scales, *bias_scales; // float32
  const int8_t *weight_before;
  const int32_t *bias_before;
  dq_block_rule rule; // that the weights keep to; length 0: none
} written;

// false when there is a bias that is no int32.
static bool find_written(written *w, const dq_int8_job *job, const dq_node *node) {
  const dq_weight_type *type = job->in->weight_type;
  dq_arena *arena = job->arena;
  const dq_node *weight = dq_dequantized_input(node, 1, type->type), *bias = dq_dequantized_input(node, 2, DQ_I32);
  if (!weight || (dq_node_input(node, 2) && !bias)) return false;
  *w = (written){.type = type, .weight = weight->inputs[0]->constant, .scales = weight->inputs[1]->constant};
  w->weight_before = dq_arena_copy(arena, w->weight->data, dq_tensor_bytes(w->weight));
  if (!bias) return w->weight_before != NULL;
  w->bias = bias->inputs[0]->constant, w->bias_scales = bias->inputs[1]->constant;
  w->bias_before = dq_arena_copy(arena, w->bias->data, dq_tensor_bytes(w->bias));
  return w->weight_before && w->bias_before;
}

static bool fits(const written *w, const dq_rounded_layer *layer) {
  return layer->weights == dq_tensor_count(w->weight) && layer->channels == (w->bias ? dq_tensor_count(w->bias) : 0);
}

static void write_layer(const written *w, const dq_rounded_layer *layer) {
  const int low = w->type->low, high = w->type->high;
  int8_t *elements = w->weight->data;
  for (int64_t i = 0; i < layer->weights; i++) {
    int q = w->weight_before[i] + layer->offsets[i];
    elements[i] = (int8_t)(q < low ? low : q > high ? high : q);
  }
  const float *scales = w->bias ? w->bias_scales->data : NULL;
  bool one = w->bias && dq_tensor_count(w->bias_scales) == 1;
  for (int64_t o = 0; o < layer->channels; o++) dq_tensor_set(w->bias, o, layer->bias[o] / (double)scales[one ? 0 : o]);
}

static void restore(const written *w) {
  memcpy(w->weight->data, w->weight_before, dq_tensor_bytes(w->weight));
  if (w->bias) memcpy(w->bias->data, w->bias_before, dq_tensor_bytes(w->bias));
}

// Type and zero point of what a layer reads; false when it does not stand there.
static bool input_of(const dq_node *node, dq_parameters *input) {
  const dq_node *from = node->inputs[0] ? node->inputs[0]->producer : NULL;
  const dq_value *zero = from && dq_node_is(from, "DequantizeLinear") ? dq_node_input(from, 2) : NULL;
  if (!zero || !zero->constant) return false;
  *input = (dq_parameters){1, (int)dq_tensor_get_i64(zero->constant, 0), zero->constant->type};
  return true;
}

// What a layer's weights were made to keep to; length 0: nothing.
static dq_block_rule rule_of(const dq_int8_job *job, const dq_rounding_layer *layer) {
  static const dq_block_rule pairs = DQ_PAIR_RULE, none = {0, 0, 0};
  const dq_int8_layer *known = dq_int8_layer_of(job, layer->output);
  dq_accumulator asked = job->setting.accumulator.rule;
  dq_parameters input;
  if (!known) return none;
  if (asked == DQ_ACCUMULATE_PAIRS && known->pairs_safe) return pairs;
  if (asked != DQ_ACCUMULATE_INT16 || !known->int16_block || !input_of(layer->node, &input)) return none;
  // The shortest blocks lie inside of longer ones, whose sums then hold theirs, only where these are a multiple of them
  // or all of the sum.
  const int64_t depth = layer->taps.depth, longest = known->int16_block,
                shortest = dq_min_i64(depth, DQ_SHORTEST_BLOCK);
  return dq_int16_rule(&input, longest == depth || longest % shortest == 0 ? shortest : longest);
}

// ---- One layer ----

// Ways to round: after the sums of the float network, so that a layer makes up for what the layers before it do; after
// those of its float weights on the same inputs, but with the means of the float network; after those alone.
typedef enum way { FLOAT_NETWORK, FLOAT_MEANS, LAYER_ALONE, WAYS } way;
static const char *const way_names[WAYS] = {"float network", "float network's means", "layer alone"};

// Where the weight of output o (of all groups) and input i stands.
static int64_t place(const dq_rounding_layer *layer, int64_t o, int64_t i) {
  return dq_product_at(&layer->product, o, i / layer->product.taps, i % layer->product.taps);
}

static dq_status open_task(dq_rounding_task *task, const dq_rounding_layer *layer, const written *w, int64_t group,
                           dq_arena *arena, dq_error *error) {
  int64_t n = layer->inputs, outputs = layer->outputs;
  double *weights = DQ_NEW_ARRAY(arena, outputs * n, double);
  float *scales = DQ_NEW_ARRAY(arena, outputs, float);
  *task = (dq_rounding_task){.type = w->type,
                             .outputs = outputs,
                             .inputs = n,
                             .weights = weights,
                             .scales = scales,
                             .elements = DQ_NEW_ARRAY(arena, outputs * n, int8_t),
                             .bias = w->bias ? DQ_NEW_ARRAY(arena, outputs, double) : NULL};
  if (!weights || !scales || !task->elements || (w->bias && !task->bias)) return dq_fail_memory(error, 0);
  const float *from = w->scales->data, *exact = layer->weight->data;
  bool one = dq_tensor_count(w->scales) == 1;
  for (int64_t o = 0; o < outputs; o++) {
    if (w->bias) task->bias[o] = (double)((const float *)layer->bias->data)[group * outputs + o];
    scales[o] = from[one ? 0 : group * outputs + o];
    for (int64_t i = 0; i < n; i++) {
      int64_t at = place(layer, group * outputs + o, i);
      weights[o * n + i] = (double)exact[at];
      task->elements[o * n + i] = w->weight_before[at];
    }
  }
  return DQ_OK;
}

// ---- The graph ----

typedef struct rounder {
  dq_int8_job *job;
  const dq_graph *exact;     // the float graph
  dq_rounded_layer *rounded; // `count` so far
  written *written;
  int count;
  int64_t fitted; // pictures that weights are fitted to
  way how;
  double started; // by dq_seconds
} rounder;

// One group of a layer: what becomes of its weights (by how much they move) and biases (NULL: none).
static dq_status solve_group(const rounder *r, const dq_rounding_layer *layer, const dq_layer_sums *sums, int64_t group,
                             int8_t *offsets, double *bias, dq_arena *arena) {
  const written *here = &r->written[r->count];
  dq_rounding_task task;
  int64_t n = layer->inputs, outputs = layer->outputs;
  DQ_TRY(open_task(&task, layer, here, group, arena, r->job->error));
  task.gram = sums->grams + group * (n + 1) * (n + 1);
  task.responses = r->how == LAYER_ALONE ? NULL : sums->responses + group * outputs * (n + 1);
  task.refit = r->how == FLOAT_NETWORK;
  task.rule = here->rule.length ? &here->rule : NULL, task.taps = &layer->taps;
  DQ_TRY(r->job->in->options->rounding->round(&task, r->job->in->context, r->job->error));
  for (int64_t o = 0; o < outputs; o++) {
    if (bias) bias[group * outputs + o] = task.bias[o];
    for (int64_t i = 0; i < n; i++) {
      int64_t at = place(layer, group * outputs + o, i);
      offsets[at] = (int8_t)(task.elements[o * n + i] - here->weight_before[at]);
    }
  }
  return DQ_OK;
}

static dq_status solve(const rounder *r, const dq_rounding_layer *layer, const dq_layer_sums *sums, int8_t *offsets,
                       double *bias, dq_arena *scratch) {
  dq_int8_job *job = r->job;
  dq_status status = DQ_OK;
  for (int64_t g = 0; status == DQ_OK && g < layer->groups; g++)
    status = solve_group(r, layer, sums, g, offsets, bias, scratch);
  if (status == DQ_BAD_INPUT && r->how == FLOAT_NETWORK)
    dq_message(job->in->context, DQ_WARNING,
               "value '%s': the sums of its inputs are too large or too much alike (%s): "
               "its weights are rounded to the nearest",
               layer->output, job->error->message);
  return status;
}

static dq_status round_layer(rounder *r, dq_rounding_walk *walk, const dq_rounding_layer *layer, dq_arena *scratch) {
  dq_int8_job *job = r->job;
  written *here = &r->written[r->count];
  dq_layer_sums sums;
  if (!find_written(here, job, layer->node)) return DQ_OK;
  here->rule = rule_of(job, layer);
  int64_t weights = dq_tensor_count(layer->weight), channels = here->bias ? layer->groups * layer->outputs : 0;
  int8_t *offsets = DQ_NEW_ARRAY(job->graph->arena, weights, int8_t);
  double *bias = channels ? DQ_NEW_ARRAY(job->graph->arena, channels, double) : NULL;
  if (!offsets || (channels && !bias)) return dq_fail_memory(job->error, 0);
  DQ_TRY(dq_layer_sums_open(&sums, layer, walk->pictures, scratch, job->error));
  DQ_TRY(dq_rounding_walk_sum(walk, layer, &sums, job->in->context, job->error));
  dq_status status = solve(r, layer, &sums, offsets, bias, scratch);
  if (status != DQ_OK) return status == DQ_BAD_INPUT ? DQ_OK : status;
  r->rounded[r->count] = (dq_rounded_layer){layer->output, weights, offsets, channels, bias};
  write_layer(here, &r->rounded[r->count++]);
  return dq_rounding_walk_changed(walk, layer, job->error);
}

static bool out_of_time(const rounder *r) {
  double limit = r->job->in->options->time_limit;
  return limit > 0 && dq_processes_any(dq_processes_of(r->job->in->context), dq_seconds() - r->started > limit);
}

// The layers in the order in which the walk comes to them.
static dq_status order_layers(const rounder *r, const dq_rounding_walk *walk, const dq_rounding_layer ***order) {
  const dq_rounding_list *list = &r->job->rounding;
  int steps = dq_plan_step_count(walk->runners[1].session.plan), count = 0;
  const dq_rounding_layer **by_step = DQ_NEW_ARRAY(r->job->arena, steps, const dq_rounding_layer *);
  *order = DQ_NEW_ARRAY(r->job->arena, list->count + 1, const dq_rounding_layer *);
  if (!by_step || !*order) return dq_fail_memory(r->job->error, 0);
  for (int l = 0; l < list->count; l++) {
    int step = dq_rounding_walk_step(walk, &list->layers[l]);
    if (step >= 0) by_step[step] = &list->layers[l];
  }
  for (int s = 0; s < steps; s++)
    if (by_step[s]) (*order)[count++] = by_step[s];
  return DQ_OK;
}

static dq_status round_on(rounder *r, dq_rounding_walk *walk) {
  const dq_context *context = r->job->in->context;
  const dq_rounding_layer **order;
  DQ_TRY(order_layers(r, walk, &order));
  for (int l = 0; order[l] && !out_of_time(r); l++) {
    if (!dq_rounding_walk_reaches(walk, order[l])) continue;
    dq_arena *scratch = dq_context_arena(context);
    dq_status status = scratch ? round_layer(r, walk, order[l], scratch) : dq_fail_memory(r->job->error, 0);
    dq_arena_free(scratch);
    DQ_TRY(status);
    dq_progress(context, r->how ? "rounding again" : "rounding weights", l + 1, r->job->rounding.count);
  }
  return DQ_OK;
}

static dq_status round_layers(rounder *r) {
  dq_int8_job *job = r->job;
  dq_rounding_walk walk;
  const dq_rounding_walk_input input = {.exact = r->exact,
                                        .quantized = job->graph,
                                        .weight_type = job->in->weight_type,
                                        .layers = job->rounding.layers,
                                        .count = job->rounding.count,
                                        .data = job->pictures.data,
                                        .pictures = r->fitted,
                                        .shapes = &job->in->options->shapes};
  dq_status status = dq_rounding_walk_open(&walk, &input, job->in->context, job->error);
  if (status == DQ_OK) status = round_on(r, &walk);
  dq_rounding_walk_close(&walk);
  if (status == DQ_OK && r->count < job->rounding.count && out_of_time(r))
    dq_message(job->in->context, DQ_WARNING, "out of time: %s rounding has reached %d of %d layers",
               job->in->options->rounding->name, r->count, job->rounding.count);
  return status;
}

// Noise of the outputs on the pictures that nothing was fitted to.
typedef struct judgement {
  double *noises; // of each picture
  int64_t count;
  double sqnr; // of all, in dB
} judgement;

typedef struct judge_job {
  dq_network_pair pair; // the network before and behind the rounding
  judgement *found;
  dq_comparison all;
} judge_job;

static dq_status judge_picture(void *user, int64_t first, int64_t count, const dq_sample_info *infos, dq_error *error) {
  judge_job *j = user;
  const dq_plan *exact = dq_network_pair_plan(&j->pair, 0), *rounded = dq_network_pair_plan(&j->pair, 1);
  dq_comparison picture = {0};
  (void)first, (void)count, (void)infos;
  for (int o = 0; o < dq_plan_output_count(exact); o++)
    if (dq_plan_output_fixed(exact, o))
      DQ_TRY(dq_comparison_add(&picture, dq_plan_output(exact, o), dq_plan_output(rounded, o), -1, error));
  dq_comparison_merge(&j->all, &picture);
  j->found->noises[j->found->count++] = picture.noise;
  return DQ_OK;
}

static dq_status judge(const rounder *r, judgement *found) {
  dq_int8_job *job = r->job;
  judge_job j = {.found = found};
  *found = (judgement){.noises = DQ_NEW_ARRAY(job->arena, job->pictures.count, double)};
  if (!found->noises) return dq_fail_memory(job->error, 0);
  dq_status status =
      dq_network_pair_open(&j.pair, (const dq_graph *[]){r->exact, job->graph}, (const char *[]){NULL, NULL},
                           job->pictures.data, &job->in->options->shapes, job->in->context, job->error);
  int64_t first = r->fitted < job->pictures.count ? r->fitted : 0;
  const dq_picture_range range = {first, 1, job->pictures.count - first, .one_by_one = true};
  if (status == DQ_OK) status = dq_network_pair_each(&j.pair, &range, judge_picture, &j, job->error);
  dq_network_pair_close(&j.pair);
  found->sqnr = dq_comparison_sqnr(&j.all);
  return status;
}

// Rounds one way, judges, and leaves the graph as it was.
static dq_status attempt(rounder *r, judgement *found) {
  dq_int8_job *job = r->job;
  r->rounded = DQ_NEW_ARRAY(job->graph->arena, job->rounding.count, dq_rounded_layer);
  r->written = DQ_NEW_ARRAY(job->arena, job->rounding.count, written);
  if (!r->rounded || !r->written) return dq_fail_memory(job->error, 0);
  DQ_TRY(round_layers(r));
  DQ_TRY(judge(r, found));
  dq_message(job->in->context, DQ_DETAIL, "%s rounding, after the %s: %.2f dB", job->in->options->rounding->name,
             way_names[r->how], found->sqnr);
  for (int l = 0; l < r->count; l++) restore(&r->written[l]);
  return DQ_OK;
}

// Which layers are safe for pairs now, and how long their blocks are.
static void record_blocks(const dq_int8_job *job) {
  const dq_block_rule pairs = DQ_PAIR_RULE;
  for (int l = 0; l < job->rounding.count; l++) {
    const dq_rounding_layer *layer = &job->rounding.layers[l];
    dq_int8_layer *known = dq_int8_layer_of(job, layer->output);
    const dq_node *weight = dq_dequantized_input(layer->node, 1, job->in->weight_type->type);
    if (!known || !weight) continue;
    const int8_t *elements = weight->inputs[0]->constant->data;
    known->pairs_safe = dq_blocks_allowed(&layer->taps, elements, &pairs);
    dq_parameters input;
    if (!known->int16_block || !input_of(layer->node, &input)) continue;
    const dq_block_rule sums = dq_int16_rule(&input, 1);
    known->int16_block = dq_longest_block(&layer->taps, elements, &sums);
  }
}

// Leaves the best of the ways in the graph, or none.
static dq_status keep_best(rounder ways[WAYS]) {
  dq_int8_job *job = ways[0].job;
  const char *name = job->in->options->rounding->name;
  judgement before, after[WAYS];
  int best = 0;
  DQ_TRY(judge(&ways[0], &before));
  for (int w = 0; w < WAYS; w++) {
    DQ_TRY(attempt(&ways[w], &after[w]));
    if (after[w].sqnr > after[best].sqnr) best = w;
  }
  job->report->rounding_gain = after[best].sqnr - before.sqnr;
  char reason[200];
  dq_noise_change change = dq_noise_compare(before.noises, after[best].noises, before.count);
  bool clear = dq_noise_is_less(&change, DQ_HALF_STANDARD_ERROR);
  dq_message(job->in->context, DQ_DETAIL, "%s rounding: %.2f dB to the nearest, %.2f dB after the %s, %s: %s", name,
             before.sqnr, after[best].sqnr, way_names[ways[best].how], clear ? "taken" : "not taken",
             dq_noise_reason(&change, DQ_HALF_STANDARD_ERROR, reason, sizeof reason));
  if (!clear) {
    dq_message(job->in->context, DQ_NOTE,
               "%s rounding does not clearly bring the outputs closer: weights are rounded to the nearest", name);
    return DQ_OK;
  }
  const rounder *r = &ways[best];
  for (int l = 0; l < r->count; l++) write_layer(&r->written[l], &r->rounded[l]);
  job->report->table.rounding = (dq_rounding){r->rounded, r->count};
  job->report->rounded = r->count;
  record_blocks(job);
  return DQ_OK;
}

// Rounds the weights as a calibration table says.
static dq_status replay(dq_int8_job *job, const dq_rounding *rounding) {
  for (int l = 0; l < job->rounding.count; l++) {
    const dq_rounding_layer *layer = &job->rounding.layers[l];
    const dq_rounded_layer *rounded = dq_rounding_find(rounding, layer->output);
    written w;
    if (!rounded || !find_written(&w, job, layer->node)) continue;
    if (!fits(&w, rounded))
      return dq_fail(job->error, DQ_BAD_INPUT, "value '%s': the table's rounding is of another weight", layer->output);
    write_layer(&w, rounded);
    w.rule = rule_of(job, layer);
    if (w.rule.length && !dq_blocks_allowed(&layer->taps, w.weight->data, &w.rule))
      return dq_fail(job->error, DQ_BAD_INPUT, "value '%s': the table's rounding does not keep %s", layer->output,
                     job->setting.accumulator.rule == DQ_ACCUMULATE_PAIRS ? "pairs safe" : "blocks within 16 bits");
  }
  job->report->table.rounding = *rounding;
  job->report->rounded = rounding->count;
  record_blocks(job);
  return DQ_OK;
}

dq_status dq_int8_list_rounding(dq_int8_job *job) {
  dq_graph *graph = job->graph;
  dq_node **order = DQ_NEW_ARRAY(job->arena, graph->node_count, dq_node *);
  job->rounding = (dq_rounding_list){DQ_NEW_ARRAY(job->arena, graph->node_count, dq_rounding_layer), 0};
  if (!order || !job->rounding.layers) return dq_fail_memory(job->error, 0);
  DQ_TRY(dq_graph_order(graph, order, job->error));
  for (int n = 0; n < graph->node_count; n++)
    if (order[n]->mark && dq_rounding_layer_of(&job->rounding.layers[job->rounding.count], order[n]))
      job->rounding.count++;
  return DQ_OK;
}

dq_status dq_int8_round(dq_int8_job *job, const dq_graph *exact) {
  enum { JUDGED_PICTURES = 64 }; // at most a third of all
  const dq_rounding *given = dq_int8_given_rounding(job->in->options);
  if (given) return replay(job, given);
  int64_t judged = job->pictures.count / 3 < JUDGED_PICTURES ? job->pictures.count / 3 : JUDGED_PICTURES;
  rounder ways[WAYS];
  for (int w = 0; w < WAYS; w++) {
    ways[w] = (rounder){
        .job = job, .exact = exact, .fitted = job->pictures.count - judged, .how = (way)w, .started = dq_seconds()};
  }
  return keep_best(ways);
}
