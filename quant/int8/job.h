// What INT8 quantization works on. A conversion (dq_int8_conversion) changes the graph of its caller in one job
// (dq_int8_job); every trial of a setting, and every look at what could be quantized, is a job of its own. A job
// changes nothing of another one: what jobs share is dq_int8_input, which they only read, and measurements (dq_observed
// and dq_equalize_memory), which are the same whichever job makes them. The stages that change a job stand in stages.h.
// Nodes that are quantized have mark 1.
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

// What all jobs of a conversion share and only read. Pointers are to objects of the caller of the conversion.
typedef struct dq_int8_input {
  const dq_int8_options *options;
  // Every decision, and the ranges of the values that it has: options->table, else options->start; NULL: what the
  // options leave open is decided by trials, and ranges are measured.
  const dq_calibration_table *given;
  const dq_context *context;         // NULL: the defaults of dq_context
  const dq_weight_type *weight_type; // what weights are quantized to
  dq_precision_index precisions;     // of options->precision; in the arena of the conversion
  dq_name_list given_ranges;         // of `given`, in the arena of the conversion; empty without it

  // The input grid, found by dq_int8_prepare before there are trials; in the arena of the conversion's graph.
  dq_input_levels levels; // its range holds for the value `levelled`; levels.input NULL: there is none
  const char *levelled;   // name of the value that has the input grid; NULL: none
} dq_int8_input;

// The pictures that a job measures on. Nothing here is owned: data is the caller's or a view, and views and `sites`
// belong to the conversion or, of the verdict's trial, to cross_fit.c.
typedef struct dq_int8_pictures {
  dq_data *data; // NULL: options->table holds all that is needed
  int64_t count; // ranges and means come from so many of the first pictures of `data`
  // The factors of channels come from the first factor_count pictures of factor_data; NULL: from `count` of `data`.
  dq_data *factor_data;
  int64_t factor_count;
  // What was observed on factor_data of the channels of all values that may be equalized, so that a later job observes
  // the other pictures only. NULL: all pictures are observed.
  dq_equalize_memory *sites;
  // A range search uses so many of the first pictures, so that trials with the ranges of all pictures do not search on
  // those that judge. 0: it may use all `count`.
  int64_t search_count;
} dq_int8_pictures;

// One quantization of a graph with a setting: that of a conversion, a trial or a look.
typedef struct dq_int8_job {
  const dq_int8_input *in; // of the conversion, which outlives the job
  dq_error *error;         // of the caller of the conversion: the message of every function that takes the job

  // What the job does and where it does it: given when the job is made. A trial or a look keeps these; dq_int8_choose
  // sets the setting, the pictures and `observed` of the conversion's job.
  dq_int8_setting setting;
  dq_int8_pictures pictures;
  // What jobs with these pictures and the setting's equalization and absorption have measured; what this job measures
  // is added. Owned by whoever made the trials; NULL: every measurement is made anew.
  dq_observed *observed;
  dq_graph *graph;   // changed in place: the caller's of the conversion, a copy of a trial, another job's of a look
  dq_arena *arena;   // of the tables below, which end with it; what the report needs is in graph->arena
  dq_origin *origin; // which values of `graph` stand for which values of the source
  dq_int8_report *report; // the caller's of the conversion, else of whoever makes the job

  // Tables, all empty when the job is made; in `arena` unless stated. Opened by dq_int8_open_tables:
  dq_tensor *tensors;       // shapes and types by value index
  dq_value_choice *choices; // by value index
  int value_count;          // of tensors and choices: as many values as the graph had when they were opened
  // Filled by dq_int8_select:
  const char **halves; // [half_count], labels of the nodes that become float16; NULL before
  int half_count;
  // Filled by dq_int8_quantize:
  const dq_permuted_value *permuted; // [permuted_count], values whose channels have another order than in the source
  int permuted_count;
  dq_input_means means; // of the inputs of products, in graph->arena or the given table; none without bias correction
  dq_rounding_list rounding; // empty without adaptive rounding
} dq_int8_job;

// A conversion: what its jobs share, the job that quantizes the network, and what trials leave to that job.
typedef struct dq_int8_conversion {
  dq_int8_input in;
  dq_int8_job job;
  dq_data *in_turns; // owned: the pictures in the order of trials (dq_trial_data); NULL: there were no trials
  // Owned: what trials measured on all pictures. job.observed is the one that has the setting's equalization, if any.
  dq_observed of_file[2];
} dq_int8_conversion;

// Opens a conversion of `graph` with all pointers to the arguments, which must outlive it, and an origin by the tool
// `tool` (dq_origin_begin). The caller then sets job.report, job.pictures.data and job.pictures.count, and closes the
// conversion, also after a failure. The struct must stay where it is. DQ_SYSTEM: there is no memory.
dq_status dq_int8_conversion_open(dq_int8_conversion *conversion, dq_graph *graph, const char *tool,
                                  const dq_int8_options *options, const dq_context *context, dq_error *error);
// Frees all but the graph and the origin, which the caller finishes or discards.
void dq_int8_conversion_close(dq_int8_conversion *conversion);

// Opens a job that quantizes a copy of the graph of `of`, which must be prepared, in an arena of its own. `report`
// receives its report, whose texts live as long as the trial. The caller closes the trial, also after a failure.
// DQ_SYSTEM: there is no memory.
dq_status dq_int8_trial_open(dq_int8_job *trial, const dq_int8_job *of, const dq_int8_setting *setting,
                             const dq_int8_pictures *pictures, dq_observed *observed, dq_int8_report *report);
void dq_int8_trial_close(dq_int8_job *trial); // allowed on a zeroed struct

// A job on the graph of `of`, with its setting and pictures, for dq_int8_open_tables and dq_int8_select, which change
// nothing in the graph but the marks of nodes. It uses the arena of `of` and is not closed.
dq_int8_job dq_int8_look(const dq_int8_job *of, dq_int8_report *report);

#endif
