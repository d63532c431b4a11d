// When a choice is taken.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tune/tune.h"

dq_tune_decision dq_tune_decide(const dq_time_ratio *ratio, double best, int64_t rounds) {
  if (rounds < DQ_TUNE_LEAST_ROUNDS) return DQ_TUNE_UNDECIDED;
  if (ratio->low > best) return DQ_TUNE_NOT_FASTER;
  if (ratio->high < DQ_TUNE_FASTER) return DQ_TUNE_IS_FASTER;
  return ratio->low > DQ_TUNE_FASTER || rounds >= DQ_TUNE_MOST_ROUNDS ? DQ_TUNE_NOT_FASTER : DQ_TUNE_UNDECIDED;
}

bool dq_tune_is_open(const dq_time_ratio *ratio) {
  return ratio->low <= DQ_TUNE_FASTER && ratio->high >= DQ_TUNE_FASTER;
}

int dq_tune_winner(const double *medians, const double *highs, const int *places, int count) {
  double least = INFINITY;
  int winner = -1;
  for (int f = 0; f < count; f++)
    if (highs[f] < DQ_TUNE_FASTER) least = fmin(least, medians[f]);
  for (int f = 0; f < count; f++) {
    if (highs[f] >= DQ_TUNE_FASTER || medians[f] > least + DQ_TUNE_EQUAL) continue;
    if (winner < 0 || places[f] < places[winner]) winner = f;
  }
  return winner;
}

bool dq_tune_too_noisy(const dq_time_ratio *control) {
  return control->low < 1 - DQ_TUNE_NOISE || control->high > 1 + DQ_TUNE_NOISE;
}

bool dq_tune_is_disturbed(double waited) { return waited > DQ_TUNE_WAIT; }

int dq_tune_patience(int patience, bool disturbed) {
  const int given_back = 3;
  if (disturbed) return patience > 0 ? patience - 1 : 0;
  return patience + given_back < DQ_TUNE_PATIENCE ? patience + given_back : DQ_TUNE_PATIENCE;
}

dq_status dq_tune_fail_disturbed(const dq_tune_rounds *rounds, dq_error *error) {
  dq_fail(error, DQ_CONDITION,
          "the machine is too noisy: in %lld of %lld rounds the threads waited for a processor for more than %g %% of "
          "the time; %s",
          (long long)rounds->disturbed, (long long)rounds->all, 100 * DQ_TUNE_WAIT,
          rounds->written ? "no choice was made, and the candidates that were measured before are kept"
                          : "nothing was written");
  dq_error_hint(error, "stop other programs, or tune with --threads 1");
  return DQ_CONDITION;
}

dq_status dq_tune_fail_noisy(const dq_tune_report *report, dq_error *error) {
  if (!report->rounds.patience) return dq_tune_fail_disturbed(&report->rounds, error);
  return dq_fail(error, DQ_CONDITION,
                 "the machine is too noisy: the same plan twice has a time ratio of %.3f to %.3f, at most %.2f from 1 "
                 "can be tuned with; nothing was written",
                 report->control.low, report->control.high, DQ_TUNE_NOISE);
}

dq_status dq_tune_quantiles(dq_quantiles *quantiles, const double *times, int64_t count, dq_error *error) {
  double *sorted = malloc((size_t)count * sizeof *sorted);
  if (!sorted) return dq_fail_memory(error, (size_t)count * sizeof *sorted);
  memcpy(sorted, times, (size_t)count * sizeof *sorted);
  dq_sort_ascending(sorted, count);
  *quantiles = (dq_quantiles){.p5 = dq_quantile(sorted, count, 0.05),
                              .median = dq_quantile(sorted, count, 0.5),
                              .p95 = dq_quantile(sorted, count, 0.95)};
  free(sorted);
  return DQ_OK;
}
