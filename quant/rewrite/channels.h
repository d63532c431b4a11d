// Which channels of a network's values may change places without changing what it computes: where every
// operator that writes, passes on or reads them can follow.
#ifndef DQ_QUANT_CHANNELS_H
#define DQ_QUANT_CHANNELS_H

#include "lib/base/arena.h"
#include "lib/graph/graph.h"
#include "lib/ops/product.h"

// Channels that must keep one order wherever they appear.
typedef struct dq_channel_set {
  int64_t count;
  bool fixed; // something reads them by their place
  int joined; // the set this one was joined to; itself when to none
} dq_channel_set;

// Consecutive channels (axis 1) of a value: all channels of a set.
typedef struct dq_channel_part {
  int set;
  int64_t first;
} dq_channel_part;

typedef struct dq_value_channels {
  dq_channel_part *parts; // one, or several behind a Concat
  int count;              // 0: no channels are known of the value
} dq_value_channels;

typedef struct dq_channel_map {
  dq_channel_set *sets;
  int set_count, set_room;
  dq_value_channels *values; // by value index
} dq_channel_map;

// `tensors` as from dq_infer. Everything in the arena. Weights and biases must be constants of their
// convolutions for these to follow; depthwise convolutions, activations, pools, and additions and
// multiplications of like values pass an order on.
dq_status dq_channel_map_find(dq_channel_map *map, const dq_graph *graph, const dq_tensor *tensors, dq_arena *arena,
                              dq_error *error);

// The set that a set has been joined to.
int dq_channel_set_root(const dq_channel_map *map, int set);

// A product that reads its whole input for every output channel, so that the order of either is free:
// a convolution without groups or a product with one matrix, with constant float32 weight and bias.
bool dq_node_mixes_channels(const dq_node *node, dq_product *product);
// A convolution with one filter per channel.
bool dq_node_is_depthwise(const dq_node *node, dq_product *product);

#endif
