// Which values of a converted model stand for which values of its source.
#ifndef DQ_EVAL_LAYER_PAIRS_H
#define DQ_EVAL_LAYER_PAIRS_H

#include "lib/eval/eval.h"
#include "lib/graph/graph.h"

// One value of the reference and the value of the candidate that stands for it.
typedef struct dq_layer_pair {
  const dq_value *reference, *candidate; // of the two graphs of the caller
  // The Conv, Gemm or MatMul of the reference whose result the value is, with the normalization and the activation
  // behind it; NULL: the value is the result of another operator.
  const dq_node *layer;
  // Channel c (axis 1) of the candidate stands for channel channels[c] of the reference; NULL: for c.
  const int64_t *channels;
  int64_t channel_count;
  dq_comparison comparison; // elements over all pictures
} dq_layer_pair;

typedef struct dq_layer_comparison {
  dq_layer_pair *layers; // in the order of the reference's nodes; in the arena
  int layer_count;
  dq_layer_pair *outputs; // in the order of the outputs of the models; agreement is valid in their comparisons only
  int output_count;
  bool scores; // output 0 is one vector of scores of classes for each picture (lib/eval/scores.h): agreement is top-1
  int64_t pictures;
  bool by_names; // values were matched by their names, not by the origin of the candidate
} dq_layer_comparison;

// Fills *result except its figures: values and outputs that belong together.
//
// Values are matched by the origin of the candidate when it comes from the reference, or when both come from the same
// source; the same graph matches itself. Otherwise values are matched by name, with a warning, when by_names
// is set, and else only the outputs are compared, which a message reports. Values inside an integer step (between
// DequantizeLinear and QuantizeLinear) are left out, because a tap there would make the step run in float.
//
// DQ_BAD_INPUT: the numbers of outputs differ; DQ_SYSTEM: there is no memory. The graphs must outlive the result.
dq_status dq_match_layers(dq_layer_comparison *result, const dq_graph *reference, const dq_graph *candidate,
                          bool by_names, const dq_context *context, dq_arena *arena, dq_error *error);

#endif
