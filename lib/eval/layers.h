// Two models on the same data, layer by layer: what a compressed model's values have become.
#ifndef DQ_EVAL_LAYERS_H
#define DQ_EVAL_LAYERS_H

#include "lib/eval/eval.h"
#include "lib/schedule/infer.h"

// One value of the reference and the value of the candidate that stands for it.
typedef struct dq_layer_pair {
  const dq_value *reference, *candidate; // of the graphs given
  const dq_node *layer;                  // the Conv, Gemm, ... of the reference whose result this is, perhaps behind
                                         // a normalization and an activation; NULL: of none
  // Channel c (axis 1) of the candidate stands for channel channels[c] of the reference; NULL: for c.
  const int64_t *channels;
  int64_t channel_count;
  dq_comparison comparison; // elements over all pictures
} dq_layer_pair;

typedef struct dq_layer_comparison {
  dq_layer_pair *layers; // in the order of the reference's nodes; in the arena
  int layer_count;
  dq_layer_pair *outputs; // the models' outputs in order; comparison has pictures and agreement
  int output_count;
  bool scores; // output 0 is one vector of scores per picture: agreement means top-1
  int64_t pictures;
  bool by_names; // values were matched by their names alone
} dq_layer_comparison;

typedef struct dq_layer_options {
  dq_shape_request shapes;
  bool by_names;    // match values by name when the candidate does not say that it comes from the
                    // reference
  int64_t pictures; // of the data, from its start; 0: all
} dq_layer_options;

// Runs both models picture by picture. Values are matched through the candidate's origin map when
// one of its steps started from the reference, or when both started from one source (the map of
// each is followed back to it); the same graph matches itself; else by name when asked for, with a
// warning, and not at all otherwise (outputs only, said in a note). Values inside integer steps
// (between DequantizeLinear and QuantizeLinear) are left out: looking at them would change what
// runs. The two run side by side, so that only few values are kept at any time. DQ_BAD_INPUT: the models' inputs or
// outputs differ in number or shape.
dq_status dq_compare_layers(dq_layer_comparison *result, const dq_graph *reference, const dq_graph *candidate,
                            dq_data *data, const dq_layer_options *options, const dq_context *context, dq_arena *arena,
                            dq_error *error);

#endif
