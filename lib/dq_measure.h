// dq.h: what a model costs, and how good it is.
#ifndef DQ_MEASURE_H
#define DQ_MEASURE_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- What a model costs ----

typedef struct dq_model_cost_facts {
  size_t size;
  int nodes, unsupported; // all, and those dq cannot run
  int64_t opset;
  int64_t macs, int8_macs;  // multiply-accumulates at batch 1, and those of 8-bit integers
  int macs_complete;        // every node's are known
  int64_t parameters;       // elements of all weights and constants
  int64_t float_parameters; // of those, the ones stored as floats
  int64_t parameter_bytes;  // of all of them, as stored
  int64_t activation_bytes; // of all nodes' outputs
  int64_t live_bytes;       // of activations, most at once while running; -1: cannot be run
  int64_t planned_bytes;    // of the memory planned for them, at least live_bytes; -1: as above
  int64_t file_bytes;       // -1: not from a file
} dq_model_cost_facts;

typedef struct dq_model_cost_row {
  size_t size;
  const char *name, *op_type; // the name of its output where the node has none
  const char *shape;          // of the first output: "Nx64xH/4xW/4", "?" when not known
  const char *precision;      // of its weights: "fp32", "fp16", "int8"; "" when it has none
  const char *problem;        // why it cannot be run, or NULL
  int64_t macs;               // -1: not known
  int64_t parameters, parameter_bytes, activation_bytes;
} dq_model_cost_row;

// Sizes that are open, not in `shapes` and not remembered by the model are assumed, see docs/NUMERICS.md. The rows hold
// until the next dq_model_cost or transform.
dq_code dq_model_cost(dq_model *model, const char *const *shapes, dq_model_cost_facts *facts, dq_failure *failure);
int dq_model_cost_at(const dq_model *model, int index, dq_model_cost_row *row);

// ---- How good a model is ----

typedef struct dq_model_accuracy_options {
  size_t size;
  const char *task;   // "classify", "segment", "detect"; NULL (default): guessed
  const char *decode; // how boxes come out of a detector: "yolox", "yolo:anchors=..."; NULL (default)
  int64_t batch;      // pictures run at once; default 1
  const char *const *shapes;
} dq_model_accuracy_options;

typedef struct dq_figure_row {
  const char *name, *key; // "top-1", "top1"
  const char *unit;       // "%" or ""
  double value;
} dq_figure_row;

typedef struct dq_model_accuracy_facts {
  size_t size;
  const char *task;
  int64_t pictures;
  int figure_count; // 0: the data has no labels
  dq_figure_row figures[8];
  int64_t nonfinite; // pictures with an output that is NaN or +infinite somewhere; such scores are wrong
} dq_model_accuracy_facts;

void dq_model_accuracy_defaults(dq_model_accuracy_options *options, size_t size);
dq_code dq_model_accuracy(dq_model *model, dq_dataset *dataset, const dq_model_accuracy_options *options,
                          dq_model_accuracy_facts *facts, dq_failure *failure);

typedef struct dq_model_compare_options {
  size_t size;
  int match_names; // match values by name where the model does not say where it comes from; default 0
  const char *const *shapes;
} dq_model_compare_options;

typedef struct dq_model_compare_facts {
  size_t size;
  int64_t pictures;
  int outputs, layers; // rows: first one per output, then one per layer matched
} dq_model_compare_facts;

typedef struct dq_model_compare_row {
  size_t size;
  const char *value;    // of the reference
  const char *compared; // of the model
  const char *layer;    // Conv, Gemm, ... of the reference whose result it is, or NULL
  double sqnr;          // signal-to-noise ratio in dB over all pictures; INFINITY: equal, -INFINITY: nonfinite is not 0
  double cosine;        // NaN when nonfinite is not 0
  double largest;       // absolute difference; INFINITY when nonfinite is not 0
  int64_t values;       // elements compared, those that are finite in the reference
  int64_t nonfinite;    // of them, those that are NaN or infinite in the model: no error is larger
  double agreement;     // percent of pictures with the same largest score; -1: no scores
  int64_t left_out;     // elements that are NaN or infinite in the reference, left out
} dq_model_compare_row;

void dq_model_compare_defaults(dq_model_compare_options *options, size_t size);
// Runs both on every picture and compares them value by value. The rows belong to `model` and hold
// until its next comparison or transform, while `reference` is there unchanged.
dq_code dq_model_compare(dq_model *model, const dq_model *reference, dq_dataset *dataset,
                         const dq_model_compare_options *options, dq_model_compare_facts *facts, dq_failure *failure);
int dq_model_compare_at(const dq_model *model, int index, dq_model_compare_row *row);

#ifdef __cplusplus
}
#endif

#endif
