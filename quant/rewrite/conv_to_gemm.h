// A classifier that is a 1x1 convolution over one position is a matrix product.
#ifndef DQ_QUANT_CONV_TO_GEMM_H
#define DQ_QUANT_CONV_TO_GEMM_H

#include "lib/schedule/infer.h"

// Which layers may become a Gemm: `allows` of a Conv or MatMul, and of the Add of its bias, or NULL.
typedef struct dq_gemm_wish {
  bool (*allows)(const void *user, const dq_node *layer, const dq_node *sum);
  const void *user;
} dq_gemm_wish;

// Writes the first `Conv -> Flatten` (or Reshape, Squeeze) in front of an output of the graph, with a 1x1 convolution
// over one position, as `Flatten -> Gemm`. Runtimes have integer matrix products that write float, but no such
// convolutions; with a Gemm the scores need not be rounded to 8 bits. The Gemm has the name of the convolution; the
// results differ only by the order of the sum. Other graphs, and a convolution that `wish` does not allow, stay as they
// are. `shapes` as for dq_infer; the arena takes
// its tables. Statuses as dq_infer; DQ_SYSTEM: there is no memory.
dq_status dq_conv_to_gemm(dq_graph *graph, const dq_gemm_wish *wish, const dq_shape_request *shapes, dq_arena *arena,
                          const dq_context *context, dq_error *error);

#endif
