// The overflow audit of one 8-bit convolution: how often products, sums and pairs of products leave
// narrow integers, on data (exact counts) and at worst (proofs from the weights and the type alone).
// A matrix product is a 1x1 convolution over its rows: depth as channels, rows as width.
//
// The order of a reduction is (kernel row, kernel column, input channel of the group). With x the
// input less its zero point and w the weight less its own, for every output:
//   product overflow   x * w outside -128..127; raw: the stored numbers q_x * q_w
//   sum overflow       the whole sum, without bias, outside int16 (int32)
//   running overflow   some prefix of the sum outside, counted once per output
//   with bias          the whole sum plus the bias outside
//   pair saturation    u0 w0 + u1 w1 outside int16 for neighbours 2 i, 2 i + 1 in that order, an odd
//                      one at the end with 0: what an instruction that multiplies unsigned by signed
//                      bytes and adds two products in 16 bits clips. u is the input as unsigned (s8
//                      shifted by 128), w the weight as signed (u8 shifted by 128).
// Padding holds the input's zero point, so its x is 0.
#ifndef DQ_KERNELS_CONV_AUDIT_H
#define DQ_KERNELS_CONV_AUDIT_H

#include "lib/base/arena.h"
#include "lib/base/pool.h"
#include "lib/base/status.h"
#include "lib/kernels/reference/forms.h"

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

typedef struct dq_audit dq_audit;

// Prepares the audit of one image of a convolution (batch must be 1); `raw`: count products of stored
// numbers too (product_raw is 0 otherwise). Everything is in the arena; weights, bias and zero
// points must live as long. DQ_BAD_INPUT as dq_conv_int8_plan.
dq_status dq_audit_new(dq_audit **audit, const dq_conv_int8_parameters *parameters, const void *weights,
                       const int32_t *bias, bool raw, unsigned cpu, dq_arena *arena, dq_error *error);
const dq_audit_proof *dq_audit_proofs(const dq_audit *audit); // by output channel
size_t dq_audit_scratch_bytes(const dq_audit *audit, int threads);
// Adds the counts of one image to counts[out_channels]. The same for every instruction set and
// thread count.
void dq_audit_run(const dq_audit *audit, const void *input, dq_audit_counts *counts, void *scratch, dq_pool *pool);

#endif
