// The interface over the references, until the packed kernels take over.
#include "lib/kernels/kernels_internal.h"

#include <string.h>

size_t dq_gemm_f32_scratch_bytes(const dq_gemm_parameters *p, unsigned cpu, int threads) {
  (void)p, (void)cpu, (void)threads;
  return 64;
}
static size_t stored_b(int64_t depth, int64_t columns, bool transposed, int64_t stride) {
  return (size_t)((transposed ? columns : depth) * stride);
}
size_t dq_gemm_f32_packed_bytes(const dq_gemm_parameters *p, unsigned cpu) {
  (void)cpu;
  return stored_b(p->depth, p->columns, p->transpose_b, p->b_stride) * 4;
}
void dq_gemm_f32_pack(const dq_gemm_parameters *p, unsigned cpu, const float *b, void *packed) {
  memcpy(packed, b, dq_gemm_f32_packed_bytes(p, cpu));
}
void dq_gemm_f32(const dq_gemm_parameters *p, unsigned cpu, const float *a, const float *b,
                 const void *packed, float *out, void *scratch, dq_pool *pool) {
  (void)cpu, (void)scratch, (void)pool;
  dq_gemm_f32_reference(p, a, packed ? packed : b, out);
}
size_t dq_gemm_int8_scratch_bytes(const dq_gemm_int8_parameters *p, unsigned cpu, int threads) {
  (void)p, (void)cpu, (void)threads;
  return 64;
}
size_t dq_gemm_int8_packed_bytes(const dq_gemm_int8_parameters *p, unsigned cpu) {
  (void)cpu;
  return stored_b(p->depth, p->columns, p->transpose_b, p->b_stride);
}
void dq_gemm_int8_pack(const dq_gemm_int8_parameters *p, unsigned cpu, const void *b, void *packed) {
  memcpy(packed, b, dq_gemm_int8_packed_bytes(p, cpu));
}
void dq_gemm_int8(const dq_gemm_int8_parameters *p, unsigned cpu, const void *a, const void *b,
                  const void *packed, void *out, const dq_requantization *requantization, void *scratch,
                  dq_pool *pool) {
  (void)cpu, (void)scratch, (void)pool;
  dq_gemm_int8_reference(p, a, packed ? packed : b, out, requantization);
}
