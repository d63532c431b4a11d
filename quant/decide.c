// Trials: the network is quantized on the first pictures with each setting in question and judged
// on the last ones, by how close its outputs come to those in float.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/closeness.h"
#include "quant/head.h"
#include "quant/int8_internal.h"

enum { TRIAL_PICTURES = 40, JUDGED_PICTURES = 24 };

typedef struct judge {
  dq_int8_job *job;
  dq_observation what; // outputs over the pictures that judge
  float **kept;        // float outputs in the order they were seen
  int64_t kept_count, next, capacity;
  double *noises, *best_noises; // by picture: of the last trial, of the best so far
  dq_closeness *outputs;
  dq_equalize_memory *sites;
  dq_seen seen[2];     // of the best setting so far and of one that challenges it
} judge;

// ---- Outputs ----

static dq_status keep(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  (void)slot;
  judge *it = user;
  if (it->kept_count == it->capacity)
    return dq_fail(error, DQ_UNSUPPORTED, "an output was computed more than once for a picture");
  float *copy = malloc(dq_tensor_bytes(tensor) + 1);
  if (!copy) return dq_fail_memory(error, dq_tensor_bytes(tensor));
  memcpy(copy, tensor->data, dq_tensor_bytes(tensor));
  it->kept[it->kept_count++] = copy;
  return DQ_OK;
}

// What share of the squares of an output the squares of its error are.
static double relative_noise(const float *exact, const dq_tensor *tensor) {
  const float *other = tensor->data;
  double noise = 0, power = 0;
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) {
    double difference = (double)other[i] - (double)exact[i];
    noise += difference * difference;
    power += (double)exact[i] * (double)exact[i];
  }
  return power > 0 ? noise / power : 0;
}

static dq_status compare(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  judge *it = user;
  it->noises[it->next / it->what.count] += relative_noise(it->kept[it->next], tensor);
  return dq_closeness_add(&it->outputs[slot], tensor, it->kept[it->next++], tensor->data,
                          it->job->arena, error);
}

static dq_status open_judge(judge *it, dq_int8_job *job) {
  const dq_graph *graph = job->graph;
  int64_t judged = job->pictures < JUDGED_PICTURES ? job->pictures : JUDGED_PICTURES;
  const char **names = DQ_NEW_ARRAY(job->arena, graph->output_count, const char *);
  *it = (judge){.job = job, .capacity = judged * graph->output_count};
  it->kept = DQ_NEW_ARRAY(job->arena, it->capacity, float *);
  it->outputs = DQ_NEW_ARRAY(job->arena, graph->output_count, dq_closeness);
  it->sites = dq_equalize_memory_new(job->arena);
  it->noises = DQ_NEW_ARRAY(job->arena, judged, double);
  it->best_noises = DQ_NEW_ARRAY(job->arena, judged, double);
  if (!names || !it->kept || !it->outputs || !it->sites || !it->noises || !it->best_noises)
    return dq_fail_memory(job->error, 0);
  it->what = (dq_observation){graph,     &job->options->shapes,  names,  0,
                              job->data, job->pictures - judged, judged, "judging"};
  for (int o = 0; o < graph->output_count; o++)
    if (graph->outputs[o]->producer && graph->outputs[o]->type == DQ_F32)
      names[it->what.count++] = graph->outputs[o]->name;
  return dq_observe(&it->what, keep, it, job->context, job->error);
}

static void close_judge(judge *it) {
  for (int64_t i = 0; i < it->kept_count; i++) free(it->kept[i]);
  for (int i = 0; i < 2; i++) dq_seen_close(&it->seen[i]);
}

// ---- Trials ----

static dq_status run_trial(judge *it, dq_int8_job *trial) {
  DQ_TRY(dq_int8_quantize(trial));
  it->what.graph = trial->graph;
  it->next = 0;
  memset(it->noises, 0, (size_t)it->what.pictures * sizeof *it->noises);
  for (int o = 0; o < it->what.count; o++) dq_closeness_clear(&it->outputs[o]);
  return dq_observe(&it->what, compare, it, trial->context, trial->error);
}

// What a rule on sums costs each layer (dq_int8_layer.block_noise).
typedef struct layer_costs {
  double *noise;
  int count;
} layer_costs;

static dq_status note_costs(layer_costs *costs, const dq_int8_job *trial, dq_arena *arena) {
  const dq_int8_report *report = trial->report;
  *costs = (layer_costs){DQ_NEW_ARRAY(arena, report->count + 1, double), 0};
  if (!costs->noise) return dq_fail_memory(trial->error, 0);
  for (int i = 0; i < report->count; i++)
    if (report->layers[i].block_noise > 0) costs->noise[costs->count++] = report->layers[i].block_noise;
  return DQ_OK;
}

static bool is_of(const dq_seen *seen, const dq_int8_setting *setting) {
  return seen->arena && seen->equalize == setting->equalize && seen->heads == setting->heads;
}

