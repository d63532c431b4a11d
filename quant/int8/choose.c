// Choosing a setting by trials: the prepared network is quantized on some of the pictures with each setting in question
// and scored on others (turns.c, lib/verdict/evaluator.h).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ops/operator.h"
#include "lib/verdict/evaluator.h"
#include "quant/int8/facts.h"
#include "quant/int8/stages.h"
#include "quant/int8/trials.h"
#include "quant/rewrite/output_head.h"

enum { TRIAL_PICTURES = 40 };
enum { DETECTOR_PICTURES = 64 }; // in trials of detectors, whose ranges have longer tails

static dq_status open_trials(dq_trials *all, dq_int8_job *job) {
  *all = (dq_trials){.job = job, .sites = dq_equalize_memory_new(job->arena)};
  dq_score *const scores[] = {&all->now, &all->best};
  for (int i = 0; i < 2; i++) {
    scores[i]->noise = DQ_NEW_ARRAY(job->arena, DQ_EVALUATED_PICTURES, double);
    scores[i]->plain_noise = DQ_NEW_ARRAY(job->arena, DQ_EVALUATED_PICTURES, double);
    if (!scores[i]->noise || !scores[i]->plain_noise) return dq_fail_memory(job->error, 0);
  }
  if (!all->sites) return dq_fail_memory(job->error, 0);
  const dq_int8_options *options = job->in->options;
  int64_t evaluated = dq_evaluated_pictures(job->pictures);
  DQ_TRY(dq_trial_data(&all->pictures, job->in->data, job->pictures, job->error));
  all->in = *job->in;
  all->in.data = all->pictures;
  const dq_evaluator_options judged = {.graph = job->graph,
                                       .shapes = &options->shapes,
                                       .data = all->pictures,
                                       .first = job->pictures - evaluated,
                                       .pictures = evaluated,
                                       .decode = options->decode,
                                       .features = true,
                                       .batch = options->batch};
  return dq_evaluator_open(&all->evaluator, &judged, job->in->context, job->arena, job->error);
}

static void close_trials(dq_trials *all) {
  dq_evaluator_close(&all->evaluator);
  for (int i = 0; i < 2; i++) dq_observed_close(&all->observed[i]);
  dq_data_free(all->pictures);
}

// Decibels that the trial which ran is better than the best setting so far.
static double gain_of(const dq_trials *all) { return dq_score_gain(&all->evaluator, &all->best, &all->now); }

static void accept(dq_trials *all, const dq_int8_setting *setting) {
  dq_score best = all->best;
  all->best = all->now, all->now = best;
  all->job->setting = *setting;
  all->job->report->verdict = all->verdict;
}

// ---- Trials ----

// What a rule on sums costs each layer (dq_int8_layer.block_noise).
typedef struct layer_costs {
  double *noise;
  int count;
} layer_costs;

static dq_status record_costs(layer_costs *costs, const dq_int8_job *trial, dq_arena *arena) {
  const dq_int8_report *report = trial->report;
  *costs = (layer_costs){DQ_NEW_ARRAY(arena, report->count + 1, double), 0};
  if (!costs->noise) return dq_fail_memory(trial->error, 0);
  for (int i = 0; i < report->count; i++)
    if (report->layers[i].block_noise > 0) costs->noise[costs->count++] = report->layers[i].block_noise;
  return DQ_OK;
}

static bool is_of(const dq_observed *observed, const dq_int8_setting *setting) {
  return observed->arena && observed->equalize == setting->equalize && observed->heads == setting->heads &&
         observed->absorbing == setting->absorption;
}

// Where the budget does not hold the histograms that `observed` still needs, those of the other setting are given back:
// trials that share its equalization measure them once more.
static void free_memory_for(dq_trials *all, const dq_observed *observed) {
  dq_calibration *other = &all->observed[observed == &all->observed[0]].calibration;
  bool fits = dq_check_memory(all->job->in->context, other->bytes, "a calibration", NULL) == DQ_OK;
  if (!observed->calibration.count && !fits) dq_calibration_deinit(other);
}

// What was measured with the setting's equalization; nothing yet, in place of what the best setting does not need.
static dq_status observed_for(dq_trials *all, const dq_int8_setting *setting, dq_observed **observed) {
  *observed = &all->observed[!is_of(&all->observed[0], setting)];
  if (!is_of(*observed, setting)) {
    *observed = &all->observed[is_of(&all->observed[0], &all->job->setting)];
    DQ_TRY(dq_observed_open(*observed, setting->equalize, setting->heads, setting->absorption, all->job->in->context,
                            all->job->error));
  }
  free_memory_for(all, *observed);
  return DQ_OK;
}

