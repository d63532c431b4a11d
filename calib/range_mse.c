// Range rule: the least squared error of the 8-bit grid over the histogram.
#include "calib/observers.h"

enum { STEPS = 64, ROUNDS = 3 };

typedef struct search {
  const dq_histogram *histogram;
  const dq_filled_bins *filled;
  bool symmetric;
  dq_range_pair best;
  double error;
} search;

static void attempt(search *at, dq_range_pair range) {
  double error = dq_filled_error(at->filled, range, at->symmetric);
  if (error < at->error) at->error = error, at->best = range;
}

// Ends between `from` and `to` times the extreme value, first the upper end, then the lower.
static void scan(search *at, double from, double to) {
  for (int i = 0; i <= STEPS; i++) {
    double share = from + (to - from) * i / STEPS;
    dq_range_pair range = at->best;
    range.high = (float)((double)at->histogram->maximum * share);
    if (range.high > 0) attempt(at, range);
  }
  for (int i = 0; i <= STEPS; i++) {
    double share = from + (to - from) * i / STEPS;
    dq_range_pair range = at->best;
    range.low = (float)((double)at->histogram->minimum * share);
    if (range.low < 0) attempt(at, range);
  }
}

dq_range_pair dq_range_mse(const dq_histogram *histogram, const dq_range_options *options) {
  dq_filled_bins filled;
  dq_histogram_fill(histogram, &filled);
  search at = {histogram, &filled, options->symmetric, {histogram->minimum, histogram->maximum}, 0};
  at.error = dq_filled_error(&filled, at.best, options->symmetric);
  // A symmetric range is set by its larger end: both ends move together.
  if (options->symmetric) {
    float high = -histogram->minimum > histogram->maximum ? -histogram->minimum : histogram->maximum;
    for (int i = 1; i < 8 * STEPS; i++) {
      float end = high * (float)i / (8 * STEPS);
      attempt(&at, (dq_range_pair){-end, end});
    }
    return at.best;
  }
  for (int r = 0; r < ROUNDS; r++) scan(&at, 1.0 / STEPS, 1); // ends depend on each other
  return at.best;
}
