// The fewest multiply-accumulates at which a network still answers well enough: a search over the
// bound that dq_tucker_options.macs_share sets.
#ifndef DQ_DECOMP_SEARCH_H
#define DQ_DECOMP_SEARCH_H

#include <stdbool.h>

#include "lib/base/context.h"

typedef struct dq_search_trial {
  int percent;   // multiply-accumulates taken away
  bool possible; // false: no ranks take so many away, `drop` means nothing
  double drop;   // of the quality, in points
} dq_search_trial;

// Decomposes for trial->percent, measures, fills in the rest; `keep` tells afterwards that it is the
// best so far.
typedef dq_status (*dq_search_try)(void *user, dq_search_trial *trial, dq_error *error);
typedef dq_status (*dq_search_keep)(void *user, const dq_search_trial *trial, dq_error *error);

typedef struct dq_search_options {
  double max_drop;   // points
  const char *state; // file that remembers the trials; NULL: none
  const char *key;   // what the trials depend on: a state with another key is not resumed
  bool resume;       // trials in the file are not made again
  dq_search_try attempt;
  dq_search_keep keep;
  void *user;
  const dq_context *context; // its deadline ends the search, and a trial that runs then
} dq_search_options;

typedef struct dq_search_result {
  int percent;   // the most with which the drop holds; 0: none
  double drop;   // there
  int trials;    // made or taken from the file
  bool complete; // false: the time was over first
} dq_search_result;

// Bisection over 1 to 99 percent: the quality is taken to fall with the multiply-accumulates. After
// every trial the state is written, atomically; it is removed when the search is complete. The same
// trials give the same result, so that a search that was resumed ends as one that was not
// interrupted. DQ_BAD_INPUT for a state that is none or has another key; errors of the functions.
dq_status dq_search(const dq_search_options *options, dq_search_result *result, dq_error *error);

#endif
