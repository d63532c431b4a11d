// Range rule: the least squared error of the 8-bit grid over the histogram.
#include "calib/observers.h"

enum { STEPS = 64, SCANS = 6 };

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

// Tries shares of the extreme value in place of the upper or the lower end of the best range. Returns whether the best
// range has changed.
static bool scan(search *at, bool upper) {
  const double extreme = (double)(upper ? at->histogram->maximum : at->histogram->minimum), before = at->error;
  for (int i = 0; i <= STEPS; i++) {
    double share = 1.0 / STEPS + (1 - 1.0 / STEPS) * i / STEPS;
    dq_range_pair range = at->best;
    *(upper ? &range.high : &range.low) = (float)(extreme * share);
    if (upper ? range.high > 0 : range.low < 0) attempt(at, range);
  }
  return at->error < before;
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
  // Ends depend on each other: an end is tried again when the other one has changed.
  bool changed = true;
  for (int i = 0; i < SCANS && changed; i++) changed = scan(&at, i % 2 == 0) || !i;
  return at.best;
}
