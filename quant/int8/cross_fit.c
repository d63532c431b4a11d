// The verdict on a setting that trials chose: every picture is judged by a network that its error had no part in
// choosing, with ranges of other pictures.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "quant/int8/stages.h"
#include "quant/int8/trials.h"

// ---- The pictures that judged trials ----

// Two trials without one picture.
typedef struct subset {
  double best_noise[DQ_EVALUATED_PICTURES], noise[DQ_EVALUATED_PICTURES];
  dq_score best, now;
} subset;

static void leave_out(double *to, const double *noise, int64_t pictures, int64_t left_out) {
  for (int64_t p = 0; p < pictures; p++)
    if (p != left_out) *to++ = noise[p];
}

static dq_status score_without(dq_score *score, double *noise, const dq_trials *all, int number, int64_t left_out,
                               dq_arena *arena) {
  const dq_trial_record *record = &all->records[number];
  leave_out(noise, record->noise, all->evaluator.what.pictures, left_out);
  score->noise = noise;
  return dq_evaluator_decibels(&all->evaluator, &record->errors, record->noise, left_out, &score->decibels, arena,
                               all->job->error);
}

// *chosen: the trial that the decisions come to without a picture.
static dq_status choose_without(const dq_trials *all, int64_t left_out, int *chosen, dq_arena *arena) {
  subset two;
  *chosen = 0;
  for (int r = 1; r < all->record_count; r++) {
    char reason[200];
    DQ_TRY(score_without(&two.best, two.best_noise, all, *chosen, left_out, arena));
    DQ_TRY(score_without(&two.now, two.noise, all, r, left_out, arena));
    const dq_trial_comparison trial = {&all->records[*chosen].setting,   &all->records[r].setting, &two.best, &two.now,
                                       all->evaluator.what.pictures - 1, all->evaluator.detects};
    if (all->records[r].anyway || dq_trial_is_better(&trial, reason, sizeof reason)) *chosen = r;
  }
  return DQ_OK;
}

// The errors of the pictures that judged, behind `first` others.
static dq_status take_judges(const dq_trials *all, dq_picture_errors *errors, int64_t first, dq_arena *arena) {
  for (int64_t p = 0; p < all->evaluator.what.pictures; p++) {
    int chosen;
    DQ_TRY(choose_without(all, p, &chosen, arena));
    // The last trials, of sums of pairs, are no decisions for less error.
    const dq_picture_errors *from = chosen == all->best_record ? &all->judged_errors : &all->records[chosen].errors;
    DQ_TRY(dq_picture_errors_take(errors, first + p, from, p, arena, all->job->error));
  }
  return DQ_OK;
}

// ---- The pictures that gave ranges ----

// A trial of the setting of the job, turned.
typedef struct swapped {
  dq_data *data;
  dq_observed observed;
  dq_evaluator evaluator;
  dq_score score;
} swapped;

static dq_status open_swapped(swapped *s, const dq_int8_job *job, int64_t pictures, dq_arena *arena) {
  const dq_int8_options *options = job->in->options;
  *s = (swapped){.score.noise = DQ_NEW_ARRAY(arena, pictures, double)};
  if (!s->score.noise) return dq_fail_memory(job->error, 0);
  DQ_TRY(dq_swapped_data(&s->data, job->pictures.data, job->pictures.count, job->error));
  DQ_TRY(dq_observed_open(&s->observed, job->setting.equalize, job->setting.heads, job->setting.absorption,
                          job->in->context, job->error));
  const dq_evaluator_options judged = {.graph = job->graph,
                                       .shapes = &options->shapes,
                                       .data = s->data,
                                       .first = job->pictures.count - pictures,
                                       .pictures = pictures,
                                       .decode = options->decode,
                                       .features = true,
                                       .batch = options->batch};
  return dq_evaluator_open(&s->evaluator, &judged, job->in->context, arena, job->error);
}

static void close_swapped(swapped *s) {
  dq_evaluator_close(&s->evaluator);
  dq_observed_close(&s->observed);
  dq_data_free(s->data);
}

static dq_status run_swapped(swapped *s, const dq_int8_job *job) {
  const int64_t count = dq_trial_limit(job->pictures.count - s->evaluator.what.pictures, s->evaluator.detects);
  const dq_int8_pictures pictures = {.data = s->data,
                                     .count = count,
                                     .factor_data = s->data,
                                     .factor_count = count,
                                     .sites = dq_equalize_memory_new(job->arena)};
  dq_int8_report report = {0};
  dq_int8_job trial;
  if (!pictures.sites) return dq_fail_memory(job->error, 0);
  dq_status status = dq_int8_trial_open(&trial, job, &job->setting, &pictures, &s->observed, &report);
  if (status == DQ_OK) status = dq_int8_quantize(&trial);
  if (status == DQ_OK) status = dq_evaluate(&s->evaluator, trial.graph, &s->score, job->error);
  if (status == DQ_OK)
    status = dq_calibration_table_copy(&job->report->swapped, &report.table, job->graph->arena, job->error);
  dq_int8_trial_close(&trial);
  return status;
}

// ---- Both ----

static dq_status judge(dq_trials *all, swapped *s, dq_arena *arena) {
  const dq_int8_job *job = all->job;
  const int64_t pictures = s->evaluator.what.pictures;
  const bool both = all->record_count && !all->as_file;
  dq_picture_errors errors;
  DQ_TRY(run_swapped(s, job));
  DQ_TRY(dq_picture_errors_open(&errors, s->evaluator.what.count, pictures + (both ? all->evaluator.what.pictures : 0),
                                arena, job->error));
  for (int64_t p = 0; p < pictures; p++)
    DQ_TRY(dq_picture_errors_take(&errors, p, &s->evaluator.errors, p, arena, job->error));
  if (both) DQ_TRY(take_judges(all, &errors, pictures, arena));
  dq_verdict *verdict = &job->report->verdict;
  DQ_TRY(dq_verdict_of(verdict, &s->evaluator, &errors, job->graph->arena, job->error));
  dq_verdict_of_stand_in(verdict);
  verdict->data = DQ_VERDICT_OTHER_PICTURES;
  dq_message(job->in->context, DQ_DETAIL,
             "verdict: ranges of other pictures, on %" PRId64 " that gave some to trials%s: %.2f dB", pictures,
             both ? " and those that judged them" : "", dq_verdict_sqnr(verdict));
  return DQ_OK;
}

dq_status dq_judge_setting(dq_trials *all) {
  dq_int8_job *job = all->job;
  const int64_t pictures = dq_swapped_pictures(job->pictures.count);
  swapped s = {0};
  if (!pictures) return DQ_OK;
  dq_progress(job->in->context, "verdict", 0, 1);
  dq_arena *arena = dq_context_arena(job->in->context);
  if (!arena) return dq_fail_memory(job->error, 0);
  dq_status status = open_swapped(&s, job, pictures, arena);
  if (status == DQ_OK) status = judge(all, &s, arena);
  close_swapped(&s);
  dq_arena_free(arena);
  return status;
}
