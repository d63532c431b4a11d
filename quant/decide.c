// Trials: the network is quantized on the first pictures with each setting in question and judged
// on the last ones, by how close its outputs come to those in float.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quant/answers.h"
#include "quant/closeness.h"
#include "quant/head.h"
#include "quant/int8_internal.h"

enum { TRIAL_PICTURES = 40, JUDGED_PICTURES = 24 };
enum { DETECTOR_PICTURES = 64 }; // in trials of detectors, whose ranges have longer tails

enum { MOST_OUTPUTS = 16 };      // of a detector

// How a setting fared.
typedef struct verdict {
  double decibels; // of the outputs, or of a detector's answers
  double *noise;   // by picture: of a detector's answers, or shares of the squares of outputs
} verdict;

typedef struct judge {
  dq_int8_job *job;
  dq_observation what; // outputs over the pictures that judge
  dq_tensor *shapes;   // of the outputs
  float **kept;        // float outputs, [picture * outputs + output]
  float **others;      // of the picture that is compared, by output
  int64_t *seen_pictures; // by output
  dq_closeness *outputs;
  bool detects;        // answers are compared, not outputs
  dq_answers answers;
  double *signal;      // of them, by picture
  verdict now, best;   // of the trial that runs, of the best so far
  bool started;        // there is a best
  dq_equalize_memory *sites;
  dq_seen seen[2];     // of the best setting so far and of one that challenges it
} judge;

// ---- Outputs ----

static dq_status copy_output(float **to, const dq_tensor *tensor, const dq_context *context, dq_error *error) {
  if (!*to) *to = dq_context_alloc(context, dq_tensor_bytes(tensor));
  if (!*to) return dq_fail_memory(error, dq_tensor_bytes(tensor));
  memcpy(*to, tensor->data, dq_tensor_bytes(tensor));
  return DQ_OK;
}

static dq_status keep(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  judge *it = user;
  int64_t picture = it->seen_pictures[slot]++;
  if (picture == it->what.pictures)
    return dq_fail(error, DQ_UNSUPPORTED, "an output was computed more than once for a picture");
  it->shapes[slot] = *tensor;
  return copy_output(&it->kept[picture * it->what.count + slot], tensor, it->job->context, error);
}

// When the last output of a picture has come.
static dq_status compare_answers(judge *it, int64_t picture, dq_error *error) {
  dq_tensor tensors[2][MOST_OUTPUTS];
  const dq_tensor *pointers[2][MOST_OUTPUTS];
  for (int o = 0; o < it->what.count; o++) {
    tensors[0][o] = tensors[1][o] = it->shapes[o];
    tensors[0][o].data = it->kept[picture * it->what.count + o];
    tensors[1][o].data = it->others[o];
    for (int i = 0; i < 2; i++) pointers[i][o] = &tensors[i][o];
  }
  return dq_answers_compare(&it->answers, pointers[0], pointers[1], &it->signal[picture], &it->now.noise[picture], error);
}

static dq_status compare_output(judge *it, int slot, int64_t picture, const dq_tensor *tensor, dq_error *error) {
  const float *exact = it->kept[picture * it->what.count + slot];
  it->now.noise[picture] += dq_relative_noise(exact, tensor->data, dq_tensor_count(tensor));
  return dq_closeness_add(&it->outputs[slot], tensor, exact, tensor->data, it->job->arena, error);
}

static dq_status compare(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  judge *it = user;
  int64_t picture = it->seen_pictures[slot]++;
  if (!it->detects) return compare_output(it, slot, picture, tensor, error);
  DQ_TRY(copy_output(&it->others[slot], tensor, it->job->context, error));
  for (int o = 0; o < it->what.count; o++)
    if (it->seen_pictures[o] <= picture) return DQ_OK;
  return compare_answers(it, picture, error);
}

static dq_status open_answers(judge *it, dq_tensor *tensors) {
  dq_int8_job *job = it->job;
  if (it->what.count != job->graph->output_count || it->what.count > MOST_OUTPUTS) return DQ_OK;
  return dq_answers_open(&it->answers, &it->detects, job->graph, tensors, job->options->decode, job->arena, job->error);
}

