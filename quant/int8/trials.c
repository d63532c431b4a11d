// Trials: the prepared network is quantized on some of the pictures with a setting and scored on others (turns.c,
// lib/verdict/evaluator.h).
#include "quant/int8/trials.h"

#include <stdio.h>
#include <string.h>

#include "quant/int8/stages.h"

enum { TRIAL_PICTURES = 40 };
enum { DETECTOR_PICTURES = 64 }; // in trials of detectors, whose ranges have longer tails

bool dq_observed_is_of(const dq_observed *observed, const dq_int8_setting *setting) {
  return observed->arena && observed->equalize == setting->equalize && observed->heads == setting->heads &&
         observed->absorbing == setting->absorption;
}

// Where other pictures give ranges, factors of channels may be wanted of the ones that judge at the end: they are seen
// in the run that computes the exact outputs.
static dq_status watch_judges(const dq_int8_job *job, dq_evaluator_options *judged, dq_listener *sites) {
  const dq_observation what = {
      .graph = job->graph, .shapes = judged->shapes, .first = judged->first, .pictures = judged->pictures};
  if (job->in->options->equalize == DQ_CHOOSE_OFF || !what.first) return DQ_OK;
  DQ_TRY(dq_equalize_watch(job->pictures.sites, sites, &what, job->in->context, job->error));
  if (sites->count) judged->also = sites;
  return DQ_OK;
}

dq_status dq_trials_open(dq_trials *all, dq_int8_conversion *conversion) {
  dq_int8_job *job = &conversion->job;
  *all = (dq_trials){.conversion = conversion, .job = job};
  all->observed = all->of_trials;
  job->pictures.sites = dq_equalize_memory_new(job->arena);
  dq_score *const scores[] = {&all->now, &all->best};
  for (int i = 0; i < 2; i++) {
    scores[i]->noise = DQ_NEW_ARRAY(job->arena, DQ_EVALUATED_PICTURES, double);
    scores[i]->plain_noise = DQ_NEW_ARRAY(job->arena, DQ_EVALUATED_PICTURES, double);
    if (!scores[i]->noise || !scores[i]->plain_noise) return dq_fail_memory(job->error, 0);
  }
  if (!job->pictures.sites) return dq_fail_memory(job->error, 0);
  const dq_int8_options *options = job->in->options;
  int64_t evaluated = dq_evaluated_pictures(job->pictures.count);
  DQ_TRY(dq_trial_data(&conversion->in_turns, job->pictures.data, job->pictures.count, job->error));
  job->pictures.factor_data = conversion->in_turns;
  job->pictures.factor_count = dq_trial_pictures(job->pictures.count, DQ_FACTOR_PICTURES);
  dq_evaluator_options judged = {.graph = job->graph,
                                 .shapes = &options->shapes,
                                 .data = conversion->in_turns,
                                 .first = job->pictures.count - evaluated,
                                 .pictures = evaluated,
                                 .decode = options->decode,
                                 .features = true,
                                 .batch = options->batch};
  dq_listener sites;
  DQ_TRY(watch_judges(job, &judged, &sites));
  return dq_evaluator_open(&all->evaluator, &judged, job->in->context, job->arena, job->error);
}

void dq_trials_close(dq_trials *all) {
  dq_progress(all->job->in->context, "converting", 0, 1);
  all->job->pictures.factor_count = all->job->pictures.count;
  dq_evaluator_close(&all->evaluator);
  for (int i = 0; i < 2; i++) {
    dq_observed *of_file = &all->conversion->of_file[i];
    dq_observed_close(&all->of_trials[i]);
    if (dq_observed_is_of(of_file, &all->job->setting)) all->job->observed = of_file;
  }
}

// Decibels that the trial which ran is better than the best setting so far.
static double gain_of(const dq_trials *all) { return dq_score_gain(&all->evaluator, &all->best, &all->now); }

