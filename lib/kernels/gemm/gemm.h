// Matrix products. The rules of pointers, scratch and threads are those of kernel_table.h; the parameters stand in
// forms.h.
#ifndef DQ_KERNELS_GEMM_H
#define DQ_KERNELS_GEMM_H

#include "lib/base/pool.h"
#include "lib/base/status.h"
#include "lib/kernels/table/kernel_table.h"

// DQ_BAD_INPUT when a size is negative, a stride is below its row, or a matrix has 2^53 elements or more,
// gaps between rows counted. depth 0 gives sums of zero.
dq_status dq_gemm_check(const dq_gemm_parameters *parameters, dq_error *error);
// By thread: 192 KiB of B, or one panel of columns where that is more, and sums and products of its columns with a
// few rows; int8 likewise.
size_t dq_gemm_f32_scratch_bytes(const dq_gemm_parameters *parameters, unsigned cpu, int threads);
// B brought once into the order of the kernels, for constant B; depends on columns, depth,
// transpose_b, b_stride and cpu only.
size_t dq_gemm_f32_packed_bytes(const dq_gemm_parameters *parameters, unsigned cpu);
void dq_gemm_f32_pack(const dq_gemm_parameters *parameters, unsigned cpu, const float *b, void *packed);
// packed: from dq_gemm_f32_pack with the same cpu, then b is not read; or NULL, then b is read.
void dq_gemm_f32(const dq_gemm_parameters *parameters, unsigned cpu, const float *a, const float *b, const void *packed,
                 float *out, void *scratch, dq_pool *pool);

dq_status dq_gemm_int8_check(const dq_gemm_int8_parameters *parameters, dq_error *error);
size_t dq_gemm_int8_scratch_bytes(const dq_gemm_int8_parameters *parameters, unsigned cpu, int threads);
size_t dq_gemm_int8_packed_bytes(const dq_gemm_int8_parameters *parameters, unsigned cpu);
// Needs columns, depth, transpose_b, b_stride, b_signed and the zero points of B.
void dq_gemm_int8_pack(const dq_gemm_int8_parameters *parameters, unsigned cpu, const void *b, void *packed);
// requantization NULL: out is int32 sums; else 8 bits with channel = column.
void dq_gemm_int8(const dq_gemm_int8_parameters *parameters, unsigned cpu, const void *a, const void *b,
                  const void *packed, void *out, const dq_requantization *requantization, void *scratch, dq_pool *pool);

#endif