static dq_status open_judge(judge *it, dq_int8_job *job) {
  const dq_graph *graph = job->graph;
  int outputs = graph->output_count;
  int64_t judged = job->pictures < JUDGED_PICTURES ? job->pictures : JUDGED_PICTURES;
  const char **names = DQ_NEW_ARRAY(job->arena, outputs, const char *);
  *it = (judge){.job = job};
  it->shapes = DQ_NEW_ARRAY(job->arena, outputs, dq_tensor);
  it->kept = DQ_NEW_ARRAY(job->arena, judged * outputs, float *);
  it->others = DQ_NEW_ARRAY(job->arena, outputs, float *);
  it->seen_pictures = DQ_NEW_ARRAY(job->arena, outputs, int64_t);
  it->outputs = DQ_NEW_ARRAY(job->arena, outputs, dq_closeness);
  it->signal = DQ_NEW_ARRAY(job->arena, judged, double);
  it->now.noise = DQ_NEW_ARRAY(job->arena, judged, double);
  it->best.noise = DQ_NEW_ARRAY(job->arena, judged, double);
  it->sites = dq_equalize_memory_new(job->arena);
  if (!names || !it->shapes || !it->kept || !it->others || !it->seen_pictures || !it->outputs || !it->sites ||
      !it->signal || !it->now.noise || !it->best.noise)
    return dq_fail_memory(job->error, 0);
  it->what = (dq_observation){graph,     &job->options->shapes,  names,  0,
                              job->data, job->pictures - judged, judged, "judging"};
  dq_tensor *tensors;
  DQ_TRY(dq_infer(graph, &job->options->shapes, DQ_INFER_TOLERANT, job->context, job->arena, &tensors, job->error));
  for (int o = 0; o < outputs; o++)
    if (graph->outputs[o]->producer && graph->outputs[o]->type == DQ_F32 && tensors[graph->outputs[o]->index].rank >= 0)
      names[it->what.count++] = graph->outputs[o]->name;
  DQ_TRY(open_answers(it, tensors));
  return dq_observe(&it->what, keep, it, job->context, job->error);
}

static void close_judge(judge *it) {
  for (int64_t i = 0; it->kept && i < it->what.pictures * it->what.count; i++) dq_budget_free(it->kept[i]);
  for (int o = 0; it->others && o < it->what.count; o++) dq_budget_free(it->others[o]);
  dq_answers_close(&it->answers);
  for (int i = 0; i < 2; i++) dq_seen_close(&it->seen[i]);
}

// ---- Verdicts ----

static double sum_of(const double *numbers, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += numbers[i];
  return sum;
}

static double decibels_of(const judge *it) {
  if (!it->detects) return dq_closeness_mean(it->outputs, it->what.count);
  double noise = sum_of(it->now.noise, it->what.pictures);
  return noise > 0 ? 10 * log10(sum_of(it->signal, it->what.pictures) / noise) : INFINITY;
}

// Decibels that the trial which ran is better than the best so far; of a detector the mean over pictures.
static double gain_of(const judge *it) {
  if (!it->detects) return it->now.decibels - it->best.decibels;
  return dq_noise_ratio(it->best.noise, it->now.noise, it->what.pictures) * 10 / log(10);
}

// How sure a gain must be. Other factors of channels and sums without rounding change all ranges of a network: a small
// gain of theirs must show picture by picture. So must, more surely, what cuts values off: how much shows with the
// ranges of few pictures is chance (docs/CALIBRATION.md). 0: the figure of all together is enough.
static double sureness_of(const judge *it, const dq_int8_setting *setting) {
  if (setting->exact_sums || setting->equalize != it->job->setting.equalize) return DQ_CLEARLY;
  return setting->absorption || setting->range_search ? DQ_SURELY : 0;
}

// Whether the trial that ran is better than the best so far, and why, or why not.
static bool is_better(const judge *it, double sureness, char *reason, size_t size) {
  double before = it->best.decibels, after = it->now.decibels;
  if (!it->detects && !(after > before)) return snprintf(reason, size, "no more than %.2f dB", before), false;
  if (it->detects && sureness < DQ_CLEARLY) sureness = DQ_CLEARLY;
  if (sureness <= 0) return snprintf(reason, size, "more than %.2f dB", before), true;
  dq_noise_change change = dq_noise_compare(it->best.noise, it->now.noise, it->what.pictures);
  dq_noise_reason(&change, sureness, reason, size);
  return dq_noise_is_less(&change, sureness);
}

