// Which pictures give the ranges of trials, and which judge: they take turns over the list, which may be sorted by
// class or in time. The order depends on the number of pictures alone.
#include <stdlib.h>

#include "quant/int8/stages.h"

int64_t dq_evaluated_pictures(int64_t pictures) {
  int64_t half = (pictures + 1) / 2;
  return half < DQ_EVALUATED_PICTURES ? half : DQ_EVALUATED_PICTURES;
}

int64_t dq_trial_pictures(int64_t pictures, int64_t most) {
  int64_t others = pictures - dq_evaluated_pictures(pictures);
  return others < 1 ? pictures : others < most ? others : most;
}

// Picture number i of those that judge.
static int64_t judge_at(int64_t i, int64_t pictures) {
  return (2 * i + 1) * pictures / (2 * dq_evaluated_pictures(pictures));
}

// Picture number i of the others.
static int64_t other_at(int64_t i, int64_t pictures) {
  const int64_t judges = dq_evaluated_pictures(pictures);
  for (int64_t k = 0; k < judges && judge_at(k, pictures) <= i; k++) i++;
  return i;
}

static int64_t reverse_bits(int64_t number, int bits) {
  int64_t reversed = 0;
  for (int b = 0; b < bits; b++) reversed |= (number >> b & 1) << (bits - 1 - b);
  return reversed;
}

void dq_trial_order(int64_t *order, int64_t pictures) {
  const int64_t judges = dq_evaluated_pictures(pictures), others = pictures - judges;
  int bits = 0;
  while ((int64_t)1 << bits < others) bits++;
  int64_t placed = 0;
  for (int64_t i = 0; placed < others; i++) {
    const int64_t k = reverse_bits(i, bits); // 0, 1/2, 1/4, 3/4, 1/8, ... of the way
    if (k < others) order[placed++] = other_at(k, pictures);
  }
  for (int64_t i = 0; i < judges; i++) order[others + i] = judge_at(i, pictures);
}

int64_t dq_swapped_pictures(int64_t pictures) {
  enum { MOST = 64 };
  const int64_t others = pictures - dq_evaluated_pictures(pictures), half = pictures / 2;
  const int64_t most = half < MOST ? half : MOST;
  return others < most ? others : most;
}

static void reverse(int64_t *list, int64_t count) {
  for (int64_t i = 0; i < count / 2; i++) {
    const int64_t last = list[count - 1 - i];
    list[count - 1 - i] = list[i], list[i] = last;
  }
}

// The first `by` elements go behind the others.
static void rotate(int64_t *list, int64_t count, int64_t by) {
  reverse(list, by);
  reverse(list + by, count - by);
  reverse(list, count);
}

// A view of the first `pictures` in an order of this module.
static dq_status view_in_order(dq_data **view, dq_data *data, int64_t pictures,
                               void (*fill)(int64_t *order, int64_t pictures), dq_error *error) {
  const size_t bytes = (size_t)pictures * sizeof(int64_t);
  int64_t *order = malloc(bytes);
  *view = NULL;
  if (!order) return dq_fail_memory(error, bytes);
  fill(order, pictures);
  dq_status status = dq_data_view(view, data, order, pictures, error);
  free(order);
  return status;
}

dq_status dq_trial_data(dq_data **view, dq_data *data, int64_t pictures, dq_error *error) {
  return view_in_order(view, data, pictures, dq_trial_order, error);
}

void dq_swapped_order(int64_t *order, int64_t pictures) {
  const int64_t judges = dq_evaluated_pictures(pictures), swapped = dq_swapped_pictures(pictures);
  dq_trial_order(order, pictures);
  rotate(order, pictures, pictures - judges);         // judges, others
  rotate(order + judges, pictures - judges, swapped); // judges, other others, the first ones
}

dq_status dq_swapped_data(dq_data **view, dq_data *data, int64_t pictures, dq_error *error) {
  return view_in_order(view, data, pictures, dq_swapped_order, error);
}
