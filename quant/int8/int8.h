// Affine INT8 quantization of a document graph in QDQ form: QuantizeLinear and DequantizeLinear around every quantized
// operator, int8 weights.
#ifndef DQ_QUANT_INT8_H
#define DQ_QUANT_INT8_H

#include "calib/calib.h"
#include "lib/graph/graph.h"
#include "lib/schedule/infer.h"
#include "lib/verdict/verdict.h"
#include "quant/equalize/equalize.h"
#include "quant/files/precision.h"
#include "quant/files/table.h"
#include "quant/numeric/accumulator.h"
#include "quant/numeric/parameters.h"
#include "quant/numeric/rounding.h"
#include "quant/rewrite/bias_correction.h"

// Whether a step is done. AUTO: a trial decides; the step is kept when it brings the outputs closer to those of the
// float network on pictures that no range came from (lib/verdict/evaluator.h).
typedef enum dq_choose { DQ_CHOOSE_AUTO, DQ_CHOOSE_ON, DQ_CHOOSE_OFF } dq_choose;

typedef struct dq_int8_options {
  const dq_observer *method; // how ranges are chosen; `auto`: trials choose among minmax, percentile and mse
  double percentile;         // parameter of the method: percent of the elements inside the range, 50 to 100
  dq_choose equalize, bias_absorption, bias_correction, range_search;
  const dq_rounding_method *rounding; // NULL: each weight to the nearest
  double time_limit;                  // of rounding on data, in seconds; 0: none
  const dq_calibration_table *table;  // applied in place of calibration and trials; NULL: none
  // Decisions and ranges of the same network with other layers in float. What the table lacks, and rounding on data,
  // is taken from the data. NULL: none. Not together with `table`.
  const dq_calibration_table *start;
  dq_accumulator accumulator;
  bool per_tensor;            // one scale for each weight, in place of one for each output channel
  int activation_type;        // DQ_U8 or DQ_I8
  bool symmetric;             // also activations have ranges that are symmetric around 0
  bool qoperator;             // write the operator form (quant/forms/qoperator.h)
  const char *const *exclude; // shell patterns on names of nodes: these nodes stay in float
  int exclude_count;
  const char *const *only; // shell patterns on names of nodes: only these nodes are quantized; count 0: all
  int only_count;
  const dq_precision_map *precision; // layers that stay in float32 or become float16; NULL: none
  bool precision_found;              // a search found the precision, for the reasons in the report
  const char *const *operators;      // shell patterns on operators: only these are quantized; count 0: all
  int operator_count;
  dq_shape_request shapes; // of inputs that the model leaves open
  const char *decode;      // how the outputs of a detector are decoded (dq_task_options); NULL: as the model says
  int64_t batch;           // pictures that one run takes; 0: 1. The result is the same.
  bool unjudged;           // no verdict is made, which takes as long as a trial
  int64_t pictures;        // number of pictures that ranges are taken from, the first ones of the data; 0: all
  const char *search_hint; // of the error when the range search needs more memory than is allowed: what the caller's
                           // user can do about it; NULL: none
} dq_int8_options;

// The result for one node that could be quantized.
typedef struct dq_int8_layer {
  const char *name, *op_type;
  const char *label; // name of the layer in settings files (dq_node_name)
  dq_precision precision;
  char reason[120];                          // why the node stays in float; "": it is quantized
  const char *output;                        // value that has the result of the node after quantization
  dq_parameters parameters;                  // of the output
  dq_range_pair range;                       // of the output
  double clipped;                            // share of the observed elements outside the range, 0 to 1
  float weight_scale_low, weight_scale_high; // smallest and largest scale of the weight; 0: no weight
  bool pairs_safe;                           // every pair is a safe pair (lib/kernels/audit/conv_audit.h)
  double block_noise;                        // with DQ_ACCUMULATE_PAIRS: by how much the rule on pairs increases the
                      // squared error of the weights (or would, where it is not kept), as a share
                      // of the sum of their squares; 0: not at all
  int64_t int16_block; // with DQ_ACCUMULATE_INT16: products of a block; 0: no such rule
} dq_int8_layer;

