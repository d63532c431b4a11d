// Sums of products of two planes, for several taps at once.
// Sets: avx2 avx512 neon
#include "lib/kernels/simd/vector.h"

enum { PARTS = DQ_TAP_LANES / V_WORDS, MOST = V_WORDS == 16 ? 9 : 5 }; // taps whose sums stay in registers

static inline __attribute__((always_inline)) void add_columns(f32_vector sums[][PARTS], const float *values,
                                                              const float *const *planes, int64_t at, const int taps,
                                                              const f32_lanes *lanes) {
#pragma GCC unroll 2
  for (int p = 0; p < PARTS; p++) {
    const float *from = values + at + p * V_WORDS;
    const f32_vector value = lanes ? f32_load_lanes(from, lanes[p]) : f32_load(from);
#pragma GCC unroll 9
    for (int t = 0; t < taps; t++) {
      const float *plane = planes[t] + at + p * V_WORDS;
      sums[t][p] = f32_dot(sums[t][p], lanes ? f32_load_lanes(plane, lanes[p]) : f32_load(plane), value);
    }
  }
}

static inline __attribute__((always_inline)) void add_taps(const dq_tap_sums *s, int64_t first, const int taps) {
  f32_vector sums[MOST][PARTS];
  f32_lanes rest[PARTS];
  const float *planes[MOST], *values = s->values;
  float *to = s->sums + first * DQ_TAP_LANES;
  const int64_t whole = s->columns / DQ_TAP_LANES * DQ_TAP_LANES, columns = s->columns;
  const int64_t plane_step = s->plane_step, values_step = s->values_step;
#pragma GCC unroll 2
  for (int p = 0; p < PARTS; p++) rest[p] = f32_lanes_between(0, columns - whole - p * V_WORDS);
#pragma GCC unroll 9
  for (int t = 0; t < taps; t++) {
    planes[t] = s->plane + s->offsets[first + t];
#pragma GCC unroll 2
    for (int p = 0; p < PARTS; p++) sums[t][p] = f32_load(to + t * DQ_TAP_LANES + p * V_WORDS);
  }
  for (int64_t row = 0; row < s->rows; row++) {
    for (int64_t at = 0; at < whole; at += DQ_TAP_LANES) add_columns(sums, values, planes, at, taps, NULL);
    if (whole < columns) add_columns(sums, values, planes, whole, taps, rest);
    values += values_step;
#pragma GCC unroll 9
    for (int t = 0; t < taps; t++) planes[t] += plane_step;
  }
#pragma GCC unroll 9
  for (int t = 0; t < taps; t++)
#pragma GCC unroll 2
    for (int p = 0; p < PARTS; p++) f32_store(to + t * DQ_TAP_LANES + p * V_WORDS, sums[t][p]);
}

void DQ_FOR_SET(dq_f32_taps)(const dq_tap_sums *s) {
  int64_t t = 0;
  for (; s->taps - t >= MOST; t += MOST) add_taps(s, t, MOST);
  switch (s->taps - t) {
#if V_WORDS == 16
  case 8: add_taps(s, t, 8); return;
  case 7: add_taps(s, t, 7); return;
  case 6: add_taps(s, t, 6); return;
  case 5: add_taps(s, t, 5); return;
#endif
  case 4: add_taps(s, t, 4); return;
  case 3: add_taps(s, t, 3); return;
  case 2: add_taps(s, t, 2); return;
  case 1: add_taps(s, t, 1); return;
  default: return;
  }
}
