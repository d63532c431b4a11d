// Calibration: the range of every value that is to be quantized, observed on pictures. One pass, one
// picture at a time; memory depends on the number of values only.
#ifndef DQ_CALIB_CALIB_H
#define DQ_CALIB_CALIB_H

#include "lib/session/observe.h"

// ---- Histogram ----
// Counts of values in bins of width 2^e around 0, the smallest e for which all values seen fit. Bins of
// the next width are pairs of bins, so the counts depend neither on order nor on how the values were
// divided: two halves merged are the whole.
enum { DQ_HISTOGRAM_BINS = 8192 }; // half of them below 0

typedef struct dq_histogram {
  int exponent;   // bin width is 2^exponent
  uint64_t *bins; // [DQ_HISTOGRAM_BINS]; bin i holds (i - BINS / 2) <= x / width < ... + 1
  uint64_t count; // finite values
  uint64_t not_finite;
  float minimum, maximum;           // of the finite values; 0 and 0 when there are none
  uint64_t pictures;                // calls of dq_histogram_add that had finite values
  float first_low, first_high;      // minimum and maximum of the first picture
  double average_low, average_high; // exponential moving averages of the pictures' minima and maxima
} dq_histogram;

// Weight of the newest picture in the moving averages (ONNX Runtime's averaging_constant).
#define DQ_MOVING_AVERAGE_CONSTANT 0.01

dq_status dq_histogram_init(dq_histogram *histogram, dq_budget *budget, dq_error *error);
void dq_histogram_deinit(dq_histogram *histogram);
// The values of one picture: the moving averages take one step.
void dq_histogram_add(dq_histogram *histogram, const float *values, int64_t count);
// `from` saw the pictures after those of `into`. Equal to one histogram of all of them; the moving
// averages to rounding of float64.
void dq_histogram_merge(dq_histogram *into, const dq_histogram *from);
// The value below which the share `q` of all values lies, linear within a bin, between minimum and
// maximum. 0 <= q <= 1.
double dq_histogram_quantile(const dq_histogram *histogram, double q);

// ---- Ranges ----
typedef struct dq_range_pair {
  float low, high; // low <= 0 <= high is not implied
} dq_range_pair;

// The share of the values that lies outside the range, by bins: those that hold a bound count as inside.
double dq_histogram_clipped(const dq_histogram *histogram, dq_range_pair range);
// Sum of squared errors of all values when the range, widened to hold 0, is divided into 255 steps of
// which one lies on 0; `symmetric`: 254 steps around 0. Every value counts as the middle of its bin.
double dq_histogram_error(const dq_histogram *histogram, dq_range_pair range, bool symmetric);

// The bins that hold anything, for many errors of one histogram.
typedef struct dq_filled_bins {
  int count;
  double width;                      // of a bin
  double middles[DQ_HISTOGRAM_BINS]; // in widths, ascending
  double counts[DQ_HISTOGRAM_BINS];
} dq_filled_bins;

void dq_histogram_fill(const dq_histogram *histogram, dq_filled_bins *filled);
double dq_filled_error(const dq_filled_bins *filled, dq_range_pair range, bool symmetric); // dq_histogram_error

typedef struct dq_range_options {
  double percentile; // of percentile: how many percent stay inside
  bool symmetric;    // the range will be used symmetric around 0
} dq_range_options;

typedef struct dq_observer {
  const char *name, *help;
  dq_range_pair (*range)(const dq_histogram *histogram, const dq_range_options *options);
} dq_observer;

const dq_observer *dq_observer_at(int index); // NULL after the last
const dq_observer *dq_observer_find(const char *name);

// ---- Calibration ----
typedef struct dq_calibration {
  int count;
  const char *const *names; // of values of the graph
  dq_histogram *histograms; // one per name
  int64_t pictures;
  size_t bytes; // memory the histograms take
} dq_calibration;

// Fills a histogram per name. The names must outlive the result. Fails as dq_observe does, and with
// DQ_BAD_INPUT when an element was NaN or infinite, DQ_UNSUPPORTED when a value never had any.
dq_status dq_calibrate(dq_calibration *calibration, const dq_observation *what, const dq_context *context,
                       dq_error *error);
void dq_calibration_deinit(dq_calibration *calibration); // safe on a zeroed struct

#endif
