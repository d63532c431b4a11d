// Candidates, one knob after another. A trial gives every task a candidate at the same time: each run of the network
// measures one for each of them, where it will run later, with the caches as they are there.
#include <string.h>

#include "lib/base/clock.h"
#include "lib/kernels/conv/conv.h"
#include "lib/tune/tune_internal.h"

// A trial ends when the tasks that are undecided take a smaller share of the time.
static const double SMALL_SHARE = 0.01;

// A value of a knob for all tasks that have the knob.
typedef struct knob_value {
  dq_knob knob;
  int value;
} knob_value;

// Marks the tasks that the trial measures.
static void prepare(dq_tuner *tuner, const knob_value *trial) {
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    task->trial = task->best;
    task->measured = !task->shape.has_record && task->knobs & 1u << trial->knob;
    if (task->measured) task->trial.values[trial->knob] = trial->value;
  }
}

// An algorithm that does not fit the convolution, or is the usual one, is no candidate.
static void leave_out_equals(dq_tuner *tuner, const knob_value *trial, const dq_plan *plan) {
  for (int t = 0; t < tuner->task_count && trial->knob == DQ_KNOB_OF_ALGORITHM; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    const char *name = dq_plan_step_algorithm(plan, task->first);
    const char *usual = dq_plan_step_algorithm(tuner->usual, task->first);
    if (task->measured && !strcmp(name, usual)) task->measured = false;
  }
}

static double undecided_share(const dq_tuner *tuner) {
  double share = 0;
  for (int t = 0; t < tuner->task_count; t++)
    if (tuner->tasks[t].measured) share += tuner->tasks[t].shape.share;
  return share;
}

// Takes the trial of a task where it is faster than its best so far.
static void adopt(dq_tune_task *task, const dq_time_ratio *ratio, const dq_plan *plan) {
  if (ratio->high >= DQ_TUNE_FASTER || ratio->median >= task->ratio.median) return;
  task->best = task->trial;
  task->ratio = *ratio;
  task->knobs = dq_plan_step_knobs(plan, task->first);
}

// What an earlier search has tried is not measured again.
static void recall(dq_tuner *tuner, const dq_plan *plan) {
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    const dq_record *r = task->measured ? dq_wisdom_find_tried(tuner->wisdom, task->shape.run, &task->trial) : NULL;
    if (!r) continue;
    task->measured = false;
    adopt(task, &(dq_time_ratio){.median = r->ratio, .low = r->low, .high = r->high}, plan);
  }
}

static dq_status remember(dq_tuner *tuner, const dq_tune_task *task, const dq_time_ratio *ratio, int64_t rounds,
                          dq_error *error) {
  dq_record record = {.run = task->shape.run,
                      .choice = task->trial,
                      .tried = true,
                      .ratio = ratio->median,
                      .low = ratio->low,
                      .high = ratio->high,
                      .runs = rounds};
  DQ_TRY(dq_tune_quantiles(&record.before, task->usual, rounds, error));
  DQ_TRY(dq_tune_quantiles(&record.after, task->tried, rounds, error));
  bool kept;
  DQ_TRY(dq_wisdom_add(tuner->wisdom, &record, &kept, error));
  tuner->kept = tuner->kept && kept;
  return DQ_OK;
}

// Decides what can be decided. `all`: the rest is not faster.
static dq_status decide(dq_tuner *tuner, const dq_plan *plan, int64_t rounds, bool all, dq_error *error) {
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    dq_time_ratio ratio;
    if (!task->measured) continue;
    DQ_TRY(dq_time_ratio_of(&ratio, task->tried, task->usual, rounds, error));
    if (!all && dq_tune_decide(&ratio, rounds) == DQ_TUNE_UNDECIDED) continue;
    task->measured = false;
    DQ_TRY(remember(tuner, task, &ratio, rounds, error));
    adopt(task, &ratio, plan);
  }
  return DQ_OK;
}

static bool is_late(const dq_tuner *tuner) { return dq_seconds() >= tuner->search_end; }

// Rounds until what is undecided takes a small share of the time, or the time is over.
static dq_status run_rounds(dq_tuner *tuner, dq_plan *plan, dq_error *error) {
  double whole;
  DQ_TRY(dq_tuner_run(tuner, plan, &whole, NULL, error)); // warm
  for (int64_t round = 0; undecided_share(tuner) > 0 && !is_late(tuner);) {
    DQ_TRY(dq_tuner_duel(tuner, plan, round++, error));
    if (round % DQ_TUNE_LEAST_ROUNDS == 0) DQ_TRY(decide(tuner, plan, round, false, error));
    if (round % DQ_TUNE_LEAST_ROUNDS == 0 && undecided_share(tuner) < SMALL_SHARE)
      return decide(tuner, plan, round, true, error);
  }
  return DQ_OK;
}

