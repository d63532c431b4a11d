#include "quant/int8/facts.h"

// Where a fact comes from.
typedef enum fact_source { NOT_WANTED, GIVEN, REMEMBERED, MEASURED } fact_source;

static fact_source source_of(const dq_int8_job *job, bool wanted, bool remembered) {
  if (job->in->given) return GIVEN;
  if (!wanted) return NOT_WANTED;
  return job->observed && remembered ? REMEMBERED : MEASURED;
}

static dq_observation observation(const dq_int8_job *job, const char *doing) {
  return (dq_observation){.graph = job->graph,
                          .shapes = &job->in->options->shapes,
                          .data = job->pictures.data,
                          .pictures = job->pictures.count,
                          .batch = job->in->options->batch,
                          .doing = doing};
}

dq_status dq_int8_equalization(dq_int8_job *job, dq_equalization *equalization) {
  dq_observation what = observation(job, "equalizing");
  switch (source_of(job, true, job->observed && job->observed->equalized)) {
  case GIVEN: *equalization = job->in->given->equalization; return DQ_OK;
  case REMEMBERED:
    return dq_equalization_copy(equalization, &job->observed->equalization, job->graph->arena, job->error);
  default: break;
  }
  if (job->pictures.factor_data) what.data = job->pictures.factor_data, what.pictures = job->pictures.factor_count;
  DQ_TRY(dq_equalize_measure(equalization, &what, job->setting.equalize, job->setting.heads, job->pictures.sites,
                             job->graph->arena, job->in->context, job->error));
  return job->observed ? dq_observed_store_equalization(job->observed, equalization, job->error) : DQ_OK;
}

dq_status dq_int8_absorption(dq_int8_job *job, dq_absorption *absorption) {
  dq_observation what = observation(job, "absorbing biases");
  switch (source_of(job, job->setting.absorption, job->observed && job->observed->absorption.count)) {
  case NOT_WANTED: return DQ_OK;
  case GIVEN: *absorption = job->in->given->absorption; return DQ_OK;
  case REMEMBERED: *absorption = job->observed->absorption; return DQ_OK;
  default: break;
  }
  DQ_TRY(dq_absorption_measure(absorption, &what, job->graph->arena, job->in->context, job->error));
  return job->observed ? dq_observed_store_absorption(job->observed, absorption, job->error) : DQ_OK;
}

// The means of the network with permuted channels are in another order than those that are stored.
static dq_status store_means(dq_int8_job *job, const dq_input_means *means) {
  if (!job->observed) return job->means = *means, DQ_OK;
  return job->permuted_count ? DQ_OK : dq_observed_store_means(job->observed, means, job->error);
}

dq_status dq_int8_means(dq_int8_job *job) {
  dq_observation what = observation(job, "correcting biases");
  switch (source_of(job, job->setting.bias_correction, job->observed && job->observed->means.count)) {
  case NOT_WANTED: return DQ_OK;
  case GIVEN: job->means = job->in->given->means; return DQ_OK;
  case REMEMBERED:
    return dq_observed_permuted_means(job->observed, job->permuted, job->permuted_count, &job->means, job->graph->arena,
                                      job->error);
  default: break;
  }
  if (job->means.count) return DQ_OK; // measured with the histograms
  DQ_TRY(dq_input_means_measure(&job->means, &what, job->graph->arena, job->in->context, job->error));
  return job->observed ? store_means(job, &job->means) : DQ_OK;
}

dq_status dq_int8_levels(const dq_int8_job *job, dq_input_levels *levels) {
  dq_observation what = observation(job, "");
  switch (source_of(job, !job->in->options->symmetric, false)) {
  case NOT_WANTED: return DQ_OK;
  case GIVEN: *levels = job->in->given->levels; return DQ_OK;
  default: return dq_levels_measure(levels, &what, job->graph->arena, job->error);
  }
}

const dq_calibration_table_range *dq_int8_given_range(const dq_int8_job *job, int v) {
  int found = dq_name_list_find(&job->in->given_ranges, job->graph->values[v]->name);
  return found < 0 ? NULL : &job->in->given->ranges[found];
}

