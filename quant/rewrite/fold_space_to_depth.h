// The first layer of some detectors (YOLOv5, YOLOX: "Focus"): four strided Slices of the input, one per
// place in a square of 2x2 pixels, a Concat of them and a convolution. Together they are one convolution
// of stride 2.
#ifndef DQ_QUANT_FOLD_SPACE_TO_DEPTH_H
#define DQ_QUANT_FOLD_SPACE_TO_DEPTH_H

#include "lib/schedule/infer.h"

// Makes every such convolution read the source of the Slices: W'[o, c, 2y + v, 2x + u] = W[o, b C + c, y, x] for
// operand b of the Concat, which starts at row v and column u and has C channels; the stride becomes 2, padding and
// kernel twice as large. The same products are added in another order. Convolutions with other strides, dilations or
// groups, and inputs of odd height or width, stay as they are. The graph must be indexed, and is indexed again when it
// changed. `shapes` as for dq_infer, whose statuses the function returns; DQ_SYSTEM: there is no memory.
dq_status dq_fold_space_to_depth(dq_graph *graph, const dq_shape_request *shapes, const dq_context *context,
                                 dq_error *error);

#endif
