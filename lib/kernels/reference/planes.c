// Sums over planes in plain C.
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/shards.h"

void dq_plane_sums_c(const dq_planes *p, double totals[2]) {
  const float mean = p->mean;
  totals[0] = totals[1] = 0;
  for (int64_t n = 0; n < p->planes; n++) {
    const float *x = p->x + n * p->step, *y = p->kind == DQ_PLANE_PRODUCTS ? p->y + n * p->step : NULL;
    if (p->kind == DQ_PLANE_SUM) DQ_LANE_SUM(float, p->elements, x[i], totals[0]);
    if (p->kind == DQ_PLANE_SQUARES) DQ_LANE_SUM(float, p->elements, (x[i] - mean) * (x[i] - mean), totals[0]);
    if (!y) continue;
    DQ_LANE_SUM(float, p->elements, (x[i] - mean) * y[i], totals[0]);
    DQ_LANE_SUM(float, p->elements, y[i], totals[1]);
  }
}
