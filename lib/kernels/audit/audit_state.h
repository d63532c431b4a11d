// The inside of the overflow audit of one convolution: what its definitions and its fast path share (the order of a
// reduction, the forms of a weight), and the state of the fast path. conv_audit.h defines the terms. Functions that
// return a status return DQ_SYSTEM when there is no memory; arrays are in the arena that they take.
#ifndef DQ_KERNELS_AUDIT_STATE_H
#define DQ_KERNELS_AUDIT_STATE_H

#include "lib/base/arena.h"
#include "lib/kernels/audit/audit_proof.h"
#include "lib/kernels/conv/conv.h"
#include "lib/kernels/reference/scalar.h"

typedef struct dq_audit_geometry {
  int64_t channels, out_group; // input and output channels of a group
  int64_t depth;               // taps of one output
} dq_audit_geometry;

// The geometry of a convolution whose parameters have been checked.
static inline dq_audit_geometry dq_audit_geometry_of(const dq_conv_int8_parameters *q) {
  const dq_conv_parameters *p = &q->shape;
  int64_t channels = p->in_channels / p->groups;
  return (dq_audit_geometry){channels, p->out_channels / p->groups, channels * p->kernel_height * p->kernel_width};
}

typedef struct dq_audit_weight {
  int32_t stored;    // as in the file
  int32_t value;     // less its zero point
  int32_t as_signed; // as a signed byte: u8 shifted by 128
} dq_audit_weight;

// The weight of output channel `channel` (of all groups) at input channel `c` of the group and place `k` of the kernel.
// The order of the reduction is: all input channels of place 0, of place 1, ...
static inline dq_audit_weight dq_audit_weight_of(const dq_conv_int8_parameters *q, const dq_audit_geometry *g,
                                                 const uint8_t *weights, int64_t channel, int64_t k, int64_t c) {
  int64_t window = q->shape.kernel_height * q->shape.kernel_width;
  int32_t stored = dq_int8_value(weights[channel * g->depth + c * window + k], q->weight_signed);
  int32_t zero = dq_zero_point(q->weight_zero_points, q->weight_zero_point_count, channel);
  return (dq_audit_weight){stored, stored - zero, stored - (q->weight_signed ? 0 : 128)};
}

// The weight at position `t` of that order.
static inline dq_audit_weight dq_audit_weight_at(const dq_conv_int8_parameters *q, const dq_audit_geometry *g,
                                                 const uint8_t *weights, int64_t channel, int64_t t) {
  return dq_audit_weight_of(q, g, weights, channel, t / g->channels, t % g->channels);
}

// Whether u0 w0 + u1 w1 can leave int16 for some u0 and u1 from 0 to 255; only two weights of one sign can.
static inline bool dq_audit_pair_can_saturate(int32_t w0, int32_t w1) {
  int32_t highest = 255 * ((w0 > 0 ? w0 : 0) + (w1 > 0 ? w1 : 0));
  int32_t lowest = 255 * ((w0 < 0 ? w0 : 0) + (w1 < 0 ? w1 : 0));
  return highest > INT16_MAX || lowest < INT16_MIN;
}

// ---- Planes (audit_planes.c) ----

// Every channel's padded input as unsigned bytes (s8 shifted by 128), split by stride phase: the numbers under
// a tap are a window of out_height x out_width at offsets[tap], [kernel row][kernel column].
typedef struct dq_audit_window_set { // taps whose windows lie in one phase
  int64_t phase;
  int count;
  int64_t taps[DQ_AUDIT_WINDOWS];
} dq_audit_window_set;

typedef struct dq_audit_planes {
  const dq_conv_parameters *shape;
  int64_t height, width; // of one phase
  int64_t bytes;         // of all phases of a channel
  int64_t flat;          // from the first to behind the last number of a window, whose lines lie `width` apart
  int64_t *offsets;
  dq_audit_window_set *sets;
  int set_count;
  int zero; // what stands for 0, and in the padding
  uint8_t flip;
} dq_audit_planes;

