// A classifier that is a 1x1 convolution over one position is a matrix product.
#ifndef DQ_QUANT_CONV_TO_GEMM_H
#define DQ_QUANT_CONV_TO_GEMM_H

#include "lib/schedule/infer.h"

// Writes the first `Conv -> Flatten` (or Reshape, Squeeze) in front of an output of the graph, with a 1x1 convolution
// over one position, as `Flatten -> Gemm`. Runtimes have integer matrix products that write float, but no such
// convolutions; with a Gemm the scores need not be rounded to 8 bits. The Gemm has the name of the convolution; the
// results differ only by the order of the sum. Other graphs stay as they are. `shapes` as for dq_infer; the arena takes
// its tables. Statuses as dq_infer; DQ_SYSTEM: there is no memory.
dq_status dq_conv_to_gemm(dq_graph *graph, const dq_shape_request *shapes, dq_arena *arena, const dq_context *context,
                          dq_error *error);

#endif
