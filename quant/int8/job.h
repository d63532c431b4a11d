// One INT8 quantization on its way: what it is made from, the setting, and what there is so far. Nodes that are
// quantized have mark 1. The stages that work on it stand in stages.h.
#ifndef DQ_QUANT_JOB_H
#define DQ_QUANT_JOB_H

#include "lib/document/origin.h"
#include "lib/schedule/infer.h"
#include "quant/int8/int8.h"
#include "quant/int8/observed.h"
#include "quant/int8/rounding_internal.h"
#include "quant/rewrite/permute.h"

// What is decided about one value of the graph.
typedef struct dq_value_choice {
  bool quantized;     // gets a QuantizeLinear/DequantizeLinear pair
  int shares;         // value index whose parameters it takes; its own index: own ones
  bool before_levels; // the input on its way to its levels: stays in float
  bool in_head;       // behind the products of an equalized head: stays in float
  bool constant;      // an initializer that stands where an activation does
  bool searched;      // the range is not the method's, but one with less error behind it
  int slot;           // in the calibration, -1: none
  dq_range_pair range;
  double clipped; // share of the values seen outside the range
  dq_parameters parameters;
  const char *original; // the value of the source it stands for; NULL: none
} dq_value_choice;

// What trials decide (choose.c).
typedef struct dq_int8_setting {
  dq_equalize_scope equalize;
  bool absorption; // of high biases
  bool heads;      // equalized, and in float behind
  const dq_observer *method;
  bool bias_correction;
  bool range_search; // ranges with least error in what reads them (quant/int8/range_search.c)
  bool exact_sums;   // one scale for sums and their operands where it gains (quant/numeric/common_scale.h)
  dq_accumulator_choice accumulator;
  bool adaptive; // rounding; trials are made without
} dq_int8_setting;

// Layers whose weights can be rounded adaptively, in the order they run.
typedef struct dq_rounding_list {
  dq_rounding_layer *layers;
  int count;
} dq_rounding_list;

// What a quantization is made from; constant while it is made.
typedef struct dq_int8_input {
  const dq_int8_options *options;
  // Every decision, and the ranges of the values that it has: options->table or options->start; NULL: what the options
  // leave open is decided by trials, and ranges are measured.
  const dq_calibration_table *given;
  dq_data *data; // NULL: options->table holds all that is needed
  const dq_context *context;
} dq_int8_input;

typedef struct dq_int8_job {
  const dq_int8_input *in;
  dq_int8_setting setting;
  int64_t pictures; // of the data, from its start
  dq_error *error;

  // What there is so far.
  dq_graph *graph;
  dq_arena *arena;   // for the job's own tables
  dq_origin *origin; // which values stand for which of the source
  dq_int8_report *report;
  dq_tensor *tensors;       // shapes and types by value index
  dq_value_choice *choices; // by value index, as many as the graph had when selecting
  int value_count;
  dq_input_levels levels; // of the input; their range holds for the value `levelled`
  const char *levelled;   // NULL: none
  const char **halves;    // labels of the nodes that become float16
  int half_count;
  const dq_permuted_value *permuted; // values whose channels have another order than in the source
  int permuted_count;
  dq_rounding_list rounding;
  dq_input_means means; // of the inputs of products; none without bias correction

  // What trials have measured already, for those that follow; NULL: none.
  dq_equalize_memory *sites; // of all that may be equalized
  dq_observed *observed;     // with the setting's equalization
} dq_int8_job;

// `options`, `data` and `context` outlive the result.
dq_int8_input dq_int8_input_of(const dq_int8_options *options, dq_data *data, const dq_context *context);

#endif
