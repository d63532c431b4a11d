// Sites of equalization in a graph, shared by finding, measuring and scaling.
#ifndef DQ_QUANT_EQUALIZE_INTERNAL_H
#define DQ_QUANT_EQUALIZE_INTERNAL_H

#include "lib/schedule/infer.h"
#include "quant/rewrite/equalize.h"

// Channels that must have one factor are one class: those that an addition joins, or a channel
// before and behind a Concat. Without such joints the classes of a value are its channels.
typedef struct dq_site_value {
  dq_value *value;
  int64_t channels;
  const int *classes; // [channel], below class_count of the site
} dq_site_value;

// x from a convolution, gate = Sigmoid(x), y = x gate.
typedef struct dq_silu {
  dq_node *conv, *sigmoid;
  int value; // which of the site's values y is
} dq_silu;

typedef struct dq_site {
  int64_t class_count;
  dq_site_value *values; // that are scaled; the first is the one that was asked for
  dq_node **writers;     // Conv, ConvTranspose, BatchNormalization: output 0 is scaled
  dq_node **readers;     // likewise: input 0 is scaled
  dq_node **clips;       // 0...M, within the site
  dq_silu *silus;
  int value_count, writer_count, reader_count, clip_count, silu_count;
  bool free_readers; // all are
  bool wide;         // a Clip or Concat is within: the factors are more of the pictures' making
  bool head;         // the only value is a product's that nothing but the network's head reads, which takes
                     // the factors back in float
} dq_site;

// The site that holds `value`; false when there is none. `tensors` as from dq_infer; arrays in the
// arena.
bool dq_site_find(dq_site *site, const dq_graph *graph, const dq_tensor *tensors, dq_value *value, dq_arena *arena);
// The site of a convolution's result that is in the head (quant/rewrite/head.h) of the network.
bool dq_head_find(dq_site *site, const dq_graph *graph, const dq_tensor *tensors, const bool *in_head, dq_value *value,
                  dq_arena *arena);
// Whether a reader has a scale of its own for every channel it reads: a depthwise convolution in its
// weight, a normalization because it is not quantized.
bool dq_reader_is_free(const dq_site *site, const dq_node *node);
// Of a value of the site; NULL: it is not one.
const dq_site_value *dq_site_value_of(const dq_site *site, const dq_value *value);
// Whether a node is a Clip from 0 to a known M > 0. In a site, scaled channels must stay below M (equalize_factors.c
// sees to that).
bool dq_is_rectifying_clip(const dq_node *node);
// The upper bound of a Clip.
double dq_clip_bound(const dq_node *clip);

// What one pass over pictures saw of a value, per channel.
typedef struct dq_channel_extents {
  double *low, *high; // how far it reaches below and above 0, both >= 0
  double *power;      // mean square
} dq_channel_extents;

// Factors of a site, [class_count]; `share`: with weights that lose by them. `values` and `silus` (the convolutions'
// results) are what was seen of the site's values and of its SiLUs' arguments. In equalize_factors.c.
dq_status dq_site_factors(const dq_site *site, const dq_channel_extents *values, const dq_channel_extents *silus,
                          bool share, float *factors, dq_arena *arena, dq_error *error);

#endif
