#include "calib/elements.h"

#include <math.h>

#include "lib/kernels/array/array.h"

dq_extremes dq_extremes_of(const float *values, int64_t count, unsigned cpu) {
  dq_range range = dq_find_range(cpu, values, count);
  dq_extremes result = {range.minimum, range.maximum, 0};
  if (!range.nans && range.minimum > -INFINITY && range.maximum < INFINITY) return result;
  result = (dq_extremes){INFINITY, -INFINITY, 0};
  for (int64_t i = 0; i < count; i++) {
    result.not_finite += !isfinite(values[i]);
    if (!isfinite(values[i])) continue;
    result.low = fminf(result.low, values[i]);
    result.high = fmaxf(result.high, values[i]);
  }
  return result;
}

dq_element_sums dq_element_sums_of(const float *values, int64_t count, unsigned cpu) {
  double sums[2];
  dq_find_moments(cpu, values, count, sums);
  return (dq_element_sums){sums[0], sums[1]};
}

// ---- Planes ----

typedef struct planes {
  const dq_tensor *tensor;
  int64_t count; // elements of a plane
  unsigned cpu;
  dq_plane_work *work;
  void *argument;
} planes;

static void each_of_channel(void *argument, int64_t channel, int thread) {
  (void)thread;
  const planes *p = argument;
  const float *plane = (const float *)p->tensor->data + channel * p->count;
  for (int64_t n = 0; n < p->tensor->dims[0]; n++, plane += p->tensor->dims[1] * p->count)
    p->work(p->argument, channel, plane, p->count, p->cpu);
}

void dq_each_plane(const dq_context *context, const dq_tensor *tensor, dq_plane_work *work, void *argument) {
  enum { WORTH_THREADS = 1 << 16 };
  planes p = {tensor, dq_tensor_product(tensor, 2, tensor->rank), context ? context->cpu : 0, work, argument};
  dq_pool *pool = context && dq_tensor_count(tensor) >= WORTH_THREADS ? context->pool : NULL;
  dq_pool_run(pool, tensor->dims[1], each_of_channel, &p);
}
