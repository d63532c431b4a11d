// Compares two models on the same data layer by layer: the values of a converted model with those of its source.
#ifndef DQ_EVAL_LAYERS_H
#define DQ_EVAL_LAYERS_H

#include "lib/eval/eval.h"
#include "lib/schedule/infer.h"

// One value of the reference and the value of the candidate that stands for it.
typedef struct dq_layer_pair {
  const dq_value *reference, *candidate; // of the two graphs of the caller
  // The Conv, Gemm or MatMul of the reference whose result the value is, with the normalization and the activation
  // behind it; NULL: the value is the result of another operator.
  const dq_node *layer;
  // Channel c (axis 1) of the candidate stands for channel channels[c] of the reference; NULL: for c.
  const int64_t *channels;
  int64_t channel_count;
  dq_comparison comparison; // elements over all pictures
} dq_layer_pair;

typedef struct dq_layer_comparison {
  dq_layer_pair *layers; // in the order of the reference's nodes; in the arena
  int layer_count;
  dq_layer_pair *outputs; // in the order of the outputs of the models; agreement is valid in their comparisons only
  int output_count;
  bool scores; // output 0 is one vector of scores for each picture, so that agreement is top-1 agreement
  int64_t pictures;
  bool by_names; // values were matched by their names, not by the origin of the candidate
} dq_layer_comparison;

typedef struct dq_layer_options {
  dq_shape_request shapes;
  bool by_names;    // matches values by name when the origin of the candidate does not lead to the reference
  int64_t pictures; // of the data, from its start; 0: all
} dq_layer_options;

// Runs both models on the same pictures, one after the other, and compares their values.
//
// Values are matched by the origin of the candidate when it comes from the reference, or when both come from the same
// source; the same graph matches itself. Otherwise values are matched by name, with a warning, when options->by_names
// is set, and else only the outputs are compared, which a message reports. Values inside an integer step (between
// DequantizeLinear and QuantizeLinear) are left out, because a tap there would make the step run in float.
//
// The steps of both models run alternately, so that only few values are in memory at any time. DQ_BAD_INPUT: the inputs
// or outputs of the models differ in number or shape; DQ_UNSUPPORTED: a model has a fixed batch above 1; else as
// dq_runner_open.
dq_status dq_compare_layers(dq_layer_comparison *result, const dq_graph *reference, const dq_graph *candidate,
                            dq_data *data, const dq_layer_options *options, const dq_context *context, dq_arena *arena,
                            dq_error *error);

#endif
