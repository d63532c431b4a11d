// dq.h: what a model costs, and how good it is.
#ifndef DQ_MEASURE_H
#define DQ_MEASURE_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// ---- What a model costs ----

typedef struct dq_model_cost_facts {
  size_t size;
  int nodes, unsupported; // number of nodes, and of those that dq cannot run
  int64_t opset;
  int64_t macs, int8_macs;  // multiply-accumulates at batch 1, and how many of them have 8-bit integers as factors
  int macs_complete;        // 0: `macs` lacks nodes whose count is not known
  int64_t parameters;       // elements of all weights and constants
  int64_t float_parameters; // how many of these elements are stored as floating point numbers
  int64_t parameter_bytes;  // of all these elements, as stored
  int64_t activation_bytes; // of the outputs of all nodes
  int64_t live_bytes;    // most bytes of activations that a run needs at the same time; inputs and outputs of the model
                         // count during the whole run; -1: the model cannot be run
  int64_t planned_bytes; // memory that a run allocates for activations, at least live_bytes; -1: likewise
  int64_t file_bytes;    // size of the file; -1: the model was not loaded from a file
} dq_model_cost_facts;

// One node, in the order of the model.
typedef struct dq_model_cost_row {
  size_t size;
  const char *name, *op_type; // a node without a name has that of its first output
  const char *shape;          // of the first output, sizes that are open as text: "Nx64xH/4xW/4"; "?": not known
  const char *precision;      // of the weights: "fp32", "fp16", "int8"; "": the node has no weights
  const char *problem;        // why dq cannot run the node; NULL: dq can
  int64_t macs;               // -1: not known
  int64_t parameters, parameter_bytes, activation_bytes;
} dq_model_cost_row;

// Counts what the model costs; nothing is run. For sizes that are open, not in `shapes` and not recorded in the model,
// the function assumes those of docs/NUMERICS.md. Rows (dq_model_cost_at, facts->nodes of them) hold until the next
// dq_model_cost or transform of the model. DQ_CODE_BAD_INPUT: shapes contradict each other.
dq_code dq_model_cost(dq_model *model, const char *const *shapes, dq_model_cost_facts *facts, dq_failure *failure);
// Fills the row of node `index` of the last dq_model_cost; the rules of functions whose names end in _at stand in
// dq_base.h.
int dq_model_cost_at(const dq_model *model, int index, dq_model_cost_row *row);

// ---- How good a model is ----

typedef struct dq_model_accuracy_options {
  size_t size;
  const char *task;   // "classify", "segment", "detect"; NULL (default): inferred from the outputs and the labels
  const char *decode; // how boxes are computed from the outputs of a detector: "yolox", "yolov5", "yolov8",
                      // "yolo:anchors=..."; NULL (default): as the property `decode` of the model says
  int64_t batch;      // pictures that one run takes, 1 to 65536; default 1
  const char *const *shapes;
} dq_model_accuracy_options;

// A figure of quality. The texts are constants of the library.
typedef struct dq_figure_row {
  const char *name, *key; // for people and for programs: "top-1", "top1"
  const char *unit;       // "%": `value` is 0 to 100; "": `value` is a share or a count
  double value;
} dq_figure_row;

typedef struct dq_model_accuracy_facts {
  size_t size;
  const char *task;          // the task that was measured; a constant of the library
  int64_t pictures;          // that were run
  int figure_count;          // used elements of `figures`; 0: the data have no labels
  dq_figure_row figures[16]; // the first is the one that max_drop of the transforms bounds
  int64_t nonfinite;         // pictures with an output that has NaN or +infinity; their scores mean nothing
} dq_model_accuracy_facts;

void dq_model_accuracy_defaults(dq_model_accuracy_options *options, size_t size);
// Runs the model on all pictures and compares its predictions with the labels. DQ_CODE_USAGE: an option is not valid;
// DQ_CODE_BAD_INPUT: pictures or labels do not fit the model; DQ_CODE_UNSUPPORTED: dq cannot run a node.
dq_code dq_model_accuracy(dq_model *model, dq_dataset *dataset, const dq_model_accuracy_options *options,
                          dq_model_accuracy_facts *facts, dq_failure *failure);

typedef struct dq_model_compare_options {
  size_t size;
  int match_names; // match values by their names where the model does not record its origin; default 0
  const char *const *shapes;
} dq_model_compare_options;

typedef struct dq_model_compare_facts {
  size_t size;
  int64_t pictures;
  int outputs, layers; // numbers of rows: first one for each output, then one for each layer that has a counterpart
} dq_model_compare_facts;

typedef struct dq_model_compare_row {
  size_t size;
  const char *value;    // name of the value in the reference
  const char *compared; // name of its counterpart in the model
  const char *layer;    // node of the reference (Conv, Gemm, ...) that computes the value; NULL: not a layer
  double sqnr;          // signal-to-quantization-noise ratio in dB over all pictures; INFINITY: all elements are equal,
                        // -INFINITY: nonfinite is not 0
  double cosine;        // cosine similarity over all pictures, -1 to 1; NaN when nonfinite is not 0
  double largest;       // largest absolute difference of two elements; INFINITY when nonfinite is not 0
  int64_t values;       // elements that were compared: those that are finite in the reference
  int64_t nonfinite;    // compared elements that are NaN or infinite in the model
  double agreement;     // percent of pictures with the same class of the largest score, in row 0; -1: no scores
  int64_t left_out;     // elements that were not compared because they are NaN or infinite in the reference
} dq_model_compare_row;

void dq_model_compare_defaults(dq_model_compare_options *options, size_t size);
// Runs both models on every picture and compares their values. Rows (dq_model_compare_at) belong to `model` and hold
// until its next comparison or transform; their texts also need `reference`, unchanged. DQ_CODE_BAD_INPUT: the models
// have other outputs, or the pictures do not fit; DQ_CODE_UNSUPPORTED: dq cannot run a node.
dq_code dq_model_compare(dq_model *model, const dq_model *reference, dq_dataset *dataset,
                         const dq_model_compare_options *options, dq_model_compare_facts *facts, dq_failure *failure);
int dq_model_compare_at(const dq_model *model, int index, dq_model_compare_row *row);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
