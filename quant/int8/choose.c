// Choosing a setting by trials (trials.c).
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/table/operator.h"
#include "lib/verdict/evaluator.h"
#include "quant/int8/facts.h"
#include "quant/int8/stages.h"
#include "quant/int8/trials.h"
#include "quant/rewrite/output_head.h"

static bool is_automatic(const dq_int8_options *options) { return !strcmp(options->method->name, "auto"); }

// ---- Ranges of the file ----

// Whether trials can have the ranges that the file will have: where these are of more pictures than trials can take
// without the ones that judge, and for detectors where enough of them judge, since the noise of their nearly constant
// boxes depends on the very scales. A method that is asked for may depend on the order of the pictures.
static bool can_try_as_file(const dq_trials *all) {
  enum { FEWEST = 16 };
  const int64_t pictures = all->job->pictures.count;
  if (!is_automatic(all->job->in->options)) return false;
  return dq_trials_pictures(all) < dq_trial_pictures(pictures, pictures) ||
         (all->evaluator.detects && all->evaluator.what.pictures >= FEWEST);
}

// Begins again with the best setting: trials now have the ranges of all pictures, which are stored for the file.
static dq_status begin_as_file(dq_trials *all) {
  dq_int8_job *job = all->job;
  const dq_int8_setting setting = job->setting;
  const bool first = dq_observed_is_of(&all->observed[0], &setting);
  dq_calibration *best = &all->observed[!first].calibration;
  dq_calibration_deinit(&all->observed[first].calibration);
  if (dq_check_memory(job->in->context, best->bytes, "a calibration", NULL) != DQ_OK) dq_calibration_deinit(best);
  dq_message(job->in->context, DQ_DETAIL, "trials with the ranges of all %" PRId64 " pictures", job->pictures.count);
  job->pictures.search_count = dq_trials_pictures(all);
  all->as_file = true, all->observed = all->conversion->of_file, job->pictures.factor_count = job->pictures.count;
  return dq_begin_with(all, &setting);
}

// ---- Decisions ----

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

// Whether the setting scales channels as the best one so far does, or, unless it is wanted in any case, as one that was
// not taken, so that a trial would show the same. Its factors are measured here, and kept for the trial.
static dq_status equalizes_alike(dq_trials *all, const dq_int8_setting *setting, bool wanted, bool *alike) {
  dq_int8_report report = {0};
  dq_int8_job trial;
  dq_equalization equalization;
  const dq_observed *best = &all->observed[!dq_observed_is_of(&all->observed[0], &all->job->setting)];
  dq_status status = dq_trial_of_setting(all, &trial, setting, &report);
  if (status == DQ_OK) status = dq_int8_equalization(&trial, &equalization);
  *alike = status == DQ_OK && best->equalized && equal_equalizations(&equalization, &best->equalization);
  if (status == DQ_OK && all->rejected && !wanted) *alike |= equal_equalizations(&equalization, all->rejected);
  dq_int8_trial_close(&trial);
  return status;
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
  DQ_TRY(dq_trials_observed(all, setting, &observed));
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
  DQ_TRY(dq_try_and_compare(all, setting, wanted, &gain));
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
  for (int i = 0; is_automatic(all->job->in->options) && i < DQ_COUNT(names); i++) {
    dq_int8_setting setting = all->job->setting;
    setting.method = dq_observer_find(names[i]);
    DQ_TRY(dq_try_and_compare(all, &setting, false, &gain));
  }
  return DQ_OK;
}

// Some networks have shorter tails than margins expect.
static dq_status decide_margins(dq_trials *all) {
  double gain;
  dq_int8_setting setting = all->job->setting;
  setting.margins = false;
  return is_automatic(all->job->in->options) ? dq_try_and_compare(all, &setting, false, &gain) : DQ_OK;
}

