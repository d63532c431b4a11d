// How few layers must stay in float for accuracy to fall by no more than a bound.
#ifndef DQ_QUANT_MAX_DROP_H
#define DQ_QUANT_MAX_DROP_H

#include "lib/eval/accuracy.h"
#include "quant/int8.h"

typedef struct dq_max_drop_options {
  double drop;                 // percentage points of the first figure
  const dq_int8_options *int8; // how everything else is quantized; without a map of precisions or a table
  dq_data *data;               // calibration
  dq_data *eval;               // labelled pictures
  dq_accuracy_options accuracy;
  const dq_result *before;     // of the float network on `eval`
  double time_limit;           // seconds, 0: none
} dq_max_drop_options;

typedef struct dq_max_drop_report {
  int layers, left; // that may stay in float; that do
  int trials;
  double drop;      // of the answer, in points
  bool held;        // drop is within the bound
  bool stopped;     // by the time limit: the best so far
} dq_max_drop_report;

// Percentage points that the first figure fell by; negative when it rose.
double dq_accuracy_drop(const dq_result *before, const dq_result *after);

// Ranks the layers by what each alone costs (quant/sensitivity.h, the first 32 pictures of `data`) in two
// ways: products by the noise of the outputs and by noise per multiply-accumulate, behind them the operators
// without weights by noise. Finds the shortest beginning of each ranking that, left in float (products
// float16, others float32), keeps within the bound, by bisection with the ranges of the first trial, and
// takes the one with fewer multiply-accumulates in float. That answer is verified as dq_int8_apply with the
// map does it, and lengthened until it holds. The map in the arena; without layers when nothing has to stay
// in float. When even the whole ranking does not hold it is the answer. The graph stays as it is. Each trial
// is said in a note.
dq_status dq_max_drop_search(dq_precision_map *map, dq_max_drop_report *report, const dq_graph *graph,
                             const dq_max_drop_options *options, const dq_context *context, dq_arena *arena,
                             dq_error *error);

#endif
