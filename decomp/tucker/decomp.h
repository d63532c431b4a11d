// Decomposition of a network's convolutions: what commands and programs call.
#ifndef DQ_DECOMP_DECOMP_H
#define DQ_DECOMP_DECOMP_H

#include "datasets/datasets.h"
#include "decomp/ranks/ranks.h"
#include "lib/base/context.h"
#include "lib/schedule/infer.h"

// The ranks of one layer, as a settings file gives them.
typedef struct dq_layer_ranks {
  const char *layer; // name of the convolution; of one without a name, that of its output
  dq_ranks ranks;    // of one group
} dq_layer_ranks;

// What was measured of a network on data before ranks are chosen: response errors at all ranks, and how much each layer
// counts for the outputs (measured at half of the multiply-accumulates). It is stored from one dq_tucker_apply to the
// next ones with the same graph, data and options; only macs_share may differ. _new returns NULL when there is no
// memory.
typedef struct dq_tucker_analysis dq_tucker_analysis;
dq_tucker_analysis *dq_tucker_analysis_new(void);
void dq_tucker_analysis_free(dq_tucker_analysis *analysis); // NULL is allowed

// An option that changes what a search tries belongs into the key of its trials as well
// (decomp/search/tucker_search.c).
typedef struct dq_tucker_options {
  dq_rank_rule rule;
  double parameter; // of the rule, in (0, 1] ([0, 1] for vbmf)
  int64_t multiple; // ranks are rounded up to a multiple of this; 1: unchanged
  // The share, in (0, 1), of its multiply-accumulates that the whole model may have at most; ranks are chosen for this
  // share in place of the rule. 0: the rule.
  double macs_share;
  // Decomposes exactly these layers at exactly these ranks, in place of the rule. NULL: the rule.
  const dq_layer_ranks *layers;
  int layer_count;
  // False: of a convolution that only a batch normalization reads, output channels are weighted by the factors of the
  // normalization, in the decomposition and in its energies.
  bool plain;
  // Pictures to which the factors are fitted; batch normalization behind convolutions is then folded first. NULL: the
  // factors come from the weights alone.
  dq_data *data;
  int64_t pictures;             // factors are fitted to the first so many of data; 0, or more than there are: to all
  int64_t batch;                // pictures that one run takes; 0: 1. The result is the same.
  dq_tucker_analysis *analysis; // with data and macs_share: the first call fills it, later ones read it; NULL: none
  // Leaves layers as they are unless a measurement on this machine shows that they become faster (not with given
  // ranks). The ranks of the report give the same model again without measuring.
  bool never_slower;
  // Decomposes the other layers too, where the layers that become faster cannot reach macs_share, which a warning
  // reports. False: only layers that become faster are decomposed, as far as that goes. Needs never_slower.
  bool bound_first;
  bool matrices;                  // decompose also Gemm and MatMul with constant matrices
  bool refine;                    // repeat the decomposition until the factors at these ranks get no better
  bool force;                     // decompose also where neither multiply-accumulates nor parameters become fewer
  const dq_shape_request *shapes; // sizes that the inputs leave open; NULL: none
  const dq_context *context;      // may be NULL
} dq_tucker_options;

// The result for one layer.
typedef struct dq_tucker_layer {
  const char *name;             // as in dq_layer_ranks
  char reason[120];             // why the layer stays as it is; "": it was decomposed
  int64_t dims[4];              // output channels, input channels of a group, kernel height, kernel width; 0: not known
  int64_t group;                // number of groups
  dq_ranks full;                // full ranks of the unfoldings; 0: not computed
  dq_ranks ranks;               // the chosen ranks of one group; the number of channels where a mode stays whole
  double energy_out, energy_in; // dq_mode_energy at the ranks, 0 to 1
  double error;                 // relative error of the stored factors in the Frobenius norm
  double time_before, time_after; // seconds of the layer alone, with never_slower; 0: not measured
  double time_ratio, time_most;   // time ratio after / before, measured in turns, and the upper end of its confidence
                                  // interval of at least 97 % (dq_block_ratio_of)
  double response_error;          // with data: dq_fit_cross.error; else 0
  // Names of the nodes that replaced the layer and of their weights, in the order tucker_in, tucker_core, tucker_out;
  // NULL where a mode stays whole, and all NULL for a layer that stays as it is.
  const char *nodes[3], *factors[3];
  bool macs_known;            // false: the shape of the output is not known, and macs of both costs are 0
  dq_conv_cost before, after; // equal for a layer that stays as it is
} dq_tucker_layer;

typedef struct dq_tucker_report {
  dq_tucker_layer *layers; // all Conv and ConvTranspose nodes (with `matrices` also Gemm and MatMul), in the order of
                           // the graph; in the arena of the graph
  int count, decomposed;   // number of layers, and of those that were decomposed
  // Multiply-accumulates of all operators and elements of all float initializers of the model.
  dq_conv_cost model_before, model_after;
  bool macs_known;       // false: those of some operator are not known, and macs of both costs are 0
  const char *uncounted; // name or first output of the first such operator; NULL: there is none, or sizes are open
} dq_tucker_report;

// Why nothing was decomposed, as a part of a sentence: the reason that all layers have, or where reasons stand. Valid
// as long as the report.
const char *dq_tucker_unchanged(const dq_tucker_report *report);

// Replaces the Conv nodes of a document graph by Tucker-2 factors:
//   1x1 (i -> r_in); kernel with the original strides, pads, dilations (r_in -> r_out); 1x1
//   (r_out -> o) with the bias, all three grouped where the original is,
// the last one producing the same value as the original. New nodes and initializers are called
// LAYER/tucker_in, LAYER/tucker_core, LAYER/tucker_out (with a number where that is taken). A
// weight that several convolutions share is decomposed for each (stored once for equal ranks) and
// taken out of the graph when nothing else uses it.
//
// These layers stay as they are, with the reason in the report: 1x1 kernels, depthwise convolutions, kernels of one or
// three dimensions, weights that are not float32 constants, stored or computed from constants, layers at full rank in
// both modes, and (without `force`) decompositions that would lower neither multiply-accumulates nor parameters. A mode
// whose 1x1 convolution costs more than it saves stays whole, which has a lower error at a lower cost.
//
// Multiply-accumulates come from inferred shapes, else from declared ones. Where neither are known, the strides decide
// whether a decomposition gains.
//
// The result does not depend on the number of threads. After a failure the graph can only be freed. DQ_BAD_INPUT: a
// weight (named in the message) holds NaN or infinity, or given ranks are out of range or name no convolution;
// DQ_USAGE: an option is out of its range; DQ_CONDITION: macs_share cannot be reached; DQ_UNSUPPORTED: dq cannot run a
// node on the data; DQ_SYSTEM: there is no memory; DQ_CANCELLED.
dq_status dq_tucker_apply(dq_graph *graph, const dq_tucker_options *options, dq_tucker_report *report, dq_error *error);

#endif
