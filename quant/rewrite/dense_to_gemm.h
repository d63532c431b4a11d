// A dense layer that a file spells as a product and the sum of its bias is one matrix product with a bias.
#ifndef DQ_QUANT_DENSE_TO_GEMM_H
#define DQ_QUANT_DENSE_TO_GEMM_H

#include "quant/rewrite/conv_to_gemm.h"

// Writes each `MatMul -> Add` (or Gemm without bias and attributes) of a matrix with a constant float32 weight and a
// constant bias, one number for each column of the weight, as a Gemm with the name of the MatMul and the output of the
// Add. The bias is then added in int32, without rounding the product to 8 bits first; runtimes have kernels for that,
// and some refuse the other spelling (docs/FORMATS.md). The results in float32 are the same but for the rounding of the
// last sum. Layers on more than two dimensions, and those whose product is an output or is read elsewhere, and those
// that `wish` does not allow, stay as they are. `shapes` as for dq_infer; the arena takes its tables. Statuses as
// dq_infer; DQ_SYSTEM: there is no memory.
dq_status dq_dense_to_gemm(dq_graph *graph, const dq_gemm_wish *wish, const dq_shape_request *shapes, dq_arena *arena,
                           const dq_context *context, dq_error *error);

#endif