static void take_best(judge *it, const dq_int8_setting *setting) {
  verdict best = it->best;
  it->best = it->now, it->now = best;
  it->job->setting = *setting;
}

// ---- Trials ----

static dq_status run_trial(judge *it, dq_int8_job *trial) {
  DQ_TRY(dq_int8_quantize(trial));
  it->what.graph = trial->graph;
  memset(it->seen_pictures, 0, (size_t)it->what.count * sizeof *it->seen_pictures);
  memset(it->now.noise, 0, (size_t)it->what.pictures * sizeof *it->now.noise);
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
  return seen->arena && seen->equalize == setting->equalize && seen->heads == setting->heads &&
         seen->absorbing == setting->absorption;
}

// What was seen with the setting's equalization; nothing yet in place of what the best setting does not need.
static dq_status seen_for(judge *it, const dq_int8_setting *setting, dq_seen **seen) {
  for (int i = 0; i < 2; i++)
    if (is_of(*seen = &it->seen[i], setting)) return DQ_OK;
  *seen = &it->seen[is_of(&it->seen[0], &it->job->setting)];
  return dq_seen_open(*seen, setting->equalize, setting->heads, setting->absorption, it->job->context, it->job->error);
}

// Fills it->now. `costs` may be NULL.
static dq_status try_setting(judge *it, const dq_int8_setting *setting, layer_costs *costs) {
  dq_int8_report report = {0};
  dq_int8_job trial = *it->job;
  trial.report = &report, trial.setting = *setting;
  int64_t most = it->detects ? DETECTOR_PICTURES : TRIAL_PICTURES;
  trial.pictures = trial.pictures < most ? trial.pictures : most;
  trial.sites = it->sites;
  DQ_TRY(seen_for(it, setting, &trial.seen));
  trial.graph = dq_graph_copy(it->job->graph);
  trial.arena = dq_context_arena(it->job->context);
  trial.origin = trial.graph ? dq_origin_begin(trial.graph, "trial") : NULL;
  dq_status status =
      trial.arena && trial.origin ? run_trial(it, &trial) : dq_fail_memory(trial.error, 0);
  if (status == DQ_OK && costs) status = note_costs(costs, &trial, it->job->arena);
  it->now.decibels = decibels_of(it);
  dq_origin_discard(trial.origin);
  dq_arena_free(trial.arena);
  dq_graph_free(trial.graph);
  return status;
}

// Takes the setting when it is better than the best so far, or anyway; *gain: by how much it is.
static dq_status challenge(judge *it, const dq_int8_setting *setting, bool anyway, double *gain) {
  char reason[200];
  DQ_TRY(try_setting(it, setting, NULL));
  *gain = gain_of(it);
  bool better = anyway;
  if (anyway) snprintf(reason, sizeof reason, it->started ? "asked for" : "what others are measured by");
  else better = is_better(it, sureness_of(it, setting), reason, sizeof reason);
  dq_message(it->job->context, DQ_DETAIL,
             "trial: method %s, equalization %d, heads %d, bias correction %d, absorption %d, range search %d, exact sums %d: %.2f dB, %s: %s",
             setting->method->name, setting->equalize, setting->heads, setting->bias_correction, setting->absorption, setting->range_search, setting->exact_sums,
             it->now.decibels, better ? "taken" : "not taken", reason);
  it->started = true;
  if (better) take_best(it, setting);
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

static dq_status decide_equalization(judge *it, double *all) {
  double gain;
  bool heads;
  DQ_TRY(has_heads(it->job, &heads));
  *all = 0;
  if (heads) {
    dq_int8_setting setting = it->job->setting;
    setting.heads = true;
    DQ_TRY(challenge(it, &setting, false, &gain));
    if (it->job->setting.heads) *all += gain;
  }
  for (int scope = DQ_EQUALIZE_DEPTHWISE; scope <= DQ_EQUALIZE_FULL; scope++) {
    dq_int8_setting setting = it->job->setting;
    setting.equalize = (dq_equalize_scope)scope;
    bool wanted = it->job->options->equalize == DQ_CHOOSE_ON && scope == DQ_EQUALIZE_DEPTHWISE;
    DQ_TRY(challenge(it, &setting, wanted, &gain));
    if (it->job->setting.equalize == setting.equalize) *all += gain;
  }
  return DQ_OK;
}

static dq_status decide_method(judge *it) {
  static const char *const names[] = {"minmax", "mse"}; // against percentile
  double gain;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    dq_int8_setting setting = it->job->setting;
    setting.method = dq_observer_find(names[i]);
    DQ_TRY(challenge(it, &setting, false, &gain));
  }
  return DQ_OK;
}

