// Whether several threads gain anything at present: a virtual processor that the host gives to others now and then
// makes every wait of a thread for another one long, and one thread alone the fastest choice of every step.
#include "lib/tune/tune_internal.h"

static dq_status run_rounds(dq_tuner *tuner, dq_plan *alone, dq_time_ratio *ratio, dq_error *error) {
  enum { ROUNDS = 12 };
  double times[2][ROUNDS];
  DQ_TRY(dq_tuner_warm(tuner, alone, error));
  for (int round = 0; round < ROUNDS; round++) {
    DQ_TRY(dq_tuner_run_again(tuner, tuner->usual, &times[0][round], NULL, error));
    DQ_TRY(dq_tuner_run_again(tuner, alone, &times[1][round], NULL, error));
  }
  return dq_time_ratio_of(ratio, times[1], times[0], ROUNDS, error);
}

dq_status dq_tune_check_threads(dq_tuner *tuner, dq_error *error) {
  dq_plan *alone;
  dq_time_ratio ratio;
  if (dq_pool_threads(tuner->context->pool) < 2) return DQ_OK;
  for (int t = 0; t < tuner->task_count; t++) {
    dq_tune_task *task = &tuner->tasks[t];
    bool is_shared = dq_plan_step_knobs(tuner->usual, task->first) & 1u << DQ_KNOB_OF_THREADS;
    task->trial = (dq_step_choice){{[DQ_KNOB_OF_THREADS] = is_shared}};
  }
  DQ_TRY(dq_tuner_bind(tuner, false, &alone, error));
  dq_status status = run_rounds(tuner, alone, &ratio, error);
  dq_plan_free(alone);
  if (status != DQ_OK || ratio.median >= 1 || tuner->threads_lose) return status;
  tuner->threads_lose = true;
  dq_message(
      tuner->context, DQ_NOTE,
      "the network is faster in one thread at present, so that no step of it is left to one thread: either other "
      "programs have the processors, or --threads 1 is the better choice");
  return DQ_OK;
}