static bool equal_equalizations(const dq_equalization *a, const dq_equalization *b) {
  if (a->count != b->count) return false;
  for (int i = 0; i < a->count; i++) {
    const dq_equalize_site *x = &a->sites[i], *y = &b->sites[i];
    if (strcmp(x->value, y->value) || x->channels != y->channels ||
        memcmp(x->factors, y->factors, (size_t)x->channels * sizeof *x->factors))
      return false;
  }
  return true;
}

static int64_t trial_pictures(const dq_trials *all) {
  return dq_trial_pictures(all->job->pictures, all->evaluator.detects ? DETECTOR_PICTURES : TRIAL_PICTURES);
}

// Whether the setting scales channels as the best one so far does, or, unless it is wanted in any case, as one that was
// not taken, so that a trial would show the same. Its factors are measured here, and kept for the trial.
static dq_status equalizes_alike(dq_trials *all, const dq_int8_setting *setting, bool wanted, bool *alike) {
  dq_int8_job look = *all->job;
  dq_equalization equalization;
  const dq_observed *best = &all->observed[!is_of(&all->observed[0], &all->job->setting)];
  DQ_TRY(observed_for(all, setting, &look.observed));
  look.in = &all->in, look.setting = *setting, look.pictures = trial_pictures(all), look.sites = all->sites;
  look.graph = dq_graph_copy(all->job->graph);
  if (!look.graph) return dq_fail_memory(look.error, 0);
  dq_status status = dq_int8_equalization(&look, &equalization);
  *alike = status == DQ_OK && best->equalized && equal_equalizations(&equalization, &best->equalization);
  if (status == DQ_OK && all->rejected && !wanted) *alike |= equal_equalizations(&equalization, all->rejected);
  dq_graph_free(look.graph);
  return status;
}

// Fills all->verdict from the trial that ran.
static dq_status judge(dq_trials *all) {
  const dq_int8_job *job = all->job;
  int64_t evaluated = all->evaluator.what.pictures;
  DQ_TRY(dq_verdict_of(&all->verdict, &all->evaluator, evaluated, job->graph->arena, job->error));
  all->verdict.data = evaluated < job->pictures ? DQ_VERDICT_OTHER_PICTURES : DQ_VERDICT_FITTED_PICTURES;
  return DQ_OK;
}

// Fills all->now and all->verdict. `costs` may be NULL.
static dq_status try_setting(dq_trials *all, const dq_int8_setting *setting, layer_costs *costs) {
  dq_int8_report report = {0};
  dq_int8_job trial = *all->job;
  trial.in = &all->in, trial.report = &report, trial.setting = *setting;
  trial.pictures = trial_pictures(all);
  trial.sites = all->sites;
  DQ_TRY(observed_for(all, setting, &trial.observed));
  trial.graph = dq_graph_copy(all->job->graph);
  trial.arena = dq_context_arena(all->job->in->context);
  trial.origin = trial.graph ? dq_origin_begin(trial.graph, "trial") : NULL;
  dq_status status = trial.arena && trial.origin ? dq_int8_quantize(&trial) : dq_fail_memory(trial.error, 0);
  if (status == DQ_OK) status = dq_evaluate(&all->evaluator, trial.graph, &all->now, trial.error);
  if (status == DQ_OK) status = judge(all);
  if (status == DQ_OK && costs) status = record_costs(costs, &trial, all->job->arena);
  dq_origin_discard(trial.origin);
  dq_arena_free(trial.arena);
  dq_graph_free(trial.graph);
  return status;
}

// Accepts the setting when it is better than the best so far, or anyway. *gain: decibels that it is better.
static dq_status try_and_compare(dq_trials *all, const dq_int8_setting *setting, bool anyway, double *gain) {
  char reason[200];
  DQ_TRY(try_setting(all, setting, NULL));
  *gain = gain_of(all);
  bool better = anyway;
  if (anyway) snprintf(reason, sizeof reason, all->started ? "asked for" : "what others are measured by");
  else better = dq_trial_is_better(all, setting, reason, sizeof reason);
  dq_message(all->job->in->context, DQ_DETAIL,
             "trial: method %s, margins %d, equalization %d, heads %d, bias correction %d, absorption %d, range search "
             "%d, exact sums %d: %.2f dB, %s: %s",
             setting->method->name, setting->margins, setting->equalize, setting->heads, setting->bias_correction,
             setting->absorption, setting->range_search, setting->exact_sums, all->now.decibels,
             better ? "taken" : "not taken", reason);
  all->started = true;
  if (better) accept(all, setting);
  return DQ_OK;
}