// The number of vectors of DQ_AUDIT_VECTOR numbers that hold `count` numbers.
static inline int64_t dq_audit_vectors(int64_t count) { return (count + DQ_AUDIT_VECTOR - 1) / DQ_AUDIT_VECTOR; }
// Vectors of one phase.
static inline int64_t dq_audit_phase_vectors(const dq_audit_planes *p) {
  return dq_audit_vectors(p->height * p->width);
}
// Bytes of the planes of all channels.
static inline size_t dq_audit_planes_bytes(const dq_audit_planes *p) {
  return (size_t)(p->shape->in_channels * p->bytes + 2 * DQ_AUDIT_VECTOR); // vectors are read whole
}
// Bytes of the masks of all sets, in the form of dq_audit_windows.masks.
static inline size_t dq_audit_masks_bytes(const dq_audit_planes *p) {
  return (size_t)(p->set_count * dq_audit_phase_vectors(p) * DQ_AUDIT_WINDOWS * DQ_AUDIT_VECTOR);
}

// Fills *planes with the layout of the padded planes of an input, of which dq_audit_expand writes one channel: a phase
// has the elements of one row and one column modulo the strides, so that the window of a tap is contiguous within its
// rows. `parameters`, which have been checked (dq_conv_int8_plan), must outlive `planes`; the arrays, with an element
// for each place of the kernel, are in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_audit_planes_new(dq_audit_planes *planes, const dq_conv_int8_parameters *parameters, dq_arena *arena,
                              dq_error *error);
// Writes the padded planes of one channel of `input` (an image, C x H x W) to `to`, of planes->bytes bytes.
void dq_audit_expand(const dq_audit_planes *planes, const uint8_t *input, int64_t channel, uint8_t *to);
// Fills the masks of all sets, of dq_audit_masks_bytes bytes: 1 for the numbers that lie in a window, else 0.
void dq_audit_fill_masks(const dq_audit_planes *planes, uint8_t *masks);
// Fills the mask of one window that begins at 0, of dq_audit_vectors(planes->flat) vectors of DQ_AUDIT_VECTOR bytes.
void dq_audit_fill_mask(const dq_audit_planes *planes, uint8_t *mask);

enum { DQ_AUDIT_LEVELS = 256 }; // numbers that an unsigned byte can have

// The intervals of input bytes (as unsigned, 0 to 255) whose products with a weight fit int8, without repetition:
// interval i has the bytes from bound from_bound[i] of dq_audit_bounds to below bound to_bound[i]: bound 0 lies below
// all bytes, bound `count` + 1 above all. There are fewer than 255 bounds, because 127 / w and 128 / w have 44
// different whole parts, on either side of 0, and once more for raw products.
typedef struct dq_audit_intervals {
  uint8_t *from_bound, *to_bound; // `count` ends as indices of bounds
  int count;                      // of intervals
  bool from_any;   // some interval begins above byte 0; otherwise the bytes outside are those that reach `to`
  uint8_t *by_tap; // [group][tap][output channel of the group]: the index of the interval of the weight, or,
                   // when from_any is false, its to_bound
} dq_audit_intervals;

typedef struct dq_audit_bounds {
  uint8_t of[DQ_AUDIT_LEVELS];        // the bounds 1 to `count`, ascending; kernels read beyond them
  int count;                          // of bounds
  int64_t channels, out_group, depth; // of a group (dq_audit_geometry)
  dq_audit_intervals values, stored;  // of weights less their zero point; of stored weights, with raw products only
} dq_audit_bounds;

// Input channels that a thread counts at once, and elements of the counts of one window.
enum { DQ_AUDIT_PLANES = 8, DQ_AUDIT_COUNTS = DQ_AUDIT_LEVELS + 64 };

// ---- Frames (audit_frames.c) ----

// The faster way where each window is the whole plane without a few rows and columns at its edges, and padding.
enum { DQ_AUDIT_EDGES = 12 }; // the largest number of these rows and columns
typedef struct dq_audit_frame {
  bool fits; // else the rest is not set
  int64_t height, width;
  int top, left, rows, columns; // the most lines a window lacks: before, and on both sides
  uint8_t flip, zero;           // of the input's bytes; in the padding, flipped
  dq_audit_trim *trims;         // by tap
} dq_audit_frame;

