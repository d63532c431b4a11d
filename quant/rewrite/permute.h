// An order of channels in which few neighbouring weights are both large, so that safe pairs (quant/numeric/blocks.h)
// cost little accuracy. The weights of the products that compute and that read a value are permuted in the same way, so
// that the network computes the same.
#ifndef DQ_QUANT_PERMUTE_H
#define DQ_QUANT_PERMUTE_H

#include "lib/schedule/infer.h"
#include "lib/graph/graph.h"

// A value whose channels (axis 1) have another order now.
typedef struct dq_permuted_value {
  const char *value; // its name
  int64_t channels;
  const int64_t *order; // [channels]: channel c was channel order[c] before
} dq_permuted_value;

// Orders that were chosen for a graph, so that copies of it need not choose them again.
typedef struct dq_channel_orders {
  dq_arena *arena;  // where the orders are stored
  int64_t **orders; // by set of channels (quant/rewrite/channels.h), each like dq_permuted_value.order or NULL (not
                    // permuted); the array itself is NULL until orders are chosen
} dq_channel_orders;

// Pairs up the channels of every value whose order is free (quant/rewrite/channels.h), and permutes weights and biases
// of the graph accordingly. The matching is greedy and then improved by exchanging partners. Its cost is the sum of the
// squared excess over a safe pair, of neighbouring weights of one sign in all products that read the value, at the
// scale of the largest weight. `shapes` as for dq_infer. `known` (NULL: none) receives the orders when known->orders is
// NULL; otherwise its orders are applied. *values (in the arena, *count elements) lists the values whose order changed.
// Statuses as dq_infer; DQ_SYSTEM: there is no memory.
dq_status dq_permute_for_pairs(dq_graph *graph, const dq_shape_request *shapes, dq_channel_orders *known,
                               const dq_permuted_value **values, int *count, dq_arena *arena, const dq_context *context,
                               dq_error *error);

#endif
