#include "lib/multi/job_threads.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/measure/bench.h"
#include "lib/multi/multi_internal.h"

enum { LEAST_ROUNDS = 3, MOST_ROUNDS = 50 };
static const double SECONDS = 0.5;

static const char *const names[] = {"one", "all", "auto"};

int dq_job_threads_find(const char *name) {
  for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
    if (!strcmp(names[i], name)) return i;
  return -1;
}

// The time of a run.
static dq_status measure_run(dq_plan *plan, uint64_t seed, double *seconds, dq_error *error) {
  double start = dq_seconds();
  DQ_TRY(dq_multi_run_noise(plan, seed, error));
  *seconds = dq_seconds() - start;
  return DQ_OK;
}

static double sum_of(const double *times, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += times[i];
  return sum;
}

// Runs both plans in turns, after a run of each that does not count.
static dq_status measure_rounds(dq_thread_choice *choice, dq_plan *const *plans, uint64_t seed, dq_error *error) {
  double times[2][MOST_ROUNDS], unused;
  int rounds = 0;
  for (int p = 0; p < 2; p++) DQ_TRY(measure_run(plans[p], seed, &unused, error));
  const double start = dq_seconds();
  while (rounds < LEAST_ROUNDS || (rounds < MOST_ROUNDS && dq_seconds() - start < SECONDS)) {
    for (int p = 0; p < 2; p++) DQ_TRY(measure_run(plans[p], seed, &times[p][rounds], error));
    rounds++;
  }
  dq_time_ratio ratio;
  DQ_TRY(dq_time_ratio_of(&ratio, times[1], times[0], rounds, error));
  const bool all = ratio.median < 1 && sum_of(times[1], rounds) < sum_of(times[0], rounds);
  for (int p = 0; p < 2; p++) dq_sort_ascending(times[p], rounds);
  *choice = (dq_thread_choice){all, dq_quantile(times[0], rounds, 0.5), dq_quantile(times[1], rounds, 0.5)};
  return DQ_OK;
}

// The sessions are for the measurement alone: they keep the elements that the one behind needs.
static dq_status measure(dq_thread_choice *choice, const dq_multi *multi, const dq_graph *graph,
                         const dq_session_options *options, dq_error *error) {
  dq_session_options apart = *options;
  apart.spent = NULL;
  apart.lent = false;
  dq_context all = multi->binding;
  dq_session sessions[2] = {{0}, {0}};
  if (!(all.pool = dq_pool_new(multi->options.workers)))
    return dq_fail(error, DQ_SYSTEM, "cannot start %d threads", multi->options.workers);
  dq_status status = dq_session_open(&sessions[0], graph, &apart, &multi->binding, error);
  if (status == DQ_OK) status = dq_session_open(&sessions[1], graph, &apart, &all, error);
  if (status == DQ_OK)
    status = measure_rounds(choice, (dq_plan *const[]){sessions[0].plan, sessions[1].plan}, all.seed, error);
  for (int s = 0; s < 2; s++) dq_session_close(&sessions[s]);
  dq_pool_free(all.pool);
  return status;
}

dq_status dq_job_threads_choose(dq_thread_choice *choice, dq_job_threads rule, const dq_multi *multi,
                                const dq_graph *graph, const dq_session_options *options, dq_error *error) {
  const bool several = multi->options.workers > 1;
  *choice = (dq_thread_choice){.all_threads = several && rule == DQ_THREADS_ALL};
  return several && rule == DQ_THREADS_AUTO ? measure(choice, multi, graph, options, error) : DQ_OK;
}
