// The stages of INT8 quantization: decide, equalize, select values, find their parameters, write them into
// the graph. Nodes that are quantized have mark 1.
#ifndef DQ_QUANT_INT8_INTERNAL_H
#define DQ_QUANT_INT8_INTERNAL_H

#include "lib/exec/infer.h"
#include "lib/passes/origin.h"
#include "quant/int8.h"
#include "quant/permute.h"
#include "quant/reach.h"
#include "quant/rounding_internal.h"
#include "quant/seen.h"

// What is decided about one value of the graph.
typedef struct dq_choice {
  bool quantized;            // gets a QuantizeLinear/DequantizeLinear pair
  int shares;                // value index whose parameters it takes; its own index: own ones
  bool before_levels;        // the input on its way to its levels: stays in float
  bool in_head;              // behind the products of an equalized head: stays in float
  bool constant;             // an initializer that stands where an activation does
  bool searched;             // the range is not the method's, but one with less error behind it
  int slot;                  // in the calibration, -1: none
  dq_range_pair range;
  double clipped;            // share of the values seen outside the range
  dq_parameters parameters;
  const char *original;      // the value of the source it stands for; NULL: none
} dq_choice;

// What trials decide.
typedef struct dq_int8_setting {
  dq_equalize_scope equalize;
  bool absorption;           // of high biases
  bool heads;                // equalized, and in float behind
  const dq_observer *method;
  bool bias_correction;
  bool range_search;         // ranges with least error in what reads them (quant/range_search.c)
  bool exact_sums;           // one scale for sums and their operands where it gains (quant/common_scale.h)
  dq_accumulator_choice accumulator;
  bool adaptive; // rounding; trials are made without
} dq_int8_setting;

// Layers whose weights can be rounded adaptively, in the order they run.
typedef struct dq_rounding_list {
  dq_rounding_layer *layers;
  int count;
} dq_rounding_list;

typedef struct dq_int8_job {
  dq_graph *graph;
  const dq_int8_options *options;
  const dq_context *context;
  dq_error *error;
  dq_arena *arena;      // for the job's own tables
  dq_tensor *tensors;   // shapes and types by value index
  dq_choice *choices;   // by value index, as many as the graph had when selecting
  int value_count;
  dq_int8_report *report;
  dq_origin *origin;    // which values stand for which of the source
  dq_data *data;
  int64_t pictures;     // of the data, from its start
  dq_int8_setting setting;
  dq_input_levels levels;    // of the input; their range holds for the value `levelled`
  const char *levelled;      // NULL: none
  const char **halves;  // labels of the nodes that become float16
  int half_count;
  const dq_permuted_value *permuted; // values whose channels have another order than in the source
  int permuted_count;
  dq_rounding_list rounding;
  dq_input_means means; // of the inputs of products; none without bias correction
  dq_equalize_memory *sites; // what trials saw of all that may be equalized; NULL: none
  dq_seen *seen; // what trials with the same equalization share; NULL: none
} dq_int8_job;

// int8.c: all stages after folding and deciding, on the job's graph.
dq_status dq_int8_quantize(dq_int8_job *job);

// decide.c: tries what the options leave open and puts the best into job->setting. The job's graph stays
// as it is.
dq_status dq_int8_decide(dq_int8_job *job);

// select.c: decides which values are quantized and which share parameters.
dq_status dq_int8_select(dq_int8_job *job);
// True when input `i` of the node is a weight: constant, float32, of a product.
bool dq_int8_is_weight(const dq_int8_job *job, const dq_node *node, int i);

// int8.c: all stages, deciding what the options leave open.
dq_status dq_int8_run(dq_int8_job *job);

// int8.c: folds the job's graph, selects values and finds their parameters on the data, without equalizing;
// job->setting.method says how. With options->start the graph becomes what would be quantized, equalized and
// all, with the parameters it would get. Decides nothing and writes no integers.
dq_status dq_int8_parameters(dq_int8_job *job);

// int8.c: a range cut to what counts behind the value, when all that reads it is quantized.
dq_range_pair dq_int8_narrow_range(const dq_int8_job *job, const dq_value *value, const dq_histogram *histogram,
                                   dq_range_pair range);

// range_search.c: gives each value the one of some ranges (its own, those of other methods, shares of its own) with
// which the results of all operators that read it, each computed in float from the value in 8 bits, have the least
// squared error, as shares of their squares and on a few of the pictures. After ranges are chosen.
dq_status dq_int8_search_ranges(dq_int8_job *job, const dq_calibration *calibration);

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
