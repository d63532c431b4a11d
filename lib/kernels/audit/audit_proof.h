// What the audit of one convolution (conv_audit.h, which defines the terms) counts, and what is proved without data.
#ifndef DQ_KERNELS_AUDIT_PROOF_H
#define DQ_KERNELS_AUDIT_PROOF_H

#include "lib/kernels/reference/forms.h"

typedef struct dq_audit dq_audit; // conv_audit.h

// Counts of one output channel. Runs add to them; start from DQ_AUDIT_NOTHING.
typedef struct dq_audit_counts {
  uint64_t product, product_raw;     // of depth * outputs products
  uint64_t sum16, running16, bias16; // of outputs
  uint64_t sum32, running32, bias32; // of outputs
  uint64_t pair;                     // of ceil(depth / 2) * outputs pairs
  int64_t lowest, highest;           // whole sums seen, without bias
} dq_audit_counts;
#define DQ_AUDIT_NOTHING ((dq_audit_counts){.lowest = INT64_MAX, .highest = INT64_MIN})

void dq_audit_counts_add(dq_audit_counts *to, const dq_audit_counts *from);

// Width in bits of the narrowest two's complement integer that holds both; at least 1.
int dq_audit_bits(int64_t lowest, int64_t highest);

// What the weights and the type of the input allow at worst, for one output channel. No prefix of a
// sum can leave [lowest, highest], as every term's range holds 0.
typedef struct dq_audit_proof {
  int64_t lowest, highest; // sum over taps of min and max of (w a, w b), [a, b] the range of x
  int64_t bias;            // 0 without one
  bool pair;               // a pair in order can saturate
  bool pair_any_order;     // the two largest weights of one sign could, whatever the order
} dq_audit_proof;

// Whether a sum, or a whole sum with its bias, can leave int32.
bool dq_audit_can_leave_int32(const dq_audit_proof *proof);

// One proof per output channel. weights are OIHW; bias [out_channels] int32 or NULL.
void dq_audit_prove(const dq_conv_int8_parameters *parameters, const void *weights, const int32_t *bias,
                    dq_audit_proof *proofs);

// The longest block, at most the whole sum, into which the sums of all channels may be cut so that every
// block provably stays within int16. At least 1 unless single products leave it.
int64_t dq_audit_longest_block(const dq_conv_int8_parameters *parameters, const void *weights);

// The definitions as plain loops with 64-bit sums, one thread: adds to counts[out_channels];
// product_raw only when `raw`.
void dq_audit_reference(const dq_conv_int8_parameters *parameters, const void *weights, const int32_t *bias, bool raw,
                        const void *input, dq_audit_counts *counts);

#endif
