// The inside of tuning.
#ifndef DQ_TUNE_TUNE_INTERNAL_H
#define DQ_TUNE_TUNE_INTERNAL_H

#include "lib/session/session.h"
#include "lib/tune/tune.h"

// A choice that may be measured for a task.
typedef struct dq_tune_candidate {
  dq_step_choice choice; // names the algorithm wherever there is a choice of one
  dq_step_form form;     // what it comes to, in which it differs from the usual choice and from other candidates
  bool tried;            // it was measured, in this search or an earlier one
  bool measured;         // in this search: the following were
  int turn;              // as which of its task it was measured, from 0
  double expected;       // time ratio that the cost model expected before
  dq_time_ratio ratio;   // where it was tried
} dq_tune_candidate;

typedef struct dq_tune_task {
  dq_tune_shape shape;
  int first;                     // step
  dq_step_choice named;          // the usual choice, with its algorithm where that can be chosen
  dq_tune_candidate *candidates; // [candidate_count]
  int candidate_count, candidate_capacity;
  int tried;             // candidates
  int running;           // the candidate that is being measured; -1: none
  dq_step_choice best;   // of those measured so far
  dq_time_ratio ratio;   // of `best`; all 1: the usual choice
  dq_step_choice trial;  // of the plan in hand
  double seconds;        // usual time of one step
  int64_t rounds;        // that `usual` and `timed` have
  double *usual, *timed; // [DQ_TUNE_MOST_ROUNDS] seconds of one of its steps, the mean over those of a run
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
  dq_cost_model *model; // of the search
  const dq_tune_options *options;
  const dq_context *context;
  dq_arena *arena;
  dq_wisdom *wisdom;
  bool kept; // false: a record could not be written
  // Of all times: with one thread that of its processor, so that other processes which get the processor in between do
  // not count; with several that of the clock.
  int64_t (*clock)(void);
  double search_end; // dq_seconds() at which trials end
  int64_t runs, duels;
} dq_tuner;

// Opens the plan with the usual choices, its inputs and its tasks. The caller closes it also after a failure.
dq_status dq_tuner_open(dq_tuner *tuner, const dq_graph *graph, const dq_tune_options *options, dq_wisdom *wisdom,
                        const dq_context *context, dq_arena *arena, dq_error *error);
void dq_tuner_close(dq_tuner *tuner);

// A plan with the `trial` of each task, or its `best` (`of_best`); the caller frees it.
dq_status dq_tuner_bind(dq_tuner *tuner, bool of_best, dq_plan **plan, dq_error *error);
// Runs a plan; *seconds is the whole time, and *times[i] (NULL: none) the sum of the times of the steps of task i.
dq_status dq_tuner_run(dq_tuner *tuner, dq_plan *plan, double *seconds, double *times, dq_error *error);
// One round: the usual plan and `plan`, whichever comes first in turns, as one more round of each task.
dq_status dq_tuner_duel(dq_tuner *tuner, dq_plan *plan, dq_error *error);
// Adds a record to the wisdom.
dq_status dq_tuner_add(dq_tuner *tuner, const dq_record *record, dq_error *error);

// Lists the candidates of all tasks, and what earlier searches measured of them.
dq_status dq_tune_list(dq_tuner *tuner, dq_error *error);
// A candidate with a ratio: `best` of its task, if it is faster than that.
void dq_tune_adopt(dq_tune_task *task, const dq_tune_candidate *candidate);
// Whether a candidate of the task is left to be measured: of all with options->exhaustive, else of a part of them.
bool dq_tune_is_left(const dq_tuner *tuner, const dq_tune_task *task);
// The families, losses and numbers of candidates of a report.
dq_status dq_tune_count(const dq_tuner *tuner, dq_tune_report *report, dq_error *error);

// Measures the candidates of all tasks without a record, in the order of the times that the cost model expects; `best`
// of each is what was fastest. *out_of_time: candidates are left.
dq_status dq_tune_search(dq_tuner *tuner, bool *out_of_time, dq_error *error);
// Measures the best ones anew, and makes records: of tasks whose best proves faster, and, unless out_of_time, of the
// others.
dq_status dq_tune_confirm(dq_tuner *tuner, bool out_of_time, dq_error *error);

#endif
