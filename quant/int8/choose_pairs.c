// Safe pairs by trial: in which layers the rule on pairs is kept.
#include <math.h>

#include "lib/measure/spread.h"
#include "quant/int8/trials.h"

// A score of the outputs alone: safe pairs move channels, and so the features that trials compare otherwise.
static dq_score plain_score(const dq_trials *all, const dq_score *score) {
  return all->evaluator.detects ? *score : (dq_score){.decibels = score->plain_decibels, .noise = score->plain_noise};
}

static double plain_gain(const dq_trials *all) {
  dq_score best = plain_score(all, &all->best), now = plain_score(all, &all->now);
  return dq_score_gain(&all->evaluator, &best, &now);
}

// What safe pairs cost, in dB: of all pictures together or by picture, whichever is more.
static double cost_of_trial(const dq_trials *all) {
  dq_score best = plain_score(all, &all->best), now = plain_score(all, &all->now);
  return fmax(-plain_gain(all), -dq_score_gain_by_picture(&all->evaluator, &best, &now));
}

dq_status dq_choose_pairs(dq_trials *all) {
  static const double EVERYWHERE_MOST = 0.3, PAIRS_MOST = 0.15; // dB
  enum { MOST_TRIALS = 2 };                                     // after the first
  dq_int8_setting setting = all->job->setting;
  dq_layer_costs costs;
  setting.accumulator = (dq_accumulator_choice){DQ_ACCUMULATE_PAIRS, DQ_PAIRS_EVERYWHERE};
  DQ_TRY(dq_try_setting(all, &setting, &costs));
  dq_sort_ascending(costs.noise, costs.count);
  int safe = 0, unsafe = costs.count; // so many of the cheapest: affordable, too many
  int tried = costs.count;
  for (int i = 0;; i++) {
    double cost = cost_of_trial(all);
    double most = i ? PAIRS_MOST : EVERYWHERE_MOST;
    if (!i) cost = -plain_gain(all);
    bool affordable = cost <= most;
    dq_message(
        all->job->in->context, DQ_DETAIL,
        "trial: pairs safe in %d of the %d layers that they cost something: %.2f dB, %s: costs %.2f dB, at most %.2f",
        tried, costs.count, plain_score(all, &all->now).decibels, affordable ? "taken" : "not taken", cost, most);
    if (affordable) {
      all->job->setting = setting;
      all->job->report->pairs_cost = -plain_gain(all);
      dq_trial_record_verdict(all);
    }
    if (affordable) safe = tried;
    else unsafe = tried;
    tried = (safe + unsafe) / 2;
    if (unsafe - safe <= 1 || i == MOST_TRIALS || (affordable && !i)) break;
    setting.accumulator.pairs_noise = costs.noise[tried - 1];
    DQ_TRY(dq_try_setting(all, &setting, NULL));
  }
  return DQ_OK;
}
