// How far the outputs of one model are from another's.
#include <math.h>
#include <stdlib.h>

#include "lib/eval/task_internal.h"

static void add_pair(dq_comparison *it, double reference, double other) {
  if (!isfinite(reference) || !isfinite(other)) {
    it->nonfinite++;
    return;
  }
  double difference = reference - other;
  it->signal += reference * reference;
  it->noise += difference * difference;
  it->product += reference * other;
  it->other += other * other;
  if (fabs(difference) > it->largest) it->largest = fabs(difference);
  it->values++;
}

void dq_comparison_add_values(dq_comparison *it, const float *reference, const float *other,
                              int64_t count) {
  for (int64_t i = 0; i < count; i++) add_pair(it, (double)reference[i], (double)other[i]);
}

static int64_t first_largest(const float *values, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; i++)
    if (values[i] > values[best]) best = i;
  return best;
}

dq_status dq_comparison_add(dq_comparison *it, const dq_tensor *reference, const dq_tensor *other,
                            int64_t item, dq_error *error) {
  char a[DQ_SHAPE_TEXT], b[DQ_SHAPE_TEXT];
  int64_t count = item < 0 ? dq_tensor_count(reference) : dq_item_count(reference);
  if (count != (item < 0 ? dq_tensor_count(other) : dq_item_count(other)))
    return dq_fail(error, DQ_BAD_INPUT, "an output is %s, the reference's %s",
                   dq_tensor_shape_text(other, b, sizeof b),
                   dq_tensor_shape_text(reference, a, sizeof a));
  int64_t from = item < 0 ? 0 : item * count, best = 0, other_best = 0;
  if (reference->type == DQ_F32 && other->type == DQ_F32) {
    const float *x = (const float *)reference->data + from, *y = (const float *)other->data + from;
    dq_comparison_add_values(it, x, y, count);
    it->pictures++;
    it->agree += first_largest(x, count) == first_largest(y, count);
    return DQ_OK;
  }
  for (int64_t i = 0; i < count; i++) {
    double x = dq_tensor_get(reference, from + i), y = dq_tensor_get(other, from + i);
    add_pair(it, x, y);
    if (x > dq_tensor_get(reference, from + best)) best = i;
    if (y > dq_tensor_get(other, from + other_best)) other_best = i;
  }
  it->pictures++;
  it->agree += best == other_best;
  return DQ_OK;
}

double dq_comparison_sqnr(const dq_comparison *it) {
  if (!it->values && !it->nonfinite) return NAN; // nothing was compared
  if (it->noise == 0) return INFINITY;
  return 10 * log10(it->signal / it->noise);
}

double dq_comparison_cosine(const dq_comparison *it) {
  double norm = sqrt(it->signal) * sqrt(it->other);
  if (norm == 0) return it->signal == it->other;
  return it->product / norm;
}

double dq_comparison_agreement(const dq_comparison *it) {
  return it->pictures ? 100.0 * (double)it->agree / (double)it->pictures : 100;
}
