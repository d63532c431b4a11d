// What can be found out about one model: cost, accuracy, differences from another, overflow, sensitivity, ranges.
#ifndef DQ_STUDY_H
#define DQ_STUDY_H

#include "calib/chosen.h"
#include "datasets/datasets.h"
#include "lib/eval/accuracy.h"
#include "lib/audit/audit.h"
#include "lib/measure/cost.h"
#include "lib/eval/layers.h"
#include "lib/measure/weights.h"
#include "quant/search/sensitivity.h"

typedef struct dq_study_options {
  // The pictures; NULL: none. Where neither a preset nor preprocessing is given, what the model remembers counts.
  const dq_data_options *data;
  const char *task, *decode; // as in dq_accuracy_options
  dq_shape_request shapes;   // sizes of inputs that the model leaves open
  bool several;              // models are studied: a shape may be for another one
  int64_t batch;             // pictures run at once for accuracy and the audit
  bool match_names, overflow, raw, sensitivity;
  bool ranges;       // histograms of values beside their ranges
  const char *table; // the calibration table whose ranges are shown; NULL: those of the model
} dq_study_options;

typedef struct dq_study {
  const char *path;
  dq_graph *graph;     // owned
  dq_graph *reference; // NULL: nothing to compare with
  dq_shape_request shapes;
  dq_cost cost;
  dq_odd_weight *odd_weights;
  int odd_weight_count;
  dq_result accuracy;             // count 0: not measured
  int64_t skipped;                // pictures that could not be read
  dq_layer_comparison comparison; // outputs NULL: not compared
  dq_audit_report audit;          // layers NULL: not audited
  dq_sensitivity sensitivity;     // layers NULL: not measured
  dq_chosen chosen;               // the values with ranges
  dq_calibration calibration;     // of those values; count 0: not looked at
} dq_study;

// Loads the model at `path` and measures what the options ask for; without data only what the file alone tells.
// `study` is set whatever happens: free with dq_study_deinit; its arrays live in the arena. Errors name the file.
dq_status dq_study_run(dq_study *study, const char *path, dq_graph *reference, const dq_study_options *options,
                       const dq_context *context, dq_arena *arena, dq_error *error);
void dq_study_deinit(dq_study *study); // safe on a zeroed struct

#endif
