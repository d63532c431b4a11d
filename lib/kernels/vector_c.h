// The vector operations of winograd_body.h for any machine: a vector of one word.
#ifndef DQ_KERNELS_VECTOR_C_H
#define DQ_KERNELS_VECTOR_C_H

#include <math.h>

#include "lib/kernels/kernels_internal.h"

#define V_WORDS 1
typedef float f32_vector;

static inline float f32_set(float x) {
  return x;
}
static inline float f32_load(const void *p) {
  return *(const float *)p;
}
static inline void f32_store(void *p, float x) {
  *(float *)p = x;
}
static inline float f32_load_some(const void *p, int count) {
  return count > 0 ? *(const float *)p : 0.0f;
}
static inline void f32_store_some(void *p, float x, int count) {
  if (count > 0) *(float *)p = x;
}
typedef bool f32_lanes;
static inline bool f32_lanes_between(int64_t first, int64_t end) {
  return first <= 0 && end > 0;
}
static inline float f32_load_lanes(const float *p, bool lanes) {
  return lanes ? *p : 0.0f;
}
static inline void f32_store_lanes(float *p, float x, bool lanes) {
  if (lanes) *p = x;
}
static inline float f32_dot(float sum, float b, float a) {
  return fmaf(b, a, sum);
}
static inline float f32_plus(float a, float b) {
  return a + b;
}
static inline float f32_minus(float a, float b) {
  return a - b;
}
static inline float f32_bounded(float x, float low, float high) {
  x = low > x ? low : x;
  return high < x ? high : x;
}
static inline float f32_leaky(float x, float alpha) {
  return x < 0.0f ? alpha * x : x;
}
static inline float f32_even(float low, float high) {
  return (void)high, low;
}
static inline float f32_odd(float low, float high) {
  return (void)low, high;
}
static inline void f32_merge_2(const float x[2]) {
  (void)x; // side by side as they are
}

#endif
