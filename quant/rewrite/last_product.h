// A classifier that is a 1x1 convolution over one position is a matrix product.
#ifndef DQ_QUANT_LAST_PRODUCT_H
#define DQ_QUANT_LAST_PRODUCT_H

#include "lib/schedule/infer.h"

// Writes `Conv -> Flatten` (Reshape, Squeeze) to an output of the graph, the convolution 1x1 over one position,
// as `Flatten -> Gemm`: runtimes have matrix products of integers that write float, but no such convolutions, so
// that the scores need not be rounded to 8 bits. The Gemm keeps the convolution's name and attributes that
// concern it; results are the same to the order of the sum. `shapes` as for dq_infer.
dq_status dq_last_product(dq_graph *graph, const dq_shape_request *shapes, dq_arena *arena, const dq_context *context,
                          dq_error *error);

#endif
