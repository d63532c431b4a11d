// The fewest multiply-accumulates with which a network stays within a bound on its loss of accuracy: a search over
// dq_tucker_options.macs_share.
#ifndef DQ_DECOMP_SEARCH_H
#define DQ_DECOMP_SEARCH_H

#include <stdbool.h>

#include "lib/base/context.h"

typedef struct dq_search_trial {
  int percent;   // percentage of the multiply-accumulates that the trial removes, 1 to 99
  bool possible; // false: no ranks remove that many, and `drop` means nothing
  double drop;   // loss of accuracy in percentage points
  // Percentage that the trial did remove. It is below `percent` when layers stay whole because they become slower.
  double removed;
} dq_search_trial;

// Makes a trial: decomposes for trial->percent, measures, and sets `possible`, `drop` and `removed`.
typedef dq_status (*dq_search_try)(void *user, dq_search_trial *trial, dq_error *error);
// Called after a trial that is the best so far, so that its result can be stored.
typedef dq_status (*dq_search_store)(void *user, const dq_search_trial *trial, dq_error *error);

typedef struct dq_search_options {
  double max_drop;   // largest loss allowed, in percentage points
  const char *state; // path of a file that records the trials; NULL: none
  const char *key;   // text of everything that trials depend on: a state with another key is refused
  bool resume;       // take the trials that the file has in place of making them
  dq_search_try attempt;
  dq_search_store store;
  void *user;                // first argument of both
  const dq_context *context; // its deadline ends the search, also within a trial
} dq_search_options;

typedef struct dq_search_result {
  int percent;   // largest percentage whose loss is within the bound; 0: none is
  double drop;   // loss at that percentage
  int trials;    // made by this call, and all that the file has
  bool complete; // false: the deadline ended the search
} dq_search_result;

// Bisection over 1 to 99 percent, at most 7 trials; it assumes that the accuracy falls as multiply-accumulates are
// removed. The state is written after every trial, as a whole or not at all, and removed when the search is complete.
// The same trials give the same result, so that a resumed search ends as one that was not interrupted. `store` is
// called for trials that this call makes: after a resume the best trial may come from the file, and the caller makes it
// again. Without `resume` the file of a state that is there is not read, and is overwritten. A passed deadline gives
// DQ_OK with `complete` false, within a trial where `attempt` returns DQ_CANCELLED for it; DQ_CANCELLED: context->stop
// is set. *result is valid after DQ_OK only. DQ_BAD_INPUT: the file of the state is broken or has another key;
// DQ_SYSTEM: the file cannot be read or written; also statuses of `attempt` and `store`.
dq_status dq_search(const dq_search_options *options, dq_search_result *result, dq_error *error);

#endif
