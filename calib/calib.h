// Calibration: the range of every value that is to be quantized, found by running the float network on pictures. Each
// picture runs once. A value takes 64 KiB at most for its histogram, however many pictures there are, and far less
// where it has few elements.
#ifndef DQ_CALIB_CALIB_H
#define DQ_CALIB_CALIB_H

#include "calib/bin_counts.h"
#include "calib/elements.h"
#include "calib/margin.h"
#include "lib/session/observe.h"

// ---- Histogram ----
// A histogram counts elements in bins of equal width 2^e around 0, with the smallest e >= -126 for which all
// finite elements have |x| < 4096 * 2^e. A bin of width 2^(e + 1) is exactly two bins of width 2^e. The counts
// therefore do not depend on the order of the elements, and histograms of two halves of the pictures can be merged
// without loss.
// Of DQ_HISTOGRAM_BINS bins half lie below 0; bin i counts the x with i - BINS / 2 <= x / width < i - BINS / 2 + 1.
typedef struct dq_histogram {
  int exponent;                     // bin width is 2^exponent
  dq_bin_counts bins;               // dq_histogram_bins
  uint64_t count;                   // of finite elements
  uint64_t not_finite;              // elements that are NaN or infinite; no bin counts them
  float minimum, maximum;           // of the finite elements; 0 and 0 when there are none
  uint64_t pictures;                // calls of dq_histogram_average
  double average_low, average_high; // exponential moving averages of the pictures' minima and maxima
} dq_histogram;

// Quantization steps between the least and the largest integer of the type of activations, uint8 or int8; with a
// symmetric range one step less.
enum { DQ_ACTIVATION_STEPS = 255, DQ_SYMMETRIC_STEPS = DQ_ACTIVATION_STEPS - 1 };

// Weight of the newest picture in the moving averages (ONNX Runtime's averaging_constant).
#define DQ_MOVING_AVERAGE_CONSTANT 0.01

// Makes an empty histogram, whose memory will count against `budget` (NULL: against none), which must outlive it.
void dq_histogram_init(dq_histogram *histogram, dq_budget *budget);
void dq_histogram_deinit(dq_histogram *histogram); // frees the memory
// The counts of all bins, which belong to the histogram or stand in memory[DQ_HISTOGRAM_BINS].
const uint64_t *dq_histogram_bins(const dq_histogram *histogram, uint64_t *memory);
// Counts the `count` (>= 0) elements of one picture with the threads and the kernels of the context (NULL: the caller
// alone, in plain C), which do not change the result. *seen: the extremes of this picture. The moving averages do not
// change (dq_histogram_average). DQ_SYSTEM: there is no memory.
dq_status dq_histogram_count(dq_histogram *histogram, const float *values, int64_t count, const dq_context *context,
                             dq_extremes *seen, dq_error *error);
// Adds a picture with at least one finite element and these extremes to the moving averages: the first one sets them,
// each further one changes them by DQ_MOVING_AVERAGE_CONSTANT times the difference.
void dq_histogram_average(dq_histogram *histogram, float low, float high);
// Adds the counts of `from`: the result is that of one histogram of all elements. The moving averages of `into`, which
// depend on the order of the pictures, stay. DQ_SYSTEM: there is no memory.
dq_status dq_histogram_merge(dq_histogram *into, const dq_histogram *from, dq_error *error);
// The quantile `q` (0 to 1) of the finite elements, interpolated linearly within its bin and limited to [minimum,
// maximum]. 0 for an empty histogram.
double dq_histogram_quantile(const dq_histogram *histogram, double q);

// ---- Ranges ----
typedef struct dq_range_pair {
  float low, high; // low <= 0 <= high is not implied
} dq_range_pair;

// The share (0 to 1) of the finite elements outside the range. A bin that contains an end of the range counts as
// inside.
double dq_histogram_clipped(const dq_histogram *histogram, dq_range_pair range);
// The sum of squared errors when all elements are quantized with the range, widened to hold 0: 255 steps with the zero
// point on a step, or 254 steps around 0 when `symmetric`. Every element counts as the middle of its bin.
double dq_histogram_error(const dq_histogram *histogram, dq_range_pair range, bool symmetric);

// The bins of a histogram that are not empty. dq_filled_error on them is much quicker than dq_histogram_error where
// many ranges are tried on one histogram. The struct takes 128 KiB.
typedef struct dq_filled_bins {
  int count;
  double width;                      // of a bin, in the unit of the value
  double middles[DQ_HISTOGRAM_BINS]; // [count], ascending, in units of `width`
  double counts[DQ_HISTOGRAM_BINS];  // [count]: finite elements in each bin; exact up to 2^53
} dq_filled_bins;

// Lists the bins of `histogram` that are not empty in *filled, which the caller provides; for an empty histogram the
// count is 0. Entries from the count on are not written.
void dq_histogram_fill(const dq_histogram *histogram, dq_filled_bins *filled);
// The result of dq_histogram_error on the histogram that `filled` was made from.
double dq_filled_error(const dq_filled_bins *filled, dq_range_pair range, bool symmetric);

typedef struct dq_range_options {
  // The percentage of the elements inside the range (0 to 100), for the observer `percentile`. Half of the others lie
  // below the range, half above.
  double percentile;
  bool symmetric; // the quantization is symmetric around 0
} dq_range_options;

// The range that an observer has made of `histogram`, with margins: an end that is at least 0.97 times the extreme
// element in its direction is multiplied by the factor by which dq_end_with_margin enlarges that extreme. An end that
// cuts off more stays, because the histogram then shows the loss. `ends` are of the pictures of `histogram`.
dq_range_pair dq_range_with_margins(dq_range_pair range, const dq_histogram *histogram, const dq_value_ends *ends);

// A rule that makes a range from a histogram, a row of observers.def.
typedef struct dq_observer {
  const char *name, *help;
  // The range for a histogram with at least one finite element.
  dq_range_pair (*range)(const dq_histogram *histogram, const dq_range_options *options);
} dq_observer;

const dq_observer *dq_observer_at(int index);          // in the order of observers.def; NULL after the last
const dq_observer *dq_observer_find(const char *name); // NULL: there is none of that name

// ---- Calibration ----
typedef struct dq_calibration {
  int count;
  const char *const *names; // of values of the graph
  dq_histogram *histograms; // one per name
  dq_value_ends *ends;      // one per name
  int64_t pictures;
  size_t bytes; // of all histograms and ends
} dq_calibration;

// Runs the graph once on each picture of `what` and makes one histogram and the ends of its channels for
// each of its names, which must outlive the result. Histograms and ends count against the budget of the context. Of
// several processes each runs a part of the pictures, and all have the result. The caller frees the result by
// dq_calibration_deinit; after a failure nothing has to be freed. Statuses are those of dq_observe, and DQ_BAD_INPUT
// when a value had a NaN or infinite element, DQ_UNSUPPORTED when a value had no element on any picture.
dq_status dq_calibrate(dq_calibration *calibration, const dq_observation *what, const dq_context *context,
                       dq_error *error);
void dq_calibration_deinit(dq_calibration *calibration); // safe on a zeroed struct

#endif