static void exchange(dq_score *a, dq_score *b) {
  dq_score score = *a;
  *a = *b, *b = score;
}

void dq_trial_record_verdict(dq_trials *all) {
  all->job->report->verdict = all->verdict;
  all->judged = all->table;
  all->judged_errors = all->errors;
}

static void accept(dq_trials *all, const dq_int8_setting *setting) {
  exchange(&all->best, &all->now);
  all->best_hash = all->hash;
  all->best_record = all->record_count - 1;
  all->job->setting = *setting;
  dq_trial_record_verdict(all);
}

static dq_status record_costs(dq_layer_costs *costs, const dq_int8_job *trial, dq_arena *arena) {
  const dq_int8_report *report = trial->report;
  *costs = (dq_layer_costs){DQ_NEW_ARRAY(arena, report->count + 1, double), 0};
  if (!costs->noise) return dq_fail_memory(trial->error, 0);
  for (int i = 0; i < report->count; i++)
    if (report->layers[i].block_noise > 0) costs->noise[costs->count++] = report->layers[i].block_noise;
  return DQ_OK;
}

// Where the budget does not hold the histograms that `observed` still needs, those of the other setting are given back:
// trials that share its equalization measure them once more.
static void free_memory_for(dq_trials *all, const dq_observed *observed) {
  dq_calibration *other = &all->observed[observed == &all->observed[0]].calibration;
  bool fits = dq_check_memory(all->job->in->context, other->bytes, "a calibration", NULL) == DQ_OK;
  if (!observed->calibration.count && !fits) dq_calibration_deinit(other);
}

dq_status dq_trials_observed(dq_trials *all, const dq_int8_setting *setting, dq_observed **observed) {
  *observed = &all->observed[!dq_observed_is_of(&all->observed[0], setting)];
  if (!dq_observed_is_of(*observed, setting)) {
    *observed = &all->observed[dq_observed_is_of(&all->observed[0], &all->job->setting)];
    DQ_TRY(dq_observed_open(*observed, setting->equalize, setting->heads, setting->absorption, all->job->in->context,
                            all->job->error));
  }
  free_memory_for(all, *observed);
  return DQ_OK;
}

int64_t dq_trial_limit(int64_t pictures, bool detects) {
  const int64_t most = detects ? DETECTOR_PICTURES : TRIAL_PICTURES;
  return pictures < most ? pictures : most;
}

int64_t dq_trials_pictures(const dq_trials *all) {
  if (all->as_file) return all->job->pictures.count;
  return dq_trial_limit(dq_trial_pictures(all->job->pictures.count, INT64_MAX), all->evaluator.detects);
}

dq_status dq_trial_of_setting(dq_trials *all, dq_int8_job *trial, const dq_int8_setting *setting,
                              dq_int8_report *report) {
  dq_int8_pictures pictures = all->job->pictures;
  dq_observed *observed;
  pictures.data = all->conversion->in_turns, pictures.count = dq_trials_pictures(all);
  *trial = (dq_int8_job){0};
  DQ_TRY(dq_trials_observed(all, setting, &observed));
  return dq_int8_trial_open(trial, all->job, setting, &pictures, observed, report);
}

static void copy_best(dq_trials *all) {
  const size_t bytes = DQ_EVALUATED_PICTURES * sizeof(double);
  all->now.decibels = all->best.decibels, all->now.plain_decibels = all->best.plain_decibels;
  memcpy(all->now.noise, all->best.noise, bytes);
  memcpy(all->now.plain_noise, all->best.plain_noise, bytes);
  all->verdict = all->job->report->verdict;
  all->errors = all->judged_errors;
}

