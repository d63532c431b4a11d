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
//                      one at the end with 0: the pairs that vpmaddubsw saturates, which multiplies
//                      unsigned by signed bytes and adds two products in int16. u is the input as
//                      unsigned (s8 shifted by 128), w the weight as signed (u8 shifted by 128).
// Padding holds the input's zero point, so its x is 0.
#ifndef DQ_KERNELS_CONV_AUDIT_H
#define DQ_KERNELS_CONV_AUDIT_H

#include "lib/base/arena.h"
#include "lib/base/pool.h"
#include "lib/base/status.h"
#include "lib/kernels/audit/audit_proof.h"

// Prepares the audit of one image of a convolution (batch must be 1). `weights` are OIHW, `bias` is [out_channels] or
// NULL (none). With `raw` products of stored numbers are counted too; otherwise product_raw stays 0. *audit is in the
// arena; weights, bias and zero points must live as long. DQ_BAD_INPUT as dq_conv_int8_plan; DQ_SYSTEM: there is no
// memory.
dq_status dq_audit_new(dq_audit **audit, const dq_conv_int8_parameters *parameters, const void *weights,
                       const int32_t *bias, bool raw, unsigned cpu, dq_arena *arena, dq_error *error);
// The proofs, by output channel; in the arena of the audit.
const dq_audit_proof *dq_audit_proofs(const dq_audit *audit);
// Bytes of the scratch of dq_audit_run with `threads` threads.
size_t dq_audit_scratch_bytes(const dq_audit *audit, int threads);
// Counts one image, `input` of C x H x W bytes, and adds to counts[out_channels]. `scratch` has dq_audit_scratch_bytes
// for at least the threads of `pool`; both obey the rules of kernel_table.h. The counts do not depend on the
// instruction set and the number of threads. A network under audit takes 2 to 8 times the processor time of a plain run
// (docs/NUMERICS.md); a convolution whose sums may leave int32 goes by the definition, one step for each product in one
// thread.
void dq_audit_run(const dq_audit *audit, const void *input, dq_audit_counts *counts, void *scratch, dq_pool *pool);

#endif
