// The state of one INT8 quantization: its input, the setting, and the intermediate results. Nodes that are quantized
// have mark 1. The stages that change it stand in stages.h.
#ifndef DQ_QUANT_JOB_H
#define DQ_QUANT_JOB_H

#include "lib/document/origin.h"
#include "lib/schedule/infer.h"
#include "quant/int8/int8.h"
#include "quant/int8/observed.h"
#include "quant/rewrite/permute.h"
#include "quant/rounding/rounding_layer.h"

// What is decided about one value of the graph.
typedef struct dq_value_choice {
  bool quantized;       // a QuantizeLinear/DequantizeLinear pair is written behind the value
  int shares;           // index of the value whose parameters this one has; its own index: it has its own
  bool before_levels;   // the input in front of the Mul and Add that bring it to its input grid: stays in float
  bool divides;         // nothing but dividing by it is done with the value (dq_divisor_values): not rounded to 8 bits
  bool behind_products; // computed from products and read by none (dq_behind_products): stays in float unless moved
  bool constant;        // an initializer in the place of an activation
  bool searched;        // the range comes from range search, not from the method
  int slot;             // index of its histogram in the calibration, -1: none
  int layer;            // 1 + index in job->report->layers of the layer that computes it; 0: none does
  const dq_channel_means *means; // from dq_int8_insert on: of its channels; NULL: not known
  dq_range_pair range;
  double clipped; // share of the observed elements outside the range, 0 to 1
  dq_parameters parameters;
  const char *original; // the value of the source that this one stands for; NULL: none
} dq_value_choice;

// The steps that the options leave open; trials choose them (choose.c).
typedef struct dq_int8_setting {
  dq_equalize_scope equalize;
  bool absorption; // bias absorption
  bool heads;      // equalize the output head too
  const dq_observer *method;
  bool margins; // of ranges beyond what pictures showed (calib/margin.h)
  bool bias_correction;
  bool range_search; // quant/int8/range_search.c
  bool exact_sums;   // one scale for additions and their operands where that gains (quant/numeric/common_scale.h)
  dq_accumulator_choice accumulator;
  bool adaptive; // adaptive rounding; trials run without it
} dq_int8_setting;

// Layers whose weights can be rounded adaptively, in the order they run.
typedef struct dq_rounding_list {
  dq_rounding_layer *layers;
  int count;
} dq_rounding_list;

// The input of a quantization; it does not change.
typedef struct dq_int8_input {
  const dq_int8_options *options;
  // Every decision, and the ranges of the values that it has: options->table or options->start; NULL: what the options
  // leave open is decided by trials, and ranges are measured.
  const dq_calibration_table *given;
  dq_data *data; // NULL: options->table holds all that is needed
  const dq_context *context;
  const dq_weight_type *weight_type; // what weights are quantized to
} dq_int8_input;

typedef struct dq_int8_job {
  const dq_int8_input *in;
  dq_int8_setting setting;
  int64_t pictures; // number of pictures to calibrate on, the first ones of the data
  dq_error *error;  // receives the message of every function that takes the job

  // Intermediate results.
  dq_graph *graph;   // changed in place
  dq_arena *arena;   // of the tables that end with the job; what the report needs is in graph->arena
  dq_origin *origin; // which values stand for which values of the source
  dq_int8_report *report;
  dq_tensor *tensors;       // shapes and types by value index
  dq_value_choice *choices; // by value index, as many as the graph had when selecting
  int value_count;
  dq_precision_index precisions; // of in->options->precision
  dq_name_list given_ranges;     // of in->given; empty without one
  dq_input_levels levels;        // the input grid; its range holds for the value `levelled`
  const char *levelled;          // name of the value that has the input grid; NULL: none
  const char **halves;           // labels of the nodes that become float16
  int half_count;
  const dq_permuted_value *permuted; // values whose channels have another order than in the source
  int permuted_count;
  dq_rounding_list rounding;
  dq_input_means means; // of the inputs of products; none without bias correction

  // The pictures in the order of trials (dq_trial_data), opened by dq_int8_choose and freed with the job; NULL: there
  // were no trials.
  dq_data *in_turns;
  // The factors of channels come from the first factor_pictures of `in_turns`. `sites` has what was observed of the
  // channels of all values that may be equalized, so that the conversion after the trials observes the other pictures
  // only.
  int64_t factor_pictures;
  dq_equalize_memory *sites;
  // Trials with the ranges of all pictures search on those that give ranges to other trials, and not on the ones that
  // judge. 0: a search may take all pictures of the job.
  int64_t search_pictures;
  // What trials with the setting's equalization measured, owned by choose.c; NULL: every measurement is made anew.
  dq_observed *observed;
  // What trials measured on all pictures, closed with the job. `observed` of the conversion after the trials is the one
  // that has the setting's equalization, if any.
  dq_observed of_file[2];
} dq_int8_job;

// The input of a job from the arguments of dq_int8_apply; `given` is options->table, else options->start. The result
// points to `options`, `data` and `context`, which must outlive it.
dq_int8_input dq_int8_input_of(const dq_int8_options *options, dq_data *data, const dq_context *context);

#endif
