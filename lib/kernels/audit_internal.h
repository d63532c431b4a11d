// What the definitions and the fast path of the audit share: the order of a reduction and the forms
// of a weight.
#ifndef DQ_KERNELS_AUDIT_INTERNAL_H
#define DQ_KERNELS_AUDIT_INTERNAL_H

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

#endif
