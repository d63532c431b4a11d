#include "calib/elements.h"

#include <math.h>

enum { LANES = 8, WIDE = 32 }; // fewer floats are not made vectors of

static int64_t count_not_finite(const float *values, int64_t count) {
  enum { BLOCK = 4096 };
  int64_t all = 0;
  for (int64_t first = 0; first < count; first += BLOCK) {
    int here = 0, some = count - first < BLOCK ? (int)(count - first) : BLOCK;
    for (int i = 0; i < some; i++) here += !(fabsf(values[first + i]) < INFINITY);
    all += here;
  }
  return all;
}

// Elements that are finite all.
static void find_extremes(const float *values, int64_t count, dq_extremes *result) {
  float low[WIDE], high[WIDE];
  int64_t i = 0;
  for (int k = 0; k < WIDE; k++) low[k] = INFINITY, high[k] = -INFINITY;
  for (; i + WIDE <= count; i += WIDE)
    for (int k = 0; k < WIDE; k++) {
      float x = values[i + k];
      low[k] = x < low[k] ? x : low[k];
      high[k] = x > high[k] ? x : high[k];
    }
  for (; i < count; i++) {
    low[0] = values[i] < low[0] ? values[i] : low[0];
    high[0] = values[i] > high[0] ? values[i] : high[0];
  }
  for (int k = 0; k < WIDE; k++) {
    result->low = low[k] < result->low ? low[k] : result->low;
    result->high = high[k] > result->high ? high[k] : result->high;
  }
}

dq_extremes dq_extremes_of(const float *values, int64_t count) {
  dq_extremes result = {INFINITY, -INFINITY, count_not_finite(values, count)};
  if (!result.not_finite) find_extremes(values, count, &result);
  for (int64_t i = 0; result.not_finite && i < count; i++) {
    if (!isfinite(values[i])) continue;
    result.low = fminf(result.low, values[i]);
    result.high = fmaxf(result.high, values[i]);
  }
  return result;
}

static double total(const double *lanes) {
  double sum = 0;
  for (int k = 0; k < LANES; k++) sum += lanes[k];
  return sum;
}

double dq_sum_of(const float *values, int64_t count) {
  double lanes[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int k = 0; k < LANES; k++) lanes[k] += (double)values[i + k];
  for (; i < count; i++) lanes[i % LANES] += (double)values[i];
  return total(lanes);
}

double dq_power_of(const float *values, int64_t count) {
  double lanes[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int k = 0; k < LANES; k++) lanes[k] += (double)values[i + k] * (double)values[i + k];
  for (; i < count; i++) lanes[i % LANES] += (double)values[i] * (double)values[i];
  return total(lanes);
}
