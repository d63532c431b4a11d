// Statistics of times.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/measure/spread.h"

static int ascending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

void dq_sort_ascending(double *values, int64_t count) { qsort(values, (size_t)count, sizeof *values, ascending); }

double dq_largest(const double *values, int64_t count) {
  double largest = 0;
  for (int64_t i = 0; i < count; i++) largest = fmax(largest, values[i]);
  return largest;
}

double dq_quantile(const double *sorted, int64_t count, double p) {
  double position = (double)(count - 1) * p;
  int64_t below = (int64_t)position;
  if (below >= count - 1) return sorted[count - 1];
  return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

static double median_of(const double *values, int64_t count, double *scratch) {
  memcpy(scratch, values, (size_t)count * sizeof *scratch);
  dq_sort_ascending(scratch, count);
  return dq_quantile(scratch, count, 0.5);
}

static void sums(dq_spread *spread, const double *values, int64_t count) {
  double total = 0, squares = 0;
  for (int64_t i = 0; i < count; i++) total += values[i];
  spread->mean = total / (double)count;
  for (int64_t i = 0; i < count; i++) {
    double difference = values[i] - spread->mean;
    squares += difference * difference;
  }
  if (count > 1) spread->deviation = sqrt(squares / (double)(count - 1));
}

dq_status dq_spread_of(dq_spread *spread, const double *values, int64_t count, dq_error *error) {
  double *sorted = malloc((size_t)count * sizeof *sorted);
  if (!sorted) return dq_fail_memory(error, (size_t)count * sizeof *sorted);
  *spread = (dq_spread){.count = count, .drift = 1};
  sums(spread, values, count);
  if (count >= 4) {
    int64_t half = count / 2;
    double earlier = median_of(values, half, sorted);
    double later = median_of(values + count - half, half, sorted);
    if (earlier > 0) spread->drift = later / earlier;
  }
  spread->median = median_of(values, count, sorted); // leaves all of them sorted
  spread->minimum = sorted[0];
  spread->p95 = dq_quantile(sorted, count, 0.95);
  free(sorted);
  return DQ_OK;
}

const char *dq_spread_doubt(const dq_spread *spread) {
  if (spread->count < DQ_STEADY_RUNS) return "too few runs to tell";
  if (spread->p95 > 1.25 * spread->median) return "the slowest runs take over 25 % more than the median";
  if (spread->drift > 1.1 || spread->drift < 1 / 1.1)
    return "the later half of the runs differs by over 10 % from the earlier";
  return NULL;
}

// How many runs of `count` lie outside of the interval on either side. The number of runs below the median is binomial
// with p = 1/2, so that the interval misses it with twice the probability of `outside` such runs or fewer. Terms by
// their logarithms: 2^-count alone is no double beyond 1074 runs.
static int64_t runs_outside(int64_t count, double *level) {
  int64_t outside = 0;
  double logarithm = -(double)count * log(2), missed = exp(logarithm);
  for (*level = 1 - 2 * missed; outside < count; outside++) {
    logarithm += log((double)(count - outside) / (double)(outside + 1));
    missed += exp(logarithm);
    if (1 - 2 * missed < DQ_TIME_LEVEL) break;
    *level = 1 - 2 * missed;
  }
  return outside;
}

dq_status dq_time_ratio_of(dq_time_ratio *ratio, const double *values, const double *reference, int64_t count,
                           dq_error *error) {
  double *sorted = malloc((size_t)count * sizeof *sorted);
  if (!sorted) return dq_fail_memory(error, (size_t)count * sizeof *sorted);
  for (int64_t i = 0; i < count; i++) sorted[i] = values[i] / reference[i];
  dq_sort_ascending(sorted, count);
  double level;
  int64_t outside = runs_outside(count, &level);
  *ratio = (dq_time_ratio){.median = dq_quantile(sorted, count, 0.5),
                           .low = sorted[outside],
                           .high = sorted[count - 1 - outside],
                           .level = level};
  free(sorted);
  return DQ_OK;
}