// What was seen with the setting's equalization; nothing yet in place of what the best setting does not need.
static dq_status seen_for(judge *it, const dq_int8_setting *setting, dq_seen **seen) {
  for (int i = 0; i < 2; i++)
    if (is_of(*seen = &it->seen[i], setting)) return DQ_OK;
  *seen = &it->seen[is_of(&it->seen[0], &it->job->setting)];
  return dq_seen_open(*seen, setting->equalize, setting->heads, it->job->error);
}

// SQNR of the outputs in decibels under a setting. `costs` may be NULL.
static dq_status try_setting(judge *it, const dq_int8_setting *setting, double *sqnr, layer_costs *costs) {
  dq_int8_report report = {0};
  dq_int8_job trial = *it->job;
  trial.report = &report, trial.setting = *setting;
  trial.pictures = trial.pictures < TRIAL_PICTURES ? trial.pictures : TRIAL_PICTURES;
  trial.sites = it->sites;
  DQ_TRY(seen_for(it, setting, &trial.seen));
  trial.graph = dq_graph_copy(it->job->graph);
  trial.arena = dq_arena_new(0);
  trial.origin = trial.graph ? dq_origin_begin(trial.graph, "trial") : NULL;
  dq_status status =
      trial.arena && trial.origin ? run_trial(it, &trial) : dq_fail_memory(trial.error, 0);
  if (status == DQ_OK && costs) status = note_costs(costs, &trial, it->job->arena);
  *sqnr = dq_closeness_mean(it->outputs, it->what.count);
  dq_origin_discard(trial.origin);
  dq_arena_free(trial.arena);
  dq_graph_free(trial.graph);
  return status;
}

// Mean over the pictures of how much closer the last trial came than the best setting, in dB: of one picture as of
// another, where the noise of a few makes most of the whole.
static double gain_by_picture(const judge *it) {
  double sum = 0;
  for (int64_t p = 0; p < it->what.pictures; p++)
    if (it->best_noises[p] > 0 && it->noises[p] > 0) sum += 10 * log10(it->best_noises[p] / it->noises[p]);
  return it->what.pictures ? sum / (double)it->what.pictures : 0;
}

// Takes the setting when it is better than the best so far; *gain: by how much it is.
static dq_status challenge(judge *it, const dq_int8_setting *setting, double *best, double *gain) {
  double sqnr;
  DQ_TRY(try_setting(it, setting, &sqnr, NULL));
  *gain = sqnr - *best;
  dq_message(it->job->context, DQ_DETAIL,
             "trial: method %s, equalization %d, heads %d, bias correction %d, exact sums %d: %.2f dB",
             setting->method->name, setting->equalize, setting->heads, setting->bias_correction, setting->exact_sums, sqnr);
  if (!(sqnr > *best)) return DQ_OK;
  memcpy(it->best_noises, it->noises, (size_t)it->what.pictures * sizeof *it->noises);
  *best = sqnr;
  it->job->setting = *setting;
  return DQ_OK;
}

// Whether a convolution's result is read by nothing but the head of the network.
static dq_status has_heads(const dq_int8_job *job, bool *found) {
  bool *in_head;
  *found = false;
  DQ_TRY(dq_head_values(job->graph, &in_head, job->arena, job->error));
  for (int n = 0; n < job->graph->node_count; n++) {
    const dq_node *node = job->graph->nodes[n];
    *found |= dq_node_is(node, "Conv") && in_head[node->outputs[0]->index];
  }
  return DQ_OK;
}

static dq_status decide_equalization(judge *it, double *best) {
  double before = *best, gain;
  bool found = false, heads;
  DQ_TRY(has_heads(it->job, &heads));
  if (heads) {
    dq_int8_setting setting = it->job->setting;
    setting.heads = true;
    DQ_TRY(challenge(it, &setting, best, &gain));
  }
  for (int scope = DQ_EQUALIZE_DEPTHWISE; scope <= DQ_EQUALIZE_FULL; scope++) {
    dq_int8_setting setting = it->job->setting;
    setting.equalize = (dq_equalize_scope)scope;
    if (it->job->options->equalize == DQ_CHOOSE_ON && !found) *best = -INFINITY;
    found = true;
    DQ_TRY(challenge(it, &setting, best, &gain));
  }
  it->job->report->equalize_gain = *best - before;
  return DQ_OK;
}

static dq_status decide_method(judge *it, double *best) {
  static const char *const names[] = {"minmax", "mse"}; // against percentile
  double gain;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    dq_int8_setting setting = it->job->setting;
    setting.method = dq_observer_find(names[i]);
    DQ_TRY(challenge(it, &setting, best, &gain));
  }
  return DQ_OK;
}

