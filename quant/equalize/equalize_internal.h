// Sites of equalization in a graph, shared by finding, measuring and scaling.
#ifndef DQ_QUANT_EQUALIZE_INTERNAL_H
#define DQ_QUANT_EQUALIZE_INTERNAL_H

#include "lib/schedule/infer.h"
#include "quant/equalize/equalize.h"
#include "quant/rewrite/function_numbers.h"

// Channels that must have the same factor are one class: the channels that an addition joins, or a channel in front of
// and behind a Concat. Without such operators each channel of a value is a class.
typedef struct dq_site_value {
  dq_value *value;
  int64_t channels;   // axis 1
  int rank;           // number of dimensions
  const int *classes; // [channels]: the class of each channel, 0 to class_count of the site - 1
} dq_site_value;

// x from a convolution, gate = Sigmoid(x), y = x gate.
typedef struct dq_silu {
  dq_node *conv, *sigmoid;
  int value; // which of the site's values y is
} dq_silu;

// A function of each element that factors do not pass (HardSwish, Gelu), with the numbers around it
// (quant/rewrite/function_numbers.h). A multiplication by channel in front of it divides its argument by the factors,
// one behind it multiplies its result; both run in float with the function.
typedef struct dq_site_function {
  dq_node *node; // its first node, as an argument of the site, or its last one
  int value;     // which of the site's values it reads or computes
} dq_site_function;

typedef struct dq_site {
  int64_t class_count;
  dq_site_value *values; // that are scaled; the first is the one that was asked for
  dq_node **writers;     // Conv, ConvTranspose, BatchNormalization: output 0 is scaled
  dq_node **readers;     // likewise: input 0 is scaled
  dq_node **clips;       // 0...M, within the site
  dq_silu *silus;
  dq_site_function *arguments; // functions that read a value of the site
  dq_site_function *results;   // functions that compute a value of the site
  int value_count, writer_count, reader_count, clip_count, silu_count, argument_count, result_count;
  bool free_readers; // dq_reader_is_free holds for all readers
  bool wide;         // a Clip or Concat is inside, so that the factors depend more on the pictures
  // The only value is the result of a product that only the output head of the network reads; a Mul in float restores
  // the value there.
  bool head;
} dq_site;

// Finds the sites of one indexed graph, which must not change meanwhile; `tensors` are those of dq_infer. The finder
// and all sites that it finds are in the arena. NULL: there is no memory.
typedef struct dq_site_finder dq_site_finder;
dq_site_finder *dq_site_finder_new(const dq_graph *graph, const dq_tensor *tensors, dq_arena *arena);

// Fills *site with the site that contains `value`. The time and the memory are in proportion to the site, not to the
// graph. False: the value cannot be equalized (site->values and value_count then say which values were looked at), or
// there is no memory, which the arena tells.
bool dq_site_find(dq_site *site, dq_site_finder *finder, dq_value *value);
// Does what dq_site_find does for `value`, the result of a convolution in front of the output head; `in_head` is that
// of dq_output_head_values.
bool dq_output_head_site(dq_site *site, dq_site_finder *finder, const bool *in_head, dq_value *value);
// Whether a node is the first one of a function, with the numbers around it, of each element of its first input, the
// same in all channels, that no factor passes.
bool dq_begins_site_function(const dq_node *node);
// Whether a reader has a scale for every channel that it reads: a depthwise convolution in its weight, a normalization
// because it is not quantized.
bool dq_reader_is_free(const dq_site *site, const dq_node *node);
// The element of site->values for a value; NULL: the value does not belong to the site.
const dq_site_value *dq_site_value_of(const dq_site *site, const dq_value *value);
// Whether a node is a Clip from 0 to a known M > 0. The factors of a site (equalize_factors.c) keep scaled channels
// below M.
bool dq_is_rectifying_clip(const dq_node *node);
// The upper bound of a Clip; NAN: it is not a constant.
double dq_clip_bound(const dq_node *clip);

// The extents of the channels of a value on the pictures of one pass, [channels] each.
typedef struct dq_channel_extents {
  double *low, *high; // largest distances from 0 downwards and upwards, both >= 0
  double *power;      // mean of the squares
} dq_channel_extents;

// Computes factors[class_count] of a site. With `share` they balance the ranges of the values and of the weights that
// read them; otherwise only those of the values count. `values` has one element for each site->values, `silus` one for
// each site->silus (the argument of the sigmoid). The arena takes temporary tables. DQ_SYSTEM: there is no memory. In
// equalize_factors.c.
dq_status dq_site_factors(const dq_site *site, const dq_channel_extents *values, const dq_channel_extents *silus,
                          bool share, float *factors, dq_arena *arena, dq_error *error);

#endif
