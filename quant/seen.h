// What trials of one setting of equalization share: what was seen on the pictures, so that only what a
// trial changes is done again.
#ifndef DQ_QUANT_SEEN_H
#define DQ_QUANT_SEEN_H

#include "calib/calib.h"
#include "quant/bias_absorption.h"
#include "quant/bias_correction.h"
#include "quant/equalize.h"
#include "quant/permute.h"

typedef struct dq_seen {
  dq_arena *arena; // NULL: nothing was seen; else of all below but the histograms
  dq_equalize_scope equalize;
  bool heads;
  bool absorbing; // of high biases
  dq_absorption absorption; // count 0: none
  bool equalized; // the next holds
  dq_equalization equalization;
  dq_calibration calibration; // count 0: none
  const dq_observer *searched_by; // method that ranges were searched from; NULL: they were not
  const dq_range_pair *searched;  // one per histogram
  dq_input_means means;       // in the order of channels of the source; count 0: none
  dq_channel_orders orders;
} dq_seen;

// Forgets all; from here on it is of this setting.
dq_status dq_seen_open(dq_seen *seen, dq_equalize_scope equalize, bool heads, bool absorbing, const dq_context *context,
                       dq_error *error);
void dq_seen_close(dq_seen *seen); // safe on a zeroed struct

// All keep copies of names; the histograms are moved, not copied.
dq_status dq_seen_keep_absorption(dq_seen *seen, const dq_absorption *absorption, dq_error *error);
dq_status dq_seen_keep_equalization(dq_seen *seen, const dq_equalization *equalization, dq_error *error);
dq_status dq_seen_keep_calibration(dq_seen *seen, dq_calibration *calibration, dq_error *error);
dq_status dq_seen_keep_ranges(dq_seen *seen, const dq_observer *method, const dq_range_pair *ranges, int count,
                              dq_error *error);
dq_status dq_seen_keep_means(dq_seen *seen, const dq_input_means *means, dq_error *error);

// Whether the histograms are those of these values, in this order.
bool dq_seen_has_calibration(const dq_seen *seen, const char *const *names, int count);
// The means as they are when these values have changed the order of their channels; in the arena.
dq_status dq_seen_permuted_means(const dq_seen *seen, const dq_permuted_value *permuted, int count,
                                 dq_input_means *means, dq_arena *arena, dq_error *error);

#endif