// Whether a convolution's result is read by nothing but the head of the network.
static dq_status has_heads(const dq_int8_job *job, bool *found) {
  bool *in_head;
  *found = false;
  DQ_TRY(dq_output_head_values(job->graph, &in_head, job->arena, job->error));
  for (int n = 0; n < job->graph->node_count; n++) {
    const dq_node *node = job->graph->nodes[n];
    dq_product product;
    bool convolution = dq_product_of(node, &product) && product.kind == DQ_CONVOLUTION && !product.integer;
    *found |= convolution && in_head[node->outputs[0]->index];
  }
  return DQ_OK;
}

// Keeps the factors of a setting that was not taken.
static dq_status record_rejected(dq_trials *all, const dq_int8_setting *setting) {
  const dq_int8_job *job = all->job;
  dq_observed *observed;
  dq_equalization *copy = DQ_NEW(job->arena, dq_equalization);
  if (!copy) return dq_fail_memory(job->error, sizeof *copy);
  DQ_TRY(observed_for(all, setting, &observed));
  DQ_TRY(dq_equalization_copy(copy, &observed->equalization, job->arena, job->error));
  all->rejected = observed->equalized ? copy : NULL;
  return DQ_OK;
}

// Tries another equalization where it is another one. *whole_gain grows by the gain when it is accepted.
static dq_status try_equalization(dq_trials *all, const dq_int8_setting *setting, bool wanted, double *whole_gain) {
  double gain;
  bool alike;
  DQ_TRY(equalizes_alike(all, setting, wanted, &alike));
  if (alike) return DQ_OK;
  DQ_TRY(try_and_compare(all, setting, wanted, &gain));
  bool taken = all->job->setting.heads == setting->heads && all->job->setting.equalize == setting->equalize;
  if (!taken) return record_rejected(all, setting);
  *whole_gain += gain;
  all->rejected = NULL;
  return DQ_OK;
}

static dq_status decide_equalization(dq_trials *all, double *whole_gain) {
  bool heads;
  DQ_TRY(has_heads(all->job, &heads));
  *whole_gain = 0;
  if (heads) {
    dq_int8_setting setting = all->job->setting;
    setting.heads = true;
    DQ_TRY(try_equalization(all, &setting, false, whole_gain));
  }
  for (int scope = DQ_EQUALIZE_DEPTHWISE; scope <= DQ_EQUALIZE_FULL; scope++) {
    dq_int8_setting setting = all->job->setting;
    setting.equalize = (dq_equalize_scope)scope;
    bool wanted = all->job->in->options->equalize == DQ_CHOOSE_ON && scope == DQ_EQUALIZE_DEPTHWISE;
    DQ_TRY(try_equalization(all, &setting, wanted, whole_gain));
  }
  return DQ_OK;
}

static dq_status decide_method(dq_trials *all) {
  static const char *const names[] = {"minmax", "mse"}; // against percentile
  double gain;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    dq_int8_setting setting = all->job->setting;
    setting.method = dq_observer_find(names[i]);
    DQ_TRY(try_and_compare(all, &setting, false, &gain));
  }
  dq_int8_setting setting = all->job->setting; // some networks have shorter tails than margins expect
  setting.margins = false;
  return try_and_compare(all, &setting, false, &gain);
}

static bool is_automatic(const dq_int8_options *options) { return !strcmp(options->method->name, "auto"); }

// Trials before have corrected biases: their errors would hide what other settings gain.
static dq_status decide_bias_correction(dq_trials *all) {
  dq_int8_setting setting = all->job->setting;
  double gain;
  setting.bias_correction = false;
  DQ_TRY(try_and_compare(all, &setting, false, &gain));
  all->job->report->bias_correction_gain = -gain;
  return DQ_OK;
}

