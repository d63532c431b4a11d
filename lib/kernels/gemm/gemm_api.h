// Matrix products. The rules of pointers, scratch and threads are those of kernel_table.h; the parameters stand in
// forms.h.
#ifndef DQ_KERNELS_GEMM_API_H
#define DQ_KERNELS_GEMM_API_H

#include "lib/base/pool.h"
#include "lib/base/status.h"
#include "lib/kernels/table/kernel_table.h"

// ---- float32 ----
// DQ_BAD_INPUT: a size is negative, a stride is below the length of its row, or a matrix has 2^53 elements or more,
// with the gaps between rows. depth 0 is allowed and gives sums of zero.
dq_status dq_gemm_check(const dq_gemm_parameters *parameters, dq_error *error);
// Bytes of the scratch of a product: for each thread 192 KiB of B, or one panel of columns where that is more, and sums
// and products of these columns with a few rows.
size_t dq_gemm_f32_scratch_bytes(const dq_gemm_parameters *parameters, unsigned cpu, int threads);
// Packing of a constant B, once for many products: the bytes that `packed` needs, and the packing itself. Both depend
// on columns, depth, transpose_b, b_stride and cpu only.
size_t dq_gemm_f32_packed_bytes(const dq_gemm_parameters *parameters, unsigned cpu);
void dq_gemm_f32_pack(const dq_gemm_parameters *parameters, unsigned cpu, const float *b, void *packed);
// Computes the product of checked parameters. `packed` comes from dq_gemm_f32_pack with the same cpu, and b is not read
// (may be NULL); or it is NULL, and b is read.
void dq_gemm_f32(const dq_gemm_parameters *parameters, unsigned cpu, const float *a, const float *b, const void *packed,
                 float *out, void *scratch, dq_pool *pool);

// ---- 8 bits: each function does what the function of the same name for float32 does ----
dq_status dq_gemm_int8_check(const dq_gemm_int8_parameters *parameters, dq_error *error);
size_t dq_gemm_int8_scratch_bytes(const dq_gemm_int8_parameters *parameters, unsigned cpu, int threads);
size_t dq_gemm_int8_packed_bytes(const dq_gemm_int8_parameters *parameters, unsigned cpu);
// Reads columns, depth, transpose_b, b_stride, b_signed and the zero points of B.
void dq_gemm_int8_pack(const dq_gemm_int8_parameters *parameters, unsigned cpu, const void *b, void *packed);
// `out` receives int32 sums when `requantization` is NULL, else 8-bit integers; the channel is the column.
void dq_gemm_int8(const dq_gemm_int8_parameters *parameters, unsigned cpu, const void *a, const void *b,
                  const void *packed, void *out, const dq_requantization *requantization, void *scratch, dq_pool *pool);

#endif