static bool is_automatic(const dq_int8_options *options) { return !strcmp(options->method->name, "auto"); }

// Whether any biases are high: of the graph as it is equalized now, on a few pictures, as a range that does not become
// narrower on these does not on more.
static dq_status has_high_biases(judge *it, bool *found) {
  enum { PICTURES = 4 };
  const dq_int8_job *job = it->job;
  dq_seen *seen;
  const dq_restated *restated;
  int count;
  dq_absorption absorption = {0};
  *found = false;
  DQ_TRY(seen_for(it, &job->setting, &seen));
  dq_graph *copy = dq_graph_copy(job->graph);
  if (!copy) return dq_fail_memory(job->error, 0);
  dq_observation what = {.graph = copy, .shapes = &job->options->shapes, .data = job->data,
                         .pictures = job->pictures < PICTURES ? job->pictures : PICTURES};
  dq_status status = dq_equalize_apply(copy, &seen->equalization, &job->options->shapes, job->arena, &restated, &count,
                                       job->context, job->error);
  if (status == DQ_OK) status = dq_absorption_measure(&absorption, &what, job->arena, job->context, job->error);
  *found = absorption.count > 0;
  dq_graph_free(copy);
  return status;
}

static dq_status decide_absorption(judge *it) {
  const dq_int8_options *options = it->job->options;
  dq_int8_setting setting = it->job->setting;
  bool any = false;
  if (options->bias_absorption == DQ_CHOOSE_OFF) return DQ_OK;
  DQ_TRY(has_high_biases(it, &any));
  if (!any) return DQ_OK;
  setting.absorption = true;
  return challenge(it, &setting, options->bias_absorption == DQ_CHOOSE_ON, &it->job->report->absorption_gain);
}

// A method that was asked for is what its user wants.
static dq_status decide_range_search(judge *it) {
  const dq_int8_options *options = it->job->options;
  dq_int8_setting setting = it->job->setting;
  bool open = options->method_open || is_automatic(options);
  if (options->range_search == DQ_CHOOSE_OFF || (options->range_search == DQ_CHOOSE_AUTO && !open)) return DQ_OK;
  setting.range_search = true;
  return challenge(it, &setting, options->range_search == DQ_CHOOSE_ON, &it->job->report->range_search_gain);
}

