// Choices of nodes to leave in float, of which no other one has both fewer multiply-accumulates in float and less
// noise.
#ifndef DQ_QUANT_FLOAT_FRONT_H
#define DQ_QUANT_FLOAT_FRONT_H

#include "quant/search/sensitivity.h"

typedef struct dq_float_rung {
  const int *nodes; // indices into dq_sensitivity.nodes, each once
  int count;
  double macs;  // of these nodes, as a share of those of all nodes, 0 to 1
  double bytes; // of the weights of these nodes, likewise
} dq_float_rung;

// Ascending in what is left in float.
typedef struct dq_float_ladder {
  dq_float_rung *rungs; // [count]
  int count;
} dq_float_ladder;

// The rung of nodes[count], which must outlive it. Shares are 0 where all nodes have none.
dq_float_rung dq_float_rung_of(const dq_sensitivity *found, const int *nodes, int count);

enum { DQ_FLOAT_FRONT_PLACES = 256 };

// Finds the front of all choices of nodes by the dynamic programming of dq-mix (mix_front.h), and takes rungs from it.
// `found` is a result of dq_sensitivity_measure with `ranking`. Noises are taken to add up: those of the weights of
// products in 8 bits, and those of results with a node in 8 bits around them. A node in float costs its share of the
// multiply-accumulates and a sixteenth of its share of the nodes, so that nodes without any are not left in float for
// nothing.
//
// A choice is as far up as the mean of two shares: that of 25 dB which its noise is below that of all nodes in 8 bits,
// and that of the cost of the choice with the least noise. The rungs are the first choices at or behind each of
// DQ_FLOAT_FRONT_PLACES places with equal steps between them, that with the least noise, and all nodes; not the one
// that leaves nothing in float. The arena owns the ladder.
// DQ_UNSUPPORTED: more results than can be searched are written and read across one place of the network; DQ_SYSTEM:
// there is no memory.
dq_status dq_float_front_find(dq_float_ladder *ladder, const dq_sensitivity *found, dq_arena *arena, dq_error *error);

#endif
