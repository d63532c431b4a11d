// Adaptive rounding, what its files share: the layers, and the sums over pictures from which their weights are rounded.
#ifndef DQ_QUANT_ROUNDING_LAYER_H
#define DQ_QUANT_ROUNDING_LAYER_H

#include "lib/ops/table/product.h"
#include "lib/schedule/infer.h"
#include "quant/numeric/rounding.h"

// A product whose weights are rounded: a convolution, or one of two matrices that has a bias (Gemm) and no factors.
typedef struct dq_rounding_layer {
  dq_node *node;                   // of the quantized graph
  const char *input, *output;      // names of its input and its result in the float graph
  const dq_tensor *weight, *bias;  // in float, owned by the graph; bias NULL: none
  int64_t groups, outputs, inputs; // number of groups; output channels and products of a sum, of one group
  dq_product product;
  dq_taps taps; // of its sums
} dq_rounding_layer;

// Fills *layer from a node of the float graph. False: the weights of the node cannot be rounded adaptively, and *layer
// means nothing.
bool dq_rounding_layer_of(dq_rounding_layer *layer, dq_node *node);

// The DequantizeLinear of input `i` whose elements are a constant of this type (dq_dtype) with constant scales; NULL:
// there is none.
const dq_node *dq_dequantized_input(const dq_node *node, int i, int type);

// Sums over samples (output positions) of a layer, group after group, with n = inputs + 1, as dq_rounding_task has
// them.
typedef struct dq_layer_sums {
  double *grams;     // [groups][n][n]: sums of x x', x being the inputs of a sample and a 1
  double *responses; // [groups][outputs][n]: sums of y x', y being the outputs of a sample
  int64_t most;      // samples taken of one picture, at most
} dq_layer_sums;

// Opens sums of zero in the arena, n^2 doubles for a group and n for an output. Each of the `pictures` (> 0) gives the
// same number of samples, so that all give at least 32 n and 32768. DQ_SYSTEM: there is no memory.
dq_status dq_layer_sums_open(dq_layer_sums *sums, const dq_rounding_layer *layer, int64_t pictures, dq_arena *arena,
                             dq_error *error);
// Adds samples of the picture with index `picture`, which spreads their places evenly. `input` is the input of the
// layer in the quantized network, `output` its result in the float network; float32, N = 1. DQ_SYSTEM: there is no
// memory.
dq_status dq_layer_sums_add(dq_layer_sums *sums, const dq_rounding_layer *layer, const dq_tensor *input,
                            const dq_tensor *output, int64_t picture, const dq_context *context, dq_error *error);

#endif
