// Mixed precision without data: every node gets a category, and those that lose little accuracy compute in float16.
#ifndef DQ_QUANT_AMP_H
#define DQ_QUANT_AMP_H

#include "lib/graph/graph.h"
#include "lib/ops/table/operator.h"
#include "lib/schedule/infer.h"
#include "quant/amp/policy.h"

enum { DQ_AMP_INPUT_MAX = 255 }; // default of the largest magnitude of the inputs: bytes of pictures

typedef struct dq_amp_options {
  bool half_io;            // converts inputs and outputs of the model to float16 too
  bool nearest;            // rounds every weight to the nearest float16; else balanced rounding is used
  bool unguarded;          // switches the guard off: nodes become float16 also where a value may pass 65504
  double input_max;        // largest magnitude of the inputs; 0: DQ_AMP_INPUT_MAX
  const dq_policy *policy; // categories that replace those of the operator table; NULL: none
  // Names of operators that get this category, whatever the table and the policy say. Of an operator in several lists
  // the last of these lists counts.
  const char *const *allow, *const *follow, *const *deny;
  int allow_count, follow_count, deny_count;
  const char *const *deny_nodes; // shell patterns on node names
  int deny_node_count;
  // Labels of nodes (names, or names of their first outputs). These nodes are ALLOW, all others FOLLOW or DENY, and the
  // lists of operators do not count. NULL: there is no such list.
  const char *const *only;
  int only_count;
  dq_shape_request shapes; // of inputs that the model leaves open; used for the bytes of casts
} dq_amp_options;

typedef struct dq_amp_node {
  const char *name, *op_type;
  dq_category category;
  bool half;          // computed in float16
  bool neutral;       // computes with no floats (shapes, indices)
  bool guarded;       // in float32 because of the guard alone
  bool unlisted;      // neither the table, the policy nor an option has a category for the operator
  const char *reason; // of the precision, for people
} dq_amp_node;

typedef struct dq_amp_report {
  dq_amp_node *nodes; // in the order of the graph; owned by the arena of the graph
  int count, halves;  // nodes; those of them that compute in float16
  // Names of the values that exist in float16, because they are computed so or cast for a float16 node. Constants do
  // not count. The values have the same names in the graph before the conversion.
  const char **half_values;
  int half_value_count;
  int guarded; // nodes that the guard keeps in float32
  // Computed values that fit float16 by an interval, by an estimate, and those without a finite bound.
  int proven, estimated, unbounded;
  int casts;            // Cast nodes that were inserted
  int64_t cast_bytes;   // bytes that these read and write in one run with batch 1; a value of unknown size has 65,536
                        // elements
  bool sizes_unknown;   // an input leaves its size open, so that cast_bytes is of no use
  int64_t weights;      // elements stored in float16
  int64_t lost_to_zero; // those of them that became zero
  int64_t not_nearest;  // those of them that balanced rounding did not round to the nearest
  int64_t kept_weights; // elements that are still stored in float32
  const char *keeper;   // the operator that reads most of kept_weights; NULL: there are none
  bool probed;          // the network ran on noise, so that noise_sqnr is valid
  double noise_sqnr;    // SQNR of the outputs in dB on noise with float16 weights and all else in float32; of the mean
                        // noise-to-signal ratio of both kinds of noise
  bool nothing_to_do;   // the graph has no float32 to convert
} dq_amp_report;

// Converts a graph to mixed precision. ALLOW nodes become float16, DENY nodes stay float32, and FOLLOW nodes get the
// precision with which casts move the fewest bytes (docs/NUMERICS.md). A node with a finite constant that float16
// rounds to infinity (65520 and more in magnitude) stays float32. Constants are converted here, not in a run; all
// readers of a value share one Cast. After a failure the graph may only be freed. DQ_USAGE: a name or pattern of the
// options fits no node; DQ_BAD_INPUT: the graph is broken; DQ_SYSTEM: there is no memory.
dq_status dq_amp_convert(dq_graph *graph, const dq_amp_options *options, dq_amp_report *report,
                         const dq_context *context, dq_error *error);
// Does what dq_amp_convert does, and records the step in the origin of the model (lib/document/origin.h).
dq_status dq_amp_apply(dq_graph *graph, const dq_amp_options *options, dq_amp_report *report, const dq_context *context,
                       dq_error *error);

#endif
