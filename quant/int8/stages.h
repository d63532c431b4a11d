// The stages of INT8 quantization, in the order they run: prepare the float graph, choose the setting, quantize with
// the setting. A conversion prepares and chooses once; its job quantizes, and so does every trial, on a copy of the
// prepared graph. No stage calls an earlier one.
//
// Functions that take a conversion or a job work on the job's graph, write their message to the job's `error`, and
// return DQ_SYSTEM when there is no memory. After a failure the graph can only be freed. Functions that observe
// pictures also return the statuses of dq_observe.
#ifndef DQ_QUANT_STAGES_H
#define DQ_QUANT_STAGES_H

#include "quant/int8/job.h"

// ---- Preparing (prepare_graph.c) ----
// Rewrites the graph in float: folds constants that weights are computed from, batch normalization, and slices of every
// second pixel (quant/rewrite/fold_space_to_depth.h).
dq_status dq_int8_fold(const dq_int8_job *job);
// Does what dq_int8_fold does, writes a last convolution and dense layers as Gemm (quant/rewrite/conv_to_gemm.h,
// dense_to_gemm.h), and brings the input to its input grid, which it stores in conversion->in. *any receives whether
// any node can be quantized; without one there is nothing to choose, and dq may be unable to run the graph.
// DQ_BAD_INPUT names a weight with NaN or infinity.
dq_status dq_int8_prepare(dq_int8_conversion *conversion, bool *any);

// ---- Choosing (choose.c, turns.c) ----
enum { DQ_EVALUATED_PICTURES = 24 }; // the largest number of pictures that a trial is judged on
// The number of pictures, of `pictures` (1 or more), that a trial is judged on: half of them, rounded up, and at most
// DQ_EVALUATED_PICTURES.
int64_t dq_evaluated_pictures(int64_t pictures);
// The number of pictures, of `pictures`, that a trial takes ranges from: those that it is not judged on, and at most
// `most`. A single picture serves for ranges and judgement.
int64_t dq_trial_pictures(int64_t pictures, int64_t most);
// Writes the order of trials to order[pictures]: the dq_evaluated_pictures(pictures) that they are judged on come last.
// They are spread evenly over all pictures, because a list may be sorted by class; the others come first, in an order
// of which every beginning is spread evenly as well.
void dq_trial_order(int64_t *order, int64_t pictures);
// Opens a view of the first `pictures` of the data in the order of trials. The caller frees it. DQ_SYSTEM: there is no
// memory.
dq_status dq_trial_data(dq_data **view, dq_data *data, int64_t pictures, dq_error *error);

// The verdict on the setting has pictures that gave ranges to trials: what decides a setting is the error of others.
// The number of these pictures, of `pictures` (1 or more): at most half of all, and at most 64. 0: a single picture.
int64_t dq_swapped_pictures(int64_t pictures);
// Writes to order[pictures] the order in which these come last, spread evenly: those that judge trials come first.
void dq_swapped_order(int64_t *order, int64_t pictures);
// Does what dq_trial_data does, in the order of dq_swapped_order.
dq_status dq_swapped_data(dq_data **view, dq_data *data, int64_t pictures, dq_error *error);

// Fills the setting of the conversion's job: from the options, from in.given, and for the rest from trials on copies of
// the prepared graph. Besides the setting, only fields of the report on trials change, and what later measurements
// need less for: conversion->in_turns and of_file, job.pictures and job.observed. Each trial quantizes a copy and runs
// it on DQ_EVALUATED_PICTURES pictures; most of the time of a conversion is spent here.
dq_status dq_int8_choose(dq_int8_conversion *conversion);

// ---- Quantizing (apply_setting.c) ----
// Finds the parameters of all values. With `rewrite` it first equalizes, absorbs biases and permutes channels as the
// setting says; otherwise the graph stays as it is. Then it selects values and chooses their ranges and parameters. It
// writes no integers.
dq_status dq_int8_find_parameters(dq_int8_job *job, bool rewrite);
// Finds the parameters and writes the integers, as job->setting says: the graph becomes the quantized one.
dq_status dq_int8_quantize(dq_int8_job *job);

