// Sums over planes, several planes side by side.
// Sets: avx2 avx512 neon
#include "lib/kernels/simd/vector.h"

#include "lib/kernels/reference/shards.h"

enum { PARTS = DQ_LANES / V_WORDS, SIDE = V_WORDS == 16 ? 4 : 2 }; // planes whose sums stay in registers

// x, (x - mean)^2 or (x - mean) y.
static inline __attribute__((always_inline)) f32_vector term(f32_vector x, f32_vector y, f32_vector mean,
                                                             const int kind) {
  if (kind == DQ_PLANE_SUM) return x;
  const f32_vector difference = f32_minus(x, mean);
  return f32_dot(f32_zero(), difference, kind == DQ_PLANE_SQUARES ? difference : y);
}

// The lanes of a plane, with the elements behind the last whole DQ_LANES, are added in order.
static inline __attribute__((always_inline)) double add_lanes(const f32_vector *sums, const float *x, const float *y,
                                                              int64_t rest, float mean, const int kind, double total) {
  float lanes[DQ_LANES];
#pragma GCC unroll 2
  for (int p = 0; p < PARTS; p++) f32_store(lanes + p * V_WORDS, sums[p]);
  for (int64_t i = 0; i < rest; i++) {
    const float difference = x[i] - mean;
    lanes[i] += kind == DQ_PLANE_SUM ? x[i] : kind == DQ_PLANE_SQUARES ? difference * difference : difference * y[i];
  }
  for (int i = 0; i < DQ_LANES; i++) total += (double)lanes[i];
  return total;
}

static inline __attribute__((always_inline)) void add_planes(const dq_planes *p, int64_t first, const int planes,
                                                             const int kind, double totals[2]) {
  const bool both = kind == DQ_PLANE_PRODUCTS;
  const float *x = p->x + first * p->step, *y = both ? p->y + first * p->step : NULL;
  const int64_t step = p->step, whole = p->elements / DQ_LANES * DQ_LANES;
  const f32_vector mean = f32_set(p->mean);
  f32_vector sums[SIDE][PARTS], others[SIDE][PARTS];
#pragma GCC unroll 4
  for (int n = 0; n < planes; n++)
#pragma GCC unroll 2
    for (int v = 0; v < PARTS; v++) sums[n][v] = others[n][v] = f32_zero();
  for (int64_t at = 0; at < whole; at += DQ_LANES)
#pragma GCC unroll 4
    for (int n = 0; n < planes; n++)
#pragma GCC unroll 2
      for (int v = 0; v < PARTS; v++) {
        const int64_t from = n * step + at + v * V_WORDS;
        const f32_vector other = both ? f32_load(y + from) : f32_zero();
        sums[n][v] = f32_plus(sums[n][v], term(f32_load(x + from), other, mean, kind));
        if (both) others[n][v] = f32_plus(others[n][v], other);
      }
#pragma GCC unroll 4
  for (int n = 0; n < planes; n++) {
    const float *last = x + n * step + whole, *other = both ? y + n * step + whole : NULL;
    totals[0] = add_lanes(sums[n], last, other, p->elements - whole, p->mean, kind, totals[0]);
    if (both) totals[1] = add_lanes(others[n], other, NULL, p->elements - whole, 0, DQ_PLANE_SUM, totals[1]);
  }
}

static inline __attribute__((always_inline)) void add_all(const dq_planes *p, const int kind, double totals[2]) {
  int64_t n = 0;
  totals[0] = totals[1] = 0;
  for (; n + SIDE <= p->planes; n += SIDE) add_planes(p, n, SIDE, kind, totals);
  for (; n < p->planes; n++) add_planes(p, n, 1, kind, totals);
}

void DQ_FOR_SET(dq_plane_sums)(const dq_planes *p, double totals[2]) {
  if (p->kind == DQ_PLANE_SUM) add_all(p, DQ_PLANE_SUM, totals);
  else if (p->kind == DQ_PLANE_SQUARES) add_all(p, DQ_PLANE_SQUARES, totals);
  else add_all(p, DQ_PLANE_PRODUCTS, totals);
}
