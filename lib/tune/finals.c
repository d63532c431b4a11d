// The finals: the candidates of each shape that may be the fastest are measured once more, in more rounds than the
// search has for them, and one of them is taken.
#include <math.h>

#include "lib/base/clock.h"
#include "lib/tune/tune_internal.h"

// ---- Who takes part ----

static bool is_ahead(const dq_tune_task *task, int a, int b) {
  double x = task->candidates[a].ratio.median, y = task->candidates[b].ratio.median;
  return x < y || (!(y < x) && a < b);
}

// The candidates that may be faster than the usual choice, the fastest first.
static void list_finalists(dq_tune_task *task) {
  for (int c = 0; c < task->candidate_count; c++) {
    const dq_tune_candidate *one = &task->candidates[c];
    if (!one->tried || one->ratio.low >= DQ_TUNE_FASTER) continue;
    int at = task->finalist_count < DQ_TUNE_FINALISTS ? task->finalist_count++ : DQ_TUNE_FINALISTS;
    for (; at && is_ahead(task, c, task->finals[at - 1].candidate); at--)
      if (at < DQ_TUNE_FINALISTS) task->finals[at] = task->finals[at - 1];
    if (at < DQ_TUNE_FINALISTS) task->finals[at].candidate = c;
  }
}

// The number of turns: in each a task has one of its finalists, or its first one again.
static int prepare(dq_tuner *tuner) {
  int turns = 1;
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    if (!task->shape.has_record) list_finalists(task);
    if (task->finalist_count > turns) turns = task->finalist_count;
  }
  return turns;
}

// ---- One turn ----

static void choose_trials(dq_tuner *tuner, int turn) {
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    int at = turn < task->finalist_count ? turn : 0;
    task->trial = task->finalist_count ? task->candidates[task->finals[at].candidate].choice : task->best;
    task->rounds = 0;
  }
}

// Whether more rounds may tell what this turn has not told yet.
static dq_status is_open(const dq_tuner *tuner, int turn, bool *open, dq_error *error) {
  *open = false;
  for (int t = 0; t < tuner->task_count && !*open; t++) {
    const dq_tune_task *task = &tuner->tasks[t];
    dq_time_ratio ratio;
    if (turn >= task->finalist_count) continue;
    DQ_TRY(dq_time_ratio_of(&ratio, task->timed, task->usual, task->rounds, error));
    *open = dq_tune_is_open(&ratio);
  }
  return DQ_OK;
}

// Some rounds of plans that are bound anew.
static dq_status run_block(dq_tuner *tuner, dq_error *error) {
  dq_plan *plan;
  DQ_TRY(dq_tuner_renew(tuner, error));
  DQ_TRY(dq_tuner_bind(tuner, false, &plan, error));
  dq_status status = dq_tuner_warm(tuner, plan, error);
  for (int round = 0; round < DQ_TUNE_BOUND_ROUNDS && status == DQ_OK; round++)
    status = dq_tuner_duel(tuner, plan, error);
  dq_plan_free(plan);
  return status;
}

// Stores the times of a finalist, and those of the usual choice in the record of the shape.
static dq_status store(dq_tune_task *task, int turn, dq_error *error) {
  dq_quantiles usual;
  DQ_TRY(dq_tune_quantiles(&usual, task->usual, task->rounds, error));
  task->shape.record = (dq_record){
      .run = task->shape.run, .ratio = 1, .low = 1, .high = 1, .runs = task->rounds, .before = usual, .after = usual};
  if (turn >= task->finalist_count) return DQ_OK;
  dq_record *record = &task->finals[turn].record;
  dq_time_ratio ratio;
  *record = task->shape.record;
  DQ_TRY(dq_time_ratio_of(&ratio, task->timed, task->usual, task->rounds, error));
  record->choice = task->trial;
  record->ratio = ratio.median, record->low = ratio.low, record->high = ratio.high;
  return dq_tune_quantiles(&record->after, task->timed, task->rounds, error);
}

// The times, by dq_seconds(), until which a turn goes on: `told` although everything is told, as the first places of
// memory may mislead; `open` while something is open.
typedef struct turn_end {
  double told, open;
} turn_end;

static dq_status run_turn(dq_tuner *tuner, int turn, const turn_end *end, dq_error *error) {
  bool goes_on = true;
  choose_trials(tuner, turn);
  while (goes_on) {
    DQ_TRY(run_block(tuner, error));
    int64_t rounds = tuner->tasks[0].rounds;
    if (rounds % DQ_TUNE_FINAL_LEAST) continue;
    DQ_TRY(is_open(tuner, turn, &goes_on, error));
    goes_on = goes_on ? rounds < DQ_TUNE_FINAL_ROUNDS && dq_seconds() < end->open
                      : rounds < DQ_TUNE_FINAL_ENOUGH && dq_seconds() < end->told;
  }
  for (int t = 0; t < tuner->task_count; t++)
    if (!tuner->tasks[t].shape.has_record) DQ_TRY(store(&tuner->tasks[t], turn, error));
  return DQ_OK;
}

// ---- Who wins ----

static void take_winner(const dq_tuner *tuner, dq_tune_task *task, bool out_of_time) {
  double medians[DQ_TUNE_FINALISTS], highs[DQ_TUNE_FINALISTS];
  int places[DQ_TUNE_FINALISTS];
  bool is_complete = !out_of_time;
  for (int f = 0; f < task->finalist_count; f++) {
    const dq_record *record = &task->finals[f].record;
    bool counts = !tuner->threads_lose || !record->choice.values[DQ_KNOB_OF_THREADS];
    medians[f] = record->ratio, highs[f] = counts ? record->high : INFINITY;
    places[f] = task->finals[f].candidate;
    is_complete = is_complete && counts;
  }
  int winner = dq_tune_winner(medians, highs, places, task->finalist_count);
  if (winner >= 0) task->shape.record = task->finals[winner].record;
  task->best = task->shape.record.choice;
  task->shape.has_record = winner >= 0 || is_complete;
}

// What was not measured takes no part.
static void end_after(dq_tuner *tuner, int turns) {
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    if (task->finalist_count > turns) task->finalist_count = turns;
  }
}

dq_status dq_tune_finals(dq_tuner *tuner, bool out_of_time, dq_error *error) {
  static const double TOLD = 0.05, OPEN = 0.15; // of the time limit, beyond the least rounds
  double start = dq_seconds(), limit = tuner->options->time_limit;
  int turns = prepare(tuner);
  for (int turn = 0; turn < turns; turn++) {
    double passed = (turn + 1.0) / turns;
    DQ_TRY(run_turn(tuner, turn, &(turn_end){start + TOLD * limit * passed, start + OPEN * limit * passed}, error));
    if (dq_seconds() >= start + OPEN * limit) end_after(tuner, turns = turn + 1);
  }
  DQ_TRY(dq_tune_check_threads(tuner, error));
  for (int t = 0; t < tuner->task_count; t++)
    if (!tuner->tasks[t].shape.has_record) take_winner(tuner, &tuner->tasks[t], out_of_time);
  return DQ_OK;
}
