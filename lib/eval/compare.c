// How far the outputs of one model are from another's.
#include <math.h>
#include <stdlib.h>

#include "lib/eval/task_internal.h"

static void add_pair(dq_comparison *comparison, double reference, double other) {
  if (!isfinite(reference)) {
    comparison->left_out++;
    return;
  }
  comparison->values++;
  comparison->signal += reference * reference;
  comparison->noise += dq_squared_error(reference, other);
  double distance = dq_is_broken(reference, other) ? INFINITY : fabs(reference - other);
  if (distance > comparison->largest) comparison->largest = distance;
  if (!isfinite(other)) {
    comparison->nonfinite++;
    return;
  }
  comparison->product += reference * other;
  comparison->other += other * other;
}

void dq_comparison_add_values(dq_comparison *comparison, const float *reference, const float *other, int64_t count) {
  for (int64_t i = 0; i < count; i++) add_pair(comparison, (double)reference[i], (double)other[i]);
}

// Where the first of the largest elements is; NaN is never the largest. -1: all are NaN.
static int64_t first_largest(const dq_tensor *tensor, int64_t from, int64_t count) {
  int64_t best = -1;
  double largest = -INFINITY;
  for (int64_t i = 0; i < count; i++) {
    double value = dq_tensor_get(tensor, from + i);
    if (!(value > largest) && (best >= 0 || isnan(value))) continue;
    best = i, largest = value;
  }
  return best;
}

static bool agrees(const dq_tensor *reference, const dq_tensor *other, int64_t from, int64_t count) {
  int64_t best = first_largest(reference, from, count);
  return best >= 0 && best == first_largest(other, from, count);
}

dq_status dq_comparison_add(dq_comparison *comparison, const dq_tensor *reference, const dq_tensor *other, int64_t item,
                            dq_error *error) {
  char a[DQ_SHAPE_TEXT], b[DQ_SHAPE_TEXT];
  int64_t count = item < 0 ? dq_tensor_count(reference) : dq_item_count(reference);
  if (count != (item < 0 ? dq_tensor_count(other) : dq_item_count(other)))
    return dq_fail(error, DQ_BAD_INPUT,
                   "an output has shape %s, that of the reference has %s; expected equal numbers of elements",
                   dq_tensor_shape_text(other, b, sizeof b), dq_tensor_shape_text(reference, a, sizeof a));
  int64_t from = item < 0 ? 0 : item * count, broken = comparison->nonfinite;
  if (reference->type == DQ_F32 && other->type == DQ_F32)
    dq_comparison_add_values(comparison, (const float *)reference->data + from, (const float *)other->data + from,
                             count);
  else
    for (int64_t i = from; i < from + count; i++)
      add_pair(comparison, dq_tensor_get(reference, i), dq_tensor_get(other, i));
  comparison->pictures++;
  comparison->agree += comparison->nonfinite == broken && agrees(reference, other, from, count);
  return DQ_OK;
}

double dq_comparison_sqnr(const dq_comparison *comparison) {
  if (!comparison->values) return NAN; // nothing was compared
  if (comparison->noise == 0) return INFINITY;
  return 10 * log10(comparison->signal / comparison->noise);
}

double dq_comparison_cosine(const dq_comparison *comparison) {
  if (comparison->nonfinite || !comparison->values) return NAN;
  double norm = sqrt(comparison->signal) * sqrt(comparison->other);
  if (norm == 0) return comparison->signal == comparison->other;
  return comparison->product / norm;
}

double dq_comparison_agreement(const dq_comparison *comparison) {
  return comparison->pictures ? 100.0 * (double)comparison->agree / (double)comparison->pictures : 100;
}
