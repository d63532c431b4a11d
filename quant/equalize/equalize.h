// Cross-layer equalization: the convolutions that compute a value scale its channels so that their ranges are similar,
// and the convolutions that read the value scale them back. The float network computes the same, and one scale for the
// whole value loses less in 8 bits (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
// Correction", 2019; here the ranges are observed, not bounded by the weights).
#ifndef DQ_QUANT_EQUALIZE_H
#define DQ_QUANT_EQUALIZE_H

#include "calib/calib.h"
#include "lib/graph/graph.h"

// Values that must be scaled together, because additions or operators that keep the scale join
// them.
typedef struct dq_equalize_site {
  const char *value; // name of one of them, which convolutions read
  int64_t channels;  // number of factors: the channels of the value, or with Concat and Split the classes of channels
                     // that must have the same factor (dq_site.class_count)
  const float *factors; // [channels], by which the channels are multiplied; > 0 and finite
} dq_equalize_site;

typedef struct dq_equalization {
  const dq_equalize_site *sites;
  int count;
} dq_equalization;

// Which sites are equalized.
typedef enum dq_equalize_scope {
  DQ_EQUALIZE_NONE,
  DQ_EQUALIZE_DEPTHWISE, // those whose readers have a scale for each channel (depthwise convolutions, normalizations),
                         // so that their weights lose nothing
  DQ_EQUALIZE_NARROW,    // all but those with a Clip or Concat inside
  DQ_EQUALIZE_ALL,       // all; the factors balance the ranges of the value and of the weights that read it
  DQ_EQUALIZE_FULL,      // all; the factors make the ranges of the channels of the value equal, whatever the weights
} dq_equalize_scope;

// The ranges of channels that were observed on pictures, by the name of the value, so that other scopes need no run.
typedef struct dq_equalize_memory dq_equalize_memory;

// An empty memory; the arena owns it and everything that is stored in it. NULL: there is no memory.
dq_equalize_memory *dq_equalize_memory_new(dq_arena *arena);

// Finds the sites of a graph, with `heads` also those in front of its output head (quant/rewrite/output_head.h), and
// their factors from the ranges on the pictures of `what` (its graph, shapes, data, first and pictures; names are
// ignored). Batch normalizations should be folded before. `memory` (NULL: none) must be of the same graph or copies of
// it and of the same pictures or the first ones of them; what it lacks is observed, by the first caller for all scopes
// in one run, and stored there.
// *equalization is in the arena; its names belong to the graph, which does not change. Statuses as dq_infer and
// dq_observe.
dq_status dq_equalize_measure(dq_equalization *equalization, const dq_observation *what, dq_equalize_scope scope,
                              bool heads, dq_equalize_memory *memory, dq_arena *arena, const dq_context *context,
                              dq_error *error);

// Observes for `memory`, in the runs of another observation `what` (of its graph, shapes, first and pictures; batch
// normalizations should be folded), all values that any scope may need: *listener is to be in its dq_observation.also,
// and dq_equalize_watched is called when it has run. A listener with count 0 is of no use: there are no sites, these
// pictures are known, or memory is scarce. The first pictures are added at once. Others are stored, and added by
// dq_equalize_measure when all before them were observed, so that the order of additions is that of the pictures; they
// take 8 (3 channels + 2) bytes for a value and a picture. Once each, before anything is measured. Statuses as
// dq_infer.
dq_status dq_equalize_watch(dq_equalize_memory *memory, dq_listener *listener, const dq_observation *what,
                            const dq_context *context, dq_error *error);
void dq_equalize_watched(dq_equalize_memory *memory, const dq_listener *listener, const dq_observation *what);

// Copies all of *equalization, also names and factors, into the arena. DQ_SYSTEM: there is no memory.
dq_status dq_equalization_copy(dq_equalization *copy, const dq_equalization *equalization, dq_arena *arena,
                               dq_error *error);

// A value that a rewrite changed: `original` names the value of the graph before the rewrite that it equals now; NULL:
// none does.
typedef struct dq_restated {
  const char *value, *original;
} dq_restated;

// Multiplies weights and biases of the graph by the factors. In front of an output head a Mul restores the value;
// through x Sigmoid(x) (SiLU) a Mul restores the argument of the sigmoid. `shapes` as for dq_infer. *restated (in the
// arena, *restated_count elements) lists the values that changed. DQ_BAD_INPUT names a site that the graph does not
// have, as of a table of another network; also statuses of dq_infer. After a failure the graph can only be freed.
dq_status dq_equalize_apply(dq_graph *graph, const dq_equalization *equalization, const dq_shape_request *shapes,
                            dq_arena *arena, const dq_restated **restated, int *restated_count,
                            const dq_context *context, dq_error *error);

#endif
