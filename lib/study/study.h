// Everything that dq-report measures of one model: cost, accuracy, comparison with a reference, overflow, sensitivity,
// ranges.
#ifndef DQ_STUDY_H
#define DQ_STUDY_H

#include "calib/chosen.h"
#include "datasets/datasets.h"
#include "lib/eval/accuracy.h"
#include "lib/audit/audit.h"
#include "lib/measure/cost.h"
#include "lib/eval/layers.h"
#include "lib/measure/weights.h"
#include "lib/verdict/verdict.h"
#include "quant/search/sensitivity.h"

typedef struct dq_study_options {
  // The pictures; NULL: none. Where neither a preset nor preprocessing is given, the preprocessing that the model
  // records is used.
  const dq_data_options *data;
  const char *task, *decode; // as in dq_accuracy_options
  dq_shape_request shapes;   // sizes of inputs that the model leaves open
  // Several models are studied with the same options, each by its own call: a shape for an input that this model does
  // not have belongs to another one and is ignored. Otherwise such a shape is DQ_USAGE.
  bool several;
  int64_t batch;      // pictures that one run takes, for accuracy and the audit, 1 or more; 0: 1
  bool match_names;   // compare values by name (dq_layer_options.by_names)
  bool judged;        // the outputs are compared with those of the reference by parts and answers
  bool must_judge;    // a failure of that is one of the study; else a note tells it
  bool overflow, raw; // the overflow audit, and its counts of raw products (lib/audit/audit.h)
  bool sensitivity;   // the sensitivity of layers (quant/search/sensitivity.h), on 32 pictures without a limit
  bool ranges;        // histograms of the values that have ranges
  const char *table;  // path of the calibration table whose ranges are shown; NULL: those of the model
} dq_study_options;

typedef struct dq_study {
  const char *path;
  dq_graph *graph;     // owned
  dq_graph *reference; // not owned; NULL: there is none
  dq_shape_request shapes;
  dq_cost cost;
  dq_odd_weight *odd_weights;
  int odd_weight_count;
  dq_result accuracy;             // count 0: not measured
  int64_t skipped;                // pictures that could not be read
  dq_layer_comparison comparison; // outputs NULL: not compared
  dq_verdict verdict;             // against the reference, on all pictures; count 0: not measured
  dq_audit_report audit;          // layers NULL: not audited
  dq_sensitivity sensitivity;     // layers NULL: not measured
  dq_chosen chosen;               // the values with ranges
  dq_calibration calibration;     // histograms of these values; count 0: not measured
} dq_study;

// Fills *study, whatever it held: loads the model at `path`, which must outlive the study, and measures what the
// options ask for; without data, what the file alone shows. `reference` (NULL: none) is the model to compare with and
// must outlive the study; sizes of inputs that only one of the two models records are recorded in the other one too,
// and nothing else of it changes. The caller frees *study by dq_study_deinit, also after a failure; arrays are in the
// arena. Messages name the file. Statuses are those of the functions that measure: dq_model_open, dq_input_names,
// dq_cost_analyse, dq_data_open, dq_audit_model, dq_sensitivity_measure, dq_accuracy_run, dq_compare_layers,
// dq_verdict_measure, and dq_calibration_table_load with `table`; only histograms that fail are a warning.
dq_status dq_study_run(dq_study *study, const char *path, dq_graph *reference, const dq_study_options *options,
                       const dq_context *context, dq_arena *arena, dq_error *error);
void dq_study_deinit(dq_study *study); // allowed on a zeroed struct

#endif
