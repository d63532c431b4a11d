// How sure the gain of a trial must be.
#include <stdio.h>

#include "quant/int8/trials.h"

static bool scales_otherwise(const dq_int8_setting *setting, const dq_int8_setting *best) {
  return setting->equalize != best->equalize || setting->heads != best->heads;
}

static bool changes_values(const dq_int8_setting *setting, const dq_int8_setting *best) {
  return scales_otherwise(setting, best) || setting->method != best->method || setting->margins != best->margins;
}

// Whether so few pictures judge that their mean gain decides, not the noise of all together, which is that of the worst
// picture: ranges come from as few pictures then, and one that shows more than these loses as it seldom will with all.
static bool decides_by_picture(const dq_trials *all, const dq_int8_setting *setting) {
  enum { FEW = 8 };
  int64_t pictures = all->evaluator.detects ? 0 : all->evaluator.what.pictures;
  return changes_values(setting, &all->job->setting) && pictures > 1 && pictures < FEW;
}

// How sure a gain must be: a small one must show picture by picture, and what cuts values off must show more surely, as
// how much shows with the ranges of few pictures is chance (docs/CALIBRATION.md). Of few pictures the mean is enough
// for other factors of channels.
static double required_confidence(const dq_trials *all, const dq_int8_setting *setting) {
  const dq_int8_setting *best = &all->job->setting;
  bool cuts = setting->absorption != best->absorption || setting->range_search != best->range_search;
  if (cuts) return DQ_TWO_STANDARD_ERRORS;
  return decides_by_picture(all, setting) && scales_otherwise(setting, best) ? 0 : DQ_HALF_STANDARD_ERROR;
}

// Whether the noise of `after` is less than that of `before`, as surely as asked for, and why, or why not.
static bool is_less(const dq_trials *all, const dq_score *before, const dq_score *after, const dq_int8_setting *setting,
                    char *reason, size_t size) {
  double confidence = required_confidence(all, setting);
  bool by_picture = decides_by_picture(all, setting);
  if (!all->evaluator.detects && !by_picture && !(after->decibels > before->decibels))
    return snprintf(reason, size, "no more than %.2f dB", before->decibels), false;
  dq_noise_change change = dq_noise_compare(before->noise, after->noise, all->evaluator.what.pictures);
  change.by_picture = by_picture;
  dq_noise_reason(&change, confidence, reason, size);
  return dq_noise_is_less(&change, confidence);
}

// Whether what the setting adds is taken unless the trial shows a loss: histograms promise a gain by sums without
// rounding, which a trial with the noise of everything else shows or hides by chance.
static bool is_expected(const dq_int8_setting *setting, const dq_int8_setting *best) {
  return setting->exact_sums && !best->exact_sums;
}

bool dq_trial_is_better(const dq_trials *all, const dq_int8_setting *setting, char *reason, size_t size) {
  if (!is_expected(setting, &all->job->setting)) return is_less(all, &all->best, &all->now, setting, reason, size);
  char without[160];
  bool worse = is_less(all, &all->now, &all->best, setting, without, sizeof without);
  return snprintf(reason, size, "without it %s", without), !worse;
}
