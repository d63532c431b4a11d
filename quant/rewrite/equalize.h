// Cross-layer equalization: channels of a value are scaled to like ranges by the convolutions that
// write it, and scaled back by the convolutions that read it. Neutral in float, so that one scale
// per tensor loses less in 8 bits (Nagel et al., "Data-Free Quantization Through Weight
// Equalization and Bias Correction", 2019; here the ranges are observed, not bounded).
#ifndef DQ_QUANT_EQUALIZE_H
#define DQ_QUANT_EQUALIZE_H

#include "calib/calib.h"
#include "lib/graph/graph.h"

// Values that must be scaled together, because additions or operators that keep the scale join
// them.
typedef struct dq_equalize_site {
  const char *value;    // one of them, which convolutions read
  int64_t channels;     // of the value; with Concat and Split, of everything that must be scaled alike
  const float *factors; // every channel is multiplied by its own, > 0 and finite
} dq_equalize_site;

typedef struct dq_equalization {
  const dq_equalize_site *sites;
  int count;
} dq_equalization;

// Which sites: those whose readers have a scale of their own per channel (depthwise convolutions and
// normalizations: nothing is lost), or all, where the range is shared between value and weight.
typedef enum dq_equalize_scope {
  DQ_EQUALIZE_NONE,
  DQ_EQUALIZE_DEPTHWISE,
  DQ_EQUALIZE_NARROW, // all but those that run through Clip or Concat
  DQ_EQUALIZE_ALL,
  DQ_EQUALIZE_FULL, // all, and the range is the value's alone
} dq_equalize_scope;

// What was seen of values on pictures, by name, so that other scopes need not look again.
typedef struct dq_equalize_memory dq_equalize_memory;

// Empty, in the arena, where what is seen goes too; NULL: no memory.
dq_equalize_memory *dq_equalize_memory_new(dq_arena *arena);

// Finds the sites of a graph, with `heads` also those of its head (quant/rewrite/head.h), and the factors from the
// ranges seen on the pictures of `what` (its graph, shapes, data, first, pictures; names are ignored). Batch
// normalizations should be folded before. `memory` (NULL: none) is of the same graph or copies of it and of the same
// pictures; what it lacks is seen for all scopes at once. Everything else goes into the arena.
dq_status dq_equalize_measure(dq_equalization *equalization, const dq_observation *what, dq_equalize_scope scope,
                              bool heads, dq_equalize_memory *memory, dq_arena *arena, const dq_context *context,
                              dq_error *error);

dq_status dq_equalization_copy(dq_equalization *copy, const dq_equalization *equalization, dq_arena *arena,
                               dq_error *error);

// A value that no longer stands for itself: what of the graph before it equals, NULL: nothing.
typedef struct dq_restated {
  const char *value, *original;
} dq_restated;

// Scales weights and biases; what a head reads is multiplied back. `shapes` as for dq_infer. Through x Sigmoid(x)
// (SiLU) by a multiplication of the sigmoid's argument. *restated (in the arena) lists the values whose meaning
// changed. DQ_BAD_INPUT names a site that the graph does not have.
dq_status dq_equalize_apply(dq_graph *graph, const dq_equalization *equalization, const dq_shape_request *shapes,
                            dq_arena *arena, const dq_restated **restated, int *restated_count,
                            const dq_context *context, dq_error *error);

#endif