// Fills all->now and all->verdict for the network of a trial. A setting that changes nothing makes the network of the
// best setting, whose figures are known.
static dq_status judge(dq_trials *all, const dq_graph *graph) {
  const dq_int8_job *job = all->job;
  int64_t evaluated = all->evaluator.what.pictures;
  all->hash = dq_origin_hash(graph);
  if (all->started && all->hash && all->hash == all->best_hash) {
    copy_best(all);
    return DQ_OK;
  }
  DQ_TRY(dq_evaluate(&all->evaluator, graph, &all->now, job->error));
  DQ_TRY(dq_picture_errors_copy(&all->errors, &all->evaluator.errors, job->arena, job->error));
  DQ_TRY(dq_verdict_of(&all->verdict, &all->evaluator, &all->errors, job->graph->arena, job->error));
  all->verdict.data = evaluated < job->pictures.count ? DQ_VERDICT_OTHER_PICTURES : DQ_VERDICT_FITTED_PICTURES;
  if (!all->as_file && all->verdict.data == DQ_VERDICT_OTHER_PICTURES) dq_verdict_of_stand_in(&all->verdict);
  return DQ_OK;
}

dq_status dq_try_setting(dq_trials *all, const dq_int8_setting *setting, dq_layer_costs *costs) {
  dq_int8_report report = {0};
  dq_int8_job trial;
  dq_status status = dq_trial_of_setting(all, &trial, setting, &report);
  if (status == DQ_OK) status = dq_int8_quantize(&trial);
  if (status == DQ_OK) status = judge(all, trial.graph);
  if (status == DQ_OK) status = dq_calibration_table_copy(&all->table, &report.table, all->job->arena, trial.error);
  if (status == DQ_OK && costs) status = record_costs(costs, &trial, all->job->arena);
  dq_int8_trial_close(&trial);
  return status;
}

// Keeps what the trial that ran showed.
static dq_status record(dq_trials *all, const dq_int8_setting *setting, bool anyway) {
  const size_t bytes = DQ_EVALUATED_PICTURES * sizeof(double);
  double *noise = dq_arena_copy(all->job->arena, all->now.noise, bytes);
  if (!noise || all->record_count == DQ_MOST_RECORDS) return dq_fail_memory(all->job->error, bytes);
  all->records[all->record_count++] = (dq_trial_record){*setting, anyway, noise, all->errors};
  return DQ_OK;
}

// What a trial changes of the best setting so far.
static const char *change_of(const dq_trials *all, const dq_int8_setting *setting) {
  const dq_int8_setting *best = &all->job->setting;
  if (!all->started) return "defaults";
  if (setting->range_search && !best->range_search) return "range search";
  if (setting->absorption != best->absorption) return "bias absorption";
  if (setting->exact_sums != best->exact_sums) return "sums without rounding";
  if (setting->bias_correction != best->bias_correction) return "bias correction";
  if (setting->equalize != best->equalize || setting->heads != best->heads) return "equalization";
  if (setting->margins != best->margins) return "margins";
  return setting->method != best->method ? setting->method->name : "sums of pairs";
}

dq_status dq_try_and_compare(dq_trials *all, const dq_int8_setting *setting, bool anyway, double *gain) {
  char reason[200], work[64];
  snprintf(work, sizeof work, "trial %d: %s", ++all->count, change_of(all, setting));
  dq_progress(all->job->in->context, work, 0, 1);
  DQ_TRY(dq_try_setting(all, setting, NULL));
  DQ_TRY(record(all, setting, anyway));
  *gain = gain_of(all);
  bool better = anyway;
  if (anyway) snprintf(reason, sizeof reason, all->started ? "asked for" : "what others are measured by");
  else
    better = dq_trial_is_better(&(dq_trial_comparison){&all->job->setting, setting, &all->best, &all->now,
                                                       all->evaluator.what.pictures, all->evaluator.detects},
                                reason, sizeof reason);
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

dq_status dq_begin_with(dq_trials *all, const dq_int8_setting *setting) {
  double gain;
  all->started = false, all->record_count = 0;
  return dq_try_and_compare(all, setting, true, &gain);
}
