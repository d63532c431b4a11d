// The inside of tuning.
#ifndef DQ_TUNE_TUNE_INTERNAL_H
#define DQ_TUNE_TUNE_INTERNAL_H

#include "lib/session/session.h"
#include "lib/tune/tune.h"

typedef struct dq_tune_task {
  dq_tune_shape shape;
  int first;             // step
  unsigned knobs;        // of dq_plan_step_knobs, with `best`
  dq_step_choice best;   // of those measured so far
  dq_time_ratio ratio;   // of `best`; median 1: the usual choice
  dq_step_choice trial;  // measured in the present trial
  bool measured;         // `trial` differs from `best` and is undecided
  double *usual, *tried; // [DQ_TUNE_MOST_ROUNDS] seconds of all its steps in a run
} dq_tune_task;

typedef struct dq_tuner {
  dq_session session; // without a plan
  dq_plan *usual;
  dq_tensor **inputs;
  dq_tune_task *tasks;
  int task_count, step_count;
  int *task_of;            // [step_count]; -1: none
  dq_step_choice *choices; // [step_count], of the plan in hand
  dq_conv_setting setting;
  const dq_tune_options *options;
  const dq_context *context;
  dq_arena *arena;
  dq_wisdom *wisdom;
  bool kept; // false: a record could not be written
  // Of all times: with one thread that of its processor, so that other processes which get the processor in between do
  // not count; with several that of the clock.
  int64_t (*clock)(void);
  double search_end; // dq_seconds() at which trials end
  int64_t runs;
} dq_tuner;

// Opens the plan with the usual choices, its inputs and its tasks. The caller closes it also after a failure.
dq_status dq_tuner_open(dq_tuner *tuner, const dq_graph *graph, const dq_tune_options *options, dq_wisdom *wisdom,
                        const dq_context *context, dq_arena *arena, dq_error *error);
void dq_tuner_close(dq_tuner *tuner);

// A plan with the `trial` of each task, or its `best` (`of_best`); the caller frees it.
dq_status dq_tuner_bind(dq_tuner *tuner, bool of_best, dq_plan **plan, dq_error *error);
// Runs a plan; *seconds is the whole time, and *times[i] (NULL: none) the sum of the times of the steps of task i.
dq_status dq_tuner_run(dq_tuner *tuner, dq_plan *plan, double *seconds, double *times, dq_error *error);
// One round: the usual plan and `plan`, whichever comes first in turns, into place `round` of the times of the tasks.
dq_status dq_tuner_duel(dq_tuner *tuner, dq_plan *plan, int64_t round, dq_error *error);

// Tries all candidates of all tasks without a record, but for those that the wisdom says were tried; `best` of each is
// what was fastest. *out_of_time: candidates are left.
dq_status dq_tune_search(dq_tuner *tuner, bool *out_of_time, dq_error *error);
// Measures the best ones anew, and makes records: of tasks whose best proves faster, and, unless out_of_time, of the
// others.
dq_status dq_tune_confirm(dq_tuner *tuner, bool out_of_time, dq_error *error);

#endif
