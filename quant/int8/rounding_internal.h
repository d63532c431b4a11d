// Adaptive rounding between its files: layers and their sums over pictures.
#ifndef DQ_QUANT_ROUNDING_INTERNAL_H
#define DQ_QUANT_ROUNDING_INTERNAL_H

#include "lib/schedule/infer.h"
#include "lib/ops/product.h"
#include "quant/numeric/rounding.h"

// A product whose weights are rounded: a convolution, or one of two matrices that has a bias (Gemm) and no factors.
typedef struct dq_rounding_layer {
  dq_node *node;                   // of the quantized graph
  const char *input, *output;      // values of the float graph
  const dq_tensor *weight, *bias;  // in float; no bias: NULL
  int64_t groups, outputs, inputs; // of one group
  dq_product product;
  dq_taps taps; // of its sums
} dq_rounding_layer;

// What a layer is; false when it is none of these.
bool dq_rounding_layer_of(dq_rounding_layer *layer, dq_node *node);

// Of all groups, one after the other, as dq_rounding_task has them.
typedef struct dq_layer_sums {
  double *grams, *responses;
  int64_t most; // samples taken of a picture
} dq_layer_sums;

// Sums of zero; at most as many samples of each of `pictures` as their number asks for.
dq_status dq_layer_sums_open(dq_layer_sums *sums, const dq_rounding_layer *layer, int64_t pictures, dq_arena *arena,
                             dq_error *error);
// Adds samples of one picture: the layer's input as the quantized network has it, its output as the float
// network has it.
dq_status dq_layer_sums_add(dq_layer_sums *sums, const dq_rounding_layer *layer, const dq_tensor *input,
                            const dq_tensor *output, int64_t picture, const dq_context *context, dq_error *error);

#endif
