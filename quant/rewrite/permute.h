// Channels in an order in which few neighbouring weights are large together, so that safe pairs
// (blocks.h) cost little. Weights of the products that write and read a value are permuted alike, which
// changes nothing of what the network computes.
#ifndef DQ_QUANT_PERMUTE_H
#define DQ_QUANT_PERMUTE_H

#include "lib/schedule/infer.h"
#include "lib/graph/graph.h"

// A value whose channels (axis 1) have another order now.
typedef struct dq_permuted_value {
  const char *value;
  int64_t channels;
  const int64_t *order; // channel c is what was channel order[c]
} dq_permuted_value;

// Orders chosen before for the same graph, kept so that they need not be chosen again.
typedef struct dq_channel_orders {
  dq_arena *arena;
  int64_t **orders; // by set of channels (channels.h), NULL: as it is; the array NULL: not chosen yet
} dq_channel_orders;

// Pairs up the channels of every value whose order is free (channels.h) by a greedy matching, improved
// by exchanging partners, of least cost: the squared weights, in all products that read the value, by
// which neighbours of one sign go beyond a safe pair at the scale of the largest weight. `shapes` as for
// dq_infer. `known` (NULL: none) is filled when it is empty, taken otherwise. *values are in the arena.
dq_status dq_permute_for_pairs(dq_graph *graph, const dq_shape_request *shapes, dq_channel_orders *known,
                               const dq_permuted_value **values, int *count, dq_arena *arena, const dq_context *context,
                               dq_error *error);

#endif
