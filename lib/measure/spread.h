// Statistics of run times: how far they spread, and the ratio of those of two plans.
#ifndef DQ_MEASURE_SPREAD_H
#define DQ_MEASURE_SPREAD_H

#include <stdint.h>

#include "lib/base/status.h"

typedef struct dq_spread {
  int64_t count;                     // of times
  double minimum, median, mean, p95; // p95: quantile 0.95
  double deviation;                  // standard deviation of the sample (n - 1); 0 for one value
  double drift;                      // median of the later half / median of the earlier half; 1 below 4 values
} dq_spread;

// Computes the statistics of values[count], which are positive and in the order they were measured; count >= 1.
// Quantiles interpolate linearly at (n - 1) p (type 7 of Hyndman and Fan 1996). DQ_SYSTEM: there is no memory.
dq_status dq_spread_of(dq_spread *spread, const double *values, int64_t count, dq_error *error);

// Sorts `count` numbers, none of them NaN, the least first.
void dq_sort_ascending(double *values, int64_t count);
// The largest of values[count]; 0 where none is above 0. NaN does not count.
double dq_largest(const double *values, int64_t count);
// The quantile p (0 to 1) of ascending values, count >= 1, interpolated as by dq_spread_of.
double dq_quantile(const double *sorted, int64_t count, double p);

enum { DQ_STEADY_RUNS = 5 }; // fewer cannot be called steady
// Why the times are not reliable (too few runs, a long tail, a drift), as a static phrase; NULL when they are steady.
const char *dq_spread_doubt(const dq_spread *spread);

// The ratios of the times of one plan to those of a reference.
typedef struct dq_time_ratio {
  double median;    // of time / reference: below 1 is faster
  double low, high; // confidence interval of the median
  double level;     // the exact probability, 0 to 1, with which the interval holds the median; 0 for one ratio
} dq_time_ratio;

// What an interval holds the median of the ratios with, where there are enough of them.
#define DQ_TIME_LEVEL 0.95

// Computes the ratios values[i] / reference[i] of `count` (>= 1) positive times of two plans that stay where they are
// in memory, measured in turns. The interval is the shortest between two ratios, with equally many ratios outside on
// either side, whose level is at least DQ_TIME_LEVEL, or the extremes when none is (W. J. Conover, Practical
// Nonparametric Statistics, 1999, 3.2). DQ_SYSTEM: there is no memory.
dq_status dq_time_ratio_of(dq_time_ratio *ratio, const double *values, const double *reference, int64_t count,
                           dq_error *error);

#endif
