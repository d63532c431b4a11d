// The state of a tuning, its measurements, and its candidates.
#ifndef DQ_TUNE_TUNE_INTERNAL_H
#define DQ_TUNE_TUNE_INTERNAL_H

#include "lib/session/session.h"
#include "lib/tune/tune.h"
#include "lib/tune/waits.h"

// A choice that may be measured for a task.
typedef struct dq_tune_candidate {
  dq_step_choice choice; // names the algorithm wherever there is a choice of one
  dq_step_form form;     // how the step is computed with it; different for all candidates and the usual choice
  bool tried;            // it was measured, in this search or an earlier one
  bool measured;         // in this search: the following were
  int turn;              // number of candidates of its task that were measured before
  double expected;       // time ratio that the cost model expected before
  dq_time_ratio ratio;   // where it was tried
} dq_tune_candidate;

// A candidate in the finals.
typedef struct dq_tune_final {
  int candidate;
  dq_record record; // of its times there
} dq_tune_final;

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
  dq_step_choice trial;  // of the plan that dq_tuner_bind makes
  double seconds;        // usual time of one step
  int64_t rounds;        // that `usual` and `timed` have
  double *usual, *timed; // [DQ_TUNE_FINAL_ROUNDS] seconds of one of its steps, the mean over those of a run
  dq_tune_final finals[DQ_TUNE_FINALISTS];
  int finalist_count;
} dq_tune_task;

typedef struct dq_tuner {
  dq_session session; // without a plan
  dq_plan *usual;
  dq_tensor **inputs;
  dq_tune_task *tasks;
  int task_count, step_count;
  int *task_of;            // [step_count]; -1: none
  dq_step_choice *choices; // [step_count], of the plan that dq_tuner_bind makes
  dq_conv_setting setting;
  dq_random places;     // of plans in memory
  dq_cost_model *model; // of the search
  const dq_tune_options *options;
  const dq_context *context;
  dq_arena *arena;
  dq_wisdom *wisdom;
  bool kept;           // false: a record could not be written
  bool network_is_new; // the network as a whole was measured by this call
  // The clock of all times, in nanoseconds: with one thread its processor time, so that other processes on the same
  // processor do not count; with several threads the wall clock.
  int64_t (*clock)(void);
  double search_end; // dq_seconds() at which trials end
  double short_end;  // dq_seconds() until which a search is short, so that no candidate has to be left out
  int64_t runs, duels;
  bool threads_lose; // dq_tune_check_threads
  dq_waits waits;    // of the threads for processors, with several threads that can each have one
  dq_tune_rounds rounds;
} dq_tuner;

// Opens the tuner: the plan with the usual choices, its inputs, and one task for each text of a step. The caller closes
// the tuner also after a failure. Statuses as dq_session_open.
dq_status dq_tuner_open(dq_tuner *tuner, const dq_graph *graph, const dq_tune_options *options, dq_wisdom *wisdom,
                        const dq_context *context, dq_arena *arena, dq_error *error);
void dq_tuner_close(dq_tuner *tuner);

// Makes a plan with the choice `trial` of each task, or with `of_best` its choice `best`; the caller frees *plan.
// Statuses as dq_session_open.
dq_status dq_tuner_bind(dq_tuner *tuner, bool of_best, dq_plan **plan, dq_error *error);
// Binds the plan with the usual choices anew, in other memory. Statuses as dq_session_open.
dq_status dq_tuner_renew(dq_tuner *tuner, dq_error *error);
// Runs a plan. *seconds receives the time of the run, and times[task_count] (NULL: none) the sum of the times of the
// steps of each task, in seconds. Statuses as dq_plan_run.
dq_status dq_tuner_run(dq_tuner *tuner, dq_plan *plan, double *seconds, double *times, dq_error *error);
// Runs a plan twice; the second run counts, as dq_tuner_run has it. The first one finds the caches as another plan left
// them, and threads that sleep where that plan had work for one of them only.
dq_status dq_tuner_run_again(dq_tuner *tuner, dq_plan *plan, double *seconds, double *times, dq_error *error);
// Runs the usual plan and `plan` in turns before times count. Statuses as dq_plan_run.
dq_status dq_tuner_warm(dq_tuner *tuner, dq_plan *plan, dq_error *error);
// Begin and end a round, runs of plans that are compared with each other. A round that is disturbed, as *disturbed
// says, has to be made again. DQ_CONDITION: too many of the last rounds were disturbed
// (rounds.patience is 0).
void dq_tuner_begin_round(dq_tuner *tuner);
dq_status dq_tuner_end_round(dq_tuner *tuner, bool *disturbed, dq_error *error);
// The task of the shape that the text of a run stands for (dq_plan_step_run), which the tuner owns; NULL: there is
// none.
dq_tune_task *dq_tuner_find(const dq_tuner *tuner, const char *run);
// Makes one round: runs the usual plan and `plan`, each of them first in every second round, and appends their times to
// `usual` and `timed` of each task. Statuses as dq_plan_run and dq_tuner_end_round.
dq_status dq_tuner_duel(dq_tuner *tuner, dq_plan *plan, dq_error *error);
// Adds a record to the wisdom (dq_wisdom_add); tuner->kept becomes false where it cannot be written. DQ_SYSTEM: there
// is no memory.
dq_status dq_tuner_add(dq_tuner *tuner, const dq_record *record, dq_error *error);

// Lists the candidates of all tasks in their `candidates`, with the ratios that earlier searches measured. DQ_SYSTEM:
// there is no memory.
dq_status dq_tune_list(dq_tuner *tuner, dq_error *error);
// Makes a candidate with a ratio the `best` of its task if it is faster than that.
void dq_tune_adopt(dq_tune_task *task, const dq_tune_candidate *candidate);
// Whether all candidates are measured: with options->exhaustive, and until tuner->short_end.
bool dq_tune_takes_all(const dq_tuner *tuner);
// Whether a candidate of the task is still to be measured: of all, or else until dq_tune_part of them are.
bool dq_tune_is_left(const dq_tuner *tuner, const dq_tune_task *task);
// Sets the families, the loss and the numbers of candidates of the report. DQ_SYSTEM: there is no memory.
dq_status dq_tune_count(const dq_tuner *tuner, dq_tune_report *report, dq_error *error);

// Sets tuner->threads_lose, with several threads, where the network is faster with every step in one thread alone. What
// is measured then says nothing about threads that run at the same time, so that no step is left to one thread.
// Statuses as dq_session_open.
dq_status dq_tune_check_threads(dq_tuner *tuner, dq_error *error);

// Measures the candidates of all tasks without a record, in the order of the times that the cost model expects, until
// tuner->search_end; `best` of each task becomes the fastest. *out_of_time: whether candidates are left. Statuses as
// dq_session_open.
dq_status dq_tune_search(dq_tuner *tuner, bool *out_of_time, dq_error *error);
// Measures the candidates that may be the fastest once more, and sets shape.record of the tasks for which one of them
// is faster, and, unless `out_of_time`, of the other tasks with the usual choice; `best` becomes that choice. Statuses
// as dq_session_open.
dq_status dq_tune_finals(dq_tuner *tuner, bool out_of_time, dq_error *error);

#endif
