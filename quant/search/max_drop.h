// How few layers must stay in float for accuracy to fall by no more than a bound.
#ifndef DQ_QUANT_MAX_DROP_H
#define DQ_QUANT_MAX_DROP_H

#include "lib/eval/accuracy.h"
#include "quant/int8/int8.h"

typedef struct dq_max_drop_options {
  double drop;                 // percentage points of the first figure
  const dq_int8_options *int8; // how everything else is quantized; without a map of precisions or a table
  dq_data *data;               // calibration
  dq_data *eval;               // labelled pictures; NULL: answers are compared with the float network's instead, on
                               // the first dq_max_drop_pictures of `data` (quant/search/agreement.h)
  dq_accuracy_options accuracy;
  const dq_result *before; // of the float network on them
  double time_limit;       // seconds, 0: none
} dq_max_drop_options;

typedef struct dq_max_drop_report {
  int layers, left; // that may stay in float; that do
  int trials;
  double drop;     // of the answer, in points
  dq_result after; // its figures
  bool held;       // drop is within the bound
  bool stopped;    // by the time limit: the best so far
} dq_max_drop_report;

// So many pictures without labels are looked at: at most 64.
int64_t dq_max_drop_pictures(dq_data *data);

// Quantizes with all layers in 8 bits; when that loses too much, orders the layers by what leaving them in float
// spares the outputs (quant/search/float_order.h, on the first 2 pictures of `data`) and finds the shortest beginning
// of that order that, left in float (products float16, others float32), keeps within the bound: 1, 2, 4, ... steps
// until it holds, then by bisection. Decisions and ranges are those of the first trial, so that dq_int8_apply with the
// answer's precisions gives the same graph. With adaptive rounding trials round to the nearest, and the answer is
// rounded, measured and lengthened until it holds. When nothing holds, or time is over, the answer is what lost
// least. Each trial is said in a note.
// *answer is a copy of the graph, which stays as it is and must outlive it; `int8` is the answer's report.
dq_status dq_max_drop_apply(dq_graph **answer, const dq_graph *graph, dq_int8_report *int8, dq_max_drop_report *report,
                            const dq_max_drop_options *options, const dq_context *context, dq_error *error);

#endif