// Sums that are not rounded, where the network has additions.
static dq_status decide_sums(judge *it, double *best) {
  dq_int8_setting setting = it->job->setting;
  bool any = false;
  for (int n = 0; n < it->job->graph->node_count; n++) {
    const dq_node *node = it->job->graph->nodes[n];
    any |= dq_node_is(node, "Add") && !node->inputs[0]->constant && !node->inputs[1]->constant;
  }
  if (!any || it->job->options->symmetric) return DQ_OK;
  setting.exact_sums = true;
  return challenge(it, &setting, best, &it->job->report->exact_sums_gain);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// What safe pairs cost, in dB: in all or by picture, whichever is more.
static double cost_of_trial(const judge *it, double best, double sqnr) {
  return fmax(best - sqnr, -gain_by_picture(it));
}

// Safe pairs in the layers where they cost least, as many as may be for PAIRS_MOST. With the ranges
// of fewer pictures, which cut off more, a trial shows about half of what they cost. In all layers they are worth
// more: the file is then right on every processor.
static dq_status decide_pairs(judge *it, double best) {
  static const double EVERYWHERE_MOST = 0.3, PAIRS_MOST = 0.15; // dB
  enum { MOST_TRIALS = 4 };             // after the first
  dq_int8_setting setting = it->job->setting;
  layer_costs costs;
  double sqnr;
  setting.accumulator = (dq_accumulator_choice){DQ_ACCUMULATE_PAIRS, DQ_PAIRS_EVERYWHERE};
  DQ_TRY(try_setting(it, &setting, &sqnr, &costs));
  qsort(costs.noise, (size_t)costs.count, sizeof *costs.noise, by_size);
  int safe = 0, unsafe = costs.count; // so many of the cheapest: affordable, too many
  int tried = costs.count;
  for (int i = 0;; i++) {
    double cost = cost_of_trial(it, best, sqnr);
    dq_message(it->job->context, DQ_DETAIL, "trial: safe pairs up to %g: %.2f dB, cost %.2f",
               setting.accumulator.pairs_noise, sqnr, cost);
    bool affordable = i ? cost <= PAIRS_MOST : best - sqnr <= EVERYWHERE_MOST;
    if (affordable) {
      it->job->setting = setting;
      it->job->report->pairs_cost = best - sqnr;
    }
    if (affordable) safe = tried;
    else unsafe = tried;
    tried = (safe + unsafe) / 2;
    if (unsafe - safe <= 1 || i == MOST_TRIALS || (affordable && !i)) break;
    setting.accumulator.pairs_noise = costs.noise[tried - 1];
    DQ_TRY(try_setting(it, &setting, &sqnr, NULL));
  }
  return DQ_OK;
}

static dq_status decide_all(judge *it) {
  const dq_int8_options *options = it->job->options;
  dq_int8_setting setting = it->job->setting;
  double best = -INFINITY, gain;
  DQ_TRY(challenge(it, &setting, &best, &gain));
  if (options->equalize != DQ_CHOOSE_OFF) DQ_TRY(decide_equalization(it, &best));
  if (!strcmp(options->method->name, "auto")) DQ_TRY(decide_method(it, &best));
  if (options->bias_correction == DQ_CHOOSE_AUTO) {
    setting = it->job->setting;
    setting.bias_correction = true;
    DQ_TRY(challenge(it, &setting, &best, &gain));
    it->job->report->bias_correction_gain = gain;
  }
  DQ_TRY(decide_sums(it, &best));
  return options->accumulator == DQ_ACCUMULATE_AUTO ? decide_pairs(it, best) : DQ_OK;
}

dq_status dq_int8_decide(dq_int8_job *job) {
  const dq_int8_options *options = job->options;
  bool automatic = !strcmp(options->method->name, "auto");
  job->setting.method = automatic ? dq_observer_find("percentile") : options->method;
  job->setting.bias_correction = options->bias_correction == DQ_CHOOSE_ON;
  bool automatic_sums = options->accumulator == DQ_ACCUMULATE_AUTO;
  job->setting.accumulator = (dq_accumulator_choice){
      automatic_sums ? DQ_ACCUMULATE_INT32 : options->accumulator, DQ_PAIRS_EVERYWHERE};
  job->report->equalize_gain = job->report->bias_correction_gain = job->report->pairs_cost =
      job->report->exact_sums_gain = NAN;
  const dq_calibration_table *given = options->table ? options->table : options->start;
  if (given) { // it says all
    if (automatic_sums) job->setting.accumulator = given->accumulator;
    if (options->start) job->setting.method = dq_observer_find(given->method);
    return DQ_OK;
  }
  if (!automatic && options->equalize == DQ_CHOOSE_OFF && !automatic_sums &&
      options->bias_correction != DQ_CHOOSE_AUTO)
    return DQ_OK;
  judge it;
  dq_status status = open_judge(&it, job);
  if (status == DQ_OK) status = decide_all(&it);
  close_judge(&it);
  return status;
}