// Trials before have corrected biases: their errors would hide what other settings gain.
static dq_status decide_bias_correction(dq_trials *all) {
  dq_int8_setting setting = all->job->setting;
  double gain;
  setting.bias_correction = false;
  DQ_TRY(dq_try_and_compare(all, &setting, false, &gain));
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
  DQ_TRY(dq_trials_observed(all, &job->setting, &observed));
  dq_graph *copy = dq_graph_copy(job->graph);
  if (!copy) return dq_fail_memory(job->error, 0);
  dq_observation what = {.graph = copy,
                         .shapes = &job->in->options->shapes,
                         .data = all->conversion->in_turns,
                         .pictures = job->pictures.count < PICTURES ? job->pictures.count : PICTURES,
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
  return dq_try_and_compare(all, &setting, options->bias_absorption == DQ_CHOOSE_ON,
                            &all->job->report->absorption_gain);
}

// A method that was asked for is kept, without a search.
static bool may_search(const dq_int8_options *options) {
  return options->range_search == DQ_CHOOSE_ON || (options->range_search == DQ_CHOOSE_AUTO && is_automatic(options));
}

// The search takes a fifth of the command, and was taken by none of eight networks with a part below 20 dB.
static bool is_hopeless(dq_trials *all) {
  return dq_verdict_is_doubtful(&all->job->report->verdict) || !can_be_sure(all, "range search");
}

static dq_status decide_range_search(dq_trials *all) {
  const dq_int8_options *options = all->job->in->options;
  dq_int8_setting setting = all->job->setting;
  if (!may_search(options)) return DQ_OK;
  if (options->range_search == DQ_CHOOSE_AUTO && is_hopeless(all)) return DQ_OK;
  setting.range_search = true;
  return dq_try_and_compare(all, &setting, options->range_search == DQ_CHOOSE_ON, &all->job->report->range_search_gain);
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
  return dq_try_and_compare(all, &setting, false, &all->job->report->exact_sums_gain);
}

static dq_status decide_all(dq_trials *all) {
  const dq_int8_options *options = all->job->in->options;
  dq_int8_report *report = all->job->report;
  dq_int8_setting setting = all->job->setting;
  DQ_TRY(dq_begin_with(all, &setting));
  if (options->equalize != DQ_CHOOSE_OFF) DQ_TRY(decide_equalization(all, &report->equalize_gain));
  const bool as_file = can_try_as_file(all);
  if (as_file) DQ_TRY(decide_margins(all)); // which are for pictures that gave no ranges
  if (as_file) DQ_TRY(begin_as_file(all));
  DQ_TRY(decide_method(all));
  if (!as_file) DQ_TRY(decide_margins(all));
  if (options->bias_correction == DQ_CHOOSE_AUTO) DQ_TRY(decide_bias_correction(all));
  DQ_TRY(decide_absorption(all));
  DQ_TRY(decide_range_search(all));
  DQ_TRY(decide_sums(all));
  if (options->accumulator == DQ_ACCUMULATE_AUTO) DQ_TRY(dq_choose_pairs(all));
  return DQ_OK;
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
  dq_int8_job look = dq_int8_look(job, &report);
  if (!may_search(job->in->options)) return DQ_OK;
  DQ_TRY(dq_int8_open_tables(&look));
  DQ_TRY(dq_int8_select(&look));
  return dq_int8_check_search(&look);
}

// The tables of ranges that layers in float are looked for with, and the verdict.
static dq_status conclude(dq_trials *all) {
  dq_int8_report *report = all->job->report;
  for (int i = 0; i < 2; i++) dq_observed_close(&all->of_trials[i]); // the verdict needs as much memory again
  dq_evaluator_close(&all->evaluator);
  if (all->as_file) report->as_file = report->verdict;
  else DQ_TRY(dq_calibration_table_copy(&report->judged, &all->judged, all->job->graph->arena, all->job->error));
  return all->job->in->options->unjudged ? DQ_OK : dq_judge_setting(all);
}

dq_status dq_int8_choose(dq_int8_conversion *conversion) {
  dq_int8_job *job = &conversion->job;
  const dq_int8_options *options = job->in->options;
  const dq_calibration_table *given = job->in->given;
  dq_int8_report *report = job->report;
  job->setting = setting_of(options);
  report->equalize_gain = report->bias_correction_gain = report->pairs_cost = report->absorption_gain =
      report->range_search_gain = report->exact_sums_gain = NAN;
  if (given && options->accumulator == DQ_ACCUMULATE_AUTO) job->setting.accumulator = given->accumulator;
  if (given && options->start) job->setting.method = dq_observer_find(given->method);
  if (given) return DQ_OK;
  if (!leaves_anything_open(options)) return options->unjudged ? DQ_OK : dq_judge_setting(&(dq_trials){.job = job});
  DQ_TRY(check_memory(job));
  dq_trials all;
  dq_status status = dq_trials_open(&all, conversion);
  if (status == DQ_OK) status = decide_all(&all);
  if (status == DQ_OK) status = conclude(&all);
  dq_trials_close(&all);
  return status;
}
