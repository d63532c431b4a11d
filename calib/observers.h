// The observers of observers.def, one file each.
#ifndef DQ_CALIB_OBSERVERS_H
#define DQ_CALIB_OBSERVERS_H

#include "calib/calib.h"

#define DQ_OBSERVER(symbol, name, help)                                                                                \
  dq_range_pair dq_range_##symbol(const dq_histogram *histogram, const dq_range_options *options);
#include "calib/observers.def"
#undef DQ_OBSERVER

#endif
