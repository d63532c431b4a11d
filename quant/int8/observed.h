// What was measured on the pictures with one setting of equalization and absorption. Trials that keep this setting
// share it, so that the pictures are not run again.
#ifndef DQ_QUANT_OBSERVED_H
#define DQ_QUANT_OBSERVED_H

#include "calib/calib.h"
#include "quant/equalize/bias_absorption.h"
#include "quant/equalize/equalize.h"
#include "quant/rewrite/bias_correction.h"
#include "quant/rewrite/permute.h"

// What the range search found, and what it began with.
typedef struct dq_searched_ranges {
  const dq_observer *method; // NULL: no search was made
  bool margins;              // dq_int8_setting.margins
  const dq_range_pair *ranges;
  int count; // of histograms, each of which has a range
} dq_searched_ranges;

typedef struct dq_observed {
  dq_arena *arena; // owns everything below except the histograms; NULL: the struct is closed
  // The setting.
  dq_equalize_scope equalize;
  bool heads;     // dq_int8_setting.heads
  bool absorbing; // dq_int8_setting.absorption
  // The measurements.
  dq_absorption absorption; // count 0: not measured, or nothing to absorb, which is measured again
  bool equalized;           // `equalization` is set
  dq_equalization equalization;
  dq_calibration calibration; // count 0: not measured
  dq_searched_ranges searched;
  dq_input_means means; // in the order of channels of the source; count 0: not measured
  dq_channel_orders orders;
} dq_observed;

// Closes *seen, which is zeroed or open, and opens it for this setting without measurements. The caller closes it.
// DQ_SYSTEM: there is no memory.
dq_status dq_observed_open(dq_observed *seen, dq_equalize_scope equalize, bool heads, bool absorbing,
                           const dq_context *context, dq_error *error);
void dq_observed_close(dq_observed *seen); // allowed on a zeroed struct

// These functions store a copy of a measurement in seen->arena, in the place of an earlier one.
// dq_observed_store_calibration moves the histograms and leaves *calibration zeroed, also after a failure. *seen is
// open; memory of an earlier copy stays until it is closed. DQ_SYSTEM: there is no memory, and the earlier measurement
// stays.
dq_status dq_observed_store_absorption(dq_observed *seen, const dq_absorption *absorption, dq_error *error);
dq_status dq_observed_store_equalization(dq_observed *seen, const dq_equalization *equalization, dq_error *error);
dq_status dq_observed_store_calibration(dq_observed *seen, dq_calibration *calibration, dq_error *error);
dq_status dq_observed_store_ranges(dq_observed *seen, const dq_searched_ranges *searched, dq_error *error);
dq_status dq_observed_store_means(dq_observed *seen, const dq_input_means *means, dq_error *error);

// Whether seen->calibration has the histograms of exactly these values, in this order.
bool dq_observed_has_calibration(const dq_observed *seen, const char *const *names, int count);
// Copies seen->means into *means, with the channels of each value of `permuted` (`count` elements) in its new order.
// The copy is in `arena`. DQ_SYSTEM: there is no memory.
dq_status dq_observed_permuted_means(const dq_observed *seen, const dq_permuted_value *permuted, int count,
                                     dq_input_means *means, dq_arena *arena, dq_error *error);

#endif
