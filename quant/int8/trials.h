// The trials that choose a setting (trials.c; the choice: choose.c, choose_pairs.c), and how sure a gain must be
// (sure_gain.c).
#ifndef DQ_QUANT_TRIALS_H
#define DQ_QUANT_TRIALS_H

#include "lib/verdict/evaluator.h"
#include "quant/int8/job.h"

// What a trial showed on the pictures that judge, in the arena of the job: decisions are repeated without one of them.
typedef struct dq_trial_record {
  dq_int8_setting setting;
  bool anyway;         // it was taken whatever it showed
  const double *noise; // dq_score.noise
  dq_picture_errors errors;
} dq_trial_record;

enum { DQ_MOST_RECORDS = 16 }; // more than choose.c makes

typedef struct dq_trials {
  dq_int8_conversion *conversion; // NULL where no trials were opened
  dq_int8_job *job;               // of the conversion, whose setting is the best so far
  dq_evaluator evaluator;
  dq_score now, best;                 // of the trial that ran, of the best setting so far
  uint64_t hash, best_hash;           // of their networks (dq_origin_hash); 0: not known
  bool as_file;                       // trials have the ranges of all pictures
  dq_verdict verdict;                 // of the trial that ran
  dq_calibration_table table, judged; // of the trial that ran, of that of the report's verdict; in the arena of the job
  dq_picture_errors errors, judged_errors;  // of the same trials
  dq_trial_record records[DQ_MOST_RECORDS]; // of dq_try_and_compare since dq_begin_with
  int record_count, best_record;
  bool started; // there is a best
  int count;    // trials that were begun
  // [2]: with the best setting so far, and with one that is tried; job->of_file while as_file, else of_trials
  dq_observed *observed;
  dq_observed of_trials[2];
  // The factors of the last trial of another equalization that was not taken, since when no other equalization was
  // taken; NULL: none.
  const dq_equalization *rejected;
} dq_trials;

// What a rule on sums costs each layer (dq_int8_layer.block_noise), in the arena of the job.
typedef struct dq_layer_costs {
  double *noise;
  int count;
} dq_layer_costs;

// All functions write their message to all->job->error. Those that return a status fail as dq_int8_quantize and
// dq_evaluate do.

// The largest number of pictures that factors of channels come from in trials: each of hundreds of channels has its
// largest value on another picture.
enum { DQ_FACTOR_PICTURES = 80 };

// Opens trials of the conversion's job, whose float outputs are computed here. conversion->in_turns and of_file, and
// the pictures of the job that factors of channels come from, are set for the job too. The caller closes the trials by
// dq_trials_close, also after a failure, which sets job->observed to what was measured with the ranges of the file, if
// anything.
dq_status dq_trials_open(dq_trials *all, dq_int8_conversion *conversion);
void dq_trials_close(dq_trials *all);

// How many of so many pictures give ranges to a trial.
int64_t dq_trial_limit(int64_t pictures, bool detects);
// How many of the pictures in the order of trials give ranges now.
int64_t dq_trials_pictures(const dq_trials *all);
// Whether *observed is open and was measured with the equalization and absorption of the setting.
bool dq_observed_is_of(const dq_observed *observed, const dq_int8_setting *setting);
// Sets *observed to what was measured with the setting's equalization; nothing yet, in place of what the best setting
// does not need.
dq_status dq_trials_observed(dq_trials *all, const dq_int8_setting *setting, dq_observed **observed);

// Opens a trial of the setting, on the pictures that give ranges now (dq_int8_trial_open). The caller closes it by
// dq_int8_trial_close, also after a failure. `report` as there.
dq_status dq_trial_of_setting(dq_trials *all, dq_int8_job *trial, const dq_int8_setting *setting,
                              dq_int8_report *report);
// Quantizes a copy of the network with the setting and fills all->now and all->verdict. *costs receives what its rule
// on sums costs each layer; NULL: it is not wanted.
dq_status dq_try_setting(dq_trials *all, const dq_int8_setting *setting, dq_layer_costs *costs);
// The verdict of the trial that ran becomes that of the report.
void dq_trial_record_verdict(dq_trials *all);
// Tries a setting and accepts it when it is better than the best so far, or anyway. *gain: decibels that it is better.
dq_status dq_try_and_compare(dq_trials *all, const dq_int8_setting *setting, bool anyway, double *gain);
// Tries and accepts a setting that others are measured by.
dq_status dq_begin_with(dq_trials *all, const dq_int8_setting *setting);

// choose_pairs.c: chooses safe pairs in the layers where they cost least, as many as may be for PAIRS_MOST. With the
// ranges of fewer pictures, which cut off more, a trial shows about half of what they cost the file. In all layers they
// are worth more: the file is then right on every processor.
dq_status dq_choose_pairs(dq_trials *all);

// A trial beside the best one so far, on the same pictures.
typedef struct dq_trial_comparison {
  const dq_int8_setting *best_setting, *setting;
  const dq_score *best, *now;
  int64_t pictures;
  bool detects; // dq_evaluator.detects
} dq_trial_comparison;

// Whether the trial is better. Writes why, or why not, to `reason`.
bool dq_trial_is_better(const dq_trial_comparison *trial, char *reason, size_t size);

// cross_fit.c: the verdict of the report, on pictures whose error decided nothing, and report->swapped: the setting of
// the job with ranges of the pictures that judged, and others, on pictures that gave ranges before; beside these, where
// `all` has records of trials without ranges of the pictures that judged, each of those with the setting that the
// decisions come to without it. A single picture keeps the verdict that it has. Where no trials were opened, all->job
// alone is set.
dq_status dq_judge_setting(dq_trials *all);

#endif