static dq_status run_trial(dq_tuner *tuner, const knob_value *trial, dq_error *error) {
  dq_plan *plan;
  prepare(tuner, trial);
  if (undecided_share(tuner) < SMALL_SHARE) return DQ_OK;
  DQ_TRY(dq_tuner_bind(tuner, false, &plan, error));
  leave_out_equals(tuner, trial, plan);
  recall(tuner, plan);
  dq_status status = undecided_share(tuner) < SMALL_SHARE ? DQ_OK : run_rounds(tuner, plan, error);
  dq_plan_free(plan);
  return status;
}

enum { SIZES = 4, TRIALS = DQ_CONV_CHOICES + 2 * SIZES + 1 };

// Algorithms first, since the sizes are those of an algorithm.
static int list_trials(knob_value trials[TRIALS]) {
  static const int sizes[SIZES] = {1, -1, 2, -2};
  int count = 0;
  for (int a = DQ_CONV_AUTO + 1; a < DQ_CONV_CHOICES; a++)
    if (dq_conv_is_candidate((dq_conv_choice)a)) trials[count++] = (knob_value){DQ_KNOB_OF_ALGORITHM, a};
  for (int i = 0; i < SIZES; i++) trials[count++] = (knob_value){DQ_KNOB_OF_COLUMNS, sizes[i]};
  for (int i = 0; i < SIZES; i++) trials[count++] = (knob_value){DQ_KNOB_OF_DEPTH, sizes[i]};
  trials[count++] = (knob_value){DQ_KNOB_OF_THREADS, 1};
  return count;
}

dq_status dq_tune_search(dq_tuner *tuner, bool *out_of_time, dq_error *error) {
  knob_value trials[TRIALS];
  int count = list_trials(trials);
  for (int i = 0; i < count && !is_late(tuner); i++) {
    dq_progress(tuner->context, "tuning", i, count);
    DQ_TRY(run_trial(tuner, &trials[i], error));
  }
  dq_progress(tuner->context, "tuning", count, count);
  *out_of_time = is_late(tuner);
  return DQ_OK;
}

// ---- Confirming ----

static bool has_choice(const dq_tune_task *task) { return !task->shape.has_record && !dq_choice_is_usual(&task->best); }

static dq_status make_record(dq_tune_task *task, int64_t rounds, bool out_of_time, dq_error *error) {
  dq_record *record = &task->shape.record;
  bool faster = false;
  for (int64_t i = 0; i < rounds; i++) task->usual[i] /= task->shape.steps, task->tried[i] /= task->shape.steps;
  *record = (dq_record){.run = task->shape.run, .ratio = 1, .low = 1, .high = 1, .runs = rounds};
  DQ_TRY(dq_tune_quantiles(&record->before, task->usual, rounds, error));
  record->after = record->before;
  if (has_choice(task)) {
    DQ_TRY(dq_time_ratio_of(&task->ratio, task->tried, task->usual, rounds, error));
    faster = dq_tune_decide(&task->ratio, rounds) == DQ_TUNE_IS_FASTER;
  }
  if (faster) {
    record->choice = task->best;
    record->ratio = task->ratio.median, record->low = task->ratio.low, record->high = task->ratio.high;
    DQ_TRY(dq_tune_quantiles(&record->after, task->tried, rounds, error));
  } else {
    task->best = (dq_step_choice){{0}};
  }
  task->shape.has_record = faster || !out_of_time;
  return DQ_OK;
}

dq_status dq_tune_confirm(dq_tuner *tuner, bool out_of_time, dq_error *error) {
  enum { ROUNDS = 32 };
  dq_plan *plan;
  double whole;
  DQ_TRY(dq_tuner_bind(tuner, true, &plan, error));
  dq_status status = dq_tuner_run(tuner, plan, &whole, NULL, error);
  for (int64_t round = 0; status == DQ_OK && round < ROUNDS; round++) status = dq_tuner_duel(tuner, plan, round, error);
  for (int t = 0; status == DQ_OK && t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    if (task->shape.has_record) continue;
    status = make_record(task, ROUNDS, out_of_time, error);
    if (task->shape.algorithm && !dq_choice_is_usual(&task->best))
      task->shape.algorithm = dq_plan_step_algorithm(plan, task->first);
  }
  dq_plan_free(plan);
  return status;
}
