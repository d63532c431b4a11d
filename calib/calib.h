// Calibration: the range of every value that is to be quantized, observed on pictures. One pass, one
// picture at a time; memory depends on the number of values only.
#ifndef DQ_CALIB_CALIB_H
#define DQ_CALIB_CALIB_H

#include "datasets/datasets.h"
#include "lib/base/context.h"
#include "lib/exec/infer.h"
#include "lib/graph/graph.h"

// ---- Histogram ----
// Counts of values in bins of width 2^e around 0, the smallest e for which all values seen fit. Bins of
// the next width are pairs of bins, so the counts depend neither on order nor on how the values were
// divided: two halves merged are the whole.
enum { DQ_HISTOGRAM_BINS = 8192 }; // half of them below 0

typedef struct dq_histogram {
  int exponent;      // bin width is 2^exponent
  uint64_t *bins;    // [DQ_HISTOGRAM_BINS]; bin i holds (i - BINS / 2) <= x / width < ... + 1
  uint64_t count;    // finite values
  uint64_t not_finite;
  float minimum, maximum; // of the finite values; 0 and 0 when there are none
} dq_histogram;

dq_status dq_histogram_init(dq_histogram *histogram, dq_error *error);
void dq_histogram_deinit(dq_histogram *histogram);
void dq_histogram_add(dq_histogram *histogram, const float *values, int64_t count);
void dq_histogram_merge(dq_histogram *into, const dq_histogram *from);
// The value below which the share `q` of all values lies, linear within a bin, between minimum and
// maximum. 0 <= q <= 1.
double dq_histogram_quantile(const dq_histogram *histogram, double q);

// ---- Ranges ----
typedef struct dq_range_pair {
  float low, high; // low <= 0 <= high is not implied
} dq_range_pair;

typedef struct dq_observer {
  const char *name, *help;
  dq_range_pair (*range)(const dq_histogram *histogram, double parameter);
} dq_observer;

const dq_observer *dq_observer_at(int index); // NULL after the last
const dq_observer *dq_observer_find(const char *name);

// ---- Observing a network ----
typedef struct dq_calibration {
  int count;
  const char *const *names;  // of values of the graph
  dq_histogram *histograms;  // one per name
  int64_t pictures;
  size_t bytes;              // memory the histograms take
} dq_calibration;

// Runs the graph on every picture of `data` and fills a histogram per name. The names must outlive
// the result. DQ_BAD_INPUT when a value is not float32 or never finite, or the data does not fit.
dq_status dq_calibrate(dq_calibration *calibration, const dq_graph *graph,
                       const dq_shape_request *shapes, const char *const *names, int count,
                       dq_data *data, const dq_context *context, dq_error *error);
void dq_calibration_deinit(dq_calibration *calibration); // safe on a zeroed struct

#endif
