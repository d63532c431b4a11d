// The stages of INT8 quantization, in the order they run. Data flows one way: prepare the float graph, choose the
// setting, quantize with it. Choosing quantizes copies of the prepared graph; no stage calls one before it.
#ifndef DQ_QUANT_STAGES_H
#define DQ_QUANT_STAGES_H

#include "quant/int8/job.h"

// ---- Preparing (prepare.c) ----
// Rewrites the job's graph in float: folds constants, batch normalization and slices of every second pixel.
dq_status dq_int8_fold(dq_int8_job *job);
// The same; a last convolution becomes a matrix product, and the input is brought to its own levels. *any: whether any
// node can be quantized; without one there is nothing to choose and the graph may be one that cannot be run.
dq_status dq_int8_prepare(dq_int8_job *job, bool *any);

// ---- Choosing (choose.c) ----
// Puts into job->setting what the options say, what is given says, and for the rest what trials on copies of the
// prepared graph find best. Writes nothing but the setting and what the report says of trials.
dq_status dq_int8_choose(dq_int8_job *job);

// ---- Quantizing (quantize.c) ----
// Finds the parameters of the job's values: equalizes, absorbs biases and permutes channels as the setting says, or
// leaves the graph as it is (`rewrite` false); selects values, takes ranges and parameters. Writes no integers.
dq_status dq_int8_find_parameters(dq_int8_job *job, bool rewrite);
// All of it with job->setting: the graph becomes the quantized one.
dq_status dq_int8_quantize(dq_int8_job *job);

// select.c: opens the tables of the job over its graph as it is now: choices, layers of the report, shapes and types.
dq_status dq_int8_open_tables(dq_int8_job *job);
// select.c: sets the mark of every node that will run in 8 bits, reports the reason for each other node, and fills
// job->choices: which values are quantized, and which of them share parameters. Changes nothing else in the graph.
// DQ_BAD_INPUT: the graph has a cycle; DQ_SYSTEM: there is no memory.
dq_status dq_int8_select(dq_int8_job *job);
// DQ_BAD_INPUT names a weight of a quantized node with NaN or infinity; pictures would only show that some activation
// is not finite.
dq_status dq_int8_check_weights(const dq_int8_job *job);
// True when input `i` of the node is a weight: constant, float32, of a product.
bool dq_int8_is_weight(const dq_int8_job *job, const dq_node *node, int i);

// ranges.c: ranges and parameters of all selected values, and what the report and the table say of them.
dq_status dq_int8_find_ranges(dq_int8_job *job);
// Whether value `v` has parameters of its own that are taken from pictures.
bool dq_int8_is_observed(const dq_int8_job *job, int v);

// narrow_range.c: a range cut to what counts behind the value, when all that reads it is quantized.
dq_range_pair dq_int8_narrow_range(const dq_int8_job *job, const dq_value *value, const dq_histogram *histogram,
                                   dq_range_pair range);

// range_search.c: gives each value the one of some ranges (its own, those of other methods, shares of its own) with
// which the results of all operators that read it, each computed in float from the value in 8 bits, have the least
// squared error, as shares of their squares and on a few of the pictures. After ranges are chosen.
dq_status dq_int8_search_ranges(dq_int8_job *job, const dq_calibration *calibration);
// DQ_SYSTEM when the search would need more memory than the context's budget has left. After dq_int8_select.
dq_status dq_int8_check_search(dq_int8_job *job);

// exact_sums.c: gives additions one scale for operands and result where the histograms say that it gains; after
// ranges are chosen.
dq_status dq_int8_join_sums(dq_int8_job *job, const dq_calibration *calibration);
// Additions whose operands and result have one scale.
int dq_int8_exact_sums(const dq_int8_job *job);

// insert.c: the axis of a weight's output channels; -1: one scale for all.
int dq_int8_weight_axis(const dq_int8_job *job, const dq_node *node);
// accumulator.c: quantizes the weight of a product as the options and the setting say of sums.
// `input` is the quantized input's; `least` and the result as in dq_quantize_weight.
dq_status dq_int8_quantize_weight(dq_int8_job *job, const dq_node *node, int axis, float *least,
                                  const dq_parameters *input, dq_quantized_weight *result);
// accumulator.c: what is reported of the layer that computes a value; NULL: nothing.
dq_int8_layer *dq_int8_layer_of(const dq_int8_job *job, const char *output);
// insert.c: writes pairs, weights and biases into the graph.
dq_status dq_int8_insert(dq_int8_job *job);

// rounding.c: lists the layers, before insertion.
dq_status dq_int8_list_rounding(dq_int8_job *job);
// Rounds their weights, after insertion, so that outputs come closest to those of `exact`, the graph before
// it; or as the table says.
dq_status dq_int8_round(dq_int8_job *job, const dq_graph *exact);

#endif