// select.c: creates the tables of the job for its indexed graph as it is now, before dq_int8_select and again after any
// rewrite (the older ones stay in the arena): job->choices, where each value shares with itself and has no histogram;
// job->tensors by dq_infer; an empty list of layers in the report. Sets job->value_count and the marks of all nodes to
// 0. Statuses as dq_infer with DQ_INFER_TOLERANT.
dq_status dq_int8_open_tables(dq_int8_job *job);
// select.c: sets the mark of every node that will run in 8 bits and, of job->choices, the fields `quantized`, `shares`
// and `constant`; changes nothing else in the graph. Of job->in->options those that leave layers in float and the map
// of precisions decide, and the rule of quantization of each operator's row. Appends a row to job->report->layers for
// each node that has 8 bits or could have had them, with its precision and in `reason` why it stays in float, counts
// those of 8 bits in report->quantized, and lists the labels of float16 nodes in job->halves. After
// dq_int8_open_tables. DQ_BAD_INPUT: the graph has a cycle; DQ_SYSTEM: there is no memory.
dq_status dq_int8_select(dq_int8_job *job);
// select.c: dq_gemm_wish.allows; `user` are dq_int8_options. False: an option excludes `layer`, a Gemm in its place or
// `sum`. A map of precisions does not decide this: it names the Gemm by the layer or by the output of the sum.
bool dq_int8_may_be_gemm(const void *user, const dq_node *layer, const dq_node *sum);
// select.c: DQ_BAD_INPUT names a weight with NaN or infinity of a node with mark 1; pictures would only show that some
// activation is not finite.
dq_status dq_int8_check_weights(const dq_graph *graph, dq_error *error);
// Whether input `i` of the node is the constant float32 weight of a product.
bool dq_int8_is_weight(const dq_int8_job *job, const dq_node *node, int i);

// ranges.c: chooses the range and the parameters of every selected value, from the given table or on the pictures, and
// stores them in job->choices, the report and its table. DQ_BAD_INPUT names a value that the table does not have.
dq_status dq_int8_find_ranges(dq_int8_job *job);
// The range of the value with index `v` by `method`, from its histogram and the ends of its pictures in `calibration`:
// with margins where the setting wants them, within the bounds of the operator that computes the value, and cut to the
// part that the operators behind the value tell apart, such as the bounds of a Clip.
dq_range_pair dq_int8_range_by(const dq_int8_job *job, int v, const dq_observer *method,
                               const dq_calibration *calibration);
// Whether the value with index `v` has parameters of its own that come from pictures.
bool dq_int8_is_observed(const dq_int8_job *job, int v);

// range_search.c: the range search, after ranges are chosen. The candidates for a value are its own range, those of
// other methods and shares of its own. Each operator that reads the value is computed in float from the value in 8
// bits, on a few of the pictures; the candidate with the least squared error, as a share of the squares of the results,
// is stored in job->choices. `calibration` has the histograms of the values, by dq_value_choice.slot.
dq_status dq_int8_search_ranges(dq_int8_job *job, const dq_calibration *calibration);
// DQ_SYSTEM when the search would need more memory than the budget of the context has left. After dq_int8_select.
dq_status dq_int8_check_search(dq_int8_job *job);

// exact_sums.c: gives an addition one scale for its operands and its result where the histograms say that this gains;
// changes the ranges in job->choices, after they are chosen. `calibration` as above.
dq_status dq_int8_join_sums(dq_int8_job *job, const dq_calibration *calibration);
// The number of additions whose operands and result have one scale.
int dq_int8_exact_sums(const dq_int8_job *job);

// insert.c: the axis of the output channels in the weight of a node; -1: the weight has one scale.
int dq_int8_weight_axis(const dq_int8_options *options, const dq_node *node);
// select.c: the layer of the report whose result is the value `output`; NULL: there is none.
dq_int8_layer *dq_int8_layer_of(const dq_int8_job *job, const char *output);
// insert.c: writes QuantizeLinear/DequantizeLinear pairs, int8 weights and int32 biases into the graph.
dq_status dq_int8_insert(dq_int8_job *job);

// rounding.c: lists in job->rounding the layers whose weights can be rounded adaptively, in the order they run; before
// dq_int8_insert.
dq_status dq_int8_list_rounding(dq_int8_job *job);
// rounding.c: rounds the weights of these layers, after dq_int8_insert, so that their outputs come closest to those of
// `exact`, a copy of the graph before it; or as the table has them. Weights stay rounded to the nearest where that is
// closer on the last third of the pictures (at most 64), which are left out of the sums.
dq_status dq_int8_round(dq_int8_job *job, const dq_graph *exact);

#endif