// Sums that are not rounded, where the network has additions.
static dq_status decide_sums(judge *it) {
  dq_int8_setting setting = it->job->setting;
  bool any = false;
  for (int n = 0; n < it->job->graph->node_count; n++) {
    const dq_node *node = it->job->graph->nodes[n];
    any |= dq_node_is(node, "Add") && !node->inputs[0]->constant && !node->inputs[1]->constant;
  }
  if (!any || it->job->options->symmetric) return DQ_OK;
  setting.exact_sums = true;
  return challenge(it, &setting, false, &it->job->report->exact_sums_gain);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Mean over the pictures of how much closer the trial that ran came than the best setting, in dB: of one picture as
// of another, where the noise of a few makes most of the whole.
static double gain_by_picture(const judge *it) {
  const double *before = it->best.noise, *after = it->now.noise;
  double sum = 0;
  for (int64_t p = 0; p < it->what.pictures; p++)
    if (before[p] > 0 && after[p] > 0 && before[p] < INFINITY) sum += 10 * log10(before[p] / after[p]);
  return it->what.pictures ? sum / (double)it->what.pictures : 0;
}

// What safe pairs cost, in dB: in all or by picture, whichever is more.
static double cost_of_trial(const judge *it) { return fmax(-gain_of(it), -gain_by_picture(it)); }

// Safe pairs in the layers where they cost least, as many as may be for PAIRS_MOST. With the ranges
// of fewer pictures, which cut off more, a trial shows about half of what they cost. In all layers they are worth
// more: the file is then right on every processor.
static dq_status decide_pairs(judge *it) {
  static const double EVERYWHERE_MOST = 0.3, PAIRS_MOST = 0.15; // dB
  enum { MOST_TRIALS = 4 };             // after the first
  dq_int8_setting setting = it->job->setting;
  layer_costs costs;
  setting.accumulator = (dq_accumulator_choice){DQ_ACCUMULATE_PAIRS, DQ_PAIRS_EVERYWHERE};
  DQ_TRY(try_setting(it, &setting, &costs));
  qsort(costs.noise, (size_t)costs.count, sizeof *costs.noise, by_size);
  int safe = 0, unsafe = costs.count; // so many of the cheapest: affordable, too many
  int tried = costs.count;
  for (int i = 0;; i++) {
    double cost = cost_of_trial(it);
    double most = i ? PAIRS_MOST : EVERYWHERE_MOST;
    if (!i) cost = -gain_of(it);
    bool affordable = cost <= most;
    dq_message(it->job->context, DQ_DETAIL, "trial: pairs safe in %d of the %d layers that they cost something: %.2f dB, %s: costs %.2f dB, at most %.2f",
               tried, costs.count, it->now.decibels, affordable ? "taken" : "not taken", cost, most);
    if (affordable) {
      it->job->setting = setting;
      it->job->report->pairs_cost = -gain_of(it);
    }
    if (affordable) safe = tried;
    else unsafe = tried;
    tried = (safe + unsafe) / 2;
    if (unsafe - safe <= 1 || i == MOST_TRIALS || (affordable && !i)) break;
    setting.accumulator.pairs_noise = costs.noise[tried - 1];
    DQ_TRY(try_setting(it, &setting, NULL));
  }
  return DQ_OK;
}

static dq_status decide_all(judge *it) {
  const dq_int8_options *options = it->job->options;
  dq_int8_report *report = it->job->report;
  dq_int8_setting setting = it->job->setting;
  double gain;
  DQ_TRY(challenge(it, &setting, true, &gain));
  if (options->equalize != DQ_CHOOSE_OFF) DQ_TRY(decide_equalization(it, &report->equalize_gain));
  if (is_automatic(options) || (options->method_open && it->detects)) DQ_TRY(decide_method(it));
  if (options->bias_correction == DQ_CHOOSE_AUTO) {
    setting = it->job->setting;
    setting.bias_correction = true;
    DQ_TRY(challenge(it, &setting, false, &report->bias_correction_gain));
  }
  DQ_TRY(decide_absorption(it));
  DQ_TRY(decide_range_search(it));
  DQ_TRY(decide_sums(it));
  return options->accumulator == DQ_ACCUMULATE_AUTO ? decide_pairs(it) : DQ_OK;
}

dq_status dq_int8_decide(dq_int8_job *job) {
  const dq_int8_options *options = job->options;
  bool automatic = is_automatic(options);
  job->setting.method = automatic ? dq_observer_find("percentile") : options->method;
  job->setting.bias_correction = options->bias_correction == DQ_CHOOSE_ON;
  bool automatic_sums = options->accumulator == DQ_ACCUMULATE_AUTO;
  job->setting.accumulator = (dq_accumulator_choice){
      automatic_sums ? DQ_ACCUMULATE_INT32 : options->accumulator, DQ_PAIRS_EVERYWHERE};
  job->report->equalize_gain = job->report->bias_correction_gain = job->report->pairs_cost =
      job->report->absorption_gain = job->report->range_search_gain = job->report->exact_sums_gain = NAN;
  const dq_calibration_table *given = options->table ? options->table : options->start;
  if (given) { // it says all
    if (automatic_sums) job->setting.accumulator = given->accumulator;
    if (options->start) job->setting.method = dq_observer_find(given->method);
    return DQ_OK;
  }
  if (!automatic && !automatic_sums && options->equalize == DQ_CHOOSE_OFF && options->bias_correction != DQ_CHOOSE_AUTO &&
      options->bias_absorption == DQ_CHOOSE_OFF && options->range_search == DQ_CHOOSE_OFF)
    return DQ_OK;
  judge it;
  dq_status status = open_judge(&it, job);
  if (status == DQ_OK) status = decide_all(&it);
  close_judge(&it);
  return status;
}
