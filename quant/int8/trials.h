// The state of the trials that choose a setting (choose.c), and how sure a gain must be (sure_gain.c).
#ifndef DQ_QUANT_TRIALS_H
#define DQ_QUANT_TRIALS_H

#include "lib/verdict/evaluator.h"
#include "quant/int8/job.h"

typedef struct dq_trials {
  dq_int8_job *job;  // whose setting is the best so far
  dq_data *pictures; // those of the job in the order of trials (dq_trial_data)
  dq_int8_input in;  // of trials: that of the job with these pictures
  dq_evaluator evaluator;
  dq_score now, best; // of the trial that ran, of the best setting so far
  dq_verdict verdict; // of the trial that ran
  bool started;       // there is a best
  dq_equalize_memory *sites;
  dq_observed observed[2]; // with the best setting so far, and with one that is tried
  // Of the last trial of another equalization that was not taken, since when the best setting is the same; NULL: none.
  const dq_equalization *rejected;
} dq_trials;

// Whether the trial that ran, with `setting`, is better than the best so far. Writes why, or why not, to `reason`.
bool dq_trial_is_better(const dq_trials *all, const dq_int8_setting *setting, char *reason, size_t size);

#endif
