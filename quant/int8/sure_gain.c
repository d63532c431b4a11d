// How sure the gain of a trial must be.
#include <stdio.h>

#include "quant/int8/trials.h"

static bool changes_values(const dq_int8_setting *setting, const dq_int8_setting *best) {
  return setting->equalize != best->equalize || setting->method != best->method || setting->margins != best->margins;
}

// How sure a gain must be. Other ranges, other factors of channels and sums without rounding change all values of a
// network: a small gain of theirs must show picture by picture. So must, more surely, what cuts values off: how much
// shows with the ranges of few pictures is chance (docs/CALIBRATION.md). 0: the figure of all together is enough, as
// for biases without correction.
static double required_confidence(const dq_trial_comparison *trial) {
  const dq_int8_setting *setting = trial->setting;
  if (setting->exact_sums || changes_values(setting, trial->best_setting)) return DQ_HALF_STANDARD_ERROR;
  return setting->absorption || setting->range_search ? DQ_TWO_STANDARD_ERRORS : 0;
}

// Whether so few pictures judge that their mean gain decides, not the noise of all together, which is that of the worst
// picture: ranges come from as few pictures then, and one that shows more than these loses as it seldom will with all.
static bool decides_by_picture(const dq_trial_comparison *trial) {
  enum { FEW = 8 };
  int64_t pictures = trial->detects ? 0 : trial->pictures;
  return changes_values(trial->setting, trial->best_setting) && pictures > 1 && pictures < FEW;
}

bool dq_trial_is_better(const dq_trial_comparison *trial, char *reason, size_t size) {
  double before = trial->best->decibels, confidence = required_confidence(trial);
  bool by_picture = decides_by_picture(trial), detects = trial->detects;
  if (by_picture && trial->setting->equalize != trial->best_setting->equalize) confidence = 0;
  if (!detects && !by_picture && !(trial->now->decibels > before))
    return snprintf(reason, size, "no more than %.2f dB", before), false;
  if (detects && confidence < DQ_HALF_STANDARD_ERROR) confidence = DQ_HALF_STANDARD_ERROR;
  if (confidence <= 0 && !by_picture) return snprintf(reason, size, "more than %.2f dB", before), true;
  dq_noise_change change = dq_noise_compare(trial->best->noise, trial->now->noise, trial->pictures);
  change.by_picture = by_picture;
  dq_noise_reason(&change, confidence, reason, size);
  return dq_noise_is_less(&change, confidence);
}