typedef struct dq_audit_lines {                            // of one plane: how many numbers reach each bound
  uint32_t counts[(1 + DQ_AUDIT_EDGES) * DQ_AUDIT_COUNTS]; // of all, of rows, of columns
  uint8_t corners[DQ_AUDIT_EDGES * DQ_AUDIT_EDGES / 4];
} dq_audit_lines;

// Fills *frame; frame->fits says whether this way applies to the convolution.
dq_status dq_audit_frame_new(dq_audit_frame *frame, const dq_conv_int8_parameters *parameters, dq_arena *arena,
                             dq_error *error);
size_t dq_audit_frame_bytes(const dq_audit_frame *frame); // bytes of the scratch of dq_audit_count_frame
// Counts in *lines how many numbers of `plane`, one channel of the input, of its edge rows and of its edge columns
// reach each bound. `count` is the kernel that counts.
void dq_audit_count_frame(const dq_audit_frame *frame, const dq_audit_bounds *bounds, const uint8_t *plane,
                          dq_audit_reached_function *count, uint8_t *scratch, dq_audit_lines *lines);
// Computes counts[windows][DQ_AUDIT_COUNTS] of the taps first to first + windows - 1 from *lines, by the kernel `trim`.
void dq_audit_trim_frame(const dq_audit_frame *frame, const dq_audit_bounds *bounds, const dq_audit_lines *lines,
                         int64_t first, int windows, dq_audit_trims_function *trim, uint32_t *counts);

// ---- Products (audit_products.c) ----

typedef struct dq_audit_product_scratch {
  uint32_t counts[DQ_AUDIT_PLANES * DQ_AUDIT_WINDOWS * DQ_AUDIT_COUNTS];
  uint32_t outside[DQ_AUDIT_WINDOWS * DQ_AUDIT_LEVELS]; // of intervals
  dq_audit_lines lines;
  uint32_t totals[]; // by output channel of a group; behind them the scratch of a frame
} dq_audit_product_scratch;

// Finds intervals and bounds for weights less their zero point and for stored weights, both [output channel][tap] in
// the order of the reduction; stored NULL: raw products are not counted.
dq_status dq_audit_bounds_new(dq_audit_bounds *bounds, const dq_conv_int8_parameters *parameters, const int16_t *values,
                              const int16_t *stored, dq_arena *arena, dq_error *error);

// ---- One audit ----

struct dq_audit {
  dq_conv_int8_parameters parameters;
  dq_audit_geometry geometry;
  const void *weights;
  const int32_t *bias;
  bool raw, fast, by_blocks;
  unsigned cpu;
  dq_audit_proof *proofs;
  int64_t outputs; // per channel
  dq_audit_planes planes;
  dq_audit_frame frame;
  int16_t *values, *stored; // [channel][tap]
  dq_audit_bounds bounds;
  dq_audit_pair *pairs;         // that can saturate
  int64_t *first_pair;          // by output channel, and the end
  int64_t *positive, *negative; // by output channel: sums of the weights of one sign
  dq_conv_plan plan;
  void *packed;                   // panels: weights of the convolution
  int rows;                       // panels: output channels side by side
  uint32_t *running;              // panels: [group][block][depth][rows]
  dq_audit_block_weights *blocks; // by blocks: [group][16 channels]
};

// The workspace of a thread, and where its parts begin, in bytes from its start.
typedef struct dq_audit_workspace {
  dq_audit_counts *counts;  // by output channel
  uint64_t *products, *raw; // by output channel
  dq_audit_product_scratch *product_scratch;
  char *sums; // of panels or blocks
} dq_audit_workspace;
typedef struct dq_audit_workspace_layout {
  size_t products, raw, product_scratch, sums, bytes; // bytes: of all; counts begin at 0
} dq_audit_workspace_layout;

typedef struct dq_audit_run_state {
  const dq_audit *a;
  const uint8_t *input;
  uint8_t *planes, *masks, *mask;
  bool expanded;           // `planes` are filled
  int32_t lowest, highest; // smallest and largest x, padding included
  uint8_t *most;           // by input channel: the largest number as unsigned, padding included
  dq_audit_pair *pairs;    // that can saturate with this input
  int64_t *first_pair;     // by output channel, and the end
  char *workspaces;        // one for each thread
  dq_audit_workspace_layout layout;
  char *sums; // of panels or blocks, shared by all threads
  dq_audit_pairs_function *count_pairs;
} dq_audit_run_state;

