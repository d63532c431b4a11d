// What each layer alone costs: the float network with one layer's weights, or its result, or both, put
// through 8 bits and back, against the network as it is.
#ifndef DQ_QUANT_SENSITIVITY_H
#define DQ_QUANT_SENSITIVITY_H

#include "lib/eval/eval.h"
#include "quant/int8/int8.h"

typedef struct dq_sensitivity_effect {
  dq_comparison outputs; // all float outputs over all pictures; agreement is the first output's
  int64_t right;         // pictures whose label has the highest score, with labels
} dq_sensitivity_effect;

typedef struct dq_sensitivity_layer {
  const char *label, *op_type; // an input of the network: its name and "Input"
  bool is_input;
  bool has_weights;                                 // a product with constant weights
  int64_t macs, weight_bytes;                       // at batch 1; of the float weights
  dq_sensitivity_effect weights, activations, both; // without weights: activations and both are the same
  // Places in `nodes` of what must be left in float for its result not to be rounded: all that writes or reads it,
  // or what has its numbers. Count 0: the result is not rounded.
  const int *around;
  int around_count;
  int product; // place in `nodes` of the product with weights; -1: none
} dq_sensitivity_layer;

// A node that is quantized.
typedef struct dq_sensitivity_node {
  const char *label;
  int64_t macs;
  bool product;
} dq_sensitivity_node;

typedef struct dq_sensitivity {
  dq_sensitivity_layer *layers; // in the order of the network
  int count;
  dq_sensitivity_node *nodes; // in the order of the graph
  int node_count;
  dq_sensitivity_effect all; // every layer at once
  int64_t pictures, right;   // right: of the network as it is
  bool scores;               // the first output is one vector of scores per picture: agreement means top-1
  bool labelled;             // with class labels: `right` is counted
} dq_sensitivity;

typedef struct dq_sensitivity_options {
  const dq_int8_options *int8; // method, types, layers left out
  bool ranking;                // weights and activations, each alone; `both` is left empty
  int64_t pictures;            // at most so many of the data, from its start; 0: all
} dq_sensitivity_options;

// Batch normalization is folded first, ranges are those of the pictures, nothing is equalized, biases stay
// as they are; with int8->start the network is the one that would be quantized, equalized, with the ranges it gives. A
// product's result is what stands behind the Relu or Clip after it; operators that keep their input's scale have no
// row. One variant after the other runs in float32 from the layer on (quant/search/layer_error_runs.h); the graph stays
// as it is; the result does not depend on threads. In the arena. DQ_UNSUPPORTED: nothing can be quantized.
dq_status dq_sensitivity_measure(dq_sensitivity *result, const dq_graph *graph, dq_data *data,
                                 const dq_sensitivity_options *options, const dq_context *context, dq_arena *arena,
                                 dq_error *error);

#endif