// Whether this setting or a trial that shares its measurements corrects biases.
static bool will_need_means(const dq_int8_job *job) {
  if (!job->observed) return job->setting.bias_correction;
  return job->in->options->bias_correction != DQ_CHOOSE_OFF && !job->observed->means.count && !job->permuted_count;
}

// Lets the runs of the first trial, before anything is equalized, also observe the channels of the values that may be
// equalized, unless channels have another order there. sites->count is 0 where nothing is observed.
static dq_status watch_sites(const dq_int8_job *job, const dq_observation *what, dq_listener *sites) {
  const dq_int8_setting *setting = &job->setting;
  bool early =
      job->pictures.sites && what->data == job->pictures.factor_data && what->pictures <= job->pictures.factor_count;
  *sites = (dq_listener){0};
  if (!early || job->in->options->equalize == DQ_CHOOSE_OFF) return DQ_OK;
  if (setting->equalize != DQ_EQUALIZE_NONE || setting->heads || setting->absorption || job->permuted_count)
    return DQ_OK;
  return dq_equalize_watch(job->pictures.sites, sites, what, job->in->context, job->error);
}

// Histograms, and in the same runs the means of inputs and the ends of channels where they will be needed.
static dq_status measure(dq_int8_job *job, dq_observation *what, dq_calibration *histograms) {
  dq_listener listener, sites;
  dq_mean_sums *sums = NULL;
  dq_input_means means;
  DQ_TRY(watch_sites(job, what, &sites));
  if (sites.count) what->also = &sites;
  if (!job->in->given && will_need_means(job)) {
    DQ_TRY(dq_input_means_open(&sums, &listener, job->graph, job->graph->arena, job->in->context, job->error));
    listener.next = what->also;
    what->also = &listener;
  }
  DQ_TRY(dq_calibrate(histograms, what, job->in->context, job->error));
  dq_equalize_watched(job->pictures.sites, &sites, what);
  if (!sums) return DQ_OK;
  dq_status status = dq_input_means_finish(&means, sums, job->error);
  if (status == DQ_OK) status = store_means(job, &means);
  if (status != DQ_OK) dq_calibration_deinit(histograms);
  return status;
}

dq_status dq_int8_histograms(dq_int8_job *job, const char *const *names, int count, dq_calibration *own,
                             const dq_calibration **found) {
  dq_observation what = observation(job, "calibrating");
  *own = (dq_calibration){0};
  *found = NULL;
  if (!count) return DQ_OK;
  if (job->observed && dq_observed_has_calibration(job->observed, names, count)) {
    *found = &job->observed->calibration;
    job->report->calibration_bytes = (*found)->bytes;
    job->report->pictures = (*found)->pictures;
    return DQ_OK;
  }
  what.names = names, what.count = count;
  DQ_TRY(measure(job, &what, own));
  job->report->calibration_bytes = own->bytes;
  job->report->pictures = own->pictures;
  *found = own;
  if (!job->observed) return DQ_OK;
  *found = &job->observed->calibration;
  return dq_observed_store_calibration(job->observed, own, job->error);
}

const dq_range_pair *dq_int8_searched_ranges(const dq_int8_job *job) {
  const dq_searched_ranges *searched = job->observed ? &job->observed->searched : NULL;
  bool same = searched && searched->method == job->setting.method && searched->margins == job->setting.margins;
  return same ? searched->ranges : NULL;
}

dq_status dq_int8_store_searched_ranges(dq_int8_job *job, int histogram_count) {
  if (!job->observed) return DQ_OK;
  dq_range_pair *ranges = DQ_NEW_ARRAY(job->arena, histogram_count, dq_range_pair);
  if (!ranges) return dq_fail_memory(job->error, 0);
  for (int v = 0; v < job->value_count; v++)
    if (job->choices[v].slot >= 0) ranges[job->choices[v].slot] = job->choices[v].range;
  const dq_searched_ranges searched = {job->setting.method, job->setting.margins, ranges, histogram_count};
  return dq_observed_store_ranges(job->observed, &searched, job->error);
}

const dq_accumulator_choice *dq_int8_order_rule(const dq_int8_job *job) {
  return job->in->given ? &job->in->given->accumulator : &job->setting.accumulator;
}

const dq_rounding *dq_int8_given_rounding(const dq_int8_options *options) {
  return options->table ? &options->table->rounding : NULL;
}