// A number of bytes, rounded up to the alignment of kernels.
static inline size_t dq_audit_aligned(size_t bytes) {
  return (bytes + DQ_KERNEL_ALIGNMENT - 1) / DQ_KERNEL_ALIGNMENT * DQ_KERNEL_ALIGNMENT;
}
// The parts of the workspace of a thread.
static inline dq_audit_workspace dq_audit_workspace_of(const dq_audit_run_state *run, int thread) {
  char *at = run->workspaces + (size_t)thread * run->layout.bytes;
  return (dq_audit_workspace){.counts = (dq_audit_counts *)(void *)at,
                              .products = (uint64_t *)(void *)(at + run->layout.products),
                              .raw = (uint64_t *)(void *)(at + run->layout.raw),
                              .product_scratch = (dq_audit_product_scratch *)(void *)(at + run->layout.product_scratch),
                              .sums = at + run->layout.sums};
}

// Adds to products[out_channels], and to raw[out_channels] with raw products, the number of products that leave int8 in
// the input channels first to first + count - 1; count <= DQ_AUDIT_PLANES. Where the frame does not fit, run->planes
// and run->masks are filled. `scratch` has dq_audit_product_scratch_bytes; threads may count other channels at the same
// time, each with scratch, products and raw of its own.
void dq_audit_count_products(const dq_audit_run_state *run, int64_t first, int64_t count,
                             dq_audit_product_scratch *scratch, uint64_t *products, uint64_t *raw);
size_t dq_audit_product_scratch_bytes(const dq_audit *audit);

// Whether a running sum of output channel `channel` (of all groups) could leave int16 with inputs between the smallest
// and the largest one of this image, r->lowest (<= 0) and r->highest (>= 0), padding included. False is a proof.
static inline bool dq_audit_can_leave_int16(const dq_audit_run_state *r, int64_t channel) {
  int64_t positive = r->a->positive[channel], negative = r->a->negative[channel];
  return positive * r->highest + negative * r->lowest > INT16_MAX ||
         positive * r->lowest + negative * r->highest < INT16_MIN;
}

// Stores the bounds [*from, *to] of a sum for which sum + bias is in [low, high]; *from > *to: there is no such sum.
static inline void dq_audit_bias_bounds(int64_t bias, int64_t low, int64_t high, int32_t *from, int32_t *to) {
  low -= bias;
  high -= bias;
  bool none = low > INT32_MAX || high < INT32_MIN;
  *from = none ? INT32_MAX : (int32_t)(low < INT32_MIN ? INT32_MIN : low);
  *to = none ? INT32_MIN : (int32_t)(high > INT32_MAX ? INT32_MAX : high);
}

// ---- Sums and running sums by panels (audit_panels.c) or by blocks (audit_blocks.c) ----
// _new packs the weights into the fields of *audit for this way. _workspace_bytes are bytes of the workspace of one
// thread, _scratch_bytes bytes that all threads share, both of an audit that _new has prepared. _run counts the sums of
// one image in the workspaces of the threads.
dq_status dq_audit_panels_new(dq_audit *audit, dq_arena *arena, dq_error *error);
size_t dq_audit_panels_workspace_bytes(const dq_audit *audit);
size_t dq_audit_panels_scratch_bytes(const dq_audit *audit, int threads);
void dq_audit_panels_run(const dq_audit_run_state *run, dq_pool *pool);

// Whether blocks apply: there is a kernel, the sizes are large enough, and weights and proofs fit its integers.
bool dq_audit_blocks_fit(const dq_audit *audit);
dq_status dq_audit_blocks_new(dq_audit *audit, dq_arena *arena, dq_error *error);
size_t dq_audit_blocks_workspace_bytes(const dq_audit *audit);
size_t dq_audit_blocks_scratch_bytes(const dq_audit *audit);
// False: too many outputs need a look tap by tap, so that panels are faster, and nothing was counted.
bool dq_audit_blocks_run(const dq_audit_run_state *run, dq_pool *pool);

#endif