// Whether any biases are high: on a few pictures, as a range that does not become narrower on these does not on more.
static dq_status has_high_biases(dq_trials *all, bool *found) {
  enum { PICTURES = 4 };
  const dq_int8_job *job = all->job;
  dq_observed *observed;
  const dq_restated *restated;
  int count;
  dq_absorption absorption = {0};
  *found = false;
  DQ_TRY(observed_for(all, &job->setting, &observed));
  dq_graph *copy = dq_graph_copy(job->graph);
  if (!copy) return dq_fail_memory(job->error, 0);
  dq_observation what = {.graph = copy,
                         .shapes = &job->in->options->shapes,
                         .data = all->pictures,
                         .pictures = job->pictures < PICTURES ? job->pictures : PICTURES,
                         .batch = job->in->options->batch};
  dq_status status = dq_equalize_apply(copy, &observed->equalization, &job->in->options->shapes, job->arena, &restated,
                                       &count, job->in->context, job->error);
  if (status == DQ_OK) status = dq_absorption_measure(&absorption, &what, job->arena, job->in->context, job->error);
  *found = absorption.count > 0;
  dq_graph_free(copy);
  return status;
}

// Whether a trial can show a sure gain: one picture alone cannot, and a trial that cannot be taken is not run.
static bool can_be_sure(const dq_trials *all, const char *step) {
  if (all->evaluator.what.pictures > 1) return true;
  dq_message(all->job->in->context, DQ_DETAIL, "no trial of %s: one picture cannot show a sure gain", step);
  return false;
}

static dq_status decide_absorption(dq_trials *all) {
  const dq_int8_options *options = all->job->in->options;
  dq_int8_setting setting = all->job->setting;
  bool any = false;
  if (options->bias_absorption == DQ_CHOOSE_OFF) return DQ_OK;
  if (options->bias_absorption == DQ_CHOOSE_AUTO && !can_be_sure(all, "bias absorption")) return DQ_OK;
  DQ_TRY(has_high_biases(all, &any));
  if (!any) return DQ_OK;
  setting.absorption = true;
  return try_and_compare(all, &setting, options->bias_absorption == DQ_CHOOSE_ON, &all->job->report->absorption_gain);
}

// A method that was asked for is kept, without a search.
static bool tries_search(const dq_int8_options *options) {
  return options->range_search == DQ_CHOOSE_ON || (options->range_search == DQ_CHOOSE_AUTO && is_automatic(options));
}

static dq_status decide_range_search(dq_trials *all) {
  const dq_int8_options *options = all->job->in->options;
  dq_int8_setting setting = all->job->setting;
  if (!tries_search(options)) return DQ_OK;
  if (options->range_search == DQ_CHOOSE_AUTO && !can_be_sure(all, "range search")) return DQ_OK;
  setting.range_search = true;
  return try_and_compare(all, &setting, options->range_search == DQ_CHOOSE_ON, &all->job->report->range_search_gain);
}

