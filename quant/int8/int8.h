// Affine INT8 quantization of a document graph, in the explicit form: QuantizeLinear and
// DequantizeLinear around every quantized operator, int8 weights.
#ifndef DQ_QUANT_INT8_H
#define DQ_QUANT_INT8_H

#include "calib/calib.h"
#include "lib/schedule/infer.h"
#include "lib/graph/graph.h"
#include "quant/numeric/accumulator.h"
#include "quant/rewrite/bias_correction.h"
#include "quant/rewrite/equalize.h"
#include "quant/numeric/parameters.h"
#include "quant/numeric/rounding.h"
#include "quant/files/precision.h"
#include "quant/files/table.h"

// A step that is taken, left out, or tried: taken when the outputs come closer to the float network's
// on pictures that the trial was not calibrated with.
typedef enum dq_choose { DQ_CHOOSE_AUTO, DQ_CHOOSE_ON, DQ_CHOOSE_OFF } dq_choose;

typedef struct dq_int8_options {
  const dq_observer *method; // `auto`: minmax, percentile and mse are tried
  bool method_open;          // the method is one that nobody asked for: of detectors the others are tried too
  double percentile;         // parameter of the method
  dq_choose equalize, bias_absorption, bias_correction, range_search;
  dq_rounding_rule rounding;
  double time_limit;                 // of adaptive rounding, in seconds; 0: none
  const dq_calibration_table *table; // replayed instead of looking at data and deciding; NULL: none
  // Decisions and ranges to begin with, those of the same network with other layers in float; what it lacks, and
  // adaptive rounding, is taken from the data. NULL: none. Not with `table`.
  const dq_calibration_table *start;
  dq_accumulator accumulator;
  bool per_tensor;            // one scale per weight instead of one per output channel
  int activation_type;        // DQ_U8 or DQ_I8
  bool symmetric;             // activations too
  bool qoperator;             // written as operators on integers (quant/int8/qoperator.h)
  const char *const *exclude; // shell patterns on node names: these nodes stay in float
  int exclude_count;
  const char *const *only; // shell patterns: nothing but these nodes; count 0: all
  int only_count;
  const dq_precision_map *precision; // layers that stay in float32 or become float16; NULL: none
  const char *const *operators;      // names: nothing but these operators; count 0: all
  int operator_count;
  dq_shape_request shapes; // of inputs the model leaves open
  const char *decode;      // how a detector's outputs are read (dq_task_options); NULL: nothing is said
  int64_t batch;           // pictures run at once to observe values; 0: 1. The result is the same.
} dq_int8_options;

// What happened to one node that could be quantized.
typedef struct dq_int8_layer {
  const char *name, *op_type;
  const char *label; // as settings files call it (dq_layer_label)
  dq_precision precision;
  char reason[120];                          // why it stays in float; "" when quantized
  const char *output;                        // value that carries its result after quantization
  dq_parameters parameters;                  // of the output
  dq_range_pair range;                       // chosen for the output
  double clipped;                            // share of the values seen that lies outside it
  float weight_scale_low, weight_scale_high; // 0 when it has no weight
  bool pairs_safe;                           // no pair of products can leave int16 (lib/kernels/audit/conv_audit.h)
  double block_noise;                        // what a rule on blocks of the sum adds to (or, kept to, would add to) the
                                             // squared error of the weights, as a share of their squares; 0: nothing
  int64_t int16_block;                       // with DQ_ACCUMULATE_INT16: taps whose sums fit int16; 0: not asked
} dq_int8_layer;

typedef struct dq_int8_report {
  dq_int8_layer *layers; // in the order of the graph; owned by the graph's arena
  int count, quantized;
  int values;               // activations that got a scale
  int halves;               // nodes computed in float16, by options->precision
  int lowered;              // operators written on integers, with options->qoperator
  size_t calibration_bytes; // memory of the histograms
  int64_t pictures;
  bool nothing_to_do;        // the model is quantized already
  const dq_observer *method; // the one taken
  int absorbed;              // values whose high biases were absorbed (quant/rewrite/bias_absorption.h)
  double absorption_gain;    // dB it brought in the trial; NAN: not tried
  int equalized;             // sites (quant/rewrite/equalize.h); 0: none
  double equalize_gain;      // dB it brought in the trial; NAN: not tried
  bool bias_corrected;
  double bias_correction_gain; // likewise
  double pairs_cost;           // dB that pairs safe in the layers chosen cost in the trial; NAN: not tried
  int searched;                // values whose range was found by search (quant/int8/range_search.c)
  double range_search_gain;    // dB it brought in the trial; NAN: not tried
  int exact_sums;              // additions that are not rounded (quant/numeric/common_scale.h)
  double exact_sums_gain;      // dB it brought in the trial; NAN: not tried
  int rounded;                 // layers rounded adaptively
  double rounding_gain;        // dB it brought on pictures that were left out; NAN: not tried
  dq_calibration_table table;  // with it the same model comes out again; owned by the graph's arena
} dq_int8_report;

// Of what is to be measured on data a map of precisions leaves nothing to chance: trials and ranges are those of
// the network with all layers in 8 bits, then the map is applied (options->start).
//
// Folds batch normalization, decides what the options leave open, calibrates on `data` (may be NULL with
// options->table; DQ_BAD_INPUT names a value the table does not have), and writes QuantizeLinear/DequantizeLinear into
// the graph; raises the opset to 13 where it is lower. The result does not depend on the number of threads. On failure
// the graph may only be freed. DQ_BAD_INPUT names weights with NaN or infinity.
dq_status dq_int8_apply(dq_graph *graph, dq_data *data, const dq_int8_options *options, dq_int8_report *report,
                        const dq_context *context, dq_error *error);

// The same with the decisions and ranges of `first`, a report of the same network with other layers in float, and
// on the same data. What its table lacks is observed.
dq_status dq_int8_apply_from(dq_graph *graph, dq_data *data, const dq_int8_options *options,
                             const dq_int8_report *first, dq_int8_report *report, const dq_context *context,
                             dq_error *error);

// What dq-int8 does when nothing else is said.
dq_int8_options dq_int8_defaults(void);

// Whether a graph holds operators of quantization already.
bool dq_int8_is_quantized(const dq_graph *graph);

// The precision of every layer of a report, with which the same layers come out again. In the arena.
dq_status dq_int8_precision(const dq_int8_report *report, dq_arena *arena, dq_precision_map *map, dq_error *error);

#endif