// The gains are those of the trial that decided the step, in dB (above 0: better); NAN: there was no trial.
typedef struct dq_int8_report {
  dq_int8_layer *layers;     // in the order of the graph; in the arena of the graph
  int count, quantized;      // number of layers, and of those that are quantized
  int values;                // activations that got a scale
  int halves;                // nodes that became float16, by options->precision
  int lowered;               // operators written on integers, with options->qoperator
  size_t calibration_bytes;  // memory of the histograms
  int64_t pictures;          // that were observed
  bool nothing_to_do;        // the model is quantized already; all other fields are 0
  const dq_observer *method; // the method that chose the ranges
  int absorbed;              // values whose high biases were absorbed (quant/equalize/bias_absorption.h)
  double absorption_gain;
  int equalized; // sites that were equalized (quant/equalize/equalize.h)
  double equalize_gain;
  bool bias_corrected;
  double bias_correction_gain;
  // The verdict on pictures that decided nothing, with ranges of others (quant/int8/cross_fit.c). Count 0: there is
  // none; with a precision for each layer the caller has to measure it.
  dq_verdict verdict;
  // The ranges, as `table`, of the network that the pictures judged which decide settings, and of the one that others
  // judge (dq_swapped_data); count 0: there was none.
  dq_calibration_table judged, swapped;
  // The verdict of a trial with the ranges of the file on the pictures that judge, which gave ranges too; count 0:
  // there was none. This verdict comes closer to what the file loses on other pictures: ranges of half of the pictures
  // lose more.
  dq_verdict as_file;
  double pairs_cost; // dB that safe pairs in the chosen layers lose; NAN: there was no trial
  int searched;      // values whose range comes from range search (quant/int8/range_search.c)
  double range_search_gain;
  int exact_sums; // sums without rounding (quant/numeric/common_scale.h)
  double exact_sums_gain;
  // The shares in float of the multiply-accumulates and of the elements of the weights of all products, 0 to 1; NAN:
  // not counted (dq_convert_int8).
  double float_macs, float_weights;
  int rounded;                // layers with adaptive rounding
  double rounding_gain;       // on pictures that were not used for rounding
  dq_calibration_table table; // a conversion with this table gives the same model; in the arena of the graph
} dq_int8_report;

// Quantizes the graph in place: folds batch normalization, decides by trials what the options leave open, calibrates on
// `data`, and writes QuantizeLinear and DequantizeLinear. The opset becomes at least 13. A graph that is quantized
// already does not change (report->nothing_to_do). With options->precision, trials and ranges are those of the network
// with all layers in 8 bits; then the map is applied (options->start). `data` may be NULL with options->table. *report
// holds as long as the graph. The result does not depend on the number of threads. After a failure the graph can only
// be freed.
//
// DQ_USAGE: a pattern matches no node, or there are neither data nor a table; DQ_BAD_INPUT: a weight holds NaN or
// infinity, pictures do not fit, or the table lacks a value; DQ_UNSUPPORTED: dq cannot run a node or the version of an
// operator; DQ_SYSTEM: there is no memory; DQ_CANCELLED.
dq_status dq_int8_apply(dq_graph *graph, dq_data *data, const dq_int8_options *options, dq_int8_report *report,
                        const dq_context *context, dq_error *error);

// Does what dq_int8_apply does, with the decisions and ranges of `first`, a report on the same network with other
// layers in float and on the same data, without trials. What first->table lacks is observed. `first` may be freed after
// the call.
dq_status dq_int8_apply_from(dq_graph *graph, dq_data *data, const dq_int8_options *options,
                             const dq_int8_report *first, dq_int8_report *report, const dq_context *context,
                             dq_error *error);

// The options of dq-int8 on its command line without options.
dq_int8_options dq_int8_defaults(void);

// Whether a graph has operators of quantization, such as QuantizeLinear, already.
bool dq_int8_is_quantized(const dq_graph *graph);

// What quantization starts from: dq_widen_half of the graph, or a plain copy where dq_int8_is_quantized.
dq_status dq_int8_widen(dq_graph **wide, const dq_graph *graph, const dq_context *context, dq_error *error);

// The precisions of the layers of a report that `graph`, the network before quantization, has, as options->precision
// takes them; layers that quantization added, such as the factors behind a head, are left out. *map is in the arena;
// its names belong to the report. DQ_SYSTEM: there is no memory.
dq_status dq_int8_precision(const dq_int8_report *report, const dq_graph *graph, dq_arena *arena, dq_precision_map *map,
                            dq_error *error);

#endif
