// How many multiply-accumulates a decomposition can take away for accuracy to fall by no more than a bound.
#ifndef DQ_DECOMP_TUCKER_SEARCH_H
#define DQ_DECOMP_TUCKER_SEARCH_H

#include "decomp/tucker/decomp.h"
#include "lib/eval/accuracy.h"

// Called with every model that is better than those before, and once more with the last one. `user` is that of the
// options; `graph` and `report` hold during the call.
typedef dq_status (*dq_tucker_found)(void *user, const dq_graph *graph, const dq_tucker_report *report,
                                     dq_error *error);

typedef struct dq_tucker_search_options {
  double max_drop;                 // largest loss of the first figure allowed, in percentage points
  const dq_tucker_options *tucker; // how a trial decomposes; the search sets its own macs_share, layers and analysis
  dq_data *eval;                   // labelled pictures
  const dq_accuracy_options *accuracy;
  const dq_result *before; // accuracy of the original on `eval`
  double time_limit;       // seconds; 0: none
  // The fields from here to `ranks` are those of a search that can be resumed.
  const char *state;     // path of the file that records the trials until the search is complete; NULL: none
  const char *pictures;  // text of what decides trials besides `tucker`, such as the data
  bool resume;           // take the trials that `state` has
  const char *ranks;     // file with the ranks of the best of these trials, which is read where measured times decided
                         // them; NULL: none
  dq_tucker_found found; // NULL: none
  void *user;            // first argument of `found`
} dq_tucker_search_options;

typedef struct dq_tucker_search_report {
  int percent;     // percentage of the multiply-accumulates that *answer was asked to remove; 0: it is the original
  double removed;  // percentage of the multiply-accumulates that *answer does without
  double drop;     // loss of *answer in percentage points
  int trials;      // made, or taken from the file
  bool complete;   // false: the time limit ended the search
  dq_result after; // figures of *answer
} dq_tucker_search_report;

// Finds the fewest multiply-accumulates within the bound by bisection (decomp/search/search.h). Each trial decomposes a
// copy of the graph, measures its accuracy on `eval`, and is reported in a note. *answer is the best model, a graph
// that the caller frees before `graph`, whose weights it reads; `graph` does not change. *tucker is the report on
// *answer, with count 0 when *answer is the original. Threads, messages and the memory limit are those of
// options->tucker->context. Statuses as dq_search, dq_tucker_apply and dq_accuracy_run.
dq_status dq_tucker_search(dq_graph **answer, const dq_graph *graph, dq_tucker_report *tucker,
                           dq_tucker_search_report *report, const dq_tucker_search_options *options, dq_error *error);

#endif
