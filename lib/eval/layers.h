// Compares two models on the same data layer by layer: the values of a converted model with those of its source.
#ifndef DQ_EVAL_LAYERS_H
#define DQ_EVAL_LAYERS_H

#include "lib/eval/eval.h"
#include "lib/eval/layer_pairs.h"
#include "lib/schedule/infer.h"

typedef struct dq_layer_options {
  dq_shape_request shapes;
  bool by_names;    // matches values by name when the origin of the candidate does not lead to the reference
  int64_t pictures; // of the data, from its start; 0: all
} dq_layer_options;

// Runs both models on the same pictures, one after the other, and compares the values that dq_match_layers matches.
//
// The steps of both models run alternately, so that only few values are in memory at any time. DQ_BAD_INPUT: the inputs
// or outputs of the models differ in number or shape; else as dq_runner_open. Models that
// run at one batch alone, above 1, get each picture in all places of it.
dq_status dq_compare_layers(dq_layer_comparison *result, const dq_graph *reference, const dq_graph *candidate,
                            dq_data *data, const dq_layer_options *options, const dq_context *context, dq_arena *arena,
                            dq_error *error);

#endif
