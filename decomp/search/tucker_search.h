// How many multiply-accumulates a decomposition can take away for accuracy to fall by no more than a bound.
#ifndef DQ_DECOMP_TUCKER_SEARCH_H
#define DQ_DECOMP_TUCKER_SEARCH_H

#include "decomp/tucker/decomp.h"
#include "lib/eval/accuracy.h"

// Called with every answer that is better than those before it, and with the last one; `user` is that of the options.
typedef dq_status (*dq_tucker_found)(void *user, const dq_graph *graph, const dq_tucker_report *report,
                                     dq_error *error);

typedef struct dq_tucker_search_options {
  double max_drop;                 // percentage points of the first figure
  const dq_tucker_options *tucker; // how a trial decomposes; its macs_share, layers and analysis are the search's
  dq_data *eval;                   // labelled pictures
  const dq_accuracy_options *accuracy;
  const dq_result *before; // accuracy of the original on them
  double time_limit;       // seconds, 0: none
  // Going on with a search that was ended: the file that remembers its trials until it is complete (NULL: none),
  // what is not in `tucker` but decides trials, as a text, whether the trials in the file are taken, and a file with
  // the ranks of the best of them, which is read where the clock had a say (NULL: there is none).
  const char *state, *pictures;
  bool resume;
  const char *ranks;
  dq_tucker_found found; // NULL: none
  void *user;
} dq_tucker_search_options;

typedef struct dq_tucker_search_report {
  int percent;     // multiply-accumulates that the answer was bound to take away; 0: it is the original
  double drop;     // of the answer, in points
  int trials;      // made, or taken from the file
  bool complete;   // false: the time was over first
  dq_result after; // figures of the answer
} dq_tucker_search_report;

// Bisection over the bound on multiply-accumulates (decomp/search/search.h). Each trial is a copy of the graph,
// decomposed and measured, and is said in a note. *answer is a copy of the graph, which stays as it is and must outlive
// it; `tucker` is the answer's report, without layers for the original. Pool, messages and memory are those of
// options->tucker->context.
dq_status dq_tucker_search(dq_graph **answer, const dq_graph *graph, dq_tucker_report *tucker,
                           dq_tucker_search_report *report, const dq_tucker_search_options *options, dq_error *error);

#endif
