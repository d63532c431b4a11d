// What trials of one setting of equalization share: what was seen on the pictures, so that only what a
// trial changes is done again.
#ifndef DQ_QUANT_OBSERVED_H
#define DQ_QUANT_OBSERVED_H

#include "calib/calib.h"
#include "quant/rewrite/bias_absorption.h"
#include "quant/rewrite/bias_correction.h"
#include "quant/rewrite/equalize.h"
#include "quant/rewrite/permute.h"

typedef struct dq_observed {
  dq_arena *arena; // NULL: nothing was seen; else of all below but the histograms
  dq_equalize_scope equalize;
  bool heads;
  bool absorbing;           // of high biases
  dq_absorption absorption; // count 0: none
  bool equalized;           // the next holds
  dq_equalization equalization;
  dq_calibration calibration;     // count 0: none
  const dq_observer *searched_by; // method that ranges were searched from; NULL: they were not
  const dq_range_pair *searched;  // one per histogram
  dq_input_means means;           // in the order of channels of the source; count 0: none
  dq_channel_orders orders;
} dq_observed;

// Forgets all; from here on it is of this setting.
dq_status dq_observed_open(dq_observed *seen, dq_equalize_scope equalize, bool heads, bool absorbing,
                           const dq_context *context, dq_error *error);
void dq_observed_close(dq_observed *seen); // safe on a zeroed struct

// All keep copies of names; the histograms are moved, not copied.
dq_status dq_observed_keep_absorption(dq_observed *seen, const dq_absorption *absorption, dq_error *error);
dq_status dq_observed_keep_equalization(dq_observed *seen, const dq_equalization *equalization, dq_error *error);
dq_status dq_observed_keep_calibration(dq_observed *seen, dq_calibration *calibration, dq_error *error);
dq_status dq_observed_keep_ranges(dq_observed *seen, const dq_observer *method, const dq_range_pair *ranges, int count,
                                  dq_error *error);
dq_status dq_observed_keep_means(dq_observed *seen, const dq_input_means *means, dq_error *error);

// Whether the histograms are those of these values, in this order.
bool dq_observed_has_calibration(const dq_observed *seen, const char *const *names, int count);
// The means as they are when these values have changed the order of their channels; in the arena.
dq_status dq_observed_permuted_means(const dq_observed *seen, const dq_permuted_value *permuted, int count,
                                     dq_input_means *means, dq_arena *arena, dq_error *error);

#endif
