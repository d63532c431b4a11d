// Range rules over a histogram.
#include <string.h>

#include "calib/calib.h"

static dq_range_pair range_minmax(const dq_histogram *histogram, double parameter) {
  (void)parameter;
  return (dq_range_pair){histogram->minimum, histogram->maximum};
}

// `parameter` percent of the values stay inside, half of the rest is cut off at each end.
static dq_range_pair range_percentile(const dq_histogram *histogram, double parameter) {
  double cut = (100 - parameter) / 200;
  return (dq_range_pair){(float)dq_histogram_quantile(histogram, cut),
                         (float)dq_histogram_quantile(histogram, 1 - cut)};
}

static const dq_observer observers[] = {
#define DQ_OBSERVER(symbol, name, help) {name, help, range_##symbol},
#include "calib/observers.def"
#undef DQ_OBSERVER
    {NULL, NULL, NULL}};

const dq_observer *dq_observer_at(int index) { return observers[index].name ? &observers[index] : NULL; }

const dq_observer *dq_observer_find(const char *name) {
  for (int i = 0; observers[i].name; i++)
    if (!strcmp(observers[i].name, name)) return &observers[i];
  return NULL;
}
