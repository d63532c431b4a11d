// Searches the least to leave in float for a loss within a bound.
#ifndef DQ_QUANT_MAX_DROP_H
#define DQ_QUANT_MAX_DROP_H

#include "lib/eval/accuracy.h"
#include "quant/int8/int8.h"
#include "quant/search/float_order.h"

// What may stay in float where a verdict is doubtful, and what it must gain.
typedef struct dq_float_gain {
  dq_float_budget most; // that stays in float
  double gain;          // dB by which the lowest SQNR must rise over that of the answer so far
  bool all;             // the whole order is the answer; else its shortest beginning that gains so much
  // It is looked for where sequences are lost as well (dq_verdict_loses_sequences), and more kept sequences with no
  // lower SQNR are a gain there.
  bool sequences;
} dq_float_gain;

typedef struct dq_max_drop_options {
  double drop;                 // the bound: loss of the first figure in percentage points
  const dq_int8_options *int8; // options of the quantization, without precisions and without a table
  dq_data *data;               // pictures for the calibration
  dq_data *eval; // labelled pictures; NULL: the agreement with the float network is measured instead, on the
                 // first dq_verdict_pictures of `data` (quant/search/agreement.h)
  dq_accuracy_options accuracy;
  const dq_result *before; // figures of the float network on the same pictures
  double time_limit;       // in seconds; 0: none
  // The verdict must reach these bounds instead, and not be ruinous (lib/verdict/verdict.h); `drop`, `eval`, `accuracy`
  // and `before` are not read. Trials take ranges from some pictures of `data` and are judged on others, both ways
  // round (quant/search/float_sides.h), and the verdict is cross-fitted. NULL: `drop` is the bound.
  const dq_verdict_bounds *bounds;
  // What may stay in float, [budget_count], with `bounds` and without `wanted`; each is tried where nothing within
  // those before it reaches the bounds, which a note reports. Count 0: everything may.
  const dq_float_budget *budgets;
  int budget_count;
  const dq_int8_report *whole; // with `bounds`: the report of the network with all layers in 8 bits
  // One gain after the other is looked for, [wanted_count], each where the answer so far is doubtful, and noise must
  // fall picture by picture as well (DQ_TWO_STANDARD_ERRORS). Trials have the ranges of the file then, so that they
  // need no calibration; the verdict of the answer is that of one more trial on pictures that gave ranges before.
  // Needs `bounds`. NULL: none.
  const dq_float_gain *wanted;
  int wanted_count;
  double share; // with `wanted`: layers that make less than this share of the noise are not ranked, which saves time
} dq_max_drop_options;

typedef struct dq_max_drop_report {
  int layers, left; // layers that could stay in float; those of the answer that do
  int trials;
  double macs, bytes; // of the layers of the answer in float, as shares of those of all layers, 0 to 1
  double drop;        // loss of the answer in percentage points
  dq_result after;    // figures of the answer; count 0 with bounds of a verdict
  dq_verdict verdict; // of the answer, with bounds of a verdict
  dq_verdict as_file; // with `wanted`: the same with the ranges of the file
  bool held;          // whether the loss is within the bound; with `wanted` whether it gains that too
  bool gained;        // with `wanted`: whether the answer gains what it must
  double gain;  // with `wanted`, of an answer that does: dB by which the lowest SQNR rises, with the file's ranges
  bool stopped; // the time limit ended the search; the answer is the best trial
} dq_max_drop_report;

// Quantizes a copy of the graph, *answer, with as little in float as the search finds. The graph itself does not
// change and must outlive the copy, which the caller frees. `int8` receives the report of the answer. A message reports
// each trial, which quantizes a copy and measures it on all pictures of `eval`.
//
// The first trial has all layers in 8 bits. When it loses too much, the layers are ordered (dq_float_order_find, with
// sensitivities on the first 2 pictures of `data`), and the shortest beginning of the order is searched with which the
// loss is within the bound: with 1, 2, 4, ... steps, then by bisection. With `drop` choices of the front
// (dq_float_front_find) that have fewer multiply-accumulates in float are then bisected, until what is left in float is
// known to 1 % of all of them. What is left is computed in float32. All trials use the decisions and ranges of the
// first one, so that dq_int8_apply with the precisions of the answer gives the same graph. With adaptive rounding the
// trials round to the nearest; the answer is then rounded adaptively and measured, and gets more layers in float until
// it is within the bound. When no trial is within the bound, or the time is over, the answer is the trial with the
// least loss.
//
// Statuses are those of dq_int8_apply, dq_sensitivity_measure and dq_accuracy_run.
dq_status dq_max_drop_apply(dq_graph **answer, const dq_graph *graph, dq_int8_report *int8, dq_max_drop_report *report,
                            const dq_max_drop_options *options, const dq_context *context, dq_error *error);

#endif
