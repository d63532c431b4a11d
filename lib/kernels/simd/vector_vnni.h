// Vector operations in which bodies are written (lib/kernels/simd/vector.h), for AVX-512 VNNI.
#ifndef DQ_KERNELS_VECTOR_VNNI_H
#define DQ_KERNELS_VECTOR_VNNI_H

#include "lib/kernels/simd/vector_avx512.h"

// Words of four bytes, b unsigned, a signed: the sum of four products, without saturation.
#define U8S8_TILE_ROWS 14
static inline __m512i u8s8_values(const void *p) { return i32_load(p); }
static inline __m512i u8s8_weight(const void *p) { return i32_broadcast(p); }
static inline __m512i u8s8_dot(__m512i sum, __m512i b, __m512i a) { return _mm512_dpbusd_epi32(sum, b, a); }

// Words of two int16: the sum of two products.
#undef I16_TILE_ROWS
#define I16_TILE_ROWS 14
static inline __m512i i16_dot_vnni(__m512i sum, __m512i b, __m512i a) { return _mm512_dpwssd_epi32(sum, b, a); }
#define i16_dot i16_dot_vnni

#endif