static dq_status decide_sums(dq_trials *all) {
  dq_int8_setting setting = all->job->setting;
  bool any = false;
  for (int n = 0; n < all->job->graph->node_count; n++) {
    const dq_node *node = all->job->graph->nodes[n];
    any |= (dq_node_flags(node) & DQ_OP_ADDS) && !node->inputs[0]->constant && !node->inputs[1]->constant;
  }
  if (!any || all->job->in->options->symmetric) return DQ_OK;
  setting.exact_sums = true;
  return try_and_compare(all, &setting, false, &all->job->report->exact_sums_gain);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// A score of the outputs alone: safe pairs move channels, and so the features that trials compare otherwise.
static dq_score plain_score(const dq_trials *all, const dq_score *score) {
  return all->evaluator.detects ? *score : (dq_score){.decibels = score->plain_decibels, .noise = score->plain_noise};
}

static double plain_gain(const dq_trials *all) {
  dq_score best = plain_score(all, &all->best), now = plain_score(all, &all->now);
  return dq_score_gain(&all->evaluator, &best, &now);
}

// What safe pairs cost, in dB: of all pictures together or by picture, whichever is more.
static double cost_of_trial(const dq_trials *all) {
  dq_score best = plain_score(all, &all->best), now = plain_score(all, &all->now);
  return fmax(-plain_gain(all), -dq_score_gain_by_picture(&all->evaluator, &best, &now));
}

// Chooses safe pairs in the layers where they cost least, as many as may be for PAIRS_MOST. With the ranges of fewer
// pictures, which cut off more, a trial shows about half of what they cost. In all layers they are worth more: the file
// is then right on every processor.
static dq_status decide_pairs(dq_trials *all) {
  static const double EVERYWHERE_MOST = 0.3, PAIRS_MOST = 0.15; // dB
  enum { MOST_TRIALS = 2 };                                     // after the first
  dq_int8_setting setting = all->job->setting;
  layer_costs costs;
  setting.accumulator = (dq_accumulator_choice){DQ_ACCUMULATE_PAIRS, DQ_PAIRS_EVERYWHERE};
  DQ_TRY(try_setting(all, &setting, &costs));
  qsort(costs.noise, (size_t)costs.count, sizeof *costs.noise, by_size);
  int safe = 0, unsafe = costs.count; // so many of the cheapest: affordable, too many
  int tried = costs.count;
  for (int i = 0;; i++) {
    double cost = cost_of_trial(all);
    double most = i ? PAIRS_MOST : EVERYWHERE_MOST;
    if (!i) cost = -plain_gain(all);
    bool affordable = cost <= most;
    dq_message(
        all->job->in->context, DQ_DETAIL,
        "trial: pairs safe in %d of the %d layers that they cost something: %.2f dB, %s: costs %.2f dB, at most %.2f",
        tried, costs.count, plain_score(all, &all->now).decibels, affordable ? "taken" : "not taken", cost, most);
    if (affordable) {
      all->job->setting = setting;
      all->job->report->pairs_cost = -plain_gain(all);
      all->job->report->verdict = all->verdict;
    }
    if (affordable) safe = tried;
    else unsafe = tried;
    tried = (safe + unsafe) / 2;
    if (unsafe - safe <= 1 || i == MOST_TRIALS || (affordable && !i)) break;
    setting.accumulator.pairs_noise = costs.noise[tried - 1];
    DQ_TRY(try_setting(all, &setting, NULL));
  }
  return DQ_OK;
}

static dq_status decide_all(dq_trials *all) {
  const dq_int8_options *options = all->job->in->options;
  dq_int8_report *report = all->job->report;
  dq_int8_setting setting = all->job->setting;
  double gain;
  DQ_TRY(try_and_compare(all, &setting, true, &gain));
  if (options->equalize != DQ_CHOOSE_OFF) DQ_TRY(decide_equalization(all, &report->equalize_gain));
  if (is_automatic(options)) DQ_TRY(decide_method(all));
  if (options->bias_correction == DQ_CHOOSE_AUTO) DQ_TRY(decide_bias_correction(all));
  DQ_TRY(decide_absorption(all));
  DQ_TRY(decide_range_search(all));
  DQ_TRY(decide_sums(all));
  return options->accumulator == DQ_ACCUMULATE_AUTO ? decide_pairs(all) : DQ_OK;
}

static bool leaves_anything_open(const dq_int8_options *options) {
  return is_automatic(options) || options->accumulator == DQ_ACCUMULATE_AUTO || options->equalize != DQ_CHOOSE_OFF ||
         options->bias_correction == DQ_CHOOSE_AUTO || options->bias_absorption != DQ_CHOOSE_OFF ||
         options->range_search != DQ_CHOOSE_OFF;
}

// What the options say, before trials.
static dq_int8_setting setting_of(const dq_int8_options *options) {
  bool open_sums = options->accumulator == DQ_ACCUMULATE_AUTO;
  return (dq_int8_setting){
      .method = is_automatic(options) ? dq_observer_find("percentile") : options->method,
      .margins = is_automatic(options),
      .bias_correction = options->bias_correction != DQ_CHOOSE_OFF,
      .accumulator = {open_sums ? DQ_ACCUMULATE_INT32 : options->accumulator, DQ_PAIRS_EVERYWHERE},
  };
}

// Trials take long: the memory that the last of them needs is asked for first.
static dq_status check_memory(const dq_int8_job *job) {
  dq_int8_report report = {0};
  dq_int8_job look = *job;
  look.report = &report;
  if (!tries_search(job->in->options)) return DQ_OK;
  DQ_TRY(dq_int8_open_tables(&look));
  DQ_TRY(dq_int8_select(&look));
  return dq_int8_check_search(&look);
}

dq_status dq_int8_choose(dq_int8_job *job) {
  const dq_int8_options *options = job->in->options;
  const dq_calibration_table *given = job->in->given;
  dq_int8_report *report = job->report;
  job->setting = setting_of(options);
  report->equalize_gain = report->bias_correction_gain = report->pairs_cost = report->absorption_gain =
      report->range_search_gain = report->exact_sums_gain = NAN;
  if (given && options->accumulator == DQ_ACCUMULATE_AUTO) job->setting.accumulator = given->accumulator;
  if (given && options->start) job->setting.method = dq_observer_find(given->method);
  if (given || !leaves_anything_open(options)) return DQ_OK;
  DQ_TRY(check_memory(job));
  dq_trials all;
  dq_status status = open_trials(&all, job);
  if (status == DQ_OK) status = decide_all(&all);
  close_trials(&all);
  return status;
}
