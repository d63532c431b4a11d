// The search: each run of the network measures one candidate of every shape, where it will run later, with the caches
// as they are there. A shape goes on to its next candidate as soon as the present one is decided.
#include <math.h>

#include "lib/base/clock.h"
#include "lib/tune/tune_internal.h"

// The search ends when the tasks that are not done take a smaller share of the time; not where all candidates are
// measured.
static const double SMALL_SHARE = 0.01;

static bool is_late(const dq_tuner *tuner) { return dq_seconds() >= tuner->search_end; }

// ---- The model ----

// What earlier searches measured. Times of shapes of this network are relative to what they take now.
static dq_status add_records(dq_tuner *tuner, dq_error *error) {
  for (int i = 0; i < dq_wisdom_count(tuner->wisdom); i++) {
    const dq_record *r = dq_wisdom_at(tuner->wisdom, i);
    const dq_tune_task *task = dq_tuner_find(tuner, r->run);
    double usual = task ? task->seconds : r->before.median;
    if (!r->tried) continue;
    DQ_TRY(dq_cost_model_add(tuner->model, r->run, &r->choice, &r->counts, usual * r->ratio, error));
  }
  return DQ_OK;
}

static dq_status open_model(dq_tuner *tuner, dq_error *error) {
  if (!(tuner->model = dq_cost_model_new(tuner->arena))) return dq_fail_memory(error, 0);
  DQ_TRY(add_records(tuner, error));
  for (int t = 0; t < tuner->task_count; t++) {
    const dq_tune_task *task = &tuner->tasks[t];
    const dq_counts counts = dq_plan_step_form(tuner->usual, task->first, &task->named).counts;
    DQ_TRY(dq_cost_model_add(tuner->model, task->shape.run, &task->named, &counts, task->seconds, error));
  }
  return DQ_OK;
}

// ---- One candidate after another ----

// Takes the candidate of which the least time is expected.
static dq_status begin(dq_tuner *tuner, dq_tune_task *task, dq_error *error) {
  bool is_counted = task->candidates[0].form.algorithm;
  DQ_TRY(dq_cost_model_fit(tuner->model, task->shape.run, is_counted, error));
  double least = INFINITY;
  for (int c = 0; c < task->candidate_count; c++) {
    const dq_tune_candidate *one = &task->candidates[c];
    double seconds = dq_cost_model_seconds(tuner->model, &one->choice, &one->form.counts);
    if (task->candidates[c].tried || (task->running >= 0 && !(seconds < least))) continue;
    least = seconds;
    task->running = c;
  }
  task->candidates[task->running].expected = least / task->seconds;
  return DQ_OK;
}

static dq_status begin_all(dq_tuner *tuner, dq_error *error) {
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    if (!task->shape.has_record && task->running < 0 && dq_tune_is_left(tuner, task)) DQ_TRY(begin(tuner, task, error));
    if (task->running < 0) task->rounds = 0;
    task->trial = task->running < 0 ? task->best : task->candidates[task->running].choice;
  }
  return DQ_OK;
}

static dq_status remember(dq_tuner *tuner, const dq_tune_task *task, dq_error *error) {
  const dq_tune_candidate *candidate = &task->candidates[task->running];
  dq_record record = {.run = task->shape.run,
                      .choice = candidate->choice,
                      .tried = true,
                      .ratio = candidate->ratio.median,
                      .low = candidate->ratio.low,
                      .high = candidate->ratio.high,
                      .runs = task->rounds,
                      .counts = candidate->form.counts};
  DQ_TRY(dq_tune_quantiles(&record.before, task->usual, task->rounds, error));
  DQ_TRY(dq_tune_quantiles(&record.after, task->timed, task->rounds, error));
  DQ_TRY(dq_cost_model_add(tuner->model, task->shape.run, &candidate->choice, &candidate->form.counts,
                           task->seconds * candidate->ratio.median, error));
  return dq_tuner_add(tuner, &record, error);
}

// Ends the candidate of a task where it is decided.
static dq_status decide(dq_tuner *tuner, dq_tune_task *task, dq_error *error) {
  dq_time_ratio ratio;
  DQ_TRY(dq_time_ratio_of(&ratio, task->timed, task->usual, task->rounds, error));
  if (dq_tune_decide(&ratio, task->ratio.high, task->rounds) == DQ_TUNE_UNDECIDED) return DQ_OK;
  dq_tune_candidate *candidate = &task->candidates[task->running];
  candidate->tried = candidate->measured = true;
  candidate->ratio = ratio;
  candidate->turn = task->tried++;
  DQ_TRY(remember(tuner, task, error));
  dq_tune_adopt(task, candidate);
  task->running = -1;
  task->rounds = 0;
  return DQ_OK;
}

// ---- Rounds ----

static double share_left(const dq_tuner *tuner) {
  double share = 0;
  for (int t = 0; t < tuner->task_count; t++) {
    const dq_tune_task *task = &tuner->tasks[t];
    bool left = task->running >= 0 || (!task->shape.has_record && dq_tune_is_left(tuner, task));
    if (left) share += dq_tune_takes_all(tuner) ? 1 : task->shape.share;
  }
  return share;
}

static dq_status run_rounds(dq_tuner *tuner, dq_plan *plan, dq_error *error) {
  DQ_TRY(dq_tuner_warm(tuner, plan, error));
  for (int round = 0; round < DQ_TUNE_LEAST_ROUNDS && !is_late(tuner); round++)
    DQ_TRY(dq_tuner_duel(tuner, plan, error));
  for (int t = 0; t < tuner->task_count && !is_late(tuner); t++)
    if (tuner->tasks[t].running >= 0) DQ_TRY(decide(tuner, &tuner->tasks[t], error));
  return DQ_OK;
}

static void report_progress(const dq_tuner *tuner, double at_first) {
  const int whole = 1000;
  double done = at_first > 0 ? 1 - share_left(tuner) / at_first : 1;
  dq_progress(tuner->context, "tuning", (int)(whole * done), whole);
}

dq_status dq_tune_search(dq_tuner *tuner, bool *out_of_time, dq_error *error) {
  DQ_TRY(open_model(tuner, error));
  double at_first = share_left(tuner);
  while (share_left(tuner) >= SMALL_SHARE && !is_late(tuner)) {
    dq_plan *plan;
    report_progress(tuner, at_first);
    DQ_TRY(begin_all(tuner, error));
    DQ_TRY(dq_tuner_renew(tuner, error));
    DQ_TRY(dq_tuner_bind(tuner, false, &plan, error));
    dq_status status = run_rounds(tuner, plan, error);
    dq_plan_free(plan);
    DQ_TRY(status);
  }
  *out_of_time = share_left(tuner) >= SMALL_SHARE;
  return DQ_OK;
}
