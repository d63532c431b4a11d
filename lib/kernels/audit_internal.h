// What the definitions and the fast path of the audit share: the order of a reduction and the forms
// of a weight.
#ifndef DQ_KERNELS_AUDIT_INTERNAL_H
#define DQ_KERNELS_AUDIT_INTERNAL_H

#include "lib/base/arena.h"
#include "lib/kernels/kernels_internal.h"

typedef struct dq_audit_geometry {
  int64_t channels, out_group; // input and output channels of a group
  int64_t depth;               // taps of one output
} dq_audit_geometry;

static inline dq_audit_geometry dq_audit_geometry_of(const dq_conv_int8_parameters *q) {
  const dq_conv_parameters *p = &q->shape;
  int64_t channels = p->in_channels / p->groups;
  return (dq_audit_geometry){channels, p->out_channels / p->groups,
                             channels * p->kernel_height * p->kernel_width};
}

typedef struct dq_audit_weight {
  int32_t stored;    // as in the file
  int32_t value;     // less its zero point
  int32_t as_signed; // as a signed byte: u8 shifted by 128
} dq_audit_weight;

// The weight of an output channel at input channel `c` and place `k` of the kernel. The order of the
// reduction is: all input channels of place 0, of place 1, ...
static inline dq_audit_weight dq_audit_weight_of(const dq_conv_int8_parameters *q,
                                                 const dq_audit_geometry *g, const uint8_t *weights,
                                                 int64_t channel, int64_t k, int64_t c) {
  int64_t window = q->shape.kernel_height * q->shape.kernel_width;
  int32_t stored = dq_int8_value(weights[channel * g->depth + c * window + k], q->weight_signed);
  int32_t zero = dq_zero_point(q->weight_zero_points, q->weight_zero_point_count, channel);
  return (dq_audit_weight){stored, stored - zero, stored - (q->weight_signed ? 0 : 128)};
}

// Tap t in that order.
static inline dq_audit_weight dq_audit_weight_at(const dq_conv_int8_parameters *q,
                                                 const dq_audit_geometry *g, const uint8_t *weights,
                                                 int64_t channel, int64_t t) {
  return dq_audit_weight_of(q, g, weights, channel, t / g->channels, t % g->channels);
}

// u0 w0 + u1 w1 with u up to 255: above 32767 or below -32768 needs both weights of one sign.
static inline bool dq_audit_pair_can_saturate(int32_t w0, int32_t w1) {
  int32_t highest = 255 * ((w0 > 0 ? w0 : 0) + (w1 > 0 ? w1 : 0));
  int32_t lowest = 255 * ((w0 < 0 ? w0 : 0) + (w1 < 0 ? w1 : 0));
  return highest > INT16_MAX || lowest < INT16_MIN;
}

// ---- Products by histogram (audit_products.c) ----

enum {
  DQ_AUDIT_LEVELS = 256,
  DQ_AUDIT_STRIPES = 4, // histograms side by side: increments of one class need not wait for each other
};

// Every channel's padded input less its zero point, split by stride phase: the values under a tap are a
// window of out_height x out_width at offsets[tap], [kernel row][kernel column].
typedef struct dq_audit_planes {
  int64_t height, width; // of one phase
  int64_t words;         // of all phases of a channel
  int64_t out_height, out_width;
  int64_t *offsets;
} dq_audit_planes;

// Inputs [from, to) whose products fit int8, as classes (levels 0..255 at first).
typedef struct dq_audit_interval {
  uint16_t from, to;
} dq_audit_interval;

typedef struct dq_audit_intervals {
  dq_audit_interval of[DQ_AUDIT_LEVELS]; // without repetition
  int count;
  uint8_t *by_tap; // [group][tap][channel of the group]: the number of the weight's interval
} dq_audit_intervals;

typedef struct dq_audit_classes {
  uint8_t class_of[DQ_AUDIT_LEVELS]; // by level of the input
  int count;
  int32_t lowest; // the value of level 0
  int64_t out_group;
  dq_audit_intervals values, stored; // stored: with raw products only
} dq_audit_classes;

typedef struct dq_audit_histogram {
  uint32_t counts[DQ_AUDIT_STRIPES][DQ_AUDIT_LEVELS];
} dq_audit_histogram;

// values, stored: [output channel][tap] in the order of the reduction; stored NULL: no raw products.
dq_status dq_audit_classes_new(dq_audit_classes *classes, const dq_conv_int8_parameters *parameters,
                               const int16_t *values, const int16_t *stored, dq_arena *arena,
                               dq_error *error);

// Adds to products (and raw) of the group's output channels what leaves int8 under the taps of one input
// channel, whose plane is given. Weights of its k-th place of the kernel are at first_weight + k * tap_weights.
void dq_audit_classes_count(const dq_audit_classes *classes, const dq_audit_planes *planes,
                            const int16_t *plane, int64_t taps, int64_t first_weight, int64_t tap_weights,
                            dq_audit_histogram *histogram, uint64_t *products, uint64_t *raw);

#endif
