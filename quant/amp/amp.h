// Mixed precision without data: categories every node and computes in float16 where that loses little.
#ifndef DQ_QUANT_AMP_H
#define DQ_QUANT_AMP_H

#include "lib/schedule/infer.h"
#include "lib/graph/graph.h"
#include "lib/ops/operator.h"
#include "quant/amp/policy.h"

enum { DQ_AMP_INPUT_MAX = 255 }; // what the inputs are taken to reach: bytes of pictures, as they are

typedef struct dq_amp_options {
  bool half_io;            // inputs and outputs of the model become float16 too
  bool nearest;            // every weight becomes the nearest float16 (else they are rounded so that errors cancel)
  bool unguarded;          // values that may leave float16 become float16 all the same
  double input_max;        // largest magnitude of the inputs; 0: DQ_AMP_INPUT_MAX
  const dq_policy *policy; // categories of the user's own instead of the operator table's; NULL: none
  // Operators by name that take another category than the table's and the policy's; later lists win.
  const char *const *allow, *const *follow, *const *deny;
  int allow_count, follow_count, deny_count;
  const char *const *deny_nodes; // shell patterns on node names
  int deny_node_count;
  // Names of nodes, or of their first outputs where they have none: these are allowed whatever they read,
  // all others follow or are denied, and lists of operators do not count. NULL: no such list.
  const char *const *only;
  int only_count;
  dq_shape_request shapes; // of inputs the model leaves open, for the bytes of casts
} dq_amp_options;

typedef struct dq_amp_node {
  const char *name, *op_type;
  dq_category category;
  bool half;     // computed in float16
  bool neutral;  // has no float to compute with (shapes, indices)
  bool guarded;  // would be float16 but for the guard
  bool unlisted; // no list has a category for the operator
  const char *reason;
} dq_amp_node;

typedef struct dq_amp_report {
  dq_amp_node *nodes; // in the order of the graph; owned by the graph's arena
  int count, halves;
  const char **half_values; // names of the values that exist in float16: computed so, or cast for a float16 node
  int half_value_count;     // constants do not count; the names are also those of the graph before the conversion
  int guarded;              // nodes that the guard keeps in float32
  int proven, estimated, unbounded; // computed values that fit float16 by interval, by estimate; not known
  int casts;                        // Cast nodes written
  int64_t cast_bytes;   // bytes they read and write in one run, batch 1; 65,536 elements where a size is unknown
  bool sizes_unknown;   // an input leaves its size open: cast_bytes mean nothing
  int64_t weights;      // elements stored in float16
  int64_t lost_to_zero; // of them, those that became zero
  int64_t not_nearest;  // of them, those that became the other neighbour so that mean errors cancel
  int64_t kept_weights; // elements that are still stored in float32
  const char *keeper;   // the operator that reads most of these; NULL: there are none
  bool probed;          // noise was run to find these
  double noise_sqnr;  // dB of the outputs then, weights in float16, the rest in float32; from the mean of both noises'
                      // shares
  bool nothing_to_do; // no float32 left to convert
} dq_amp_report;

// Colours: ALLOW nodes become float16, DENY nodes stay float32, FOLLOW nodes become what casts the fewest
// bytes (docs/NUMERICS.md). A node whose constants do not fit float16 (over 65504) stays float32. Constants
// are converted here, once; a Cast is shared by all readers of a value. On failure the graph may only be freed.
// dq_amp_convert does this; dq_amp_apply also writes into the model where its values come from.
dq_status dq_amp_convert(dq_graph *graph, const dq_amp_options *options, dq_amp_report *report,
                         const dq_context *context, dq_error *error);
dq_status dq_amp_apply(dq_graph *graph, const dq_amp_options *options, dq_amp_report *report, const dq_context *context,
                       dq_error *error);

#endif
