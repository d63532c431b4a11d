// The sensitivity of each layer: the error of the outputs when only the weights, only the result, or both of one layer
// are quantized to 8 bits and back, and everything else is float.
#ifndef DQ_QUANT_SENSITIVITY_H
#define DQ_QUANT_SENSITIVITY_H

#include "lib/eval/eval.h"
#include "quant/int8/int8.h"

typedef struct dq_sensitivity_effect {
  dq_comparison outputs; // all float outputs over all pictures; its agreement is that of the first output
  int64_t right;         // with labels: pictures whose highest score is the class of the label
  // Mean over the pictures of the sum of noise / signal over the parts of the outputs (dq_output_error_parts), so that
  // wide boxes do not hide scores. 0: the effect was not measured.
  double relative_noise;
} dq_sensitivity_effect;

typedef struct dq_sensitivity_layer {
  const char *label, *op_type; // for an input of the network its name and "Input"
  bool is_input;
  bool has_weights;                                 // the layer has a constant in 8 bits (dq_constant_in_8_bits)
  int64_t macs, weight_bytes;                       // multiply-accumulates at batch 1; bytes of the float weights
  dq_sensitivity_effect weights, activations, both; // without weights `activations` and `both` are equal
  // Indices into dq_sensitivity.nodes of the nodes that must all be in float for the result of the layer not to be
  // rounded: those that write or read the result or a value with the same numbers. Count 0: the result is not rounded.
  const int *around;
  int around_count;
  int product; // index into dq_sensitivity.nodes of the product with weights; -1: there is none
} dq_sensitivity_layer;

// A node that quantization would compute in 8 bits.
typedef struct dq_sensitivity_node {
  const char *label;
  int64_t macs, weight_bytes; // multiply-accumulates at batch 1; bytes of its float constants
} dq_sensitivity_node;

typedef struct dq_sensitivity {
  dq_sensitivity_layer *layers; // in the order of the network
  int count;
  dq_sensitivity_node *nodes; // in the order of the graph
  int node_count;
  dq_sensitivity_effect all; // of all layers in 8 bits together
  int64_t pictures, right;   // right: as in dq_sensitivity_effect, for the float network
  bool scores;               // the first output is one vector of scores for each picture: agreement is top-1 agreement
  bool labelled;             // the data has class labels, so that `right` is counted
} dq_sensitivity;

typedef struct dq_sensitivity_options {
  const dq_int8_options *int8; // observer, types, and the layers that are left out
  bool ranking;                // measures weights and activations, each alone; `both` stays empty
  // Segments of the network are halved to find what makes the noise, and layers of a segment with less than this share
  // of all relative noise are not measured: their effects stay empty. 0: all layers are measured. Needs `ranking`.
  double share;
  int64_t pictures; // the largest number of pictures of the data, from its start; 0: all
} dq_sensitivity_options;

// Measures the sensitivity of all layers. Batch normalization is folded first, ranges come from the pictures, values
// are not equalized, and biases stay as they are; with int8->start the network and the ranges are those of that table,
// with its equalization. The result of a product is the value behind the Relu or Clip that follows it. Operators that
// keep the scale of their input have no row.
// On each picture the network runs once for each variant, from the layer of the variant on
// (quant/search/layer_error_runs.h), so that the time grows with the square of the number of layers, but for those that
// `share` leaves out. The graph does not change, and the result does not depend on threads. The arena owns the result.
// DQ_UNSUPPORTED: no layer can be quantized; else as for dq_calibrate.
dq_status dq_sensitivity_measure(dq_sensitivity *result, const dq_graph *graph, dq_data *data,
                                 const dq_sensitivity_options *options, const dq_context *context, dq_arena *arena,
                                 dq_error *error);

#endif
