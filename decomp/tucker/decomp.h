// Decomposition of a network's convolutions: what commands and programs call.
#ifndef DQ_DECOMP_DECOMP_H
#define DQ_DECOMP_DECOMP_H

#include "datasets/datasets.h"
#include "decomp/ranks/ranks.h"
#include "lib/base/context.h"
#include "lib/schedule/infer.h"

// Ranks of one layer as a settings file gives them.
typedef struct dq_layer_ranks {
  const char *layer; // name of the convolution, or of its output when it has none
  dq_ranks ranks;
} dq_layer_ranks;

// What is known of a network on data before ranks are chosen, kept from one dq_tucker_apply to the next
// ones with the same graph, data and options but for macs_share: errors at all ranks, and gains, which
// are measured as for half of the multiply-accumulates. NULL: no memory.
typedef struct dq_tucker_analysis dq_tucker_analysis;
dq_tucker_analysis *dq_tucker_analysis_new(void);
void dq_tucker_analysis_free(dq_tucker_analysis *analysis); // NULL is fine

typedef struct dq_tucker_options {
  dq_rank_rule rule;
  double parameter; // of the rule, in (0, 1] ([0, 1] for vbmf)
  int64_t multiple; // ranks are rounded up to a multiple of this; 1: as they are
  // In (0, 1), instead of the rule: ranks such that the whole model keeps at most this share of its
  // multiply-accumulates. 0: the rule.
  double macs_share;
  // Given ranks instead of the rule: exactly these layers at exactly these ranks. NULL: the rule.
  const dq_layer_ranks *layers;
  int layer_count;
  // Unless `plain`: a convolution that only a batch normalization reads is decomposed, and its
  // energies are measured, with every output channel scaled as that does it (it is no part of the
  // result).
  bool plain;
  // Pictures to fit the factors to; NULL: the weights alone are looked at. Batch normalization behind
  // convolutions is then folded first.
  dq_data *data;
  int64_t batch;                // pictures run at once; 0: 1. The result is the same.
  dq_tucker_analysis *analysis; // with data and macs_share: filled by the first call; NULL: not kept
  // Leaves a layer alone that is not measured to become faster on this machine (not with given
  // ranks). The ranks of the result replay what the clock decided.
  bool never_slower;
  bool matrices;                  // Gemm and MatMul with constant matrices too
  bool refine;                    // iterates until the factors at these ranks get no better
  bool force;                     // also where neither multiply-accumulates nor parameters fall, at the rule's ranks
  const dq_shape_request *shapes; // what is known of the inputs beyond their declarations, or NULL
  const dq_context *context;      // threads, progress, memory bound, stop; may be NULL
} dq_tucker_options;

// What was done to one Conv node, or why nothing.
typedef struct dq_tucker_layer {
  const char *name; // as in dq_layer_ranks
  char reason[120]; // why it was left alone; "" when decomposed
  int64_t dims[4];  // o, i of a group, kernel height, kernel width; zeros when not known
  int64_t group;    // ranks count within a group
  dq_ranks full;    // of the unfoldings, 0 when not computed
  dq_ranks ranks;   // chosen; the channels where a mode stayed whole
  double energy_out, energy_in;
  double error;                   // relative Frobenius error of the stored factors
  double time_before, time_after; // seconds of the layer alone, with never_slower; 0: not measured
  double time_ratio, time_most;   // median of the ratios after / before, measured in turns; upper end of
                                  // its interval of at least 95 % (dq_time_ratio)
  double response_error;          // with data: share of the answers' variance that is missed; else 0
  // Names of the nodes put in its place and of their weights: tucker_in, tucker_core, tucker_out;
  // NULL where a mode stayed whole, and all of them when left alone.
  const char *nodes[3], *factors[3];
  bool macs_known;            // false: macs are 0 because the shape of the layer's output is not known
  dq_conv_cost before, after; // equal when left alone
} dq_tucker_layer;

typedef struct dq_tucker_report {
  dq_tucker_layer *layers; // every Conv (Gemm, MatMul) node in the order of the graph; owned by the graph's arena
  int count, decomposed;
  // The whole model: multiply-accumulates of all operators, elements of all float initializers.
  dq_conv_cost model_before, model_after;
  bool macs_known; // false: of some operator not, and the multiply-accumulates are 0
} dq_tucker_report;

// Replaces the Conv nodes of a document graph by Tucker-2 factors:
//   1x1 (i -> r_in); kernel with the original strides, pads, dilations (r_in -> r_out); 1x1
//   (r_out -> o) with the bias, all three grouped where the original is,
// the last one producing the same value as the original. New nodes and initializers are called
// LAYER/tucker_in, LAYER/tucker_core, LAYER/tucker_out (with a number where that is taken). A
// weight that several convolutions share is decomposed for each (stored once for equal ranks) and
// taken out of the graph when nothing else uses it.
//
// Left alone, with the reason: 1x1 kernels, depthwise convolutions, kernels of one or
// three dimensions, weights that are not constant float32, full rank on both sides, and (without
// `force`) decompositions that would not lower multiply-accumulates and parameters. A mode whose
// 1x1 costs more than it saves stays whole: the error is then lower at a lower cost.
//
// Multiply-accumulates come from inferred shapes, else from declared ones; where neither are known
// the strides still tell whether a decomposition gains.
//
// The result does not depend on the number of threads. On failure the graph may only be freed.
// Errors: DQ_BAD_INPUT for NaN or infinity in a weight (naming the initializer), given ranks that
// are out of range or name no convolution; DQ_USAGE for options; DQ_CANCELLED; DQ_SYSTEM.
dq_status dq_tucker_apply(dq_graph *graph, const dq_tucker_options *options, dq_tucker_report *report, dq_error *error);

#endif
