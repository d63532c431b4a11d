// The counts of the overflow audit of one convolution (conv_audit.h defines the terms), and the proofs, which need no
// data.
#ifndef DQ_KERNELS_AUDIT_PROOF_H
#define DQ_KERNELS_AUDIT_PROOF_H

#include "lib/kernels/reference/forms.h"

typedef struct dq_audit dq_audit; // conv_audit.h

// Counts of one output channel. A run adds to them; begin with DQ_AUDIT_NOTHING.
typedef struct dq_audit_counts {
  uint64_t product, product_raw;     // overflows among depth * outputs products
  uint64_t sum16, running16, bias16; // outputs whose sum, running sum, or sum with bias leaves int16
  uint64_t sum32, running32, bias32; // likewise for int32
  uint64_t pair;                     // saturated pairs among ceil(depth / 2) * outputs pairs
  int64_t lowest, highest;           // smallest and largest whole sum that occurred, without bias
} dq_audit_counts;
#define DQ_AUDIT_NOTHING ((dq_audit_counts){.lowest = INT64_MAX, .highest = INT64_MIN})

// Adds the counts of `from` to *to, and widens its lowest and highest.
void dq_audit_counts_add(dq_audit_counts *to, const dq_audit_counts *from);

// The width in bits of the narrowest integer in two's complement that holds both; at least 1.
int dq_audit_bits(int64_t lowest, int64_t highest);

// What the weights and the type of the input allow at worst, for one output channel. No running sum can leave [lowest,
// highest], because the range of every product contains 0.
typedef struct dq_audit_proof {
  int64_t lowest, highest; // sum over taps of min and max of (w a, w b), where [a, b] is the range of x
  int64_t bias;            // 0: there is none
  bool pair;               // some pair can saturate
  bool pair_any_order;     // the two largest weights of one sign could saturate as a pair in some order of channels
} dq_audit_proof;

// Whether a running sum, or a whole sum with its bias, can leave int32.
bool dq_audit_can_leave_int32(const dq_audit_proof *proof);

// Computes proofs[out_channels]. `weights` are OIHW; bias[out_channels], or NULL: none.
void dq_audit_prove(const dq_conv_int8_parameters *parameters, const void *weights, const int32_t *bias,
                    dq_audit_proof *proofs);

// The largest number of neighbouring products, at most all of a sum, such that the sum of every block of that length,
// in all channels, provably fits int16. `weights` are OIHW. 0: a single product can leave int16.
int64_t dq_audit_longest_block(const dq_conv_int8_parameters *parameters, const void *weights);

// Computes the definitions by plain loops with 64-bit sums in one thread and adds to counts[out_channels]; to
// product_raw only with `raw`. `input` is one image, C x H x W. For tests of dq_audit_run.
void dq_audit_reference(const dq_conv_int8_parameters *parameters, const void *weights, const int32_t *bias, bool raw,
                        const void *input, dq_audit_counts *counts);

#endif
