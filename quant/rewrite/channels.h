// Which channels of the values of a network may change their order without changing what the network computes: those
// for which every operator that computes, passes on or reads them can be reordered too.
#ifndef DQ_QUANT_CHANNELS_H
#define DQ_QUANT_CHANNELS_H

#include "lib/base/arena.h"
#include "lib/graph/graph.h"
#include "lib/ops/table/product.h"

// Channels that must keep one order wherever they appear.
typedef struct dq_channel_set {
  int64_t count; // of channels
  bool fixed;    // the order cannot change, because something reads the channels by their place; of a set that was
                 // joined to another one, see dq_channel_set_root
  int joined;    // index of the set that this one was joined to; its own index: to none
} dq_channel_set;

// Consecutive channels (axis 1) of a value, which are all channels of one set.
typedef struct dq_channel_part {
  int set;       // index in dq_channel_map.sets; see dq_channel_set_root
  int64_t first; // the first of these channels in the value
} dq_channel_part;

typedef struct dq_value_channels {
  dq_channel_part *parts; // one, or several behind a Concat
  int count;              // 0: the channels of the value are not known
} dq_value_channels;

typedef struct dq_channel_map {
  dq_channel_set *sets;
  int set_count, set_capacity; // used and allocated elements of `sets`
  dq_value_channels *values;   // by value index
} dq_channel_map;

// Fills *map for the graph; everything is in the arena. `tensors` are those of dq_infer. Products with constant weights
// (but dq_is_widely_shared) and biases can be reordered; depthwise convolutions, activations, pools, and additions and
// multiplications of values of the same shape pass an order on. DQ_BAD_INPUT: the graph has a cycle; DQ_SYSTEM: there
// is no memory.
dq_status dq_channel_map_find(dq_channel_map *map, const dq_graph *graph, const dq_tensor *tensors, dq_arena *arena,
                              dq_error *error);

// Follows `joined` from the set with index `set` (0 to map->set_count - 1) to the set that was joined to none, and
// returns the index of that one. Only its `fixed` and `count` are valid for all sets that were joined to it. Takes time
// in proportion to the number of joins on the way.
int dq_channel_set_root(const dq_channel_map *map, int set);

// Whether the node is a product that reads its whole input for every output channel, so that the orders of its input
// and output channels are free: a convolution without groups or a product with one matrix, with constant float32 weight
// and bias. *product then describes the product.
bool dq_node_mixes_channels(const dq_node *node, dq_product *product);
// Whether the node is a convolution with one filter for each channel. *product then describes the product.
bool dq_node_is_depthwise(const dq_node *node, dq_product *product);

#endif
